#!/bin/sh
# SPDX-License-Identifier: MIT
# The proof that the schedule layer sees a missing dependency: every place of the library that adds one
# (mutant.h) is taken out, one at a time, under every queue policy. A mutant must be caught, or
# the policy makes that place redundant, which the table below says.
set -u
program=$top_builddir/tests/layers/mutants/mutant_probe
policies='out-of-order in-order event-less'

mutants=$(sed -n 's/^ *MUTANT_\([A-Z_]*\),.*/\1/p' "$srcdir/tests/layers/mutants/mutant.h")

# Why a mutant may survive; empty when it must be caught. $1: mutant, $2: policy.
redundant() {
    case $1:$2 in
    COMPANION_LEAVE:out-of-order) echo 'the tail is waited for whatever queue it is on' ;;
    SWITCH_COVER:out-of-order | SWITCH_COVER:in-order) echo 'every command has an event' ;;
    COMPANION_COVER:out-of-order | COMPANION_COVER:in-order) echo 'every command has an event' ;;
    GRAPH_CHAIN:in-order | GRAPH_CHAIN:event-less) echo 'the queue keeps the order' ;;
    esac
}

set -- $mutants
echo "1..$((3 + 3 * $#))"
number=0 failed=0

say() {
    number=$((number + 1))
    [ "$1" = ok ] || failed=1
    echo "$1 $number - $2"
}

policy_number=0
for policy in $policies; do
    text=$("$program" "$policy_number" "$#" 2>/dev/null)
    case $? in
    0) say ok "$policy: the library itself: $text" ;;
    77) say ok "$policy # SKIP $text" ;;
    *) say 'not ok' "$policy: the library itself: $text" ;;
    esac
    mutant_number=0
    for mutant in "$@"; do
        text=$("$program" "$policy_number" "$mutant_number" 2>/dev/null)
        status=$?
        mutant_number=$((mutant_number + 1))
        why=$(redundant "$mutant" "$policy")
        [ $status -lt 128 ] || text="caught: a crash (signal $((status - 128)))"
        case $status:$why in
        2:* | 9?:* | 12[67]:*) say 'not ok' "$policy, $mutant: $program ended with $status" ;;
        77:*) say ok "$policy, $mutant # SKIP $text" ;;
        0:) say 'not ok' "$policy, $mutant: $text" ;;
        0:*) say ok "$policy, $mutant: $text; redundant: $why" ;;
        *:) say ok "$policy, $mutant: $text" ;;
        *) say 'not ok' "$policy, $mutant: $text, but it should be redundant: $why" ;;
        esac
    done
    policy_number=$((policy_number + 1))
done
exit $failed

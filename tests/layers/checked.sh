#!/bin/sh
# SPDX-License-Identifier: MIT
# Faults under the race checker: it follows every command, and must neither be misled nor lose anything by
# one that fails. Where the checker itself gets no memory it misses a wait, and may take what that orders for
# a race: reports are not looked at there.
set -u
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

out=$(mktemp)
trap 'rm -f "$out"' EXIT

findings() {
    CLSTREAM_CHECK=race CLS_SCENARIO=$2 CMOCKA_MESSAGE_OUTPUT=TAP "$top_builddir/tests/layers/$1" \
        >"$out" 2>&1 || echo "it ends with $?"
    grep -q '^ok 1' "$out" || echo "nothing ran: $(cat "$out")"
    grep -A3 '^not ok' "$out"
    [ "$1" = resource_sweep ] || grep ': race: ' "$out"
}

for sweep in fault_sweep resource_sweep; do
    for scenario in user_kernel cross_stream stream_ordered_memory many_waits foreign_call timelines; do
        check "$sweep: $scenario" "$(findings $sweep $scenario)"
    done
done
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# Faults under the race checker: it follows every command, and must neither be misled nor lose anything by
# one that fails, nor find a race where it gets no memory itself.
set -u
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

out=$(mktemp)
trap 'rm -f "$out"' EXIT

findings() {
    CLSTREAM_CHECK=race CLS_SCENARIO=$2 CMOCKA_MESSAGE_OUTPUT=TAP "$top_builddir/tests/layers/faults/$1" \
        >"$out" 2>&1 || echo "it ends with $?"
    grep -q '^ok 1' "$out" || echo "nothing ran: $(cat "$out")"
    grep -A3 '^not ok' "$out"
    grep ': race: ' "$out"
}

for sweep in fault_sweep resource_sweep; do
    for scenario in user_kernel cross_stream stream_ordered_memory many_waits foreign_call timelines; do
        check "$sweep: $scenario" "$(findings $sweep $scenario)"
    done
done
finish

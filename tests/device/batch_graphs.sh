#!/bin/sh
# SPDX-License-Identifier: MIT
# 10,000 random expression graphs, 250 to a process: part of check-long. Nearly all of the time is the
# driver's compiler, on one core a process: BATCH_JOBS processes run at once, by default one for each core.
# BATCH_PARTS="3 4" runs some of the 40 parts only.
set -eu
. "$srcdir/tests/tap.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
jobs=${BATCH_JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)}

# Leaves the output in part.N, and part.N.well where all went well.
run_part() {
    TEST_FILTER=graphs_agree BATCH_SEED=$(($1 * 250 + 1)) BATCH_GRAPHS=250 BATCH_VARIANTS=1 \
        "$top_builddir/tests/device/test_batch_graphs" >"$scratch/part.$1" 2>&1 &&
        : >"$scratch/part.$1.well"
}

# Waits for the parts under way, and tells how they went.
collect() {
    wait
    for part in $running; do
        failed=
        [ -e "$scratch/part.$part.well" ] || failed=$(cat "$scratch/part.$part")
        check "graphs $((part * 250 + 1)) to $((part * 250 + 250))" "$failed"
    done
    running=
    under_way=0
}

running=
under_way=0
for part in ${BATCH_PARTS:-$(seq 0 39)}; do
    run_part "$part" &
    running="$running $part"
    under_way=$((under_way + 1))
    [ "$under_way" -lt "$jobs" ] || collect
done
collect
finish

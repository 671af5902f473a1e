#!/bin/sh
# SPDX-License-Identifier: MIT
# 10,000 random expression graphs, 250 to a process: part of check-long. BATCH_PARTS="3 4" runs some of the
# 40 parts only.
set -eu
. "$srcdir/tests/tap.sh"

for part in ${BATCH_PARTS:-$(seq 0 39)}; do
    first=$((part * 250 + 1))
    output=$(TEST_FILTER=graphs_agree BATCH_SEED=$first BATCH_GRAPHS=250 BATCH_VARIANTS=1 "$top_builddir/tests/device/test_batch_graphs" 2>&1) &&
        failed= || failed=$output
    check "graphs $first to $((first + 249))" "$failed"
done
finish

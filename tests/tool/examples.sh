#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples but those of models, which have tests of their own, each in a small size: they check their own results. Each
# can be copied, and README names it.
set -eu
. "$srcdir/tests/tool/common.sh"

# What magika, text and train keep apart.
is_part() {
    case $1 in classifier | common | language | learning | transformer | weights) ;; *) return 1 ;; esac
}

# Longer than 120 lines, or with a header beside it.
not_to_copy() {
    for file in "$srcdir"/examples/*.c; do
        name=$(basename "$file" .c)
        ! is_part "$name" || continue
        case $name in
        magika) shared='"common.h"\|"classifier.h"' ;;
        text) shared='"common.h"\|"language.h"' ;;
        train) shared='"learning.h"' ;;
        *) shared=none ;;
        esac
        lines=$(wc -l <"$file")
        [ "$lines" -le 120 ] || echo "$file has $lines lines"
        grep -H '^#include "' "$file" | grep -v "$shared" || true
    done
}
check "every example is one file of at most 120 lines" "$(not_to_copy)"

without_row() {
    for file in "$srcdir"/examples/*.c; do
        name=$(basename "$file" .c)
        [ "$name" != first ] && ! is_part "$name" || continue
        grep -q "^| \`$name\` | " "$srcdir/README.md" || echo "$name"
    done
}
check "every example has a row in README" "$(without_row)"
need_device

for name in bandwidth double_buffering triple_buffering four_streams query loader stages analysis \
    fork_join graph task_graph fusion inference data_parallel all_reduce peer_copy lattice \
    conjugate_gradients spectrum groups rows accelerator; do
    run_example "$name"
done
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples, each in a small size: they check their own results. Each can be copied, and README names it.
set -eu
. "$srcdir/tests/tool/common.sh"

# Longer than 120 lines, or with a header beside it; learning.c is what train keeps apart.
not_to_copy() {
    for file in "$srcdir"/examples/*.c; do
        case $(basename "$file" .c) in
        learning) continue ;;
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
        case $name in first | learning) continue ;; esac
        grep -q "^| \`$name\` | " "$srcdir/README.md" || echo "$name"
    done
}
check "every example has a row in README" "$(without_row)"
need_device

run() {
    name=$1
    shift
    status=0
    out=$("$top_builddir/examples/$name" --quick "$@" 2>&1) || status=$?
    if [ "$status" = 77 ]; then
        skip "$name" "$out"
    else
        check "$name" "$([ "$status" = 0 ] || echo "status $status: $out")"
    fi
}

for name in double_buffering triple_buffering four_streams query loader stages analysis \
    fork_join graph task_graph fusion inference data_parallel all_reduce peer_copy; do
    run "$name"
done
picture=$(mktemp)
run train --compare --data "$srcdir/examples/data" --svg "$picture"
if [ "$status" = 77 ]; then
    skip "the loss is drawn" "$out"
else
    check "the loss is drawn" \
        "$(grep -q '<polyline.*points="[0-9]' "$picture" || echo "no curve: $(cat "$picture")")"
fi
rm -f "$picture"
finish

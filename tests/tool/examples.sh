#!/bin/sh
# SPDX-License-Identifier: MIT
# The examples, each in a small size: they check their own results.
set -eu
. "$srcdir/tests/tool/common.sh"
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

for name in sequential double_buffering triple_buffering four_streams query loader stages fork_join \
    inference images analysis fusion data_parallel; do
    run "$name"
done
picture=$(mktemp)
run train --data "$srcdir/examples/data" --svg "$picture"
if [ "$status" = 77 ]; then
    skip "the loss is drawn" "$out"
else
    check "the loss is drawn" \
        "$(grep -q '<polyline.*points="[0-9]' "$picture" || echo "no curve: $(cat "$picture")")"
fi
rm -f "$picture"
finish

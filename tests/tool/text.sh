#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/text in a small size: 60 steps on the shipped text.
set -eu
. "$srcdir/tests/tool/common.sh"
need_device

picture=$(mktemp)
run_example text --data "$srcdir/examples/data/constitution.txt" --svg "$picture"
if [ "$status" = 77 ]; then
    skip "the loss is drawn" "$out"
else
    check "the loss is drawn" \
        "$(grep -q '<polyline.*points="[0-9]' "$picture" || echo "no curve: $(cat "$picture")")"
    check "400 characters are written" \
        "$([ "$(printf '%s' "$out" | wc -c)" -gt 400 ] || echo "only: $out")"
fi
rm -f "$picture"
finish

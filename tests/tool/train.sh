#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/train in a small size: half a minute of PoCL's compiler for CLBlast.
set -eu
. "$srcdir/tests/tool/common.sh"
need_device

picture=$(mktemp)
run_example train --compare --data "$srcdir/examples/data" --svg "$picture"
if [ "$status" = 77 ]; then
    skip "the loss is drawn" "$out"
else
    check "the loss is drawn" \
        "$(grep -q '<polyline.*points="[0-9]' "$picture" || echo "no curve: $(cat "$picture")")"
fi
rm -f "$picture"
finish

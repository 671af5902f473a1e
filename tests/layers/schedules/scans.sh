#!/bin/sh
# SPDX-License-Identifier: MIT
# Random scans under the schedule layer: commands run last first, tiles forward and in reversed order, in the shape of a CPU's
# work-items and of groups. With TEST_EFFORT=long 10,000 calls in all, and commands in random order too; RANDOM_SCANS is a number for each run. Other drivers
# than the default one run without the layer, whose gates are for that one.
set -u
. "$srcdir/tests/tap.sh"

layer=$top_builddir/tests/layers/.libs/schedule_layer.so
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# What is wrong with the run of the program, with tiles in one order.
findings() {
    CLSTREAM_SCAN_TILES=$1 CLSTREAM_QUEUE_ORDER=${CLSTREAM_QUEUE_ORDER:-out} CMOCKA_MESSAGE_OUTPUT=TAP \
        "$top_builddir/tests/layers/schedules/random_scans" >"$out" 2>&1 || echo "it ends with $?: $(cat "$out")"
    [ -z "${OPENCL_LAYERS:-}" ] || grep -q '^# clstream schedule layer' "$out" || echo "no layer: $(cat "$out")"
}

orders=last
[ "${TEST_EFFORT:-}" != long ] || orders='last random'
if [ -n "${OCL_ICD_VENDORS:-}" ]; then
    orders=driver
else
    export OPENCL_LAYERS="$layer"
fi
for order in $orders; do
    [ "$order" = driver ] || export CLS_SCHEDULE="$order"
    for shape in runs vectors; do
        export CLSTREAM_OP_SHAPE=$shape
        check "random scans, commands $order, tiles forward, $shape" "$(findings forward)"
        check "random scans, commands $order, tiles reversed, $shape" "$(findings reversed)"
    done
done
finish

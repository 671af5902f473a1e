#!/bin/sh
# SPDX-License-Identifier: MIT
# The pipeline layer's tests under the schedule layer: commands run last first, and with TEST_EFFORT=long in random
# order too, as far as their dependencies let them, so a missing one shows.
set -u
. "$srcdir/tests/tap.sh"

layer=$top_builddir/tests/layers/.libs/schedule_layer.so
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# What is wrong with the run of a program.
findings() {
    OPENCL_LAYERS=$layer CLS_SCHEDULE=$1 CLSTREAM_QUEUE_ORDER=out CMOCKA_MESSAGE_OUTPUT=TAP TEST_EFFORT='' \
        "$top_builddir/tests/api/$2" >"$out" 2>&1 || echo "it ends with $?"
    grep -q '^# clstream schedule layer' "$out" || echo "no layer: $(cat "$out")"
    grep -A3 '^not ok' "$out"
}

if [ -n "${OCL_ICD_VENDORS:-}" ]; then
    skip 'the schedule layer' 'its gates are for the default driver'
    finish
    exit 0
fi
orders=last
[ "${TEST_EFFORT:-}" != long ] || orders='last random'
for program in test_triple_buffer test_async_coordinator test_async_coordinator_threads \
    test_async_coordinator_failure test_async_coordinator_reports test_prefetcher test_pipeline \
    test_pipeline_failure test_pipeline_run test_managed_context test_device_group \
    test_device_group_direct; do
    for order in $orders; do
        check "$program, $order" "$(findings "$order" "$program")"
    done
done
finish

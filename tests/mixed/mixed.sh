#!/bin/sh
# SPDX-License-Identifier: MIT
# Random operations against the model (mixed.c), in every way that a process runs the library: a second
# each, or a minute with TEST_EFFORT=long. CLS_SEED is the first seed; the seed of a difference is in its findings.
set -u
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

layers=$top_builddir/tests/layers/.libs
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
out=$scratch/out
seconds=1
[ "${TEST_EFFORT:-}" != long ] || seconds=60

# played NAME [VARIABLE=VALUE...]: what is wrong, the end of what was done before it included.
played() {
    name=$1
    shift
    env MIXED_SEED="${CLS_SEED:-1}" MIXED_SECONDS=$seconds "$@" "$top_builddir/tests/mixed/mixed" \
        >"$out" 2>&1
    status=$?
    grep '^# seeds ' "$out"
    if [ $status = 77 ]; then
        skip "$name" "$(sed 's/^# //;q' "$out")"
    elif [ $status != 0 ] || grep -q -v -e '^# ' -e '^clstream: race check is on' \
        -e '^clstream: race check: .* 0 races, 0 possible' "$out"; then
        check "$name" "it ends with $status
$(grep -v '^#   ' "$out")
$(grep '^#   ' "$out" | tail -n 80)"
    else
        check "$name" ''
    fi
}

played 'one thread' MIXED_THREADS=1
played 'four threads' MIXED_THREADS=4
played 'in-order queues' CLSTREAM_QUEUE_ORDER=in
played 'out-of-order queues' CLSTREAM_QUEUE_ORDER=out
played 'every command completes in its call' CLSTREAM_LAUNCH_BLOCKING=1
played 'under the race checker, which has nothing to say' CLSTREAM_CHECK=race
played 'with a trace of all' CLSTREAM_TRACE="$scratch/trace.json"
for order in last random; do
    played "commands in another order, $order" OPENCL_LAYERS="$layers/schedule_layer.so" \
        CLS_SCHEDULE=$order CLSTREAM_FLUSH=always
done
# As in tests/layers/faults/discrete_device.sh, and for the same drivers.
[ -n "${OCL_ICD_VENDORS:-}" ] ||
    played 'a device with memory of its own' OPENCL_LAYERS="$layers/fault_layer.so" \
        CLS_FAULT_DEVICE=discrete CLS_FAULT_HOLD=1 CLS_FAULT_PLATFORM='a made-up platform' \
        CLSTREAM_CACHE_DIR="$scratch"
finish

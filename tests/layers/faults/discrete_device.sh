#!/bin/sh
# SPDX-License-Identifier: MIT
# The fault layer plays a GPU with memory of its own (device.h), on which the library stages copies,
# prefers in-order queues, lets commands share events and asks about many at once, and which starts nothing
# before it is flushed (hold.h): programs of tests/api there, and the sweeps over what copies, launches
# and waits.
set -u
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
# shellcheck source=tests/layers/findings.sh
. "$srcdir/tests/layers/findings.sh"

layer=$top_builddir/tests/layers/.libs/fault_layer.so
cache=$(mktemp -d)
out=$cache/out
trap 'rm -rf "$cache"' EXIT
CLS_FAULT_DEVICE=discrete CLS_FAULT_HOLD=1 CLS_FAULT_PLATFORM='a made-up platform' CLSTREAM_CACHE_DIR=$cache
export CLS_FAULT_DEVICE CLS_FAULT_HOLD CLS_FAULT_PLATFORM CLSTREAM_CACHE_DIR

# What the library did not choose. On a machine at work its probes may measure that rather than the device,
# so they have a few tries.
choices() {
    for try in 1 2 3 4 5; do
        rm -rf "${cache:?}"/*
        OPENCL_LAYERS=$layer "$top_builddir/tools/clstream" info >"$cache/info" 2>&1
        [ "$(grep -c -E '^ *(prefer_in_order|event_less|stage_writes|stage_reads) +yes' "$cache/info")" != 4 ] ||
            return
        echo "# try $try" >>"$cache/info"
    done
    for choice in prefer_in_order event_less stage_writes stage_reads; do
        grep -q "^ *$choice  *yes" "$cache/info" || echo "no $choice"
    done
}

# A device whose memory others have taken when it is first used: buffers beyond the first two fail.
full() {
    rm -rf "${cache:?}"/*
    CLS_FAULT_FUNCTION=clCreateBuffer CLS_FAULT_NTH=3 CLS_FAULT_STICKY=1 CLS_FAULT_CODE=-4 \
        OPENCL_LAYERS=$layer "$top_builddir/tools/clstream" info >"$cache/info" 2>&1
    grep -q '^ *pinned_speedup  *0 x' "$cache/info" || { echo 'copies were measured'; cat "$cache/info"; }
    OPENCL_LAYERS=$layer "$top_builddir/tools/clstream" info >"$cache/info" 2>&1
    ! grep '^ *pinned_speedup  *0 x' "$cache/info"
}

default_driver_only 'a made-up device' 'what it costs is measured against the default driver'
check 'what its full memory kept from being measured is measured by the next program' "$(full)"
check 'it is seen as what it plays' "$(choices)"
programs='test_async test_copies test_events test_host_buffer test_host_functions test_order test_query
    test_race_stores test_slices'
[ "${TEST_EFFORT:-}" != long ] || programs="$programs test_managed test_memory test_mempool_threads test_threads
    test_batch test_batch_streams test_batch_values"
for program in $programs; do
    check "$program" "$(layer_findings env OPENCL_LAYERS="$layer" "$top_builddir/tests/api/$program")"
done
for run in fault_sweep,large_copies resource_sweep,large_copies fault_sweep,user_kernel fault_sweep,bounded \
    fault_sweep,in_order resource_sweep,in_order fault_sweep,fill_and_prefetch; do
    check "$run" "$(layer_findings env TEST_EFFORT='' CLS_SCENARIO="${run#*,}" "$top_builddir/tests/layers/faults/${run%,*}")"
done
check lost_context "$(layer_findings "$top_builddir/tests/layers/faults/lost_context")"
finish

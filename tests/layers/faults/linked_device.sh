#!/bin/sh
# SPDX-License-Identifier: MIT
# The fault layer plays a device whose memory libcuda makes and other contexts import (linked.h), and a library plays
# libcuda (libcuda.c): programs of tests/api there, the sweeps of copies between contexts, and libcuda's calls that fail.
set -u
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
# shellcheck source=tests/layers/findings.sh
. "$srcdir/tests/layers/findings.sh"

layers=$top_builddir/tests/layers/.libs
folder=$(mktemp -d)
out=$folder/out
trap 'rm -rf "$folder"' EXIT
CLS_FAULT_DEVICE=linked CLS_FAULT_PLATFORM='a made-up platform' CLSTREAM_CACHE_DIR=$folder/cache
OPENCL_LAYERS=$layers/fault_layer.so LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export CLS_FAULT_DEVICE CLS_FAULT_PLATFORM CLSTREAM_CACHE_DIR OPENCL_LAYERS LD_LIBRARY_PATH

# How the device's contexts share memory, by the libcuda.so.1 given; "": there is none.
shares() {
    rm -f "$folder/libcuda.so.1"
    [ -z "$1" ] || ln -s "$1" "$folder/libcuda.so.1"
    "$top_builddir/tools/clstream" info >"$folder/info" 2>&1
    grep -q "device 0: $2" "$folder/info" || cat "$folder/info"
}

default_driver_only 'a made-up device' 'it is made up of the default driver'
check 'without libcuda its contexts share pages' "$(shares '' 'the same pages')"
check 'with one that lacks the functions, too' "$(shares "$layers/fault_layer.so" 'the same pages')"
check 'with libcuda they share its memory' "$(shares "$layers/made_up_libcuda.so" 'a direct link')"
check uneven_links "$(layer_findings env CLS_FAULT_LINKS=uneven "$top_builddir/tests/layers/faults/uneven_links")"
check libcuda_faults "$(layer_findings "$top_builddir/tests/layers/faults/libcuda_faults")"
for program in test_share test_share_processes test_share_pools test_device_group test_device_group_direct \
    test_copies_across; do
    check "$program" "$(layer_findings env TEST_EFFORT='' "$top_builddir/tests/api/$program")"
done
sweeps=fault_sweep
[ "${TEST_EFFORT:-}" != long ] || sweeps='fault_sweep resource_sweep'
for sweep in $sweeps; do
    check "$sweep,peer_copies" \
        "$(layer_findings env TEST_EFFORT='' CLS_SCENARIO=peer_copies "$top_builddir/tests/layers/faults/$sweep")"
done
finish

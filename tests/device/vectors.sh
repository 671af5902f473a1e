#!/bin/sh
# SPDX-License-Identifier: MIT
# The launches that GPUs get, on whatever device there is: vectors interleaved over work-groups, and
# arrays that start where no vector may. CPUs get long runs by default.
set -eu
. "$srcdir/tests/tap.sh"

CLSTREAM_OP_SHAPE=vectors
export CLSTREAM_OP_SHAPE

if [ ! -x "$top_builddir/tests/device/test_cast" ]; then
    skip "launches as on GPUs" "the test programs were not built"
    finish
    exit 0
fi

# run PROGRAM FILTER
run() {
    output=$(TEST_FILTER=$2 "$top_builddir/tests/device/$1" 2>&1) && failed= || failed=$output
    check "$1 $2" "$failed"
}

run ../api/test_copies 'test_rectangles*'
run ../api/test_slices 'test_within*'
run test_cast 'cast_*_u8'
run test_cast 'where_*_f32'
run test_unary 's*_f32'
run test_binary 'a*'
run test_gradients '*'
run test_reduce 'sum_*'
run test_small_integers 'two_bytes_wrap'
run test_epilogues '*'
run test_softmax 'softmax'
run test_layer_norm 'layer_norm'
run test_indices '*_f32 by i32'
run test_sort '*_f32'
run test_sort 'rows'
run test_sort 'large'
run test_scan i32
run test_select runs
run test_histogram '*_f32'
run test_histogram '*_u8'
run test_bounds f32
run test_spmv 'f*'
run test_norm_gradient 'layer_norm'
run test_matrices '*u8'
run test_matrices 'check_transpose'
run test_strided 'sub_f32*'
run test_strided 'where_i32*'
run test_strided_reduce 'sum_f32'
run test_softmax 'cross_entropy_gradient'
run test_optimizer 'test_adamw_of_*'
run test_optimizer 'test_cut*'
# Sorts rank keys by ballots on NVIDIA's devices: here these go through local memory.
ballots=$(mktemp -d)
trap 'rm -rf "$ballots"' EXIT
cp "$srcdir"/cl/*.cl "$ballots"
{
    printf '#define RANK_LANES\n#define LANES_BY_MEMORY\n'
    cat "$srcdir/cl/sort_group.cl"
} >"$ballots/sort_group.cl"
CLSTREAM_KERNEL_PATH=$ballots
export CLSTREAM_KERNEL_PATH
run test_sort 'lengths*'
unset CLSTREAM_KERNEL_PATH
BATCH_GRAPHS=16 BATCH_EXACT=1
[ "${TEST_EFFORT:-}" != long ] || BATCH_GRAPHS=48
export BATCH_GRAPHS BATCH_EXACT
run test_batch_graphs '*'
finish

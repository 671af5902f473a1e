#!/bin/sh
# SPDX-License-Identifier: MIT
# Matrix units compute every product that they can, as they do not where other kernels take less time: each kind of them.
set -eu
. "$srcdir/tests/tap.sh"

programs='test_products test_epilogues test_blas_random'
for wish in units mma; do
    for program in $programs; do
        name="$program with CLSTREAM_GEMM=$wish"
        if ! "$top_builddir/tools/clstream" info 2>&1 | grep -Eq '^ +mma +yes'; then
            skip "$name" "no device has matrix units of NVIDIA's"
        elif [ ! -x "$top_builddir/tests/device/$program" ]; then
            skip "$name" "the test programs were not built"
        else
            output=$(CLSTREAM_GEMM=$wish "$top_builddir/tests/device/$program" 2>&1) && failed= || failed=$output
            check "$name" "$failed"
        fi
    done
done
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# Every call of the driver, and every allocation, fails in the scenario of matrix products, along each way to compute them
# on this device.
set -eu
. "$srcdir/tests/tap.sh"

CLS_SCENARIO=products TEST_EFFORT=long
export CLS_SCENARIO TEST_EFFORT

# swept WAY VARIABLE=VALUE
swept() {
    for sweep in fault_sweep resource_sweep; do
        program=$top_builddir/tests/layers/faults/$sweep
        if [ -x "$program" ]; then
            output=$(env "$2" "$program" 2>&1) && failed= || failed=$output
            check "$sweep, $1" "$failed"
        else
            skip "$sweep, $1" "the test programs were not built"
        fi
    done
}

swept 'as it comes' CLSTREAM_GEMM=
swept "a GPU's kernel" CLSTREAM_OP_SHAPE=vectors
swept CLBlast CLSTREAM_GEMM=clblast
finish

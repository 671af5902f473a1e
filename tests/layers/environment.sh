#!/bin/sh
# SPDX-License-Identifier: MIT
# The layers without a test that controls them: they announce themselves, the environment makes calls
# fail, and the report at exit says what was called, what failed and what is alive.
set -u
. "$srcdir/tests/tap.sh"

layers=$top_builddir/tests/layers/.libs
report=$(mktemp)
trap 'rm -f "$report" "$report.err"' EXIT

# Runs the example under a layer.
under() {
    OPENCL_LAYERS=$layers/$1.so CLS_FAULT_REPORT=$report "$top_builddir/examples/first" \
        >/dev/null 2>"$report.err"
}

# has PATTERN FILE: nothing when it is there, else the file.
has() { grep -q "$1" "$2" || cat "$2"; }

under fault_layer || echo "# ended with $?"
check 'the fault layer announces itself' "$(has '^# clstream fault layer: [0-9]* calls' "$report.err")"
check 'it counts calls' "$(has '^call clCreateContext [1-9]' "$report")"
check 'it counts live objects' "$(has '^live buffers [0-9]' "$report")"
check 'nothing fails unasked' "$(has '^fired 0$' "$report")"

export CLS_FAULT_FUNCTION=clReleaseEvent CLS_FAULT_NTH=1 CLS_FAULT_STICKY=1 CLS_FAULT_CODE=-6
under fault_layer || echo "# ended with $?"
check 'the environment makes a call fail' "$(has '^fired [1-9]' "$report")"
CLS_FAULT_FUNCTION=clCreateBuffer CLS_FAULT_CODE=-4
under fault_layer && echo '# ended well'
check 'the program hears of it' "$(has 'CLS_ERROR_OUT_OF_DEVICE_MEMORY' "$report.err")"
unset CLS_FAULT_FUNCTION CLS_FAULT_NTH CLS_FAULT_STICKY CLS_FAULT_CODE

under schedule_layer
check 'a program runs under the schedule layer' \
    "$([ $? -eq 0 ] || cat "$report.err"; has '^# clstream schedule layer' "$report.err")"
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# Drivers that are strange, and right (lies.h): one writes a line of its own to standard error, one ignores #line.
# Tests of something else pass there.
set -u
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

out=$(mktemp)
cache=$(mktemp -d)
trap 'rm -rf "$out" "$cache"' EXIT
OPENCL_LAYERS=$top_builddir/tests/layers/.libs/fault_layer.so CLSTREAM_CACHE_DIR=$cache CMOCKA_MESSAGE_OUTPUT=TAP
export OPENCL_LAYERS CLSTREAM_CACHE_DIR CMOCKA_MESSAGE_OUTPUT

# What is wrong with the run of a test on a driver with that oddity.
findings() {
    lie=$1
    shift
    CLS_FAULT_LIE=$lie "$@" >"$out" 2>&1 || echo "it ends with $?"
    grep -A4 -e '^not ok [0-9]* -' -e '^# crashed' -e '^# hung' "$out"
}

if [ -n "${OCL_ICD_VENDORS:-}" ]; then
    skip 'strange drivers' 'they are made up from the default driver'
    finish
    exit 0
fi
CLS_FAULT_LIE=chatter "$top_builddir/tools/clstream" info 2>"$out" >/dev/null
check 'the driver chatters' "$(grep -q '^made-up driver: ' "$out" || cat "$out")"
scripts='first deadlock errors' programs='api/test_kernels unit/test_kernel_sources'
if [ "${TEST_EFFORT:-}" = long ]; then
    scripts="$scripts bench check info run stages streams trace usage" programs="$programs unit/test_program"
fi
for script in $scripts; do
    check "$script.sh on a driver that chatters" "$(findings chatter sh "$srcdir/tests/tool/$script.sh")"
done
for program in $programs; do
    check "$program on a driver that ignores #line" "$(findings line_directives "$top_builddir/tests/$program")"
done
finish

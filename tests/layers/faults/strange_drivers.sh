#!/bin/sh
# SPDX-License-Identifier: MIT
# Drivers that are strange, and right (lies.h): one writes a line of its own to standard error, one ignores #line.
# Tests of something else pass there.
set -u
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
# shellcheck source=tests/layers/findings.sh
. "$srcdir/tests/layers/findings.sh"

out=$(mktemp)
cache=$(mktemp -d)
trap 'rm -rf "$out" "$cache"' EXIT
OPENCL_LAYERS=$top_builddir/tests/layers/.libs/fault_layer.so CLSTREAM_CACHE_DIR=$cache CMOCKA_MESSAGE_OUTPUT=TAP
export OPENCL_LAYERS CLSTREAM_CACHE_DIR CMOCKA_MESSAGE_OUTPUT

default_driver_only 'strange drivers' 'they are made up from the default driver'
CLS_FAULT_LIE=chatter "$top_builddir/tools/clstream" info 2>"$out" >/dev/null
check 'the driver chatters' "$(grep -q '^made-up driver: ' "$out" || cat "$out")"
scripts='first deadlock errors' programs='api/test_kernels api/test_programs unit/test_kernel_sources'
if [ "${TEST_EFFORT:-}" = long ]; then
    scripts="$scripts bench check info run stages streams trace usage" programs="$programs unit/test_program"
fi
for script in $scripts; do
    check "$script.sh on a driver that chatters" "$(findings env TEST_EFFORT='' CLS_FAULT_LIE=chatter sh "$srcdir/tests/tool/$script.sh")"
done
for program in $programs; do
    check "$program on a driver that ignores #line" "$(findings env CLS_FAULT_LIE=line_directives "$top_builddir/tests/$program")"
done
finish

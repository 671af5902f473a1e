#!/bin/sh
# SPDX-License-Identifier: MIT
# Workarounds on a driver that does not need them: it bears another's name, so the rows of the quirk table
# for that one apply, and what they do must not harm. Under NVIDIA's name it brings a fault of that driver's, too
# (sub_buffers.h). No command fails here: PoCL's own workarounds for that go with its name.
set -u
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

out=$(mktemp)
trap 'rm -f "$out"' EXIT
OPENCL_LAYERS=$top_builddir/tests/layers/.libs/fault_layer.so
export OPENCL_LAYERS

# What is wrong with the run of a program under a name, given the quirk that must be shown there.
findings() {
    CLS_FAULT_PLATFORM=$1 CMOCKA_MESSAGE_OUTPUT=TAP "$top_builddir/tests/api/$2" >"$out" 2>&1 ||
        echo "it ends with $?"
    grep -q '^# clstream fault layer' "$out" || echo "no layer: $(cat "$out")"
    grep -B3 -A3 '^not ok [0-9]* -' "$out"
}

quirk_is_missing() {
    CLS_FAULT_PLATFORM=$1 "$top_builddir/tools/clstream" info 2>/dev/null | grep -q "$2" ||
        echo "no $2"
}

if [ -n "${OCL_ICD_VENDORS:-}" ]; then
    skip 'other names' 'they are given to the default driver'
    finish
    exit 0
fi
programs='test_order test_events'
[ "${TEST_EFFORT:-}" != long ] || programs="$programs test_destroy test_threads"
while IFS=: read -r name quirk more; do
    check "$name: its quirks are known" "$(quirk_is_missing "$name" "$quirk")"
    for program in $programs $more; do
        check "$name: $program" "$(findings "$name" "$program")"
    done
done <<END
rusticl:early_exit_handler_hangs
Oclgrind:aborts_on_concurrent_calls
Intel(R) OpenCL:queue_release_hangs
NVIDIA CUDA:sub_buffer_release_crashes:test_buffer_parts test_graphs_memory
END
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# Workarounds on a driver that does not need them: it bears another's name, so the rows of the quirk table
# for that one apply, and what they do must not harm. Under NVIDIA's name it brings a fault of that driver's, too
# (sub_buffers.h). No command fails here: PoCL's own workarounds for that go with its name.
set -u
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
# shellcheck source=tests/layers/findings.sh
. "$srcdir/tests/layers/findings.sh"

out=$(mktemp)
trap 'rm -f "$out"' EXIT
OPENCL_LAYERS=$top_builddir/tests/layers/.libs/fault_layer.so
export OPENCL_LAYERS

quirk_is_missing() {
    CLS_FAULT_PLATFORM=$1 "$top_builddir/tools/clstream" info 2>/dev/null | grep -q "$2" ||
        echo "no $2"
}

default_driver_only 'other names' 'they are given to the default driver'
programs='test_order test_events'
[ "${TEST_EFFORT:-}" != long ] || programs="$programs test_destroy test_threads"
while IFS=: read -r name quirk more; do
    check "$name: its quirks are known" "$(quirk_is_missing "$name" "$quirk")"
    for program in $programs $more; do
        check "$name: $program" "$(layer_findings env CLS_FAULT_PLATFORM="$name" "$top_builddir/tests/api/$program")"
    done
done <<END
rusticl:early_exit_handler_hangs
Oclgrind:aborts_on_concurrent_calls
Intel(R) OpenCL:queue_release_hangs
NVIDIA CUDA:sub_buffer_release_crashes:test_buffer_parts test_graphs_memory
END
finish

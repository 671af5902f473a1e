#!/bin/sh
# SPDX-License-Identifier: MIT
# A driver that gives wrong data in silence (lies.h): the probes find each lie, and programs of tests/api get right
# results all the same, or the reason why not. Under the lies about order the schedule layer runs every command as
# late as its waits allow, so that a wait that is ignored shows.
set -u
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"
# shellcheck source=tests/layers/findings.sh
. "$srcdir/tests/layers/findings.sh"

layers=$top_builddir/tests/layers/.libs
work=$(mktemp -d)
out=$work/out
trap 'rm -rf "$work"' EXIT

# Runs a command under a lie. PoCL is not tried for what would crash it, so it bears another name there.
lying() {
    lie=$1
    shift
    below=
    case $lie in
    queue_order | events_*) below=$layers/schedule_layer.so: ;;
    sub_buffer_rectangles | square_rectangles | none) set -- CLS_FAULT_PLATFORM='a made-up platform' "$@" ;;
    esac
    env OPENCL_LAYERS="$below$layers/fault_layer.so" CLS_FAULT_LIE="$lie" CLSTREAM_CACHE_DIR="$work/cache-$lie" \
        CMOCKA_MESSAGE_OUTPUT=TAP "$@"
}

# The trials that a lie is about, if it is not named like one.
trials_of() {
    case $1 in
    sub_buffer_reuse) echo sub_buffer_arguments ;;
    not_resident) echo addresses ;;
    square_rectangles) echo rectangles padded_rows sub_buffer_rectangles ;;
    *) echo "$1" ;;
    esac
}

# The trial of the lie must fail; others may, which use the same calls. Without a lie all are right.
verdicts() {
    lying "$1" "$top_builddir/tools/clstream" info >"$work/info" 2>"$work/said" || cat "$work/said"
    grep -q '^# clstream fault layer' "$work/said" || echo 'no layer'
    if [ "$1" = none ]; then
        grep -E '^ *[a-z_]+ +(wrong|not tried) ' "$work/info"
    else
        for name in $(trials_of "$1"); do
            grep -q -E "^ *$name +wrong " "$work/info" || cat "$work/info"
            grep -q "^    $name\$" "$work/info" || echo "no quirk $name"
        done
    fi
}

# A device that cannot be used says why.
refusal() {
    lying "$1" "$top_builddir/examples/first" >"$out" 2>&1 && echo 'it is used'
    grep -q "$1: " "$out" || cat "$out"
}

default_driver_only 'a lying driver' 'the lies are made up for the default driver'
check 'a driver that does not lie is believed' "$(verdicts none)"
for lie in transfers queue_order; do
    check "$lie: the probes find it" "$(verdicts $lie)"
    check "$lie: the device is refused with the reason" "$(refusal $lie)"
done
copies='test_copies test_slices test_memory'
waits='test_order test_events test_interop'
more="test_async test_batch test_kernels test_managed test_mempool test_pipeline_run test_profiler"
while read -r lie programs; do
    check "$lie: the probes find it" "$(verdicts "$lie")"
    [ "${TEST_EFFORT:-}" != long ] || programs="$copies $waits $more"
    for program in $programs; do
        case $lie/$program in
        sub_buffer_rectangles/test_kernels | square_rectangles/test_kernels)
            skip "$lie: $program" 'no quirk is known of a made-up platform, and too much __local memory ends this one' ;;
        *)
            check "$lie: $program" "$(findings lying "$lie" "$top_builddir/tests/api/$program")" ;;
        esac
    done
done <<END
events_in_queue test_order
events_across_queues test_order test_interop
arguments_set_again test_batch
local_arguments test_kernels
structure_arguments test_kernels test_kernel_names
launch_offsets test_launch_offsets test_kernels
rounding
odd_copies test_copies test_slices
odd_fills test_copies test_slices
rectangles test_copies test_slices
padded_rows test_copies test_slices
sub_buffer_arguments test_mempool test_buffer_parts test_host_buffer
sub_buffer_reuse test_mempool test_buffer_parts
sub_buffer_copies test_mempool
sub_buffer_rectangles test_copies test_slices
square_rectangles test_slices
mapped_memory test_host_buffer
host_memory test_host_registered
shared_memory test_managed
addresses ../device/test_addresses ../device/test_pointers
not_resident ../device/test_addresses ../device/test_pointers
pointer_arguments ../device/test_addresses test_buffer_parts
END
check 'pointers_stay: test_addresses' "$(findings lying pointers_stay "$top_builddir/tests/device/test_addresses")"
check 'image_layers: the calls say so' "$(lying image_layers "$top_builddir/tests/api/test_images" 2>&1 |
    grep -qF 'layers of a 1D array' || echo 'no reason')"
check 'image_layers: test_images' "$(findings lying image_layers "$top_builddir/tests/api/test_images")"
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# No false alarm: programs of tests/api under CLSTREAM_CHECK=race, which must find nothing in them. With
# TEST_EFFORT=long all of the Makefile's list, $PROGRAMS, those of tests/device among them.
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

# Programs with races of their own: how many findings there are, and why.
on_purpose() {
    case $1 in
    tests/api/test_host_functions)
        echo '1: a cell is read while a gate, opened afterwards, holds back the kernel that writes it' ;;
    tests/api/test_buffer_parts)
        echo '1: one part of a buffer is written by two streams, to be found' ;;
    tests/api/test_struct_sizes)
        echo '1: two fills race for cls_check_get_finding to have a finding' ;;
    tests/api/test_values)
        echo '3: work is ordered by waits for a value alone, of which the checker knows nothing (check.h)' ;;
    *)
        echo '0: nothing' ;;
    esac
}

# What the checker found in a program beyond that, or why it is not known; nothing otherwise.
findings() {
    wanted=$(on_purpose "$1")
    wanted=${wanted%%:*}
    rm -f "$log"
    if ! output=$(TEST_EFFORT='' CLSTREAM_CHECK=race CLSTREAM_CHECK_LOG=$log "${SHELL:-/bin/sh}" \
        "$srcdir/build-aux/run-test" "$top_builddir/$1" 2>&1); then
        printf '%s\n' "$output" | grep -v '^ok'
        echo "$1 failed under the checker"
        return
    fi
    # All its tests were skipped, or all but the one that says what is missing: nothing was there to follow.
    tests=$(printf '%s\n' "$output" | grep -c '^ok [0-9]')
    skipped=$(printf '%s\n' "$output" | grep -c '^ok .*# SKIP')
    [ "$skipped" = 0 ] || [ $((tests - skipped)) -gt 1 ] || return
    if ! grep -q 'race check: [1-9]' "$log" 2>/dev/null; then
        echo "$1 was not checked"
    elif [ "$(grep -c 'race: ' "$log")" != "$wanted" ]; then
        grep -v 'race check:' "$log" | head -n 20
    fi
    grep 'race check:.*[1-9][0-9]* forgotten' "$log"
}

programs=
for name in batch_streams contexts coordinator_phases copies events failure host_functions interop kernels mempool \
    mempool_reuse order pipeline prefetcher tasks timelines triple_buffer; do
    programs="$programs tests/api/test_$name"
done
[ "${TEST_EFFORT:-}" != long ] || programs=$PROGRAMS

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ ! -x "$top_builddir/tests/api/test_order" ]; then
    echo '1..0 # SKIP the programs were not built: cmocka is missing'
    exit
fi
for program in $programs; do
    case $program in
    tests/api/test_race_*)
        skip "$program" 'races are what it is about; it counts them itself' ;;
    tests/api/test_leaks)
        skip "$program" 'it runs itself under checks of its own choice' ;;
    tests/api/test_device_facts)
        skip "$program" 'it submits no work' ;;
    *)
        check "in $program: $(on_purpose "$program")" "$(findings "$program")" ;;
    esac
done
finish

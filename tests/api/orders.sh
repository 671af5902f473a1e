#!/bin/sh
# SPDX-License-Identifier: MIT
# The contract under the queue order that the library does not choose for this device: programs of this folder, each
# with the order forced. TEST_EFFORT=long, as in `make check-long`: both orders, and all of the Makefile's list of
# programs, those of tests/device among them.
# shellcheck source=tests/tap.sh
. "$srcdir/tests/tap.sh"

programs=
for name in order events failure failure_events destroy query host_functions threads mutual_waits interop \
    contexts; do
    programs="$programs tests/api/test_$name"
done
[ "${TEST_EFFORT:-}" != long ] || programs=$PROGRAMS

# capability NAME: of the default device.
capability() {
    "$top_builddir/tools/clstream" info |
        awk -v name="$1" '/^device/ { ours = /default/ } ours && $1 == name { print $2 }'
}

findings() {
    if output=$(TEST_EFFORT='' CLSTREAM_QUEUE_ORDER=$1 "${SHELL:-/bin/sh}" "$srcdir/build-aux/run-test" \
        "$top_builddir/$2" 2>&1); then
        printf '%s\n' "$output" | grep '^not ok'
    else
        printf '%s\n' "$output" "it failed with status $?" | grep -v '^ok'
    fi
}

if [ ! -x "$top_builddir/tests/api/test_order" ]; then
    echo '1..0 # SKIP the programs were not built: cmocka is missing'
    exit
fi
possible=$(capability out_of_order)
orders=in
[ "$(capability prefer_in_order)" = no ] || orders=out
[ "${TEST_EFFORT:-}" != long ] || orders='in out'
for order in $orders; do
    for program in $programs; do
        if [ "$order$possible" = outno ]; then
            skip "$program with CLSTREAM_QUEUE_ORDER=$order" 'this device has no out-of-order queues'
        else
            check "$program with CLSTREAM_QUEUE_ORDER=$order" "$(findings "$order" "$program")"
        fi
    done
done
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# `make coverage`: builds the tree with gcov's counters in the folder coverage, runs the suite there, as
# `make check` does, and prints which part of the lines of lib/ ran, by file and by folder. Left behind are
# coverage/lib.info, in lcov's format, and coverage/missed, the lines that did not run.
#
#   COVERED=...   these programs only
#   KEEP=1        adds to what earlier runs have counted
#   HTML=1        writes the pages coverage/html as well
#   ERRORS=1      runs the tests of the fault layer only, and prints which part of the error branches of the
#                 stream, event and allocator code they reach: `make coverage-errors`
#   MAPPED=...    runs each of these programs by itself, and writes which of them run most of each file of lib/ to
#                 tests/coverage/map, for tests/which: `make coverage-map`
#
# Fails when a test does, when the whole suite runs less than LEAST per cent of the lines, or when an error
# branch is reached by no fault and tests/coverage/unreached has no reason for it.
set -u

# What ERRORS=1 runs, and looks at.
faults=
for name in fault_sweep resource_sweep late_faults late_faults_hidden lost_context unflushed \
    race_checked.sh discrete_device.sh; do
    faults="$faults tests/layers/faults/$name"
done
looked_at='abandoned|block|buffer|command|context|copy|copy_call|copy_rect|dep|engine|event|exit'
looked_at="$looked_at|failure|fifo|fifo_drain|fill|flight|flight_state|flush|foreign|handover|host|host_function|interop"
looked_at="$looked_at|magazine|malloc|managed|mempool|mempool_stats|observe|order_cache|queue|reset"
looked_at="$looked_at|reuse|staging|stream|stream_memory|submit|wait|wait_any|waiter|worker|worker_commands"
looked_at="^lib/(stream|memory|command|check|api)/($looked_at)[.]c\$"
looked_at="$looked_at|^lib/driver/(event|memory|queue|shared)[.]c\$"
[ -z "${ERRORS:-}" ] || COVERED=${COVERED:-$faults}

complain() {
    echo "coverage: $*" >&2
    exit 1
}

command -v lcov >/dev/null || complain 'lcov is missing. Debian and Ubuntu: apt install lcov'
command -v "${GCOV:=gcov}" >/dev/null || complain "$GCOV is missing. Debian and Ubuntu: apt install gcc"
case $($CC --version) in
*clang*) complain 'it counts with gcov: configure with CC=gcc' ;;
esac

# Threads count the same lines, and processes that fork and leave by _exit dump their counts themselves.
top=$(cd "$srcdir" && pwd)
mkdir -p coverage && cd coverage || exit
[ -f Makefile ] ||
    "$srcdir/configure" -q --disable-lto CC="$CC" CPPFLAGS=-DCLSTREAM_COVERAGE \
        CFLAGS='-g -O0 --coverage -fprofile-update=atomic' >configure.log 2>&1 || {
    tail -n 30 configure.log
    complain 'it could not be configured'
}
"$MAKE" -s check TESTS= >build.log 2>&1 || {
    tail -n 30 build.log
    complain 'it could not be built'
}

[ -n "${KEEP:-}" ] || find . -name '*.gcda' -exec rm -f {} +
failed=0

if [ -n "${MAPPED:-}" ]; then
    for program in $MAPPED; do
        find . -name '*.gcda' -exec rm -f {} +
        rm -f "$program.log"
        "$MAKE" -s "$program.log" >check.log 2>&1 || echo "coverage: $program failed" >&2
        find lib -name '*.gcda' -exec "$GCOV" -t {} + 2>/dev/null |
            "$AWK" -v test="$program" -f "$srcdir/tests/coverage/lines.awk"
    done | LC_ALL=C sort | "$AWK" -f "$srcdir/tests/coverage/map.awk" >map.new && mv map.new "$srcdir/tests/coverage/map"
    exit
fi

"$MAKE" -s -k check ${COVERED:+"TESTS=$COVERED"} >check.log 2>&1 || {
    grep -E '^(FAIL|ERROR)' check.log
    failed=1
}

quietly() {
    "$@" >lcov.log 2>&1 || {
        tail -n 20 lcov.log
        complain "$1 failed"
    }
}
quietly lcov --capture --directory lib --base-directory "$PWD" --gcov-tool "$GCOV" \
    --output-file all.info
quietly lcov --extract all.info "$top/lib/*" "$PWD/lib/*" --output-file lib.info
[ -z "${HTML:-}" ] || quietly genhtml --prefix "$top" --output-directory html lib.info

if [ -n "${ERRORS:-}" ]; then
    "$AWK" -v files="$looked_at" -v top="$top/" -v missed=missed-errors \
        -v reasons="$srcdir/tests/coverage/unreached" -f "$srcdir/tests/coverage/errors.awk" lib.info || {
        cat missed-errors
        failed=1
    }
    exit $failed
fi

least=${LEAST:-95}
[ -z "${COVERED:-}" ] || least=0
"$AWK" -v least="$least" -v top="$top/" -v built="$PWD/" -v missed=missed \
    -f "$srcdir/tests/coverage/report.awk" lib.info || failed=1
exit $failed

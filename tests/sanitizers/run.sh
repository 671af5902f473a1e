#!/bin/sh
# SPDX-License-Identifier: MIT
# The test programs under sanitizers: `make check-sanitizers`, or KINDS='address thread' for some of
#
#   address   gcc's or clang's AddressSanitizer, with leaks, and UndefinedBehaviorSanitizer
#   thread    ThreadSanitizer
#   memcheck  valgrind, on the build at hand, the api programs only
#
# The first two build the library and these programs anew in sanitize-KIND, with the compiler of this build. The *.supp
# files name drivers, their compilers and the loader, and nothing of the library. Prints a table, program by program,
# and fails when one is not clean. PROGRAMS is the Makefile's list, or the caller's.
set -u
here=$srcdir/tests/sanitizers
kinds=${KINDS:-address thread memcheck}
limit=${TEST_TIMEOUT:-300}
failed=0

# Not run, and why: kind, program.
left_out() {
    case $1:$2 in
    address:tests/api/test_memory | thread:tests/api/test_memory)
        echo 'it measures resident memory, which the sanitizer fills' ;;
    memcheck:tests/api/test_memory | memcheck:tests/api/test_exit)
        echo 'some millions of commands, or hundreds of processes: hours' ;;
    esac
}

build() {
    mkdir -p "sanitize-$1" && (
        cd "sanitize-$1" || exit
        [ -f Makefile ] || "$srcdir/configure" -q "--enable-sanitizers=$2" CC="$CC" \
            CFLAGS='-g -O1' || exit
        "${MAKE:-make}" -s -j"$(nproc 2>/dev/null || echo 2)" check TESTS= check_PROGRAMS="$PROGRAMS"
    ) >"sanitize-$1.log" 2>&1 && return
    tail -n 30 "sanitize-$1.log"
    return 1
}

# The program itself, not libtool's script around it: what is preloaded must not reach a shell.
binary() {
    if [ -x "$(dirname "$1")/.libs/$(basename "$1")" ]; then
        echo "$(dirname "$1")/.libs/$(basename "$1")"
    else
        echo "$1"
    fi
}

# patient TIMES COMMAND...: it is so many times slower, the driver's compiler included; TEST_PATIENCE sets another number.
patient() {
    times=${TEST_PATIENCE:-$1}
    shift
    TEST_PATIENCE=$times timeout $((limit * times)) "$@"
}

run_address() {
    patient 3 env LD_PRELOAD="$("$CC_PROGRAM" -print-file-name=libasan.so) $PWD/keep.so" \
        ASAN_OPTIONS=allocator_may_return_null=1:quarantine_size_mb=16 UBSAN_OPTIONS=print_stacktrace=1 \
        LSAN_OPTIONS="suppressions=$here/lsan.supp:print_suppressions=0" "$1"
}

# Each process waits for its threads at its exit, 1 s unless told: tests bound how long an exit takes.
run_thread() {
    patient 3 env TSAN_OPTIONS="suppressions=$here/tsan.supp:atexit_sleep_ms=100" "$1"
}

run_memcheck() {
    patient 10 valgrind -q --error-exitcode=99 --max-threads=2000 --suppressions="$here/memcheck.supp" \
        --gen-suppressions=no "$1"
}

# One row of the table; the output is kept where something is wrong.
row() {
    reason=$(left_out "$1" "$2")
    log=$(basename "$2").$1.log
    if [ -n "$reason" ]; then
        printf '%-9s %-32s left out: %s\n' "$1" "$2" "$reason"
        return
    fi
    # gcc 12's leak checker itself crashes now and then, in ScanRangeForPointers on a range near address 0,
    # after the program has ended well: that says nothing of the program, which runs once more.
    for _ in 1 2 3; do
        status=0
        "run_$1" "$(binary "$2")" >"$log" 2>&1 || status=$?
        grep -q -a 'LeakSanitizer has encountered a fatal error' "$log" || break
    done
    if [ "$status" = 0 ]; then
        printf '%-9s %-32s clean\n' "$1" "$2"
        rm -f "$log"
        return
    fi
    printf '%-9s %-32s FAILED (status %s), see %s\n' "$1" "$2" "$status" "$PWD/$log"
    grep -a -m 5 -e '^not ok' -e 'SUMMARY:' -e 'runtime error' -e '^==.*== [A-Z]' "$log" | sed 's/^/    /'
    failed=1
}

for kind in $kinds; do
    case $kind in
    memcheck)
        command -v valgrind >/dev/null || { echo 'memcheck  left out: no valgrind'; continue; }
        (
            LD_LIBRARY_PATH=$PWD/lib/.libs
            export LD_LIBRARY_PATH
            for program in $PROGRAMS; do
                case $program in
                tests/api/*) row memcheck "$program" ;;
                esac
            done
            exit $failed
        ) || failed=1
        continue ;;
    address) list=address,undefined ;;
    *) list=$kind ;;
    esac
    build "$kind" "$list" || { failed=1; continue; }
    (
        cd "sanitize-$kind" || exit
        CC_PROGRAM=${CC##* }
        LD_LIBRARY_PATH=$PWD/lib/.libs top_builddir=$PWD
        export LD_LIBRARY_PATH top_builddir
        "$CC_PROGRAM" -shared -fPIC -o keep.so "$here/keep.c" || exit
        for program in $PROGRAMS; do
            row "$kind" "$program"
        done
        exit $failed
    ) || failed=1
done
exit $failed

#!/bin/sh
# SPDX-License-Identifier: MIT
# The library and the command for Windows, built with MinGW-w64 in the folder windows/ and run by Wine on the OpenCL drivers of this machine.
# A point is a program, and says how many of its tests passed. Wine is not Windows: what it lacks, Windows may have.
#
#   WINDOWS_TESTS="tests/api/test_order ..."   those programs, in place of tests/windows/programs
#   TEST_EFFORT=long                           all that can be built for Windows, and the zip
set -u
. "$srcdir/tests/tap.sh"
host=x86_64-w64-mingw32
work=$PWD/windows
jobs=$(nproc 2>/dev/null || echo 2)
wine=$(command -v wine64 || ls /usr/lib/wine/wine64 2>/dev/null)
compiler=$(command -v $host-gcc-posix || command -v $host-gcc)
libraries=$(echo "Z:$work/build/lib/.libs;Z:/usr/$host/lib" | tr / '\\')
export WINEPATH="$libraries" CMOCKA_MESSAGE_OUTPUT=TAP
export WINEPREFIX="$work/prefix" WINEDEBUG=-all WINEARCH=win64 DISPLAY=''

# The programs themselves run as in `make check`, and the rest is of the build that this is called from.
effort=${TEST_EFFORT-}
unset TEST_EFFORT OPENCL_CFLAGS OPENCL_LIBS CXX NM

untried() {
    [ -n "$compiler" ] || { echo "no MinGW-w64 (Debian: gcc-mingw-w64-x86-64)"; return; }
    [ -n "$wine" ] || echo "no wine64"
}

# cmocka of Debian's source package, with apt's lists in a folder of its own; CMOCKA_SOURCE names one that is there.
fetch_cmocka() {
    mkdir -p "$work/cmocka/lists/partial" "$work/cmocka/cache"
    cd "$work/cmocka" || return
    echo 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main' >sources
    for step in update 'source --download-only cmocka'; do
        # shellcheck disable=SC2086 # words
        apt-get -q -o Dir::Etc::SourceList="$PWD/sources" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$PWD/lists" \
            -o Dir::Cache="$PWD/cache" -o APT::Sandbox::User="$(id -un)" $step || return
    done
    dpkg-source -x cmocka_*.dsc source
}

build_cmocka() {
    source=${CMOCKA_SOURCE:-$work/cmocka/source}
    [ -e "$source/src/cmocka.c" ] || (fetch_cmocka) || return
    mkdir -p "$work/include" "$work/lib"
    for header in ASSERT_H INTTYPES_H IO_H MALLOC_H STDINT_H STDIO_H STDLIB_H STRING_H TIME_H SIGNAL_H SNPRINTF VSNPRINTF MALLOC \
        GCC_THREAD_LOCAL_STORAGE; do
        echo "#define HAVE_$header 1"
    done >"$work/include/config.h"
    cp "$source"/include/cmocka*.h "$work/include"
    $compiler -O1 -w -DHAVE_CONFIG_H -D__USE_MINGW_ANSI_STDIO=1 -I"$work/include" -c "$source/src/cmocka.c" -o "$work/lib/cmocka.o" &&
        rm "$work/include/config.h" &&
        $compiler -O1 -c "$srcdir/tests/windows/posix.c" -o "$work/lib/posix.o" &&
        $host-ar cr "$work/lib/libcmocka.a" "$work/lib/cmocka.o" "$work/lib/posix.o"
}

build_library() {
    mkdir -p "$work/build" && cd "$work/build" &&
        "$srcdir/configure" -q --host=$host --enable-werror --enable-static --disable-lto \
            CC="${WINDOWS_CC:-$compiler}" CFLAGS='-O1 -g' CMOCKA_CFLAGS="-I$work/include" CMOCKA_LIBS="-L$work/lib -lcmocka" &&
        make -j"$jobs" lib/libclstream.la lib/libinternal.la tools/clstream.exe
}

# What the DLL exports and the map does not have, or the other way round.
export_differences() {
    $host-objdump -p "$work/build/lib/.libs/libclstream-0.dll" | sed -n 's/^.*\] *\(+base\[ *[0-9]*\]\)\{0,1\} *[0-9a-f]* *\(cls_[a-z0-9_]*\)$/\2/p' |
        sort -u >"$work/exported"
    sed -n 's/^ *\(cls_[a-z0-9_]*\);$/\1/p' "$srcdir/lib/clstream.map" | sort -u >"$work/wanted"
    diff "$work/wanted" "$work/exported" | grep '^[<>]'
    [ -s "$work/exported" ] || echo 'nothing is exported'
}

# Names of other libraries that the DLL needs, but the system's and those of the zip.
foreign_libraries() {
    $host-objdump -p "$work/build/lib/.libs/libclstream-0.dll" | sed -n 's/.*DLL Name: //p' |
        grep -vixE 'kernel32\.dll|msvcrt\.dll|opencl\.dll|libwinpthread-1\.dll'
}

# The test programs: POSIX's functions that they use come from tests/windows/posix.h, and no warning is an error.
build_tests() {
    cd "$work/build" || return
    flags=$(sed -n 's/^CPPFLAGS = //p' Makefile)
    # shellcheck disable=SC2046 # words
    make -k -j"$jobs" WARN_CFLAGS= CPPFLAGS="$flags -I$srcdir/tests/windows/include -include $srcdir/tests/windows/posix.h" \
        $(printf '%s.exe ' "$@")
}

# run SECONDS PROGRAM ARGUMENT...
run() {
    seconds=$1
    shift
    timeout "$seconds" "$wine" "$@" 2>&1 | tr -d '\r'
}

# One point: a program of cmocka's tests.
point() {
    exe=$work/build/${1%/*}/.libs/${1##*/}.exe
    [ -e "$exe" ] || exe=$work/build/$1.exe
    reason=$(sed -n "s,^$1 ,,p" "$srcdir/tests/windows/left_out")
    if [ -n "$reason" ]; then
        skip "$1" "$reason"
        return
    fi
    if [ ! -e "$exe" ]; then
        check "$1" "$(grep -h "error:" "$work/tests.log" | grep "$1\.c" | head -n 5; echo 'it was not built')"
        return
    fi
    run 300 "$exe" >"$work/out"
    left=$(grep -c '# *SKIP' "$work/out") good=$(grep -v '# *SKIP' "$work/out" | grep -c '^ok')
    bad=$(grep -v '# *SKIP' "$work/out" | grep -c '^not ok')
    planned=$(sed -n 's/^1\.\.//p' "$work/out" | tail -n 1)
    passed_tests=$((passed_tests + good)) skipped_tests=$((skipped_tests + left)) failed_tests=$((failed_tests + bad))
    findings=
    [ "$bad" = 0 ] && [ "$planned" = $((good + left)) ] ||
        findings=$(grep -v '^ok' "$work/out" | tail -n 15; echo "$good passed and $left skipped of ${planned:-?}")
    check "$1: $good passed, $left skipped" "$findings"
}

# The cases of tests/windows/ends.c, each a process.
ends() {
    "$wine" wineboot -i >"$work/prefix.log" 2>&1
    $compiler -O1 -I"$work/build/include" -I"$srcdir/include" "$srcdir/tests/windows/ends.c" -o "$work/ends.exe" >"$work/ends.log" 2>&1
    for case in 'exit a program that ends with work pending' 'late a kernel that ends while exit runs' 'unload a library that is let go stays' \
        'thread threads that used the library end' 'names files whose names no code page has, with lines of Windows'; do
        name=${case%% *}
        check "${case#* }" "$(cd "$work" || exit
            timeout 60 "$wine" ends.exe "$name" >out 2>&1 || { echo "ends.exe $name: $?"; cat out; })"
    done
    if command -v python3 >/dev/null; then
        check 'Ctrl-C: the trace is written' "$(cd "$work" && rm -f ended.json
            CLSTREAM_TRACE=ended.json timeout 60 python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$wine" ends.exe ctrl-c </dev/null >out 2>&1
            [ -s ended.json ] || { echo 'no trace'; cat out; })"
    else
        skip 'Ctrl-C: the trace is written' 'no python3, which makes a terminal'
    fi
}

# The command, which makes the same bytes here and there.
command_here() { "$top_builddir/tools/clstream" "$@"; }
command_there() { timeout 400 "$wine" "$work/build/tools/.libs/clstream.exe" "$@"; }
device_of() { tr -d '\r' | sed -n 's/^ *name  *//p' | head -n 1; }
same_bytes() {
    cmp "$work/here.npy" "$work/there.npy" 2>&1 && [ -s "$work/here.npy" ] || cat "$work/said"
}
command_points() {
    here=$(command_here info 2>/dev/null | device_of) there=$(command_there info 2>"$work/said" | device_of)
    check 'clstream info names the device' "$([ -n "$there" ] && [ "$there" = "$here" ] ||
        { echo "'$there', not '$here'"; cat "$work/said"; })"
    command_here gen -o "$work/in.npy" --bytes 1M --seed 3
    command_here run -q -i "$work/in.npy" -o "$work/here.npy" 'scale 2 | cast i32' 2>/dev/null
    command_there gen -o - --bytes 1M --seed 3 2>"$work/said" | command_there run -q -i - -o - 'scale 2 | cast i32' \
        >"$work/there.npy" 2>>"$work/said"
    check 'clstream gen and run on pipes make the same bytes' "$(same_bytes)"
    (cd "$work" && rm -f there.npy && command_there run -q --verify -i in.npy -o there.npy 'scale 2 | cast i32' >said 2>&1)
    check 'clstream run on files makes the same bytes' "$(same_bytes)"
    command_there check >"$work/said" 2>&1
    check 'clstream check: nothing failed' "$(grep -q ' passed, .* 0 failed' "$work/said" || cat "$work/said")"
    for command in trace tune; do
        check "clstream $command is refused" "$(command_there $command >"$work/said" 2>&1
            [ $? = 1 ] && grep -q "there is no '$command' on Windows" "$work/said" || cat "$work/said")"
    done
}

# README's first program of what `make windows-zip` has packed, and of nothing else.
first_program() {
    make -C "$work/build" -j"$jobs" windows-zip >"$work/zip.log" 2>&1 || { tail -n 20 "$work/zip.log"; return; }
    rm -rf "$work/zip" && mkdir "$work/zip" && cd "$work/zip" || return
    python3 -m zipfile -e "$work"/build/*.zip clstream
    $compiler "$srcdir/examples/first.c" -Iclstream/include -Lclstream/lib -lclstream -o clstream/bin/first.exe 2>&1
    said=$(unset WINEPATH; run 60 clstream/bin/first.exe)
    [ "$said" = '1 4 9 16' ] || echo "it says: $said"
}

reason=$(untried)
if [ -n "$reason" ]; then
    skip 'the library for Windows' "$reason"
    finish
    exit 0
fi
mkdir -p "$work"
if (build_library) >"$work/library.log" 2>&1; then
    check 'the library and the command are built for Windows without a warning' ''
else
    check 'the library and the command are built for Windows without a warning' "$(tail -n 20 "$work/library.log")"
    finish
    exit 1
fi
check 'the DLL exports what the map says' "$(export_differences)"
check 'the DLL needs the system, OpenCL.dll and winpthreads alone' "$(foreign_libraries)"
ends
command_points
[ "$effort" != long ] || check "README's first program is built with the zip, and runs" "$(first_program)"
programs=${WINDOWS_TESTS:-$(grep -v '^#' "$srcdir/tests/windows/programs")}
[ "$effort" != long ] || programs="$PROGRAMS $UNIT_PROGRAMS"
passed_tests=0 skipped_tests=0 failed_tests=0
if (build_cmocka) >"$work/cmocka.log" 2>&1; then
    # shellcheck disable=SC2046,SC2086 # words
    (build_tests $(for program in $programs; do grep -q "^$program " "$srcdir/tests/windows/left_out" || echo "$program"; done)) >"$work/tests.log" 2>&1
    for program in $programs; do
        point "$program"
    done
    echo "# $passed_tests tests passed, $failed_tests failed, $skipped_tests skipped"
else
    skip 'test programs' 'no source of cmocka for MinGW: CMOCKA_SOURCE= names one'
fi
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs of others find an installed library through CMake and Meson. It is installed in a folder other than its
# prefix, and so shows that an installation can be moved.
set -eu
. "$srcdir/tests/tap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset MAKEFLAGS MFLAGS
CFLAGS=$SANITIZER_CFLAGS
export CFLAGS

# quietly COMMAND...: its output when it fails.
quietly() {
    "$@" >"$dir/log" 2>&1 || { echo "failed: $*"; tail -n 30 "$dir/log"; }
}

# runs PROGRAM: 77 is an example's skip.
runs() {
    rc=0
    "$@" >"$dir/log" 2>&1 || rc=$?
    [ "$rc" = 0 ] || [ "$rc" = 77 ] || { echo "exit status $rc"; tail -n 5 "$dir/log"; }
}

mpi=
[ ! -f "$top_builddir/lib/libclstream-mpi.la" ] || mpi=install-mpiincludeHEADERS
check "the library is installed in a folder" "$(quietly "$MAKE" -C "$top_builddir" DESTDIR="$dir/stage" \
    install-libLTLIBRARIES install-includeHEADERS install-clstreamincludeHEADERS install-nodist_clstreamincludeHEADERS \
    install-cmakeDATA install-pkgconfigDATA ${mpi:+"$mpi"})"
libdir=$dir/stage$LIBDIR
first=$srcdir/examples/first.c

# cmake_program FOLDER VERSION [OPTION...]
cmake_program() {
    folder=$1 wanted=$2
    shift 2
    quietly cmake -S "$srcdir/tests/consumers" -B "$dir/$folder" -DCMAKE_PREFIX_PATH="$libdir/cmake" \
        -DSOURCE="$first" -DWANTED="$wanted" "$@"
}

# found WANTED RESULT: whether this version is compatible.
found() {
    said=$(cmake_program "version$1" "$1")
    case ${said:+no}${said:-yes} in
    "$2"*) ;;
    *) echo "version $1: $said" ;;
    esac
}

if command -v cmake >/dev/null; then
    check "CMake finds it" "$(cmake_program cmake "$VERSION")"
    check "a program with its target builds" "$(quietly cmake --build "$dir/cmake")"
    check "and runs" "$(runs "$dir/cmake/shared")"
    if [ -f "$libdir/libclstream.a" ]; then
        check "the one with the static target runs" "$(runs "$dir/cmake/static")"
    fi
    check "a version before is compatible" "$(found "${VERSION%.*}" yes)"
    check "another minor version before 1.0 is not" "$(found 0.0 no)"
    check "a later one is not" "$(found 99 no)"
    major=${VERSION%%.*} rest=${VERSION#*.}
    minor=${rest%%.*}
    older=$major.$((minor - 1)) newer=$major.$((minor + 1))
    # CMake before 3.19 has no ranges, and takes the first version.
    if printf 'cmake_minimum_required(VERSION 3.19)\n' >"$dir/range.cmake" && cmake -P "$dir/range.cmake" 2>"$dir/log"; then
        check "a range of versions around this one is compatible" "$(found "$older...$((major + 1)).0" yes)"
        check "a range that ends with it is" "$(found "0...$VERSION" yes)"
        check "a range that ends before it is not" "$(found "0...<$VERSION" no)"
        check "an earlier range is not" "$(found "0...$older" no)"
        check "a later range is not" "$(found "$newer...99" no)"
    else
        skip "ranges of versions" "this CMake has none"
    fi
    check "a component that does not exist is an error" \
        "$(cmake_program unknown "$VERSION" -DCOMPONENTS=nothing | grep -q 'no component nothing' || echo 'no such message')"
    if [ -f "$libdir/libclstream-mpi.so" ]; then
        if [ -n "$CXX" ]; then
            check "the component mpi is found" "$(cmake_program mpi "$VERSION" -DCOMPONENTS=mpi \
                -DMPI_SOURCE="$srcdir/tests/consumers/mpi.cc" -DCMAKE_CXX_FLAGS="$CFLAGS")"
            check "a program in C++ with its target builds" "$(quietly cmake --build "$dir/mpi")"
            check "and runs" "$(runs "$dir/mpi/mpi")"
        else
            skip "the component mpi" "no C++ compiler"
        fi
    else
        check "the component mpi is an error without libclstream-mpi" "$(cmake_program mpi "$VERSION" -DCOMPONENTS=mpi |
            grep -q 'no libclstream-mpi' || echo 'no such message')"
    fi
else
    skip "CMake finds it" "no cmake"
fi

if command -v meson >/dev/null && command -v ninja >/dev/null; then
    mkdir "$dir/source"
    cp "$srcdir/tests/consumers/meson.build" "$first" "$dir/source"
    PKG_CONFIG_SYSROOT_DIR=$dir/stage PKG_CONFIG_PATH=$libdir/pkgconfig
    export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH
    check "Meson finds it" "$(quietly meson setup "$dir/meson" "$dir/source")"
    check "a program with its dependency builds" "$(quietly ninja -C "$dir/meson")"
    check "and runs" "$(LD_LIBRARY_PATH=$libdir runs "$dir/meson/shared")"
else
    skip "Meson finds it" "no meson and ninja"
fi
finish

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

check "the library is installed in a folder" "$(quietly "$MAKE" -C "$top_builddir" DESTDIR="$dir/stage" \
    install-libLTLIBRARIES install-includeHEADERS install-clstreamincludeHEADERS install-nodist_clstreamincludeHEADERS \
    install-cmakeDATA install-pkgconfigDATA)"
libdir=$dir/stage$LIBDIR
first=$srcdir/examples/first.c

cmake_program() {
    quietly cmake -S "$srcdir/tests/consumers" -B "$dir/$1" -DCMAKE_PREFIX_PATH="$libdir/cmake" \
        -DSOURCE="$first" -DWANTED="$2"
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

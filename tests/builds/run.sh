#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the library with the flags that distributions use, and with other compilers: `make check-builds`.
#
#   BUILDS="fedora arch"   some of the rows below
#
# Each row is configured with warnings as errors in the folder builds/NAME, which stays when it fails. A row is a name
# and the arguments of configure. Of each the library, the tool, an example and some tests are built, and run.
set -u
. "$srcdir/tests/tap.sh"
tests='tests/consumers/consumers.sh tests/unit/exports.sh tests/unit/static.sh tests/unit/test_double_free'
failed=0
jobs=$(nproc 2>/dev/null || echo 2)

# build MAKE ARGUMENT...: in this folder.
build() {
    make=$1
    shift
    "$srcdir/configure" -q --enable-werror "$@" && $make -j"$jobs" tools/clstream examples/first && ./examples/first &&
        $make -j"$jobs" check-TESTS TESTS="$tests"
}

# Why a row cannot be tried here: its compiler or make is not there.
untried() {
    for argument in "$@"; do
        case $argument in
        CC=* | MAKE=*)
            program=${argument#*=}
            command -v "${program%% *}" >/dev/null || echo "no ${program%% *}"
            ;;
        esac
    done
}

# For machines or C libraries that have no OpenCL here: in this folder, against the headers of this machine and a
# loader of the names that the library calls. Built and linked, not run.
build_foreign() {
    make=$1 host=$PWD/host
    shift
    mkdir -p host
    for header in /usr/include/CL /usr/include/xxh*.h /usr/include/ut*.h; do
        [ ! -e "$header" ] || ln -sfn "$header" host
    done
    "$srcdir/configure" -q --enable-werror --enable-static --without-clblast --without-vkfft --disable-lto CFLAGS=-O1 "$@" \
        OPENCL_CFLAGS="-I$host" OPENCL_LIBS="-L$host -lOpenCL" CPPFLAGS="-I$host -idirafter /usr/include/$(gcc -print-multiarch)" &&
        $make -j"$jobs" lib/libinternal.la || return
    ${NM:-nm} -u lib/.libs/libinternal.a | sed -n 's/^ *U \(cl[A-Z][A-Za-z]*\)$/void \1(void); void \1(void) {}/p' |
        sort -u >host/loader.c
    compiler=$(sed -n 's/^CC = //p' Makefile)
    $compiler -shared -fPIC host/loader.c -o host/libOpenCL.so && $make lib/libclstream.la || return
    ! ${NM:-nm} -g --defined-only lib/.libs/libclstream.a | awk 'NF == 3 {print $3}' | grep -v '^cls_'
}

# row NAME ARGUMENT...
row() {
    name=$1 folder="builds/$1${blank:-}"
    shift
    case " ${BUILDS:-$name} " in
    *" $name "*) ;;
    *) return ;;
    esac
    why=$(untried "$@")
    [ -z "$why" ] || { skip "$name" "$why"; return; }
    make=${MAKE:-make}
    for argument in "$@"; do
        case $argument in MAKE=*) make=${argument#MAKE=} ;; esac
    done
    mkdir -p "$folder"
    if (cd "$folder" && "build${foreign:-}" "$make" "$@" >log 2>&1); then
        check "$name" ""
        rm -rf "$folder"
    elif grep -qs 'compiler cannot create executables' "$folder/log"; then
        skip "$name" "the compiler does not take its flags"
        rm -rf "$folder"
    else
        check "$name" "$(grep -E 'error|warning|undefined|^FAIL|\*\*\*' "$folder/log" | head -n 20; tail -n 5 "$folder/log")"
        failed=1
    fi
}

hardened='-Wformat -Werror=format-security -fstack-protector-strong'
fortified='-Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=3'
protected='-fstack-clash-protection -fcf-protection'
bound='-Wl,-z,relro -Wl,-z,now'

row debian CFLAGS="-g -O2 $hardened" CPPFLAGS='-Wdate-time -D_FORTIFY_SOURCE=2' LDFLAGS="$bound"
row debian-lto CFLAGS="-g -O2 -flto=auto -ffat-lto-objects $hardened" CPPFLAGS='-Wdate-time -D_FORTIFY_SOURCE=2' \
    LDFLAGS="-flto=auto -ffat-lto-objects $bound"
row fedora CFLAGS="-O2 -flto=auto -ffat-lto-objects -fexceptions -g -pipe -Wall $hardened $fortified $protected" \
    LDFLAGS="$bound -Wl,--as-needed -Wl,--build-id=sha1"
row arch CFLAGS="-O2 -pipe -fno-plt -fexceptions -g -flto=auto $hardened $fortified $protected" \
    LDFLAGS="-Wl,-O1 -Wl,--sort-common -Wl,--as-needed $bound -flto=auto"
row gentoo CFLAGS='-O2 -pipe -flto' LDFLAGS='-Wl,-O1 -Wl,--as-needed -flto'
row opensuse --enable-static CFLAGS="-O2 -Wall -g -flto=auto -funwind-tables -Werror=return-type $hardened $fortified" \
    LDFLAGS=-Wl,--as-needed
row no-lto --disable-lto CFLAGS='-O2 -flto=auto'
row static --disable-shared CFLAGS=-O2
row O0 CFLAGS=-O0
row Og CFLAGS=-Og
row gnu17 CC="$CC -std=gnu17"
row gnu23 CFLAGS='-O1 -std=gnu2x'
row clang CC=clang CFLAGS=-O2
row clang-debug CC=clang CFLAGS=-O0
row clang-lto CC=clang CFLAGS='-O2 -flto' LDFLAGS=-fuse-ld=lld
row bsd-make MAKE=bmake CFLAGS=-O0
blank=' with a blank'
row blank --disable-lto CFLAGS=-O0
blank='' foreign=_foreign
row musl CC=musl-gcc
row 32-bit CC='gcc -m32'
row aarch64 --host=aarch64-linux-gnu CC=aarch64-linux-gnu-gcc
finish
exit $failed

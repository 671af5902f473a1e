#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the library with the flags that distributions use, and with other compilers: `make check-builds`.
#
#   BUILDS="fedora arch"   some of the rows below
#
# Each row is configured with warnings as errors in the folder builds/NAME, which stays when it fails. A row is a name
# and the arguments of configure. Of each the library, the tool, an example and a white-box test are built and run.
set -u
. "$srcdir/tests/tap.sh"
programs='examples/first tests/unit/test_double_free'
failed=0
jobs=$(nproc 2>/dev/null || echo 2)

build() {
    mkdir -p "builds/$1" && cd "builds/$1" || exit
    {
        shift
        "$srcdir/configure" -q --enable-werror "$@" && ${MAKE:-make} -j"$jobs" tools/clstream $programs &&
            for program in $programs; do "./$program" || exit; done
    } >log 2>&1
}

# Why a row cannot be tried here: its compiler is not there, or does not take the flags of its kind of processor.
untried() {
    for argument in "$@"; do
        case $argument in
        CC=*)
            compiler=${argument#CC=}
            command -v "${compiler%% *}" >/dev/null || echo "no ${compiler%% *}"
            ;;
        esac
    done
}

row() {
    name=$1
    shift
    case " ${BUILDS:-$name} " in
    *" $name "*) ;;
    *) return ;;
    esac
    why=$(untried "$@")
    [ -z "$why" ] || { skip "$name" "$why"; return; }
    if (build "$name" "$@"); then
        check "$name" ""
        rm -rf "builds/$name"
    elif grep -qs 'compiler cannot create executables' "builds/$name/log"; then
        skip "$name" "$CC does not take its flags"
        rm -rf "builds/$name"
    else
        check "$name" "$(grep -E 'error|warning|undefined|\*\*\*' "builds/$name/log" | head -n 20; tail -n 5 "builds/$name/log")"
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
row gnu23 CC="$CC" CFLAGS='-O1 -std=gnu2x'
row clang CC=clang CFLAGS=-O2
row clang-debug CC=clang CFLAGS=-O0
row clang-lto CC=clang CFLAGS='-O2 -flto' LDFLAGS=-fuse-ld=lld
finish
exit $failed

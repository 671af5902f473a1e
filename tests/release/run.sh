#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `make release-check`: what must hold of a release besides its tests, in half an hour. Run in a build folder with its
# source tree as argument, and SCRIPTS, the suite's short scripts; ends with "N passed, N failed, N skipped". .ci/run
# calls it.
set -u
exec </dev/null
top=$(cd "$1" && pwd)
# Not the make that calls this, with its options and its jobs.
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR
# shellcheck source=build-aux/steps.sh
. "$top/build-aux/steps.sh"

# The API reference without a warning, and a manual page for every function that the library exports.
check_reference() {
    command -v doxygen >/dev/null || { echo 'no doxygen'; return 77; }
    make -s doc && make -s install-data-local DESTDIR="$work/reference" &&
        missing_pages "$(find "$work/reference" -path '*/man3/cls_stream_create.3' -printf %h)" &&
        make -s uninstall-local DESTDIR="$work/reference" && left_behind "$work/reference"
}

missing_pages() {
    local name missing=
    for name in $(sed -n 's/^    \(cls_[a-z0-9_]*\);.*/\1/p' "$top/lib/clstream.map"); do
        [ -e "$1/$name.3" ] || missing+=" $name"
    done
    [ -n "$1" ] && [ -z "$missing" ] || { echo "no manual page:$missing"; return 1; }
}

# The tarball of distcheck has every file of the clone but those for its contributors.
check_files() {
    [ -e "$top/.git" ] || { echo 'no git clone'; return 77; }
    local missing
    git -C "$top" ls-files | grep -vxE '\.(ci/run|clang-format|editorconfig|gitignore)' | sort >"$work/files" &&
        tar tf clstream-*.tar.gz | sed 's,^[^/]*/,,' | sort >"$work/packed" &&
        missing=$(comm -23 "$work/files" "$work/packed") && [ -s "$work/files" ] && [ -z "$missing" ] ||
        { echo "not in the tarball: $missing"; return 1; }
}

# From sources that are read-only, in a folder elsewhere, all programs of the suite compile, and its short scripts run,
# as they look at the sources. The rest has run in the build folder.
check_dist() {
    make -j"$(nproc)" distcheck TESTS="$SCRIPTS" && same_tarball
}

# The same sources make the same tarball: later, with other times of the files and another umask.
same_tarball() {
    local tarball
    tarball=$(echo clstream-*.tar.gz)
    mv "$tarball" "$work/first.tar.gz" && touch "$top/lib/clstream.map" "$top/NEWS" &&
        (umask 077 && make -s dist) && cmp "$work/first.tar.gz" "$tarball"
}

# The tarball's sources: the tree itself may be configured, and can then be built in no other folder.
unpack_sources() {
    rm -rf "$work/sources" && mkdir "$work/sources" && make -s dist &&
        tar xf clstream-*.tar.gz -C "$work/sources" --strip-components=1
}

# The README's first program and the installed examples, compiled as a reader would: against an installation in a folder,
# through pkg-config alone, and run.
check_install() {
    local prefix=$work/prefix build=$work/build
    unpack_sources && mkdir -p "$build" && cd "$build" &&
        "$work/sources/configure" --prefix="$prefix" --quiet &&
        make -s -j"$(nproc)" && make -s install &&
        awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' "$top/README.md" >first.c &&
        [ -s first.c ] &&
        export PKG_CONFIG_PATH=$prefix/lib/pkgconfig LD_LIBRARY_PATH=$prefix/lib &&
        read -ra flags < <(pkg-config --cflags --libs clstream) &&
        "${CC:-gcc}" -std=c11 -Wall -Wextra -Werror first.c -o first "${flags[@]}" &&
        ./first &&
        check_needed "$prefix/lib/libclstream.so" &&
        cp -R "$prefix/share/doc/clstream/examples" "$work/examples" && make -s -C "$work/examples" check &&
        make -s uninstall && left_behind "$prefix"
}

# clstream.pc serves also where pkg-config knows no OpenCL, and configure was told where it is.
check_without_opencl_pc() {
    local build=$work/told flags
    unpack_sources && mkdir -p "$build" && cd "$build" &&
        PKG_CONFIG_LIBDIR=/none "$work/sources/configure" --quiet OPENCL_LIBS=-lOpenCL OPENCL_CFLAGS=-DTOLD=1 &&
        flags=$(PKG_CONFIG_LIBDIR=$build pkg-config --cflags --libs --static clstream) && echo "$flags" &&
        [[ $flags == *-DTOLD=1* && $flags == *-lOpenCL* ]]
}

# The library itself may need the OpenCL loader, CLBlast and the C library, and nothing else.
check_needed() {
    local extra
    extra=$(objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }' |
        grep -vE '^(libOpenCL|libclblast|libc|libm|libpthread|ld-linux[^.]*)\.so')
    [ -z "$extra" ] || { echo "the library needs $extra"; return 1; }
}

left_behind() {
    local files
    files=$(find "$1" -type f)
    [ -z "$files" ] || { echo "uninstall left $files"; return 1; }
}

# NEWS begins with the version, with a date or as not released yet, and doc/api-changes.md with the same.
check_version() {
    local version
    version=$(sed -n 's/^PACKAGE_VERSION = //p' Makefile)
    grep -m 1 -E '^[0-9]' "$top/NEWS" | grep -E "^$version \((20[0-9-]+|not released yet)\)$" &&
        [ "$(grep -m 1 '^## ' "$top/doc/api-changes.md")" = "## $version" ]
}

export work top
export -f check_version check_reference missing_pages check_files check_dist same_tarball unpack_sources check_install \
    check_without_opencl_pc check_needed left_behind

step 'version' 10 bash -c check_version
step 'API reference' 300 bash -c check_reference
step 'installation, first program and examples' 1500 bash -c check_install
step 'clstream.pc without that of OpenCL' 120 bash -c check_without_opencl_pc
step 'CMake and Meson' 600 make check-TESTS TESTS=tests/consumers/consumers.sh
step 'distcheck, and the same tarball again' 1800 bash -c check_dist
step 'files of the tarball' 60 bash -c check_files
step 'Debian packages' 3600 sh "$top/tests/packages/debian.sh" clstream-*.tar.gz
step 'RPM packages' 3600 sh "$top/tests/packages/rpm.sh" clstream-*.tar.gz
finish_steps

#!/bin/sh
# SPDX-License-Identifier: MIT
# Projects that build the library as a part of theirs (doc/embedding.md), from the tarball: CMake by FetchContent and by
# add_subdirectory, Meson by a wrap. Each runs a program on the device.
set -eu
. "$srcdir/tests/tap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset MAKEFLAGS MFLAGS
CFLAGS="-O0 -Wall -Wextra -Werror"
export CFLAGS
LC_ALL=C
export LC_ALL
name=clstream-$VERSION
first=$srcdir/examples/first.c

# quietly COMMAND...: its output when it fails.
quietly() {
    "$@" >"$dir/log" 2>&1 || { echo "failed: $*"; tail -n 30 "$dir/log"; }
}

# runs PROGRAM: 77 is a skip.
runs() {
    rc=0
    "$@" >"$dir/log" 2>&1 || rc=$?
    [ "$rc" = 0 ] || [ "$rc" = 77 ] || { echo "exit status $rc"; tail -n 5 "$dir/log"; }
}

sed -n 's/^ *\(cls_[a-z0-9_]*\);.*/\1/p' "$srcdir/lib/clstream.map" | sort >"$dir/map"
exported() { ${NM:-nm} "$@" --defined-only | awk 'NF == 3 && $2 != "A" {sub(/@.*/, "", $3); print $3}' | sort -u; }

mkdir "$dir/dist"
check "the tarball is made" "$(quietly "$MAKE" -C "$top_builddir" distdir distdir="$dir/dist/$name")"
chmod -R u+w "$dir/dist"
(cd "$dir/dist" && tar cf - "$name" | gzip -1 >"$dir/$name.tar.gz")
check "it has the typed names in its include folder" \
    "$(echo '#include <clstream.h>
int main(void) { return sizeof &cls_sqr_f32 == 0; }' >"$dir/alone.c"
    quietly $CC -fsyntax-only -I"$dir/dist/$name/include" "$dir/alone.c")"

# cmake_build FOLDER SOURCE OPTION...
cmake_build() {
    folder=$1 from=$2
    shift 2
    rc=0
    { cmake -S "$from" -B "$dir/$folder" "$@" && cmake --build "$dir/$folder" -j2; } >"$dir/log" 2>&1 || rc=$?
    [ "$rc" = 0 ] || { echo "failed: $folder"; grep -E 'error|Error|undefined' "$dir/log" || tail -n 20 "$dir/log"; }
}

if command -v cmake >/dev/null; then
    check "CMake fetches it, and builds it static" \
        "$(cmake_build superbuild "$srcdir/tests/consumers/superbuild" -DTARBALL="$dir/$name.tar.gz" -DSOURCE="$first")"
    check "its program runs" "$(runs "$dir/superbuild/first")"
    check "the static library defines the names of the map, and no other" \
        "$(exported -g "$dir/superbuild/_deps/clstream-build/libclstream.a" | diff "$dir/map" - | head -n 20)"

    least='-DCLSTREAM_OPS=OFF -DCLSTREAM_TRACE=OFF -DCLSTREAM_COORDINATOR=OFF -DCLSTREAM_PIPELINE=OFF -DCLSTREAM_OPENCL_DLOPEN=ON'
    # shellcheck disable=SC2086 # words
    for copy in one two; do
        check "the least library builds, with the prefix ${copy}_ and the loader opened at run time" \
            "$(cmake_build $copy "$dir/dist/$name" $least -DCLSTREAM_PREFIX=${copy}_)"
        check "it defines names with that prefix only" "$(exported -g "$dir/$copy/libclstream.a" |
            awk -v prefix="${copy}_cls_" 'index($0, prefix) != 1; END {if (NR < 100) print "only " NR " names"}')"
    done
    copies() {
        for copy in one two; do
            other=
            [ $copy = two ] || other=-DOTHER=two_
            $CC -std=c11 -Wall -Werror -I"$dir/dist/$name/include" -I"$dir/dist/$name/generated/include" -DCLS_PREFIX=${copy}_ $other \
                -c "$srcdir/tests/consumers/copies.c" -o "$dir/$copy.o" || return
        done
        $CC "$dir/one.o" "$dir/two.o" "$dir/one/libclstream.a" "$dir/two/libclstream.a" -pthread -lm -ldl -o "$dir/copies"
    }
    check "a program links both copies, without OpenCL" "$(quietly copies)"
    check "each of them runs a kernel" "$(runs "$dir/copies")"
else
    skip "CMake builds it as a part" "no cmake"
fi

if command -v meson >/dev/null && command -v ninja >/dev/null; then
    mkdir -p "$dir/project/subprojects/packagecache"
    cp "$srcdir/tests/consumers/superbuild/meson.build" "$first" "$dir/project"
    cp "$dir/$name.tar.gz" "$dir/project/subprojects/packagecache"
    cat >"$dir/project/subprojects/clstream.wrap" <<WRAP
[wrap-file]
directory = $name
source_url = file://$dir/$name.tar.gz
source_filename = $name.tar.gz
source_hash = $(sha256sum "$dir/$name.tar.gz" | cut -d ' ' -f 1)
WRAP
    check "Meson takes it by a wrap" "$(quietly meson setup "$dir/meson" "$dir/project" --wrap-mode=forcefallback \
        -Dclstream:default_library=shared -Dclstream:embed_kernels=false)"
    check "it builds, shared and with the kernels in a folder" "$(quietly ninja -j2 -C "$dir/meson")"
    check "its program runs" "$(runs "$dir/meson/first")"
    check "the shared library exports the names of the map, and no other" \
        "$(exported -D "$dir/meson/subprojects/$name/libclstream.so" | diff "$dir/map" - | head -n 20)"
else
    skip "Meson builds it as a part" "no meson and ninja"
fi
finish

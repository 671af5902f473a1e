#!/bin/sh
# SPDX-License-Identifier: MIT
# What builds without configure stand on (doc/embedding.md): the list of sources, the generated files, the headers by -I
# of include/ alone and with a prefix.
set -eu
. "$srcdir/tests/tap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
LC_ALL=C
export LC_ALL

check "the generated files are made" "$(sh "$srcdir/build-aux/generate" "$dir/generated" 2>&1 || echo failed)"
list=$dir/generated/sources.list
# A tree that was built in itself has generated files too.
(cd "$srcdir" && find lib tools -name '*.c') | grep -vxE 'lib/ops/typed.c|lib/trace/timeline.c' | sort >"$dir/files"
check "sources.list has each file of lib and tools, once" "$(cut -d ' ' -f 2 "$list" | sort | diff - "$dir/files")"
check "kernels.c has each file of cl" "$(cd "$srcdir/cl" && printf '%s\n' *.cl | sort >"$dir/cl"
    sed -n 's/^    {"\(.*\.cl\)", .*/\1/p' "$dir/generated/kernels.c" | sort | diff - "$dir/cl")"
check "lib/driver/opencl_calls.h has the calls that lib/driver makes" \
    "$(sh "$srcdir/build-aux/opencl-calls" | diff - "$srcdir/lib/driver/opencl_calls.h")"
check "meson.build has the version" "$(grep -q "version : '$VERSION'" "$srcdir/meson.build" || echo "not $VERSION")"

# compile FLAG...: of the umbrella header.
printf '#include <clstream.h>\nint main(void) { return cls_version() != CLS_VERSION; }\n' >"$dir/one.c"
compile() { "$@" -Wall -Wextra -Werror -fsyntax-only "$dir/one.c" 2>&1 || echo "$1 failed"; }
# shellcheck disable=SC2086 # words
check "clstream.h compiles with -I of include/ alone" "$(compile $CC -std=c11 -I"$srcdir/include")"
prefixed="-DCLS_PREFIX=mine_ -I$srcdir/include -I$dir/generated/include"
# shellcheck disable=SC2086 # words
check "and with a prefix" "$(compile $CC -std=c11 $prefixed)"
if [ -n "$CXX" ]; then
    # shellcheck disable=SC2086 # words
    check "and with a prefix in C++" "$(compile $CXX -x c++ -std=c++11 $prefixed)"
else
    skip "and with a prefix in C++" "no C++ compiler"
fi
check "prefix.h has the names of the map" "$(for map in lib/clstream.map lib/mpi/clstream-mpi.map; do
    sed -n 's/^ *\(cls_[a-z0-9_]*\);.*/\1/p' "$srcdir/$map"; done | sort >"$dir/map"
    sed -n 's/^#define \(cls_[a-z0-9_]*\) .*/\1/p' "$dir/generated/include/clstream/prefix.h" | sort | diff - "$dir/map")"

# An option of one of the two builds that the page does not have.
page=$srcdir/doc/embedding.md
{ sed -n 's/^option(\(CLSTREAM_[A-Z_]*\) .*/\1/p; s/^set(\(CLSTREAM_[A-Z_]*\) .*CACHE.*/\1/p' "$srcdir/CMakeLists.txt"
    sed -n "s/^option('\([a-z_]*\)'.*/\1/p" "$srcdir/meson_options.txt"; } >"$dir/options"
check "doc/embedding.md lists the options" \
    "$(while read -r option; do grep -q "\`$option\`" "$page" || echo "$option"; done <"$dir/options")"
finish

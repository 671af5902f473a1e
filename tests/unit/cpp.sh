#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream.hpp: its tests and the examples in C++ compile without a warning with each compiler and standard, with
# exceptions and without, and run.
set -eu
. "$srcdir/tests/tool/common.sh"

library=$top_builddir/lib/.libs/libclstream.so
flags="-O0 -pedantic -Wall -Wextra -Wconversion -Wold-style-cast -Werror -pthread
    -I$top_builddir/include -I$srcdir/include"

# The programs of the library's own build know its sanitizers; these do not.
if ! [ -e "$library" ] || grep -q '^SANITIZER_CFLAGS = .*-fsanitize' "$top_builddir/Makefile"; then
    echo "1..0 # SKIP the build has no shared library, or one with sanitizers"
    exit 0
fi

# build COMPILER STANDARD SOURCE [FLAG...]: into $work/program; the compiler's messages, or why it failed without any.
build() {
    compiler=$1 standard=$2 source=$3
    shift 3
    # shellcheck disable=SC2086 # words
    $compiler -std=$standard $flags "$@" "$srcdir/$source" -o "$work/program" "$library" \
        -Wl,-rpath,"${library%/*}" 2>&1 || echo "$compiler failed"
}

need_device
for compiler in "$CXX" clang++; do
    if [ -z "$compiler" ] || ! command -v "${compiler%% *}" >/dev/null; then
        skip "clstream.hpp with ${compiler:-C++}" "no such compiler"
        continue
    fi
    for standard in c++17 c++20; do
        check "exceptions, $compiler, $standard" "$(build "$compiler" $standard tests/cpp/exceptions.cc
        succeeds "$work/program")"
        check "statuses, $compiler, $standard" \
            "$(build "$compiler" $standard tests/cpp/statuses.cc -fno-exceptions
            succeeds "$work/program")"
    done
    [ "$compiler" = "$CXX" ] || [ "${TEST_EFFORT:-}" = long ] || continue
    for name in double_buffering four_streams query; do
        check "the example $name, $compiler" "$(build "$compiler" c++17 examples/$name.cc
        succeeds "$work/program" --quick)"
    done
done
finish

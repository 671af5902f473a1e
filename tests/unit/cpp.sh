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

# refused ARGUMENT TEXT [HEADER...]: nothing if a launch with the argument does not compile, and the compiler says TEXT.
refused() {
    argument=$1 text=$2
    shift 2
    {
        printf '#include <%s>\n' clstream.hpp "$@"
        printf '%s\n' 'void f(cls::kernel_ref k, cls::stream_ref s, const cls::array<float> &x, float *p);' \
            'void f(cls::kernel_ref k, cls::stream_ref s, const cls::array<float> &x, float *p) {' \
            "    (void)x, (void)p, k.launch_async(cls_launch_1d(1), s, $argument);" '}'
    } >"$work/refused.cc"
    # shellcheck disable=SC2086 # words
    if said=$($compiler -std=c++20 $flags -fsyntax-only "$work/refused.cc" 2>&1); then
        echo "'$argument' compiles"
    elif ! echo "$said" | grep -q "$text"; then
        echo "'$argument' is refused by: $said" | head -n 5
    fi
}

refusals() {
    refused 'x.view(0, 1)' 'a kernel takes no view'
    refused 'p' 'a kernel takes no host pointer'
    refused 'std::span<float>(p, 4)' 'a kernel takes no host array' span
    refused 'cls::span<float>(p, 4)' 'a kernel takes no host array'
    refused 'std::string_view("x")' 'a kernel takes no host array' string_view
    refused '"x"' 'a kernel takes no host array'
    refused 's' 'a kernel takes buffers'
    refused 'cls::stream::create()' 'a kernel takes buffers'
    refused 'cls_launch_1d(1)' 'a kernel takes buffers'
    refused 'true' 'a kernel takes no bool'
    refused 'std::string("x")' 'byte by byte' string
    said=$(refused 'std::array<float, 4>{}' '' array)
    [ "$said" = "'std::array<float, 4>{}' compiles" ] || echo "a value: $said"
}

# The flags of a standard that has std::float16_t and std::bfloat16_t. Where the compiler has none, the types are made up.
with_stdfloat() {
    mkdir -p "$work/std"
    printf '#include <stdfloat>\n#if !defined(__STDCPP_FLOAT16_T__) || !defined(__STDCPP_BFLOAT16_T__)\n#error\n#endif\n' \
        >"$work/std/probe.cc"
    if $compiler -std=c++23 -fsyntax-only "$work/std/probe.cc" 2>/dev/null; then
        echo c++23
    else
        printf 'namespace std { struct float16_t { short bits; }; struct bfloat16_t { short bits; }; }\n' \
            >"$work/std/stdfloat"
        echo "c++20 -I$work/std -D__STDCPP_FLOAT16_T__=1 -D__STDCPP_BFLOAT16_T__=1"
    fi
}

# The program of CUDA's calls by HIP's names: each name that the table has is replaced, and most of the program is.
by_hips_names() {
    table=$srcdir/include/clstream/hip_runtime.h
    awk 'FILENAME == table { if ($1 == "#define" && $3 ~ /^cuda/ && !($3 in hip)) hip[$3] = $2; next }
        {
            gsub(/cls_cuda_launch\(&/, "hipLaunchKernelGGL(")
            done = ""
            while (match($0, /cuda[A-Z][A-Za-z0-9_]*/)) {
                name = substr($0, RSTART, RLENGTH)
                done = done substr($0, 1, RSTART - 1) (name in hip ? hip[name] : name)
                $0 = substr($0, RSTART + RLENGTH)
            }
            print done $0
        }' table="$table" "$table" "$srcdir/tests/cpp/cuda.cc" |
        sed 's|^#include <clstream/cuda_nvcc.h>|&\n#include <clstream/hip_runtime.h>|' >"$work/hip.cc"
    [ "$(grep -c '\bhip[A-Z]' "$work/hip.cc")" -gt 100 ] || echo "few lines have names of HIP's"
    cp "$srcdir/tests/cpp/expect.h" "$work"
    # shellcheck disable=SC2086 # words
    $compiler -std=c++14 $flags "$work/hip.cc" -o "$work/program" "$library" -Wl,-rpath,"${library%/*}" 2>&1 ||
        echo "$compiler failed"
    succeeds "$work/program"
}

# Every type of handle that clstream.h has a destructor for.
owners() {
    cat "$srcdir"/include/clstream/*.h | sed -n 's/^CLS_API cls_status cls_\([a-z_]*\)_destroy(.*/\1/p' |
        grep -v '^mpi_' >"$work/handles"
    [ "$(wc -l <"$work/handles")" -gt 20 ] || echo 'the handles are not found'
    while read -r name; do
        grep -q "^CLS_HPP_\(OWNER($name)\|DESTROYER(cls_$name)\);" "$srcdir/include/clstream.hpp" ||
            echo "cls_$name has no owner"
    done <"$work/handles"
}

check "clstream.hpp owns every type of handle" "$(owners)"
need_device
for compiler in "$CXX" clang++; do
    if [ -z "$compiler" ] || ! command -v "${compiler%% *}" >/dev/null; then
        skip "clstream.hpp with ${compiler:-C++}" "no such compiler"
        continue
    fi
    check "a launch refuses what is no argument, $compiler" "$(refusals)"
    for standard in c++17 c++20; do
        check "exceptions, $compiler, $standard" "$(build "$compiler" $standard tests/cpp/exceptions.cc
        succeeds "$work/program")"
        check "statuses, $compiler, $standard" \
            "$(build "$compiler" $standard tests/cpp/statuses.cc -fno-exceptions
            succeeds "$work/program")"
        check "types of 16 bits, $compiler, $standard" "$(build "$compiler" $standard tests/cpp/narrow.cc
        succeeds "$work/program")"
    done
    for standard in c++11 c++20; do
        check "CUDA's runtime calls, $compiler, $standard" "$(build "$compiler" $standard tests/cpp/cuda.cc
        succeeds "$work/program")"
    done
    check "CUDA's runtime calls by HIP's names, $compiler" "$(by_hips_names)"
    # shellcheck disable=SC2046 # words
    set -- $(with_stdfloat)
    standard=$1
    shift
    check "the standard's types of 16 bits, $compiler" \
        "$(build "$compiler" "$standard" tests/cpp/narrow.cc "$@")"
    [ "$compiler" = "$CXX" ] || [ "${TEST_EFFORT:-}" = long ] || continue
    for name in double_buffering four_streams query; do
        check "the example $name, $compiler" "$(build "$compiler" c++17 examples/$name.cc
        succeeds "$work/program" --quick)"
    done
done
finish

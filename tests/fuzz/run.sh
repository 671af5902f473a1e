#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the fuzz targets with clang's libFuzzer and its sanitizers, and runs each for FUZZ_SECONDS
# (default 60) from its seeds and from what earlier runs have found: `make fuzz`. A finding is left in
# tests/fuzzing/ of the build folder and ends the run.
#
#   FUZZ_CC=clang-14       the compiler
#   FUZZ_TARGETS="npy ..." some of the targets only
set -eu
cc=${FUZZ_CC:-clang}
work=$top_builddir/tests/fuzzing
mkdir -p "$work"

printf 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n == -1; }\n' >"$work/probe.c"
if ! "$cc" -fsanitize=fuzzer "$work/probe.c" -o "$work/probe" 2>"$work/probe.log"; then
    echo "make fuzz needs a clang whose -fsanitize=fuzzer links (Debian: clang libclang-rt-14-dev)"
    exit 77
fi

driver_sources='lib/base/error.c lib/base/text.c lib/driver/cache_blob.c lib/driver/cache_file.c
    lib/driver/cache_trim.c lib/driver/caps.c lib/driver/caps_table.c'

sources_of() {
    case $1 in
    npy) echo tools/npy.c lib/base/types.c lib/base/error.c ;;
    expression)
        echo tools/expression.c tools/operation.c tools/plan.c tools/reference_float.c lib/base/types.c lib/base/error.c
        ;;
    cache) echo "$driver_sources" ;;
    esac
}

# build TARGET
build() {
    list=
    for file in tests/fuzz/fuzz_$1.c $(sources_of "$1"); do
        list="$list $srcdir/$file"
    done
    # shellcheck disable=SC2086
    "$cc" -g -O1 -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE ${OPENCL_CFLAGS:-} \
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        -I"$top_builddir/include" -I"$srcdir/include" -I"$top_builddir/lib" -I"$srcdir/lib" \
        -I"$srcdir" $list -o "$work/fuzz_$1" -lpthread -lm
}

sh "$srcdir/tests/fuzz/seeds.sh" "$work/seeds"
for target in ${FUZZ_TARGETS:-npy expression cache}; do
    echo "--- $target, ${FUZZ_SECONDS:-60} s"
    build "$target"
    mkdir -p "$work/found/$target"
    "$work/fuzz_$target" -max_total_time="${FUZZ_SECONDS:-60}" -max_len=4096 -timeout=10 -use_value_profile=1 \
        -artifact_prefix="$work/$target-" -verbosity=0 -print_final_stats=1 \
        "$work/found/$target" "$work/seeds/$target" 2>&1 |
        tee "$work/$target.log" | grep -E 'stat::number_of_executed|ERROR|SUMMARY|not so|Test unit' || true
    tail -n 1 "$work/$target.log" | grep -q '^stat::peak_rss_mb' || { cat "$work/$target.log"; exit 1; }
done

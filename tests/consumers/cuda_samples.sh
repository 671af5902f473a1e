#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs of NVIDIA's cuda-samples, which the tester has fetched: their host code compiles over clstream/cuda_runtime.h,
# runs with kernels in OpenCL C, and succeeds.
#
#     CUDA_SAMPLES=FOLDER make tests/consumers/cuda_samples.log
#     sh tests/consumers/cuda_samples.sh FOLDER       # with the variables of the Makefile
#
# cuda/host.awk replaces the kernels and the launches and nothing else. cuda/NAME.cl has the kernels. Where cuda/NAME.sed is
# there, it takes out what the header does not have, and the test says how many lines those are.
set -eu
. "$srcdir/tests/tool/common.sh"

samples=${1:-${CUDA_SAMPLES-}}
library=$top_builddir/lib/.libs/libclstream.so
here=$srcdir/tests/consumers/cuda
changed=0
missing=

if [ -z "$samples" ]; then
    echo "1..0 # SKIP no folder of cuda-samples is given (CUDA_SAMPLES)"
    exit 0
fi
if [ -z "$CXX" ] || ! [ -e "$library" ] || grep -q '^SANITIZER_CFLAGS = .*-fsanitize' "$top_builddir/Makefile"; then
    echo "1..0 # SKIP no C++ compiler, or no shared library without sanitizers"
    exit 0
fi

# host_code NAME FILE: the file as C++, in $work/NAME; counts the lines that the .sed takes out into $changed.
host_code() {
    mkdir -p "$work/$1"
    if [ -e "$here/$1.sed" ]; then
        sed -f "$here/$1.sed" "$2" >"$work/$1/${2##*/}"
        changed=$((changed + $(diff "$2" "$work/$1/${2##*/}" | grep -c '^[<>]' || :)))
    else
        cp "$2" "$work/$1/${2##*/}"
    fi
    case $2 in
    *.cu) awk -f "$here/host.awk" "$work/$1/${2##*/}" >"$work/$1/${2##*/}.cc" && rm "$work/$1/${2##*/}" ;;
    esac
}

# compiles NAME FOLDER [FLAG...]: the program as $work/NAME/NAME; what the compiler says when it fails.
compiles() {
    name=$1 folder=$2
    shift 2
    changed=0
    for file in "$folder"/*.cu "$folder"/*.cpp; do
        [ ! -e "$file" ] || host_code "$name" "$file"
    done
    # shellcheck disable=SC2086 # words
    $CXX -std=c++14 -O1 -w -include clstream/cuda_nvcc.h -DCLS_CUDA_KERNELS="\"$here/$name.cl\"" -I"$folder" \
        -I"$samples/Common" -I"$here" -I"$srcdir/include/clstream" -I"$top_builddir/include" -I"$srcdir/include" \
        "$work/$name"/*.c* -o "$work/$name/$name" "$@" "$library" -Wl,-rpath,"${library%/*}" -pthread >"$work/said" 2>&1 ||
        { echo "it does not compile"; head -n 20 "$work/said"; }
}

# lacks NAME: the first extension that the kernels need and the device does not have. A program may have none of its own.
lacks() {
    [ -e "$here/$1.cl" ] || return 0
    sed -n 's/^#pragma OPENCL EXTENSION \([a-z0-9_]*\) : enable$/\1/p' "$here/$1.cl" | while read -r extension; do
        grep -qw "$extension" "$work/info" || { echo "$extension" && break; }
    done
}

# runs NAME [ARGUMENT...]: one test. A program's exit status is its own check; 2 is its word for a device that lacks something.
runs() {
    name=$1
    shift
    rc=0
    (cd "$work/$name" && timeout 300 "./$name" "$@") >"$work/said" 2>"$work/why" || rc=$?
    if [ "$rc" = 2 ]; then
        skip "$name $* succeeds" "$(cat "$work/said" "$work/why" | grep . | tail -n 2 | tr '\n' ' ')"
    else
        check "$name $* succeeds" \
            "$([ "$rc" = 0 ] || { echo "exit status $rc" && tail -n 10 "$work/said" "$work/why"; })"
    fi
}

# said PATTERN TIMES: the last program has said that in so many lines, all of them the same. For programs that check little.
said() {
    [ -z "$missing" ] || return 0
    check "$name says so $2 times: $1" "$(grep "$1" "$work/said" | sed 's/^\[[A-Za-z]*\] //' | sort | uniq -c |
        awk -v times="$2" '{n++} n > 1 || $1 != times {print} END {if (!n) print "it does not"}')"
}

# sample FOLDER/NAME "FLAGS" ARGUMENTS...: compiles it, and runs it once for each of ARGUMENTS.
sample() {
    name=${1##*/} folder=$samples/Samples/$1 flags=$2
    shift 2
    if ! [ -d "$folder" ] || [ -z "$(ls "$folder")" ]; then
        skip "$name" "it is not in the folder"
        missing=sources
        return
    fi
    # shellcheck disable=SC2086 # words
    compiles "$name" "$folder" $flags >"$work/failed"
    check "$name compiles, $changed lines changed beside kernels and launches" "$(cat "$work/failed")"
    if [ -s "$work/failed" ]; then
        return
    fi
    missing=$(lacks "$name")
    if [ -n "$missing" ]; then
        skip "$name" "the device has no $missing"
        return
    fi
    [ $# -gt 0 ] || set -- ""
    for arguments; do
        # shellcheck disable=SC2086 # words
        runs "$name" $arguments
    done
}

need_device
sample 0_Introduction/vectorAdd ""
sample 0_Introduction/asyncAPI ""
sample 0_Introduction/simpleStreams "" "" --use_cuda_malloc_host
sample 0_Introduction/simpleCallback ""
sample 0_Introduction/simpleMultiCopy ""
sample 0_Introduction/simpleZeroCopy "" "" --use_generic_memory
sample 0_Introduction/simpleIPC "$samples/Common/helper_multiprocess.cpp -DCLS_CUDA_SHAREABLE -lrt"
said 'Process 0: [vV]erif' 1
sample 0_Introduction/UnifiedMemoryStreams -fopenmp
sample 2_Concepts_and_Techniques/streamOrderedAllocation ""
sample 3_CUDA_Features/StreamPriorities ""
sample 3_CUDA_Features/simpleCudaGraphs ""
said 'final reduced sum = 0[.]99' 12
sample 3_CUDA_Features/jacobiCudaGraphs "" -gpumethod=0 -gpumethod=1 -gpumethod=2
said 'GPU iterations : [0-9][0-9]' 1
finish

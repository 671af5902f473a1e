#!/bin/sh
# SPDX-License-Identifier: MIT
# `make check-mpi`: two and four ranks of each MPI that is found, two hosts apart, a killed rank and a cut link there, and
# 10^4 random sequences with faults (MPI_SEQUENCES=).
set -eu
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/mpi/common.sh"
. "$srcdir/tests/mpi/netns.sh"

sequences=${MPI_SEQUENCES:-10000}
dir=$(mktemp -d)
cleanup() {
    [ -z "$ns_dir" ] || remove_hosts
    rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# build MPICC PROGRAM: the test program with the library's sources, for that MPI.
build() {
    $1 -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -pthread -I"$top_builddir/include" -I"$srcdir/include" -I"$srcdir/lib" \
        "$srcdir"/lib/mpi/*.c "$srcdir"/tests/mpi/*.c -o "$2" \
        -L"$top_builddir/lib/.libs" -lclstream -Wl,-rpath,"$top_builddir/lib/.libs" 2>&1 || echo "status $?"
}

# In parts, because a failed communicator leaves two of MPI's behind, of which there are 2,048.
random_sequences() {
    seed=1
    while [ "$seed" -le "$sequences" ]; do
        said=$(CLSTREAM_CHECK=mpi RANKS_SECONDS=590 RANKS_SEED=$seed RANKS_SEQUENCES=500 run_ranks 600 "$1" "$ranks" random)
        [ -z "$said" ] || echo "seeds from $seed on: $said"
        seed=$((seed + 500))
    done
}

# survivors RANKS TEXT: nothing if so many ranks have noted the text, or else what they and the launcher said.
survivors() {
    noted=$(find "$RANKS_SURVIVORS" -name 'survivor.*' -exec cat {} +)
    [ "$(echo "$noted" | grep -c "$2")" = "$1" ] || printf '%s\n' "$noted" "$(tail -n 20 "$dir/said")"
    rm -f "$RANKS_SURVIVORS"/*
}

two_hosts() {
    what="$1, two hosts"
    ns_dir=
    if [ "$(id -u)" != 0 ] || ! make_hosts 1ms 400mbit; then
        skip "$what" "network namespaces are not permitted here: $(tail -n 1 "$ns_dir/log" 2>/dev/null)"
        return 0
    fi
    echo "# the link: $ns_link"
    case $ns_link in
    delay*) check "$what: a link with delay" "" ;;
    *) skip "$what: a link with delay" "the kernel has no netem; the link has its rate only" ;;
    esac
    RANKS_SURVIVORS=$dir/survivors
    export RANKS_SURVIVORS
    mkdir -p "$RANKS_SURVIVORS"
    for test in allreduce bits hosts messages order buckets failed_input abort; do
        check "$what: $test, 4 ranks" "$(timeout 200 sh -c '. "$srcdir/tests/mpi/common.sh"; . "$srcdir/tests/mpi/netns.sh"
            ns_a=$1 ns_b=$2 ns_dir=$3 link_a=$4; shift 4; across 4 "$@"' sh $ns_a $ns_b "$ns_dir" $link_a "$ranks" "$test" </dev/null 2>&1 || echo "status $?")"
    done
    LAUNCH_FLAGS=$(keeps_going)
    across 2 sh -c 'trap "" USR1; "$@" || exit 0' ranks "$ranks" killed_rank </dev/null >"$dir/said" 2>&1 || :
    check "$what: a rank is killed" "$(survivors 1 'rank 1 of 2 has ')"
    across 2 "$ranks" cut_link </dev/null >"$dir/said" 2>&1 &
    job=$!
    waited=0
    while [ "$(find "$RANKS_SURVIVORS" -name 'begun.*' | wc -l)" -lt 2 ] && [ $waited -lt 60 ]; do
        sleep 1
        waited=$((waited + 1))
    done
    sleep 1
    cut_link
    waited=0
    while [ "$(find "$RANKS_SURVIVORS" -name 'survivor.*' | wc -l)" -lt 2 ] && [ $waited -lt 60 ]; do
        sleep 1
        waited=$((waited + 1))
    done
    check "$what: the link is cut" "$(survivors 2 'rank [01] of 2')"
    kill $job 2>/dev/null || :
    wait $job 2>/dev/null || :
    LAUNCH_FLAGS=
    remove_hosts
    ns_dir=
}

found=
for mpicc in ${MPI_COMPILERS:-mpicc.openmpi mpicc.mpich}; do
    name=$(basename "$mpicc" | sed 's/^mpicc[.]*//')
    name=${name:-$mpicc}
    MPIEXEC=$(echo "$mpicc" | sed 's/mpicc\([^/]*\)$/mpiexec\1/')
    export MPIEXEC
    if ! command -v "$mpicc" >/dev/null || ! command -v "$MPIEXEC" >/dev/null || ! launches; then
        skip "$name" "no $mpicc with a launcher"
        continue
    fi
    found=1
    ranks=$dir/ranks.$(basename "$mpicc")
    failed=$(build "$mpicc" "$ranks")
    check "$name: the library and its tests are built" "$failed"
    [ -z "$failed" ] || continue
    for n in 2 4; do
        said=$(RANKS_PROGRAM=$ranks RANKS=$n sh "$srcdir/tests/mpi/ranks.sh")
        check "$name: ranks.sh, $n ranks" "$(echo "$said" | grep -A 20 '^not ok' || echo "$said" | grep -q '^1\.\.[1-9]' || echo "$said")"
    done
    two_hosts "$name"
    check "$name: $sequences random sequences, 2 ranks" "$(random_sequences 2)"
done
[ -n "$found" ] || skip "collectives" "no MPI is installed"
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# libclstream-mpi with two ranks (RANKS= another number) of the MPI that configure found (MPIEXEC=).
set -eu
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/mpi/common.sh"

ranks=${RANKS_PROGRAM:-$top_builddir/tests/mpi/ranks}
n=${RANKS:-2}

need_launcher "$ranks" "collectives of $n ranks"

# A test that prints nothing and succeeds has passed. These need something else.
for test in $("$ranks" --list); do
    case $test in
    thread_level | check | stall | destroy_waits | killed_rank | shrink_killed | cut_link | random) continue ;;
    esac
    check "$test, $n ranks" "$(run_ranks 200 "$n" "$ranks" "$test")"
done
# Hosts of fewer ranks, as if the others were somewhere else.
host=1
while [ "$host" -lt "$n" ]; do
    RANKS_HOST=$host
    export RANKS_HOST
    check "values and failures with $host ranks a host, $n ranks" "$(run_ranks 200 "$n" "$ranks" allreduce reduce_scatter \
        allgather bcast messages order bits hosts barrier group buckets failed_input poisoned_stream abort)"
    host=$((host + 1))
done
unset RANKS_HOST
check "a lower thread level is refused, $n ranks" "$(RANKS_FUNNELED=1 run_ranks 100 "$n" "$ranks" thread_level)"
CLSTREAM_CHECK=mpi
export CLSTREAM_CHECK
check "CLSTREAM_CHECK=mpi names both sides, $n ranks" "$(run_ranks 100 "$n" "$ranks" check)"
check "CLSTREAM_CHECK=mpi has nothing to say of what fits, $n ranks" "$(run_ranks 100 "$n" "$ranks" order)"
check "50 random sequences with faults, $n ranks" "$(run_ranks 200 "$n" "$ranks" random)"
unset CLSTREAM_CHECK
said=$(run_ranks 100 "$n" "$ranks" stall)
check "each rank reports a stall, $n ranks" "$([ "$(echo "$said" | grep -c '^clstream: .* has waited .* rank')" = "$n" ] &&
    ! echo "$said" | grep -v '^clstream: ' || echo "$said")"
said=$(run_ranks 100 "$n" "$ranks" destroy_waits)
check "a rank in destroy waits for the others, which say where it is, $n ranks" "$(echo "$said" |
    grep -v '^clstream: .* rank 0 is in cls_mpi_comm_destroy')"
LAUNCH_FLAGS="$LAUNCH_FLAGS $(keeps_going)"
RANKS_SURVIVORS=$(mktemp -d)
export RANKS_SURVIVORS
trap 'rm -rf "$RANKS_SURVIVORS"' EXIT
# survivors TEST TEXT: nothing if all ranks but one note the text. MPICH's launcher ends all ranks when one has died by a
# signal, and sends them another: a shell in between hides it.
survivors() {
    said=$(run_ranks 100 "$n" sh -c 'trap "" USR1; "$@" || exit 0' ranks "$ranks" "$1")
    noted=$(find "$RANKS_SURVIVORS" -name 'survivor.*' -exec cat {} +)
    [ "$(echo "$noted" | grep -c "$2")" = $((n - 1)) ] || printf '%s\n' "$noted" "$said"
    rm -f "$RANKS_SURVIVORS"/*
}
check "the others survive a killed rank, $n ranks" "$(survivors killed_rank "rank $((n - 1)) of $n has ended")"
if "$ranks" --shrinks; then
    check "the others go on without a killed rank, $n ranks" "$(survivors shrink_killed "$((n - 1)) go on")"
else
    skip "the others go on without a killed rank, $n ranks" "the MPI has no ULFM"
fi
if [ "$n" -gt 2 ]; then
    RANKS_HOST=2
    export RANKS_HOST
    check "the others survive a killed rank, $n ranks on hosts of 2" "$(survivors killed_rank "rank $((n - 1)) of $n has ended")"
fi
finish

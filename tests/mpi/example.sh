#!/bin/sh
# SPDX-License-Identifier: MIT
# Two ranks learn as one process with all data does, to the last bit, and go on from a checkpoint after a kill.
set -eu
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/mpi/common.sh"

example=${EXAMPLE_PROGRAM:-$top_builddir/examples/data_parallel_mpi}
need_launcher "$example" "the example on two ranks"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The ranks' last line has their number, and that of one process its contexts.
losses() { grep '^step ' "$1" || true; }
differences() { diff "$dir/whole.losses" - || true; }

"$top_builddir/examples/data_parallel" --quick >"$dir/whole" 2>&1 || echo "status $?" >>"$dir/whole"
losses "$dir/whole" >"$dir/whole.losses"
check "one process prints four losses" "$([ "$(wc -l <"$dir/whole.losses")" -eq 4 ] || cat "$dir/whole")"

run_ranks 100 2 "$example" >"$dir/ranks"
check "the losses of two ranks are those of one process" "$(losses "$dir/ranks" | differences; grep '^status' "$dir/ranks")"

run_ranks 100 2 "$example" "$dir/checkpoint" 25 >"$dir/killed"
check "a rank dies at step 25" "$(grep -q '^status' "$dir/killed" || cat "$dir/killed")"
check "rank 0 has written a checkpoint" "$([ -s "$dir/checkpoint" ] || cat "$dir/killed")"
run_ranks 100 2 "$example" "$dir/checkpoint" >"$dir/resumed"
check "the next run goes on at the step of the checkpoint" "$(head -n 1 "$dir/resumed" | grep -v '^step 20:')"
check "its losses are those of a run without a kill" \
    "$({ losses "$dir/killed" | grep -v '^step 20:'; losses "$dir/resumed"; } | sort | differences; grep '^status' "$dir/resumed")"
finish

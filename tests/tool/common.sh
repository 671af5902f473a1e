# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What the tests of the clstream command share: the command, a folder to work in, and assertions whose
# output is empty when they hold (the findings of `check`).
. "$srcdir/tests/tap.sh"

clstream=$top_builddir/tools/clstream
work=$(mktemp -d)
driver_lines=$(mktemp) # what the driver itself writes to standard error, once need_device has seen it
trap 'rm -rf "$work" "$driver_lines"' EXIT

run() {
    "$clstream" run -q "$@"
}

# Without a device the rest has nothing to run on; any other failure of info is one of each test. Tests that
# need none may stand before.
need_device() {
    if ! "$clstream" info >"$work/info" 2>"$driver_lines" && grep -q CLS_ERROR_NO_DEVICE "$driver_lines"; then
        [ "$tap_count" != 0 ] || { echo "1..0 # SKIP no OpenCL device"; exit 0; }
        skip "the rest" "no OpenCL device"
        finish
        exit 0
    fi
    ! grep -q '^clstream: ' "$driver_lines" || : >"$driver_lines"
}

# ours [FILE]: the lines of a file, or of the standard input, but those that the driver writes to standard error
# whatever a program says. Numbers in them may differ.
ours() {
    awk 'function shape(line) { gsub(/[0-9]+/, "0", line); return line }
        FILENAME == own { drivers[shape($0)]; next }
        !(shape($0) in drivers)' own="$driver_lines" "$driver_lines" "${1:--}"
}

# succeeds COMMAND...: its output when it fails.
succeeds() {
    rc=0
    "$@" >"$work/said" 2>&1 || rc=$?
    [ "$rc" = 0 ] || { echo "exit status $rc of: $*"; cat "$work/said"; }
}

# fails STATUS PART COMMAND...: exits with STATUS and says PART on the standard error.
fails() {
    wanted=$1 part=$2 rc=0
    shift 2
    "$@" >"$work/said.out" 2>"$work/said" || rc=$?
    [ "$rc" = "$wanted" ] || echo "exit status $rc, not $wanted, of: $*"
    grep -qF -- "$part" "$work/said" || { echo "no '$part' in:"; cat "$work/said"; }
}

# same FILE FILE
same() {
    cmp "$1" "$2" 2>&1 || true
}

# What a run that failed must not leave: anything but the files named.
only_files() {
    for file in "$1"/* "$1"/.[!.]*; do
        [ -e "$file" ] || continue
        case " $2 " in
        *" $(basename "$file") "*) ;;
        *) echo "left behind: $file" ;;
        esac
    done
}

# integers NUMBER...: as raw little-endian i32 (-2147483648 .. 2147483647).
integers() {
    for number in "$@"; do
        [ "$number" -ge 0 ] || number=$((number + 4294967296))
        # shellcheck disable=SC2059
        printf "$(printf '\\%03o\\%03o\\%03o\\%03o' $((number & 255)) $((number >> 8 & 255)) \
            $((number >> 16 & 255)) $((number >> 24 & 255)))"
    done
}

# The i32 elements of a raw file, in one line.
show_i32() {
    od -An -v -td4 "$1" | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'
}

# run_example NAME OPTION...: in a small size; sets `status` and `out`.
run_example() {
    name=$1
    shift
    status=0
    out=$("$top_builddir/examples/$name" --quick "$@" 2>&1) || status=$?
    if [ "$status" = 77 ]; then
        skip "$name" "$out"
    else
        check "$name" "$([ "$status" = 0 ] || echo "status $status: $out")"
    fi
}

#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream run: every failure has its exit status and its message, and leaves no half-written output.
set -eu
. "$srcdir/tests/tool/common.sh"
need_device
mkdir "$work/here"
"$clstream" gen -o "$work/here/in.npy" --dtype f32 --bytes 64K

# bad_stages NAME STAGES COLUMN PART
bad_stages() {
    check "$1" \
        "$(fails 2 "column $3: $4" run -i "$work/here/in.npy" -o "$work/here/out.npy" "$2"
        only_files "$work/here" in.npy)"
}
bad_stages "an unknown operation, with a suggestion" 'scale 2 | gelo' 11 \
    "unknown operation 'gelo'; did you mean 'gelu'?"
bad_stages "an unknown type" 'cast f33' 6 "'f33' is no type"
bad_stages "a number that is none" 'scale x' 7 "'x' is no number"
bad_stages "a missing number" 'scale' 6 "'scale' needs a number"
bad_stages "a missing number in front of another stage" 'scale | gelu' 6 "'scale' needs a number"
bad_stages "an argument too many" 'gelu 3' 6 "'gelu' takes no argument"
bad_stages "an empty stage" 'gelu |  | relu' 9 "a stage is missing"
bad_stages "no stages" '' 1 "a stage is missing"
bad_stages "an operation that does not take the type" 'cast u8 | gelu' 11 "'gelu' takes"
bad_stages "a constant that the type cannot hold" 'cast u8 | add 300' 15 "300 is no u8"
check "the stage is pointed at" \
    "$(run -i "$work/here/in.npy" -o "$work/here/out.npy" 'scale 2 | gelo' 2>"$work/said" || true
    ours "$work/said" | sed -n 3p | grep -qx '            ^^^^' || cat "$work/said")"

check "a missing input" \
    "$(fails 1 "$work/nowhere: cannot open: No such file" run -i "$work/nowhere" -o "$work/here/out" relu
    only_files "$work/here" in.npy)"
check "an input that is a folder" \
    "$(fails 1 'it is a folder' run -i "$work" -o "$work/here/out" relu)"
check "an output folder that does not exist" \
    "$(fails 1 'No such file' run -i "$work/here/in.npy" -o "$work/nowhere/out" relu)"
check "an output that is a folder" \
    "$(fails 1 'it is a folder' run -i "$work/here/in.npy" -o "$work/here" relu)"

long=$(printf '%0255d' 0)
check "an output with the longest name that a folder takes" \
    "$(run -i "$work/here/in.npy" -o "$work/here/$long" relu 2>&1 | ours
    only_files "$work/here" "$long in.npy")"
rm -f "$work/here/$long"
check "an output with a name that is too long" \
    "$(fails 1 'name too long' run -i "$work/here/in.npy" -o "$work/here/${long}0" relu
    only_files "$work/here" in.npy)"
check "an output without a name" \
    "$(fails 2 'are needed' run -i "$work/here/in.npy" -o '' relu)"

for cut in 0 5 11 100; do
    head -c $cut "$work/here/in.npy" >"$work/cut.npy"
    check "an input cut off after $cut bytes" \
        "$(fails 1 'truncated' run -i "$work/cut.npy" -o "$work/here/out.npy" relu
        only_files "$work/here" in.npy)"
done
head -c 65000 "$work/here/in.npy" >"$work/cut.npy"
check "an input cut off in the data" \
    "$(fails 1 'truncated: the header promises 65536 bytes of data, the file has 64872' \
        run -i "$work/cut.npy" -o "$work/here/out.npy" relu
    only_files "$work/here" in.npy)"
{ cat "$work/here/in.npy"; echo more; } >"$work/long.npy"
check "an input that goes on after its data" \
    "$(fails 1 'too long' run -i "$work/long.npy" -o "$work/here/out.npy" relu)"
sed "1s/'<f4'/'>f4'/" "$work/here/in.npy" >"$work/big-endian.npy"
check "a big-endian input" \
    "$(fails 1 'big-endian' run -i "$work/big-endian.npy" -o "$work/here/out.npy" relu)"
check "a raw input without --dtype" \
    "$(fails 1 'no .npy file' run -i "$srcdir/tests/tool/errors.sh" -o "$work/here/out" relu)"
check "a raw input of no whole number of elements" \
    "$(echo x >"$work/odd"
    fails 1 'no whole number of f32' run --dtype f32 -i "$work/odd" -o "$work/here/out" relu)"
echo precious >"$work/here/out.npy"
cp "$work/here/out.npy" "$work/precious"
if [ -c /dev/full ]; then
    check "a full disk" "$(fails 1 '/dev/full: cannot write: No space' \
        run -i "$work/here/in.npy" -o /dev/full relu)"
else
    skip "a full disk" "there is no /dev/full"
fi
# Some megabytes: a driver may write files of its own when it compiles.
check "an output that grows past the limit leaves the old one" \
    "$(limited() (ulimit -f 8192 && "$@")
    "$clstream" gen -o "$work/long.npy" --bytes 32M
    fails 1 'cannot write: File too large' limited run -i "$work/long.npy" \
        -o "$work/here/out.npy" relu
    same "$work/precious" "$work/here/out.npy"
    only_files "$work/here" 'in.npy out.npy')"
check "a chunk that no device holds" \
    "$(fails 1 'chunk' run -i "$work/here/in.npy" -o "$work/here/out.npy" --chunk 4000T relu
    same "$work/precious" "$work/here/out.npy"
    only_files "$work/here" 'in.npy out.npy')"
check "a device that is not there" \
    "$(fails 1 'cannot open a device' run -i "$work/here/in.npy" -o "$work/here/out.npy" \
        --device 'no such device' relu
    only_files "$work/here" 'in.npy out.npy')"
check "--verify of what cannot be read back" \
    "$(fails 1 'read back' run -i "$work/here/in.npy" -o /dev/null --verify relu)"
finish

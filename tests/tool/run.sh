#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream run: what comes out of good runs.
set -eu
. "$srcdir/tests/tool/common.sh"
need_device

: >"$work/empty"
f64=yes
"$clstream" run -q --dtype f64 -i "$work/empty" -o "$work/none" copy 2>"$work/said" ||
    { grep -q 'not supported' "$work/said" && f64=no; }

# gen_for TYPE: 10,007 elements, which no chunk size divides.
gen_for() {
    case $1 in
    u8 | i8) size=1 ;;
    f16 | i16 | u16) size=2 ;;
    f64 | i64) size=8 ;;
    *) size=4 ;;
    esac
    "$clstream" gen -o "$work/$1.npy" --dtype "$1" --bytes $((10007 * size))
}

for type in f32 f64 i32 i64 u8 u32 f16 i8 i16 u16; do
    gen_for $type
    if [ $type = f64 ] && [ $f64 = no ]; then
        skip "$type: copy gives the same file" "the device has no f64"
        continue
    fi
    check "$type: copy gives the same file" \
        "$(succeeds run -i "$work/$type.npy" -o "$work/$type.out.npy" copy
        same "$work/$type.npy" "$work/$type.out.npy")"
done

# 1, -2 and the largest f16, of which bf16 has the nearest power of two and f32 that.
printf '\000\074\000\300\377\173' >"$work/halves"
check "elements of f16 and bf16 are raw ones" \
    "$(succeeds run --dtype f16 -i "$work/halves" -o "$work/brains" 'cast bf16'
    succeeds run --dtype bf16 -i "$work/brains" -o "$work/out" --verify 'scale 0.5 | cast f32 | cast i32'
    [ "$(show_i32 "$work/out")" = "0 -1 32768" ] || show_i32 "$work/out")"
check "a .npy file has no bf16" \
    "$(! run -i "$work/f16.npy" -o "$work/b.npy" 'cast bf16' 2>"$work/said" &&
    grep -q 'a .npy file has no bf16' "$work/said" || cat "$work/said")"

for chunk in 64 1K 4097 64K; do
    check "chunks of $chunk bytes give the same file" \
        "$(succeeds run -i "$work/i32.npy" -o "$work/out.npy" --chunk $chunk 'copy | copy'
        same "$work/i32.npy" "$work/out.npy")"
done

integers 0 -1 2 -3 2147483647 -2147483648 7 >"$work/seven"
check "single elements are chunks too" \
    "$(succeeds run --dtype i32 -i "$work/seven" -o "$work/out" --chunk 1 neg
    [ "$(show_i32 "$work/out")" = "0 1 -2 3 -2147483647 -2147483648 -7" ] || show_i32 "$work/out")"

check "a chain gives what its stages say" \
    "$(succeeds run --dtype i32 -i "$work/seven" -o "$work/out" \
        'cast f32 | scale 2 | add_scalar 1 | cast i32'
    [ "$(show_i32 "$work/out")" = "1 -1 5 -5 2147483647 -2147483648 15" ] ||
        show_i32 "$work/out")"

check "comparisons and where" \
    "$(succeeds run --dtype i32 -i "$work/seven" -o "$work/out" 'gt 0 | where i32 10 -10'
    [ "$(show_i32 "$work/out")" = "-10 -10 10 -10 10 -10 10" ] || show_i32 "$work/out")"

check "a cast to the type that is there changes nothing" \
    "$(succeeds run --dtype i32 -i "$work/seven" -o "$work/out" 'cast i32'
    same "$work/seven" "$work/out")"

"$clstream" gen -o "$work/big.npy" --dtype f32 --bytes 1M
run -i "$work/big.npy" -o "$work/streams1.npy" --streams 1 --chunk 16K 'scale 0.5 | gelu | cast i32'
for streams in 2 3 4 9; do
    check "$streams streams give what one gives" \
        "$(succeeds run -i "$work/big.npy" -o "$work/out.npy" --streams $streams --chunk 16K \
            'scale 0.5 | gelu | cast i32'
        same "$work/streams1.npy" "$work/out.npy")"
done

check "every stage verifies" \
    "$(succeeds run -i "$work/big.npy" -o "$work/out.npy" --chunk 64K --verify \
        'scale 0.25 | tanh | abs | sqrt | exp | log | clamp_max 0.5 | gt 0.25 | where i32 1 0')"

check "the shape is kept" \
    "$(succeeds run -i "$srcdir/examples/data/digits.npy" -o "$work/digits.npy" 'cast f32 | scale 0.0625'
    head -c 128 "$work/digits.npy" | grep -q "'<f4', 'fortran_order': False, 'shape': (1797, 64)" ||
        head -c 128 "$work/digits.npy")"

check "a raw input may become .npy" \
    "$(succeeds run --dtype i32 -i "$work/seven" -o "$work/out.npy" copy
    head -c 128 "$work/out.npy" | grep -q "'<i4', 'fortran_order': False, 'shape': (7,)" ||
        head -c 128 "$work/out.npy"
    tail -c 28 "$work/out.npy" >"$work/tail"
    same "$work/seven" "$work/tail")"

"$clstream" gen -o "$work/zero.npy" --dtype u8 --bytes 0
check "a file without elements" \
    "$(succeeds "$clstream" run -i "$work/zero.npy" -o "$work/out.npy" --verify 'cast f32 | gelu'
    grep -q "'<f4', 'fortran_order': False, 'shape': (0,)" "$work/out.npy" || cat "$work/out.npy")"
check "an empty raw file" \
    "$(succeeds run --dtype u8 -i "$work/empty" -o "$work/out" 'cast f32'
    [ -e "$work/out" ] && [ ! -s "$work/out" ] || ls -l "$work/out")"

cp "$work/seven" "$work/inplace"
check "input and output may be one file" \
    "$(succeeds run --dtype i32 -i "$work/inplace" -o "$work/inplace" neg
    [ "$(show_i32 "$work/inplace")" = "0 1 -2 3 -2147483647 -2147483648 -7" ] ||
        show_i32 "$work/inplace")"

echo old >"$work/target" && ln -s target "$work/link" && chmod 640 "$work/target"
check "a symbolic link goes on leading to the output, whose mode stays" \
    "$(succeeds run --dtype i32 -i "$work/seven" -o "$work/link" copy
    same "$work/seven" "$work/target"
    [ -h "$work/link" ] || echo 'the link is gone'
    [ "$(ls -l "$work/target" | cut -c1-10)" = -rw-r----- ] || ls -l "$work/target")"

mkdir "$work/far" "$work/far/below"
ln -s far/early "$work/early" && ln -s "$work/far/below/late" "$work/far/early"
check "a symbolic link whose file is not there yet leads to it then" \
    "$(succeeds run --dtype i32 -i "$work/seven" -o "$work/early" copy
    same "$work/seven" "$work/far/below/late"
    [ -h "$work/early" ] && [ -h "$work/far/early" ] || echo 'the link is gone')"
ln -s nowhere/at/all "$work/lost"
check "a symbolic link into no folder is no output, and stays" \
    "$(fails 1 'No such file' run --dtype i32 -i "$work/seven" -o "$work/lost" copy
    [ -h "$work/lost" ] || echo 'the link is gone')"

check "a device is written directly" \
    "$(succeeds run --dtype i32 -i "$work/seven" -o /dev/null neg
    [ -c /dev/null ] || echo '/dev/null was replaced')"

check "what a driver prints does not go into the output where standard files are closed" \
    "$(POCL_DEBUG=all "$clstream" run -q -i "$work/i32.npy" -o "$work/out.npy" copy <&- 2>&- ||
        echo "exit status $?"
    same "$work/i32.npy" "$work/out.npy")"

check "the summary tells elements, types and stages" \
    "$(succeeds "$clstream" run -i "$work/big.npy" -o "$work/out.npy" --chunk 64K 'cast i32'
    "$clstream" run -i "$work/big.npy" -o "$work/out.npy" --chunk 64K 'cast i32' >"$work/summary"
    for part in '262,144, f32 -> i32' '16 of 16,384 elements' upload compute download overlap GB/s; do
        grep -qF "$part" "$work/summary" || { echo "no '$part' in:"; cat "$work/summary"; }
    done)"

check "a summary is no wider than 100 columns and --quiet prints nothing" \
    "$(awk 'length > 100 && !/ -> / { print }' "$work/summary"
    run -i "$work/big.npy" -o "$work/out.npy" 'cast i32' 2>&1 | ours)"

check "generated files are the same each time, and differ by their seed" \
    "$("$clstream" gen -o "$work/a" --bytes 64K --dtype i64
    "$clstream" gen -o "$work/b" --bytes 64K --dtype i64
    "$clstream" gen -o "$work/c" --bytes 64K --dtype i64 --seed 1
    same "$work/a" "$work/b"
    ! cmp -s "$work/a" "$work/c" || echo 'another seed made no difference')"
# Of 1 GiB, 5 slots of 150 MiB fit three quarters by themselves; with the host memory that they need, they do not.
small() { POCL_MEMORY_LIMIT=1 CLSTREAM_CACHE_DIR=$work/small "$@"; }
if small "$clstream" info | sed -n '/(default)$/,/^$/p' | grep -q 'memory  *1 GiB,.*shared with the host'; then
    check "where the device's memory is the host's, what the host needs counts" \
        "$(truncate -s 1200M "$work/sparse"
        fails 1 "do not fit in the device's 1 GiB" small "$clstream" run -q --dtype f32 -i "$work/sparse" \
            -o "$work/out" --chunk 150M neg
        rm "$work/sparse")"
else
    skip "where the device's memory is the host's, what the host needs counts" \
        "the driver makes no device of 1 GiB"
fi
finish

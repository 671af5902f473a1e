#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream run: every stage that the help lists, on some of the types that it takes, checked by --verify; with
# TEST_EFFORT=long on all of them.
set -eu
. "$srcdir/tests/tool/common.sh"
need_device

# Chains that keep their values in a range where each stage has something to do.
bounded='sin | add_scalar 1.5 | sqrt | log | exp | recip | cos | add 0.25 | tanh | scale 3 | erf | sub 0.5'
activations='mul 4 | gelu | scale 2 | gelu_erf | sub 1 | silu | mul 3 | sub 2 | leaky_relu 0.5 | elu 0.5'
shaped='sigmoid | powf 3 | mul 5 | sub 2 | normcdf | pow 0.5 | div 0.125 | ceil | div 3 | floor | div 3 | round'
common='copy | clamp_min 3 | clamp_max 100 | neg | abs | sqr | max 20 | min 120 | add 7 | sub 3 | mul 3 | div 5'
signs='scale 3 | add_scalar 1 | relu | sign'
gradients='relu_gradient 0.5 | add 0.25 | gelu_gradient 3 | sub 1 | gelu_erf_gradient 2 | sub 1 | silu_gradient 4 | sub 2'
gradients="$gradients | sigmoid_gradient 9 | sub 1 | tanh_gradient 2"
masks="gt 20 | where T 9 4 | ge 9 | cast i32 | where T 7 2 | lt 5 | cast i64 | where T 6 1 | le 1 | where T 8 3"
masks="$masks | eq 8 | where T 5 2 | ne 5"
casts='cast f32 | cast u8 | cast i64 | cast u32 | cast i32 | cast u8 | cast u32 | cast i64 | cast i32'
casts="$casts | cast f32 | cast i64 | cast f32 | cast u32 | cast f32 | cast i32 | cast u32 | cast u8 | cast i32"
casts="$casts | cast i64 | cast u8 | cast f32"
casts64='cast f64 | cast u8 | cast f64 | cast i32 | cast f64 | cast u32 | cast f64 | cast i64 | cast f64 | cast f32'
all="$bounded | $activations | $gradients | $shaped | $common | $signs | $masks | $casts"

check "the chains have every stage that the help lists" \
    "$("$clstream" run --help | sed -n '/^Stages:/,$p' | sed 1d | tr ',' '\n' |
        while read -r name _; do
            case "| $all " in
            *"| $name "*) ;;
            *) echo "$name is in none" ;;
            esac
        done)"

# verified NAME TYPE STAGES
verified() {
    "$clstream" gen -o "$work/in.npy" --dtype "$2" --bytes 96K
    stages=$(echo "$3" | sed "s/where T/where $2/g")
    rc=0
    run -i "$work/in.npy" -o "$work/out.npy" --chunk 40000 --verify "$stages" 2>"$work/said" || rc=$?
    if grep -q 'f64 is not supported' "$work/said"; then
        skip "$1 of $2" "the device has no f64"
    else
        check "$1 of $2" "$([ $rc = 0 ] || cat "$work/said")"
    fi
}

floats=f32 types='f32 u8 f16' others=u8
[ "${TEST_EFFORT:-}" != long ] || floats='f32 f64 f16' types='f32 f64 i32 i64 u8 u32 f16 i8 i16 u16' others='f32 i32 i64 u8 u32 f16 i8 i16 u16'
for type in $floats; do
    verified "functions" "$type" "$bounded"
    verified "activations" "$type" "$activations"
    verified "gradients" "$type" "$gradients"
    verified "powers and roundings" "$type" "$shaped"
done
for type in $types; do
    verified "arithmetic" "$type" "$common | $signs"
    verified "comparisons and where" "$type" "$masks"
done
for type in $others; do
    verified "casts" "$type" "$casts"
    verified "casts through f64" "$type" "$casts64"
done

printf '\000\000\000\000\000\000\360\377' >"$work/infinity" # the negative one
rc=0
run --dtype f64 -i "$work/infinity" -o "$work/power" --verify 'powf -9223372036854775808' 2>"$work/said" || rc=$?
if grep -q 'f64 is not supported' "$work/said"; then
    skip "a large power of -inf" "the device has no f64"
else
    check "a large power of -inf" "$([ $rc = 0 ] || cat "$work/said")"
fi
finish

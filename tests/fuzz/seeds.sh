#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the seeds of the fuzz targets: seeds.sh FOLDER makes FOLDER/TARGET/*.
set -eu
folder=$1

# npy VERSION-BYTES LENGTH-BYTES TEXT: octal escapes, as printf takes them
npy() { printf '\223NUMPY'"$1$2$3"; }

mkdir -p "$folder/npy" "$folder/expression" "$folder/cache"
n=0
for type in '<f4' '<f8' '<i4' '<i8' '|u1' '<u4' '>f4' '<c8'; do
    for shape in '()' '(3,)' '(2, 3)' '(0, 18446744073709551615)'; do
        text="{'descr': '$type', 'fortran_order': False, 'shape': $shape, }"
        length=$(printf '\\%03o' "${#text}")
        n=$((n + 1))
        npy '\001\000' "$length"'\000' "$text" >"$folder/npy/seed$n"
        npy '\002\000' "$length"'\000\000\000' "$text" >"$folder/npy/wide$n"
    done
done

n=0
while IFS= read -r text; do
    n=$((n + 1))
    printf '%s' "$text" >"$folder/expression/seed$n"
done <<'END'
cast f32 | scale 0.0625 | gelu | gt 0.5 | where f32 1 -1
relu
cast u8|cast i64|add 3|mul -2|clamp_min 0|clamp_max 1e300
pow 2 | powf 0.5 | elu nan | leaky_relu inf
eq 0x10 | where i32 9223372036854775807 -9223372036854775808
sclae 2
scale
where f64 1
| relu |
END

# A file of the key "key\0" with the payload "payload"; the target mends the checksum.
header='CLSBLOB\000................\001\000\000\000'
sizes='\004\000\000\000\000\000\000\000\007\000\000\000\000\000\000\000'
printf '\001'"$header"'\001\000\000\000'"$sizes"'key\000payload' >"$folder/cache/program"
printf '\000'"$header"'\001\000\000\000'"$sizes"'key\000payload' >"$folder/cache/unmended"
printf '\002payload' >"$folder/cache/payload"
{
    printf '\006'
    n=0
    while [ $n -lt 27 ]; do
        printf '\000\000\000\000\000\000\360\077'
        n=$((n + 1))
    done
} >"$folder/cache/caps"

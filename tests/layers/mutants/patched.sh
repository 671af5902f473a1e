#!/bin/sh
# SPDX-License-Identifier: MIT
# patched.sh OBJECT: copies the files of lib/ that the patches change, patches and compiles the copies, and puts them into
# one object. A program that links it before the library has them in place of the library's own.
# COMPILE is the compiler with its flags.
set -eu
mutants=$srcdir/tests/layers/mutants
work=${1%.o}
rm -rf "$work"
for file in $(sed -n 's/^+++ //p' "$mutants"/patches/*.patch); do
    mkdir -p "$work/${file%/*}"
    cat "$srcdir/$file" >"$work/$file"
done
for patch in "$mutants"/patches/*.patch; do
    patch -s -p0 -d "$work" <"$patch"
done
find "$work" -name '*.c' | while read -r file; do
    $COMPILE -include "$mutants/mutant.h" -c -o "${file%.c}.o" "$file"
done
find "$work" -name '*.o' -exec $COMPILE -r -nostdlib -o "$1" {} +

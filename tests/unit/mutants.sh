#!/bin/sh
# SPDX-License-Identifier: MIT
# The patches of tests/layers/mutants fit the code, and each mutant is in one of them.
set -eu
. "$srcdir/tests/tap.sh"

mutants=$srcdir/tests/layers/mutants
for patch in "$mutants"/patches/*.patch; do
    name="${patch##*/} fits the code"
    if ! command -v patch >/dev/null; then
        skip "$name" 'patch is not installed'
    else
        misfits=$(patch --dry-run -f -s -p0 -d "$srcdir" <"$patch" 2>&1) && misfits=
        check "$name" "$misfits"
    fi
done
unpatched=$(sed -n 's/^ *\(MUTANT_[A-Z_]*\),.*/\1/p' "$mutants/mutant.h" | while read -r mutant; do
    grep -q "mutant($mutant)" "$mutants"/patches/*.patch || echo "$mutant is in no patch"
done)
check 'each mutant is in a patch' "$unpatched"
check 'the library has no mutants' "$(grep -rn 'mutant(' "$srcdir/lib")"
finish

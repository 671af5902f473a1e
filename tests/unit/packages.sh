#!/bin/sh
# SPDX-License-Identifier: MIT
# The packages have the library's version and symbols, and the tarball all files of debian/.
set -eu
. "$srcdir/tests/tap.sh"

# differs WANTED FOUND
differs() { [ "$1" = "$2" ] || echo "$2, not $1"; }

check "debian/changelog has the library's version" \
    "$(differs "$VERSION" "$(sed -n '1s/^clstream (\(.*\)) .*/\1/p' "$srcdir/debian/changelog")")"
check "clstream.spec has the library's version" \
    "$(differs "$VERSION" "$(sed -n 's/^Version: *//p' "$srcdir/build-aux/clstream.spec")")"
check "debian/libclstream0.symbols is build-aux/debian-symbols of lib/clstream.map" \
    "$(sh "$srcdir/build-aux/debian-symbols" | diff "$srcdir/debian/libclstream0.symbols" - || true)"
few=$(awk 'END {if (NR < 300) print "only " NR " symbols"}' "$srcdir/debian/libclstream0.symbols")
check "the symbols are found" "$few"

# The soname is part of names of packages.
soname=$(sed -n 's/.*-version-info \([0-9]*\):[0-9]*:\([0-9]*\)$/\1 \2/p' "$srcdir/lib/Makefile.inc" | awk '{print $1 - $2}')
check "debian/control names the soname" \
    "$(grep -qx "Package: libclstream$soname" "$srcdir/debian/control" || echo "no libclstream$soname")"

if git -C "$srcdir" rev-parse --git-dir >/dev/null 2>&1 && [ -e "$srcdir/.git" ]; then
    check "make dist takes every file of debian/" \
        "$(git -C "$srcdir" ls-files debian | while read -r file; do
            grep -qw "$file" "$srcdir/tests/packages/Makefile.inc" || echo "$file"
        done)"
else
    skip "make dist takes every file of debian/" "no git clone"
fi
finish

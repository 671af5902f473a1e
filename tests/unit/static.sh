#!/bin/sh
# SPDX-License-Identifier: MIT
# The static library defines the public names alone, so that programs can use all others. Where the build makes none, it
# is made here of the same objects.
set -eu
. "$srcdir/tests/tap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -z "$HIDE_NAMES" ]; then
    echo '1..0 # SKIP configure found no objcopy that hides names'
    exit 0
fi
archive=$top_builddir/lib/.libs/libclstream.a
if [ ! -f "$archive" ]; then
    archive=$dir/libclstream.a
    check "the archive is made" "$(cd "$top_builddir" && eval "$HIDE_NAMES lib/.libs/libinternal.a '$archive'" 2>&1 || echo failed)"
fi

names() {
    ${NM:-nm} -g --defined-only "$archive" | awk 'NF == 3 {print $3}' | sort -u
}
few=$(names | awk 'END {if (NR < 300) print "only " NR " names found"}')
check "it defines the public names" "$few"
check "it defines no other" "$(names | grep -v '^cls_' || true)"
check "it has no objects for link-time optimization" "$(${READELF:-readelf} -SW "$archive" | grep -F .gnu.lto_ || true)"

linked=$($LINK_STATIC -I"$top_builddir/include" -I"$srcdir/include" "$srcdir/tests/unit/collision.c" "$archive" $STATIC_LIBS \
    -o "$dir/collision" 2>&1) || linked=${linked:-$LINK_STATIC failed}
check "a program with such names links" "$linked"
check "and runs" "$("$dir/collision" 2>&1 || echo "exit status $?")"
finish

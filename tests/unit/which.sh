#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/which knows each file of the library, and names programs that exist.
set -eu
. "$srcdir/tests/tap.sh"

map=$srcdir/tests/coverage/map
cd "$srcdir"
unmapped=$(find lib -name '*.c' | sort | while read -r file; do
    grep -q "^$file tests/" "$map" || echo "$file has no row in tests/coverage/map: write one, or make coverage-map"
done)
check 'each file of lib/ has a row' "$unmapped"
gone=$(while read -r file programs; do
    [ -f "$file" ] || echo "$file is gone"
    for program in $programs; do
        [ -f "$program" ] || [ -f "$program.c" ] || echo "$program, of $file, is gone"
    done
done <"$map")
check 'what the rows name exists' "$gone"
programs=$(tests/which lib/stream/submit.h ./lib/stream/submit.c | grep -c '^tests/') || :
check 'a header has the programs of its file' "$([ "$programs" = 5 ] || echo "$programs programs")"
check 'a file that is not there is an error' "$(tests/which lib/stream/none.c 2>/dev/null && echo 'none')"
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# Every function that the shared library exports is called by tests/hostile/test_calls.
set -eu
. "$srcdir/tests/tap.sh"

LC_ALL=C
export LC_ALL
program=$top_builddir/tests/hostile/test_calls
[ -x "$program" ] || { echo "1..0 # SKIP the test programs are not built: no cmocka"; exit 0; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
${NM:-nm} -D --defined-only "$top_builddir/lib/.libs/libclstream.so" |
    awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort -u >"$dir/exported"
"$program" --names | sort >"$dir/called"

check "every exported function has a row" "$(comm -23 "$dir/exported" "$dir/called")"
check "every row is of an exported function" "$(comm -13 "$dir/exported" "$dir/called")"

# "kind:flag,flag" of the rows, and what the lists of bad values ask for: a flag of no row leaves out its values.
sed 's/#.*//' "$srcdir/tests/hostile/calls.def" "$top_builddir/tests/hostile/typed.def" | tr ' ' '\n' |
    sed -n 's/^[^:]*://p' | tr ',' '\n' | sort -u >"$dir/flags"
grep -ohE 'has_flag\([^"()]*"[^"]*"' "$srcdir"/tests/hostile/*.c | sed 's/.*"\(.*\)"/\1/' | sort -u >"$dir/asked"
check "the flags are found" "$([ "$(wc -l <"$dir/asked")" -gt 20 ] || echo "too few")"
check "every flag that bad values depend on is of a row" "$(comm -13 "$dir/flags" "$dir/asked")"
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# The shared library exports what the installed headers declare: nothing more, nothing less.
set -eu
. "$srcdir/tests/tap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
LC_ALL=C
export LC_ALL

# A declaration is what follows CLS_API's attribute; its name is the word before the first parenthesis.
check "the headers preprocess" "$(preprocess_headers "$dir")"
tr '\n' ' ' <"$dir/all.i" |
    sed 's/__attribute__((visibility("default")))/\n&/g' |
    sed -n 's/^__attribute__((visibility("default"))) *[^(;]*[ *]\([A-Za-z_][A-Za-z0-9_]*\) *(.*/\1/p' |
    sort -u >"$dir/declared"

library=$top_builddir/lib/.libs/libclstream.so

sed -n 's/^ *\([A-Za-z_][A-Za-z0-9_*]*\);.*/\1/p' "$srcdir/lib/clstream.map" | sort >"$dir/allowed"


# Where the tools cannot hide the inner names of a static library (static.sh), what the programs that link it define must
# be none of them.
strong_names() {
    xargs ${NM:-nm} -A -g --defined-only | awk '$(NF - 1) ~ /^[BCDGRST]$/ {sub(/:[0-9a-f]*$/, "", $1); print $NF, $1}'
}
echo "$top_builddir/lib/.libs/libinternal.a" | strong_names | cut -d ' ' -f 1 | sort -u >"$dir/inner"
names_defined_twice() {
    (cd "$top_builddir" && find examples tools tests/api tests/device tests/hostile tests/mixed tests/support \
        tests/tool -name '*.o' 2>/dev/null | strong_names) | sort | join - "$dir/inner" | awk '{print $2 " defines " $1}'
}

# The constants of operations, and those that ops.def has a row of.
cat "$srcdir/include/clstream/unary.h" "$srcdir/include/clstream/binary.h" "$srcdir/include/clstream/reduce.h" |
    sed -n 's/^ *\(CLS_[A-Z]*_[A-Z0-9_]*\) *= *[0-9][0-9]*,*.*/\1/p' | sort -u >"$dir/constants"
grep -o 'CLS_[A-Z0-9_]*' "$srcdir/lib/ops/ops.def" | sort -u >"$dir/rows"
check "each constant of an operation has a row in lib/ops/ops.def" "$(comm -23 "$dir/constants" "$dir/rows")"

few=$(awk 'END {if (NR < 10) print "only " NR " declarations found"}' "$dir/declared")
check "the headers declare functions" "$few"
if [ -f "$library" ]; then
    # A version script's own name is listed as an absolute symbol.
    ${NM:-nm} -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort -u >"$dir/exported"
    check "every declared function is exported" "$(comm -23 "$dir/declared" "$dir/exported")"
    check "every exported symbol is declared" "$(comm -13 "$dir/declared" "$dir/exported")"
else
    skip "the exports are what is declared" "no shared library is built"
fi
check "every row of the version map names a declared function" "$(comm -13 "$dir/declared" "$dir/allowed")"
check "no row of the version map stands for names to come" "$(grep '[*]' "$dir/allowed")"
check "no row of the version map stands twice" "$(uniq -d "$dir/allowed")"

few=$(awk 'END {if (NR < 100) print "only " NR " names found"}' "$dir/inner")
check "the library's inner names are found" "$few"
check "no program defines a name of the static library's" "$(names_defined_twice)"

# A thread of the library's goes on when the last program part that uses it is closed.
if [ -f "$library" ]; then
    unloads=$(${READELF:-readelf} -d "$library" | awk '/NODELETE/ {stays = 1} END {if (!stays) print "dlclose unloads it"}')
    check "the library stays where its threads run" "$unloads"
else
    skip "the library stays where its threads run" "no shared library is built"
fi
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# What README.md and doc/*.md name exists: the interface, environment variables, files that they link to;
# and doc/reference.dox has every header.
set -eu
. "$srcdir/tests/tap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
LC_ALL=C
export LC_ALL

# The headers without their comments but with their macros.
check "the headers preprocess" "$(preprocess_headers "$dir" -dD)"

names() {
    grep -ohE '\b(cls|CLS)_[A-Za-z0-9_]+' "$@" | sort -u
}
# Of libraries beside this one, whose headers need others to be compiled, the names in the text.
{ names "$dir/all.i"; for path in $ADDON_HEADERS; do names "$srcdir/$path"; done; } | sort -u >"$dir/known"

# A name that ends in "_" stands for all that begin so: "cls_copy_*".
unknown_names() {
    names "$1" | while read -r name; do
        case $name in
        *_) grep -q "^$name" "$dir/known" || echo "$name*" ;;
        *) grep -qx "$name" "$dir/known" || echo "$name" ;;
        esac
    done
}

grep -rohE '"CLSTREAM_[A-Z0-9_]+"' "$srcdir/lib" | tr -d '"' | sort -u >"$dir/read"
unknown_variables() {
    grep -ohE '\bCLSTREAM_[A-Z0-9_]+' "$1" | sort -u | comm -23 - "$dir/read"
}

# Links are relative to the page that has them.
dead_links() {
    grep -ohE '\]\([^)#]+' "$1" | sed 's/^](//' | grep -v '://' | while read -r link; do
        [ -e "$(dirname "$1")/$link" ] || echo "$link"
    done
}

for page in README.md SECURITY.md doc/batch.md doc/design.md doc/from-opencl.md doc/guide.md doc/performance.md doc/porting.md doc/products.md doc/scaling.md; do
    check "what $page names is in the headers" "$(unknown_names "$srcdir/$page")"
    check "the variables that $page names are read" "$(unknown_variables "$srcdir/$page")"
    check "what $page links to is there" "$(dead_links "$srcdir/$page")"
done
# The functions of the headers, without the typed ones, which are generated: a tarball has them beside the others.
find "$srcdir/include/clstream" -name '*.h' ! -name typed.h -exec cat {} + | tr '\n' ' ' | sed 's/CLS_API/\n&/g' |
    sed -n 's/^CLS_API [^(;]*[ *]\(cls_[a-z0-9_]*\) *(.*/\1/p' | sort -u >"$dir/functions"
names "$srcdir"/README.md "$srcdir"/doc/*.md "$srcdir"/examples/*.c "$srcdir"/bench/*.c "$srcdir"/tools/*.[ch] \
    "$srcdir"/python/clstream/*.py >"$dir/named"
check 'the headers have functions' "$([ -s "$dir/functions" ] || echo 'none found')"
check 'each function is in a page, an example, a benchmark, the tool or a binding' "$(comm -23 "$dir/functions" "$dir/named")"

# These two also name functions that were removed, or are examples.
check "what doc/api-changes.md and doc/releases.md link to is there" \
    "$(dead_links "$srcdir/doc/api-changes.md"; dead_links "$srcdir/doc/releases.md")"
check "what doc/embedding.md links to is there" "$(dead_links "$srcdir/doc/embedding.md")"
awk '/^## /{latest++} /^### /{on = latest == 1 && $2 == "Added"} on' "$srcdir/doc/api-changes.md" >"$dir/added"
check "what the latest release added is in the headers" \
    "$([ -s "$dir/added" ] || echo 'nothing found'; unknown_names "$dir/added")"

not_referenced=$(header_paths | while read -r path; do
    name=$(basename "$path" .h)
    [ "$name" = clstream ] || grep -q "@addtogroup clstream_$name\$" "$srcdir/doc/reference.dox" || echo "$path"
done)
check "the API reference has a place for every header" "$not_referenced"

variables() {
    grep -ohE "$1CLSTREAM_[A-Z0-9_]+" "$2" | grep -oE 'CLSTREAM_[A-Z0-9_]+' | sort -u
}
variables '^\| `' "$srcdir/README.md" >"$dir/readme"
variables '^\.It Ev ' "$srcdir/doc/clstream.7" >"$dir/manual"
grep -ohE '"CLSTREAM_[A-Z0-9_]+"' "$srcdir/lib/base/setting.c" | tr -d '"' | sort -u >"$dir/table"
grep -rhoE '"CLSTREAM_[A-Z0-9_]+"' "$srcdir/lib" --include='*.c' --exclude=setting.c | tr -d '"' | sort -u >"$dir/read"
check "the table in lib/base/setting.c has every variable that is read" "$(comm -13 "$dir/table" "$dir/read")"
check "every variable of the table in lib/base/setting.c is read" "$(comm -23 "$dir/table" "$dir/read")"
check "clstream(7) lists every variable but that of a test" \
    "$(grep -vx CLSTREAM_OP_SHAPE "$dir/read" | diff "$dir/manual" -)"
check "README.md and clstream(7) list the same variables" "$(diff "$dir/readme" "$dir/manual")"

unnamed_by_tests() {
    grep -rohE 'CLSTREAM_[A-Z0-9_]+' "$srcdir/tests" --include='*.[ch]' --include='*.sh' --exclude=docs.sh --exclude=layering.sh |
        sort -u | comm -23 "$dir/table" -
}
check "a test names every variable of the table in lib/base/setting.c" "$(unnamed_by_tests)"

# The guide says whose its figures are, but for those with a star.
strange_figures() {
    tr '\n' ' ' <"$srcdir/doc/guide.md" |
        grep -oE '[0-9]+\.[0-9]+ (us|GB/s|times)( on (the H200|PoCL)\*)?' | grep -v '\*$' |
        while read -r figure; do
            grep -qE "(^|[^0-9.])${figure%%.*}[.]$(echo "${figure#*.}" | cut -d' ' -f1)([^0-9]|\$)" \
                "$srcdir/doc/performance.md" "$srcdir/doc/scaling.md" || echo "$figure"
        done
}
check "the guide's figures are those of doc/performance.md and doc/scaling.md" "$(strange_figures)"

# Names in code of the library, and files of lib/, that doc/design.md mentions. "flights_*" stands for all that begin so.
strange_internals() {
    grep -ohE '`[a-z_]+(_[a-z]+|\.[ch]|/[a-z_]+\.[ch])+\*?`|`[a-z_]+_\*`' "$srcdir/doc/design.md" | tr -d '`' | sort -u |
        while read -r name; do
            case $name in
            *.[ch]) [ -e "$srcdir/lib/$name" ] || [ -e "$srcdir/$name" ] || echo "$name" ;;
            *) grep -rqE "\b${name%\*}" "$srcdir/lib" --include='*.[ch]' || echo "$name" ;;
            esac
        done
}
check "the names in doc/design.md are the code's" "$(strange_internals)"

# Calls in the column of OpenCL C that tests/device/porting.cl does not make: there all of them are compiled.
not_compiled() {
    awk -F ' [|] ' '/^\| CUDA C \| OpenCL C/ {on = 1} /^$/ {on = 0} on {print $2}' "$srcdir/doc/porting.md" |
        grep -oE '\b[a-z][a-z0-9_]*\(' | sort -u | while read -r call; do
        grep -qF "$call" "$srcdir/tests/device/porting.cl" || echo "$call"
    done
}
check "the OpenCL C of doc/porting.md is compiled" "$(not_compiled)"

# The code of the library in a page of code before and after, each block as a function.
awk '/^```/ {if (on) print "}"; on = 0} on {print} /^\/\* clStream \*\/$/ {on = ++n; print "static MAYBE void block" n "(void) {"}' \
    "$srcdir/doc/from-opencl.md" >"$dir/blocks"
cat "$srcdir/tests/unit/from_opencl.c" "$dir/blocks" >"$dir/from_opencl.c"
check "doc/from-opencl.md has blocks of code" "$([ "$(grep -c '^static' "$dir/blocks")" -ge 10 ] || echo "too few")"
check "the code of doc/from-opencl.md compiles" \
    "$($CC -std=c11 -Wall -Wextra -Wno-unused -Werror $OPENCL_CFLAGS -I"$top_builddir/include" -I"$srcdir/include" \
        -fsyntax-only "$dir/from_opencl.c" 2>&1)"

# What `make doc` would refuse, without its pages.
if command -v doxygen >/dev/null; then
    { cat "$top_builddir/doc/Doxyfile"; printf '%s\n' GENERATE_HTML=NO GENERATE_MAN=NO GENERATE_XML=YES "OUTPUT_DIRECTORY=$dir"; } |
        sed 's/^WARN_AS_ERROR .*/WARN_AS_ERROR = NO/' >"$dir/Doxyfile"
    check "the comments of the headers are a reference without a warning" "$(cd "$top_builddir" && doxygen "$dir/Doxyfile" 2>&1)"
else
    skip "the comments of the headers are a reference without a warning" "no doxygen"
fi

few=$(names "$srcdir/doc/porting.md" | awk 'END {if (NR < 100) print "only " NR " names"}')
check "the names of a page are found" "$few"
finish

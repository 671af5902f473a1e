#!/bin/sh
# SPDX-License-Identifier: MIT
# Every installed header compiles alone, as C11 and as C++11; what is not installed is not in include/.
set -eu
. "$srcdir/tests/tap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# compile COMPILER STANDARD SUFFIX HEADER: the compiler's messages, or why it failed without any.
# Twice in one file, so that a missing include guard shows.
compile() {
    printf '#include <%s>\n#include <%s>\nint cls_test_nothing;\n' "$4" "$4" >"$dir/one.$3"
    $1 -std="$2" -pedantic -Wall -Wextra -Werror $OPENCL_CFLAGS -I"$top_builddir/include" \
        -I"$srcdir/include" -c "$dir/one.$3" -o "$dir/one.o" 2>&1 || echo "$1 failed"
}

unlisted() {
    for path in "$srcdir"/include/*.h "$srcdir"/include/clstream/*.h; do
        [ -e "$path" ] || continue
        case " $HEADERS $ADDON_HEADERS " in
        *" ${path#"$srcdir"/} "*) ;;
        *) echo "${path#"$srcdir"/}" ;;
        esac
    done
}

not_in_umbrella() {
    [ -e "$srcdir/include/clstream.h" ] || { echo "include/clstream.h is not there"; return; }
    for header in $HEADERS; do
        case $header in
        include/clstream.h | include/clstream/opencl.h) continue ;;
        esac
        grep -q "#include <${header#include/}>" "$srcdir/include/clstream.h" || echo "$header"
    done
}

check "every header in include/ is installed" "$(unlisted)"
check "the umbrella includes every header but opencl.h" "$(not_in_umbrella)"
for header in $HEADERS; do
    name=${header#include/}
    check "<$name> compiles alone as C11" "$(compile "$CC" c11 c "$name")"
    if [ -n "$CXX" ]; then
        check "<$name> compiles alone as C++11" "$(compile "$CXX" c++11 cc "$name")"
    else
        skip "<$name> compiles alone as C++11" "no C++ compiler"
    fi
done

sized_structs() {
    header_paths | while read -r header; do cat "$header"; done |
        sed -n 's/^ *size_t size; .*sizeof(\(cls_[a-z_]*\)).*/\1/p'
}
not_tried=$(sized_structs | while read -r type; do
    grep -qw "$type" "$srcdir/tests/api/test_struct_sizes.c" || echo "$type"
done)
few=$(sized_structs | awk 'END {if (NR < 30) print "only " NR " found"}')
check "the structs that begin with their size are found" "$few"
check "tests/api/test_struct_sizes tries each of them" "$not_tried"

# What the macros stand for is no cast of C's either, and neither is what an inline function does; g++ does not
# look into these.
values() {
    printf '#include <clstream.h>\ncls_task task = CLS_TASK_INIT;\nsize_t all = CLS_PROFILE_ALL;\n%s' \
        'bool any(cls_stream stream) { return stream == CLS_ANY_STREAM; }'
}
for cxx in "$CXX" clang++; do
    if [ -n "$cxx" ] && command -v "${cxx%% *}" >/dev/null; then
        check "$cxx finds no cast of C's in the headers" "$(values >"$dir/values.cc"
        $cxx -std=c++11 -Wall -Wextra -Wold-style-cast -Wconversion -Werror -I"$top_builddir/include" \
            -I"$srcdir/include" -c "$dir/values.cc" -o "$dir/values.o" 2>&1 || echo "$cxx failed")"
    else
        skip "${cxx:-C++} finds no cast of C's in the headers" "no such compiler"
    fi
done
finish

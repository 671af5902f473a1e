#!/bin/sh
# SPDX-License-Identifier: MIT
# libclstream-mpi exports what clstream/mpi.h declares; libclstream has nothing of MPI; the header compiles alone.
set -eu
. "$srcdir/tests/tap.sh"

library=$top_builddir/lib/.libs/libclstream-mpi.so
header=$srcdir/include/clstream/mpi.h
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
LC_ALL=C
export LC_ALL

tr '\n' ' ' <"$header" | sed 's/CLS_API/\n&/g' | sed -n 's/^CLS_API [^(;]*[ *]\(cls_[a-z_]*\)(.*/\1/p' | sort >"$dir/declared"
sed -n 's/^ *\(cls_[a-z_]*\);.*/\1/p' "$srcdir/lib/mpi/clstream-mpi.map" | sort >"$dir/allowed"
check "the version map is what the header declares" "$(diff "$dir/declared" "$dir/allowed" || true)"
few=$(awk 'END {if (NR < 15) print "only " NR " names"}' "$dir/declared")
check "the names are found" "$few"
hostile=$srcdir/tests/mpi/hostile.c
sed -n 's/^ *ROW(\([a-z_]*\),.*/cls_mpi_\1/p' "$hostile" | sort >"$dir/tried"
check "tests/mpi/hostile.c tries each of them" "$(diff "$dir/declared" "$dir/tried" || true)"
sized=$(sed -n 's/^ *size_t size; .*sizeof(\(cls_[a-z_]*\)).*/\1/p' "$header")
check "the structs that begin with their size are found" "$([ "$(echo "$sized" | wc -l)" -ge 3 ] || echo "$sized")"
check "tests/mpi/hostile.c tries each of them" "$(for type in $sized; do grep -qw "$type" "$hostile" || echo "$type"; done)"

if [ -f "$library" ]; then
    ${NM:-nm} -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort >"$dir/exported"
    check "the library exports what the header declares" "$(diff "$dir/declared" "$dir/exported" || true)"
    check "libclstream has nothing of MPI" \
        "$(${NM:-nm} -D "$top_builddir/lib/.libs/libclstream.so" | grep -i 'mpi' || true)"
    # What an MPI has in its own headers is not ours to warn of.
    system=$(echo "$MPI_CFLAGS" | sed 's/-I/-isystem /g')
    compile() {
        printf '#include <clstream/mpi.h>\n#include <clstream/mpi.h>\nint cls_test_nothing;\n' >"$dir/one.$3"
        $1 -std="$2" -pedantic -Wall -Wextra -Werror -I"$top_builddir/include" -I"$srcdir/include" \
            $system -c "$dir/one.$3" -o "$dir/one.o" 2>&1 || echo "$1 failed"
    }
    check "<clstream/mpi.h> compiles alone as C11" "$(compile "$CC" c11 c)"
    if [ -n "$CXX" ]; then
        check "<clstream/mpi.h> compiles alone as C++11" "$(compile "$CXX" c++11 cc)"
        printf '#include <clstream/mpi.h>\nint main() { int flag; return MPI_Initialized(&flag); }\n' >"$dir/main.cc"
        # shellcheck disable=SC2086 # words
        check "a program in C++ needs no more of MPI than one in C" "$($CXX $SANITIZER_CFLAGS -I"$top_builddir/include" \
            -I"$srcdir/include" $MPI_CFLAGS "$dir/main.cc" -o "$dir/main" $MPI_LIBS 2>&1 || echo "$CXX failed")"
    else
        skip "<clstream/mpi.h> compiles alone as C++11" "no C++ compiler"
    fi
else
    skip "the library exports what the header declares" "configure found no MPI"
fi
finish

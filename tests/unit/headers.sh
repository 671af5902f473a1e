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
        include/clstream.h | include/clstream/opencl.h | include/clstream/cuda_* | include/clstream/hip_*) continue ;;
        esac
        grep -q "#include <${header#include/}>" "$srcdir/include/clstream.h" || echo "$header"
    done
}

check "every header in include/ is installed" "$(unlisted)"
check "the umbrella includes every header but opencl.h and those of CUDA's calls" "$(not_in_umbrella)"
for header in $HEADERS; do
    name=${header#include/}
    check "<$name> compiles alone as C11" "$(compile "$CC" c11 c "$name")"
    if [ -n "$CXX" ]; then
        check "<$name> compiles alone as C++11" "$(compile "$CXX" c++11 cc "$name")"
    else
        skip "<$name> compiles alone as C++11" "no C++ compiler"
    fi
done

# A program for CUDA finds <cuda_runtime.h> by -I of the folder that has it, whatever other names are there.
unchanged() {
    printf '#include <cuda_runtime.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <math.h>\n%s\n' \
        'int cls_test_nothing(void); int cls_test_nothing(void) { return cudaDeviceSynchronize() == cudaSuccess; }' >"$dir/unchanged.c"
    $1 -std="$2" -x "$3" -Wall -Wextra -Werror -I"$top_builddir/include" -I"$srcdir/include" -I"$srcdir/include/clstream" \
        -fsyntax-only "$dir/unchanged.c" 2>&1 || echo "$1 failed"
}
check "<cuda_runtime.h> is found by its name alone, in C" "$(unchanged "$CC" c11 c)"
if [ -n "$CXX" ]; then
    check "<cuda_runtime.h> is found by its name alone, in C++" "$(unchanged "$CXX" c++11 c++)"
else
    skip "<cuda_runtime.h> is found by its name alone, in C++" "no C++ compiler"
fi

# A call of CUDA's that the library has nothing for: the compiler refuses it, by a message that has its name.
not_refused() {
    sed -n 's/^#define \(cuda[A-Za-z0-9]*\)(.*/\1/p' "$srcdir/include/clstream/cuda_missing.h" >"$dir/missing"
    [ "$(wc -l <"$dir/missing")" -gt 50 ] || echo "too few calls found"
    { printf '#include <clstream/cuda_runtime.h>\n'
        awk '{print "int f" NR "(void); int f" NR "(void) { return " $1 "(0); }"}' "$dir/missing"; } >"$dir/missing.c"
    $1 -std="$2" -x "$3" -fmax-errors=0 -I"$top_builddir/include" -I"$srcdir/include" -fsyntax-only "$dir/missing.c" >"$dir/said" 2>&1 &&
        echo "it compiles"
    while read -r name; do
        grep -q "clstream_has_no_$name\>" "$dir/said" || echo "$name"
    done <"$dir/missing"
}
check "calls of CUDA's that are not there do not compile, in C" "$(not_refused "$CC" c11 c)"
if [ -n "$CXX" ]; then
    check "calls of CUDA's that are not there do not compile, in C++" "$(not_refused "$CXX" c++11 c++)"
else
    skip "calls of CUDA's that are not there do not compile, in C++" "no C++ compiler"
fi

# CUDA's names in the headers, without comments and without those of cuda_missing.h.
for path in "$srcdir"/include/clstream/cuda_*.h; do
    [ "${path##*/}" = cuda_missing.h ] || $CC -fpreprocessed -dD -E -P -x c "$path" 2>/dev/null
done | grep -oE '\bcuda[A-Z][A-Za-z0-9_]*' | sort -u >"$dir/cuda_names"
sed -n 's/^#define hip[A-Za-z0-9_]* \(cuda[A-Za-z0-9_]*\)$/\1/p' "$srcdir/include/clstream/hip_runtime.h" | sort -u >"$dir/hip_table"
sed -n '/^ \* HIP has no name for these/,/^ \*\//p' "$srcdir/include/clstream/hip_runtime.h" |
    grep -oE '\bcuda[A-Z][A-Za-z0-9_]*' | sort -u >"$dir/hip_lacks"
check "the names of CUDA's are found" "$([ "$(wc -l <"$dir/cuda_names")" -gt 200 ] || echo "too few")"
check "HIP's table has each of CUDA's names, or says that HIP has none" \
    "$(sort "$dir/hip_table" "$dir/hip_lacks" | comm -23 "$dir/cuda_names" -)"
check "HIP's table names nothing that is not there" "$(sort -u "$dir/hip_table" "$dir/hip_lacks" | comm -13 "$dir/cuda_names" -)"
check "HIP's table has no name of those that HIP has not" "$(comm -12 "$dir/hip_table" "$dir/hip_lacks")"

sized_structs() {
    header_paths | while read -r header; do cat "$header"; done |
        sed -n 's/^ *size_t size; .*sizeof(\(cls_[a-z0-9_]*\)).*/\1/p'
}
not_tried=$(sized_structs | while read -r type; do
    grep -qw "$type" "$srcdir/tests/api/test_struct_sizes.c" || echo "$type"
done)
few=$(sized_structs | awk 'END {if (NR < 30) print "only " NR " found"}')
check "the structs that begin with their size are found" "$few"
check "tests/api/test_struct_sizes tries each of them" "$not_tried"

# What a compiler leaves free behind the last field counts as the struct's own in every program: a field that is added
# there later would have whatever the stack had. So the last field ends where the struct does; on 64 bits, which have the
# larger gaps.
tails() {
    echo 'typedef void *MPI_Comm;' >"$dir/mpi.h" # all that clstream/mpi.h takes from it
    (header_paths && HEADERS=$ADDON_HEADERS header_paths) | sed 's/.*/#include "&"/' >"$dir/all.c"
    $CC -E -P $OPENCL_CFLAGS -I"$top_builddir/include" -I"$srcdir/include" -I"$dir" "$dir/all.c" | tr '\n' ' ' |
        sed 's/typedef struct/\n&/g' >"$dir/plain"
    awk '
/^typedef struct cls_[a-z0-9_]* *{ *size_t size;/ {
    name = $3
    body = substr($0, 1, index($0, "} " name ";") - 1)
    sub(/; *$/, "", body)
    sub(/.*;/, "", body)
    gsub(/\[[^]]*\]/, "", body)
    if (body ~ /\(/) sub(/\).*/, "", body)
    sub(/ *$/, "", body)
    sub(/.*[ *]/, "", body)
    printf "_Static_assert(sizeof(size_t) < 8 || offsetof(%s, %s) + sizeof((%s *)0)->%s == sizeof(%s), \"%s\");\n",
        name, body, name, body, name, name
}' "$dir/plain" >"$dir/tails"
    cat "$dir/all.c" "$dir/tails" >"$dir/tails.c"
    $CC -std=c11 $OPENCL_CFLAGS -I"$top_builddir/include" -I"$srcdir/include" -I"$dir" \
        -c "$dir/tails.c" -o "$dir/tails.o" 2>&1 || echo "$CC failed"
    (sized_structs && HEADERS=$ADDON_HEADERS sized_structs) | awk -v file="$dir/tails" '
BEGIN { while ((getline line < file) > 0) found += 1 }
END { if (found != NR) print found " structs of " NR " were looked at" }'
}
check "no struct that begins with its size ends with a gap" "$(tails)"

# "FAMILY OPERATION BOUND": the ULP that a header states, without what grows with |x|; 0 for an exact operation.
stated_bounds() {
    awk '/^typedef enum/ { sub(/^cls_/, "", $3); sub(/_op$/, "", $3); family = $3 }
        /^ *\/\*\*/ { text = "" }
        { text = text " " $0 }
        $1 ~ /^CLS_[A-Z0-9_]+$/ && $2 == "=" {
            bound = match(text, /[0-9]+ ([+][^.]*)?ULP/) ? substr(text, RSTART) + 0 : 0
            text = ""
            print family, $1, bound
        }' "$srcdir/include/clstream/unary.h" "$srcdir/include/clstream/binary.h"
}
# The reference needs one function of the library, which no bound calls.
reference_bounds() {
    awk 'BEGIN {
            print "#include <stdio.h>\n#include \"tools/reference.h\""
            print "size_t cls_dtype_size(cls_dtype type) { return (size_t)type; }\nint main(void) {"
        }
        {
            printf "printf(\"%s %s %%g\\n\", reference_%s_bound(%s, CLS_F32%s));\n", $1, $2, $1, $2,
                $1 == "unary_param" ? "" : ", 0"
        }
        END { print "}" }' "$dir/stated" >"$dir/bounds.c"
    $CC -std=c11 $OPENCL_CFLAGS -I"$top_builddir/include" -I"$srcdir/include" -I"$srcdir" "$dir/bounds.c" \
        "$srcdir/tools/reference_bound.c" "$srcdir/tools/reference.c" "$srcdir/tools/reference_float.c" -lm -o "$dir/bounds" 2>&1 && "$dir/bounds"
}
stated_bounds >"$dir/stated"
check "the tests take the error bounds that the headers state" \
    "$(reference_bounds | diff "$dir/stated" - | grep '^[<>]')"

# "STRUCT OPTION" for each field of options.
options() {
    sed -n 's/^typedef struct cls_[a-z0-9_]*_config *{ *size_t size;\(.*\)} \(cls_[a-z0-9_]*_config\);.*/\2;\1/p' "$dir/plain" |
        awk -F ';' '{
            for (i = 2; i < NF; i++) {
                gsub(/\(\*|\).*|\[[^]]*\]/, " ", $i)
                n = split($i, words, /[ *]+/)
                if (words[n] == "") n--
                if (words[n] !~ /^reserved/) print $1, words[n]
            }
        }'
}
# An option that the library takes and does nothing with: no file that names its struct reads a member of that name.
unread_options() {
    options >"$dir/options"
    [ "$(wc -l <"$dir/options")" -ge 50 ] || echo "only $(wc -l <"$dir/options") options found"
    while read -r type option; do
        grep -rlw "$type" "$srcdir/lib" | xargs grep -qE "(->|[.])$option\\>" /dev/null || echo "$type.$option"
    done <"$dir/options"
}
check "the library reads each option" "$(unread_options)"

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

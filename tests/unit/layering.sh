#!/bin/sh
# SPDX-License-Identifier: MIT
# Dependencies point down only, and only lib/driver calls OpenCL.
set -eu
. "$srcdir/tests/tap.sh"

# Rooms from below to above. These still know each other; they become layers one by one.
layers='base driver stream memory command check api ops trace coordinator batch pipeline'
together='stream memory command check api'

# The code of a file, one "line number: code" per line, with comments blanked and the insides of
# strings and character constants gone, except on #include lines.
code_of() {
    awk '
    function strip(text,    out, c, two) {
        out = ""
        while (text != "") {
            c = substr(text, 1, 1); two = substr(text, 1, 2)
            if (in_comment) {
                if (two == "*/") { in_comment = 0; text = substr(text, 3) } else text = substr(text, 2)
            } else if (quote != "") {
                if (c == "\\") text = substr(text, 3)
                else { if (c == quote) quote = ""; text = substr(text, 2) }
            } else if (two == "/*") { in_comment = 1; text = substr(text, 3) }
            else if (two == "//") text = ""
            else if (c == "\"" || c == "\047") { quote = c; out = out c c; text = substr(text, 2) }
            else { out = out c; text = substr(text, 2) }
        }
        return out
    }
    !in_comment && /^[ \t]*#[ \t]*include/ { print FNR ": " $0; next }
    { print FNR ": " strip($0) }' "$1"
}

# Files of a layer: "lib/stream/stream.c" ...; generated ones lie in the build folder.
files_of() {
    for root in "$srcdir" "$top_builddir"; do
        [ -d "$root/lib/$1" ] || continue
        (cd "$root/lib/$1" && find "$PWD" -name '*.[ch]')
    done | sort -u
}

opencl_calls() {
    for layer in $layers; do
        [ "$layer" = driver ] && continue
        for file in $(files_of "$layer"); do
            code_of "$file" | grep -E '(^|[^A-Za-z0-9_])cl[A-Z][A-Za-z0-9]*' | sed "s,^,$file:,"
        done
    done
    return 0
}

# base/thread.h blocks the signals of the process in every thread of the library.
own_threads() {
    grep -n 'pthread_create(' -r "$srcdir/lib" | grep -v '/base/thread\.c:'
    return 0
}

upward_includes() {
    below=
    for layer in $layers; do
        below="$below $layer"
        for file in $(files_of "$layer"); do
            code_of "$file" | sed -n 's/^\([0-9]*\): *# *include "\([^"]*\)".*/\1 \2/p' |
                while read -r line path; do
                    case " $together " in
                    *" $layer "*) known="$below $together" ;;
                    *) known=$below ;;
                    esac
                    case " $known config.h " in
                    *" ${path%%/*} "*) ;;
                    *) echo "$file:$line: includes \"$path\", which is not below $layer" ;;
                    esac
                done
        done
    done
}

unknown_layers() {
    for dir in "$srcdir"/lib/*/; do
        name=$(basename "$dir")
        case " $layers " in
        *" $name "*) ;;
        *) echo "lib/$name" ;;
        esac
    done
}

# What the public side may not see: the tool, the examples and the black-box tests include <clstream...>.
inside_views() {
    for dir in tools examples bench tests/api; do
        for file in $(find "$srcdir/$dir" -name '*.[ch]' 2>/dev/null | sort); do
            code_of "$file" | sed -n 's/^\([0-9]*\): *# *include "\([^"]*\)".*/\1 \2/p' |
                while read -r line path; do
                    if [ -e "$srcdir/lib/$path" ]; then
                        echo "$file:$line: includes \"$path\" of lib/"
                    fi
                done
        done
    done
}

# OpenCL's types are named by one public header.
opencl_types_in_headers() {
    for file in $(header_paths); do
        [ "$(basename "$file")" = opencl.h ] && continue
        code_of "$file" | grep -E '(^|[^A-Za-z0-9_])(cl_[a-z]+|CL/)' | sed "s,^,$file:,"
    done
    return 0
}

# A handle tells its type by the number of its pool.
shared_handle_types() {
    for layer in $layers; do
        for file in $(files_of "$layer"); do
            code_of "$file" | grep -v '# *define' |
                sed -n 's/.*OBJECT_POOL[A-Z_]*(\([0-9]*\),.*/\1/p'
        done
    done | sort | uniq -d | sed 's/^/two pools of objects have type /'
}

check "only lib/driver names OpenCL functions" "$(opencl_calls)"
check "includes point down only" "$(upward_includes)"
check "only base/thread.c starts threads" "$(own_threads)"
check "every folder of lib is a known layer" "$(unknown_layers)"
check "tools, examples, bench and tests/api include no header of lib" "$(inside_views)"
check "only clstream/opencl.h names OpenCL types" "$(opencl_types_in_headers)"
check "every pool of objects has a type of its own" "$(shared_handle_types)"
finish

# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# TAP for test scripts: source it, call `check` per test and `finish` last.

tap_count=0

# check DESCRIPTION FINDINGS: passes when FINDINGS is empty, and else shows them.
check() {
    tap_count=$((tap_count + 1))
    if [ -z "$2" ]; then
        echo "ok $tap_count - $1"
    else
        echo "not ok $tap_count - $1"
        printf '%s\n' "$2" | sed 's/^/# /'
    fi
}

# skip DESCRIPTION REASON
skip() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

finish() {
    echo "1..$tap_count"
}

# The installed headers in full paths, generated ones included. HEADERS comes from the Makefile.
header_paths() {
    for header in $HEADERS; do
        if [ -e "$top_builddir/$header" ]; then
            echo "$top_builddir/$header"
        else
            echo "$srcdir/$header"
        fi
    done
}

# preprocess_headers FOLDER [OPTION]: makes FOLDER/all.i of the installed headers. Shows what the compiler says.
preprocess_headers() {
    header_paths | sed 's/.*/#include "&"/' >"$1/all.c"
    # shellcheck disable=SC2086 # words
    $CC -E -P ${2-} $OPENCL_CFLAGS -I"$top_builddir/include" -I"$srcdir/include" "$1/all.c" -o "$1/all.i" 2>&1 ||
        echo "$CC failed"
}

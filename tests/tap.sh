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

#!/bin/sh
# SPDX-License-Identifier: MIT
# The first program, which the README shows, does what it says, also with a setting that is misspelt.
set -eu
. "$srcdir/tests/tool/common.sh"
need_device

check "it prints the squares" \
    "$(out=$("$top_builddir/examples/first" 2>&1 | ours) || true
    [ "$out" = '1 4 9 16' ] || echo "$out")"
check "a misspelt setting is told, once" \
    "$(out=$(CLSTREAM_QUEUE_ORDER=inorder "$top_builddir/examples/first" 2>&1 | ours) || true
    told="clstream: CLSTREAM_QUEUE_ORDER=inorder is ignored: there are 'in' and 'out'"
    [ "$out" = "$told
1 4 9 16" ] || echo "$out")"
check "a switch takes no word but its own: LAUNCH_BLOCKING=no is told, once" \
    "$(out=$(CLSTREAM_LAUNCH_BLOCKING=no "$top_builddir/examples/first" 2>&1 | ours) || true
    told="clstream: CLSTREAM_LAUNCH_BLOCKING=no is ignored: there are '1' and '0'"
    [ "$out" = "$told
1 4 9 16" ] || echo "$out")"
while read -r setting words; do
    check "$setting is none, and that is told once" \
        "$(out=$(env "CLSTREAM_$setting" "$top_builddir/examples/first" 2>&1 </dev/null | ours) || true
        [ "$out" = "clstream: CLSTREAM_$setting is ignored: there $words
1 4 9 16" ] || echo "$out")"
done <<'EOF'
FLUSH=never is 'always'
PROBE=yes is 'again'
CACHE=none are 'off', 'probes' and 'all'
EOF
check "a folder for the cache that takes none is told, once" \
    "$(out=$(CLSTREAM_CACHE_DIR=/dev/null/cache "$top_builddir/examples/first" 2>&1 | ours) || true
    told='clstream: CLSTREAM_CACHE_DIR: nothing is kept in /dev/null/cache: Not a directory'
    [ "$out" = "$told
1 4 9 16" ] || echo "$out")"
finish

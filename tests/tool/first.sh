#!/bin/sh
# SPDX-License-Identifier: MIT
# The first program, which the README shows, does what it says.
set -eu
. "$srcdir/tests/tool/common.sh"
need_device

check "it prints the squares" \
    "$(out=$("$top_builddir/examples/first" 2>&1) || true
    [ "$out" = '1 4 9 16' ] || echo "$out")"
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# The README shows a program that is built and run, examples/first.c, and the recorded rows of drivers.
set -eu
. "$srcdir/tests/tap.sh"

# The README's first block of C, against the example without its license line.
differences() {
    shown=$(awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' "$srcdir/README.md")
    [ "$shown" = "$(tail -n +2 "$srcdir/examples/first.c")" ] || echo 'they differ'
}

check "the README's first program is examples/first.c" "$(differences)"

missing_rows() { sh "$srcdir/tests/drivers/table.sh" | grep -vxFf "$srcdir/README.md" || true; }

check "the README's table of drivers is tests/drivers/table.sh's" "$(missing_rows)"
finish

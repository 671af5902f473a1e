#!/bin/sh
# SPDX-License-Identifier: MIT
# The command line of clstream. Needs no device.
set -eu
. "$srcdir/tests/tool/common.sh"

check "--version" "$("$clstream" --version | grep -qx 'clstream [0-9][0-9.]*' || "$clstream" --version)"
for words in --help 'run --help' 'gen --help' 'info --help' 'trace --help' 'bench --help'; do
    # shellcheck disable=SC2086
    check "$words goes to the standard output, within 100 columns" \
        "$("$clstream" $words >"$work/help" 2>"$work/said" || echo "exit status $?"
        grep -q '^Usage: clstream' "$work/help" || cat "$work/help"
        cat "$work/said"
        awk 'length > 100' "$work/help")"
done
check "run --help lists every stage" \
    "$("$clstream" run --help >"$work/help"
    for stage in 'cast TYPE' gelu_erf normcdf 'scale X' 'clamp_min X' 'where TYPE A B'; do
        grep -q "$stage" "$work/help" || echo "no $stage"
    done)"
check "the help that nobody asked for is an error" "$(fails 2 'Usage:' "$clstream")"
check "an unknown command" "$(fails 2 "'walk' is no command" "$clstream" walk)"
check "an unknown option" "$(fails 2 "unrecognized option '--fast'" "$clstream" run --fast)"
check "no output" "$(fails 2 '-o OUT' "$clstream" run -i in relu)"
check "no stages" "$(fails 2 'stages are missing' "$clstream" run -i in -o out)"
check "stages that were not quoted" "$(fails 2 'quote them' "$clstream" run -i in -o out relu gelu)"
check "a bad --chunk" "$(fails 2 "'8Q' is no size" "$clstream" run -i in -o out --chunk 8Q relu)"
check "a --chunk of nothing" "$(fails 2 'is no size' "$clstream" run -i in -o out --chunk 0 relu)"
check "a bad --streams" "$(fails 2 'from 1 to 64' "$clstream" run -i in -o out --streams 65 relu)"
check "a bad --dtype" "$(fails 2 "'f16' is no type" "$clstream" run -i in -o out --dtype f16 relu)"
check "gen: a bad --bytes" \
    "$(fails 2 'no whole number' "$clstream" gen -o "$work/out" --dtype f64 --bytes 12)"
check "info: unexpected words" "$(fails 2 "unexpected 'all'" "$clstream" info all)"
check "output that cannot be printed is a failure" \
    "$([ -c /dev/full ] || exit 0
    rc=0
    "$clstream" --help >/dev/full 2>"$work/said" || rc=$?
    [ $rc = 1 ] || echo "exit status $rc")"
finish

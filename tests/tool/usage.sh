#!/bin/sh
# SPDX-License-Identifier: MIT
# The command line of clstream. Needs no device.
set -eu
. "$srcdir/tests/tool/common.sh"

check "--version" "$("$clstream" --version | grep -qx 'clstream [0-9][0-9.]*' || "$clstream" --version)"
for words in --help 'run --help' 'gen --help' 'info --help' 'check --help' 'trace --help' 'bench --help' 'tune --help'; do
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
check "a bad --dtype" "$(fails 2 "'f8' is no type" "$clstream" run -i in -o out --dtype f8 relu)"
check "gen: a bad --bytes" \
    "$(fails 2 'no whole number' "$clstream" gen -o "$work/out" --dtype f64 --bytes 12)"
check "info: unexpected words" "$(fails 2 "unexpected 'all'" "$clstream" info all)"
# Each message says what was wrong, what is allowed, and where to look: the help of that command.
while IFS='#' read -r command part; do
    check "clstream $command: $part" \
        "$(eval "fails 2 \"\$part\" \"\$clstream\" $command"
        tail -n 1 "$work/said" | grep -q "^Try 'clstream \(${command%% *} \)\?--help'.\$" || tail -n 1 "$work/said")"
done <<'COMMANDS'
help#'help' is no command; there are info run gen trace bench
--frob#there is no option '--frob'
run#-i IN and -o OUT are needed
run --input#option '--input' requires an argument
run -i in -o out --streams=0 relu#'0' is no number from 1 to 64
run -i in -o out --chunk -5 relu#'-5' is no size: bytes, from 1 to 2^63 - 1, as 4096, 512K, 8M, 1G
run -i in -o out --dtype float relu#'float' is no type; there are f32 f64 i32 i64 u8 u32 f16 bf16 i8 i16 u16
run -i in -o out rellu#unknown operation 'rellu'; did you mean 'relu'?
run -i in -o out nothing-like-it#unknown operation 'nothing-like-it'
run -i in -o out cast#'cast' needs a type (f32 f64 i32 i64 u8 u32 f16 bf16 i8 i16 u16)
run -i in -o out 'cast f33'#'f33' is no type; there are f32 f64 i32 i64 u8 u32 f16 bf16 i8 i16 u16
run -i in -o out 'where f32 1'#'where' needs a type (f32 f64 i32 i64 u8 u32 f16 bf16 i8 i16 u16) and two numbers
run -i in -o out --verify=yes relu#option '--verify' doesn't allow an argument
gen#-o OUT is needed
gen -o#option requires an argument -- 'o'
gen x -o y#unexpected 'x': there are options only
gen -o y --bytes 13#13 is no whole number of f32 elements, of 4 bytes
gen -o y --bytes 99999999999999999999#'99999999999999999999' is no size: bytes, from 0 to 2^63 - 1
gen -o y --seed -1#'-1' is no number from 0 to 2^64 - 1
info 0#unexpected '0': it describes all devices
check here#one argument too many
check --no#unrecognized option '--no'
info --jason#unrecognized option '--jason'
info --json=1#option '--json' doesn't allow an argument
trace#the program to run is missing
trace -o t.png -- true#'t.png' does not end in .html, .json, .svg, .csv or .txt
trace --records 1e6 -- true#'1e6' is no number from 1 to 67108864
trace --convert#option '--convert' requires an argument
bench all#unexpected 'all': files are for --compare
bench --svg#option '--svg' requires an argument
bench --quick=3#option '--quick' doesn't allow an argument
COMMANDS
check "a variable with a misspelt name is told of, and others that begin so are not" \
    "$(CLSTREAM_FLUHS=always CLSTREAM_TRACES=t.json CLSTREAM_ROOT=/opt CLSTREAM_FLUSH='' CLSTREAM_='' CLSTREAM_CACHE=off \
        "$clstream" --version 2>"$work/said" >"$work/out"
    printf '%s\n' 'clstream: CLSTREAM_FLUHS is ignored: is it CLSTREAM_FLUSH?' \
        'clstream: CLSTREAM_TRACES is ignored: is it CLSTREAM_TRACE?' >"$work/wanted"
    sort "$work/said" | diff "$work/wanted" -)"
check "output that cannot be printed is a failure" \
    "$([ -c /dev/full ] || exit 0
    rc=0
    "$clstream" --help >/dev/full 2>"$work/said" || rc=$?
    [ $rc = 1 ] || echo "exit status $rc")"
finish

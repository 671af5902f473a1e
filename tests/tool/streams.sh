#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream with pipes, standard streams and names that begin with "-": `-` is the standard input or output, messages go
# to the standard error, and what cannot be meant is refused.
set -eu
. "$srcdir/tests/tool/common.sh"
clstream=$(cd "$(dirname "$clstream")" && pwd)/clstream
mkdir "$work/here"
cd "$work/here"

"$clstream" gen -o in.npy --bytes 64K
tail -c 65536 in.npy >in.raw

check "gen -o - is a .npy file" "$("$clstream" gen -o - --bytes 64K >out 2>said; same in.npy out; ours said)"
check "gen through a pipe" "$("$clstream" gen -o - --bytes 64K | cat >out; same in.npy out)"
check "gen to a pipe that has another name" \
    "$("$clstream" gen -o /dev/stdout --bytes 64K | cat >out; same in.raw out)"
check "a reader that leaves ends the writer, as it ends any program" \
    "$({ rc=0; "$clstream" gen -o - --bytes 64M 2>said || rc=$?; echo $rc >rc; } | head -c 10 >out
    [ "$(cat rc)" = 141 ] || { echo "exit status $(cat rc)"; cat said; })"
check "no file has the name -" "$(ls ./-* 2>/dev/null || true)"

# refuses PART ARGUMENT...: a contradiction in the command line, found before anything is opened.
refuses() {
    check "refused: $2 $3 ...: $1" "$(fails 2 "$@")"
}
refuses '--json takes the standard output' "$clstream" run -i in.npy -o - --json relu
refuses '--verify reads the output back' "$clstream" run -i in.npy -o - --verify relu
refuses '--json and --svg - both' "$clstream" bench --json --svg -
refuses 'leave out --quick' "$clstream" bench --compare --quick a.json b.json
refuses 'leave out --device' "$clstream" bench --compare --device 0 a.json b.json
refuses 'leave out --json' "$clstream" bench --compare --json a.json b.json
refuses 'only one result can be the standard input' "$clstream" bench --compare - -
refuses "'in.npy' is a result to be compared" "$clstream" bench --compare --svg in.npy in.raw in.npy
refuses "'-' does not end in" "$clstream" trace -o - -- true
refuses '--convert needs -o' "$clstream" trace --convert -
refuses '--records is for a program' "$clstream" trace --convert - --records 3 -o t.svg

need_device
run -i in.npy -o wanted.npy 'scale 2 | gelu'
tail -c 65536 wanted.npy >wanted.raw

# gives FILE COMMAND: the shell command writes what FILE has to its standard output, and nothing to the standard error.
gives() {
    sh -c "$2" >out 2>said || echo "exit status $?"
    same "$1" out
    ours said
}
export clstream
# The input, its options, and the output's form.
while read -r wanted command; do
    check "$command" "$(gives "$wanted" "$command")"
done <<'COMMANDS'
wanted.npy "$clstream" run -q -i in.npy -o - 'scale 2 | gelu'
wanted.npy "$clstream" run -q -i in.npy -o - 'scale 2 | gelu' | cat
wanted.npy "$clstream" run -q -i - -o - 'scale 2 | gelu' <in.npy
wanted.npy cat in.npy | "$clstream" run -q -i - -o - 'scale 2 | gelu'
wanted.npy cat in.npy | "$clstream" run -q -i - -o - --chunk 1K 'scale 2 | gelu' | cat
wanted.npy "$clstream" gen -o - --bytes 64K | "$clstream" run -q -i - -o - 'scale 2' | "$clstream" run -q -i - -o - gelu
wanted.npy cat in.npy | "$clstream" run -q -i - -o named.npy --verify 'scale 2 | gelu' && cat named.npy
wanted.npy cat in.npy | "$clstream" run -q -i /dev/stdin -o - 'scale 2 | gelu'
wanted.raw cat in.npy | "$clstream" run -q -i - -o /dev/stdout 'scale 2 | gelu' | cat
wanted.raw cat in.raw | "$clstream" run -q --dtype f32 -i - -o - 'scale 2 | gelu'
wanted.raw "$clstream" run -q --dtype f32 -i - -o - 'scale 2 | gelu' <in.raw
wanted.npy cat in.raw | "$clstream" run -q --dtype f32 -i - -o named.npy 'scale 2 | gelu' && cat named.npy
wanted.raw { head -c 128 | wc -c >head; cat | "$clstream" run -q --dtype f32 -i - -o - 'scale 2 | gelu'; } <in.npy
wanted.raw tail -c 65536 in.npy | "$clstream" run -q --dtype f32 -i - -o - --device "${CLSTREAM_DEVICE-0}" 'scale 2 | gelu'
/dev/null "$clstream" run -q --dtype f32 -i - -o - relu </dev/null
COMMANDS
check "a standard input that somebody has read a part of begins there" \
    "$({ dd bs=128 count=1 of=head 2>said; "$clstream" run -q --dtype f32 -i - -o out 'scale 2 | gelu'; } <in.npy
    same wanted.raw out)"
check "the output goes behind what the file has" \
    "$(echo before >out; "$clstream" run -q -i in.npy -o - 'scale 2 | gelu' >>out
    { echo before; cat wanted.npy; } >both; same both out)"
mkfifo fifo
check "a FIFO is an input" \
    "$(cat in.npy >fifo & run -i fifo -o out.npy 'scale 2 | gelu'; same wanted.npy out.npy)"
check "a FIFO is an output, and stays one" \
    "$(cat fifo >out & run -i in.npy -o fifo 'scale 2 | gelu'; wait; same wanted.raw out; [ -p fifo ] || ls -l fifo)"
if [ -f /proc/self/status ] && [ ! -s /proc/self/status ]; then
    check "a file of which the system does not tell the size is read to its end" \
        "$(run --dtype u8 -i /proc/self/status -o out copy; grep -q '^Name:' out || cat out)"
else
    skip "a file of which the system does not tell the size" "there is none in /proc"
fi

check "the summary goes to the standard error" \
    "$("$clstream" run -i in.npy -o - 'scale 2 | gelu' >out 2>said; same wanted.npy out
    grep -q '^in.npy -> standard output$' said && grep -q ' upload ' said || cat said)"
check "the summary stays out of a pipe of another name" \
    "$("$clstream" run -i in.npy -o /dev/stdout 'scale 2 | gelu' 2>said | cat >out; same wanted.raw out
    grep -q ' upload ' said || cat said)"
check "what a driver prints stays out of the output" \
    "$(POCL_DEBUG=all "$clstream" run -q -i in.npy -o - 'scale 2 | gelu' 2>said >out; same wanted.npy out)"

check "names that begin with - are names" \
    "$(cp in.npy ./-in.npy; succeeds run -i -in.npy -o --out.npy 'scale 2 | gelu'; same wanted.npy ./--out.npy
    succeeds "$clstream" gen --output=-gen.npy --bytes 64K; same in.npy ./-gen.npy
    cp in.npy ./-; succeeds run -i ./- -o ./- 'scale 2 | gelu'; same wanted.raw ./-; rm ./-*)"
check "-- ends the options" \
    "$(succeeds run -i in.npy -o out.npy -- 'scale 2 | gelu'; same wanted.npy out.npy
    fails 2 "'-x'" run -i in.npy -o out.npy -- '-x')"

# fails_so PART COMMAND: the shell command fails with status 1 and says so on the standard error.
while IFS='#' read -r part command; do
    check "$command: $part" "$(fails 1 "$part" sh -c "$command")"
done <<'COMMANDS'
standard output: cannot write: Bad file#"$clstream" gen -o - >&-
standard output: cannot write: Bad file#"$clstream" run -q -i in.npy -o - relu >&-
standard input: cannot read: Bad file#"$clstream" run -q -i - -o out.npy relu <&-
standard input: truncated#"$clstream" run -q -i - -o out.npy relu </dev/null
standard input: truncated#head -c 1000 in.npy | "$clstream" run -q -i - -o out.npy relu
standard input: too long#cat in.npy in.raw | "$clstream" run -q -i - -o out.npy relu
standard input: it is no .npy file#cat in.raw | "$clstream" run -q -i - -o out.npy relu
standard input: it is a folder#"$clstream" run -q -i - -o out.npy relu <.
standard input: it is a .npy file, which states its type#cat in.npy | "$clstream" run -q -i - -o out --dtype f32 relu
in.npy: it is a .npy file, which states its type#"$clstream" run -q -i in.npy -o out.raw --dtype i32 copy
no whole number of f32#head -c 63 in.raw | "$clstream" run -q -i - -o out --dtype f32 relu
in.npy: it is also the standard output#"$clstream" run -q -i in.npy -o - relu >>in.npy
standard input: it is also the standard output#"$clstream" run -q -i - -o - relu <in.npy 1<>in.npy
no temporary file in /no/such/folder#cat in.npy | TMPDIR=/no/such/folder "$clstream" run -q -i - -o out.npy relu
read back#"$clstream" run -q -i in.npy -o /dev/null --verify relu
COMMANDS
check "none of these changed the input" "$("$clstream" gen -o out.npy --bytes 64K; same in.npy out.npy)"
check "nothing is left in TMPDIR" \
    "$(mkdir tmp; cat in.npy | TMPDIR=$PWD/tmp "$clstream" run -q -i - -o out.npy 'scale 2 | gelu'
    same wanted.npy out.npy; rmdir tmp)"
# The script that libtool puts in the program's place would leave itself where the standard error was.
program=$clstream
[ ! -x "${clstream%/*}/.libs/clstream" ] || program=${clstream%/*}/.libs/clstream
check "with the standard error closed, the summary is dropped and that is no failure" \
    "$(LD_LIBRARY_PATH="${clstream%/*/*}/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$program" run -i in.npy -o - 'scale 2 | gelu' >out 2>&- || echo "exit status $?"; same wanted.npy out)"
if [ -c /dev/full ]; then
    while IFS='#' read -r part command; do
        check "a full disk: $command" "$(fails 1 "$part" sh -c "$command")"
    done <<'COMMANDS'
standard output: cannot write: No space#"$clstream" gen -o - >/dev/full
standard output: cannot write: No space#"$clstream" run -i in.npy -o - relu >/dev/full
/dev/full: cannot write: No space#"$clstream" gen -o /dev/full
cannot write to the standard output#"$clstream" run -i in.npy -o out.npy relu >/dev/full
cannot write to the standard output#"$clstream" info >/dev/full
cannot write to the standard output#"$clstream" --version >/dev/full
COMMANDS
else
    skip "a full disk" "there is no /dev/full"
fi
for command in 'bench --quick --json' 'info --json'; do
    # shellcheck disable=SC2086
    if ! "$clstream" $command >json 2>said; then
        grep -q 'without jansson' said && skip "$command" "built without jansson" || check "$command" "$(cat said)"
        continue
    fi
    check "$command to a full disk" "$([ ! -c /dev/full ] || fails 1 'cannot' sh -c "\"$clstream\" $command >/dev/full")"
    [ "$command" = 'info --json' ] || cp json a.json
done
if [ -f a.json ]; then
    "$clstream" bench --compare --svg two.svg a.json a.json >table
    check "a result comes from the standard input" \
        "$("$clstream" bench --compare a.json - <a.json >out 2>said; same table out; ours said)"
    check "a picture goes to the standard output, and the table to the standard error" \
        "$("$clstream" bench --compare --svg - a.json a.json 2>said >out; same two.svg out; ours said | same table -)"
    check "a picture stays apart from the table in a pipe of another name" \
        "$("$clstream" bench --compare --svg /dev/stdout a.json a.json 2>said | cat >out; same two.svg out)"
    check "a standard input that is no result" \
        "$(fails 1 'standard input: no JSON: line 1' sh -c 'echo x | "$clstream" bench --compare a.json -'
        fails 1 'standard input is no' sh -c 'echo {} | "$clstream" bench --compare a.json -')"
    "$clstream" trace -o t.json -- "$clstream" run -q -i in.npy -o out.npy relu
    "$clstream" trace --convert t.json -o wanted.csv
    check "a trace comes from the standard input" \
        "$("$clstream" trace --convert - -o t.csv <t.json 2>&1 | ours; same wanted.csv t.csv)"
    check "a trace is not converted into itself" \
        "$(ln -s t.json t.svg; fails 2 'is the trace to be converted' "$clstream" trace --convert t.json -o t.svg)"
fi
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream run: a signal in the middle of a run ends it as signals do, and leaves no half-written output.
set -eu
. "$srcdir/tests/tool/common.sh"
need_device
mkdir "$work/here"
# A sparse gigabyte in small chunks takes far longer than the signal.
dd if=/dev/zero of="$work/in" bs=1 count=0 seek=1073741824 2>"$work/said"

# interrupted SIGNAL STATUS [TIMES]: the signal is sent once, or as often as there are words in TIMES.
interrupted() {
    rm -f "$work"/here/*
    echo precious >"$work/here/out"
    "$clstream" run -q --dtype f32 -i "$work/in" -o "$work/here/out" --chunk 4K 'exp | log | tanh' \
        >"$work/said" 2>&1 &
    pid=$!
    tries=0
    while ! [ -s "$(echo "$work"/here/out.part-*)" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { echo 'nothing was written within a minute'; kill -KILL $pid; break; }
        kill -0 $pid 2>/dev/null || { echo 'it ended by itself'; cat "$work/said"; break; }
        sleep 0.1
    done
    for _ in ${3:-once}; do
        kill "-$1" $pid 2>/dev/null || true
    done
    rc=0
    wait $pid || rc=$?
    [ $rc = "$2" ] || echo "exit status $rc, not $2"
    [ "$(cat "$work/here/out")" = precious ] || echo 'the old output was touched'
    only_files "$work/here" out
}

check "SIGTERM" "$(interrupted TERM 143)"
check "SIGHUP" "$(interrupted HUP 129)"
# Its threads may each take one.
check "SIGTERM, again and again" "$(interrupted TERM 143 '1 2 3 4 5 6 7 8')"
check "SIGUSR1" "$(interrupted USR1 138)"
check "SIGXCPU" "$(interrupted XCPU 152)"
check "SIGPIPE" "$(interrupted PIPE 141)"

# A shell without job control starts background commands with SIGINT and SIGQUIT ignored, and ignored they
# stay; so these are sent to a command in the foreground, and the whole test may have been started like that
# too. Some drivers' compiler has a handler of its own for SIGQUIT, which lets the program go on.
heed=
if env --default-signal=INT,QUIT true 2>/dev/null; then heed='env --default-signal=INT,QUIT'; fi
# shellcheck disable=SC3045 # not in POSIX, and in every shell
ulimit -c 0 2>/dev/null || true

# in_front SIGNAL STATUS
in_front() {
    echo precious >"$work/here/out"
    rc=0
    # shellcheck disable=SC2016 # the inner shell's
    $heed sh -c '(sleep 2; kill "-$0" $$) >/dev/null 2>&1 & exec "$@"' "$1" "$clstream" run -q --dtype f32 \
        -i "$work/in" -o "$work/here/out" --chunk 4K 'exp | log | tanh' >"$work/said" 2>&1 || rc=$?
    [ $rc = "$2" ] || { echo "exit status $rc, not $2"; cat "$work/said"; }
    [ "$(cat "$work/here/out")" = precious ] || echo 'the old output was touched'
    only_files "$work/here" out
}
check "SIGINT" "$(in_front INT 130)"
check "SIGQUIT" "$(in_front QUIT 131)"
finish

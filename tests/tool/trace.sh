#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream trace, and what CLSTREAM_TRACE writes: each form is read by a reader of its own.
set -eu
. "$srcdir/tests/tool/common.sh"

check "no program" "$(fails 2 'the program to run is missing' "$clstream" trace -o "$work/t.json")"
check "a program and a conversion" \
    "$(fails 2 'runs no program' "$clstream" trace --convert "$work/t.json" -o "$work/t.csv" -- true)"
check "a conversion to what the library writes" \
    "$(fails 2 'does not end in .svg, .csv or .txt' "$clstream" trace --convert "$work/t.json" -o t.html)"
check "an unknown suffix" "$(fails 2 'does not end in' "$clstream" trace -o t.png -- true)"
check "a bad --records" "$(fails 2 'is no number' "$clstream" trace --records 0 -- true)"
check "a program that is not there" \
    "$(fails 127 'no-such-program' "$clstream" trace -o "$work/t.json" -- "$work/no-such-program")"
check "a program without the library is told of" \
    "$(fails 1 'left no profile' "$clstream" trace -o "$work/t.json" -- true)"
check "the program's exit status and arguments go through" \
    "$(fails 5 'left no profile' "$clstream" trace -o "$work/t.json" -- sh -c 'exit "$1"' sh 5)"
if env --ignore-signal=CHLD true 2>/dev/null; then
    check "the exit status goes through where the parent ignores the end of children, too" \
        "$(fails 5 'left no profile' env --ignore-signal=CHLD "$clstream" trace -o "$work/t.json" -- \
            sh -c 'exit 5')"
else
    skip "the exit status where the parent ignores the end of children" "env cannot ignore signals"
fi
check "a signal's status too" \
    "$(fails 143 'left no profile' "$clstream" trace -o "$work/t.json" -- sh -c 'kill -TERM $$')"

need_device
traced=$top_builddir/tests/tool/traced
[ -x "$traced" ] || { skip "the rest" "the test programs are not built"; finish; exit 0; }

# The library writes .html and .json; the tool converts JSON to the others, with jansson.
forms='html json'
if "$clstream" trace --convert "$work/none.json" -o "$work/t.csv" 2>"$work/said" ||
    ! grep -q 'without jansson' "$work/said"; then
    forms='html json svg csv txt'
fi
for form in $forms; do
    check "a .$form file is written" "$(succeeds "$clstream" trace -o "$work/t.$form" -- "$traced"
    [ -s "$work/t.$form" ] || echo 'it is empty')"
done
check "a program with the static library is traced too" \
    "$(succeeds "$clstream" trace -o "$work/t.static.json" -- "${traced}_static"
    [ -s "$work/t.static.json" ] || echo 'it is empty')"
only=$(cd "$work" && echo t.*)
check "nothing else is left behind" "$(only_files "$work" "$only said said.out info")"

read_json() {
    python3 - "$1" "$2" <<'PYTHON' 2>&1
import json, sys
top = json.load(open(sys.argv[1], encoding="utf-8"))
events, how = top["traceEvents"], sys.argv[2]
slices = [e for e in events if e["ph"] == "X"]
work = [e for e in slices if e["pid"] > 0]
kinds = {}
for e in work:
    kinds[e["cat"]] = kinds.get(e["cat"], 0) + 1
    a = e["args"]
    assert 0 <= a["queued_us"] <= a["submitted_us"] <= e["ts"] + 1e-9, e
    assert e["dur"] >= 0 and (a["status"] == "CLS_SUCCESS" or how != "well"), e
assert kinds["kernel"] == 5 and kinds["copy_h2d"] == 5 and kinds["host"] == (3 if how == "failing" else 1), kinds
assert kinds["copy_d2h"] == 1, kinds
assert sum(e["name"] == "round" for e in slices) == 4
assert any("</script>" in e["name"] and '"b"' in e["name"] and "é" in e["name"] for e in slices)
names = [e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"]
assert "upload" in names and any("<c>" in n for n in names), names
starts = {e["id"]: e for e in events if e["ph"] == "s"}
ends = {e["id"]: e for e in events if e["ph"] == "f"}
assert starts.keys() == ends.keys() and len(starts) >= 1, (len(starts), len(ends))
for i, e in starts.items():
    assert any(s["tid"] == e["tid"] and s["ts"] <= e["ts"] <= s["ts"] + s["dur"] for s in work)
PYTHON
}

if command -v python3 >/dev/null; then
    check "the JSON is valid trace events with every command, range and arrow" \
        "$(read_json "$work/t.json" well)"
    check "the page's data is valid JSON and cannot end its script" \
        "$(python3 - "$work/t.html" <<'PYTHON' 2>&1
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
assert page.count("</script>") == 1 and "http" not in page.replace("http-equiv", "")
data = json.loads(re.search(r"const data = (.*?\]\});\n", page, re.S).group(1))
assert data["summary"]["records"] == len(data["records"]) and len(data["streams"]) == 2
for r in data["records"]:
    assert len(r) == 12 and 0 <= r[0] < len(data["lanes"]) and r[1] < data["lanes"][r[0]]["rows"]
assert data["overlaps"] is not None and data["operations"]
PYTHON
    )"
    for how in pending failing; do
        check "a program that ends $how is traced whole" \
            "$("$clstream" trace -o "$work/$how.json" -- "$traced" $how >"$work/said" 2>&1 || rc=$?
            [ "${rc:-0}" = "$([ $how = failing ] && echo 7 || echo 0)" ] || cat "$work/said"
            read_json "$work/$how.json" $how)"
    done
else
    skip "the JSON is valid" "no python3 to read it"
fi
converted() {
    if command -v python3 >/dev/null; then
        check "the CSV has a row a record, quotes and all" "$(python3 - "$work/t.csv" <<'PYTHON' 2>&1
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8", errors="surrogateescape")))
commands = [r for r in rows if r["type"] == "command"]
assert sum(r["kind"] == "kernel" for r in commands) == 5
assert any('"b"' in r["label"] and "\n" in r["label"] for r in rows)
for r in rows:
    times = [int(r[k]) for k in ("queued_ns", "submitted_ns", "start_ns", "end_ns")]
    assert times == sorted(times), r
assert any(r["dependencies"] for r in commands)
PYTHON
        )"
    else
        skip "the CSV is valid" "no python3 to read it"
    fi
    if command -v xmllint >/dev/null; then
        check "the SVG is well-formed" "$(xmllint --noout "$work/t.svg" 2>&1)"
    else
        skip "the SVG is well-formed" "no xmllint to read it"
    fi
    check "the SVG names every kind, draws arrows and says what is under the pointer" \
        "$(for part in 'class="k k0"' 'class="k k1"' 'class="a"' gelu_f32 'prefers-color-scheme'; do
            grep -qF "$part" "$work/t.svg" || echo "no $part"
        done)"
    check "the SVG names nothing outside itself" "$(grep -o 'https\?://[^"]*' "$work/t.svg" |
        grep -v '^http://www.w3.org/2000/svg$' || true)"
    style() { sed -n 's/.*<style>\(.*\)<\/style>.*/\1/p' "$1"; }
    check "the README's picture is of the present form" \
        "$([ -n "$(style "$work/t.svg")" ] && [ "$(style "$work/t.svg")" = "$(style "$srcdir/doc/timeline.svg")" ] ||
            echo 'doc/timeline.svg has another style')"
    check "the text has the reports" \
        "$(for part in 'held back by' 'gelu_f32' "stream .* 'upload'" 'at once of' p99; do
            grep -q "$part" "$work/t.txt" || { echo "no $part in:"; cat "$work/t.txt"; }
        done)"
    check "a trace is converted later as it is at once" \
        "$(succeeds "$clstream" trace --convert "$work/t.json" -o "$work/later.txt"
        sed -n '/^  operation/,$p' "$work/later.txt" | grep -q gelu_f32 || cat "$work/later.txt")"
    check "what is no trace is not converted, and what was there stays" \
        "$(echo '{"traceEvents": []}' >"$work/other.json" && echo '[' >"$work/broken.json"
        fails 1 'is no trace' "$clstream" trace --convert "$work/other.json" -o "$work/later.txt"
        fails 1 'broken.json' "$clstream" trace --convert "$work/broken.json" -o "$work/later.txt"
        fails 1 'none.json' "$clstream" trace --convert "$work/none.json" -o "$work/later.txt"
        [ -s "$work/later.txt" ] || echo 'it is gone')"
    check "a trace that was cut or altered is told of" \
        "$(sed 's/"dur":/"dur":9/' "$work/t.json" >"$work/longer.json"
        fails 1 'is no whole trace' "$clstream" trace --convert "$work/longer.json" -o "$work/longer.svg")"
    check "the temporary folder is gone" \
        "$(mkdir "$work/tmp"
        succeeds env TMPDIR="$work/tmp" "$clstream" trace -o "$work/tmp.csv" -- "$traced"
        rmdir "$work/tmp" 2>&1)"
    check "each process has a table of its own, where the name says so" \
        "$(succeeds "$clstream" trace -o "$work/f%p.csv" -- "$traced" forked
        set -- "$work"/f[0-9]*.csv
        [ $# = 2 ] || echo "$*"
        grep -q '^command' "$@" || wc -l "$@")"
    check "the cause of a failure is told from what was not run because of it" \
        "$(rc=0
        "$clstream" trace -o "$work/failing.txt" -- "$traced" failing >"$work/said" 2>&1 || rc=$?
        grep -q "CLS_ERROR_COMMAND_FAILED: 'the failing one', .*; 2 other commands failed or did not run because of it" "$work/failing.txt" &&
            [ "$(grep -c "^    'host function', position .* of stream '\(upload\|a \"b\"\)" "$work/failing.txt")" = 2 ] ||
            sed -n '/^failures/,/^all/p' "$work/failing.txt")"
    check "the exit status is the program's for a table too" \
        "$(rc=0
        "$clstream" trace -o "$work/failing.csv" -- "$traced" failing >"$work/said" 2>&1 || rc=$?
        [ "$rc" = 7 ] || echo "exit status $rc"
        grep -q '^command' "$work/failing.csv" || echo 'no table'
        fails 1 'left no profile' "$clstream" trace -o "$work/none.csv" -- true)"
}
case $forms in
*csv*) converted ;;
*) skip "pictures, tables and text" "built without jansson" ;;
esac
# ended HOW STATUS: the trace of a program that a signal ends is whole.
ended() {
    rm -f "$work/ended.json"
    rc=0
    "$clstream" trace -o "$work/ended.json" -- "$traced" "$1" >"$work/said" 2>&1 || rc=$?
    [ $rc = "$2" ] || { echo "exit status $rc, not $2"; cat "$work/said"; }
    [ -s "$work/ended.json" ] || echo 'it has left no trace'
    ! command -v python3 >/dev/null || read_json "$work/ended.json" well
}
# shellcheck disable=SC3045 # not in POSIX, and in every shell
ulimit -c 0 2>/dev/null || true
check "a signal that ends the program, which waits, leaves its trace" "$(ended terminated 143)"
case $SANITIZER_CFLAGS in
'')
    check "so does a fault" "$(ended crashed 139)"
    check "so does abort, where the driver's compiler handles its signal too" "$(ended aborted 134)"
    ;;
*)
    skip "so does a fault" "the sanitizer handles it"
    skip "so does abort, where the driver's compiler handles its signal too" "the sanitizer handles it"
    ;;
esac
check "a signal that cannot be caught leaves none, and that is told of" "$(rm -f "$work/ended.json"
fails 137 'left no profile' "$clstream" trace -o "$work/ended.json" -- "$traced" killed)"
check "%p is the process id" "$(succeeds "$clstream" trace -o "$work/p%p.json" -- "$traced"
    set -- "$work"/p[0-9]*.json
    [ -s "$1" ] || ls "$work")"
mkdir "$work/100%pure"
check "%p in a folder's name is left as it is" \
    "$(succeeds "$clstream" trace -o "$work/100%pure/t.json" -- "$traced"
    [ -s "$work/100%pure/t.json" ] || ls "$work"
    fails 1 'left no profile' "$clstream" trace -o "$work/100%pure/none.json" -- true)"
absolute=$(cd "$(dirname "$traced")" && pwd)/${traced##*/}
check "a name is one in the folder that the program was started in" \
    "$(cd "$work" && CLSTREAM_TRACE=moved.json "$absolute" moved >said 2>&1 || echo "exit status $?"
    ours "$work/said"
    grep -q '"cat":"kernel"' "$work/moved.json" || ls "$work")"
cp -R "$srcdir/cl" "$work/cl"
check "so are the names of a log, a cache and kernels" \
    "$(cd "$work" && CLSTREAM_CHECK=race CLSTREAM_CHECK_LOG=moved.log CLSTREAM_CACHE_DIR=moved.cache CLSTREAM_KERNEL_PATH=cl \
        "$absolute" moved >said 2>&1 || echo "exit status $?"
    ours "$work/said"
    grep -q 'race check is on' "$work/moved.log" || ls "$work"
    [ -n "$(ls "$work/moved.cache" 2>&1)" ] || ls "$work")"
mkdir "$work/far" && ln -s far/there.json "$work/link.json"
check "a symbolic link goes on leading to the trace, also before the file is there" \
    "$(for how in well idle; do
        CLSTREAM_TRACE="$work/link.json" "$traced" $how >"$work/said" 2>&1 || echo "exit status $?"
        ours "$work/said"
        [ -L "$work/link.json" ] || echo 'the link is gone'
        grep -q '"ph":"X"' "$work/far/there.json" && [ $how = idle ] &&
            echo 'the second trace is not there'
    done
    [ "$(ls "$work/far")" = there.json ] || ls "$work/far")"
check "--records keeps the latest" \
    "$(succeeds "$clstream" trace --records 4 -o "$work/few.json" -- "$traced"
    [ "$(grep -c '"ph":"X"' "$work/few.json")" = 4 ] || cat "$work/few.json")"
check "a number of records that is none is told of" \
    "$(for n in 1e6 64K -5 many; do
        said=$(CLSTREAM_TRACE="$work/none.json" CLSTREAM_TRACE_RECORDS=$n "$traced" 2>&1)
        case $said in *"no trace: CLSTREAM_TRACE_RECORDS=$n is no number"*) ;; *) echo "$n: $said" ;; esac
        [ ! -e "$work/none.json" ] || { echo "$n: a trace"; rm "$work/none.json"; }
    done)"
check "a number of records that is too large is told of, also where a size has 32 bits" \
    "$(for n in 67108865 4294967296 99999999999999999999; do
        said=$(CLSTREAM_TRACE="$work/none.json" CLSTREAM_TRACE_RECORDS=$n "$traced" 2>&1)
        case $said in *"no trace: a capacity of "*" is above "*) ;; *) echo "$n: $said" ;; esac
        [ ! -e "$work/none.json" ] || { echo "$n: a trace"; rm "$work/none.json"; }
    done)"
check "a program that submits nothing leaves an empty profile" \
    "$(succeeds "$clstream" trace -o "$work/idle.json" -- "$traced" idle
    grep -q '"records":0,' "$work/idle.json" || cat "$work/idle.json")"
check "a forked child, the first to use the library, has a trace of its own" \
    "$(succeeds "$clstream" trace -o "$work/f%p.json" -- "$traced" forked
    set -- "$work"/f[0-9]*.json
    [ $# = 2 ] || echo "$*"
    grep -q '"ph":"X"' "$@" || wc -l "$@")"
check "CLSTREAM_TRACE with a name that cannot be written is told of, and the program goes on" \
    "$(CLSTREAM_TRACE="$work/no/folder/t.json" "$traced" >"$work/said" 2>&1 || echo "exit status $?"
    grep -q 'no trace: .*t.json' "$work/said" || cat "$work/said")"
for form in json csv; do
    check "clstream trace says that before it runs the program, .$form" \
        "$(fails 1 "cannot be written to $work/no/folder/: No such file" \
            "$clstream" trace -o "$work/no/folder/t.$form" -- touch "$work/was-run"
        [ ! -e "$work/was-run" ] || echo 'it was run')"
done
check "CLSTREAM_TRACE with another suffix too, and with the command that converts" \
    "$(for suffix in png svg csv txt; do
        CLSTREAM_TRACE="$work/none.$suffix" "$traced" >"$work/said" 2>&1 || echo "exit status $?"
        grep -q "none.$suffix does not end in .json or .html; .clstream trace --convert" "$work/said" ||
            cat "$work/said"
        [ ! -e "$work/none.$suffix" ] || echo "there is a .$suffix"
    done)"
check "clstream run is traced as it is" \
    "$("$clstream" gen -o "$work/in.npy" --bytes 1M
    succeeds "$clstream" trace -o "$work/run.json" -- "$clstream" run -q -i "$work/in.npy" \
        -o "$work/out.npy" --chunk 256K 'scale 2 | gelu'
    grep -q '"thread_name".*"chunk"' "$work/run.json" && grep -q '"cat":"kernel"' "$work/run.json" ||
        cat "$work/run.json")"

# What made-up commands look like in every detail is tests/browser/timeline.sh; here a program's own.
. "$srcdir/tests/browser/browser.sh"
if have_browser; then
    for form in svg html; do
        [ -e "$work/t.$form" ] || continue
        check "a browser draws the .$form file" "$(
        browse --screenshot="$work/$form.png" "file://$work/t.$form" >"$work/said" 2>&1 ||
            { echo "exit status $?"; tail -5 "$work/said"; }
        printf 'some 0072b2\nsome 04a170\n' |
            python3 "$srcdir/tests/browser/pixels.py" "$work/$form.png" 2>&1)"
    done
    check "the page's script runs to its end" \
        "$(browse --dump-dom "file://$work/t.html" >"$work/said" 2>&1 || true
        grep -q 'data-drawn="[1-9]' "$work/said" || tail -c 300 "$work/said")"
else
    skip "a browser draws the picture" "$no_browser"
fi
finish

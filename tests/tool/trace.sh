#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream trace, and what CLSTREAM_TRACE writes: each form is read by a reader of its own.
set -eu
. "$srcdir/tests/tool/common.sh"

check "no program" "$(fails 2 'the program to run is missing' "$clstream" trace -o "$work/t.json")"
check "an unknown suffix" "$(fails 2 'does not end in' "$clstream" trace -o t.png -- true)"
check "a bad --records" "$(fails 2 'is no number' "$clstream" trace --records 0 -- true)"
check "a program that is not there" \
    "$(fails 127 'no-such-program' "$clstream" trace -o "$work/t.json" -- "$work/no-such-program")"
check "a program without the library is told of" \
    "$(fails 1 'left no profile' "$clstream" trace -o "$work/t.json" -- true)"
check "the program's exit status and arguments go through" \
    "$(fails 5 'left no profile' "$clstream" trace -o "$work/t.json" -- sh -c 'exit "$1"' sh 5)"
check "a signal's status too" \
    "$(fails 143 'left no profile' "$clstream" trace -o "$work/t.json" -- sh -c 'kill -TERM $$')"

need_device
traced=$top_builddir/tests/tool/traced
[ -x "$traced" ] || { skip "the rest" "the test programs are not built"; finish; exit 0; }

for form in html svg json csv txt; do
    check "a .$form file is written" "$(succeeds "$clstream" trace -o "$work/t.$form" -- "$traced"
    [ -s "$work/t.$form" ] || echo 'it is empty')"
done
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
assert kinds["kernel"] == 5 and kinds["copy_h2d"] == 5 and kinds["host"] == 1, kinds
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
    skip "the JSON and the CSV are valid" "no python3 to read them"
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
check "the text has the reports" \
    "$(for part in 'held back by' 'gelu_f32' "stream .* 'upload'" 'at once of' p99; do
        grep -q "$part" "$work/t.txt" || { echo "no $part in:"; cat "$work/t.txt"; }
    done)"
check "%p is the process id" "$(succeeds "$clstream" trace -o "$work/p%p.csv" -- "$traced"
    set -- "$work"/p[0-9]*.csv
    [ -s "$1" ] || ls "$work")"
check "--records keeps the latest" \
    "$(succeeds "$clstream" trace --records 4 -o "$work/few.csv" -- "$traced"
    [ "$(grep -c '^command\|^range' "$work/few.csv")" = 4 ] || cat "$work/few.csv")"
check "a program that submits nothing leaves an empty profile" \
    "$(succeeds "$clstream" trace -o "$work/idle.csv" -- "$traced" idle
    [ "$(wc -l <"$work/idle.csv")" = 1 ] || cat "$work/idle.csv")"
check "CLSTREAM_TRACE with a name that cannot be written is told of, and the program goes on" \
    "$(CLSTREAM_TRACE="$work/no/folder/t.json" "$traced" >"$work/said" 2>&1 || echo "exit status $?"
    grep -q 'no trace: .*t.json' "$work/said" || cat "$work/said")"
check "CLSTREAM_TRACE with an unknown suffix too" \
    "$(CLSTREAM_TRACE="$work/t.png" "$traced" >"$work/said" 2>&1 || echo "exit status $?"
    grep -q 'does not end in' "$work/said" || cat "$work/said")"
check "clstream run is traced as it is" \
    "$("$clstream" gen -o "$work/in.npy" --bytes 1M
    succeeds "$clstream" trace -o "$work/run.csv" -- "$clstream" run -q -i "$work/in.npy" \
        -o "$work/out.npy" --chunk 256K 'scale 2 | gelu'
    grep -q '^command,kernel,.*compute' "$work/run.csv" || cat "$work/run.csv")"

# The picture is looked at by a browser: a page that draws nothing has one colour, or says so.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
screenshot() {
    timeout 100 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$work/browser" --window-size=1240,700 "$@" >"$work/said" 2>&1 ||
        { echo "exit status $?"; tail -5 "$work/said"; }
}
if [ -n "$browser" ] && command -v python3 >/dev/null; then
    for form in svg html; do
        check "a browser draws the .$form file" "$(
        screenshot --screenshot="$work/$form.png" "file://$work/t.$form"
        python3 - "$work/$form.png" <<'PYTHON' 2>&1
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, packed = 8, b""
while at < len(data):
    size, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + size]
    if kind == b"IHDR":
        width, height, depth, colour = struct.unpack(">IIBB", body[:10])
    if kind == b"IDAT":
        packed += body
    at += size + 12
channels = {2: 3, 6: 4}[colour]
rows, stride, previous = zlib.decompress(packed), width * channels, bytearray(width * channels)
colours = {}
for y in range(height):
    line = bytearray(rows[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
    how = rows[y * (stride + 1)]
    for x in range(stride):
        left = line[x - channels] if x >= channels else 0
        up, corner = previous[x], previous[x - channels] if x >= channels else 0
        if how == 1: line[x] = line[x] + left & 255
        elif how == 2: line[x] = line[x] + up & 255
        elif how == 3: line[x] = line[x] + (left + up) // 2 & 255
        elif how == 4:
            p = left + up - corner
            a, b, c = abs(p - left), abs(p - up), abs(p - corner)
            line[x] = line[x] + (left if a <= b and a <= c else up if b <= c else corner) & 255
    previous = line
    for x in range(0, stride, channels):
        key = bytes(line[x:x + 3])
        colours[key] = colours.get(key, 0) + 1
for name, colour in (("kernel", b"\x2f\x6f\xdb"), ("upload", b"\x1a\x8a\x5a")):
    assert colours.get(colour, 0) > 20, f"no {name} is to be seen: {colours.get(colour, 0)} pixels"
PYTHON
        )"
    done
    check "the page's script runs to its end" \
        "$(screenshot --dump-dom "file://$work/t.html"
        grep -q 'data-drawn="[1-9]' "$work/said" || tail -c 300 "$work/said")"
else
    skip "a browser draws the picture" "no chromium, or no python3 to look at what it drew"
fi
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream bench: the table, the picture, the JSON and comparisons. No figure is judged.
set -eu
. "$srcdir/tests/tool/common.sh"

check "unexpected words" "$(fails 2 "unexpected 'all'" "$clstream" bench all)"
check "an unknown option" "$(fails 2 "unrecognized option '--fast'" "$clstream" bench --fast)"

need_device
check "a device that nobody has" \
    "$(fails 1 'CLS_ERROR_NO_DEVICE' "$clstream" bench --device 'a device that nobody has')"
check "a quick bench succeeds" "$(succeeds "$clstream" bench --quick --svg "$work/bench.svg")"
"$clstream" bench --quick >"$work/table" 2>&1 || true
check "the table has every section, and a figure a row" \
    "$(for part in '^copies$' '^launches$' '^overlap$' '^operations$' ' both ways, pinned  *[0-9.e+]* GB/s' \
        ' launch and wait  *[0-9.e+]* us' ' 4 kernels on 4 streams  *[0-9.]* x' ' gelu f32 .* GB/s'; do
        grep -q "$part" "$work/table" || { echo "no $part in:"; cat "$work/table"; }
    done
    awk 'length > 100 && !/^A  / { print "too wide: " $0 }' "$work/table")"
rows=$(grep -c '^  [^ ]' "$work/table" || true)
check "the picture has a bar a row and needs no other file" \
    "$([ "$(grep -c 'class="r"' "$work/bench.svg")" = "$rows" ] || echo "not $rows bars"
    grep -o 'https\?://[^"]*' "$work/bench.svg" | grep -v '^http://www.w3.org/2000/svg$' || true)"
check "a picture that cannot be written is a failure, and the table is printed all the same" \
    "$(fails 1 "$work/no/b.svg" "$clstream" bench --quick --svg "$work/no/b.svg"
    [ "$(grep -c '^  [^ ]' "$work/said.out")" = "$rows" ] || echo 'the table is not there')"
check "a picture that was there stays when another one cannot be written, and nothing else" \
    "$(mkdir "$work/small" && cp "$work/bench.svg" "$work/small/b.svg"
    "$clstream" bench --quick --json >"$work/small.json"
    (ulimit -f 1 && fails 1 small/b.svg "$clstream" bench --compare --svg "$work/small/b.svg" \
        "$work/small.json" "$work/small.json" "$work/small.json")
    same "$work/bench.svg" "$work/small/b.svg"
    only_files "$work/small" b.svg)"
check "a picture goes through a pipe too" \
    "$("$clstream" bench --compare --svg /dev/stderr "$work/small.json" "$work/small.json" 2>&1 >/dev/null |
        tail -n 1 | grep -v '^</svg>$' || true)"
check "a folder is no result, and that is said" \
    "$(fails 1 'Is a directory' "$clstream" bench --compare "$work/small.json" "$work/small")"
if command -v xmllint >/dev/null; then
    check "the picture is well-formed" "$(xmllint --noout "$work/bench.svg" 2>&1)"
else
    skip "the picture is well-formed" "no xmllint to read it"
fi

if ! "$clstream" bench --quick --json >"$work/a.json" 2>"$work/said"; then
    case $(cat "$work/said") in
    *'without jansson'*) skip "JSON and comparisons" "built without jansson" ;;
    *) check "the JSON is printed" "$(cat "$work/said")" ;;
    esac
    finish
    exit 0
fi
check "one result is nothing to compare" "$(fails 2 '2 to 6' "$clstream" bench --compare "$work/a.json")"
check "a file that is no result" \
    "$(echo '{"device": 3}' >"$work/bad.json"
    fails 1 'bad.json is no result' "$clstream" bench --compare "$work/a.json" "$work/bad.json"
    echo nonsense >"$work/bad.json"
    fails 1 'bad.json' "$clstream" bench --compare "$work/a.json" "$work/bad.json"
    fails 1 'none.json' "$clstream" bench --compare "$work/a.json" "$work/none.json")"
if command -v python3 >/dev/null; then
    check "the JSON has the rows of the table, all of them positive" \
        "$(python3 - "$work/a.json" "$work/b.json" "$rows" "$work/c.json" <<'PYTHON' 2>&1
import json, sys
top = json.load(open(sys.argv[1]))
assert top["device"] and top["platform"] and len(top["rows"]) == int(sys.argv[3])
for row in top["rows"]:
    assert row["value"] > 0 and row["section"] and row["name"] and row["unit"], row
    row["value"] *= 2
top["device"] = "twice <the>\x1b first"
del top["rows"][3]
json.dump(top, open(sys.argv[2], "w"))
for row in top["rows"]:
    row["section"] = "R&D"
    row["unit"] = "<s>"
json.dump(top, open(sys.argv[4], "w"))
PYTHON
        )"
    "$clstream" bench --compare --svg "$work/both.svg" "$work/a.json" "$work/b.json" \
        >"$work/both" 2>&1 || true
    check "twice the rate is twice as good, twice the time half" \
        "$(grep -q 'launch and wait .* 0\.50 x' "$work/both" &&
        grep -q 'gelu f32 .* 2\.00 x' "$work/both" || cat "$work/both"
        [ "$(grep -c ' 2\.00 x\| 0\.50 x' "$work/both")" = $((rows - 1)) ] || echo 'not all rows')"
    # Bars of times of any unit have one measure, and so do ratios.
    python3 - "$work/ns.json" "$work/ms.json" <<'PYTHON'
import json, sys
def save(path, rows):
    json.dump({"device": "d", "platform": "p", "driver": "v", "rows": [
        {"section": section, "name": name, "unit": unit, "more_is_better": False, "value": value}
        for section, name, unit, value in rows]}, open(path, "w"))
save(sys.argv[1], [("launches", "wait", "us", 151), ("launches", "record", "ns", 19.5), ("sizes", "a", "B", 3),
                   ("sizes", "b", "B", 6), ("sizes", "none", "B", 0), ("sizes", "odd", "us", 1)])
save(sys.argv[2], [("launches", "wait", "ms", 0.302), ("launches", "record", "us", 0.039), ("sizes", "a", "B", 6),
                   ("sizes", "b", "B", 3), ("sizes", "none", "B", -1), ("sizes", "odd", "B", 1)])
PYTHON
    check "a nanosecond is shorter than a millisecond, in bars as in ratios" \
        "$("$clstream" bench --compare --svg "$work/units.svg" "$work/ns.json" "$work/ms.json" >"$work/units"
        [ "$(grep -c ' 0\.50 x' "$work/units")" = 3 ] && grep -q ' 2\.00 x' "$work/units" || cat "$work/units"
        grep 'odd\|none' "$work/units" | grep '[0-9] x'
        python3 - "$work/units.svg" <<'PYTHON' 2>&1
import re, sys
text = open(sys.argv[1]).read()
bars = [int(w) for w in re.findall(r'<rect class="b\d" x="220" y="\d+" width="(\d+)"', text)]
wait, record, a, b, none = (bars[i : i + 2] for i in range(0, 10, 2))
assert record[0] < record[1] < wait[0] < wait[1], bars
assert a[0] * 2 == a[1] == b[0] == 480 and none == [1, 1], bars
assert ">10 ns<" in text and ">1 ms<" in text and text.count("logarithmic") == 1, text
PYTHON
        )"
    check "a row that one of them lacks is left open" \
        "$(grep -q 'to the device, pageable .* - *$' "$work/both" || cat "$work/both")"
    check "a picture of both" \
        "$([ "$(grep -c 'class="b1" x="220"' "$work/both.svg")" = $((rows - 1)) ] || echo 'not all bars'
        grep -q 'twice &#60;the&#62;? first' "$work/both.svg" || echo 'the name is not escaped')"
    check "a file's sections and units are text in it" \
        "$(succeeds "$clstream" bench --compare --svg "$work/same.svg" "$work/c.json" "$work/c.json"
        grep -q '>R&#38;D <' "$work/same.svg" && grep -q ' &#60;s&#62;<' "$work/same.svg" ||
            cat "$work/same.svg")"
else
    skip "comparisons" "no python3 to make a second result"
fi
finish

#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream info: the table, and the JSON.
set -eu
. "$srcdir/tests/tool/common.sh"
need_device

check "info succeeds" "$(succeeds "$clstream" info)"
check "every device is described" \
    "$(grep -q '^device 0' "$work/info" || cat "$work/info"
    for part in '  name ' '  platform ' '  memory ' '  capabilities' 'out_of_order' 'quirks in force' '  its memory, used by'; do
        grep -q "$part" "$work/info" || echo "no '$part'"
    done)"
check "exactly one device is the default" \
    "$([ "$(grep -c '^device .*(default)' "$work/info")" = 1 ] || grep '^device' "$work/info")"
seeded() { CLSTREAM_CACHE=off CLSTREAM_TRIAL_SEED=$1 "$clstream" info 2>&1; }
check "the seed of the trials is taken, and one that is no number is told of" \
    "$(seeded 77 | grep -qE '^ *trial_seed +77 ' || echo "no seed of 77"
    seeded 7x | grep -qF 'clstream: CLSTREAM_TRIAL_SEED=7x is no number' || echo "7x is taken")"
check "no line is wider than 100 columns" \
    "$(awk 'length > 100 && !/^  (name|type|platform|version|driver) / { print }' "$work/info")"

if "$clstream" info --json >"$work/json" 2>"$work/said"; then
    if command -v python3 >/dev/null; then
        check "the JSON is valid and says what the table says" "$(python3 - "$work/json" <<'PYTHON' 2>&1
import json, sys
top = json.load(open(sys.argv[1]))
devices = top["devices"]
assert devices and 0 <= top["default_device"] < len(devices)
for index, device in enumerate(devices):
    assert device["index"] == index
    for key in ("name", "type", "vendor", "platform", "version", "driver_version", "global_memory",
                "max_allocation", "local_memory", "compute_units", "max_work_group", "base_align",
                "has_fp64", "unified_memory", "capabilities", "quirks", "products_by_clblast"):
        assert key in device, key
    assert device["global_memory"] >= device["max_allocation"] > 0
    assert len(device["capabilities"]) > 5
    for figure in device["capabilities"]:
        assert set(figure) == {"name", "value", "unit", "meaning"}
        assert figure["unit"] != "bool" or figure["value"] in (0, 1), figure
    for quirk in device["quirks"]:
        assert set(quirk) == {"name", "reason"}
    for products in device["products_by_clblast"]:
        assert set(products) == {"dtype", "parameters", "gain", "made", "refused"}
    assert [pair["device"] for pair in device["memory_used_by"]] == list(range(len(devices)))
    for pair in device["memory_used_by"]:
        assert set(pair) == {"device", "kind", "gb_per_s", "latency_ns", "reason"}
        assert pair["kind"] in ("none", "host_memory", "direct_link", "unknown"), pair
        shares = pair["kind"] in ("host_memory", "direct_link")
        assert (pair["gb_per_s"] > 0) == shares and (pair["reason"] == "") == shares, pair
PYTHON
        )"
    else
        skip "the JSON is valid" "no python3 to read it"
    fi
else
    case $(cat "$work/said") in
    *'without jansson'*) skip "the JSON is valid" "built without jansson" ;;
    *) check "the JSON is printed" "$(cat "$work/said")" ;;
    esac
fi
finish

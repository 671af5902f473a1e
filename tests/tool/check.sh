#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream check: the report on this driver, and on drivers made up to be wrong (tests/layers/faults/lies.h).
set -u
. "$srcdir/tests/tool/common.sh"

check "--help describes it" "$(succeeds "$clstream" check --help
    grep -q '^Usage: clstream check' "$work/said" || cat "$work/said")"
check "arguments it does not know are refused" \
    "$(fails 2 "one argument too many" "$clstream" check here; fails 2 "clstream check --help" "$clstream" check --no)"
need_device
check "a device that is not there is no success" \
    "$(fails 1 CLS_ERROR_NO_DEVICE "$clstream" check --device 'no such device')"

# report [OPTION...]: leaves the report in $work/report, and its exit status in $rc.
report() {
    rc=0
    "$clstream" check "$@" >"$work/report" 2>"$work/said" || rc=$?
}

# says WORDS LINE: a line of the report that begins with WORDS is there, as an extended expression.
says() {
    grep -q -E "^ +$1" "$work/report" || { echo "no '$1' in:"; cat "$work/report"; }
}

report
check "the report names library, device, driver, system and seed" "$(for name in 'check of' device platform version driver system seed
    do grep -q "^$name  *[^ ]" "$work/report" || echo "no $name"; done)"
check "each line is passed, worked around, failed or a note" \
    "$(grep '^  ' "$work/report" | grep -v -E '^  (passed|worked around|failed|-)  *[^ ]' || true)"
check "every mechanism of the capability record is in it" \
    "$("$clstream" info 2>/dev/null | awk '$2 == "right" || $2 == "wrong" || $2 $3 == "nottried" { print $1 }' | sort -u |
        while read -r name; do says "(passed|worked around|failed|-) +$name"; done)"
check "the exit status tells whether something failed" \
    "$(failures=$(grep -c '^  failed ' "$work/report")
    [ "$rc" = $((failures != 0)) ] || { echo "exit status $rc"; cat "$work/report"; }
    grep -q "^[0-9]* passed, [0-9]* worked around, $failures failed\$" "$work/report" || tail -1 "$work/report")"

layer=$top_builddir/tests/layers/.libs/fault_layer.so
if [ -n "${OCL_ICD_VENDORS:-}" ]; then
    skip "wrong drivers" "they are made up from the default driver"
    finish
    exit 0
fi
if [ ! -e "$layer" ]; then
    skip "wrong drivers" "the fault layer is not built"
    finish
    exit 0
fi

# lie NAME [OPTION...]: the report on a driver with that lie.
lie() {
    export OPENCL_LAYERS="$layer" CLS_FAULT_LIE="$1" CLSTREAM_CACHE_DIR="$work/cache-$1"
    shift
    report "$@"
    grep -q '^# clstream fault layer' "$work/said" || echo "no layer"
}

check "what is worked around is no failure" "$(lie odd_copies
    says 'worked around +odd_copies +Copies between buffers'
    says 'passed +odd_fills'
    [ "$rc" = 0 ] || { echo "exit status $rc"; cat "$work/report"; })"
check "rectangles of equal sizes are among the shapes" "$(lie square_rectangles --seed 7
    for name in rectangles padded_rows; do says "worked around +$name +"; done
    grep -q '^seed  *7$' "$work/report" || echo "no seed"
    [ "$rc" = 0 ] || { echo "exit status $rc"; cat "$work/report"; })"
check "operations that are refused are worked around" "$(lie rounding
    says 'worked around +rounding'
    for name in 'unary exp' 'binary pow' 'reduce sum'; do says "worked around +$name +refused: "; done
    says 'passed +binary +add sub'
    [ "$rc" = 0 ] || { echo "exit status $rc"; cat "$work/report"; })"
check "a device that is refused is one" "$(lie transfers
    says 'failed +transfers +Reads or writes'
    says '- +rectangles +not tried'
    says 'failed +operations +no context: '
    [ "$rc" = 1 ] || echo "exit status $rc")"
check "a crash is a line, and the other parts are run" "$(lie threads
    says 'failed +threads +the process crashed: '
    says 'passed +the parent goes on'
    [ "$rc" = 1 ] || echo "exit status $rc")"
check "functions that do not build are named, and operations that need them" "$(lie functions
    for name in fma sin cos; do says "failed +$name +does not build"; done
    says 'passed +exp'
    for name in sin cos; do says "failed +unary $name +"; done
    [ "$rc" = 1 ] || echo "exit status $rc")"
check "a part that hangs is a line" "$(lie hang --limit 1
    says 'failed +[a-z]+ +did not end within 1 s \(--limit\)'
    [ "$rc" = 1 ] || echo "exit status $rc")"
finish

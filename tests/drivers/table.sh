#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the table of drivers from what run.sh has kept: table.sh FOLDER. Exits with 1 when a test failed.
set -eu
results=$1

echo '| driver | version | device | passed | skipped | failed |'
echo '|---|---|---|---|---|---|'
for folder in "$results"/*/; do
    [ -e "$folder/device" ] || continue
    IFS='|' read -r platform version device <"$folder/device"
    cat "$folder"/*.trs 2>/dev/null | awk -v head="| $platform | $version | $device |" '
        /^:test-result: PASS/ { n["passed"]++ }
        /^:test-result: SKIP/ { n["skipped"]++ }
        /^:test-result: (FAIL|ERROR|XPASS)/ { n["failed"]++ }
        END { printf "%s %d | %d | %d |\n", head, n["passed"], n["skipped"], n["failed"] }'
done

# Reasons, the most frequent first; then what failed.
status=0
for folder in "$results"/*/; do
    [ -e "$folder/device" ] || continue
    name=${folder%/}
    name=${name##*/}
    cat "$folder"/tests_*.log 2>/dev/null | sed -n 's/^ok .* # SKIP //p; s/^1\.\.0 # SKIP //p' | sort | uniq -c |
        sort -rn | sed "s/^ *\([0-9]*\) /\n$name skips \1: /" | grep . || true
    for log in "$folder"/tests_*.trs; do
        [ -e "$log" ] && grep -qE '^:test-result: (FAIL|ERROR|XPASS)' "$log" || continue
        status=1
        echo "$name FAILS in ${log##*/}:"
        grep -hE '^not ok|^Bail out|^ERROR|took longer' "${log%.trs}.log" | sed 's/^/    /' | head -n 20
    done
done
exit $status

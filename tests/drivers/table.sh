#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the tables of drivers.
#
#   table.sh FOLDER         what run.sh has kept there: the counts, the reasons of skips, and what failed.
#                           Exits with 1 when a test failed
#   table.sh FOLDER record  also puts the counts, with today's date, among the recorded rows
#   table.sh                the recorded rows, as README shows them
#
# A recorded row (tests/drivers/recorded): the driver's name in rows.sh, platform, version, device, passed,
# skipped, failed, date, what ran and what failed. The last one is written by hand and kept.
set -eu
results=${1-}
recorded=${srcdir:?}/tests/drivers/recorded

# Rows without their names.
markdown() { sed 's/^[^|]*//; s/|/ | /g; s/^ //; s/$/ |/'; }

if [ -z "$results" ]; then
    echo '| driver | version | device | passed | skipped | failed | date | what ran, what failed |'
    echo '|---|---|---|---|---|---|---|---|'
    markdown <"$recorded"
    exit
fi

# Rows of what was kept: name, platform, version, device, passed, skipped, failed.
rows() {
    for folder in "$results"/*/; do
        [ -e "$folder/device" ] || continue
        IFS='|' read -r platform version device <"$folder/device"
        name=${folder%/}
        cat "$folder"/*.trs 2>/dev/null | awk -v head="${name##*/}|$platform|$version|$device" '
            /^:test-result: PASS/ { n["passed"]++ }
            /^:test-result: SKIP/ { n["skipped"]++ }
            /^:test-result: (FAIL|ERROR|XPASS)/ { n["failed"]++ }
            END { printf "%s|%d|%d|%d\n", head, n["passed"], n["skipped"], n["failed"] }'
    done
}

# The recorded rows with the new ones in place of the old of the same name.
merge() {
    rows | awk -F'|' -v OFS='|' -v today="$(date -u +%Y-%m-%d)" '
        FNR == NR { fresh[$1] = $0; order[++n] = $1; next }
        $1 in fresh { print fresh[$1], today, $9; delete fresh[$1]; next }
        { print }
        END { for (i = 1; i <= n; i++) if (order[i] in fresh) print fresh[order[i]], today, "" }' - "$recorded"
}

echo '| driver | version | device | passed | skipped | failed |'
echo '|---|---|---|---|---|---|'
rows | markdown
if [ "${2-}" = record ]; then
    merge >"$recorded.new"
    mv "$recorded.new" "$recorded"
fi

# Reasons, the most frequent first; then what failed.
status=0
for folder in "$results"/*/; do
    [ -e "$folder/device" ] || continue
    name=${folder%/}
    name=${name##*/}
    cat "$folder"/tests_*.log 2>/dev/null | sed -n 's/^ok .* # SKIP //p; s/^1\.\.0 # SKIP //p' | sort | uniq -c |
        sort -rn | sed "s/^ *\([0-9]*\) /\n$name skips \1: /" | grep . || true
    for log in "$folder"/tests_*.trs; do
        grep -qsE '^:test-result: (FAIL|ERROR|XPASS)' "$log" || continue
        status=1
        echo "$name FAILS in ${log##*/}:"
        grep -hE '^not ok|^Bail out|^ERROR|took longer' "${log%.trs}.log" | sed 's/^/    /' | head -n 20
    done
done
exit $status

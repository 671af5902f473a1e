#!/bin/sh
# SPDX-License-Identifier: MIT
# The pictures of a profile as a browser draws them: made-up commands, of which every box, arrow and text is
# known (tests/browser/checks.js), in the SVG and in the page.
set -eu
. "$srcdir/tests/tap.sh"
. "$srcdir/tests/browser/browser.sh"

if ! have_browser; then
    echo "1..0 # SKIP $no_browser"
    exit 0
fi
work=$(mktemp -d)
check "the colours differ from each other and from what is behind them, and are the same in each form" \
    "$(cd "$srcdir" && python3 tests/browser/colours.py lib/trace/timeline.html tools/trace_svg.c doc/timeline.svg \
        tools/bench_picture.c 2>&1)"
trap 'rm -rf "$work"' EXIT
"$top_builddir/tests/browser/made_up" "$work"
forms=html
if "$top_builddir/tools/clstream" trace --convert "$work/made_up.json" -o "$work/made_up.svg" 2>"$work/said"; then
    forms='svg html'
elif grep -q 'without jansson' "$work/said"; then
    skip "the picture is drawn" "built without jansson"
else
    check "the JSON is converted to a picture" "$(cat "$work/said")"
fi

# The SVG within a page that reads it; the page itself with the checks before and behind its own script.
checks=$srcdir/tests/browser/checks.js
[ "$forms" = html ] || {
    echo '<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">'
    cat "$work/made_up.svg"
    echo '<script>'
    cat "$checks"
    echo 'checks.report(() => checks.checkPicture(checks.readSvg(document.querySelector("svg"))));'
    echo '</script>'
} >"$work/svg.html"
awk -v checks="$checks" '
    /^<head>/ { print; print "<script>"; while ((getline line <checks) > 0) print line
        print "checks.record();</script>"; next }
    /^<\/body>/ {
        print "<script>checks.report(() => {" \
            "const parts = [document.getElementById(\"view\"), document.getElementById(\"tip\")];" \
            "checks.checkPicture(checks.readCanvas(...parts));" \
            "if (location.hash) checks.checkPage(...parts); });</script>"
    }
    { print }' "$work/made_up.html" >"$work/html.html"

for form in $forms; do
    browse --dump-dom "file://$work/$form.html#use" >"$work/$form.dom" 2>"$work/said" || true
    sed -n '/<pre id="found"/,/<\/pre>/p' "$work/$form.dom" | sed 's/.*<pre id="found"[^>]*>//' |
        sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >"$work/$form.found"
    grep '^ok \|^not ok ' "$work/$form.found" >"$work/$form.checks" || true
    check "the .$form is looked at" "$([ "$(wc -l <"$work/$form.checks")" -ge 15 ] ||
        { echo 'the checks did not run to their end'; tail -n 3 "$work/said"; cat "$work/$form.found"; })"
    while IFS= read -r line; do
        case $line in
        ok\ *) check ".$form: ${line#ok }" "" ;;
        *) check ".$form: $(echo "${line#not ok }" | sed 's/: .*//')" "$line" ;;
        esac
    done <"$work/$form.checks"
    browse --screenshot="$work/$form.png" "file://$work/$form.html" >"$work/said" 2>&1 || true
    check ".$form: the screen shows every box in its colour, and the lane where there is none" \
        "$(python3 "$srcdir/tests/browser/pixels.py" "$work/$form.png" <"$work/$form.found" 2>&1)"
done
finish

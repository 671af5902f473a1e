# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# A browser without a window, for tests that look at pictures. Sourced.

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
# shellcheck disable=SC2034
no_browser='no chromium, or no python3 to look at what it drew'

have_browser() {
    [ -n "$browser" ] && command -v python3 >/dev/null
}

# browse OPTION... URL; $work holds what it keeps.
browse() {
    timeout 100 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$work/browser" --window-size=1240,700 "$@"
}

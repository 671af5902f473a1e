# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What .ci/run and tests/release/run.sh share: steps that are counted, and the line with the counts. Source it; `work` is a
# folder that is gone at the end.

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# step NAME SECONDS COMMAND...: exit status 77 is a skip, whose last line of output is the reason.
step() {
    local name=$1 limit=$2 rc=0 started=$SECONDS log="$work/step.log"
    shift 2
    printf '\n--- %s\n' "$name"
    timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 || rc=$?
    case $rc in
    0)
        passed=$((passed + 1))
        tail -n 25 "$log"
        echo "--- passed: $name ($((SECONDS - started)) s)"
        ;;
    77)
        skipped=$((skipped + 1))
        echo "--- skipped: $name: $(tail -n 1 "$log")"
        ;;
    *)
        failed=$((failed + 1))
        tail -n 100 "$log"
        echo 'what failed, as far as it says so:'
        grep -nE '^(FAIL|ERROR)|^not ok|[Ee]rror:|# took longer' "$log" | tail -n 60
        [ "$rc" != 124 ] || echo "--- took longer than $limit s"
        echo "--- FAILED: $name (exit status $rc, $((SECONDS - started)) s)"
        ;;
    esac
    return 0
}

# The last line; true when nothing failed.
finish_steps() {
    printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    [ "$failed" = 0 ]
}

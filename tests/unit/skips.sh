#!/bin/sh
# SPDX-License-Identifier: MIT
# build-aux/run-test gives skips the reason that the test printed, and fails those without one, in the form of cmocka 1
# and in that of cmocka 2.
set -eu
. "$srcdir/tests/tap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/cmocka1" <<'END'
1..5
not ok 1 # SKIP first
no fp64
not ok 2 # SKIP with_reason
not ok 3 - fails
# 0x1 != 0x2
# file.c:9: error: Failure!
not ok 4 # SKIP after_failure
# no queue
not ok 5 # SKIP with_comment
END
cat >"$dir/cmocka2" <<'END'
TAP version 14
1..5
ok 1 - first # SKIP
no fp64
ok 2 - with_reason # SKIP
not ok 3 - fails
  ---
  message: |-
    1 != 2
    file.c:9: error: Failure!
  severity: fail
  ...
ok 4 - after_failure # SKIP
# no queue
ok 5 - with_comment # SKIP
END
cat >"$dir/wanted" <<'END'
not ok 1 - first: skipped without a reason
ok 2 - with_reason # SKIP no fp64
not ok 3 - fails
not ok 4 - after_failure: skipped without a reason
ok 5 - with_comment # SKIP no queue
END

for version in 1 2; do
    said=$(sh "$srcdir/build-aux/run-test" cat "$dir/cmocka$version" | grep -E '^(not )?ok' || true)
    check "skips as cmocka $version prints them" "$(printf '%s\n' "$said" | diff - "$dir/wanted" || true)"
done
finish

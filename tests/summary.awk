# SPDX-License-Identifier: MIT
# The output of `make check` in a dozen lines: a line now and then, each failure as it comes, and the counts. A last
# line "make: STATUS" is what make ended with; it is this program's status too.
BEGIN { step = 300; next_line = step }
/^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): / {
    kind = $1
    sub(/:/, "", kind)
    count[kind]++
    done++
    if (kind == "FAIL" || kind == "XPASS" || kind == "ERROR") print
    if (done == next_line) {
        print "    " done " tests, the last of " $2
        next_line += step
    }
    fflush()
}
/error:|warning:/ || (/[*][*][*] / && !stops++) { print }
/^make: [0-9]+$/ { status = $2 }
END {
    printf "%d passed, %d failed, %d skipped\n", count["PASS"] + count["XFAIL"],
        count["FAIL"] + count["XPASS"] + count["ERROR"], count["SKIP"]
    exit status != 0
}

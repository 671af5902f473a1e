# SPDX-License-Identifier: MIT
# Reads sorted rows "FILE LINE TEST" of lines that ran; prints a row "FILE TEST..." for each file. A line that few programs
# run says more of them than one that all run, so it weighs one over their number. The first program is the one whose
# lines weigh most; each next one adds most to those before it.

function flush_file(    t, l, n, best, most, gain, row) {
    for (n = 0; n < 5; n++) {
        best = ""
        most = 0
        for (t in tests) {
            gain = 0
            for (l in users)
                if ((t, l) in ran)
                    gain += (l in covered ? 1e-6 : 1) / users[l]
            if (gain > most || gain == most && t < best) {
                most = gain
                best = t
            }
        }
        if (best == "")
            break
        row = row " " best
        for (l in users)
            if ((best, l) in ran)
                covered[l]
        delete tests[best]
    }
    if (row != "")
        print file row
    split("", tests)
    split("", users)
    split("", ran)
    split("", covered)
}

$1 != file {
    flush_file()
    file = $1
}
!(($3, $2) in ran) {
    ran[$3, $2]
    users[$2]++
    tests[$3]
}
END { flush_file() }

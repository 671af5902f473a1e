# SPDX-License-Identifier: MIT
# Reads what `gcov -t` prints of one program's counts; prints "FILE LINE TEST" for each line of lib/*.c that ran.
{
    colon = index($0, ":")
    rest = substr($0, colon + 1)
    line = rest + 0
}
line == 0 && rest ~ /^ *0:Source:/ {
    file = rest
    sub(/.*Source:/, "", file)
    wanted = sub(/^.*\/lib\//, "lib/", file) + sub(/^lib\//, "lib/", file) && file ~ /[.]c$/
}
line && wanted && $1 ~ /^[1-9]/ { print file, line, test }

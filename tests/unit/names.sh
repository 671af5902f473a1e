#!/bin/sh
# SPDX-License-Identifier: MIT
# One name, one thing: what lib/ defines under one name in several files is in the list names.twice, with how often. The
# list may only become shorter: a further namesake fails, and so does a row that says more than there are.
set -eu
. "$srcdir/tests/tap.sh"

list=$srcdir/tests/unit/names.twice

# "kind name" for each tag and function that the files define, and for each file.
definitions() {
    for file in "$@"; do
        echo "file ${file##*/}"
    done
    awk '
        FNR == 1 { text = "" }
        match($0, /(struct|enum|union) [a-z0-9_]+ \{/) {
            split(substr($0, RSTART, RLENGTH), word, " ")
            print "tag " word[2]
        }
        text == "" && /^[A-Za-z_]/ && !/^typedef / { text = " " }
        text != "" {
            text = text $0 " "
            if (!match($0, /[;{]/)) next
            sub(/[;{=].*/, "", text)
            gsub(/__attribute__\(\([^()]*(\([^()]*\))?\)\)/, "", text)
            if ($0 ~ /\{/ && match(text, /[A-Za-z0-9_]+\(/))
                print "function " substr(text, RSTART, RLENGTH - 1)
            text = ""
        }' "$@"
}

# Of such lines "kind name count", where it is more than one.
repeated() { LC_ALL=C sort | uniq -c | awk '$1 > 1 { print $2, $3, $1 }'; }

# Of such lines those that the list $1 does not have so.
unlisted() {
    awk -v list="$1" '
        BEGIN { while ((getline row <list) > 0) if (row !~ /^#/ && split(row, word, " ")) listed[word[1] " " word[2]] = word[3] }
        { found[$1 " " $2] = $3 }
        $3 > listed[$1 " " $2] + 0 { print $1 " " $2 " is defined " $3 " times: use the word of its room in it" }
        END { for (name in listed)
            if (found[name] + 0 < listed[name])
                print "the list has " name " " listed[name] " times, lib only " found[name] + 0 }'
}

planted() {
    printf 'static bool seek(int a,\n                 int b) {\n}\nstruct seeker {\n};\n' >"$dir/planted.h"
    definitions "$dir/planted.h" "$dir/planted.h" | repeated | unlisted /dev/null | grep -c 'defined 2 times'
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# Each function of lib/system is defined for POSIX and for Windows, and so is the loader's version.
# shellcheck disable=SC2046 # paths without blanks, but for the source folder's
(cd "$srcdir" && definitions $(find lib -name '*.[ch]' ! -name 'windows_*' ! -name 'loader_l*.c')) | repeated >"$dir/found"
check "no tag, function or file of lib has a new namesake" "$(unlisted "$list" <"$dir/found")"
check "planted namesakes would be found" "$([ "$(planted)" = 3 ] || echo "found: $(planted)")"
finish

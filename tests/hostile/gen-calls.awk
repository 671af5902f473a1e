# SPDX-License-Identifier: MIT
# Joins the rows of calls.def (and of gen-typed.awk -v want=calls) with the prototypes of the public
# headers, preprocessed:
#
#   awk -f gen-calls.awk rows... - <headers.i
#
# Prints, for each function, one that calls it with its arguments taken from an array of union value,
# and a table of struct call_row. A declared function without a row and a row without a function end it.

function fail(what) { print "gen-calls.awk: " what >"/dev/stderr"; failed = 1 }

# The rows: "!name kind:flags ...".
FILENAME != "-" {
    sub(/#.*/, "")
    if (NF == 0) next
    marks = $1
    sub(/cls_.*/, "", marks)
    fn = substr($1, length(marks) + 1)
    if (fn in row) fail("two rows for " fn)
    row[fn] = marks
    typed[fn] = FILENAME ~ /typed/
    kinds[fn] = NF - 1
    for (i = 2; i <= NF; i++)
        kind[fn, i - 1] = $i
    next
}

{ text = text " " $0 }

function trim(s) { gsub(/^ +| +$/, "", s); return s }

# Splits "const char *name" into its type and name.
function parameter(s, i) {
    s = trim(s)
    match(s, /[A-Za-z_0-9]+$/)
    type[i] = trim(substr(s, 1, RSTART - 1))
    named[i] = substr(s, RSTART)
}

function flags_of(k) { return k ~ /:/ ? substr(k, index(k, ":") + 1) : "" }
function kind_of(k) { sub(/:.*/, "", k); return k }

# What a struct's size field has to say.
function struct_size(i, k, of) {
    of = type[i]
    gsub(/const|\*| /, "", of)
    return k == "config" || k == "info" || k == "fft" ? "sizeof(" of ")" : "0"
}

function emit(returns, fn, n, i, list, cells) {
    printf "static cls_status call_%s(const union value *v) {\n", fn
    if (n == 0) print "    (void)v;"
    for (i = 1; i <= n; i++) {
        printf "    %s a%d;\n", type[i], i
    }
    for (i = 1; i <= n; i++) {
        printf "    memcpy((void *)&a%d, &v[%d], sizeof a%d);\n", i, i - 1, i
        list = list (i > 1 ? ", " : "") "a" i
        cells = cells sprintf("%s{\"%s\", \"%s\", \"%s\", %s}", i > 1 ? ", " : "", named[i],
            kind_of(kind[fn, i]), flags_of(kind[fn, i]), struct_size(i, kind_of(kind[fn, i])))
    }
    if (returns == "void") printf "    %s(%s);\n    return CLS_SUCCESS;\n}\n\n", fn, list
    else if (returns == "cls_status") printf "    return %s(%s);\n}\n\n", fn, list
    else printf "    return ANSWER(%s(%s));\n}\n\n", fn, list
    table = table sprintf("    {\"%s\", call_%s, %s, %s, %s, %s, %s, %s, %d, {%s}},\n", fn, fn,
        row[fn] ~ /!/ ? "true" : "false", row[fn] ~ /~/ ? "true" : "false",
        row[fn] ~ /\^/ ? "true" : "false", row[fn] ~ /=/ ? "true" : "false", typed[fn] ? "true" : "false",
        returns == "cls_status" ? "true" : "false", n, n ? cells : "{0}")
}

function declaration(s, head, list, n, i, part) {
    sub(/;.*/, "", s)
    i = index(s, "(")
    head = trim(substr(s, 1, i - 1))
    list = trim(substr(s, i + 1))
    sub(/\) *$/, "", list)
    match(head, /[A-Za-z_0-9]+$/)
    fn = substr(head, RSTART)
    head = trim(substr(head, 1, RSTART - 1))
    if (!(fn in row)) { fail(fn " has no row in tests/hostile/calls.def"); return }
    n = list == "void" ? 0 : split(list, part, ",")
    if (n != kinds[fn]) { fail("the row of " fn " has " kinds[fn] " kinds for " n " arguments"); return }
    for (i = 1; i <= n; i++)
        parameter(part[i], i)
    emit(head, fn, n)
    declared[fn] = 1
}

END {
    print "/* SPDX-License-Identifier: MIT */"
    print "/* Made by gen-calls.awk; included by test_calls.c alone. */"
    n_parts = split(text, chunk, /__attribute__\(\(visibility\("default"\)\)\)/)
    for (c = 2; c <= n_parts; c++)
        declaration(chunk[c])
    for (fn in row)
        if (!(fn in declared)) fail("the row " fn " names no declared function")
    printf "static const struct call_row call_rows[] = {\n%s};\n", table
    exit failed
}

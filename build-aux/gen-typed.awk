# SPDX-License-Identifier: MIT
# Makes the typed names from the tables of types and operations:
#
#   awk -f gen-typed.awk -v want=header|source|test|calls|names lib/base/types.def lib/ops/ops.def
#
# `header` is include/clstream/typed.h, `source` lib/ops/typed.c, `test` tests/device/typed_rows.h: for
# every name a function that calls it, with its arguments in an array, and a row of a table of those;
# `calls` the rows of the names for tests/hostile/calls.def, where tests/device/test_typed has already
# tried what is good; `names` rows for lib/clstream.map, of which the new ones go into the newest node.

function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }

function fields(line) {
    sub(/^[A-Z]+\(/, "", line)
    sub(/\)[ \t]*$/, "", line)
    count = split(line, field, ",")
    for (i = 1; i <= count; i++)
        field[i] = trim(field[i])
}

# The library stays small: generic functions serve the types that came later.
function has_typed_names(short) { return short !~ /^(i8|i16|u16)$/ }

/^TYPE\(/ {
    fields($0)
    if (!has_typed_names(field[2])) next
    t = ++types
    dtype[t] = "CLS_" field[1]
    short[t] = field[2]
    c_type[t] = field[3]
    is_float[t] = field[8] == "FLOAT"
    c_type_of[dtype[t]] = field[3]
    short_of[dtype[t]] = field[2]
}

/^OP\(/ {
    fields($0)
    o = ++ops
    family[o] = field[1]
    op[o] = field[2]
    name[o] = field[3]
    floats_only[o] = field[4] == "FLOATS"
    result[o] = field[5]
    # An element-by-element operation has the plain name; a reduction of the same name says so.
    if (name[o] in taken)
        name[o] = "reduce_" name[o]
    taken[name[o]] = 1
}

# Text folded at its commas to 100 columns, the rest aligned behind the last opening parenthesis.
function fold(text, n, part, i, line, out, column) {
    column = index(text, "(")
    n = split(text, part, ", ")
    line = part[1]
    for (i = 2; i <= n; i++) {
        if (length(line ", " part[i]) > 99) {
            out = out line ",\n"
            line = sprintf("%" column "s", "") part[i]
        } else
            line = line ", " part[i]
    }
    return out line
}

# One function: its name without cls_, what it is in words, its parameters before the stream, and the
# call it makes.
function emit(fn, words, parameters, call, head) {
    head = "cls_status cls_" fn "(" parameters ", cls_stream stream)"
    if (want == "header")
        print "/** " words ". */\n" fold("CLS_API " head) ";"
    else if (want == "source")
        printf "\n%s {\n%s;\n}\n", fold(head), fold("    return " call)
    else if (want == "names")
        print "    cls_" fn ";"
}

# Both forms of an element-by-element function. `call` lacks its last argument.
function emit_pair(fn, words, parameters, call) {
    emit(fn, words, parameters, call ", true)")
    emit(fn "_async", "Like cls_" fn "; only submits", parameters, call ", false)")
}

# What a test needs of one name: both forms behind one signature. `middle` comes between the views, of
# which there are n, and the stream; `last` is the asynchronous form's in its place.
function row(fn, what, operation, a, out, n, middle, last, i, views) {
    if (want == "calls") calls(fn, what, a, out, n)
    if (want != "test") return
    for (i = 0; i < n; i++)
        views = views (i ? ", " : "") "v[" i "]"
    if (what == "REDUCE" || what == "DOT") {
        last = ", v[" n "]"
        middle = ", result"
    } else
        last = middle
    caller(fn, "call_" fn, views middle)
    caller(fn "_async", "call_" fn "_async", views last)
    table = table sprintf("    {\"%s\", ROW_%s, %s, %s, %s, %s, call_%s, call_%s_async},\n", fn,
        what, operation, n, a, out, fn, fn)
}

function kind_of_view(type, flags) {
    return " view:" short_of[type] flags
}

# The kinds of arguments of both forms.
function calls(fn, what, a, out, n, i, inputs, reduces, stream) {
    reduces = what == "REDUCE" || what == "DOT"
    stream = " stream:default,work,peer"
    for (i = reduces ? 0 : 1; i < n; i++)
        inputs = inputs kind_of_view(what == "WHERE" && i > 1 ? out : a, n == 1 ? ",lone" : "")
    if (reduces) {
        print "!~cls_" fn inputs " out:" short_of[out] stream
        print "~cls_" fn "_async" inputs " cell:" short_of[out] stream
        return
    }
    inputs = inputs kind_of_view(out, ",out") (what == "UNARY_PARAM" ? " any" : "")
    print "!~cls_" fn inputs stream
    print "~cls_" fn "_async" inputs stream
}

function caller(fn, name, arguments) {
    printf "static cls_status %s(const cls_array *v, double p, void *result, cls_stream stream) {\n", name
    if (arguments !~ /p\)?$/) print "    (void)p;"
    if (arguments !~ /result$/) print "    (void)result;"
    printf "    return cls_%s(%s, stream);\n}\n\n", fn, arguments
}

function section(title) {
    if (want == "header")
        printf "\n/* ---- %s */\n\n", title
}

function result_type(o, t) {
    if (result[o] == "MASK") return "CLS_U8"
    if (result[o] == "INDEX" || (result[o] == "TOTAL" && !is_float[t])) return "CLS_I64"
    if (result[o] == "MEAN" && !is_float[t]) return "CLS_F64"
    return dtype[t]
}

function make_cast(o, a, b, fn) {
    for (a = 1; a <= types; a++)
        for (b = 1; b <= types; b++) {
            if (a == b) continue
            fn = "cast_" short[a] "_" short[b]
            emit_pair(fn, "cls_cast of " short[a] " to " short[b], "cls_array in, cls_array out",
                "typed_cast(" dtype[a] ", " dtype[b] ", in, out, stream")
            row(fn, "CAST", 0, dtype[a], dtype[b], 2)
        }
}

function make_where(o, a, b, fn) {
    for (a = 1; a <= types; a++)
        for (b = 1; b <= types; b++) {
            if (short[a] !~ /^(u8|i32|i64)$/) continue
            fn = "where_" short[a] "_" short[b]
            emit_pair(fn, "cls_where of " short[b] " by a condition of " short[a],
                "cls_array condition, cls_array if_true, cls_array if_false, cls_array out",
                "typed_where(" dtype[a] ", " dtype[b] ", condition, if_true, if_false, out, stream")
            row(fn, "WHERE", 0, dtype[a], dtype[b], 4)
        }
}

# p as an element of type t; of 16 bits by the test's own function.
function parameter(t) {
    return is_float[t] && c_type[t] == "uint16_t" ? "element_of(" dtype[t] ", p)" : "(" c_type[t] ")p"
}

function make_elementwise(o, t, fn, words, out) {
    fn = name[o] "_" short[t]
    words = "cls_" tolower(family[o]) " with " op[o] " on " short[t]
    out = result[o] == "MASK" ? "CLS_U8" : dtype[t]
    if (family[o] == "UNARY")
        emit_pair(fn, words, "cls_array in, cls_array out",
            "typed_unary(" op[o] ", " dtype[t] ", in, out, stream")
    else if (family[o] == "UNARY_PARAM")
        emit_pair(fn, words, "cls_array in, cls_array out, " c_type[t] " param",
            "typed_unary_param(" op[o] ", " dtype[t] ", in, out, &param, stream")
    else
        emit_pair(fn, words, "cls_array a, cls_array b, cls_array out",
            "typed_binary(" op[o] ", " dtype[t] ", a, b, out, stream")
    row(fn, family[o], op[o], dtype[t], out, family[o] == "BINARY" ? 3 : 2,
        family[o] == "UNARY_PARAM" ? ", " parameter(t) : "")
}

function make_reduction(o, t, fn, words, inputs, call, out) {
    fn = name[o] "_" short[t]
    words = family[o] == "DOT" ? "cls_dot of " short[t] : "cls_reduce with " op[o] " of " short[t]
    out = result_type(o, t)
    inputs = family[o] == "DOT" ? "cls_array a, cls_array b" : "cls_array in"
    call = family[o] == "DOT" ? dtype[t] ", a, b" : op[o] ", " dtype[t] ", in"
    emit(fn, words, inputs ", " c_type_of[out] " *result",
        (family[o] == "DOT" ? "typed_dot(" : "typed_reduce(") call ", result, stream)")
    emit(fn "_async", "Like cls_" fn ", into a view of one element; only submits",
        inputs ", cls_array out",
        (family[o] == "DOT" ? "typed_dot_async(" : "typed_reduce_async(") call ", out, stream)")
    row(fn, family[o], op[o], dtype[t], out, family[o] == "DOT" ? 2 : 1)
}

function make(o, t) {
    if (family[o] == "CAST") { section("cast.h"); make_cast(o); return }
    if (family[o] == "WHERE") { section("where.h"); make_where(o); return }
    if (family[o] != family[o - 1])
        section(family[o] ~ /UNARY/ ? "unary.h" : family[o] == "BINARY" ? "binary.h" : "reduce.h")
    for (t = 1; t <= types; t++) {
        if (floats_only[o] && !is_float[t]) continue
        if (family[o] == "REDUCE" || family[o] == "DOT") make_reduction(o, t)
        else make_elementwise(o, t)
    }
}

function prologue() {
    if (want == "header") {
        print "/* SPDX-License-Identifier: MIT */"
        print "/**"
        print " * @file typed.h"
        print " * The typed operations under names that state the element types, such as cls_cast_f32_f64."
        print " * They behave as the generic functions of cast.h, where.h, unary.h, binary.h and reduce.h,"
        print " * and return CLS_ERROR_TYPE_MISMATCH for views of other types. Generated by"
        print " * build-aux/gen-typed.awk from the library's tables."
        print " */"
        print "#ifndef CLSTREAM_TYPED_H"
        print "#define CLSTREAM_TYPED_H"
        print ""
        print "#include <clstream/types.h>"
        print ""
        print "CLS_BEGIN_DECLS"
    } else if (want == "source") {
        print "/* SPDX-License-Identifier: MIT */"
        print "/* Made by build-aux/gen-typed.awk. */"
        print "#include <clstream/typed.h>"
        print ""
        print "#include \"ops/typed_call.h\""
    } else if (want == "test") {
        print "/* SPDX-License-Identifier: MIT */"
        print "/* Made by build-aux/gen-typed.awk; included by test_typed.c alone. */"
    }
}

END {
    prologue()
    for (o = 1; o <= ops; o++)
        make(o)
    if (want == "header") {
        print "\nCLS_END_DECLS"
        print "\n#endif"
    } else if (want == "test")
        printf "static const struct typed_row typed_rows[] = {\n%s};\n", table
}

#!/bin/sh
# SPDX-License-Identifier: MIT
# Every kernel compiles without a warning as OpenCL C 1.2, for each operation on each type it takes.
set -eu
. "$srcdir/tests/tap.sh"

clang=
for name in clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14; do
    if command -v "$name" >/dev/null 2>&1; then
        clang=$name
        break
    fi
done
if [ -z "$clang" ]; then
    skip "kernels compile without warnings" "no clang"
    check "the OpenCL C of doc/porting.md compiles, with every extension and with none" "$(for standard in CL3.0 CL1.2; do
    "$clang" -x cl -cl-std=$standard -target spir64 -fsyntax-only -Xclang -finclude-default-header -Wall -Werror \
        "$srcdir/tests/device/porting.cl" 2>&1
done)"
finish
    exit 0
fi

# One line per program: the .cl file and its options, from the library's tables.
programs() {
    ${AWK:-awk} '
    function fields(line) {
        sub(/^[A-Z]+\(/, "", line); sub(/\).*/, "", line); gsub(/ /, "", line)
        split(line, field, ",")
    }
    function shaped(family, name, a, b, out, width, shape) {
        printf "map.cl -D%s -DOP=op_%s -DUSES_%s -DA=%s -DB=%s -DOUT=%s -DW=%d -DBATCH=1 -DSTEPS=2 -D%s\n",
            family, name, name, a, b, out, width, shape
    }
    # Functions differ between the shapes.
    function map(family, name, a, b, out) {
        if (runs || field[4] == "FLOATS") shaped(family, name, a, b, out, 16, "RUNS")
        if (!runs || field[4] == "FLOATS") shaped(family, name, a, b, out, 4, "ALIGNED")
        runs = !runs
    }
    function reduce(name, result, t, out, options) {
        out = result == "MASK" ? "uchar" : result == "INDEX" || (result == "TOTAL" && !is_float[t]) ? "long" : opencl[t]
        if (result == "MEAN" && !is_float[t]) out = "double"
        options = sprintf("reduce.cl -DOP_%s -DA=%s -DOUT=%s -DW=%d%s%s", name, opencl[t], out,
            result == "INDEX" ? 1 : 4, is_float[t] ? " -DFLOATS" : "",
            opencl[t] out ~ /double/ ? " -DDOUBLES" : "")
        print options
        if (name == "dot") return
        print options " -DLINES=2"
        print "strided_" options " -DLINES=2"
    }
    # Bare, and with all that may follow the sums.
    function product(file, input, output, width, more) {
        more = sprintf(" -DIN=%s -DTYPE=%s -DSUM=%s -DW=%d%s", input, output,
            input == "double" ? "double -DDOUBLES" : "float", width, more)
        print file more; print file more " -DBIAS -DOP=op_gelu -DUSES_gelu"
    }
    function products(file, width, more) {
        product(file, "float", "float", width, more); product(file, "double", "double", width, more)
        product(file, "half", "half", width, more); product(file, "bfloat16", "float", width, more)
    }
    function rows(name, input, sum, width, more) {
        printf "rows.cl -DROW_%s -DTYPE=%s -DSUM=%s -DW=%d -D%s\n", name, input,
            sum == "double" ? "double -DDOUBLES" : sum, width, more
    }
    # By items of a CPU, kept in registers, and read twice.
    function all_rows(name) {
        rows(name, "float", "float", 16, "RUNS"); rows(name, "half", "float", 16, "RUNS")
        rows(name, "double", "double", 2, "GROUP=256 -DEACH=8")
        rows(name, "bfloat16", "float", 1, "GROUP=1024 -DEACH=16")
        rows(name, "float", "float", 4, "GROUP=1024 -DEACH=0")
    }
    # Kept in local memory.
    function ring(name) {
        rows(name, "half", "float", 8, "GROUP=1024 -DEACH=0 -DRING=32")
        rows(name, "float", "float", 1, "GROUP=1024 -DEACH=0 -DRING=32")
    }
    # Of a CPU, and of a GPU with rows that are aligned or not.
    function indices(op, number, type, bits) {
        printf "indices.cl -D%s -DINDEX=%s -DTYPE=%s -DW=16 -DEACH=1 -DRUNS -DROWS\n", op, number, type
        printf "indices.cl -D%s -DINDEX=%s -DTYPE=%s -DW=%d -DEACH=%d -DALIGNED -DROWS\n", op, number, type, 16 / bits * 8,
            op == "ADD" ? 1 : 4
        printf "indices.cl -D%s -DINDEX=%s -DTYPE=%s -DW=1 -DEACH=%d -DANYWHERE\n", op, number, type, op == "ADD" ? 1 : 4
    }
    function row_sums(type, sum, n) {
        printf "row_sums.cl -DTYPE=%s -DSUM=%s -DSUMS=%d -DW=1\n", type, sum == "double" ? "double -DDOUBLES" : sum, n
    }
    function draw(kind, out, per, lanes, shape) {
        shape = lanes == 8 ? "RUNS" : "ALIGNED"
        printf "random.cl -D%s -DOUT=%s -DPER=%d -DCOUNTERS=%d -DW=%d -DSTEPS=4 -D%s\n", kind, out, per, lanes,
            per * lanes < 16 ? per * lanes : 16, shape
    }
    function draws(kind, per_double) {
        draw(kind, "float", 4, 1); draw(kind, "half", 4, 2); draw(kind, "bfloat16", 4, 8)
        draw(kind, "double", per_double, 1); draw(kind, "double", per_double, 8)
    }
    # A binary operation with a vector for each row or column, by items of a CPU and of groups.
    function matrix(name, t, out, options) {
        options = sprintf("matrix.cl -DBINARY -DOP=op_%s -DUSES_%s -DA=%s -DB=%s -DOUT=%s", name, name, t, t, out)
        print options " -DROW -DW=16 -DBATCH=1 -DRUNS"; print options " -DCOLUMN -DREVERSED -DW=1 -DBATCH=1 -DRUNS"
        print options " -DROW -DREVERSED -DW=4 -DBATCH=4 -DALIGNED"; print options " -DCOLUMN -DW=2 -DBATCH=4 -DANYWHERE"
    }
    # An operation of strided views, by items of a CPU, of which some take elements one by one, and of groups.
    function strided(family, name, a, b, out, options) {
        options = sprintf("strided.cl -D%s -DOP=op_%s -DUSES_%s -DA=%s -DB=%s -DOUT=%s", family, name, name, a, b, out)
        print options " -DW=16 -DRUNS"; print options " -DW=1 -DRUNS"
        print options " -DW=4 -DALIGNED"; print options " -DW=2 -DANYWHERE"
    }
    function transpose(t) {
        print "transpose.cl -DTYPE=" t " -DSIDE=128 -DRUNS"; print "transpose.cl -DTYPE=" t " -DSIDE=32 -DGROUP=256 -DPAD=1"
    }
    function optimizer(kind, type, width, slots) {
        printf "optimizer.cl -D%s -DTYPE=%s -DREAL=%s -DW=%d -DSLOTS=%d -DCHUNK=2048 -D%s\n", kind, type,
            type == "double" ? "double -DDOUBLES" : "float", width, slots, width == 8 ? "RUNS" : "ALIGNED"
    }
    function optimizers(kind) {
        optimizer(kind, "float", 4, 4); optimizer(kind, "double", 8, 32); optimizer(kind, "half", 8, 32)
        optimizer(kind, "bfloat16", 1, 4)
    }
    # By items of a CPU, and by groups that count or agree by ballots.
    function sorts(options, groups) {
        groups = options " -DRADIX_LOG=4 -DGROUP=256 -DITEMS=8"
        print "sort_runs.cl " options " -DRADIX_LOG=8"; print "sort_pick.cl " options " -DRADIX_LOG=8"
        print "sort.cl " groups; print "sort_rows.cl " groups
        print "sort.cl " options " -DRADIX_LOG=8 -DGROUP=512 -DITEMS=16 -DRANK_LANES"
        print "sort_rows.cl " groups " -DRANK_LANES -DLANES_BY_MEMORY"
    }
    # By items of a CPU and by groups.
    function shaped_twice(options, width, vectors) {
        print options " -DRUNS -DW=16 -DROWS=1 -DGROUP=1"
        print options " -DALIGNED -DW=" width " -DROWS=" vectors " -DGROUP=128"
    }
    function scan(op, input, out, part, none, heads, width, vectors) {
        shaped_twice(sprintf("scan.cl -DOP_%s -DA=%s -DOUT=%s -DPART=%s -DPART_NONE=%s %s", op, input, out, part, none, heads),
            width, vectors)
    }
    function selection(by, type, beside, part, width, vectors) {
        shaped_twice(sprintf("select.cl -D%s -DA=%s -DBESIDE=%s -DPART=%s", by, type, beside, part), width, vectors)
    }
    # By items of a CPU, by groups, and by groups together.
    function bins(options, width) {
        print "histogram_runs.cl " options " -DW=16 -DBATCH=1 -DRUNS"
        print "histogram.cl " options " -DBATCH=2 -DALIGNED -DW=" width
        sub(" -DOF_BYTES", "", options)
        print "histogram.cl " options " -DBATCH=2 -DANYWHERE -DTOGETHER -DW=" width
    }
    # By matrix units: split, whole, and in their place.
    function units(file) {
        product(file, "float", "float", 1, " -DPRODUCTS=3"); product(file, "float", "float", 1, " -DPRODUCTS=1")
        product(file, "half", "half", 1, " -DPRODUCTS=1"); product(file, "bfloat16", "float", 1, " -DPRODUCTS=1")
        product(file, "half", "half", 1, " -DPRODUCTS=1 -DA_ORDER=0 -DB_ORDER=1")
        product(file, "bfloat16", "float", 1, " -DPRODUCTS=1 -DA_ORDER=1 -DB_ORDER=0")
    }
    BEGIN {
        print "copy.cl -DTEAM=1"; print "copy.cl -DTEAM=32"
        products("panels.cl", 8, ""); products("panels.cl", 16, ""); products("panels.cl", 4, "")
        products("blocks.cl", 1, " -DSIDE=8 -DBLOCKS=1"); products("blocks.cl", 1, " -DSIDE=16 -DBLOCKS=2")
        products("scale.cl", 1, "")
        print "pack.cl -DIN=float -DTYPE=float -DSUM=float -DW=1 -DPRODUCTS=3 -DCOLUMNS=128"
        print "pack.cl -DIN=half -DTYPE=half -DSUM=float -DW=1 -DPRODUCTS=1 -DCOLUMNS=256"
        all_rows("softmax"); all_rows("log_softmax"); all_rows("softmax_gradient")
        all_rows("log_softmax_gradient"); all_rows("cross_entropy"); all_rows("cross_entropy_gradient")
        ring("softmax"); ring("log_softmax"); ring("cross_entropy_gradient"); ring("layer_norm"); ring("rms_norm")
        all_rows("layer_norm"); all_rows("rms_norm"); all_rows("layer_norm_gradient"); all_rows("rms_norm_gradient")
        row_sums("float", "float", 2); row_sums("half", "float", 1); row_sums("double", "double", 1); row_sums("bfloat16", "float", 2)
        matrix("sub", "float", "float"); matrix("add", "bfloat16", "bfloat16"); matrix("lt", "half", "uchar")
        matrix("pow", "double", "double"); matrix("gelu_gradient", "half", "half"); matrix("div", "int", "int"); matrix("eq", "uchar", "uchar")
        print "matrix.cl -DCAST -DOP=op_cast -DUSES_cast -DA=double -DB=double -DOUT=half -DW=16 -DBATCH=1 -DRUNS"
        print "matrix.cl -DUNARY -DOP=op_copy -DUSES_copy -DA=uint -DB=uint -DOUT=uint -DW=4 -DBATCH=4 -DALIGNED"
        strided("BINARY", "sub", "float", "float", "float"); strided("BINARY", "lt", "half", "half", "uchar")
        strided("BINARY", "div", "int", "int", "int"); strided("UNARY", "exp", "double", "double", "double")
        strided("UNARY", "copy", "ushort", "ushort", "ushort"); strided("UNARY_PARAM", "elu", "bfloat16", "bfloat16", "bfloat16")
        strided("CAST", "cast", "long", "long", "half"); strided("WHERE", "where", "uchar", "ulong", "ulong")
        transpose("uchar"); transpose("ushort"); transpose("uint"); transpose("ulong")
        units("mma.cl"); units("wgmma.cl")
        sorts("-DKEY=uint"); sorts("-DKEY=uchar -DSIGNED"); sorts("-DKEY=ushort -DINFINITE=0x7f80 -DPICKS")
        sorts("-DKEY=ulong -DLONG_KEYS -DINFINITE=0x7ff0000000000000ul -DVALUES -DVALUE_IN=uint -DVALUE_OUT=ulong")
        sorts("-DKEY=uint -DSIGNED -DVALUES -DVALUE_IN=ulong -DVALUE_OUT=ulong -DCOLLECTS")
        scan("sum", "float", "float", "float", "0", "-DFLOATS -DKEY=uchar", 4, 12); scan("sum", "uchar", "long", "ulong", "0", "-DKEY=uchar", 2, 12)
        scan("product", "double", "double", "double", "1", "-DFLOATS -DDOUBLES -DHEADS_KEYS -DKEY=ulong", 2, 12)
        scan("min", "half", "half", "float", "INFINITY", "-DFLOATS -DHEADS_FLAGS -DKEY=uchar", 8, 6)
        scan("max", "char", "char", "int", "(-128)", "-DHEADS_EVERY -DKEY=uchar", 8, 6)
        scan("max", "bfloat16", "bfloat16", "float", "-INFINITY", "-DFLOATS -DKEY=uchar", 8, 6)
        selection("BY_FLAGS", "uchar", "uchar", "uint", 8, 4); selection("BY_FLAGS -DPARTITION", "ulong", "uchar", "ulong", 2, 8)
        selection("BY_HEADS", "ushort", "uchar", "uint", 8, 4); selection("BY_ENDS -DNUMBERS", "uint", "ulong", "uint", 4, 8)
        selection("BY_ENDS -DHAS_BESIDE", "ulong", "ushort", "uint", 2, 8); selection("BY_VALUE=>=", "half", "uchar", "uint", 8, 4)
        selection("BY_VALUE=!=", "double -DDOUBLES", "uchar", "uint", 2, 8); selection("BY_VALUE=<", "int", "uchar", "uint", 4, 8)
        print "clear.cl"; print "run_lengths.cl"
        bins("-DBY_SCALE -DA=float", 4); bins("-DBY_SCALE -DA=half", 8); bins("-DBY_SCALE -DA=double -DDOUBLES", 2)
        bins("-DBY_WORDS -DA=char -DOF_BYTES", 16); bins("-DBY_WORDS -DA=int", 4); bins("-DBY_LONGS -DA=long", 2)
        bins("-DBY_EDGES -DA=ushort -DKEY=ushort -DINFINITE=0x7f80", 8); bins("-DBY_EDGES -DA=ulong -DKEY=ulong -DLONG_KEYS -DSIGNED", 2)
        print "add_counts.cl"; print "add_counts.cl -DTEAMS"
        print "bounds.cl -DKEY=uint -DINFINITE=0x7f800000"; print "bounds.cl -DKEY=ulong -DLONG_KEYS -DSIGNED -DUPPER"
        indices("SELECT", "int", "uchar", 8); indices("SCATTER", "long", "ulong", 64); indices("SELECT", "uint", "uint", 32)
        indices("ADD", "uchar", "float", 32); indices("ADD", "int", "half", 16); indices("ADD", "long", "bfloat16", 16)
        indices("ADD", "uint", "double -DDOUBLES", 64); indices("ADD", "int", "uchar", 8)
        indices("ADD", "uchar", "ushort", 16)
        print "random.cl -DSTATE"
        print "optimizer.cl -DSTATE"; print "optimizer.cl -DSTATE -DCLIP"; print "optimizer.cl -DSTATE -DCLIP -DDOUBLES"
        optimizers("SGD"); optimizers("MOMENTUM"); optimizers("ADAMW"); optimizers("SQUARES")
        draw("BITS", "uchar", 4, 4); draw("BITS", "int", 4, 1); draw("BITS", "uint", 4, 8); draw("BITS", "long", 2, 1)
        draw("BELOW", "uchar", 2, 8); draw("BELOW", "int", 2, 2); draw("BELOW", "uint", 2, 8); draw("BELOW", "long", 1, 2)
        draw("BITS", "char", 4, 8); draw("BITS", "short", 4, 2); draw("BITS", "ushort", 4, 8)
        draw("BELOW", "char", 2, 8); draw("BELOW", "short", 2, 4); draw("BELOW", "ushort", 2, 8)
        draw("BERNOULLI", "uchar", 4, 4)
        draws("UNIFORM", 2); draws("NORMAL", 2); draws("DROPOUT", 4); draws("DROPOUT -DMASK", 4)
    }
    /^TYPE\(/ { fields($0); opencl[++types] = field[4]; bits[types] = field[6]; is_float[types] = field[8] == "FLOAT" }
    /^OP\(/ {
        fields($0)
        for (t = 1; t <= types; t++) {
            if (field[4] == "FLOATS" && !is_float[t]) continue
            if (field[1] == "REDUCE" || field[1] == "DOT") reduce(field[3], field[5], t)
            else if (field[1] == "CAST") {
                for (u = 1; u <= types; u++)
                    if (u != t) map("CAST", "cast", opencl[t], opencl[t], opencl[u])
            } else if (field[1] == "WHERE") {
                if (moved[bits[t]]++) continue # one program for all types of a size
                map("WHERE", "where", "uchar", bits[t], bits[t])
                map("WHERE", "where", "int", bits[t], bits[t])
                map("WHERE", "where", "long", bits[t], bits[t])
            } else
                map(field[1], field[3], opencl[t], opencl[t], field[5] == "MASK" ? "uchar" : opencl[t])
        }
    }' "$srcdir/lib/base/types.def" "$srcdir/lib/ops/ops.def"
}

# The files of matrix units have instructions of NVIDIA's.
lint() {
    target=
    case $1 in *mma.cl) target='-target nvptx64-nvidia-nvcl -Dasm=__asm__' ;; esac
    programs | while read -r file options; do
        [ "$file" = "$1" ] || continue
        lanes=
        case $options in *RANK_LANES) lanes='-target nvptx64-nvidia-nvcl -Dasm=__asm__' ;; esac
        # shellcheck disable=SC2086
        "$clang" -x cl -cl-std=CL1.2 -fsyntax-only -Xclang -finclude-default-header -Wall -Wextra \
            -Wno-unused-parameter -Wno-unused-function -Werror $target $lanes $options "$srcdir/cl/$file" 2>&1 |
            sed "1s|^|$options: |"
    done
}

count=$(programs | wc -l)
check "there are programs to compile" "$([ "$count" -gt 200 ] || echo "only $count")"
check "add_counts.cl compiles without warnings" "$(lint add_counts.cl)"
check "blocks.cl compiles without warnings" "$(lint blocks.cl)"
check "bounds.cl compiles without warnings" "$(lint bounds.cl)"
check "clear.cl compiles without warnings" "$(lint clear.cl)"
check "copy.cl compiles without warnings" "$(lint copy.cl)"
check "histogram.cl compiles without warnings" "$(lint histogram.cl)"
check "histogram_runs.cl compiles without warnings" "$(lint histogram_runs.cl)"
check "map.cl compiles without warnings" "$(lint map.cl)"
check "matrix.cl compiles without warnings" "$(lint matrix.cl)"
check "mma.cl compiles without warnings" "$(lint mma.cl)"
check "indices.cl compiles without warnings" "$(lint indices.cl)"
check "optimizer.cl compiles without warnings" "$(lint optimizer.cl)"
check "pack.cl compiles without warnings" "$(lint pack.cl)"
check "panels.cl compiles without warnings" "$(lint panels.cl)"
check "random.cl compiles without warnings" "$(lint random.cl)"
check "reduce.cl compiles without warnings" "$(lint reduce.cl)"
check "row_sums.cl compiles without warnings" "$(lint row_sums.cl)"
check "rows.cl compiles without warnings" "$(lint rows.cl)"
check "run_lengths.cl compiles without warnings" "$(lint run_lengths.cl)"
check "scan.cl compiles without warnings" "$(lint scan.cl)"
check "select.cl compiles without warnings" "$(lint select.cl)"
check "scale.cl compiles without warnings" "$(lint scale.cl)"
check "sort.cl compiles without warnings" "$(lint sort.cl)"
check "sort_pick.cl compiles without warnings" "$(lint sort_pick.cl)"
check "sort_rows.cl compiles without warnings" "$(lint sort_rows.cl)"
check "sort_runs.cl compiles without warnings" "$(lint sort_runs.cl)"
check "strided.cl compiles without warnings" "$(lint strided.cl)"
check "strided_reduce.cl compiles without warnings" "$(lint strided_reduce.cl)"
check "transpose.cl compiles without warnings" "$(lint transpose.cl)"
check "wgmma.cl compiles without warnings" "$(lint wgmma.cl)"
finish

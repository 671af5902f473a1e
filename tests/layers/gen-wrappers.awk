# SPDX-License-Identifier: MIT
# Reads CL/cl_icd.h (the table's names) and CL/cl.h (their prototypes). With what=calls it prints the calls
# as an enumeration and their names; with what=wrappers one wrapper each and a function that puts them
# into a table. What the wrappers call is in layer.h.

BEGIN {
    object["cl_context"] = object["Context"] = "OBJECT_CONTEXT"
    object["cl_command_queue"] = object["CommandQueue"] = "OBJECT_QUEUE"
    object["cl_mem"] = object["MemObject"] = "OBJECT_MEMORY"
    object["cl_program"] = object["Program"] = "OBJECT_PROGRAM"
    object["cl_kernel"] = object["Kernel"] = "OBJECT_KERNEL"
    object["cl_event"] = object["Event"] = "OBJECT_EVENT"
    object["cl_sampler"] = object["Sampler"] = "OBJECT_SAMPLER"
}

function trim(text) {
    gsub(/[ \t]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return text
}

# The table's names, in order.
FNR == NR {
    if (/^typedef struct _cl_icd_dispatch/) in_table = 1
    if (in_table) {
        text = text " " $0
        if (/^}/) { in_table = 0; read_table(text) }
    }
    next
}

function read_table(text,    words, n, i) {
    gsub(/\/\*[^*]*\*\//, " ", text)
    gsub(/[*;{}]/, " ", text)
    n = split(text, words, /[ \t]+/)
    # Headers until 2023: "cl_api_clFlush clFlush;", since then: "clFlush_t *clFlush;".
    for (i = 1; i < n; i++)
        if (words[i] == "cl_api_" words[i + 1] || words[i] == words[i + 1] "_t") listed[words[i + 1]] = 1
}

# Prototypes: from CL_API_ENTRY to the semicolon.
/^#/ { next }
/CL_API_ENTRY/ { taking = 1; prototype = "" }
taking {
    line = $0
    sub(/\/\/.*/, "", line)
    prototype = prototype " " line
    if (line ~ /;/) { taking = 0; read_prototype(prototype) }
}

function read_prototype(text,    head, name, type, args) {
    gsub(/\/\*[^*]*\*\//, " ", text)
    gsub(/CL_API_(PREFIX|SUFFIX)[A-Z_0-9]*/, " ", text)
    gsub(/extern|CL_API_ENTRY/, " ", text)
    sub(/;.*/, "", text)
    head = text
    sub(/\(.*/, "", head)
    sub(/^[^(]*\(/, "", text)
    sub(/\)[ \t]*$/, "", text)
    type = head
    sub(/CL_API_CALL.*/, "", type)
    name = head
    sub(/.*CL_API_CALL/, "", name)
    type = trim(type)
    name = trim(name)
    if (!(name in listed) || name in seen) return
    seen[name] = 1
    names[++n_names] = name
    if (what == "wrappers") emit(name, type, trim(text))
}

# Splits at the commas outside parentheses; the count.
function split_args(text, parts,    i, c, depth, n) {
    n = depth = 0
    parts[1] = ""
    if (text == "void" || text == "") return 0
    n = 1
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        depth += (c == "(") - (c == ")")
        if (c == "," && !depth) parts[++n] = ""
        else parts[n] = parts[n] c
    }
    return n
}

function arg_name(arg) {
    if (arg ~ /\( *CL_CALLBACK/) {
        sub(/^[^(]*\( *CL_CALLBACK *\* */, "", arg)
        sub(/[ )].*/, "", arg)
        return arg
    }
    sub(/ *\[.*\]/, "", arg)
    arg = trim(arg)
    sub(/^.*[^A-Za-z_0-9]/, "", arg)
    return arg
}

function emit(name, type, args,    parts, n, i, call, arg, has, listed_waits) {
    n = split_args(args, parts)
    listed_waits = name ~ /^clEnqueue/ && args ~ /num_events_in_wait_list/
    call = ""
    has["errcode_ret"] = has["event"] = has["blocking"] = ""
    for (i = 1; i <= n; i++) {
        arg = arg_name(parts[i])
        if (arg ~ /^blocking_/) has["blocking"] = arg
        else if (arg == "event" && parts[i] !~ /\*/) { }
        else has[arg] = arg
        if (arg == "errcode_ret") arg = "&code"
        if (listed_waits && arg == "num_events_in_wait_list") arg = "e.count"
        if (listed_waits && arg == "event_wait_list") arg = "e.events"
        if (listed_waits && arg == "event") arg = "e.event"
        call = call (i > 1 ? ", " : "") arg
    }
    call = "next." name "(" call ")"
    printf "static %s CL_API_CALL wrap_%s(%s) {\n", type, name, n ? args : "void"
    if (name == "clCreateKernelsInProgram")
        emit_kernels(name, call)
    else if (listed_waits)
        emit_enqueue(name, type, call, has)
    else if (name ~ /^clRelease/ && match_object(name, "clRelease"))
        emit_release(name, call)
    else if (name ~ /^clRetain/ && match_object(name, "clRetain"))
        emit_plain(name, call, object[substr(name, 9)])
    else if (type == "cl_int")
        emit_plain(name, call, has["event"] != "" ? "event ? OBJECT_EVENT : OBJECT_NONE" : "OBJECT_NONE")
    else if (type == "void")
        printf "    layer_enter(CALL_%s);\n    %s;\n", name, call
    else
        emit_create(name, type, call, has["errcode_ret"] != "")
    print "}\n"
}

function match_object(name, verb) {
    return substr(name, length(verb) + 1) in object
}

function emit_plain(name, call, what) {
    printf "    cl_int code = layer_enter(CALL_%s);\n", name
    printf "    if (!code) {\n        code = %s;\n", call
    if (what != "OBJECT_NONE")
        printf "        if (!code)\n            layer_object(%s, 1);\n", what
    print "    }\n    return code;"
}

# The one call that makes several objects.
function emit_kernels(name, call) {
    printf "    cl_int code = layer_enter(CALL_%s);\n", name
    printf "    if (!code) {\n        code = %s;\n", call
    print "        if (!code && kernels)"
    print "            layer_object(OBJECT_KERNEL, (int)(num_kernels_ret ? *num_kernels_ret : num_kernels));"
    print "    }\n    return code;"
}

# A release that fails has released all the same, so that counts tell what the library did.
function emit_release(name, call) {
    printf "    cl_int code = layer_enter(CALL_%s);\n", name
    printf "    cl_int done = %s;\n", call
    printf "    layer_object(%s, -1);\n", object[substr(name, 10)]
    print "    return code ? code : done;"
}

function emit_create(name, type, call, has_code) {
    printf "    cl_int code = layer_enter(CALL_%s);\n", name
    printf "    %s made = code ? NULL : %s;\n", type, call
    if (has_code) print "    if (errcode_ret)\n        *errcode_ret = code;"
    if (type in object) printf "    if (made)\n        layer_object(%s, 1);\n", object[type]
    print "    return made;"
}

function emit_enqueue(name, type, call, has,    what) {
    what = (type == "cl_int") ? "" : type " made = NULL;\n    "
    printf "    struct layer_enqueue e = {CALL_%s, command_queue, num_events_in_wait_list,\n", name
    printf "                              event_wait_list, event, %s, NULL, NULL, 0, NULL};\n",
        has["blocking"] != "" ? has["blocking"] " != 0" : "false"
    printf "    cl_int code = layer_enter(CALL_%s);\n    %s", name, what
    print "if (!code)\n        code = layer_before_enqueue(&e);\n    if (!code) {"
    if (type == "cl_int") printf "        code = %s;\n", call
    else printf "        made = %s;\n", call
    print "        layer_after_enqueue(&e, code);\n    }"
    if (type == "cl_int") print "    return code;"
    else print "    if (errcode_ret)\n        *errcode_ret = code;\n    return made;"
}

function print_calls(    i) {
    print "enum layer_call {"
    for (i = 1; i <= n_names; i++) printf "    CALL_%s,\n", names[i]
    print "    LAYER_CALLS\n};\n\nstatic const char *const layer_names[] = {"
    for (i = 1; i <= n_names; i++) printf "    \"%s\",\n", names[i]
    print "};\n"
}

END {
    if (!n_names) {
        print "no prototypes found" >"/dev/stderr"
        exit 1
    }
    if (what == "calls") {
        print_calls()
        exit
    }
    print "static void layer_fill(cl_icd_dispatch *table) {"
    for (i = 1; i <= n_names; i++) printf "    table->%s = wrap_%s;\n", names[i], names[i]
    print "}"
}

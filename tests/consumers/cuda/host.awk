# SPDX-License-Identifier: MIT
# Makes host code in C++ of a CUDA program: each kernel becomes an object of clstream/cuda_kernel.h, with a function that
# launches it and has its parameters (and ends the program if the launch is refused, as not all programs ask), and `name<<<grid, block, shared, stream>>>(arguments)` a call of that function. All
# other text stays, on the same lines. The kernels are in the OpenCL C file that CLS_CUDA_KERNELS names.
#
#     awk -f host.awk program.cu >program.cc
#
# Kernels are functions without a template.

{
    text = text $0 "\n"
}

# The place of the bracket that closes the one at `from`, outside strings and comments.
function closes(from, opening, closing, i, c, depth, quote) {
    for (i = from; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (quote != "") {
            if (c == "\\")
                i++
            else if (c == quote)
                quote = ""
        } else if (c == "\"" || c == "'")
            quote = c
        else if (substr(text, i, 2) == "//")
            i += index(substr(text, i), "\n") - 1
        else if (substr(text, i, 2) == "/*")
            i += index(substr(text, i + 2), "*/") + 2
        else if (c == opening)
            depth++
        else if (c == closing && --depth == 0)
            return i
    }
    print FILENAME ": a bracket is not closed" >"/dev/stderr"
    failed = 1
    exit 1
}

# Splits a list at its commas outside brackets into `items`, and returns their number.
function split_list(list, items, i, c, depth, n, item) {
    n = 0
    item = ""
    for (i = 1; i <= length(list); i++) {
        c = substr(list, i, 1)
        if (c ~ /[[({]/)
            depth++
        else if (c ~ /[])}]/)
            depth--
        if (c == "," && depth == 0) {
            items[++n] = item
            item = ""
        } else
            item = item c
    }
    if (item ~ /[^ \t\n]/)
        items[++n] = item
    return n
}

function one_line(s) {
    gsub(/[ \t\n]+/, " ", s)
    return s
}

# As many line ends as a text has, which keep the lines that follow where they were.
function line_ends(s) {
    gsub(/[^\n]/, "", s)
    return s
}

# The kernel that begins with __global__ at `at`.
function kernel(at, start, end, body, head, name, parameters, n, i, names, item) {
    start = at + index(substr(text, at), "(") - 1
    head = substr(text, at, start - at)
    match(head, /[A-Za-z_][A-Za-z_0-9]*[ \t\n]*$/)
    name = substr(head, RSTART)
    gsub(/[ \t\n]/, "", name)
    end = closes(start, "(", ")")
    parameters = substr(text, start + 1, end - start - 1)
    n = split_list(parameters, items)
    names = ""
    for (i = 1; i <= n; i++) {
        item = one_line(items[i])
        sub(/ *(\[[^]]*\])? *$/, "", item)
        match(item, /[A-Za-z_][A-Za-z_0-9]*$/)
        names = names ", " substr(item, RSTART)
    }
    body = closes(end, "{", "}")
    declared = "cls_cuda_kernel kernel_of_" name " = CLS_CUDA_KERNEL(&cls_cuda_kernels, \"" name "\"); " \
        "static cls_cuda_kernel *const " name " = &kernel_of_" name "; " \
        "static inline cudaError_t launch_of_" name "(dim3 cls_grid, dim3 cls_block, size_t cls_shared, " \
        "cudaStream_t cls_stream" (n ? ", " one_line(parameters) : "") ") { " \
        "cudaError_t cls_error = cls_cuda_launch(" name ", cls_grid, cls_block, cls_shared, cls_stream" names "); " \
        "if (cls_error != cudaSuccess) { fprintf(stderr, \"launch of " name ": %s\\n\", cls_last_error_detail()); " \
        "exit(1); } return cls_error; }"
    text = substr(text, 1, at - 1) declared line_ends(substr(text, at, body - at + 1)) substr(text, body + 1)
}

# The launch whose <<< is at `at`.
function launch(at, close_at, before, n, arguments, end, inner) {
    before = substr(text, 1, at - 1)
    match(before, /[A-Za-z_][A-Za-z_0-9]*[ \t\n]*$/)
    name = substr(before, RSTART)
    before = substr(before, 1, RSTART - 1)
    gsub(/[ \t\n]/, "", name)
    close_at = index(substr(text, at), ">>>") + at - 1
    inner = substr(text, at + 3, close_at - at - 3)
    n = split_list(inner, items)
    arguments = inner (n < 3 ? ", 0" : "") (n < 4 ? ", 0" : "")
    end = close_at + 3 + index(substr(text, close_at + 3), "(") - 1
    text = before "launch_of_" name "(" arguments \
        (substr(text, end + 1, closes(end, "(", ")") - end - 1) ~ /[^ \t\n]/ ? ", " : "") substr(text, end + 1)
}

END {
    if (failed)
        exit 1
    while (at = index(text, "__global__"))
        kernel(at)
    while (at = index(text, "<<<"))
        launch(at)
    print "static cls_cuda_module cls_cuda_kernels = CLS_CUDA_FILE(CLS_CUDA_KERNELS);"
    print "#line 1 \"" FILENAME "\""
    printf "%s", text
}

# SPDX-License-Identifier: MIT
# What Doxygen reads in place of a header or a page: the text as it is, and the markup that it is spared.
# Lines keep their numbers.
#
# - A header is a module: its introduction that of the module, its declarations the members.
# - Every initializer of a struct is documented, in the same words.
# - Names of the interface and its headers are links, in comments and as `name` in pages; code is left
#   alone. Doxygen warns of a name that is none. What a build of the library defines is none of the interface.

# The text with every name made a link: in a comment where it stands by itself, in a page where it is
# marked as `name`.
function link(text, marked, left, name, linked) {
    while (match(text, /(cls|CLS)_[A-Za-z0-9_]*[A-Za-z0-9]/)) {
        left = substr(text, 1, RSTART - 1)
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (marked && name !~ /^CLS_(API$|PREFIX|WITHOUT_|KERNEL_PATH|OPENCL_)/ && left ~ /`$/ && text ~ /^`/) {
            sub(/`$/, "", left)
            sub(/^`/, "", text)
            name = "[" name "](@ref " name ")"
        } else if (!marked && text !~ /^[`_*(]/ && left !~ /[`<A-Za-z0-9_]$/)
            name = "#" name
        linked = linked left name
    }
    return linked text
}

# A comment with every header's name a link to its module.
function link_headers(text, path, name, linked) {
    while (match(text, /(clstream\/)?[a-z_]+\.h/)) {
        path = substr(text, RSTART, RLENGTH)
        name = path
        gsub(/clstream\/|\.h/, "", name)
        linked = linked substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + RLENGTH)
        if (name != "clstream" && text !~ /^[A-Za-z0-9_]/)
            path = "@ref clstream_" name " \"" path "\""
        linked = linked path
    }
    return linked text
}

FILENAME ~ /\.md$/ {
    if (/^```/)
        in_code = !in_code
    print in_code || /^    / ? $0 : link($0, 1)
    next
}

/^ \* @file / {
    name = $3
    sub(/\.h$/, "", name)
    $0 = " * @defgroup clstream_" name " clstream/" $3
    introduces = 1
}

introduces && /\*\/$/ {
    $0 = $0 " /** @{ */"
    introduces = 0
}

/^CLS_END_DECLS/ { $0 = "/** @} */" }

# The blank line before an initializer has room for its comment.
/^#define CLS_[A-Z_]+_INIT/ && blank {
    print "/** Initializes the struct: its size, and the defaults. */"
    blank = 0
}

blank { print "" }

{ blank = /^$/ }

/\/\*\*/ { in_comment = 1 }

in_comment && !/^ \*     / {
    start = match($0, /\/\*\*/)
    comment = link(substr($0, start ? start : 1), 0)
    $0 = substr($0, 1, start ? start - 1 : 0) (/@defgroup/ ? comment : link_headers(comment))
}

/\*\// { in_comment = 0 }

!blank

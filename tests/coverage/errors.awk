# SPDX-License-Identifier: MIT
# Reads lcov's .info of what ran with faults injected, and prints how many error branches were entered, by
# file, of the files that `files` (a regular expression) picks. One that was not goes into the file `missed`,
# and is an error unless `reasons` has a row for it.
#
# An error branch is what stands under an `if` that asks for a failure (a status, a code, no memory), the
# `else` of one that asks for success, or an error_set outside of those. Left out are checks of arguments:
# those have statuses of their own, which tests/hostile goes through.
#
# A row of `reasons` has four parts with ": " between them: the file, the function, the first line of the
# branch, and the reason.

function strip(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}

function depth(text) {
    match(text, /^ */)
    return RLENGTH
}

# How many parentheses are left open by a line; strings and characters hold few enough not to matter.
function opened(text,    open) {
    gsub(/"([^"\\]|\\.)*"/, "", text)
    open = gsub(/\(/, "", text)
    return open - gsub(/\)/, "", text)
}

function asks_for_failure(condition) {
    if (condition ~ /^code == CL_SUCCESS/)
        return 0
    if (condition ~ /^(status|code|error|failure|poisoned)( |$)/ || condition ~ /^!good( |$)/)
        return 1
    return condition ~ /(\|\| |&& )(status|code|failure)( |$)/ && condition !~ /^!status/
}

function asks_for_success(condition) {
    return condition ~ /^(!status|!code|!failure|good)( |$)/
}

function checks_arguments(text) {
    return text ~ /CLS_ERROR_(INVALID|WRONG|WOULD|NOT_TIMED|OUT_OF_RANGE|UNSUPPORTED|LIMIT|SHUTDOWN|FORKED|TIMEOUT|DEADLOCK|OVERLAP)/ ||
           text ~ /object_invalid\(/
}

# Reports an error that is none of the arguments'.
function tells(text) {
    return text ~ /error_(set|set_code|no_memory)\(|failure_report\(|driver_status\(|CLS_ERROR_(OUT_OF|COMMAND|DRIVER|CONTEXT_LOST)/ &&
           !checks_arguments(text)
}

# Whether the last status came of looking at arguments: of finding what a handle means, or of a check.
function looked_up(line,    i, text) {
    for (i = line - 1; i > 0 && source[i] !~ /^[a-z].*\{$/; i--)
        if (source[i] ~ /status = /) {
            text = source[i] (source[i] ~ /;$/ ? "" : source[i + 1])
            return checks_arguments(text) ||
                   text ~ /(_get|_find|_enter|_snapshot|take_buffers|check_[a-z_]*|_check|_may_block|_begin|_moving)\(/
        }
    return 0
}

# Counts the branch of lines from..to, when any of them is code.
function branch(from, to,    i, first, said) {
    for (i = from; i <= to && !first; i++)
        if (i in runs)
            first = i
    if (!first || first in seen)
        return
    seen[first] = 1
    total[file]++
    if (runs[first] > 0) {
        reached[file]++
        return
    }
    said = file ": " in_function[first] ": " strip(source[first])
    if (said in reason) {
        n_excused++
        return
    }
    print file ":" first ": " in_function[first] ": " strip(source[first]) >missed
    n_missed++
}

# The last line of what stands under the line, by its depth.
function body_end(line, least,    i) {
    for (i = line + 1; i <= lines && (source[i] == "" || depth(source[i]) > least); i++)
        continue
    return i - 1
}

function text_of(from, to,    text, i) {
    for (i = from; i <= to; i++)
        text = text source[i] "\n"
    return text
}

function look_at_if(line,    least, condition, open, last, end, body, fails) {
    least = depth(source[line])
    condition = source[line]
    sub(/^.*if \(/, "", condition)
    open = opened(condition) + 1
    last = line
    while (open > 0 && last < lines) {
        last++
        condition = condition " " strip(source[last])
        open += opened(source[last])
    }
    sub(/\)[^)]*$/, "", condition)
    end = body_end(last, least)
    body = text_of(last + 1, end)
    fails = asks_for_failure(condition) || tells(body) ||
            (condition ~ /^!/ && body ~ /return (NULL|false);|object_abandon|FLIGHT_NO_MEMORY/ &&
             text_of(line > 4 ? line - 4 : 1, line) ~ /(alloc|_create|_new|_init|_need|_start)\(/)
    if (fails && !checks_arguments(body) && !(condition ~ /^status/ && looked_up(line)))
        branch(last + 1, end)
    if (asks_for_success(condition) && source[end + 1] ~ /else \{?$/ && depth(source[end + 1]) == least &&
        !checks_arguments(text_of(end + 2, body_end(end + 1, least))))
        branch(end + 2, body_end(end + 1, least))
}

function look_at_source(    i, name, text) {
    lines = 0
    while ((getline text <path) > 0)
        source[++lines] = text
    close(path)
    for (i = 1; i <= lines; i++) {
        if (source[i] ~ /^[a-z].*\(/ && source[i] !~ /;$/) {
            name = source[i]
            sub(/\(.*/, "", name)
            sub(/^.*[ *]/, "", name)
        }
        in_function[i] = name
    }
    for (i = 1; i <= lines; i++)
        if (source[i] ~ /^ +(\} else )?if \(/ || source[i] ~ /^ +else if \(/)
            look_at_if(i)
    for (i = 1; i <= lines; i++)
        if (source[i] ~ /error_(set|set_code|no_memory)\(/ && !checks_arguments(source[i] source[i + 1]) &&
            source[i] !~ /[?:] error_(set|no_memory)/)
            branch(i, i)
}

BEGIN {
    printf "" >missed
    while ((getline text <reasons) > 0) {
        if (text ~ /^#/ || text == "")
            continue
        n = split(text, part, ": ")
        key = part[1] ": " part[2] ": " part[3]
        reason[key] = 1
    }
}

/^SF:/ {
    path = substr($0, 4)
    file = index(path, top) == 1 ? substr(path, length(top) + 1) : path
    split("", runs)
    split("", seen)
    split("", source)
}

/^DA:/ {
    split(substr($0, 4), count, ",")
    runs[count[1]] = count[2]
}

/^end_of_record/ && file ~ files {
    look_at_source()
    if (total[file]) {
        printf "%-40s %4d of %4d\n", file, reached[file], total[file]
        all_total += total[file]
        all_reached += reached[file]
    }
}

END {
    printf "\nerror branches that were reached: %d of %d; there is a reason for %d of the others\n",
           all_reached, all_total, n_excused
    exit !all_total || n_missed
}

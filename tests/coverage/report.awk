# SPDX-License-Identifier: MIT
# Reads lcov's .info; prints a row per file and per folder and the sum, and writes the lines that did not
# run to the file `missed`. Exits with 1 when the sum is below `least` per cent. `top` and `built` are what
# paths begin with.

function short(path) {
    if (index(path, built) == 1)
        return substr(path, length(built) + 1)
    return index(path, top) == 1 ? substr(path, length(top) + 1) : path
}

function row(name, ran, lines) {
    printf "%-40s %6.1f %%  %6d of %6d\n", name, lines ? 100 * ran / lines : 100, ran, lines
}

# Prints the source of a file with the numbers of the lines that did not run.
function tell_missed(    number, line) {
    if (!any_missed)
        return
    for (number = 1; (getline line <path) > 0; number++)
        if (number in missing)
            printf "%s:%d: %s\n", file, number, line >missed
    close(path)
}

/^SF:/ {
    path = substr($0, 4)
    file = short(path)
    split("", missing)
    any_missed = 0
}

/^DA:/ {
    split(substr($0, 4), count, ",")
    lines_of[file]++
    if (count[2] > 0) {
        ran_of[file]++
    } else {
        missing[count[1]] = 1
        any_missed = 1
    }
}

/^end_of_record/ {
    files[++n] = file
    tell_missed()
}

END {
    printf "" >missed
    for (i = 1; i <= n; i++) {
        file = files[i]
        folder = file
        sub(/\/[^\/]*$/, "", folder)
        if (!(folder in folder_lines))
            folders[++n_folders] = folder
        folder_ran[folder] += ran_of[file]
        folder_lines[folder] += lines_of[file]
        all_lines += lines_of[file]
        all_ran += ran_of[file]
        row(file, ran_of[file], lines_of[file])
    }
    print ""
    for (i = 1; i <= n_folders; i++)
        row(folders[i] "/", folder_ran[folders[i]], folder_lines[folders[i]])
    print ""
    row("lines of lib/ that ran", all_ran, all_lines)
    exit !all_lines || 100 * all_ran / all_lines < least
}

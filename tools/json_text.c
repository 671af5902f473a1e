/* SPDX-License-Identifier: MIT */
#include "json_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"
#include "file.h"

json_t *json_text(const char *text) {
    json_t *string = json_string(text);
    if (string)
        return string;
    char *ascii = strdup(text);
    if (!ascii)
        return NULL;
    for (char *at = ascii; *at; at++)
        if ((unsigned char)*at > '~')
            *at = '?';
    string = json_string(ascii);
    free(ascii);
    return string;
}

json_t *json_number(double number) {
    return json_real(isinf(number) ? copysign(DBL_MAX, number) : number);
}

const char *json_file_name(const char *path) {
    return is_standard_stream(path) ? "standard input" : path;
}

json_t *json_read(const char *path, struct failure *failure) {
    const bool standard = is_standard_stream(path);
    const char *name = json_file_name(path);
    json_error_t error;
    json_t *top = NULL;
    FILE *file = standard ? stdin : fopen(path, "r");
    if (file && !(top = json_loadf(file, 0, &error)) && !ferror(file))
        fail(failure, "%s: no JSON: line %d: %s", name, error.line, error.text);
    if (!top) /* also of a folder, from which nothing can be read */
        fail_errno(failure, "%s: cannot read", name);
    if (file && !standard)
        fclose(file);
    return top;
}

bool json_print(json_t *top) {
    const bool good = top && json_dumpf(top, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0;
    json_decref(top);
    if (good)
        putchar('\n');
    else
        fputs("clstream: cannot print JSON\n", stderr);
    return good;
}

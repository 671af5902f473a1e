/* SPDX-License-Identifier: MIT */
#include "json_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool json_print(json_t *top) {
    const bool good = top && json_dumpf(top, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0;
    json_decref(top);
    if (good)
        putchar('\n');
    else
        fputs("clstream: cannot print JSON\n", stderr);
    return good;
}

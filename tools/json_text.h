/* SPDX-License-Identifier: MIT */
/* Helpers of the JSON printers. */
#ifndef CLSTREAM_TOOLS_JSON_TEXT_H
#define CLSTREAM_TOOLS_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>

/* A string. If it is not UTF-8, each byte that is not ASCII becomes '?'. */
json_t *json_text(const char *text);

/* A number. JSON has no infinity: it becomes the largest double. */
json_t *json_number(double number);

/* Prints and releases `top`. False, with a message, when it is NULL or cannot be printed. */
bool json_print(json_t *top);

#endif

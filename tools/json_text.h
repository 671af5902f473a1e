/* SPDX-License-Identifier: MIT */
/* Helpers of the JSON printers. */
#ifndef CLSTREAM_TOOLS_JSON_TEXT_H
#define CLSTREAM_TOOLS_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>

struct failure;

/* A string. If it is not UTF-8, each byte that is not ASCII becomes '?'. */
json_t *json_text(const char *text);

/* A number. JSON has no infinity: it becomes the largest double. */
json_t *json_number(double number);

/* Reads a file of JSON, "-" being the standard input. NULL with the failure set. */
json_t *json_read(const char *path, struct failure *failure);

/* What messages call it. */
const char *json_file_name(const char *path);

/* Prints and releases `top`. False, with a message, when it is NULL or cannot be printed. */
bool json_print(json_t *top);

#endif

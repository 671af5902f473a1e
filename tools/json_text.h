/* SPDX-License-Identifier: MIT */
/* What the JSON printers share. */
#ifndef CLSTREAM_TOOLS_JSON_TEXT_H
#define CLSTREAM_TOOLS_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>

/* A string of any bytes; where it is not UTF-8, what is not ASCII becomes '?'. */
json_t *json_text(const char *text);

/* A number that JSON can hold: an infinity becomes the largest double. */
json_t *json_number(double number);

/* Prints and releases `top`. False, with a message, when it is NULL or cannot be printed. */
bool json_print(json_t *top);

#endif

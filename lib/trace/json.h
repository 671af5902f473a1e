/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON to a text. Each function first puts a comma if one is due. Numbers do not depend on the locale. Callers
 * check `failed` of the text at the end.
 */
#ifndef CLSTREAM_TRACE_JSON_H
#define CLSTREAM_TRACE_JSON_H

#include <stdint.h>

#include "base/text.h"

/* Puts a comma unless the next item is the first. */
void put_comma(struct text *text);

/* Opens an object ('{') or an array ('['); `name` is NULL for an item of an array. */
void put_begin(struct text *text, const char *name, char bracket);
void put_end(struct text *text, char bracket);

/* Items of an array. Strings are safe inside a <script>; bytes that are not UTF-8 become '?'. Times are
 * microseconds with three decimals. */
void put_string(struct text *text, const char *string);
void put_number(struct text *text, uint64_t number);
void put_us(struct text *text, uint64_t ns);

/* Members of an object. */
void put_name(struct text *text, const char *name);
void put_named_string(struct text *text, const char *name, const char *string);
void put_named_number(struct text *text, const char *name, uint64_t number);
void put_named_us(struct text *text, const char *name, uint64_t ns);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A writer of JSON into a text. Each function puts the comma that is due first. Numbers have no locale. Whether memory
 * ran out is asked of the text at the end.
 */
#ifndef CLSTREAM_TRACE_JSON_H
#define CLSTREAM_TRACE_JSON_H

#include <stdint.h>

#include "base/text.h"

/* The comma that is due between two items. */
void put_comma(struct text *text);

/* Opens the object '{' or the array '[' of a name; of none where it is an item of an array. */
void put_begin(struct text *text, const char *name, char bracket);
void put_end(struct text *text, char bracket);

/* Items of an array. A string is fit for a <script> too; what is not UTF-8 becomes '?'. Times are microseconds with
 * three decimals. */
void put_string(struct text *text, const char *string);
void put_number(struct text *text, uint64_t number);
void put_us(struct text *text, uint64_t ns);

/* Members of an object. */
void put_name(struct text *text, const char *name);
void put_named_string(struct text *text, const char *name, const char *string);
void put_named_number(struct text *text, const char *name, uint64_t number);
void put_named_us(struct text *text, const char *name, uint64_t ns);

#endif

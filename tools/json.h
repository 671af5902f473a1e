/* SPDX-License-Identifier: MIT */
/* JSON of the commands' results, read and written with jansson. Without jansson json_none.c stands in for it. */
#ifndef CLSTREAM_TOOLS_JSON_H
#define CLSTREAM_TOOLS_JSON_H

#include <stdbool.h>

struct summary;
struct bench_result;
struct failure;

/* Whether jansson is there. Without it the others do nothing and return false. */
bool json_is_built(void);

/* Every device, to the standard output. */
bool json_print_info(void);

bool json_print_summary(const struct summary *summary);

bool json_print_bench(const struct bench_result *result);

/* Reads what json_print_bench printed. */
bool json_read_bench(const char *path, struct bench_result *result, struct failure *failure);

/* Writes the trace of a JSON file in the format of another one's suffix: .svg, .csv or .txt. */
bool json_convert_trace(const char *from, const char *to, struct failure *failure);

#endif

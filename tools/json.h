/* SPDX-License-Identifier: MIT */
/* The JSON forms of what the commands print. Built with jansson, or stubs that print nothing. */
#ifndef CLSTREAM_TOOLS_JSON_H
#define CLSTREAM_TOOLS_JSON_H

#include <stdbool.h>

struct summary;

/* Without it the other two print nothing and return false. */
bool json_is_built(void);

/* Every device, to the standard output. */
bool json_print_info(void);

bool json_print_summary(const struct summary *summary);

#endif

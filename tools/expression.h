/* SPDX-License-Identifier: MIT */
/*
 * The language of `clstream run`: stages separated by '|', each a name and its arguments separated
 * by blanks.
 *
 *     cast f32 | scale 0.0625 | gelu | gt 0.5 | where f32 1 -1
 *
 * Parsing knows names and arguments; plan.h checks that the types fit.
 */
#ifndef CLSTREAM_TOOLS_EXPRESSION_H
#define CLSTREAM_TOOLS_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream/types.h>

#include "operation.h"
#include "platform.h"

enum { EXPRESSION_MAX_STAGES = 64, EXPRESSION_REASON = 240 };

struct stage {
    const struct operation *operation;
    cls_dtype dtype;   /* cast, where: the type of the result */
    double numbers[2]; /* as many as the operation takes */
    size_t at;         /* where the stage stands in the text, in bytes from its start */
    size_t length;
};

struct expression {
    const char *text; /* borrowed */
    unsigned n_stages;
    struct stage stages[EXPRESSION_MAX_STAGES];
};

/* A part of the text and what is wrong with it. */
struct expression_error {
    size_t at;
    size_t length; /* at least 1; may point just past the text's end */
    char reason[EXPRESSION_REASON];
};

/* At least one stage. `*expression` is written only on success, `*error` only on failure. */
bool expression_parse(const char *text, struct expression *expression,
                      struct expression_error *error);

/* Fills `*error` for a part of the text and returns false. */
bool expression_fail(struct expression_error *error, size_t at, size_t length, const char *format,
                     ...) __attribute__((format(PLATFORM_PRINTF, 4, 5)));

/*
 * The message in three lines: "column N: reason", the text, and carets under the part. The text's
 * control characters and bytes outside ASCII print as '?', one column each. Returns what snprintf
 * does.
 */
int expression_explain(const char *text, const struct expression_error *error, char *to,
                       size_t capacity);

#endif

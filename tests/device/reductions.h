/* SPDX-License-Identifier: MIT */
/* The tests of reductions of lines: one for each operation on each type, as far as they are chosen. */
#ifndef CLSTREAM_TESTS_REDUCTIONS_H
#define CLSTREAM_TESTS_REDUCTIONS_H

#include <stdio.h>

#include "arrays.h"
#include "last_op.h"

struct work {
    char name[40];
    cls_reduce_op op;
    cls_dtype type, result;
};

enum { PAIRS = LAST_REDUCE * TYPES };

/* Adds the chosen ones, at most PAIRS, and returns how many they are. */
static inline unsigned add_pairs(struct CMUnitTest *tests, CMUnitTestFunction check,
                                 bool (*is_chosen)(const struct work *work)) {
    static struct work works[PAIRS];
    unsigned n = 0;
    for (unsigned i = 0; i < PAIRS; i++) {
        struct work *work = &works[i];
        work->op = (cls_reduce_op)(1 + i / TYPES);
        work->type = all_types[i % TYPES];
        OK(cls_reduce_result_dtype(work->op, work->type, &work->result));
        snprintf(work->name, sizeof work->name, "%s_%s", cls_reduce_op_name(work->op),
                 cls_dtype_name(work->type));
        if (is_chosen(work))
            tests[n++] = (struct CMUnitTest){work->name, check, NULL, NULL, work};
    }
    return n;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Sums over the rows of a matrix, from the parts that the teams of cl/norm_gradient.cl leave in scratch memory. */
#ifndef CLSTREAM_OPS_ROW_SUMS_H
#define CLSTREAM_OPS_ROW_SUMS_H

#include "ops/row_call.h"

enum { ROW_SUMS_PART = 64 }; /* the most terms that are added up before their sum is a term */

struct row_sums {
    size_t parts;        /* each has the sums of all columns, of rows of its own */
    struct buffer *into; /* the parts, and room to merge them; NULL: there are no sums */
    struct kernel *kernel;
};

/* Finds the memory for `parts` parts of the sums that `call` has, if it has any, and the kernel that merges them: what may
 * fail before anything is launched. */
cls_status row_sums_begin(struct row_call *call, size_t parts, struct row_sums *sums);

/* Writes the sums of all parts, 0 if there are none, to the last operands of `call`. Without sums does nothing. */
cls_status row_sums_finish(struct row_call *call, const struct row_sums *sums);

#endif

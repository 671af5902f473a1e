/* SPDX-License-Identifier: MIT */
/* What the reductions of lines share, of a matrix (cls_reduce_rows) or of a strided view: the checks of their types, and how the
 * work is divided over the items of cl/reduce.cl and cl/strided_reduce.cl. */
#ifndef CLSTREAM_OPS_LINES_CUT_H
#define CLSTREAM_OPS_LINES_CUT_H

#include "ops/reduction_cut.h"
#include "ops/spec.h"

/* The work on lines, each of which comes to one result. */
struct lines_size {
    size_t count, length;
    size_t vectors; /* of a line, for items that go along it */
    size_t blocks;  /* of lines that an item takes beside each other */
};

/* How it is divided: see cl/reduce.cl. */
struct lines_cut {
    size_t items, local; /* of the launch */
    uint32_t parts, steps, team, each;
};

struct lines_cut lines_cut_rows(const struct op_call *call, const struct spec *spec, size_t local,
                                const struct lines_size *size);
struct lines_cut lines_cut_across(const struct op_call *call, const struct spec *spec, size_t local,
                                  const struct lines_size *size);

/* The items that merge the parts of `count` lines. */
struct lines_cut lines_cut_finish(const struct op_call *call, size_t count, uint32_t parts,
                                  size_t local);

struct op_arg lines_cut_arg(const struct lines_cut *cut);

/* Of a call whose views are the input and the results. */
cls_status lines_check_types(const struct op_call *call, const struct op_row *row, size_t length);
cls_status lines_check_rounding(const struct op_call *call, const struct op_row *row);

#endif

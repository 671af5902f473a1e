/* SPDX-License-Identifier: MIT */
/*
 * What a chunk goes through on the device: every stage, casts to the type that is there left
 * out, with its types and the device buffers that it reads and writes. A pure function of the
 * expression and the input's type.
 *
 * A chunk has buffer 0, which holds the input, and where some stage cannot work in place also
 * buffer 1. Operands that are the same for every element are constants: arrays made once and
 * shared by all chunks.
 */
#ifndef CLSTREAM_TOOLS_PLAN_H
#define CLSTREAM_TOOLS_PLAN_H

#include <clstream/types.h>

#include "expression.h"

enum { PLAN_MAX_CONSTANTS = 2 * EXPRESSION_MAX_STAGES };

struct plan_constant {
    cls_dtype dtype;
    size_t size; /* of the element */
    unsigned char bytes[8];
};

struct plan_step {
    const struct stage *stage; /* borrowed from the expression */
    cls_dtype from;
    cls_dtype to;
    unsigned source; /* device buffer */
    unsigned target;
    unsigned constants[2]; /* indices; as many as the operation has constant operands */
};

struct plan {
    unsigned n_steps;
    unsigned n_constants;
    unsigned n_buffers; /* 1 or 2 */
    size_t widest;      /* bytes of the largest element on the way */
    cls_dtype from;
    cls_dtype to;
    struct plan_step steps[EXPRESSION_MAX_STAGES];
    struct plan_constant constants[PLAN_MAX_CONSTANTS];
};

/* `*plan` is written only on success, `*error` only on failure. */
bool plan_make(const struct expression *expression, cls_dtype from, struct plan *plan,
               struct expression_error *error);

/* A number as an element; false when the type cannot hold its value. */
bool element_of(double number, cls_dtype dtype, unsigned char bytes[8]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Which program serves an operation on given types, and in which shape it is launched. The strings
 * are made on first use and kept for the life of the process: a call finds them with one load.
 */
#ifndef CLSTREAM_OPS_SPEC_H
#define CLSTREAM_OPS_SPEC_H

#include "command/op.h"
#include "ops/table.h"

/* How a launch goes over the elements. */
enum shape {
    /* A vector a work-item, neighbours beside each other, every access aligned to 16 bytes or to
     * the vector if that is less. */
    SHAPE_ALIGNED,
    /* The same for arrays that start anywhere. */
    SHAPE_ANYWHERE,
    /* Long runs of wide vectors, one work-item a group: what a CPU wants. */
    SHAPE_RUNS,
    SHAPES
};

/* The macros by which the kernels' sources know it. */
extern const char *const shape_macros[SHAPES];

struct spec {
    struct op_kernel_spec kernel;
    unsigned vector; /* elements */
    unsigned batch;  /* vectors that a work-item has under way together */
    unsigned steps;  /* batches a work-item */
    unsigned local;  /* work-items a group */
    char label[40];
    char options[160];
};

/* An element-by-element operation: input type `a`, result type `out` (for where, `a` is the
 * condition's). */
cls_status spec_of_map(const struct op_row *row, cls_dtype a, cls_dtype out, enum shape shape,
                       const struct spec **spec);

/* The two kernels of a reduction. */
enum reduction_stage { STAGE_PART, STAGE_FINISH, STAGES };
cls_status spec_of_reduction(const struct op_row *row, cls_dtype a, enum shape shape,
                             enum reduction_stage stage, const struct spec **spec);

/* What an aligned access of `vector` elements of `size` bytes needs the array's start to be a
 * multiple of. The kernels' ALIGN says the same. */
static inline size_t spec_alignment(unsigned vector, size_t size) {
    return vector * size < 16 ? vector * size : 16;
}

/* The vector of an aligned launch: 16-byte stores, and no more than 64 bytes of any input. */
unsigned spec_aligned_vector(size_t largest, size_t out);

#endif

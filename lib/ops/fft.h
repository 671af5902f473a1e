/* SPDX-License-Identifier: MIT */
/*
 * struct fft_plan, the object behind a cls_fft_plan: for each direction the recipe (driver/fft_recipe.h), its kernels and its
 * tables. All of it is constant once the object is made.
 */
#ifndef CLSTREAM_OPS_FFT_H
#define CLSTREAM_OPS_FFT_H

#include <clstream/fft.h>

#include "base/byte_span.h"
#include "base/handle.h"
#include "command/op.h"
#include "driver/fft_recipe.h"

struct fft_table {
    cls_buffer handle;
    struct buffer *buffer; /* of the handle */
};

/* One direction; without a recipe it was not planned. */
struct fft_way {
    struct fft_recipe *recipe;
    struct kernel **kernels;  /* by their numbers */
    struct fft_table *tables; /* likewise; those that only the preparation used are gone */
    size_t table_bytes;
    size_t scratch_bytes[2]; /* of FFT_WORK, which comes first, and of FFT_TEMPORARY; 0: not used */
};

/* A signal or a spectrum in memory. Elements are real numbers: two of them a complex one. */
struct fft_side {
    size_t pair;       /* elements of a number: 1 or 2 */
    size_t lengths[3]; /* innermost first, as in fft_problem; 1 beyond `dims` */
    size_t strides[3]; /* from row to row, plane to plane, transform to transform, in numbers */
    size_t extent;     /* elements from the first of a transform to the last */
    size_t count;      /* the same of the batch */
};

enum { FFT_SIGNAL, FFT_SPECTRUM, FFT_FORWARD = 0, FFT_INVERSE = 1, FFT_WAYS = 2 };

struct fft_plan {
    struct object object;
    struct context *context; /* retained */
    cls_fft_config config;   /* with all strides */
    struct fft_side sides[FFT_SIDES];
    struct fft_way ways[FFT_WAYS];
};

extern struct object_pool fft_plan_pool;

/* Checks the options and finds the sides; CLS_ERROR_INVALID_VALUE, CLS_ERROR_OUT_OF_RANGE. */
cls_status fft_read_config(const cls_fft_config *given, struct fft_plan *plan);

/* Bytes of a side in a buffer, of a view that begins at this element. */
struct byte_span fft_span(const struct fft_plan *plan, const struct fft_side *side, size_t offset);

/* The element at which a number of a side begins. */
size_t fft_place_of(const struct fft_side *side, const size_t index[3], size_t batch);

/* Transforms the first array to the second, as cls_fft does. */
cls_status fft_transform(const struct fft_plan *plan, const cls_array *const views[2],
                         cls_fft_direction direction, cls_stream stream, bool blocking);

/* Submits a launch that prepares tables. */
cls_status fft_prepare(const struct fft_way *way, const struct fft_step *step,
                       struct op_call *call);

/* Transforms impulses and compares what comes out: CLS_ERROR_UNSUPPORTED where it is wrong. Waits. */
cls_status fft_try(const struct fft_plan *plan, cls_context context, cls_fft_direction direction);

#endif

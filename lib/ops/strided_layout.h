/* SPDX-License-Identifier: MIT */
/* Where the elements of the views of clstream/strided.h lie, brought to as few dimensions as possible. */
#ifndef CLSTREAM_OPS_STRIDED_LAYOUT_H
#define CLSTREAM_OPS_STRIDED_LAYOUT_H

#include <clstream/strided.h>

#include "base/byte_span.h"
#include "command/op.h"

/* The views of a call, the output last. No view has an element beyond all memory: sums of the strides of all elements
 * do not overflow. */
struct strided_layout {
    unsigned n_views, dimensions;
    bool is_empty;
    size_t lengths[CLS_MAX_DIMENSIONS];
    ptrdiff_t strides[OP_MAX_VIEWS][CLS_MAX_DIMENSIONS];
    size_t offsets[OP_MAX_VIEWS];   /* of the element whose indices are all 0 */
    cls_array arrays[OP_MAX_VIEWS]; /* from the first element in memory to the last */
};

/* A stride without its sign. */
static inline size_t strided_distance(ptrdiff_t stride) {
    return stride < 0 ? (size_t)0 - (size_t)stride : (size_t)stride;
}

/* Fails for views without a common shape, with elements outside memory, or an output whose elements do not lie apart. */
cls_status strided_layout_of(const char *name, const cls_strided *const *views, unsigned n_views,
                             struct strided_layout *out);

/* A reduction. The input's element whose indices are all 0 is that of `reduced`. */
struct strided_reduction {
    struct strided_layout kept;    /* input and output, in the dimensions that stay */
    struct strided_layout reduced; /* the input, in those that go */
    struct strided_layout all;     /* the input, in all of them */
    size_t length;                 /* elements of a result */
};

/* Like strided_layout_of; a dimension of the output that has one element is reduced. With `in_order` the elements of a
 * result keep their order, that of their indices. */
cls_status strided_reduction_of(const char *name, const cls_strided *in, const cls_strided *out,
                                bool in_order, struct strided_reduction *found);

/* Whether the elements of each view follow one another in memory, in the same order. */
bool strided_is_dense(const struct strided_layout *layout);

/* Whether the first view is a matrix without repeated elements, and the last one its transpose. */
bool strided_is_transposed(const struct strided_layout *layout);

/* The bytes of a view, and those between them where they take more than three dimensions. */
struct byte_span strided_span(const struct strided_layout *layout, unsigned view);

/* Whether two views have their elements at the same places, counted from where the first one is. */
bool strided_is_same(const struct strided_layout *layout, unsigned a, unsigned b);

#endif

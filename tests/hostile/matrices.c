/* SPDX-License-Identifier: MIT */
/*
 * Kinds of arguments: matrices of 4 x 4, vectors of 4 elements, and views of 4 x 4 with strides, of which an input is
 * transposed: "matrix:TYPE", "vector:TYPE" and "strided:TYPE" with the flags below, a sparse matrix of f32, "csr", and a factor on the device, "scalar".
 *   out     the call writes to it
 *   behind  the same of a second one
 *   last    the same of a third one
 *   lone    the call's only one, so that any count will do
 *   tall    its columns have nothing to do with other arguments
 *   any_rows, any_columns  nor have its rows, or its columns, which may be none
 *   any     of any type
 *   labels  any integers of 32 bits will do, whatever they are
 */
#include <stdlib.h>

#include "hostile.h"

enum { SIDE = 4, BEHIND = 64, LAST = 128 };

/* The fields that matrices and vectors share. */
struct view {
    cls_buffer *buffer;
    cls_dtype *dtype;
    size_t *offset;
};

static bool is_written(const struct arg *arg) {
    return has_flag(arg, "out") || has_flag(arg, "behind") || has_flag(arg, "last");
}

static cls_buffer buffer_of(const struct arg *arg) {
    return is_written(arg) ? stock.from : stock.handles[BUFFER].live;
}

static size_t offset_of(const struct arg *arg) {
    return has_flag(arg, "behind") ? BEHIND : has_flag(arg, "last") ? LAST : 0;
}

static cls_dtype dtype_of(const struct arg *arg) {
    cls_dtype dtype;
    if (cls_dtype_parse(first_flag(arg), &dtype))
        abort();
    return dtype;
}

static union value good_matrix(const struct arg *arg, unsigned slot) {
    (void)slot;
    return (union value){
        .matrix = cls_matrix_at(buffer_of(arg), dtype_of(arg), offset_of(arg), SIDE, SIDE)};
}

static union value good_vector(const struct arg *arg, unsigned slot) {
    (void)slot;
    return (union value){.vector = {buffer_of(arg), dtype_of(arg), offset_of(arg), SIDE, 1}};
}

/* What is bad of both; `fields` are those of *at. */
static void bad_fields(const struct arg *arg, const union value *at, struct view fields,
                       struct bad_list *list) {
    const struct handles *of = &stock.handles[BUFFER];
    const struct {
        void *buffer;
        cls_status status;
    } buffers[] = {
        {NULL, CLS_ERROR_INVALID_HANDLE},
        {of->stale, CLS_ERROR_INVALID_HANDLE},
        {stock.handles[STREAM].live, CLS_ERROR_INVALID_HANDLE},
        {of->orphan, CLS_ERROR_CONTEXT_DESTROYED},
        {of->foreign, CLS_ERROR_WRONG_CONTEXT},
    };
    const size_t offsets[] = {BUFFER_BYTES / cls_dtype_size(*fields.dtype), SIZE_MAX, SIZE_MAX / 4,
                              SIZE_MAX / 2 + 1, INT32_MAX};
    const int dtypes[] = {0, -1, 12, 1000};
    const cls_buffer own = *fields.buffer;
    const cls_dtype dtype = *fields.dtype;
    const size_t offset = *fields.offset;
    for (size_t i = 0; i < COUNT_OF(buffers); i++) {
        *fields.buffer = buffers[i].buffer;
        add_bad(list, "a bad buffer", buffers[i].status, *at);
    }
    *fields.buffer = own;
    for (size_t i = 0; i < COUNT_OF(offsets); i++) {
        *fields.offset = offsets[i];
        add_bad(list, "an offset past the end", CLS_ERROR_OUT_OF_RANGE, *at);
    }
    *fields.offset = 1;
    *fields.buffer = of->live;
    if (is_written(arg))
        add_bad(list, "an overlap with an input", CLS_ERROR_OVERLAP, *at);
    *fields.buffer = own;
    *fields.offset = offset;
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        *fields.dtype = (cls_dtype)dtypes[i];
        add_bad(list, "an unknown dtype", CLS_ERROR_INVALID_VALUE, *at);
    }
    *fields.dtype = has_flag(arg, "labels") ? CLS_F32 : CLS_U32;
    if (!has_flag(arg, "any"))
        add_bad(list, "another dtype", CLS_ERROR_TYPE_MISMATCH, *at);
    *fields.dtype = dtype;
}

static void bad_matrix(const struct arg *arg, unsigned slot, struct bad_list *list) {
    union value value = good_matrix(arg, slot);
    cls_matrix *m = &value.matrix;
    static const size_t low[] = {0, 1, SIDE - 1};
    static const size_t far[] = {BUFFER_BYTES, SIZE_MAX, SIZE_MAX / 2, INT32_MAX};
    bad_fields(arg, &value, (struct view){&m->buffer, &m->dtype, &m->offset}, list);
    for (size_t i = 0; i < COUNT_OF(low); i++) {
        m->ld = low[i];
        add_bad(list, "an ld below the columns", CLS_ERROR_INVALID_VALUE, value);
    }
    for (size_t i = 0; i < COUNT_OF(far); i++) {
        m->ld = far[i];
        add_bad(list, "an ld past the end", CLS_ERROR_OUT_OF_RANGE, value);
    }
    m->ld = SIDE;
    if (!has_flag(arg, "any_rows")) {
        m->rows = SIDE + 1;
        add_bad(list, "another shape", CLS_ERROR_SIZE_MISMATCH, value);
        m->rows = 0;
        add_bad(list, "no rows", CLS_ERROR_SIZE_MISMATCH, value);
        m->rows = SIDE;
    }
    if (has_flag(arg, "any_columns"))
        return;
    m->columns = has_flag(arg, "tall") ? 0 : SIDE - 1;
    add_bad(list, "another shape",
            has_flag(arg, "tall") ? CLS_ERROR_INVALID_VALUE : CLS_ERROR_SIZE_MISMATCH, value);
}

static void bad_vector(const struct arg *arg, unsigned slot, struct bad_list *list) {
    union value value = good_vector(arg, slot);
    cls_vector *v = &value.vector;
    static const size_t far[] = {BUFFER_BYTES, SIZE_MAX, SIZE_MAX / 2, INT32_MAX};
    bad_fields(arg, &value, (struct view){&v->buffer, &v->dtype, &v->offset}, list);
    v->step = 0;
    add_bad(list, "a step of 0", CLS_ERROR_INVALID_VALUE, value);
    for (size_t i = 0; i < COUNT_OF(far); i++) {
        v->step = far[i];
        add_bad(list, "a step past the end", CLS_ERROR_OUT_OF_RANGE, value);
    }
    v->step = 1;
    v->count = BUFFER_BYTES + 1;
    if (has_flag(arg, "lone")) {
        add_bad(list, "a count past the end", CLS_ERROR_OUT_OF_RANGE, value);
        return;
    }
    add_bad(list, "an unequal count", CLS_ERROR_SIZE_MISMATCH, value);
    v->count = 0;
    add_bad(list, "no elements", CLS_ERROR_SIZE_MISMATCH, value);
}

static union value good_strided(const struct arg *arg, unsigned slot) {
    const cls_strided view = cls_strided_of_matrix(good_matrix(arg, slot).matrix);
    return (union value){.strided = is_written(arg) ? view : cls_strided_transpose(view, 0, 1)};
}

static void bad_shapes(union value value, struct bad_list *list) {
    cls_strided *v = &value.strided;
    static const unsigned many[] = {CLS_MAX_DIMENSIONS + 1, UINT32_MAX};
    static const unsigned others[] = {0, 1, 3};
    static const size_t lengths[] = {0, SIDE - 1, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(many); i++) {
        v->dimensions = many[i];
        add_bad(list, "too many dimensions", CLS_ERROR_INVALID_VALUE, value);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        v->dimensions = others[i];
        add_bad(list, "other dimensions", CLS_ERROR_SIZE_MISMATCH, value);
    }
    v->dimensions = 2;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        v->shape[0] = lengths[i];
        add_bad(list, "another shape", CLS_ERROR_SIZE_MISMATCH, value);
    }
}

static void bad_strided(const struct arg *arg, unsigned slot, struct bad_list *list) {
    union value value = good_strided(arg, slot);
    cls_strided *v = &value.strided;
    static const ptrdiff_t far[] = {BUFFER_BYTES, PTRDIFF_MAX, PTRDIFF_MAX / 2,
                                    -1,           PTRDIFF_MIN, PTRDIFF_MIN / 4};
    bad_fields(arg, &value, (struct view){&v->buffer, &v->dtype, &v->offset}, list);
    bad_shapes(value, list);
    for (size_t i = 0; i < COUNT_OF(far); i++) {
        v->strides[0] = far[i];
        add_bad(list, "an element outside the buffer", CLS_ERROR_OUT_OF_RANGE, value);
    }
    v->strides[0] = 3;
    if (is_written(arg))
        add_bad(list, "elements that are one", CLS_ERROR_OVERLAP, value);
    v->strides[0] = 0;
    if (is_written(arg))
        add_bad(list, "an element that is repeated", CLS_ERROR_OVERLAP, value);
}

/* Whatever numbers the buffer holds as offsets and columns. */
static union value good_csr(const struct arg *arg, unsigned slot) {
    const cls_buffer buffer = stock.handles[BUFFER].live;
    (void)arg;
    (void)slot;
    return (union value){.csr = {cls_array_of(buffer, CLS_I32, SIDE + 1),
                                 cls_array_of(buffer, CLS_I32, 2 * SIDE),
                                 cls_array_of(buffer, CLS_F32, 2 * SIDE), SIDE}};
}

static void bad_csr_shapes(union value value, struct bad_list *list) {
    static const size_t counts[] = {0, SIDE, SIDE + 2, SIZE_MAX};
    cls_csr *a = &value.csr;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        a->offsets.count = counts[i];
        add_bad(list, "other rows", CLS_ERROR_SIZE_MISMATCH, value);
    }
    a->offsets.count = SIDE + 1;
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        a->values.count = counts[i];
        add_bad(list, "another number of values", CLS_ERROR_SIZE_MISMATCH, value);
    }
    a->indices.count = a->values.count;
    add_bad(list, "entries past the end", CLS_ERROR_OUT_OF_RANGE, value);
    a->indices.count = a->values.count = 2 * SIDE;
    a->columns = SIDE + 1;
    add_bad(list, "other columns", CLS_ERROR_SIZE_MISMATCH, value);
}

static void bad_csr(const struct arg *arg, unsigned slot, struct bad_list *list) {
    union value value = good_csr(arg, slot);
    cls_array *const arrays[] = {&value.csr.offsets, &value.csr.indices, &value.csr.values};
    for (size_t i = 0; i < COUNT_OF(arrays); i++) {
        bad_fields(arg, &value,
                   (struct view){&arrays[i]->buffer, &arrays[i]->dtype, &arrays[i]->offset}, list);
        value = good_csr(arg, slot);
    }
    bad_csr_shapes(value, list);
}

static union value good_scalar(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return (union value){.scalar =
                             cls_factor_at(cls_array_of(stock.handles[BUFFER].live, CLS_F32, 1))};
}

/* One without a buffer is a number. */
static void bad_scalar(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const struct handles *of = &stock.handles[BUFFER];
    const struct {
        void *buffer;
        cls_status status;
    } buffers[] = {
        {of->stale, CLS_ERROR_INVALID_HANDLE},
        {stock.handles[STREAM].live, CLS_ERROR_INVALID_HANDLE},
        {of->orphan, CLS_ERROR_CONTEXT_DESTROYED},
        {of->foreign, CLS_ERROR_WRONG_CONTEXT},
        {stock.from, CLS_ERROR_OVERLAP},
    };
    const cls_array good = good_scalar(arg, slot).scalar.view;
    union value value = {.scalar = {0, good}};
    for (size_t i = 0; i < COUNT_OF(buffers); i++) {
        value.scalar.view.buffer = buffers[i].buffer;
        add_bad(list, "a bad buffer", buffers[i].status, value);
    }
    value.scalar.view = good;
    value.scalar.view.offset = SIZE_MAX;
    add_bad(list, "an offset past the end", CLS_ERROR_OUT_OF_RANGE, value);
    value.scalar.view = good;
    value.scalar.view.count = 2;
    add_bad(list, "two elements", CLS_ERROR_SIZE_MISMATCH, value);
    value.scalar.view = good;
    value.scalar.view.dtype = CLS_I32;
    add_bad(list, "another dtype", CLS_ERROR_TYPE_MISMATCH, value);
    value.scalar.view.dtype = (cls_dtype)1000;
    add_bad(list, "an unknown dtype", CLS_ERROR_INVALID_VALUE, value);
}

const struct kind matrix_kinds[] = {
    {"matrix", good_matrix, bad_matrix, NULL},    {"vector", good_vector, bad_vector, NULL},
    {"strided", good_strided, bad_strided, NULL}, {"csr", good_csr, bad_csr, NULL},
    {"scalar", good_scalar, bad_scalar, NULL},    {NULL, NULL, NULL, NULL},
};

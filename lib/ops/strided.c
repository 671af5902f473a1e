/* SPDX-License-Identifier: MIT */
/* Element-by-element operations of strided views (clstream/strided.h), by cl/strided.cl. */
#include <clstream/matrices.h>
#include <clstream/strided.h>

#include "base/error.h"
#include "memory/buffer.h"
#include "ops/map.h"
#include "ops/matrix_cut.h"
#include "ops/strided_layout.h"

/* The numbers of the kernel's vectors that stand for the dimensions outside of a line. */
enum { OUTER = CLS_MAX_DIMENSIONS - 1 };

struct strided_work {
    const struct op_row *row;
    const struct op_parameter *parameter; /* NULL: none */
    struct strided_layout layout;
    struct byte_span spans[OP_MAX_VIEWS];
    struct op_call op;
};

/* --- checks --- */

static bool strided_in_place(const struct strided_work *work, unsigned input) {
    const struct op_view *views = work->op.views;
    const unsigned out = work->layout.n_views - 1;
    return cls_dtype_size(views[input].dtype) == cls_dtype_size(views[out].dtype) &&
           work->spans[input].start + views[input].buffer->origin ==
               work->spans[out].start + views[out].buffer->origin &&
           strided_is_same(&work->layout, input, out);
}

static cls_status strided_check_overlap(const struct strided_work *work, unsigned input) {
    const struct op_view *views = work->op.views;
    const unsigned out = work->layout.n_views - 1;
    if (!buffer_spans_overlap(views[input].buffer, work->spans[input], views[out].buffer,
                              work->spans[out]) ||
        strided_in_place(work, input))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OVERLAP, "%s: the output overlaps an input without being the same",
                     work->row->name);
}

static cls_status strided_check(const struct strided_work *work) {
    cls_status status = map_check_types(&work->op, work->row);
    for (unsigned v = 0; v + 1 < work->layout.n_views && !status; v++)
        status = strided_check_overlap(work, v);
    if (!status)
        status = map_check_device(&work->op);
    return status ? status
                  : map_check_rounding(work->row, work->op.views[0].dtype,
                                       work->op.views[work->layout.n_views - 1].dtype,
                                       work->op.context);
}

/* --- the launch --- */

/* Whether each line that has no gaps begins at a multiple of its vector. */
static bool lines_aligned(const struct strided_layout *layout) {
    const unsigned line = layout->dimensions - 1, out = layout->n_views - 1;
    size_t largest = 1;
    for (unsigned v = 0; v < layout->n_views; v++) {
        const size_t size = cls_dtype_size(layout->arrays[v].dtype);
        largest = size > largest ? size : largest;
    }
    const unsigned vector = spec_aligned_vector(largest, cls_dtype_size(layout->arrays[out].dtype));
    for (unsigned v = 0; v < layout->n_views; v++) {
        const size_t size = cls_dtype_size(layout->arrays[v].dtype);
        size_t steps = layout->offsets[v];
        for (unsigned d = 0; d < line; d++)
            steps |= (size_t)layout->strides[v][d];
        if (layout->strides[v][line] == 1 && steps * size % spec_alignment(vector, size))
            return false;
    }
    return true;
}

/* Whether neighbours of an input are on different lines. */
static bool crosses_lines(const struct strided_layout *layout) {
    const unsigned line = layout->dimensions - 1;
    for (unsigned v = 0; v < layout->n_views; v++)
        for (unsigned d = 0; d < line; d++) {
            const size_t across = strided_distance(layout->strides[v][d]);
            if (across && across < strided_distance(layout->strides[v][line]))
                return true;
        }
    return false;
}

/* A view's buffer, its place, and the strides from line to line. */
static unsigned view_args(const struct strided_work *work, unsigned view, struct op_arg *args) {
    const struct strided_layout *layout = &work->layout;
    const unsigned line = layout->dimensions - 1;
    int64_t strides[CLS_MAX_DIMENSIONS] = {0};
    for (unsigned d = 0; d < line; d++)
        strides[OUTER - line + d] = layout->strides[view][d];
    args[0] =
        op_arg_span(work->op.views[view].buffer, view + 1 == layout->n_views, &work->spans[view]);
    args[1] = op_arg_pair(layout->offsets[view], (uint64_t)layout->strides[view][line]);
    args[2] = op_arg_value(strides, sizeof strides);
    return 3;
}

/* Fills in the lengths of the dimensions outside of a line; returns the number of lines. */
static uint64_t outer_lengths(const struct strided_layout *layout,
                              uint64_t lengths[CLS_MAX_DIMENSIONS]) {
    const unsigned line = layout->dimensions - 1;
    uint64_t lines = 1;
    for (unsigned d = 0; d < CLS_MAX_DIMENSIONS; d++)
        lengths[d] = 1;
    for (unsigned d = 0; d < line; d++) {
        lengths[OUTER - line + d] = layout->lengths[d];
        lines *= layout->lengths[d];
    }
    return lines;
}

static cls_status strided_launch(struct strided_work *work) {
    const struct strided_layout *layout = &work->layout;
    const size_t length = layout->lengths[layout->dimensions - 1];
    const struct op_view *views = work->op.views;
    const struct spec *spec;
    struct kernel *kernel;
    struct op_arg args[OP_MAX_ARGS];
    uint64_t lengths[CLS_MAX_DIMENSIONS];
    unsigned n = 0;
    cls_status status = spec_of_strided(
        map_row_in_effect(&work->op, work->row), views[0].dtype, views[layout->n_views - 1].dtype,
        map_shape_of(&work->op, lines_aligned(layout)), length, &spec);
    if (!status)
        status = op_kernel(&work->op, &spec->kernel, &kernel);
    if (status)
        return status;
    const uint64_t lines = outer_lengths(layout, lengths);
    const struct matrix_cut cut =
        matrix_cut_of(&work->op, spec, kernel, lines, length, crosses_lines(layout));
    for (unsigned v = 0; v < layout->n_views; v++)
        n += view_args(work, v, &args[n]);
    args[n++] = op_arg_value(lengths, sizeof lengths);
    args[n++] = op_arg_pair(lines, length);
    args[n++] = op_arg_value(cut.numbers, sizeof cut.numbers);
    if (work->parameter)
        args[n++] = op_arg_value(work->parameter->bytes, cls_dtype_size(views[0].dtype));
    return op_launch(&work->op, kernel, args, n, cut.groups * cut.local, cut.local);
}

static cls_status strided_run(struct strided_work *work, const cls_array *const *arrays,
                              cls_stream stream, bool blocking) {
    cls_status status = op_begin(&work->op, stream, arrays, work->layout.n_views, blocking);
    if (status)
        return status;
    for (unsigned v = 0; v < work->layout.n_views; v++)
        work->spans[v] = strided_span(&work->layout, v);
    status = strided_check(work);
    if (!status)
        status = strided_launch(work);
    return op_end(&work->op, status, blocking);
}

/* --- calls --- */

static bool copies_bits(const struct strided_work *work) {
    const cls_array *arrays = work->layout.arrays;
    return work->row == op_row_named(OP_UNARY, "copy") ||
           (work->row->family == OP_CAST && arrays[0].dtype == arrays[1].dtype);
}

static cls_status strided_transpose(const struct strided_layout *layout, cls_stream stream,
                                    bool blocking) {
    const cls_array *from = &layout->arrays[0], *to = &layout->arrays[1];
    cls_matrix in = cls_matrix_at(from->buffer, from->dtype, from->offset, layout->lengths[1],
                                  layout->lengths[0]);
    cls_matrix out =
        cls_matrix_at(to->buffer, to->dtype, to->offset, layout->lengths[0], layout->lengths[1]);
    in.ld = (size_t)layout->strides[0][1];
    out.ld = (size_t)layout->strides[1][0];
    return blocking ? cls_transpose(in, out, stream) : cls_transpose_async(in, out, stream);
}

static cls_status strided_call(const struct op_row *row, const cls_strided *const *views,
                               unsigned n_views, const struct op_parameter *parameter,
                               cls_stream stream, bool blocking) {
    struct strided_work work = {.row = row, .parameter = parameter};
    const cls_array *arrays[OP_MAX_VIEWS];
    if (!row)
        return error_set(CLS_ERROR_INVALID_VALUE, "no such operation");
    cls_status status = strided_layout_of(row->name, views, n_views, &work.layout);
    if (status)
        return status;
    for (unsigned v = 0; v < n_views; v++)
        arrays[v] = &work.layout.arrays[v];
    if (strided_is_dense(&work.layout))
        return map_call(row, arrays, n_views, parameter, stream, blocking);
    if (copies_bits(&work) && strided_is_transposed(&work.layout))
        return strided_transpose(&work.layout, stream, blocking);
    return strided_run(&work, arrays, stream, blocking);
}

static cls_status strided_cast(const cls_strided *in, const cls_strided *out, cls_stream stream,
                               bool blocking) {
    const cls_strided *const views[] = {in, out};
    return strided_call(op_row_of(OP_CAST, 0), views, 2, NULL, stream, blocking);
}

cls_status cls_strided_cast(cls_strided in, cls_strided out, cls_stream stream) {
    return strided_cast(&in, &out, stream, true);
}

cls_status cls_strided_cast_async(cls_strided in, cls_strided out, cls_stream stream) {
    return strided_cast(&in, &out, stream, false);
}

static cls_status strided_where(const cls_strided *condition, const cls_strided *if_true,
                                const cls_strided *if_false, const cls_strided *out,
                                cls_stream stream, bool blocking) {
    const cls_strided *const views[] = {condition, if_true, if_false, out};
    return strided_call(op_row_of(OP_WHERE, 0), views, 4, NULL, stream, blocking);
}

cls_status cls_strided_where(cls_strided condition, cls_strided if_true, cls_strided if_false,
                             cls_strided out, cls_stream stream) {
    return strided_where(&condition, &if_true, &if_false, &out, stream, true);
}

cls_status cls_strided_where_async(cls_strided condition, cls_strided if_true, cls_strided if_false,
                                   cls_strided out, cls_stream stream) {
    return strided_where(&condition, &if_true, &if_false, &out, stream, false);
}

static cls_status strided_unary(cls_unary_op op, const cls_strided *in, const cls_strided *out,
                                cls_stream stream, bool blocking) {
    const cls_strided *const views[] = {in, out};
    return strided_call(op_row_of(OP_UNARY, (int)op), views, 2, NULL, stream, blocking);
}

cls_status cls_strided_unary(cls_unary_op op, cls_strided in, cls_strided out, cls_stream stream) {
    return strided_unary(op, &in, &out, stream, true);
}

cls_status cls_strided_unary_async(cls_unary_op op, cls_strided in, cls_strided out,
                                   cls_stream stream) {
    return strided_unary(op, &in, &out, stream, false);
}

static cls_status strided_unary_param(cls_unary_param_op op, const cls_strided *in,
                                      const cls_strided *out, double param, cls_stream stream,
                                      bool blocking) {
    const cls_strided *const views[] = {in, out};
    const struct op_parameter parameter = parameter_of_double(in->dtype, param);
    return strided_call(op_row_of(OP_UNARY_PARAM, (int)op), views, 2, &parameter, stream, blocking);
}

cls_status cls_strided_unary_param(cls_unary_param_op op, cls_strided in, cls_strided out,
                                   double param, cls_stream stream) {
    return strided_unary_param(op, &in, &out, param, stream, true);
}

cls_status cls_strided_unary_param_async(cls_unary_param_op op, cls_strided in, cls_strided out,
                                         double param, cls_stream stream) {
    return strided_unary_param(op, &in, &out, param, stream, false);
}

static cls_status strided_binary(cls_binary_op op, const cls_strided *a, const cls_strided *b,
                                 const cls_strided *out, cls_stream stream, bool blocking) {
    const cls_strided *const views[] = {a, b, out};
    return strided_call(op_row_of(OP_BINARY, (int)op), views, 3, NULL, stream, blocking);
}

cls_status cls_strided_binary(cls_binary_op op, cls_strided a, cls_strided b, cls_strided out,
                              cls_stream stream) {
    return strided_binary(op, &a, &b, &out, stream, true);
}

cls_status cls_strided_binary_async(cls_binary_op op, cls_strided a, cls_strided b, cls_strided out,
                                    cls_stream stream) {
    return strided_binary(op, &a, &b, &out, stream, false);
}

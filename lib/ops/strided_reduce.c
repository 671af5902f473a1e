/* SPDX-License-Identifier: MIT */
/* Reductions of strided views (clstream/strided.h): by those of rows and columns where a view is a matrix, else by
 * cl/strided_reduce.cl. */
#include <clstream/rows.h>
#include <clstream/strided.h>

#include "base/error.h"
#include "base/types.h"
#include "memory/buffer.h"
#include "ops/lines_cut.h"
#include "ops/map.h"
#include "ops/strided_layout.h"

/* A call. Its views are the input and the results. */
struct reduced_view {
    const struct op_row *row;
    struct strided_reduction of;
    bool across;  /* items take lines that are neighbours, instead of going along a line */
    size_t count; /* of results */
    struct byte_span spans[2];
    struct op_call op;
};

/* A list of dimensions as the kernels have it, the innermost last. */
struct dimension_list {
    uint64_t lengths[CLS_MAX_DIMENSIONS];
    int64_t strides[2][CLS_MAX_DIMENSIONS];
};

/* The innermost of a layout; one of a single element, if there is none. */
struct innermost {
    size_t length;
    ptrdiff_t stride; /* of the input */
};

static struct innermost innermost_of(const struct strided_layout *layout) {
    const unsigned last = layout->dimensions - 1;
    return layout->dimensions ? (struct innermost){layout->lengths[last], layout->strides[0][last]}
                              : (struct innermost){1, 0};
}

/* --- matrices --- */

/* The view as a matrix with its rows, or its columns, reduced to a vector; false: it is none. */
static bool as_matrix(const struct strided_reduction *of, cls_matrix *in, cls_vector *out,
                      bool *by_column) {
    const struct strided_layout *kept = &of->kept;
    const struct innermost stays = innermost_of(kept), goes = innermost_of(&of->reduced);
    const size_t step = kept->dimensions ? (size_t)kept->strides[1][0] : 1;
    if (kept->dimensions > 1 || of->reduced.dimensions > 1 || of->reduced.is_empty ||
        stays.stride < 0 || goes.stride < 0)
        return false;
    const size_t across = (size_t)stays.stride, along = (size_t)goes.stride;
    *in = cls_matrix_at(of->all.arrays[0].buffer, of->all.arrays[0].dtype, of->reduced.offsets[0],
                        stays.length, goes.length);
    *out = (cls_vector){kept->arrays[1].buffer, kept->arrays[1].dtype, kept->offsets[1],
                        stays.length, step};
    *by_column = goes.length > 1 && along != 1;
    if (*by_column) {
        in->rows = goes.length;
        in->columns = stays.length;
        in->ld = along;
        return (stays.length == 1 || across == 1) && along >= stays.length;
    }
    if (stays.length > 1)
        in->ld = across;
    return in->ld >= goes.length;
}

/* --- checks --- */

static cls_status reduced_check(const struct reduced_view *call) {
    const struct op_view *views = call->op.views;
    cls_status status = lines_check_types(&call->op, call->row, call->of.length);
    if (!status && call->count && !call->of.reduced.is_empty &&
        buffer_spans_overlap(views[0].buffer, call->spans[0], views[1].buffer, call->spans[1]))
        status = error_set(CLS_ERROR_OVERLAP, "%s: the results overlap the input", call->row->name);
    return status ? status : lines_check_rounding(&call->op, call->row);
}

/* --- the launches --- */

/* Whether neighbours of the innermost dimension that stays lie closer than those of a line. */
static bool neighbours_are_closer(const struct strided_reduction *of) {
    enum { FEW = 8 };
    const struct innermost stays = innermost_of(&of->kept), goes = innermost_of(&of->reduced);
    return stays.length >= FEW && of->length > 1 &&
           strided_distance(stays.stride) < strided_distance(goes.stride);
}

/* Whether all vectors begin at multiples of theirs: of each dimension but the one that they go along. */
static bool vectors_aligned(const struct reduced_view *call) {
    const struct strided_layout *all = &call->of.all;
    const size_t size = cls_dtype_size(call->op.views[0].dtype);
    const struct strided_layout *inner = call->across ? &call->of.kept : &call->of.reduced;
    bool is_passed = false;
    size_t steps = call->of.reduced.offsets[0];
    if (innermost_of(inner).stride != 1)
        return false;
    for (unsigned d = 0; d < all->dimensions; d++) {
        const bool is_line =
            !is_passed && all->strides[0][d] == 1 && all->lengths[d] == innermost_of(inner).length;
        is_passed = is_passed || is_line;
        steps |= is_line ? 0 : (size_t)all->strides[0][d];
    }
    return steps * size % spec_alignment(spec_aligned_vector(size, size), size) == 0;
}

static cls_status reduced_kernel(struct reduced_view *call, enum reduction_stage stage,
                                 const struct spec **spec, struct kernel **kernel) {
    const enum shape shape = map_shape_of(&call->op, vectors_aligned(call));
    cls_status status = spec_of_reduction(call->row, call->op.views[0].dtype, shape, stage, spec);
    return status ? status : op_kernel(&call->op, &(*spec)->kernel, kernel);
}

/* The first `count` dimensions of a layout. */
static struct dimension_list list_of(const struct strided_layout *layout, unsigned count) {
    struct dimension_list list = {{0}, {{0}}};
    for (unsigned d = 0; d < CLS_MAX_DIMENSIONS; d++)
        list.lengths[d] = 1;
    for (unsigned d = 0; d < count; d++) {
        const unsigned to = CLS_MAX_DIMENSIONS - count + d;
        list.lengths[to] = layout->lengths[d];
        for (unsigned v = 0; v < layout->n_views; v++)
            list.strides[v][to] = layout->strides[v][d];
    }
    return list;
}

static struct op_arg offsets_arg(const struct reduced_view *call) {
    return op_arg_pair(call->of.reduced.offsets[0], call->of.kept.offsets[1]);
}

static struct op_arg results_arg(const struct reduced_view *call) {
    return op_arg_span(call->op.views[1].buffer, true, &call->spans[1]);
}

/* An input without elements is never read: it stands for no bytes, and the results for it. */
static struct op_arg input_arg(const struct reduced_view *call) {
    return call->of.reduced.is_empty
               ? results_arg(call)
               : op_arg_span(call->op.views[0].buffer, false, &call->spans[0]);
}

/* The places of lines and of their elements; returns the number of arguments. */
static unsigned place_args(const struct reduced_view *call, const struct spec *spec,
                           struct op_arg *args) {
    const struct strided_layout *reduced = &call->of.reduced;
    const struct innermost run = innermost_of(reduced);
    const struct dimension_list lines = list_of(&call->of.kept, call->of.kept.dimensions);
    const struct dimension_list runs =
        list_of(reduced, reduced->dimensions ? reduced->dimensions - 1 : 0);
    const uint64_t numbers[] = {run.length, (uint64_t)run.stride,
                                divide_up(run.length, spec->vector), 0};
    args[0] = offsets_arg(call);
    args[1] = op_arg_value(lines.lengths, sizeof lines.lengths);
    args[2] = op_arg_value(lines.strides[0], sizeof lines.strides[0]);
    args[3] = op_arg_value(lines.strides[1], sizeof lines.strides[1]);
    args[4] = op_arg_value(runs.lengths, sizeof runs.lengths);
    args[5] = op_arg_value(runs.strides[0], sizeof runs.strides[0]);
    args[6] = op_arg_value(numbers, sizeof numbers);
    return 7;
}

/* Merges the parts of each line. */
static cls_status reduced_finish(struct reduced_view *call, uint32_t parts,
                                 struct buffer *partials) {
    const struct spec *spec;
    struct kernel *kernel;
    cls_status status = reduced_kernel(call, STAGE_STRIDED_FINISH, &spec, &kernel);
    if (status)
        return status;
    const struct dimension_list lines = list_of(&call->of.kept, call->of.kept.dimensions);
    const size_t local = reduction_local(&call->op, kernel, spec->local);
    const struct lines_cut cut = lines_cut_finish(&call->op, call->count, parts, local);
    const struct op_arg args[] = {op_arg_in(partials),
                                  op_arg_local(cut.local * REDUCTION_PARTIAL_BYTES),
                                  results_arg(call),
                                  offsets_arg(call),
                                  op_arg_value(lines.lengths, sizeof lines.lengths),
                                  op_arg_value(lines.strides[1], sizeof lines.strides[1]),
                                  op_arg_pair(call->count, call->of.length),
                                  lines_cut_arg(&cut)};
    return op_launch(&call->op, kernel, args, sizeof args / sizeof *args, cut.items, cut.local);
}

static struct lines_cut strided_lines_cut(const struct reduced_view *call, const struct spec *spec,
                                          size_t local) {
    const size_t run = innermost_of(&call->of.reduced).length;
    const size_t row = innermost_of(&call->of.kept).length;
    const size_t side = (size_t)spec->vector * spec->batch;
    const struct lines_size size = {.count = call->count,
                                    .length = call->of.length,
                                    .vectors = call->of.length / run * divide_up(run, spec->vector),
                                    .blocks = call->count / row * divide_up(row, side)};
    return call->across ? lines_cut_across(&call->op, spec, local, &size)
                        : lines_cut_rows(&call->op, spec, local, &size);
}

static cls_status reduced_launch(struct reduced_view *call) {
    const struct spec *spec;
    struct kernel *kernel;
    struct buffer *partials = NULL;
    struct op_arg args[OP_MAX_ARGS];
    unsigned n = 2;
    cls_status status = reduced_kernel(
        call, call->across ? STAGE_STRIDED_ACROSS : STAGE_STRIDED_ROWS, &spec, &kernel);
    if (status)
        return status;
    const struct lines_cut cut =
        strided_lines_cut(call, spec, reduction_local(&call->op, kernel, spec->local));
    if (cut.parts > 1)
        status =
            op_scratch(&call->op, cut.parts * call->count * REDUCTION_PARTIAL_BYTES, &partials);
    if (status)
        return status;
    args[0] = input_arg(call);
    args[1] = results_arg(call);
    n += place_args(call, spec, &args[n]);
    args[n++] = partials ? op_arg_out(partials) : results_arg(call);
    if (!call->across)
        args[n++] = op_arg_local(cut.local * REDUCTION_PARTIAL_BYTES);
    args[n++] = op_arg_pair(call->count, call->of.length);
    args[n++] = lines_cut_arg(&cut);
    status = op_launch(&call->op, kernel, args, n, cut.items, cut.local);
    return status || !partials ? status : reduced_finish(call, cut.parts, partials);
}

/* --- calls --- */

static cls_status reduced_run(struct reduced_view *call, cls_stream stream, bool blocking) {
    const struct strided_layout *kept = &call->of.kept;
    const cls_array *arrays[] = {&kept->arrays[0], &kept->arrays[1]};
    cls_status status = op_begin(&call->op, stream, arrays, 2, blocking);
    if (status)
        return status;
    call->count = kept->is_empty ? 0 : 1;
    for (unsigned d = 0; d < kept->dimensions; d++)
        call->count *= kept->lengths[d];
    call->across = neighbours_are_closer(&call->of);
    call->spans[0] = strided_span(&call->of.all, 0);
    call->spans[1] = strided_span(kept, 1);
    status = reduced_check(call);
    if (!status)
        status = call->count ? reduced_launch(call) : op_check_stream(&call->op);
    return op_end(&call->op, status, blocking);
}

static cls_status strided_reduce(cls_reduce_op op, const cls_strided *in, const cls_strided *out,
                                 cls_stream stream, bool blocking) {
    struct reduced_view call = {.row = op_row_of(OP_REDUCE, (int)op)};
    cls_matrix matrix;
    cls_vector results;
    bool by_column;
    if (!call.row)
        return error_set(CLS_ERROR_INVALID_VALUE, "reduction: no such operation");
    const bool in_order = call.row->result == RESULT_INDEX;
    cls_status status = strided_reduction_of(call.row->name, in, out, in_order, &call.of);
    if (status)
        return status;
    if (call.of.kept.is_empty || !as_matrix(&call.of, &matrix, &results, &by_column))
        return reduced_run(&call, stream, blocking);
    if (by_column)
        return blocking ? cls_reduce_columns(op, matrix, results, stream)
                        : cls_reduce_columns_async(op, matrix, results, stream);
    return blocking ? cls_reduce_rows(op, matrix, results, stream)
                    : cls_reduce_rows_async(op, matrix, results, stream);
}

cls_status cls_strided_reduce(cls_reduce_op op, cls_strided in, cls_strided out,
                              cls_stream stream) {
    return strided_reduce(op, &in, &out, stream, true);
}

cls_status cls_strided_reduce_async(cls_reduce_op op, cls_strided in, cls_strided out,
                                    cls_stream stream) {
    return strided_reduce(op, &in, &out, stream, false);
}

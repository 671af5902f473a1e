/* SPDX-License-Identifier: MIT */
/* Reductions of the rows or of the columns of a matrix (clstream/rows.h), by the kernels for lines of cl/reduce.cl. */
#include <clstream/rows.h>

#include "base/error.h"
#include "base/types.h"
#include "memory/buffer.h"
#include "ops/blas.h"
#include "ops/lines_cut.h"
#include "ops/map.h"
#include "ops/rows_kept.h"

enum { SHORT = 64 /* elements of a line that an item takes with others at once */, GPU_SHORT = 8 };

/* A call. Its views are the matrix and the results. */
struct lines {
    const struct op_row *row;
    bool by_column;
    size_t count, length; /* lines, and elements of each */
    size_t pitch, step;   /* elements from row to row of the matrix, and from result to result */
    struct byte_span spans[2];
    struct op_call op;
};

/* --- checks --- */

static cls_status lines_check_overlap(const struct lines *lines) {
    const struct op_view *views = lines->op.views;
    if (!buffer_spans_overlap(views[0].buffer, lines->spans[0], views[1].buffer, lines->spans[1]))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OVERLAP, "%s: the results overlap the matrix", lines->row->name);
}

static cls_status lines_check(const struct lines *lines) {
    cls_status status = lines_check_types(&lines->op, lines->row, lines->length);
    if (!status)
        status = lines_check_overlap(lines);
    return status ? status : lines_check_rounding(&lines->op, lines->row);
}

/* --- the launches --- */

static cls_status lines_kernel(struct lines *lines, enum reduction_stage stage,
                               const struct spec **spec, struct kernel **kernel) {
    const struct op_view *in = &lines->op.views[0];
    const size_t size = cls_dtype_size(in->dtype);
    const size_t alignment = spec_alignment(spec_aligned_vector(size, size), size);
    const bool aligned = in->address % alignment == 0 && lines->pitch * size % alignment == 0;
    cls_status status =
        spec_of_reduction(lines->row, in->dtype, map_shape_of(&lines->op, aligned), stage, spec);
    return status ? status : op_kernel(&lines->op, &(*spec)->kernel, kernel);
}

static bool goes_across(const struct lines *lines) {
    return lines->by_column ||
           lines->length <= (op_takes_runs(lines->op.device) ? SHORT : GPU_SHORT);
}

static struct op_arg lines_arg(const struct lines *lines, unsigned view) {
    return op_arg_span(lines->op.views[view].buffer, view == 1, &lines->spans[view]);
}

/* Merges the parts of each line. */
static cls_status lines_finish(struct lines *lines, uint32_t parts, struct buffer *partials) {
    const struct spec *spec;
    struct kernel *kernel;
    cls_status status = lines_kernel(lines, STAGE_LINES_FINISH, &spec, &kernel);
    if (status)
        return status;
    const struct lines_cut cut = lines_cut_finish(&lines->op, lines->count, parts,
                                                  reduction_local(&lines->op, kernel, spec->local));
    const struct op_arg args[] = {op_arg_in(partials),
                                  op_arg_local(cut.local * REDUCTION_PARTIAL_BYTES),
                                  lines_arg(lines, 1),
                                  op_arg_pair(lines->op.views[1].offset, lines->step),
                                  op_arg_pair(lines->count, lines->length),
                                  lines_cut_arg(&cut)};
    return op_launch(&lines->op, kernel, args, sizeof args / sizeof *args, cut.items, cut.local);
}

static cls_status lines_reduce(struct lines *lines) {
    const struct op_view *views = lines->op.views;
    const struct spec *spec;
    struct kernel *kernel;
    struct buffer *partials = NULL;
    const bool across = goes_across(lines);
    cls_status status = lines_kernel(lines, across ? STAGE_ACROSS : STAGE_ROWS, &spec, &kernel);
    if (status)
        return status;
    const size_t local = reduction_local(&lines->op, kernel, spec->local);
    const struct lines_size size = {
        .count = lines->count,
        .length = lines->length,
        .vectors = divide_up(lines->length, spec->vector),
        .blocks = divide_up(lines->count, (size_t)spec->vector * spec->batch)};
    const struct lines_cut cut = across ? lines_cut_across(&lines->op, spec, local, &size)
                                        : lines_cut_rows(&lines->op, spec, local, &size);
    if (cut.parts > 1)
        status =
            op_scratch(&lines->op, cut.parts * lines->count * REDUCTION_PARTIAL_BYTES, &partials);
    if (status)
        return status;
    struct op_arg args[OP_MAX_ARGS];
    unsigned n = 0;
    args[n++] = lines_arg(lines, 0);
    args[n++] = op_arg_pair(views[0].offset, across && !lines->by_column ? 1 : lines->pitch);
    if (across)
        args[n++] = op_arg_u64(lines->by_column ? 1 : lines->pitch);
    args[n++] = lines_arg(lines, 1);
    args[n++] = op_arg_pair(views[1].offset, lines->step);
    args[n++] = partials ? op_arg_out(partials) : lines_arg(lines, 1);
    if (!across)
        args[n++] = op_arg_local(cut.local * REDUCTION_PARTIAL_BYTES);
    args[n++] = op_arg_pair(lines->count, lines->length);
    args[n++] = lines_cut_arg(&cut);
    status = op_launch(&lines->op, kernel, args, n, cut.items, cut.local);
    return status || !partials ? status : lines_finish(lines, cut.parts, partials);
}

/* --- calls --- */

/* `kept` NULL: the handles count. */
static cls_status reduce_lines(cls_reduce_op op, const cls_matrix *in, const cls_vector *out,
                               bool by_column, struct buffer *const *kept, cls_stream stream,
                               bool blocking) {
    struct lines lines = {.row = op_row_of(OP_REDUCE, (int)op),
                          .by_column = by_column,
                          .count = by_column ? in->columns : in->rows,
                          .length = by_column ? in->rows : in->columns,
                          .pitch = in->ld,
                          .step = out->step};
    struct blas_view views[2];
    if (!lines.row)
        return error_set(CLS_ERROR_INVALID_VALUE, "reduction: no such operation");
    if (out->count != lines.count)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: %zu results for %zu %s", lines.row->name,
                         out->count, lines.count, by_column ? "columns" : "rows");
    cls_status status = blas_matrix_view(lines.row->name, in, 1, &views[0]);
    if (!status)
        status = blas_vector_view(lines.row->name, out, &views[1]);
    if (status)
        return status;
    const cls_array *arrays[] = {&views[0].array, &views[1].array};
    status = op_begin_kept(&lines.op, stream, arrays, kept, 2, blocking);
    if (status)
        return status;
    lines.spans[0] = views[0].span;
    lines.spans[1] = views[1].span;
    status = lines_check(&lines);
    if (!status)
        status = lines.count ? lines_reduce(&lines) : op_check_stream(&lines.op);
    return op_end(&lines.op, status, blocking);
}

cls_status cls_reduce_rows(cls_reduce_op op, cls_matrix in, cls_vector out, cls_stream stream) {
    return reduce_lines(op, &in, &out, false, NULL, stream, true);
}

cls_status cls_reduce_rows_async(cls_reduce_op op, cls_matrix in, cls_vector out,
                                 cls_stream stream) {
    return reduce_lines(op, &in, &out, false, NULL, stream, false);
}

cls_status cls_reduce_columns(cls_reduce_op op, cls_matrix in, cls_vector out, cls_stream stream) {
    return reduce_lines(op, &in, &out, true, NULL, stream, true);
}

cls_status cls_reduce_columns_async(cls_reduce_op op, cls_matrix in, cls_vector out,
                                    cls_stream stream) {
    return reduce_lines(op, &in, &out, true, NULL, stream, false);
}

cls_status reduce_lines_kept(cls_reduce_op op, const cls_matrix *in, const cls_vector *out,
                             bool by_column, struct buffer *const buffers[2], cls_stream stream) {
    return reduce_lines(op, in, out, by_column, buffers, stream, false);
}

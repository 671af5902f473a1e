/* SPDX-License-Identifier: MIT */
/* Reductions of the rows or of the columns of a matrix (clstream/rows.h), by the kernels for lines of cl/reduce.cl. */
#include <clstream/rows.h>

#include "base/error.h"
#include "base/types.h"
#include "memory/buffer.h"
#include "ops/blas.h"
#include "ops/map.h"
#include "ops/reduction_cut.h"
#include "ops/rows_kept.h"

enum {
    CPU_ITEMS_PER_UNIT = 8, /* so that no core waits long for another */
    LEAST_STEPS = 16,       /* of a part of a line */
    GPU_LEAST_STEPS = 32,   /* of a column: next to these a part is little memory */
    GPU_MOST_PARTS = 8192,  /* of a line, which a group merges */
    GPU_ROW_STEPS = 4,      /* of an item of a team, if there are enough lines */
    ITEM_ELEMENTS = 32768,  /* of a CPU's work-item, if there are so many lines */
    SHORT = 64,             /* elements of a line that an item takes with others at once */
    GPU_SHORT = 8
};

/* A call. Its views are the matrix and the results. */
struct lines {
    const struct op_row *row;
    bool by_column;
    size_t count, length; /* lines, and elements of each */
    size_t pitch, step;   /* elements from row to row of the matrix, and from result to result */
    struct byte_span spans[2];
    struct op_call op;
};

/* How the work is divided: see cl/reduce.cl. */
struct lines_cut {
    size_t items, local; /* of the launch */
    uint32_t parts, steps, team, each;
};

/* --- checks --- */

static cls_status lines_check_overlap(const struct lines *lines) {
    const struct op_view *views = lines->op.views;
    if (!buffer_spans_overlap(views[0].buffer, lines->spans[0], views[1].buffer, lines->spans[1]))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OVERLAP, "%s: the results overlap the matrix", lines->row->name);
}

static cls_status lines_check(const struct lines *lines) {
    const struct op_row *row = lines->row;
    const struct op_call *call = &lines->op;
    const cls_dtype in = call->views[0].dtype, result = op_result_dtype(row, in);
    if (!lines->length && (row->result == RESULT_SAME || row->result == RESULT_INDEX))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s of no elements", row->name);
    cls_status status = op_check_dtype(call, in);
    if (!status)
        status = op_check_dtype(call, result);
    if (!status)
        status = map_check_typed(row, "out", call->views[1].dtype, result);
    if (!status)
        status = lines_check_overlap(lines);
    return status ? status : map_check_rounding(row, in, result, call->context);
}

/* --- the launches --- */

/* Cuts `steps` of all items that work on a line, of which a part has `least`, so that about `wanted` times as many are
 * under way. */
static void cut_steps(size_t steps, size_t least, size_t wanted, struct lines_cut *cut) {
    const size_t most = divide_up(steps, least);
    const size_t parts = most ? clamp(wanted, 1, most) : 1;
    cut->steps = (uint32_t)clamp(divide_up(steps, parts), 1, REDUCTION_MAX_STEPS);
    cut->parts = steps ? (uint32_t)divide_up(steps, cut->steps) : 1;
}

static size_t wanted_items(const struct op_call *call, bool runs) {
    return reduction_units(call->device) * (runs ? CPU_ITEMS_PER_UNIT : REDUCTION_ITEMS_PER_UNIT);
}

/* Lines, or blocks of lines, of `elements` each: more than one of a CPU's item, if there are so many. */
static uint32_t lines_of_item(size_t local, size_t elements, size_t most) {
    return local > 1 || !most ? 1 : (uint32_t)clamp(ITEM_ELEMENTS / (elements + 1), 1, most);
}

static struct lines_cut cut_rows(const struct lines *lines, const struct spec *spec, size_t local) {
    struct lines_cut cut = {.local = local, .team = 1, .each = 1};
    const size_t vectors = divide_up(lines->length, spec->vector);
    const size_t wanted = wanted_items(&lines->op, spec->local == 1);
    const bool are_many = lines->count >= wanted / (vectors / GPU_ROW_STEPS + 1);
    const size_t each = spec->local > 1 && are_many ? GPU_ROW_STEPS : 1;
    while (cut.team < cut.local && cut.team * each < vectors)
        cut.team *= 2;
    cut_steps(divide_up(vectors, cut.team), LEAST_STEPS, wanted / (lines->count * cut.team), &cut);
    cut.each = lines_of_item(local, lines->length, lines->count / wanted);
    const size_t at_once = cut.local / cut.team * cut.each;
    cut.items = divide_up(lines->count, at_once) * cut.parts * cut.local;
    return cut;
}

static struct lines_cut cut_across(const struct lines *lines, const struct spec *spec,
                                   size_t local) {
    struct lines_cut cut = {.local = local, .team = 1, .each = 1};
    const size_t block = (size_t)spec->vector * spec->batch;
    const size_t blocks = divide_up(lines->count, block);
    const bool runs = spec->local == 1;
    const size_t wanted = wanted_items(&lines->op, runs), parts = wanted / blocks;
    cut_steps(lines->length, runs ? LEAST_STEPS : GPU_LEAST_STEPS,
              runs ? parts : lesser(parts, GPU_MOST_PARTS), &cut);
    cut.each = lines_of_item(local, lines->length * block, blocks / wanted);
    cut.items = divide_up(divide_up(blocks, cut.each) * cut.parts, cut.local) * cut.local;
    return cut;
}

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

static struct op_arg cut_arg(const struct lines_cut *cut) {
    const uint32_t numbers[] = {cut->parts, cut->steps, cut->team, cut->each};
    return op_arg_value(numbers, sizeof numbers);
}

static struct op_arg lines_arg(const struct lines *lines, unsigned view) {
    return op_arg_span(lines->op.views[view].buffer, view == 1, &lines->spans[view]);
}

/* The items that merge the parts of a line: of a GPU as many as are of use. */
static struct lines_cut cut_finish(const struct lines *lines, uint32_t parts, size_t local) {
    struct lines_cut cut = {.local = local, .parts = parts, .team = 1};
    const size_t wanted = wanted_items(&lines->op, local == 1) / lines->count;
    while (cut.team * 2 <= lesser(local, parts) && cut.team < wanted)
        cut.team *= 2;
    cut.items = divide_up(lines->count, local / cut.team) * local;
    return cut;
}

/* Merges the parts of each line. */
static cls_status lines_finish(struct lines *lines, uint32_t parts, struct buffer *partials) {
    const struct spec *spec;
    struct kernel *kernel;
    cls_status status = lines_kernel(lines, STAGE_LINES_FINISH, &spec, &kernel);
    if (status)
        return status;
    const struct lines_cut cut =
        cut_finish(lines, parts, reduction_local(&lines->op, kernel, spec->local));
    const struct op_arg args[] = {op_arg_in(partials),
                                  op_arg_local(cut.local * REDUCTION_PARTIAL_BYTES),
                                  lines_arg(lines, 1),
                                  op_arg_pair(lines->op.views[1].offset, lines->step),
                                  op_arg_pair(lines->count, lines->length),
                                  cut_arg(&cut)};
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
    const struct lines_cut cut =
        across ? cut_across(lines, spec, local) : cut_rows(lines, spec, local);
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
    args[n++] = cut_arg(&cut);
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

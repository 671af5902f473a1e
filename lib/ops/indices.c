/* SPDX-License-Identifier: MIT */
/* Rows and elements of a matrix by their numbers (clstream/indices.h), by the kernels of cl/indices.cl. */
#include <clstream/indices.h>

#include "base/error.h"
#include "base/types.h"
#include "driver/caps.h"
#include "driver/quirk.h"
#include "memory/buffer.h"
#include "ops/blas.h"
#include "ops/map.h"
#include "ops/reduction_cut.h"

enum {
    CPU_ITEM_BYTES = 1 << 16, /* that an item moves, if there are so many: microseconds of work */
    CPU_CHUNK_BYTES = 1 << 14,
    CPU_ADDERS = 8,    /* items of each unit that add: few, since each goes through all indices */
    GPU_ADDERS = 512,  /* as many as hide the time of an addition in memory, */
    GPU_ADDING = 8,    /* or groups */
    SHORT_LOOP = 60000 /* steps, where a driver stops counting at 65,535 */
};

enum { IN, INDICES, OUT, MISSED };

/* A call. Its views are the input, the indices, the output and, if indices without a target are counted, their number. */
struct index_call {
    const char *name;
    struct index_kind kind;
    bool counted;                   /* indices without a target */
    size_t lines, entries, targets; /* entries and targets of each line */
    size_t columns;                 /* of an entry */
    size_t distances[3]; /* elements from row to row, or from index to index of a vector */
    struct byte_span spans[4];
    struct op_call op;
};

/* How the work is divided: see cl/indices.cl. */
struct index_cut {
    size_t items, chunks,
        width;   /* of the launch; of a row, or items of a team; columns of each chunk */
    size_t each; /* a move: entries of an item; an addition: blocks of targets of a line */
};

/* --- checks --- */

static bool is_index_type(cls_dtype dtype) {
    return dtype == CLS_U8 || dtype == CLS_I32 || dtype == CLS_U32 || dtype == CLS_I64;
}

static cls_status indices_check_views(const struct index_call *call) {
    const struct op_view *views = call->op.views;
    if (!is_index_type(views[INDICES].dtype))
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: indices of %s", call->name,
                         cls_dtype_name(views[INDICES].dtype));
    if (views[OUT].dtype != views[IN].dtype)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: an output of %s for an input of %s",
                         call->name, cls_dtype_name(views[OUT].dtype),
                         cls_dtype_name(views[IN].dtype));
    if (call->counted && views[MISSED].dtype != CLS_U32)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: missed indices counted as %s", call->name,
                         cls_dtype_name(views[MISSED].dtype));
    if (call->counted && views[MISSED].count != 1)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: missed indices counted in %zu elements",
                         call->name, views[MISSED].count);
    return op_check_dtype(&call->op, views[IN].dtype);
}

static cls_status indices_check_overlap(const struct index_call *call, unsigned written,
                                        unsigned other) {
    const struct op_view *views = call->op.views;
    if (!buffer_spans_overlap(views[written].buffer, call->spans[written], views[other].buffer,
                              call->spans[other]))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OVERLAP, "%s: %s overlaps another view", call->name,
                     written == OUT ? "the output" : "the number of missed indices");
}

static cls_status indices_check(const struct index_call *call) {
    cls_status status = indices_check_views(call);
    for (unsigned i = IN; i < OUT && !status; i++)
        status = indices_check_overlap(call, OUT, i);
    for (unsigned i = IN; i < MISSED && call->counted && !status; i++)
        status = indices_check_overlap(call, MISSED, i);
    if (!status && call->kind.op == INDEX_ADD && type_row(call->op.views[IN].dtype)->is_float &&
        !caps_trusts(call->op.caps, TRUST_ROUNDING))
        status = trust_refuse(call->op.device, TRUST_ROUNDING);
    return status;
}

/* --- the launches --- */

static cls_status indices_kernel(struct index_call *call, const struct spec **spec,
                                 struct kernel **kernel) {
    const size_t size = cls_dtype_size(call->op.views[IN].dtype);
    bool aligned = true;
    for (unsigned i = IN; i <= OUT; i += OUT - IN)
        aligned =
            aligned && call->op.views[i].address % 16 == 0 && call->distances[i] * size % 16 == 0;
    enum shape shape = map_shape_of(&call->op, aligned);
    if (call->kind.op == INDEX_ADD && !caps_trusts(call->op.caps, TRUST_LOCAL_ARGUMENTS))
        shape = SHAPE_RUNS;
    cls_status status = spec_of_indices(&call->kind, shape, spec);
    return status ? status : op_kernel(&call->op, &(*spec)->kernel, kernel);
}

/* Chunks of one vector, or of a CPU's item of as much as it does in microseconds. */
static struct index_cut cut_columns(const struct index_call *call, const struct spec *spec) {
    const size_t size = cls_dtype_size(call->op.views[IN].dtype);
    const size_t most = spec->local > 1 ? spec->vector : CPU_CHUNK_BYTES / size;
    const size_t groups =
        divide_up(call->columns, most * UINT32_MAX); /* chunks are counted in 32 bits */
    struct index_cut cut = {.width = lesser(most * groups, call->columns)};
    cut.chunks = divide_up(call->columns, cut.width);
    return cut;
}

/* Entries of which a work-item makes no more steps than all drivers count. */
static size_t most_entries(const struct index_cut *cut, const struct spec *spec) {
    return SHORT_LOOP / (2 + divide_up(cut->width, spec->vector) + spec->vector);
}

static struct index_cut cut_move(const struct index_call *call, const struct spec *spec) {
    struct index_cut cut = cut_columns(call, spec);
    const size_t bytes = cut.width * cls_dtype_size(call->op.views[IN].dtype);
    const size_t entries = call->lines * call->entries;
    cut.each = spec->batch;
    if (spec->local == 1)
        cut.each = clamp(entries / (CPU_ADDERS * reduction_units(call->op.device)), 1,
                         lesser(CPU_ITEM_BYTES / bytes, most_entries(&cut, spec)));
    cut.items = divide_up(entries, cut.each) * cut.chunks;
    return cut;
}

static struct index_cut cut_add(const struct index_call *call, const struct spec *spec) {
    struct index_cut cut = cut_columns(call, spec);
    const size_t wanted =
        reduction_units(call->op.device) * (spec->local > 1 ? GPU_ADDERS : CPU_ADDERS);
    cut.each = clamp(wanted / (call->lines * cut.chunks), 1, call->targets);
    cut.items = call->lines * cut.each * cut.chunks;
    return cut;
}

/* Of rows, by groups: each item of a team has a vector, or several. */
static struct index_cut cut_add_by_group(const struct index_call *call, const struct spec *spec,
                                         size_t local) {
    const size_t blocks = reduction_units(call->op.device) * GPU_ADDING;
    struct index_cut cut = {.chunks = 1, .width = call->columns};
    while (cut.chunks < local && cut.chunks * spec->vector < call->columns)
        cut.chunks *= 2;
    cut.each = clamp(blocks, 1, call->targets);
    cut.items = cut.each * local;
    return cut;
}

static struct index_cut cut_of(const struct index_call *call, const struct spec *spec,
                               size_t local) {
    if (call->kind.op != INDEX_ADD)
        return cut_move(call, spec);
    return spec->local > 1 && call->kind.of_rows ? cut_add_by_group(call, spec, local)
                                                 : cut_add(call, spec);
}

static unsigned indices_args(const struct index_call *call, const struct index_cut *cut,
                             struct op_arg args[OP_MAX_ARGS]) {
    const struct op_view *views = call->op.views;
    const uint32_t numbers[] = {(uint32_t)cut->chunks, (uint32_t)cut->width, (uint32_t)cut->each,
                                0};
    unsigned n = 0;
    for (unsigned i = IN; i <= OUT; i++) {
        args[n++] = op_arg_span(views[i].buffer, i == OUT, &call->spans[i]);
        args[n++] = op_arg_pair(views[i].offset, call->distances[i]);
    }
    args[n++] = op_arg_view(&views[call->counted ? MISSED : INDICES], call->counted);
    args[n++] = op_arg_u64(call->counted ? views[MISSED].offset : UINT64_MAX);
    args[n++] = op_arg_pair(call->lines, call->columns);
    args[n++] = op_arg_pair(call->entries, call->targets);
    args[n++] = op_arg_value(numbers, sizeof numbers);
    return n;
}

/* Entries of one launch that adds: all, but where a driver stops counting steps. */
static size_t entries_at_once(const struct index_call *call, const struct index_cut *cut,
                              const struct spec *spec) {
    return call->op.device->quirks & QUIRK_SHORT_LOOPS
               ? clamp(most_entries(cut, spec), 1, call->entries)
               : call->entries;
}

static cls_status indices_launch(struct index_call *call) {
    const struct spec *spec;
    struct kernel *kernel;
    struct op_arg args[OP_MAX_ARGS];
    cls_status status = indices_kernel(call, &spec, &kernel);
    if (status)
        return status;
    const size_t local = power_of_two_below(lesser(op_max_group(&call->op, kernel), spec->local));
    const struct index_cut cut = cut_of(call, spec, local);
    const size_t global = divide_up(cut.items, local) * local;
    const unsigned n = indices_args(call, &cut, args);
    if (call->kind.op != INDEX_ADD)
        return op_launch(&call->op, kernel, args, n, global, local);
    const size_t most = entries_at_once(call, &cut, spec);
    for (size_t first = 0; first < call->entries && !status; first += most) {
        args[n] = op_arg_pair(first, lesser(first + most, call->entries));
        status = op_launch(&call->op, kernel, args, n + 1, global, local);
    }
    return status;
}

/* --- calls --- */

static cls_status indices_run(struct index_call *call, const struct blas_view views[3],
                              const cls_array *missed, cls_stream stream, bool blocking) {
    const cls_array *arrays[] = {&views[IN].array, &views[INDICES].array, &views[OUT].array,
                                 missed};
    call->counted = missed->buffer != NULL;
    cls_status status = op_begin(&call->op, stream, arrays, call->counted ? 4 : 3, blocking);
    if (status)
        return status;
    for (unsigned i = IN; i <= OUT; i++)
        call->spans[i] = views[i].span;
    if (call->counted)
        call->spans[MISSED] = byte_span_1d(call->op.views[MISSED].address, sizeof(uint32_t));
    call->kind.dtype = views[IN].array.dtype;
    call->kind.index = views[INDICES].array.dtype;
    status = indices_check(call);
    if (!status)
        status = call->lines && call->entries && call->columns ? indices_launch(call)
                                                               : op_check_stream(&call->op);
    return op_end(&call->op, status, blocking);
}

/* CLS_ERROR_SIZE_MISMATCH unless two numbers are equal. */
static cls_status check_equal(const struct index_call *call, const char *what, size_t a, size_t b) {
    return a == b
               ? CLS_SUCCESS
               : error_set(CLS_ERROR_SIZE_MISMATCH, "%s: %zu %s for %zu", call->name, a, what, b);
}

static cls_status check_targets(const struct index_call *call) {
    if (call->targets || !call->entries || !call->lines || !call->columns)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OUT_OF_RANGE, "%s: indices into a matrix without %s", call->name,
                     call->kind.of_rows ? "rows" : "columns");
}

/* Indices name rows of the input for a selection, else of the output. */
static cls_status by_rows(enum index_op op, const char *name, const cls_matrix *in,
                          const cls_vector *indices, const cls_matrix *out, const cls_array *missed,
                          cls_stream stream, bool blocking) {
    const cls_matrix *entries = op == INDEX_SELECT ? out : in;
    struct index_call call = {.name = name,
                              .kind = {.op = op, .of_rows = true},
                              .lines = 1,
                              .entries = indices->count,
                              .targets = op == INDEX_SELECT ? in->rows : out->rows,
                              .columns = in->columns,
                              .distances = {in->ld, indices->step, out->ld}};
    struct blas_view views[3];
    cls_status status = check_equal(&call, "indices", indices->count, entries->rows);
    if (!status)
        status = check_equal(&call, "columns of the output", out->columns, in->columns);
    if (!status)
        status = blas_matrix_view(name, in, 1, &views[IN]);
    if (!status)
        status = blas_vector_view(name, indices, &views[INDICES]);
    if (!status)
        status = blas_matrix_view(name, out, 1, &views[OUT]);
    if (!status)
        status = check_targets(&call);
    return status ? status : indices_run(&call, views, missed, stream, blocking);
}

static cls_status by_elements(enum index_op op, const char *name, const cls_matrix *in,
                              const cls_matrix *indices, const cls_matrix *out,
                              const cls_array *missed, cls_stream stream, bool blocking) {
    const cls_matrix *entries = op == INDEX_SELECT ? out : in;
    struct index_call call = {.name = name,
                              .kind = {.op = op},
                              .lines = in->rows,
                              .entries = indices->columns,
                              .targets = op == INDEX_SELECT ? in->columns : out->columns,
                              .columns = 1,
                              .distances = {in->ld, indices->ld, out->ld}};
    struct blas_view views[3];
    cls_status status = check_equal(&call, "rows of indices", indices->rows, in->rows);
    if (!status)
        status = check_equal(&call, "columns of indices", indices->columns, entries->columns);
    if (!status)
        status = check_equal(&call, "rows of the output", out->rows, in->rows);
    const cls_matrix *const matrices[] = {in, indices, out};
    for (unsigned i = IN; i <= OUT && !status; i++)
        status = blas_matrix_view(name, matrices[i], 1, &views[i]);
    if (!status)
        status = check_targets(&call);
    return status ? status : indices_run(&call, views, missed, stream, blocking);
}

cls_status cls_select_rows(cls_matrix in, cls_vector indices, cls_matrix out, cls_array missed,
                           cls_stream stream) {
    return by_rows(INDEX_SELECT, "select_rows", &in, &indices, &out, &missed, stream, true);
}

cls_status cls_select_rows_async(cls_matrix in, cls_vector indices, cls_matrix out,
                                 cls_array missed, cls_stream stream) {
    return by_rows(INDEX_SELECT, "select_rows", &in, &indices, &out, &missed, stream, false);
}

cls_status cls_scatter_rows(cls_matrix in, cls_vector indices, cls_matrix out, cls_array missed,
                            cls_stream stream) {
    return by_rows(INDEX_SCATTER, "scatter_rows", &in, &indices, &out, &missed, stream, true);
}

cls_status cls_scatter_rows_async(cls_matrix in, cls_vector indices, cls_matrix out,
                                  cls_array missed, cls_stream stream) {
    return by_rows(INDEX_SCATTER, "scatter_rows", &in, &indices, &out, &missed, stream, false);
}

cls_status cls_scatter_add_rows(cls_matrix in, cls_vector indices, cls_matrix out, cls_array missed,
                                cls_stream stream) {
    return by_rows(INDEX_ADD, "scatter_add_rows", &in, &indices, &out, &missed, stream, true);
}

cls_status cls_scatter_add_rows_async(cls_matrix in, cls_vector indices, cls_matrix out,
                                      cls_array missed, cls_stream stream) {
    return by_rows(INDEX_ADD, "scatter_add_rows", &in, &indices, &out, &missed, stream, false);
}

cls_status cls_gather(cls_matrix in, cls_matrix indices, cls_matrix out, cls_array missed,
                      cls_stream stream) {
    return by_elements(INDEX_SELECT, "gather", &in, &indices, &out, &missed, stream, true);
}

cls_status cls_gather_async(cls_matrix in, cls_matrix indices, cls_matrix out, cls_array missed,
                            cls_stream stream) {
    return by_elements(INDEX_SELECT, "gather", &in, &indices, &out, &missed, stream, false);
}

cls_status cls_scatter(cls_matrix in, cls_matrix indices, cls_matrix out, cls_array missed,
                       cls_stream stream) {
    return by_elements(INDEX_SCATTER, "scatter", &in, &indices, &out, &missed, stream, true);
}

cls_status cls_scatter_async(cls_matrix in, cls_matrix indices, cls_matrix out, cls_array missed,
                             cls_stream stream) {
    return by_elements(INDEX_SCATTER, "scatter", &in, &indices, &out, &missed, stream, false);
}

cls_status cls_scatter_add(cls_matrix in, cls_matrix indices, cls_matrix out, cls_array missed,
                           cls_stream stream) {
    return by_elements(INDEX_ADD, "scatter_add", &in, &indices, &out, &missed, stream, true);
}

cls_status cls_scatter_add_async(cls_matrix in, cls_matrix indices, cls_matrix out,
                                 cls_array missed, cls_stream stream) {
    return by_elements(INDEX_ADD, "scatter_add", &in, &indices, &out, &missed, stream, false);
}

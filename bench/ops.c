/* SPDX-License-Identifier: MIT */
/*
 * (c) Every cast, where and unary operation, and every gradient of an activation, against a device copy of the same
 * number of bytes read and written, on arrays far beyond the caches. Where an operation misses the bar, it is measured
 * on data that stays in a cache too: one that misses it even there is limited by its arithmetic, and the row says so
 * with that figure. Operations along the rows of a matrix, and of a vector for each row or column, are such operations,
 * too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "rig.h"

static const double CPU_BAR = 0.90, GPU_BAR = 0.95, LONGEST_RUN = 0.1;
static const double CPU_ROWS_BAR = 0.80, GPU_ROWS_BAR = 0.85;

enum {
    INPUTS = 3,
    PATTERN_BYTES = 1 << 20,
    DTYPES = 6,
    MOST_COLUMNS = 32768,
    ROW_BYTES = 1024,
    MIXED_ROWS = 4096
};

static const cls_dtype dtypes[DTYPES] = {CLS_F32, CLS_F64, CLS_I32, CLS_I64, CLS_U8, CLS_U32};

/* The arrays of the operations; the output is as large as an input. */
struct field {
    const struct rig *rig;
    size_t bytes;   /* of a buffer */
    unsigned batch; /* operations, or copies, of one measurement */
    cls_buffer in[INPUTS], out;
    cls_buffer sums, order; /* of columns; of rows */
    cls_dtype filled;       /* what the inputs hold, */
    bool positive;          /* and whether above 0 only */
    cls_stream stream;
    cl_command_queue queue;
    cl_mem copy_from, copy_to; /* twice the size */
};

enum family {
    FAMILY_CAST,
    FAMILY_WHERE,
    FAMILY_UNARY,
    FAMILY_PARAM,
    FAMILY_SOFTMAX, /* along rows, from here on */
    FAMILY_NORM,
    FAMILY_ADD_ROW,
    FAMILY_ADD_COLUMN,
    FAMILY_TRANSPOSE,
    FAMILY_STRIDED,
    FAMILY_SELECT,
    FAMILY_SCATTER,
    FAMILY_SCATTER_ADD, /* read and write three arrays, from here on */
    FAMILY_BINARY,
    FAMILY_LAYER_NORM_GRADIENT,
    FAMILY_RMS_NORM_GRADIENT,
    FAMILY_ROW_SUMS, /* next to nothing is written, from here on */
    FAMILY_COLUMN_SUMS,
    FAMILY_MIDDLE_SUMS, /* of strided views */
    FAMILY_CHANNEL_SUMS
};

struct job {
    struct field *field;
    enum family family;
    int op;
    cls_dtype from, to; /* of a where: the condition and the values */
    size_t count;
    size_t columns; /* of a matrix */
    unsigned batch;
    char excuse[96];
};

static size_t job_bytes(const struct job *job) {
    const size_t from = cls_dtype_size(job->from), to = cls_dtype_size(job->to);
    if (job->family >= FAMILY_ROW_SUMS)
        return job->count * from;
    if (job->family >= FAMILY_SCATTER_ADD)
        return job->count * 3 * from;
    return job->count * (job->family == FAMILY_WHERE ? from + 3 * to : from + to);
}

/* --- data --- */

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Of 16 bits: of magnitudes in [1/8, 8), with any mantissa. */
static uint16_t make_half(uint64_t bits, cls_dtype dtype, bool positive) {
    const unsigned mantissa = dtype == CLS_F16 ? 10 : 7, bias = dtype == CLS_F16 ? 15 : 127;
    const uint64_t exponent = bias - 3 + (bits >> 32) % 6;
    const uint64_t sign = positive ? 0 : bits & 0x8000;
    return (uint16_t)(sign | exponent << mantissa | (bits & ((1u << mantissa) - 1)));
}

/* Floats in [-8, 8), or in [1/8, 8); integers over their range. */
static void make_pattern(unsigned char *pattern, cls_dtype dtype, bool positive) {
    const size_t size = cls_dtype_size(dtype);
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t at = 0; at < PATTERN_BYTES; at += size) {
        const uint64_t bits = next_random(&state);
        const double unit = (double)(bits >> 11) * 0x1p-53;
        const double value = positive ? 0.125 + unit * 7.875 : unit * 16 - 8;
        const float narrow = (float)value;
        const uint16_t half = make_half(bits, dtype, positive);
        if (dtype == CLS_F16 || dtype == CLS_BF16)
            memcpy(pattern + at, &half, size);
        else if (dtype == CLS_F32)
            memcpy(pattern + at, &narrow, size);
        else if (dtype == CLS_F64)
            memcpy(pattern + at, &value, size);
        else
            memcpy(pattern + at, &bits, size);
    }
}

/* Fills the inputs: a block, doubled by copies. */
static void fill(struct field *field, cls_dtype dtype, bool positive) {
    if (field->filled == dtype && field->positive == positive)
        return;
    unsigned char *pattern = allocate(PATTERN_BYTES);
    make_pattern(pattern, dtype, positive);
    for (int i = 0; i < INPUTS; i++) {
        CLS(cls_copy_h2d(field->in[i], 0, pattern, PATTERN_BYTES, field->stream));
        for (size_t done = PATTERN_BYTES; done < field->bytes; done *= 2) {
            const size_t left = field->bytes - done, bytes = left < done ? left : done;
            CLS(cls_copy_d2d(field->in[i], done, field->in[i], 0, bytes, field->stream));
        }
    }
    free(pattern);
    field->filled = dtype;
    field->positive = positive;
}

static bool needs_positive(const struct job *job) {
    if (job->family == FAMILY_UNARY)
        return job->op == CLS_UNARY_LOG || job->op == CLS_UNARY_SQRT;
    return job->family == FAMILY_PARAM && job->op == CLS_UNARY_POWF;
}

/* --- the two sides --- */

static cls_status submit_norm_gradient(const struct job *job) {
    const size_t rows = job->count / job->columns, columns = job->columns;
    const struct field *field = job->field;
    const cls_matrix in = cls_matrix_of(field->in[0], job->from, rows, columns);
    const cls_matrix gradient = cls_matrix_of(field->in[1], job->from, rows, columns);
    const cls_matrix out = cls_matrix_of(field->out, job->to, rows, columns);
    const cls_vector gain = cls_vector_of(field->in[2], job->from, columns);
    const cls_vector gain_gradient = cls_vector_of(field->sums, job->to, columns);
    const cls_vector shift_gradient = {field->sums, job->to, columns, columns, 1};
    return job->family == FAMILY_LAYER_NORM_GRADIENT
               ? cls_layer_norm_gradient_async(in, gain, 1e-5, gradient, out, gain_gradient,
                                               shift_gradient, field->stream)
               : cls_rms_norm_gradient_async(in, gain, 1e-5, gradient, out, gain_gradient,
                                             field->stream);
}

/* Operations of strided views, by `op`. */
enum strided { STRIDED_DENSE, STRIDED_ROW, STRIDED_EXCHANGED, STRIDED_TURNED, STRIDED_KINDS };

static cls_status submit_strided(const struct job *job) {
    enum { SIDE = 16 }; /* of the dimensions that are exchanged */
    const struct field *field = job->field;
    const size_t square = SIDE * SIDE, columns = job->columns;
    const size_t rows = job->count / columns / square * square;
    const size_t shape[] = {rows, columns}, turned[] = {columns, rows};
    const size_t blocks[] = {rows / square, SIDE, SIDE, columns};
    const cls_array in = cls_array_of(field->in[0], job->from, rows * columns);
    const cls_array out = cls_array_of(field->out, job->to, rows * columns);
    const cls_array row = cls_array_of(field->in[1], job->from, columns);
    const cls_strided a = cls_strided_of(in, 2, shape), to = cls_strided_of(out, 2, shape);
    switch ((enum strided)job->op) {
    case STRIDED_ROW:
        return cls_strided_binary_async(
            CLS_BINARY_ADD, a, cls_strided_broadcast(cls_strided_of(row, 1, &columns), 2, shape),
            to, field->stream);
    case STRIDED_EXCHANGED:
        return cls_strided_cast_async(cls_strided_transpose(cls_strided_of(in, 4, blocks), 1, 2),
                                      cls_strided_of(out, 4, blocks), field->stream);
    case STRIDED_TURNED:
        return cls_strided_unary_async(CLS_UNARY_NEG, cls_strided_transpose(a, 0, 1),
                                       cls_strided_of(out, 2, turned), field->stream);
    default:
        return cls_strided_unary_async(CLS_UNARY_NEG, a, to, field->stream);
    }
}

/* Sums of the middle of three dimensions, or of the two around it. */
static cls_status submit_strided_sums(const struct job *job) {
    enum { CHANNELS = 64 };
    const struct field *field = job->field;
    const size_t count = job->count / (CHANNELS * job->columns);
    const size_t shape[] = {count, CHANNELS, job->columns};
    const bool of_middle = job->family == FAMILY_MIDDLE_SUMS;
    const size_t sums[] = {of_middle ? count : 1, of_middle ? 1 : CHANNELS,
                           of_middle ? job->columns : 1};
    const cls_array in = cls_array_of(field->in[0], job->from, count * CHANNELS * job->columns);
    const cls_array out = cls_array_of(field->out, job->to, sums[0] * sums[1] * sums[2]);
    return cls_strided_reduce_async(CLS_REDUCE_SUM, cls_strided_of(in, 3, shape),
                                    cls_strided_of(out, 3, sums), field->stream);
}

static cls_status submit_rows(const struct job *job) {
    const size_t rows = job->count / job->columns;
    const struct field *field = job->field;
    const cls_stream stream = field->stream;
    const cls_matrix in = cls_matrix_of(field->in[0], job->from, rows, job->columns);
    const cls_matrix out = cls_matrix_of(field->out, job->to, rows, job->columns);
    const cls_matrix turned = cls_matrix_of(field->out, job->to, job->columns, rows);
    const cls_vector row = cls_vector_of(field->in[1], job->from, job->columns);
    const cls_vector column = cls_vector_of(field->in[2], job->from, rows);
    const cls_vector shift = cls_vector_of(field->in[2], job->from, job->columns);
    const cls_vector order = cls_vector_of(field->order, CLS_U32, rows);
    const cls_array none = {0};
    const cls_vector row_sums = cls_vector_of(field->out, job->to, rows);
    const cls_vector column_sums = cls_vector_of(field->out, job->to, job->columns);
    switch (job->family) {
    case FAMILY_NORM:
        return cls_layer_norm_async(in, row, shift, 1e-5, out, stream);
    case FAMILY_ADD_ROW:
        return cls_binary_rows_async(CLS_BINARY_ADD, in, row, out, stream);
    case FAMILY_ADD_COLUMN:
        return cls_binary_columns_async(CLS_BINARY_ADD, in, column, out, stream);
    case FAMILY_TRANSPOSE:
        return cls_transpose_async(in, turned, stream);
    case FAMILY_STRIDED:
        return submit_strided(job);
    case FAMILY_SELECT:
        return cls_select_rows_async(in, order, out, none, stream);
    case FAMILY_SCATTER:
        return cls_scatter_rows_async(in, order, out, none, stream);
    case FAMILY_SCATTER_ADD:
        return cls_scatter_add_rows_async(in, order, out, none, stream);
    case FAMILY_ROW_SUMS:
        return cls_reduce_rows_async(CLS_REDUCE_SUM, in, row_sums, stream);
    case FAMILY_COLUMN_SUMS:
        return cls_reduce_columns_async(CLS_REDUCE_SUM, in, column_sums, stream);
    case FAMILY_MIDDLE_SUMS:
    case FAMILY_CHANNEL_SUMS:
        return submit_strided_sums(job);
    default:
        return cls_softmax_async(in, out, stream);
    }
}

static cls_status submit(const struct job *job) {
    const struct field *field = job->field;
    const cls_array in = cls_array_of(field->in[0], job->from, job->count);
    const cls_array out = cls_array_of(field->out, job->to, job->count);
    const cls_array yes = cls_array_of(field->in[1], job->to, job->count);
    const cls_array no = cls_array_of(field->in[2], job->to, job->count);
    switch (job->family) {
    case FAMILY_CAST:
        return cls_cast_async(in, out, field->stream);
    case FAMILY_WHERE:
        return cls_where_async(in, yes, no, out, field->stream);
    case FAMILY_UNARY:
        return cls_unary_async((cls_unary_op)job->op, in, out, field->stream);
    case FAMILY_PARAM:
        return cls_unary_param_async((cls_unary_param_op)job->op, in, out, 1.25, field->stream);
    case FAMILY_BINARY:
        return cls_binary_async((cls_binary_op)job->op, in, yes, out, field->stream);
    case FAMILY_LAYER_NORM_GRADIENT:
    case FAMILY_RMS_NORM_GRADIENT:
        return submit_norm_gradient(job);
    default:
        return submit_rows(job);
    }
}

/* GB/s, read and written together. */
static double job_run(void *arg, double *also) {
    const struct job *job = arg;
    const double start = now_seconds();
    for (unsigned i = 0; i < job->batch; i++)
        CLS(submit(job));
    CLS(cls_stream_synchronize(job->field->stream));
    *also = 0;
    return 1e-9 * (double)job_bytes(job) * job->batch / (now_seconds() - start);
}

static double copy_run(void *arg, double *also) {
    const struct job *job = arg;
    const struct field *field = job->field;
    const size_t bytes = job_bytes(job) / 2;
    const double start = now_seconds();
    for (unsigned i = 0; i < job->batch; i++)
        CL(clEnqueueCopyBuffer(field->queue, field->copy_from, field->copy_to, 0, 0, bytes, 0, NULL,
                               NULL));
    CL(clFinish(field->queue));
    *also = 0;
    return 1e-9 * 2 * (double)bytes * job->batch / (now_seconds() - start);
}

/* --- rows --- */

enum { TRIES = 7 };

static double best_of(double (*run)(void *, double *), struct job *job) {
    double best = 0, also;
    for (int i = 0; i < TRIES; i++) {
        const double rate = run(job, &also);
        best = rate > best ? rate : best;
    }
    return best;
}

static bool is_by_element(const struct job *job) {
    return job->family < FAMILY_SOFTMAX || job->family == FAMILY_BINARY;
}

static double bar_of(const struct job *job) {
    return is_by_element(job) ? rig_bar(job->field->rig, CPU_BAR, GPU_BAR)
                              : rig_bar(job->field->rig, CPU_ROWS_BAR, GPU_ROWS_BAR);
}

/* The same on data that stays in a cache: an operation that even there does not reach what the bar
 * asks for is limited by its arithmetic. Not what a GPU's groups do together. */
static const char *explain(void *arg, double ours, double theirs) {
    struct job *job = arg, near = *job;
    if (!is_by_element(job) && !rig_is_cpu(job->field->rig))
        return NULL;
    const size_t near_bytes = rig_is_cpu(job->field->rig) ? 4 << 20 : 24 << 20;
    const size_t factor = job_bytes(job) / near_bytes;
    (void)ours;
    near.count = job->count / factor;
    near.batch = 16 * job->batch;
    near.count = near.count ? near.count : 1;
    const double rate = best_of(job_run, &near);
    if (rate >= bar_of(job) * theirs)
        return NULL;
    snprintf(job->excuse, sizeof job->excuse, "arithmetic: %.4g GB/s with the data in cache", rate);
    return job->excuse;
}

/* Slow operations take a part of the arrays, of 16 MiB and more. */
static void shorten(struct job *job) {
    double also;
    job_run(job, &also); /* builds the kernel */
    const size_t least = (size_t)16 << 20;
    double time = 1e-9 * (double)job_bytes(job) * job->batch / job_run(job, &also);
    for (; time > LONGEST_RUN && job_bytes(job) >= 2 * least; time /= 2)
        job->count /= 2;
}

static void row(struct field *field, const char *name, struct job job) {
    const bool f64 = job.from == CLS_F64 || job.to == CLS_F64;
    const size_t from = cls_dtype_size(job.from), to = cls_dtype_size(job.to);
    if (!bench_wants(name) || (f64 && !field->rig->info.has_fp64))
        return;
    job.field = field;
    job.batch = field->batch;
    job.count = field->bytes / (from > to ? from : to);
    fill(field, job.family == FAMILY_WHERE ? CLS_U8 : job.from, needs_positive(&job));
    shorten(&job);
    const struct way copy = {"clEnqueueCopyBuffer", copy_run, &job};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "GB/s",
                                    .measure = MEASURE_RATE,
                                    .ours = {"clstream", job_run, &job},
                                    .rivals = &copy,
                                    .n_rivals = 1,
                                    .bar = bar_of(&job),
                                    .rounds = bench_options()->quick ? 3 : 15,
                                    .warm_up = 1,
                                    .excuse = explain,
                                    .excuse_arg = &job});
}

static void cast(struct field *field, cls_dtype from, cls_dtype to) {
    char name[64];
    snprintf(name, sizeof name, "cast %s to %s", cls_dtype_name(from), cls_dtype_name(to));
    row(field, name, (struct job){.family = FAMILY_CAST, .from = from, .to = to});
}

static void casts(struct field *field) {
    for (int i = 0; i < DTYPES; i++)
        for (int k = 0; k < DTYPES; k++)
            if (i != k)
                cast(field, dtypes[i], dtypes[k]);
}

static void where(struct field *field, cls_dtype condition, cls_dtype to) {
    char name[64];
    snprintf(name, sizeof name, "where %s, %s", cls_dtype_name(condition), cls_dtype_name(to));
    row(field, name, (struct job){.family = FAMILY_WHERE, .from = condition, .to = to});
}

static void wheres(struct field *field) {
    static const cls_dtype conditions[] = {CLS_U8, CLS_I32, CLS_I64};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < DTYPES; k++)
            where(field, conditions[i], dtypes[k]);
}

/* Whether an operation supports a type: tried on no elements. */
static bool has_form(const struct field *field, struct job job) {
    job.field = (struct field *)(uintptr_t)field;
    job.count = 0;
    return submit(&job) == CLS_SUCCESS;
}

static void unaries(struct field *field, cls_dtype dtype) {
    char name[64];
    for (int op = CLS_UNARY_COPY; *cls_unary_op_name((cls_unary_op)op) != '?'; op++) {
        const struct job job = {.family = FAMILY_UNARY, .op = op, .from = dtype, .to = dtype};
        snprintf(name, sizeof name, "%s %s", cls_unary_op_name((cls_unary_op)op),
                 cls_dtype_name(dtype));
        if (has_form(field, job))
            row(field, name, job);
    }
    for (int op = CLS_UNARY_ELU; *cls_unary_param_op_name((cls_unary_param_op)op) != '?'; op++) {
        const struct job job = {.family = FAMILY_PARAM, .op = op, .from = dtype, .to = dtype};
        snprintf(name, sizeof name, "%s %s", cls_unary_param_op_name((cls_unary_param_op)op),
                 cls_dtype_name(dtype));
        if (has_form(field, job))
            row(field, name, job);
    }
}

static void gradients(struct field *field, cls_dtype dtype) {
    char name[64];
    for (int op = CLS_BINARY_RELU_GRADIENT; op <= CLS_BINARY_TANH_GRADIENT; op++) {
        snprintf(name, sizeof name, "%s %s", cls_binary_op_name((cls_binary_op)op),
                 cls_dtype_name(dtype));
        row(field, name,
            (struct job){.family = FAMILY_BINARY, .op = op, .from = dtype, .to = dtype});
    }
}

static void along_rows(struct field *field, enum family family, cls_dtype dtype) {
    static const char *const names[] = {[FAMILY_SOFTMAX] = "softmax",
                                        [FAMILY_NORM] = "layer_norm",
                                        [FAMILY_ADD_ROW] = "add a row",
                                        [FAMILY_ADD_COLUMN] = "add a column",
                                        [FAMILY_TRANSPOSE] = "transpose",
                                        [FAMILY_LAYER_NORM_GRADIENT] = "layer_norm_gradient",
                                        [FAMILY_RMS_NORM_GRADIENT] = "rms_norm_gradient",
                                        [FAMILY_ROW_SUMS] = "sums of rows",
                                        [FAMILY_COLUMN_SUMS] = "sums of columns"};
    static const size_t columns[] = {16, 1024, MOST_COLUMNS};
    char name[64];
    for (int i = 0; i < 3; i++) {
        const struct job job = {
            .family = family, .from = dtype, .to = dtype, .columns = columns[i]};
        snprintf(name, sizeof name, "%s %s, rows of %zu", names[family], cls_dtype_name(dtype),
                 columns[i]);
        row(field, name, job);
    }
}

/* Casts from and to f32, choices, and functions of some. */
static void small(struct field *field) {
    static const cls_dtype types[] = {CLS_F16, CLS_BF16, CLS_I8, CLS_I16, CLS_U16};
    for (int i = 0; i < 5; i++) {
        cast(field, CLS_F32, types[i]);
        cast(field, types[i], CLS_F32);
    }
    cast(field, CLS_F16, CLS_BF16);
    cast(field, CLS_BF16, CLS_F16);
    where(field, CLS_U8, CLS_F16);
    where(field, CLS_U8, CLS_I8);
    unaries(field, CLS_F16);
    unaries(field, CLS_BF16);
    unaries(field, CLS_I16);
}

static void lines(struct field *field, const char *what, enum family family, int op,
                  cls_dtype dtype) {
    static const size_t columns[] = {16, 1024};
    char name[64];
    for (int i = 0; i < 2; i++) {
        const struct job job = {
            .family = family, .op = op, .from = dtype, .to = dtype, .columns = columns[i]};
        snprintf(name, sizeof name, "%s %s, lines of %zu", what, cls_dtype_name(dtype), columns[i]);
        row(field, name, job);
    }
}

static void strided(struct field *field, cls_dtype dtype) {
    static const char *const names[] = {"neg of all", "add a row", "copy of exchanged dimensions",
                                        "neg of a transpose"};
    for (int op = 0; op < STRIDED_KINDS; op++)
        lines(field, names[op], FAMILY_STRIDED, op, dtype);
}

static void strided_sums(struct field *field, cls_dtype dtype) {
    lines(field, "sums of a middle dimension", FAMILY_MIDDLE_SUMS, 0, dtype);
    lines(field, "sums around a dimension", FAMILY_CHANNEL_SUMS, 0, dtype);
}

/* Rows of 1 KiB in an order without a pattern; each is named once. */
static void by_index(struct field *field, cls_dtype dtype) {
    static const char *const names[] = {"select", "scatter", "scatter_add"};
    char name[64];
    for (int i = 0; i < 3; i++) {
        const struct job job = {.family = (enum family)(FAMILY_SELECT + i),
                                .from = dtype,
                                .to = dtype,
                                .columns = ROW_BYTES / cls_dtype_size(dtype)};
        snprintf(name, sizeof name, "%s %s, rows of 1 KiB", names[i], cls_dtype_name(dtype));
        row(field, name, job);
    }
}

static void fill_order(struct field *field) {
    const size_t rows = field->bytes / ROW_BYTES;
    uint32_t *order = allocate(rows * sizeof *order);
    for (size_t i = 0; i < rows; i++)
        order[i] = (uint32_t)(i / MIXED_ROWS * MIXED_ROWS + i * 1597 % MIXED_ROWS);
    CLS(cls_buffer_create(field->rig->context, rows * sizeof *order, &field->order));
    CLS(cls_copy_h2d(field->order, 0, order, rows * sizeof *order, field->stream));
    free(order);
}

static void set_up(struct field *field, const struct rig *rig) {
    const bool cpu = rig_is_cpu(rig), quick = bench_options()->quick;
    const size_t bytes = cpu ? (quick ? 32 : 64) : (quick ? 128 : 256);
    *field = (struct field){.rig = rig, .bytes = bytes << 20, .batch = cpu ? 1 : 8};
    for (int i = 0; i < INPUTS; i++)
        CLS(cls_buffer_create(rig->context, field->bytes, &field->in[i]));
    CLS(cls_buffer_create(rig->context, field->bytes, &field->out));
    CLS(cls_buffer_create(rig->context, 2 * MOST_COLUMNS * sizeof(float), &field->sums));
    field->stream = rig_stream(rig, CLS_ORDER_AUTO);
    field->queue = rig_queue(rig, false);
    fill_order(field);
    field->copy_from = rig_memory(rig, 2 * field->bytes);
    field->copy_to = rig_memory(rig, 2 * field->bytes);
    const cl_uint pattern = 0x3fc00000; /* touches the pages */
    CL(clEnqueueFillBuffer(field->queue, field->copy_from, &pattern, sizeof pattern, 0,
                           2 * field->bytes, 0, NULL, NULL));
    CL(clFinish(field->queue));
}

int main(int argc, char **argv) {
    struct rig rig;
    struct field field;
    bench_begin(argc, argv, "ops");
    rig_open(&rig);
    bench_header(&rig);
    set_up(&field, &rig);
    bench_section("(c) casts, bytes read and written");
    casts(&field);
    bench_section("(c) where");
    wheres(&field);
    bench_section("(c) unary");
    for (int i = 0; i < DTYPES; i++)
        if (dtypes[i] != CLS_F64 || rig.info.has_fp64)
            unaries(&field, dtypes[i]);
    bench_section("(c) gradients of activations");
    gradients(&field, CLS_F32);
    gradients(&field, CLS_BF16);
    bench_section("(c) types of one and two bytes");
    small(&field);
    bench_section("(c) along rows");
    static const enum family families[] = {
        FAMILY_SOFTMAX,           FAMILY_NORM,      FAMILY_ADD_ROW,
        FAMILY_ADD_COLUMN,        FAMILY_TRANSPOSE, FAMILY_LAYER_NORM_GRADIENT,
        FAMILY_RMS_NORM_GRADIENT, FAMILY_ROW_SUMS,  FAMILY_COLUMN_SUMS};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        along_rows(&field, families[i], CLS_F32);
        along_rows(&field, families[i], CLS_F16);
    }
    bench_section("(c) strided views");
    strided(&field, CLS_F32);
    strided(&field, CLS_F16);
    strided_sums(&field, CLS_F32);
    strided_sums(&field, CLS_F16);
    bench_section("(c) by indices");
    by_index(&field, CLS_F32);
    by_index(&field, CLS_F16);
    rig_close(&rig);
    return bench_end();
}

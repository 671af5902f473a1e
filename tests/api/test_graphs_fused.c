/* SPDX-License-Identifier: MIT */
/*
 * Graphs whose operations are fused: what is left in memory is bit for bit what the operations leave one by one, and
 * what a batch of them does.
 */
#include "../support/effort.h"
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/batch.h>
#include <clstream/binary.h>
#include <clstream/cast.h>
#include <clstream/graph.h>
#include <clstream/mempool.h>
#include <clstream/unary.h>
#include <clstream/where.h>

enum { TYPES = 6, ARRAYS = 14, KEPT = 9, MOST = 1000, STEPS = 40, FEW_STEPS = 14, HANG_S = 280 };

static const cls_dtype types[TYPES] = {CLS_F32, CLS_I32, CLS_U8, CLS_I64, CLS_U32, CLS_F64};
static cls_stream stream, elsewhere;
static unsigned n_types; /* without f64 where the device has none */

static int begin(void **state) {
    cls_buffer probe = rig_cells(4);
    (void)state;
    stream = rig_named("main");
    elsewhere = rig_stream();
    const cls_array f64 = cls_array_of(probe, CLS_F64, 2);
    n_types = cls_unary(CLS_UNARY_NEG, f64, f64, stream) ? TYPES - 1 : TYPES;
    OK(cls_buffer_destroy(probe));
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(elsewhere));
    return 0;
}

static cls_graph_exec end_fused(void) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph graph;
    cls_graph_exec exec;
    config.fuse = 1;
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, &config, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

static void expect_fused(cls_graph_exec exec, uint64_t nodes, uint64_t fused, uint64_t kernels) {
    cls_graph_statistics statistics = CLS_GRAPH_STATISTICS_INIT;
    OK(cls_graph_get_statistics(exec, &statistics));
    assert_int_equal(statistics.nodes, nodes);
    assert_int_equal(statistics.fused_nodes, fused);
    assert_int_equal(statistics.fused_kernels, kernels);
}

static void expect_detail(const char *part) {
    if (!strstr(cls_last_error_detail(), part))
        fail_msg("'%s' is not in: %s", part, cls_last_error_detail());
}

/* --- random chains --- */

static uint64_t seed;

static unsigned pick(unsigned below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

struct op {
    enum { UNARY, PARAM, BINARY, WHERE, CAST, CUT, KINDS } kind;
    int op;
    double param;
    unsigned in[3], out;
};

/* Arrays below KEPT are the caller's; the others are stream-ordered memory of the run. */
struct program {
    size_t count, offset;
    cls_dtype dtypes[ARRAYS];
    bool defined[ARRAYS];
    struct op ops[STEPS];
    unsigned n_ops;
    cls_buffer buffers[ARRAYS];
};

/* Operations whose bits do not depend on what they are fused with. */
static const int exact_unary[] = {CLS_UNARY_COPY, CLS_UNARY_NEG,  CLS_UNARY_ABS,  CLS_UNARY_SQR,
                                  CLS_UNARY_RELU, CLS_UNARY_SIGN, CLS_UNARY_CEIL, CLS_UNARY_FLOOR};
static const int exact_param[] = {CLS_UNARY_SCALE, CLS_UNARY_ADD_SCALAR, CLS_UNARY_CLAMP_MIN,
                                  CLS_UNARY_CLAMP_MAX, CLS_UNARY_LEAKY_RELU};
static const int exact_binary[] = {CLS_BINARY_ADD, CLS_BINARY_SUB, CLS_BINARY_MUL, CLS_BINARY_MIN,
                                   CLS_BINARY_MAX, CLS_BINARY_EQ,  CLS_BINARY_NE,  CLS_BINARY_LT,
                                   CLS_BINARY_LE,  CLS_BINARY_GT,  CLS_BINARY_GE};
#define PICK(list) list[pick(sizeof(list) / sizeof *(list))]

static bool is_float(cls_dtype type) { return type == CLS_F32 || type == CLS_F64; }

/* A defined array, of a type where one is given; ARRAYS: there is none. */
static unsigned pick_defined(const struct program *program, int type) {
    const unsigned first = pick(ARRAYS);
    for (unsigned i = 0; i < ARRAYS; i++) {
        const unsigned at = (first + i) % ARRAYS;
        if (program->defined[at] && (type < 0 || (int)program->dtypes[at] == type))
            return at;
    }
    return ARRAYS;
}

static unsigned pick_output(const struct program *program, cls_dtype type) {
    const unsigned first = pick(ARRAYS);
    for (unsigned i = 0; i < ARRAYS; i++)
        if (program->dtypes[(first + i) % ARRAYS] == type)
            return (first + i) % ARRAYS;
    return ARRAYS;
}

static bool make_op(const struct program *program, struct op *op) {
    *op = (struct op){.kind = pick(KINDS), .param = (double)pick(64) / 8 - 3};
    op->in[0] = pick_defined(program, -1);
    const cls_dtype type = program->dtypes[op->in[0]];
    cls_dtype result = type;
    switch (op->kind) {
    case UNARY:
        op->op = PICK(exact_unary);
        if (!is_float(type) && (op->op == CLS_UNARY_CEIL || op->op == CLS_UNARY_FLOOR))
            return false;
        break;
    case PARAM:
        op->op = PICK(exact_param);
        if (!is_float(type) && op->op == CLS_UNARY_LEAKY_RELU)
            return false;
        break;
    case BINARY:
        op->op = PICK(exact_binary);
        op->in[1] = pick_defined(program, (int)type);
        result = op->op >= CLS_BINARY_EQ ? CLS_U8 : type;
        break;
    case WHERE:
        op->in[1] = pick_defined(program, -1);
        result = program->dtypes[op->in[1]];
        op->in[2] = pick_defined(program, (int)result);
        if (type != CLS_U8 && type != CLS_I32 && type != CLS_I64)
            return false;
        break;
    case CAST:
        result = program->dtypes[pick(ARRAYS)];
        break;
    default:
        return pick(4) == 0;
    }
    op->out = pick_output(program, result);
    return op->out < ARRAYS;
}

static void make_program(struct program *program, unsigned number) {
    memset(program, 0, sizeof *program);
    seed = 77 + number;
    program->count = 1 + pick(MOST);
    program->offset = pick(3) ? 0 : 1 + pick(9);
    for (unsigned i = 0; i < ARRAYS; i++) {
        program->dtypes[i] = types[pick(3) ? pick(3) : pick(n_types)];
        program->defined[i] = i < KEPT;
    }
    const unsigned wanted = 2 + pick(effort_is_long() ? STEPS - 2 : FEW_STEPS - 2);
    while (program->n_ops < wanted) {
        struct op *op = &program->ops[program->n_ops];
        if (!make_op(program, op))
            continue;
        program->n_ops++;
        if (op->kind != CUT)
            program->defined[op->out] = true;
    }
}

static size_t bytes_of(const struct program *program, unsigned i) {
    return (program->count + program->offset) * cls_dtype_size(program->dtypes[i]);
}

static cls_array array_of(const struct program *program, unsigned i) {
    return cls_array_at(program->buffers[i], program->dtypes[i], program->offset, program->count);
}

static void fill(struct program *program, unsigned i) {
    static unsigned char bytes[2 * MOST * 8];
    const size_t n = program->count + program->offset;
    for (size_t k = 0; k < n; k++) {
        const int value = (int)((k * 37 + i * 11) % 101) - 50;
        const float f32 = (float)value / 4;
        const double f64 = value / 8.0;
        const int64_t i64 = value;
        if (program->dtypes[i] == CLS_F32)
            memcpy(bytes + 4 * k, &f32, 4);
        else if (program->dtypes[i] == CLS_F64)
            memcpy(bytes + 8 * k, &f64, 8);
        else
            memcpy(bytes + cls_dtype_size(program->dtypes[i]) * k, &i64,
                   cls_dtype_size(program->dtypes[i]));
    }
    OK(cls_copy_h2d(program->buffers[i], 0, bytes, bytes_of(program, i), stream));
}

static void nothing(void *arg) { (void)arg; }

static void submit_op(const struct program *program, const struct op *op) {
    cls_array in[3];
    for (unsigned i = 0; i < 3; i++)
        in[i] = array_of(program, op->in[i]);
    const cls_array out = array_of(program, op->out);
    switch (op->kind) {
    case UNARY:
        OK(cls_unary_async((cls_unary_op)op->op, in[0], out, stream));
        break;
    case PARAM:
        OK(cls_unary_param_async((cls_unary_param_op)op->op, in[0], out, op->param, stream));
        break;
    case BINARY:
        OK(cls_binary_async((cls_binary_op)op->op, in[0], in[1], out, stream));
        break;
    case WHERE:
        OK(cls_where_async(in[0], in[1], in[2], out, stream));
        break;
    case CAST:
        OK(cls_cast_async(in[0], out, stream));
        break;
    default:
        OK(cls_stream_launch_host_async(stream, nothing, NULL));
    }
}

static void submit(struct program *program) {
    for (unsigned i = KEPT; i < ARRAYS; i++)
        OK(cls_malloc_async(stream, bytes_of(program, i), &program->buffers[i]));
    for (unsigned i = 0; i < program->n_ops; i++)
        submit_op(program, &program->ops[i]);
    for (unsigned i = KEPT; i < ARRAYS; i++)
        OK(cls_free_async(program->buffers[i], stream));
}

static void record_op(cls_batch batch, const struct program *program, const struct op *op,
                      cls_value *values) {
    const cls_value *in[3] = {&values[op->in[0]], &values[op->in[1]], &values[op->in[2]]};
    cls_value out = 0;
    switch (op->kind) {
    case UNARY:
        OK(cls_batch_unary(batch, (cls_unary_op)op->op, *in[0], &out));
        break;
    case PARAM:
        OK(cls_batch_unary_param(batch, (cls_unary_param_op)op->op, *in[0], op->param, &out));
        break;
    case BINARY:
        OK(cls_batch_binary(batch, (cls_binary_op)op->op, *in[0], *in[1], &out));
        break;
    case WHERE:
        OK(cls_batch_where(batch, *in[0], *in[1], *in[2], &out));
        break;
    case CAST:
        OK(cls_batch_cast(batch, *in[0], program->dtypes[op->out], &out));
        break;
    default:
        return;
    }
    values[op->out] = out;
}

/* A batch that reads the arrays as they are now, and keeps its results. */
static void check_batch(struct program *program, const unsigned char *want[KEPT]) {
    cls_value values[ARRAYS] = {0}, inputs[KEPT];
    unsigned char *got = malloc(MOST * 8);
    cls_batch batch;
    OK(cls_batch_create(rig.context, NULL, &batch));
    for (unsigned i = 0; i < KEPT; i++) {
        OK(cls_batch_array(batch, array_of(program, i), &values[i]));
        inputs[i] = values[i];
    }
    for (unsigned i = 0; i < program->n_ops; i++)
        record_op(batch, program, &program->ops[i], values);
    for (unsigned i = 0; i < KEPT; i++)
        if (values[i] != inputs[i])
            OK(cls_batch_keep(batch, values[i]));
    OK(cls_batch_execute(batch, stream));
    for (unsigned i = 0; i < KEPT; i++) {
        const size_t size = cls_dtype_size(program->dtypes[i]);
        if (values[i] == inputs[i])
            continue;
        OK(cls_batch_read(batch, values[i], got));
        if (memcmp(got, want[i] + program->offset * size, program->count * size) != 0)
            fail_msg("array %u differs from the batch's", i);
    }
    OK(cls_batch_destroy(batch));
    free(got);
}

static void fill_all(struct program *program) {
    for (unsigned i = 0; i < KEPT; i++)
        fill(program, i);
}

static void compare(struct program *program, unsigned char *want[KEPT], const char *how) {
    static unsigned char got[2 * MOST * 8];
    for (unsigned i = 0; i < KEPT; i++) {
        OK(cls_copy_d2h(got, program->buffers[i], 0, bytes_of(program, i), stream));
        if (memcmp(got, want[i], bytes_of(program, i)) != 0)
            fail_msg("%s: array %u of %zu elements differs", how, i, program->count);
    }
}

/* Returns how many nodes were fused. */
static uint64_t check_program(unsigned number) {
    static struct program program;
    unsigned char *want[KEPT];
    make_program(&program, number);
    for (unsigned i = 0; i < KEPT; i++) {
        OK(cls_buffer_create(rig.context, bytes_of(&program, i), &program.buffers[i]));
        want[i] = malloc(bytes_of(&program, i));
    }
    fill_all(&program);
    submit(&program);
    for (unsigned i = 0; i < KEPT; i++)
        OK(cls_copy_d2h(want[i], program.buffers[i], 0, bytes_of(&program, i), stream));
    OK(cls_stream_begin_capture(stream, "random"));
    submit(&program);
    cls_graph_exec exec = end_fused();
    for (int launch = 0; launch < 2; launch++) {
        fill_all(&program);
        OK(cls_graph_launch(exec, stream));
        compare(&program, want, "fused");
    }
    if (number % 4 == 0) {
        fill_all(&program);
        check_batch(&program, (const unsigned char **)want);
    }
    cls_graph_statistics statistics = CLS_GRAPH_STATISTICS_INIT;
    OK(cls_graph_get_statistics(exec, &statistics));
    OK(cls_graph_exec_destroy(exec));
    for (unsigned i = 0; i < KEPT; i++) {
        OK(cls_buffer_destroy(program.buffers[i]));
        free(want[i]);
    }
    return statistics.fused_nodes;
}

static void test_random_chains(void **state) {
    (void)state;
    const unsigned programs =
        effort_is_long() ? 300 : 2; /* the driver compiles for most of the time */
    uint64_t fused = 0;
    for (unsigned i = 0; i < programs; i++) {
        watchdog(HANG_S);
        fused += check_program(i);
    }
    assert_true(fused > programs);
}

/* --- every operation on every type, in one chain a family and type: a batch's kernel has the same bits --- */

enum { OUTPUTS = 24, CELLS = 301 };

struct family {
    cls_array in[3], out[OUTPUTS];
    cls_value values[3], results[OUTPUTS];
    unsigned n_out;
    cls_batch batch;
};

/* Submits an operation and records it; of those that the type has not, neither. */
static void submit_both(struct family *family, int kind, int op, cls_dtype result) {
    const unsigned n = family->n_out;
    cls_value *value = &family->results[n];
    cls_array *out = &family->out[n];
    *out = cls_array_of(out->buffer, result, CELLS);
    cls_status status =
        kind == UNARY ? cls_unary_async((cls_unary_op)op, family->in[0], *out, stream)
        : kind == PARAM
            ? cls_unary_param_async((cls_unary_param_op)op, family->in[0], *out, 1.25, stream)
        : kind == BINARY
            ? cls_binary_async((cls_binary_op)op, family->in[0], family->in[1], *out, stream)
        : kind == WHERE ? cls_where_async(family->in[2], family->in[0], family->in[1], *out, stream)
                        : cls_cast_async(family->in[0], *out, stream);
    if (status == CLS_ERROR_TYPE_MISMATCH)
        return;
    OK(status);
    status = kind == UNARY
                 ? cls_batch_unary(family->batch, (cls_unary_op)op, family->values[0], value)
             : kind == PARAM  ? cls_batch_unary_param(family->batch, (cls_unary_param_op)op,
                                                      family->values[0], 1.25, value)
             : kind == BINARY ? cls_batch_binary(family->batch, (cls_binary_op)op,
                                                 family->values[0], family->values[1], value)
             : kind == WHERE  ? cls_batch_where(family->batch, family->values[2], family->values[0],
                                                family->values[1], value)
                              : cls_batch_cast(family->batch, family->values[0], result, value);
    OK(status);
    family->n_out++;
}

static void submit_family(struct family *family, int kind, cls_dtype type) {
    static const int ends[KINDS] = {
        [UNARY] = CLS_UNARY_SIGMOID, [PARAM] = CLS_UNARY_CLAMP_MAX, [BINARY] = CLS_BINARY_GE};
    const int stride = effort_is_long() ? 1 : ends[kind] / 3 + 1;
    for (int op = 1; op <= ends[kind]; op += stride)
        submit_both(family, kind, op, kind == BINARY && op >= CLS_BINARY_EQ ? CLS_U8 : type);
    if (kind == WHERE) {
        submit_both(family, kind, 0, type);
        submit_both(family, kind, 0, type);
    }
    for (unsigned to = 0; kind == CAST && to < n_types; to += effort_is_long() ? 1 : 3)
        submit_both(family, kind, 0, types[to]);
}

static void check_family(int kind, cls_dtype type) {
    static struct program inputs;
    static unsigned char got[CELLS * 8], want[CELLS * 8];
    struct family family = {.n_out = 0};
    inputs = (struct program){.count = CELLS, .dtypes = {type, type, CLS_U8}};
    OK(cls_batch_create(rig.context, NULL, &family.batch));
    for (unsigned i = 0; i < 3; i++) {
        OK(cls_buffer_create(rig.context, CELLS * 8, &inputs.buffers[i]));
        fill(&inputs, i);
        family.in[i] = array_of(&inputs, i);
        OK(cls_batch_array(family.batch, family.in[i], &family.values[i]));
    }
    for (unsigned i = 0; i < OUTPUTS; i++)
        OK(cls_buffer_create(rig.context, CELLS * 8, &family.out[i].buffer));
    OK(cls_stream_begin_capture(stream, "family"));
    submit_family(&family, kind, type);
    cls_graph_exec exec = end_fused();
    expect_fused(exec, 1, family.n_out, 1);
    OK(cls_graph_launch(exec, stream));
    OK(cls_batch_execute(family.batch, stream));
    for (unsigned i = 0; i < family.n_out; i++) {
        const size_t bytes = CELLS * cls_dtype_size(family.out[i].dtype);
        OK(cls_copy_d2h(got, family.out[i].buffer, 0, bytes, stream));
        OK(cls_batch_read(family.batch, family.results[i], want));
        if (memcmp(got, want, bytes) != 0)
            fail_msg("kind %d, operation %u of %s differs", kind, i, cls_dtype_name(type));
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_batch_destroy(family.batch));
    for (unsigned i = 0; i < 3; i++)
        OK(cls_buffer_destroy(inputs.buffers[i]));
    for (unsigned i = 0; i < OUTPUTS; i++)
        OK(cls_buffer_destroy(family.out[i].buffer));
}

static void test_every_operation(void **state) {
    (void)state;
    const unsigned most = effort_is_long() ? n_types : 1; /* each builds a kernel an operation */
    for (unsigned t = 0; t < most; t++)
        for (int kind = UNARY; kind <= CAST; kind++) {
            watchdog(HANG_S);
            check_family(kind, types[t]);
        }
}

/* --- chains that are cut --- */

static float numbers[CELLS], results[CELLS];

static cls_array floats(void) {
    cls_buffer buffer;
    for (int i = 0; i < CELLS; i++)
        numbers[i] = (float)(i - 100) / 8;
    OK(cls_buffer_from_host(rig.context, numbers, sizeof numbers, &buffer));
    return cls_array_of(buffer, CLS_F32, CELLS);
}

static void scale(cls_array in, cls_array out, double factor) {
    OK(cls_unary_param_async(CLS_UNARY_SCALE, in, out, factor, stream));
}

static void expect_scaled(cls_array array, float factor) {
    OK(cls_copy_d2h(results, array.buffer, array.offset * 4, array.count * 4, stream));
    for (size_t i = 0; i < array.count; i++)
        if (results[i] != numbers[i] * factor)
            fail_msg("element %zu is %g, not %g", i, (double)results[i],
                     (double)(numbers[i] * factor));
}

static void test_a_host_function_cuts(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats();
    OK(cls_stream_begin_capture(stream, "cut"));
    scale(x, y, 2);
    scale(y, y, 2);
    OK(cls_stream_launch_host_async(stream, nothing, NULL));
    scale(y, y, 2);
    scale(y, y, 2);
    scale(y, y, 2);
    cls_graph_exec exec = end_fused();
    expect_fused(exec, 3, 5, 2);
    OK(cls_graph_launch(exec, stream));
    expect_scaled(y, 32);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
}

static void test_another_branch_cuts(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats();
    cls_event forked = rig_event(), joined = rig_event();
    OK(cls_stream_begin_capture(stream, "branch"));
    scale(x, y, 2);
    scale(y, y, 2);
    OK(cls_event_record(forked, stream));
    OK(cls_stream_wait_event(elsewhere, forked));
    OK(cls_copy_d2d_async(z.buffer, 0, y.buffer, 0, sizeof numbers, elsewhere));
    OK(cls_event_record(joined, elsewhere));
    scale(y, x, 2);
    scale(x, x, 2);
    OK(cls_stream_wait_event(stream, joined));
    scale(x, y, 2);
    cls_graph_exec exec = end_fused();
    expect_fused(exec, 4, 4, 2);
    OK(cls_graph_launch(exec, stream));
    expect_scaled(z, 4);
    expect_scaled(x, 16);
    expect_scaled(y, 32);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_event_destroy(forked));
    OK(cls_event_destroy(joined));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
    OK(cls_buffer_destroy(z.buffer));
}

/* The second operation reads what the first has written, but shifted. */
static void test_overlapping_views_cut(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats();
    const cls_array first = cls_array_at(y.buffer, CLS_F32, 0, 200),
                    shifted = cls_array_at(y.buffer, CLS_F32, 1, 200),
                    from = cls_array_at(x.buffer, CLS_F32, 1, 200),
                    to = cls_array_at(z.buffer, CLS_F32, 0, 200);
    OK(cls_copy_h2d(y.buffer, 4, numbers, 4 * 300, stream));
    OK(cls_stream_begin_capture(stream, "shifted"));
    scale(from, first, 2);
    OK(cls_binary_async(CLS_BINARY_SUB, shifted, from, to, stream));
    cls_graph_exec exec = end_fused();
    expect_fused(exec, 2, 0, 0);
    OK(cls_graph_launch(exec, stream));
    OK(cls_copy_d2h(results, z.buffer, 0, 800, stream));
    for (int i = 0; i < 199; i++)
        assert_true(results[i] == 2 * numbers[i + 2] - numbers[i + 1]);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
    OK(cls_buffer_destroy(z.buffer));
}

/* More arguments than one kernel takes: several kernels, of which the last one writes what all read. */
static void test_many_outputs(void **state) {
    (void)state;
    enum { MANY = 63 };
    const cls_array x = floats();
    cls_array out[MANY];
    for (int i = 0; i < MANY; i++)
        out[i] = floats();
    OK(cls_stream_begin_capture(stream, "many"));
    for (int i = 0; i < MANY; i++)
        scale(x, out[i], i);
    scale(x, x, 2);
    cls_graph_exec exec = end_fused();
    cls_graph_statistics statistics = CLS_GRAPH_STATISTICS_INIT;
    OK(cls_graph_get_statistics(exec, &statistics));
    assert_true(statistics.fused_kernels >= 2 && statistics.fused_kernels <= 4);
    OK(cls_graph_launch(exec, stream));
    for (int i = 0; i < MANY; i++)
        expect_scaled(out[i], (float)i);
    expect_scaled(x, 2);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    for (int i = 0; i < MANY; i++)
        OK(cls_buffer_destroy(out[i].buffer));
}

/* --- memory of the capture --- */

static cls_array temporary(void) {
    cls_buffer buffer;
    OK(cls_malloc_async(stream, sizeof numbers, &buffer));
    return cls_array_of(buffer, CLS_F32, CELLS);
}

/* Of three values in memory of the capture one is used outside of the chain, and one is not freed: these are written. */
static void test_values_in_no_memory(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats();
    OK(cls_stream_begin_capture(stream, "values"));
    const cls_array inner = temporary(), copied = temporary(), left = temporary();
    scale(x, inner, 2);
    scale(inner, copied, 2);
    scale(copied, left, 2);
    OK(cls_copy_d2d_async(y.buffer, 0, copied.buffer, 0, sizeof numbers, stream));
    OK(cls_free_async(inner.buffer, stream));
    OK(cls_free_async(copied.buffer, stream));
    cls_graph_exec exec = end_fused();
    expect_fused(exec, 2, 3, 1);
    OK(cls_graph_launch(exec, stream));
    expect_scaled(y, 4);
    expect_scaled(left, 8);
    EXPECT(CLS_ERROR_NOT_FOUND, cls_graph_bind(exec, inner.buffer, y.buffer));
    OK(cls_graph_bind(exec, copied.buffer, x.buffer));
    OK(cls_graph_bind(exec, left.buffer, y.buffer));
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(left.buffer));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
}

/* A buffer that was not allocated in the capture may be in another graph too: it is written, freed or not. */
static void test_memory_from_outside_is_written(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), outside = floats();
    cls_graph reader;
    OK(cls_stream_begin_capture(elsewhere, "reader"));
    OK(cls_copy_d2d_async(x.buffer, 0, outside.buffer, 0, sizeof numbers, elsewhere));
    OK(cls_stream_end_capture(elsewhere, &reader));
    cls_graph_exec reads;
    OK(cls_graph_instantiate(reader, NULL, &reads));
    OK(cls_stream_begin_capture(stream, "writer"));
    scale(x, outside, 2);
    scale(outside, y, 2);
    OK(cls_buffer_destroy(outside.buffer));
    cls_graph_exec writes = end_fused();
    expect_fused(writes, 1, 2, 1);
    OK(cls_graph_launch(writes, stream));
    expect_scaled(y, 4);
    OK(cls_graph_launch(reads, stream));
    expect_scaled(x, 2);
    OK(cls_graph_exec_destroy(reads));
    OK(cls_graph_exec_destroy(writes));
    OK(cls_graph_destroy(reader));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
}

/* --- changes --- */

/* Nodes 0 to 2 are fused, 3 is a copy to z, 4 and 5 are fused. */
static void submit_two_chains(cls_array x, cls_array y, cls_array z, double factor) {
    scale(x, y, factor);
    scale(y, y, 2);
    scale(y, y, 2);
    OK(cls_copy_d2d_async(z.buffer, 0, y.buffer, 0, 4 * z.count, stream));
    scale(y, y, 2);
    scale(y, y, 2);
}

static cls_graph_exec capture_two_chains(cls_array x, cls_array y, cls_array z) {
    OK(cls_stream_begin_capture(stream, "two"));
    submit_two_chains(x, y, z, 2);
    return end_fused();
}

static void test_other_buffers(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats(), in = floats(), out = floats();
    cls_graph_exec exec = capture_two_chains(x, y, z);
    expect_fused(exec, 3, 5, 2);
    for (int i = 0; i < 3; i++) {
        OK(cls_graph_launch(exec, stream));
        expect_scaled(i ? out : y, i == 2 ? 64 : 32);
        expect_scaled(z, i == 2 ? 16 : 8);
        OK(cls_graph_bind(exec, x.buffer, in.buffer));
        OK(cls_graph_bind(exec, y.buffer, out.buffer));
        scale(x, in, i ? 2 : 1);
    }
    expect_scaled(x, 1);
    OK(cls_graph_exec_destroy(exec));
    const cls_array all[] = {x, y, z, in, out};
    for (int i = 0; i < 5; i++)
        OK(cls_buffer_destroy(all[i].buffer));
}

/* Another capture of the same code: other arrays, of another length, and another parameter. */
static void test_update(void **state) {
    (void)state;
    cls_array x = floats(), y = floats(), z = floats(), in = floats(), out = floats();
    cls_graph_exec exec = capture_two_chains(x, y, z);
    cls_graph other;
    in.count = out.count = z.count = 200;
    OK(cls_stream_begin_capture(stream, "other"));
    submit_two_chains(in, out, z, 3);
    OK(cls_stream_end_capture(stream, &other));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_graph_update(exec, other));
    OK(cls_graph_destroy(other));
    OK(cls_graph_launch(exec, stream));
    expect_fused(exec, 3, 5, 2);
    expect_scaled(y, 32);
    expect_scaled(z, 12);
    expect_scaled(out, 48);
    const cls_array all[] = {x, y, z, in, out};
    for (int i = 0; i < 5; i++)
        OK(cls_buffer_destroy(all[i].buffer));
    OK(cls_graph_exec_destroy(exec));
}

/* Ends a capture, and expects the update to be refused with this detail. */
static void expect_refused(cls_graph_exec exec, const char *detail) {
    cls_graph other;
    OK(cls_stream_end_capture(stream, &other));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_update(exec, other));
    expect_detail(detail);
    OK(cls_graph_destroy(other));
}

static void test_update_says_what_differs(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats();
    cls_graph_exec exec = capture_two_chains(x, y, z);
    OK(cls_stream_begin_capture(stream, "shorter"));
    expect_refused(exec, "has 6 nodes, and the other one 0");
    OK(cls_stream_begin_capture(stream, "other operation"));
    scale(x, y, 2);
    OK(cls_unary_async(CLS_UNARY_NEG, y, y, stream));
    scale(y, y, 2);
    OK(cls_copy_d2d_async(z.buffer, 0, y.buffer, 0, sizeof numbers, stream));
    scale(y, y, 2);
    scale(y, y, 2);
    expect_refused(exec, "node 1 of graph 'two'");
    OK(cls_stream_begin_capture(stream, "not connected"));
    scale(x, y, 2);
    scale(y, y, 2);
    scale(y, y, 2);
    OK(cls_copy_d2d_async(z.buffer, 0, y.buffer, 0, sizeof numbers, stream));
    scale(y, y, 2);
    scale(x, x, 2);
    expect_refused(exec, "node 4 of graph 'two' is not fused any more");
    OK(cls_graph_launch(exec, stream));
    expect_scaled(y, 32);
    expect_scaled(x, 1);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
    OK(cls_buffer_destroy(z.buffer));
}

static void test_what_is_refused(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats();
    const cls_launch shape = {1, {1, 1, 1}, {1, 1, 1}};
    cls_graph_exec exec = capture_two_chains(x, y, z);
    const uint64_t fused[] = {0, 1, 2, 4, 5};
    for (int i = 0; i < 5; i++) {
        EXPECT(CLS_ERROR_UNSUPPORTED, cls_graph_set_enabled(exec, fused[i], 0));
        expect_detail("is fused");
        EXPECT(CLS_ERROR_UNSUPPORTED, cls_graph_set_args(exec, fused[i], &shape, NULL, 0));
        expect_detail("is fused");
    }
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_graph_set_enabled(exec, 6, 0));
    OK(cls_graph_set_enabled(exec, 3, 0));
    OK(cls_graph_launch(exec, stream));
    expect_scaled(y, 32);
    expect_scaled(z, 1);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
    OK(cls_buffer_destroy(z.buffer));
}

static void test_a_failed_node_keeps_the_chain_from_running(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats();
    OK(cls_stream_begin_capture(stream, "fails"));
    OK(rig_fail(stream, "broken", CL_INVALID_OPERATION));
    scale(x, y, 2);
    scale(y, y, 2);
    cls_graph_exec exec = end_fused();
    expect_fused(exec, 2, 2, 1);
    assert_int_not_equal(cls_graph_launch(exec, stream), CLS_SUCCESS);
    expect_detail("broken");
    OK(cls_stream_reset(stream));
    expect_scaled(y, 1);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
}

static void test_a_fused_graph_in_a_graph(void **state) {
    (void)state;
    const cls_array x = floats(), y = floats(), z = floats();
    cls_graph_exec inner = capture_two_chains(x, y, z);
    OK(cls_stream_begin_capture(stream, "outer"));
    OK(cls_graph_launch_async(inner, stream));
    scale(y, y, 2);
    scale(y, z, 2);
    cls_graph_exec outer = end_fused();
    expect_fused(outer, 4, 2, 1);
    OK(cls_graph_exec_destroy(inner));
    OK(cls_graph_launch(outer, stream));
    expect_scaled(y, 64);
    expect_scaled(z, 128);
    OK(cls_graph_exec_destroy(outer));
    OK(cls_buffer_destroy(x.buffer));
    OK(cls_buffer_destroy(y.buffer));
    OK(cls_buffer_destroy(z.buffer));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_host_function_cuts),
        TEST(another_branch_cuts),
        TEST(overlapping_views_cut),
        TEST(many_outputs),
        TEST(values_in_no_memory),
        TEST(memory_from_outside_is_written),
        TEST(other_buffers),
        TEST(update),
        TEST(update_says_what_differs),
        TEST(what_is_refused),
        TEST(a_failed_node_keeps_the_chain_from_running),
        TEST(a_fused_graph_in_a_graph),
        TEST(random_chains),
        TEST(every_operation),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

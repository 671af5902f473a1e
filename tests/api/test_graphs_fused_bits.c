/* SPDX-License-Identifier: MIT */
/*
 * What graphs with fused operations compute, bit for bit: random chains leave in memory what their operations leave one
 * by one, and what a batch of them computes; every operation on every type has the bits of a batch's kernel. Short of long
 * effort it is a part of them.
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

enum { TYPES = 9, ARRAYS = 14, KEPT = 9, MOST = 1000, STEPS = 40, FEW_STEPS = 14, HANG_S = 280 };

static const cls_dtype types[TYPES] = {CLS_F32, CLS_I32, CLS_U8,  CLS_I64, CLS_U32,
                                       CLS_I8,  CLS_I16, CLS_U16, CLS_F64};
static cls_stream stream;
static unsigned n_types; /* without f64 where the device has none */

static int begin(void **state) {
    cls_buffer probe = rig_cells(4);
    (void)state;
    stream = rig_named("main");
    const cls_array f64 = cls_array_of(probe, CLS_F64, 2);
    n_types = cls_unary(CLS_UNARY_NEG, f64, f64, stream) ? TYPES - 1 : TYPES;
    OK(cls_buffer_destroy(probe));
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_stream_destroy(stream));
    return 0;
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

/* Operations with the same bits in every fused kernel. */
static const int exact_unary[] = {CLS_UNARY_COPY, CLS_UNARY_NEG,  CLS_UNARY_ABS,  CLS_UNARY_SQR,
                                  CLS_UNARY_RELU, CLS_UNARY_SIGN, CLS_UNARY_CEIL, CLS_UNARY_FLOOR};
static const int exact_param[] = {CLS_UNARY_SCALE, CLS_UNARY_ADD_SCALAR, CLS_UNARY_CLAMP_MIN,
                                  CLS_UNARY_CLAMP_MAX, CLS_UNARY_LEAKY_RELU};
static const int exact_binary[] = {CLS_BINARY_ADD, CLS_BINARY_SUB, CLS_BINARY_MUL, CLS_BINARY_MIN,
                                   CLS_BINARY_MAX, CLS_BINARY_EQ,  CLS_BINARY_NE,  CLS_BINARY_LT,
                                   CLS_BINARY_LE,  CLS_BINARY_GT,  CLS_BINARY_GE};
#define PICK(list) list[pick(sizeof(list) / sizeof *(list))]

static bool is_comparison(int op) { return op >= CLS_BINARY_EQ && op <= CLS_BINARY_GE; }

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
        result = is_comparison(op->op) ? CLS_U8 : type;
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
        OK(cls_stream_launch_host_async(stream, rig_do_nothing, NULL));
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
    cls_graph_exec exec = rig_end_fused(stream);
    for (int launch = 0; launch < 2; launch++) {
        fill_all(&program);
        OK(cls_graph_launch(exec, stream));
        compare(&program, want, "fused");
    }
    if (number % 4 == 0) {
        fill_all(&program);
        check_batch(&program, (const unsigned char **)want);
    }
    const uint64_t fused = rig_graph_statistics(exec).fused_nodes;
    OK(cls_graph_exec_destroy(exec));
    for (unsigned i = 0; i < KEPT; i++) {
        OK(cls_buffer_destroy(program.buffers[i]));
        free(want[i]);
    }
    return fused;
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

/* Submits an operation and records it; of those that the type has not, neither. f32 has all. */
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
    if (status == CLS_ERROR_TYPE_MISMATCH && family->in[0].dtype != CLS_F32)
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

/* The library's last operation of a kind: they are 1, 2 ... */
static int last_op(int kind) {
    int op = 0;
    const char *name;
    do {
        op++;
        name = kind == UNARY    ? cls_unary_op_name((cls_unary_op)op)
               : kind == PARAM  ? cls_unary_param_op_name((cls_unary_param_op)op)
               : kind == BINARY ? cls_binary_op_name((cls_binary_op)op)
                                : "?";
    } while (strcmp(name, "?") != 0);
    return op - 1;
}

static void submit_family(struct family *family, int kind, cls_dtype type) {
    const int last = last_op(kind), stride = effort_is_long() ? 1 : last / 3 + 1;
    assert_true(last < OUTPUTS && (last > 1) == (kind <= BINARY));
    for (int op = 1; op <= last; op += stride)
        submit_both(family, kind, op, kind == BINARY && is_comparison(op) ? CLS_U8 : type);
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
    cls_graph_exec exec = rig_end_fused(stream);
    rig_expect_fused(exec, 1, family.n_out, 1);
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
    rig_need("rounding");
    const unsigned most = effort_is_long() ? n_types : 1; /* each builds a kernel an operation */
    for (unsigned t = 0; t < most; t++)
        for (int kind = UNARY; kind <= CAST; kind++) {
            watchdog(HANG_S);
            check_family(kind, types[t]);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(random_chains),
        TEST(every_operation),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

/* SPDX-License-Identifier: MIT */
/*
 * (h) Batches. What executing a prepared one costs, against launching its kernel in raw OpenCL; a chain from
 * host data against one call at a time; fused chains on device arrays against single calls, and the bytes
 * that they move a second against a device copy. bench/peers/chains.py measures the same chains in other
 * libraries.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "raw_launch.h"
#include "rig.h"

enum { SMALL = 16, HOST_COUNT = 1 << 20 };

/* --- what an execution costs --- */

struct prepared {
    cls_batch batch;
    cls_stream stream;
    unsigned launches;
};

static double prepared_run(void *arg, double *also) {
    const struct prepared *prepared = arg;
    const double start = now_seconds();
    for (unsigned i = 0; i < prepared->launches; i++)
        CLS(cls_batch_execute_async(prepared->batch, prepared->stream));
    const double submitted = now_seconds();
    CLS(cls_stream_synchronize(prepared->stream));
    *also = 1e6 * (submitted - start) / prepared->launches;
    return 1e6 * (now_seconds() - start) / prepared->launches;
}

struct raw {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem a, b, out;
    unsigned launches;
    bool events, chained;
    bool args_set; /* once for all launches */
    struct raw_ring ring;
};

static void raw_arguments(const struct raw *raw) {
    const cl_ulong zero = 0, count = SMALL;
    const cl_float factor = 2;
    CL(clSetKernelArg(raw->kernel, 0, sizeof raw->a, &raw->a));
    CL(clSetKernelArg(raw->kernel, 1, sizeof zero, &zero));
    CL(clSetKernelArg(raw->kernel, 2, sizeof raw->b, &raw->b));
    CL(clSetKernelArg(raw->kernel, 3, sizeof zero, &zero));
    CL(clSetKernelArg(raw->kernel, 4, sizeof factor, &factor));
    CL(clSetKernelArg(raw->kernel, 5, sizeof raw->out, &raw->out));
    CL(clSetKernelArg(raw->kernel, 6, sizeof zero, &zero));
    CL(clSetKernelArg(raw->kernel, 7, sizeof count, &count));
}

static void raw_submit(const struct raw *raw, cl_event after, cl_event *event) {
    const size_t one = 1;
    if (!raw->args_set)
        raw_arguments(raw);
    CL(clEnqueueNDRangeKernel(raw->queue, raw->kernel, 1, NULL, &one, &one, after ? 1 : 0,
                              after ? &after : NULL, event));
}

static double raw_run(void *arg, double *also) {
    struct raw *raw = arg;
    cl_event last = NULL;
    const double start = now_seconds();
    for (unsigned i = 0; i < raw->launches; i++) {
        cl_event event = NULL;
        raw_submit(raw, raw->chained ? last : NULL, raw->events ? &event : NULL);
        if (raw->events)
            raw_ring_keep(&raw->ring, event);
        last = event;
    }
    const double submitted = now_seconds();
    CL(clFinish(raw->queue));
    raw_ring_release(&raw->ring);
    *also = 1e6 * (submitted - start) / raw->launches;
    return 1e6 * (now_seconds() - start) / raw->launches;
}

/* relu(x) * 2 + b, all on the device. */
static cls_batch scaled_sum(const struct rig *rig, cls_buffer a, cls_buffer b, cls_buffer out,
                            size_t count) {
    cls_batch batch;
    cls_value x, y;
    CLS(cls_batch_create(rig->context, NULL, &batch));
    CLS(cls_batch_array(batch, cls_array_of(a, CLS_F32, count), &x));
    CLS(cls_batch_array(batch, cls_array_of(b, CLS_F32, count), &y));
    CLS(cls_batch_relu(batch, x, &x));
    CLS(cls_batch_scale(batch, x, 2, &x));
    CLS(cls_batch_add(batch, x, y, &x));
    CLS(cls_batch_store(batch, x, cls_array_of(out, CLS_F32, count)));
    CLS(cls_batch_prepare(batch));
    return batch;
}

static cls_buffer zeros(const struct rig *rig, size_t bytes) {
    const uint32_t zero = 0;
    cls_buffer buffer;
    CLS(cls_buffer_create(rig->context, bytes, &buffer));
    CLS(cls_fill(buffer, 0, bytes, &zero, sizeof zero, NULL));
    return buffer;
}

static void raw_ways(const struct rig *rig, const struct prepared *prepared,
                     const cls_buffer memory[3], struct raw raws[3]) {
    for (int i = 0; i < 3; i++) {
        raws[i].queue = rig_queue(rig, i == 2);
        raws[i].kernel = rig_raw_kernel(rig, "scaled_sum");
        raws[i].a = rig_mem_of(memory[0]);
        raws[i].b = rig_mem_of(memory[1]);
        raws[i].out = rig_mem_of(memory[2]);
        raws[i].launches = prepared->launches;
        raws[i].events = i > 0;
        raws[i].chained = i == 2;
    }
}

/* A launch is to set its arguments and to enqueue, as in bench/launch.c; the second row has no bar, and
 * raw launches whose arguments stay set, as the batch's do. */
static void execution_cost(const struct rig *rig) {
    const cls_buffer memory[] = {zeros(rig, 4 * SMALL), zeros(rig, 4 * SMALL),
                                 zeros(rig, 4 * SMALL)};
    struct prepared prepared = {scaled_sum(rig, memory[0], memory[1], memory[2], SMALL),
                                rig_stream(rig, CLS_ORDER_AUTO),
                                bench_options()->quick ? 500 : 2000};
    struct raw *raws = allocate(3 * sizeof *raws);
    raw_ways(rig, &prepared, memory, raws);
    const struct way ways[] = {{"in-order, no events", raw_run, &raws[0]},
                               {"in-order, event each", raw_run, &raws[1]},
                               {"out-of-order, chained", raw_run, &raws[2]}};
    struct contest contest = {.name = "a prepared batch of one kernel",
                              .unit = "us",
                              .ours = {"clstream", prepared_run, &prepared},
                              .rivals = ways,
                              .n_rivals = rig->out_of_order ? 3 : 2,
                              .bar = 1.05,
                              .rounds = bench_options()->quick ? 21 : 61,
                              .also = "a prepared batch of one kernel: submit only"};
    bench_contest(&contest);
    for (int i = 0; i < 3; i++) {
        raw_arguments(&raws[i]);
        raws[i].args_set = true;
    }
    contest.name = "a prepared batch, against arguments set once";
    contest.also = NULL;
    contest.bar = 0;
    bench_contest(&contest);
    CLS(cls_batch_destroy(prepared.batch));
}

/* --- a chain from host data --- */

struct host_chain {
    const struct rig *rig;
    cls_batch batch;
    cls_value x, y;
    cls_array device[3]; /* input, output, and the other operand */
    float *in, *out;
};

static double batched_run(void *arg, double *also) {
    const struct host_chain *chain = arg;
    const double start = now_seconds();
    CLS(cls_batch_bind_upload(chain->batch, chain->x, chain->in));
    CLS(cls_batch_execute_async(chain->batch, NULL));
    CLS(cls_batch_read(chain->batch, chain->y, chain->out));
    *also = 0;
    return 1e3 * (now_seconds() - start);
}

/* One call at a time, each with its transfers, as without device arrays. */
static void single(const struct host_chain *chain, const float *in, int which) {
    const cls_array a = chain->device[0], out = chain->device[1];
    const size_t bytes = a.count * sizeof(float);
    CLS(cls_copy_h2d(a.buffer, 0, in, bytes, NULL));
    if (which == 0)
        CLS(cls_unary(CLS_UNARY_RELU, a, out, NULL));
    else if (which == 1)
        CLS(cls_unary_param(CLS_UNARY_SCALE, a, out, 2, NULL));
    else
        CLS(cls_binary(CLS_BINARY_ADD, a, chain->device[2], out, NULL));
    CLS(cls_copy_d2h(chain->out, out.buffer, 0, bytes, NULL));
}

static double singles_run(void *arg, double *also) {
    const struct host_chain *chain = arg;
    const double start = now_seconds();
    for (int i = 0; i < 3; i++)
        single(chain, i ? chain->out : chain->in, i);
    *also = 0;
    return 1e3 * (now_seconds() - start);
}

static void from_host(const struct rig *rig) {
    struct host_chain chain = {.rig = rig,
                               .in = allocate(HOST_COUNT * sizeof(float)),
                               .out = allocate(HOST_COUNT * sizeof(float))};
    cls_batch_statistics facts = CLS_BATCH_STATISTICS_INIT;
    cls_value other;
    double also;
    for (int i = 0; i < HOST_COUNT; i++)
        chain.in[i] = (float)(i % 100 - 50);
    for (int i = 0; i < 3; i++)
        chain.device[i] = cls_array_of(zeros(rig, HOST_COUNT * sizeof(float)), CLS_F32, HOST_COUNT);
    CLS(cls_batch_create(rig->context, NULL, &chain.batch));
    CLS(cls_batch_upload(chain.batch, chain.in, CLS_F32, HOST_COUNT, &chain.x));
    CLS(cls_batch_array(chain.batch, chain.device[2], &other));
    CLS(cls_batch_relu(chain.batch, chain.x, &chain.y));
    CLS(cls_batch_scale(chain.batch, chain.y, 2, &chain.y));
    CLS(cls_batch_add(chain.batch, chain.y, other, &chain.y));
    batched_run(&chain, &also);
    CLS(cls_batch_get_statistics(chain.batch, &facts));
    bench_note("relu, scale, add: %u transfers against 6 of single calls",
               (unsigned)(facts.uploads + facts.downloads));
    const struct way rival = {"single calls", singles_run, &chain};
    bench_contest(&(struct contest){.name = "3 operations from host data, 4 MiB",
                                    .unit = "ms",
                                    .measure = MEASURE_SPEEDUP,
                                    .ours = {"clstream", batched_run, &chain},
                                    .rivals = &rival,
                                    .n_rivals = 1,
                                    .bar = 1 / 0.7});
    CLS(cls_batch_destroy(chain.batch));
    free(chain.in);
    free(chain.out);
}

/* --- chains on device arrays --- */

/* A step of a chain: an operation on what came before, and perhaps on the second array. */
struct link {
    enum { LINK_UNARY, LINK_PARAM, LINK_BINARY } kind;
    int op;
    double param;
};

static const struct link cheap[] = {
    {LINK_UNARY, CLS_UNARY_RELU, 0},  {LINK_PARAM, CLS_UNARY_SCALE, 2},
    {LINK_BINARY, CLS_BINARY_ADD, 0}, {LINK_PARAM, CLS_UNARY_CLAMP_MAX, 4},
    {LINK_UNARY, CLS_UNARY_ABS, 0},   {LINK_PARAM, CLS_UNARY_ADD_SCALAR, -0.25},
    {LINK_UNARY, CLS_UNARY_SQR, 0},   {LINK_UNARY, CLS_UNARY_NEG, 0},
};
/* sqrt(abs(sigmoid(tanh(relu(a) * 2 + b) * 0.5 - 0.25))) */
static const struct link functions[] = {
    {LINK_UNARY, CLS_UNARY_RELU, 0},    {LINK_PARAM, CLS_UNARY_SCALE, 2},
    {LINK_BINARY, CLS_BINARY_ADD, 0},   {LINK_UNARY, CLS_UNARY_TANH, 0},
    {LINK_PARAM, CLS_UNARY_SCALE, 0.5}, {LINK_PARAM, CLS_UNARY_ADD_SCALAR, -0.25},
    {LINK_UNARY, CLS_UNARY_SIGMOID, 0}, {LINK_UNARY, CLS_UNARY_ABS, 0},
    {LINK_UNARY, CLS_UNARY_SQRT, 0},
};

struct chain {
    const struct link *links;
    unsigned n_links;
    cls_array a, b, out;
    cls_batch batch;
    cls_stream stream;
    size_t bytes; /* moved by one execution */
    unsigned repeats;
    cl_command_queue queue; /* of the copy that moves as much */
};

static void submit_link(const struct chain *chain, const struct link *link, cls_array in) {
    if (link->kind == LINK_UNARY)
        CLS(cls_unary_async((cls_unary_op)link->op, in, chain->out, chain->stream));
    else if (link->kind == LINK_PARAM)
        CLS(cls_unary_param_async((cls_unary_param_op)link->op, in, chain->out, link->param,
                                  chain->stream));
    else
        CLS(cls_binary_async((cls_binary_op)link->op, in, chain->b, chain->out, chain->stream));
}

static double unfused_run(void *arg, double *also) {
    const struct chain *chain = arg;
    const double start = now_seconds();
    for (unsigned k = 0; k < chain->repeats; k++)
        for (unsigned i = 0; i < chain->n_links; i++)
            submit_link(chain, &chain->links[i], i ? chain->out : chain->a);
    CLS(cls_stream_synchronize(chain->stream));
    *also = 0;
    return 1e3 * (now_seconds() - start) / chain->repeats;
}

static double fused_run(void *arg, double *also) {
    const struct chain *chain = arg;
    const double start = now_seconds();
    for (unsigned k = 0; k < chain->repeats; k++)
        CLS(cls_batch_execute_async(chain->batch, chain->stream));
    CLS(cls_stream_synchronize(chain->stream));
    *also = 0;
    return 1e3 * (now_seconds() - start) / chain->repeats;
}

static double fused_rate(void *arg, double *also) {
    const struct chain *chain = arg;
    return (double)chain->bytes / (1e6 * fused_run(arg, also));
}

/* Copies half as many bytes: each is read and written. */
static double copy_rate(void *arg, double *also) {
    const struct chain *chain = arg;
    const size_t bytes = chain->a.count * sizeof(float);
    const double start = now_seconds();
    for (unsigned k = 0; k < chain->repeats; k++)
        CL(clEnqueueCopyBuffer(chain->queue, rig_mem_of(chain->a.buffer),
                               rig_mem_of(chain->out.buffer), 0, 0, bytes, 0, NULL, NULL));
    CL(clFinish(chain->queue));
    *also = 0;
    return 2.0 * (double)bytes * chain->repeats / (1e9 * (now_seconds() - start));
}

static cls_value record_link(cls_batch batch, const struct link *link, cls_value x, cls_value b) {
    cls_value y;
    if (link->kind == LINK_UNARY)
        CLS(cls_batch_unary(batch, (cls_unary_op)link->op, x, &y));
    else if (link->kind == LINK_PARAM)
        CLS(cls_batch_unary_param(batch, (cls_unary_param_op)link->op, x, link->param, &y));
    else
        CLS(cls_batch_binary(batch, (cls_binary_op)link->op, x, b, &y));
    return y;
}

static cls_value begin_batch(const struct rig *rig, struct chain *chain, cls_value *b) {
    cls_value a;
    CLS(cls_batch_create(rig->context, NULL, &chain->batch));
    CLS(cls_batch_array(chain->batch, chain->a, &a));
    CLS(cls_batch_array(chain->batch, chain->b, b));
    return a;
}

static void record_chain(const struct rig *rig, struct chain *chain) {
    cls_value b, x = begin_batch(rig, chain, &b);
    for (unsigned i = 0; i < chain->n_links; i++)
        x = record_link(chain->batch, &chain->links[i], x, b);
    CLS(cls_batch_store(chain->batch, x, chain->out));
    chain->bytes = 3 * chain->a.count * sizeof(float);
}

static void rate_row(struct chain *chain, const char *name) {
    const struct way rival = {"clEnqueueCopyBuffer", copy_rate, chain};
    CLS(cls_batch_prepare(chain->batch));
    bench_contest(&(struct contest){.name = name,
                                    .unit = "GB/s",
                                    .measure = MEASURE_RATE,
                                    .ours = {"clstream", fused_rate, chain},
                                    .rivals = &rival,
                                    .n_rivals = 1});
    CLS(cls_batch_destroy(chain->batch));
}

static void chain_rows(const struct rig *rig, struct chain *chain, const char *name, double bar) {
    const struct way rival = {"single calls", unfused_run, chain};
    char row[80];
    record_chain(rig, chain);
    CLS(cls_batch_prepare(chain->batch));
    snprintf(row, sizeof row, "%s, against single calls", name);
    bench_contest(&(struct contest){.name = row,
                                    .unit = "ms",
                                    .measure = MEASURE_SPEEDUP,
                                    .ours = {"clstream", fused_run, chain},
                                    .rivals = &rival,
                                    .n_rivals = 1,
                                    .bar = bar});
    rate_row(chain, name);
}

/* where(a > b, u8 of a as f32, b): a mask, a cast there and back. */
static void mixed_row(const struct rig *rig, struct chain *chain) {
    cls_value b, a = begin_batch(rig, chain, &b), mask, narrow, y;
    CLS(cls_batch_binary(chain->batch, CLS_BINARY_GT, a, b, &mask));
    CLS(cls_batch_cast(chain->batch, a, CLS_U8, &narrow));
    CLS(cls_batch_cast(chain->batch, narrow, CLS_F32, &narrow));
    CLS(cls_batch_where(chain->batch, mask, narrow, b, &y));
    CLS(cls_batch_store(chain->batch, y, chain->out));
    chain->bytes = 3 * chain->a.count * sizeof(float);
    rate_row(chain, "where and casts");
}

static void sum_row(const struct rig *rig, struct chain *chain) {
    cls_value b, x = begin_batch(rig, chain, &b);
    for (unsigned i = 0; i < 3; i++)
        x = record_link(chain->batch, &chain->links[i], x, b);
    CLS(cls_batch_reduce(chain->batch, CLS_REDUCE_SUM, x, &x));
    chain->bytes = 2 * chain->a.count * sizeof(float);
    rate_row(chain, "sum of relu(a)*2+b");
}

/* relu(a + vector): a vector for each row, or for each column, of a matrix of rows that are no whole vectors. */
static void broadcast_row(const struct rig *rig, struct chain *chain, bool by_column) {
    enum { COLUMNS = 1001 };
    const cls_array a = chain->a;
    const size_t rows = a.count / COLUMNS;
    cls_value x, vector;
    chain->a.count = rows * COLUMNS;
    CLS(cls_batch_create(rig->context, NULL, &chain->batch));
    CLS(cls_batch_array(chain->batch, chain->a, &x));
    CLS(cls_batch_array(
        chain->batch, cls_array_of(chain->b.buffer, CLS_F32, by_column ? rows : COLUMNS), &vector));
    if (by_column)
        CLS(cls_batch_binary_columns(chain->batch, CLS_BINARY_ADD, x, vector, &x));
    else
        CLS(cls_batch_binary_rows(chain->batch, CLS_BINARY_ADD, x, vector, &x));
    CLS(cls_batch_relu(chain->batch, x, &x));
    CLS(cls_batch_store(chain->batch, x, cls_array_of(chain->out.buffer, CLS_F32, chain->a.count)));
    chain->bytes = 2 * chain->a.count * sizeof(float);
    rate_row(chain, by_column ? "relu(a + a column)" : "relu(a + a row)");
    chain->a = a;
}

static void on_device(const struct rig *rig) {
    const size_t count = rig_is_cpu(rig) ? (size_t)4 << 20 : (size_t)64 << 20;
    struct chain chain = {.links = cheap, .n_links = 3, .repeats = rig_is_cpu(rig) ? 2 : 100};
    chain.a = cls_array_of(zeros(rig, count * sizeof(float)), CLS_F32, count);
    chain.b = cls_array_of(zeros(rig, count * sizeof(float)), CLS_F32, count);
    chain.out = cls_array_of(zeros(rig, count * sizeof(float)), CLS_F32, count);
    chain.stream = rig_stream(rig, CLS_ORDER_AUTO);
    chain.queue = rig_queue(rig, false);
    bench_note("arrays of %zu MiB", count * sizeof(float) >> 20);
    chain_rows(rig, &chain, "relu(a)*2+b", 0);
    chain.n_links = sizeof cheap / sizeof *cheap;
    chain_rows(rig, &chain, "8 cheap operations", 2);
    chain.links = functions;
    chain.n_links = sizeof functions / sizeof *functions;
    chain_rows(rig, &chain, "9 operations with tanh and sigmoid", 0);
    chain.links = cheap;
    mixed_row(rig, &chain);
    sum_row(rig, &chain);
    broadcast_row(rig, &chain, false);
    broadcast_row(rig, &chain, true);
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "batch");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("(h) batches");
    execution_cost(&rig);
    from_host(&rig);
    on_device(&rig);
    rig_close(&rig);
    return bench_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * (s) Graphs. Launches in a row, captured and replayed, against raw loops of the same launches; what a launch call
 * costs its caller against submitting its nodes; a fork of four branches against the same by streams and events;
 * operations in a row that are fused, against a batch and single calls; the step of examples/train against its calls;
 * and rebinding a buffer.
 */
#include <stdio.h>

#include "../examples/learning.h"
#include "harness.h"
#include "raw_launch.h"

enum { NODES = 100, BRANCHES = 4, OF_BRANCH = NODES / BRANCHES };

static cls_graph_exec end_capture(cls_stream stream, bool background) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph graph;
    cls_graph_exec exec;
    config.background = background;
    CLS(cls_stream_end_capture(stream, &graph));
    CLS(cls_graph_instantiate(graph, &config, &exec));
    CLS(cls_graph_destroy(graph));
    return exec;
}

/* --- launches in a row --- */

struct chain {
    cls_stream stream;
    cls_kernel kernel;
    cls_buffer buffer;
    cls_graph_exec exec, background; /* the same */
    unsigned graphs;                 /* launches of the graph in a run */
};

static void submit_chain(const struct chain *chain) {
    const cls_launch shape = {1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, NULL, 0};
    const cls_arg args[] = {cls_arg_buffer(chain->buffer), cls_arg_u32(1)};
    for (unsigned i = 0; i < NODES; i++)
        CLS(cls_kernel_launch_async(chain->kernel, &shape, args, 2, chain->stream));
}

/* Microseconds a node; `also`: of the calls alone. `exec` NULL: by single calls. */
static double run_chain(const struct chain *chain, cls_graph_exec exec, double *also) {
    const double start = now_seconds();
    for (unsigned i = 0; i < chain->graphs; i++)
        if (exec)
            CLS(cls_graph_launch_async(exec, chain->stream));
        else
            submit_chain(chain);
    const double submitted = now_seconds();
    CLS(cls_stream_synchronize(chain->stream));
    const double scale = 1e6 / (chain->graphs * NODES);
    *also = scale * (submitted - start);
    return scale * (now_seconds() - start);
}

static double replay_run(void *arg, double *also) {
    const struct chain *chain = arg;
    return run_chain(chain, chain->exec, also);
}

static double background_run(void *arg, double *also) {
    const struct chain *chain = arg;
    return run_chain(chain, chain->background, also);
}

static double background_call(void *chain, double *also) {
    background_run(chain, also);
    return *also;
}

static double eager_run(void *chain, double *also) { return run_chain(chain, NULL, also); }

static double eager_call(void *chain, double *also) {
    eager_run(chain, also);
    return *also;
}

/* Raw launches whose arguments are set once. */
static double bare_run(void *arg, double *also) {
    struct raw_loop *loop = arg;
    const size_t one = 1;
    const cl_uint value = 1;
    cl_event last = NULL;
    CL(clSetKernelArg(loop->kernel, 0, sizeof loop->memory, &loop->memory));
    CL(clSetKernelArg(loop->kernel, 1, sizeof value, &value));
    const bool chained = loop->events == RAW_CHAINED;
    const double start = now_seconds();
    for (unsigned i = 0; i < loop->launches; i++) {
        const cl_event before = last;
        CL(clEnqueueNDRangeKernel(loop->queue, loop->kernel, 1, NULL, &one, &one, before ? 1 : 0,
                                  before ? &before : NULL, chained ? &last : NULL));
        if (chained)
            raw_ring_keep(&loop->ring, last);
    }
    const double submitted = now_seconds();
    CL(clFinish(loop->queue));
    raw_ring_release(&loop->ring);
    *also = 1e6 * (submitted - start) / loop->launches;
    return 1e6 * (now_seconds() - start) / loop->launches;
}

static struct raw_loop *raw_loop(const struct rig *rig, const struct chain *chain,
                                 enum raw_events events) {
    struct raw_loop *loop = allocate(sizeof *loop);
    loop->queue = rig_queue(rig, events == RAW_CHAINED);
    loop->kernel = rig_raw_kernel(rig, "advance");
    loop->memory = rig_mem_of(chain->buffer);
    loop->events = events;
    loop->launches = chain->graphs * NODES;
    return loop;
}

static void check_chain(struct chain *chain) {
    const uint32_t zero = 0;
    uint32_t sum;
    double also;
    CLS(cls_fill(chain->buffer, 0, sizeof zero, &zero, sizeof zero, NULL));
    replay_run(chain, &also);
    CLS(cls_copy_d2h(&sum, chain->buffer, 0, sizeof sum, chain->stream));
    if (sum != chain->graphs * NODES)
        die("%u replayed launches added up to %u", chain->graphs * NODES, (unsigned)sum);
}

static void open_chain(const struct rig *rig, struct chain *chain) {
    const uint32_t zero[16] = {0};
    *chain = (struct chain){.stream = rig_stream(rig, CLS_ORDER_AUTO),
                            .kernel = rig_kernel(rig, "advance"),
                            .graphs = bench_options()->quick ? 10 : 20};
    CLS(cls_buffer_from_host(rig->context, zero, sizeof zero, &chain->buffer));
    for (int background = 0; background < 2; background++) {
        CLS(cls_stream_begin_capture(chain->stream, "chain"));
        submit_chain(chain);
        *(background ? &chain->background : &chain->exec) = end_capture(chain->stream, background);
    }
    check_chain(chain);
}

static void close_chain(struct chain *chain) {
    CLS(cls_graph_exec_destroy(chain->exec));
    CLS(cls_graph_exec_destroy(chain->background));
    CLS(cls_buffer_destroy(chain->buffer));
    CLS(cls_stream_destroy(chain->stream));
}

static void contest(const char *name, double (*ours)(void *, double *), struct chain *chain,
                    const struct way *rivals, unsigned n_rivals, double bar) {
    bench_contest(&(struct contest){.name = name,
                                    .unit = "us",
                                    .ours = {"graph", ours, chain},
                                    .rivals = rivals,
                                    .n_rivals = n_rivals,
                                    .bar = bar,
                                    .rounds = bench_options()->quick ? 21 : 61});
}

static void chains(const struct rig *rig) {
    struct chain chain;
    open_chain(rig, &chain);
    struct way setting[3] = {
        {"in-order, no events", raw_loop_run, raw_loop(rig, &chain, RAW_NO_EVENTS)},
        {"in-order, event each", raw_loop_run, raw_loop(rig, &chain, RAW_EACH)}};
    struct way bare[2] = {{"in-order, no events", bare_run, raw_loop(rig, &chain, RAW_NO_EVENTS)}};
    unsigned n_setting = 2, n_bare = 1;
    if (rig->out_of_order) {
        setting[n_setting++] =
            (struct way){"out-of-order, chained", raw_loop_run, raw_loop(rig, &chain, RAW_CHAINED)};
        bare[n_bare++] =
            (struct way){"out-of-order, chained", bare_run, raw_loop(rig, &chain, RAW_CHAINED)};
    }
    const struct way eager = {"calls", eager_run, &chain},
                     submitting = {"calls", eager_call, &chain};
    const struct way handing_over = {"the caller hands over", replay_run, &chain};
    contest("100 launches, replayed", replay_run, &chain, setting, n_setting,
            rig_bar(rig, 1.0, 1.0));
    contest("the same, arguments set once", replay_run, &chain, bare, n_bare,
            rig_bar(rig, 1.05, 1.05));
    contest("the same, against calls", replay_run, &chain, &eager, 1, 0);
    contest("in the background: the calls alone", background_call, &chain, &submitting, 1,
            rig_bar(rig, 0.5, 0.5));
    contest("in the background: until all is done", background_run, &chain, &handing_over, 1, 0);
    close_chain(&chain);
}

/* --- a fork of four branches --- */

struct fork {
    cls_stream streams[BRANCHES];
    cls_event forked, joined[BRANCHES];
    cls_kernel kernel;
    cls_buffer buffers[BRANCHES];
    cls_graph_exec exec;
    unsigned graphs;
};

static void submit_fork(const struct fork *fork) {
    const cls_launch shape = {1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, NULL, 0};
    CLS(cls_event_record(fork->forked, fork->streams[0]));
    for (unsigned b = 1; b < BRANCHES; b++)
        CLS(cls_stream_wait_event(fork->streams[b], fork->forked));
    for (unsigned b = 0; b < BRANCHES; b++) {
        const cls_arg args[] = {cls_arg_buffer(fork->buffers[b]), cls_arg_u32(1)};
        for (unsigned i = 0; i < OF_BRANCH; i++)
            CLS(cls_kernel_launch_async(fork->kernel, &shape, args, 2, fork->streams[b]));
    }
    for (unsigned b = 1; b < BRANCHES; b++) {
        CLS(cls_event_record(fork->joined[b], fork->streams[b]));
        CLS(cls_stream_wait_event(fork->streams[0], fork->joined[b]));
    }
}

static double run_fork(const struct fork *fork, bool replayed, double *also) {
    const double start = now_seconds();
    for (unsigned i = 0; i < fork->graphs; i++)
        if (replayed)
            CLS(cls_graph_launch_async(fork->exec, fork->streams[0]));
        else
            submit_fork(fork);
    const double submitted = now_seconds();
    CLS(cls_stream_synchronize(fork->streams[0]));
    const double scale = 1e6 / (fork->graphs * NODES);
    *also = scale * (submitted - start);
    return scale * (now_seconds() - start);
}

static double replay_fork(void *fork, double *also) { return run_fork(fork, true, also); }
static double eager_fork(void *fork, double *also) { return run_fork(fork, false, also); }

static void forks(const struct rig *rig) {
    const uint32_t zero[16] = {0};
    struct fork fork = {.kernel = rig_kernel(rig, "advance"),
                        .graphs = bench_options()->quick ? 10 : 20};
    CLS(cls_event_create(rig->context, NULL, &fork.forked));
    for (unsigned b = 0; b < BRANCHES; b++) {
        fork.streams[b] = rig_stream(rig, CLS_ORDER_AUTO);
        CLS(cls_event_create(rig->context, NULL, &fork.joined[b]));
        CLS(cls_buffer_from_host(rig->context, zero, sizeof zero, &fork.buffers[b]));
    }
    CLS(cls_stream_begin_capture(fork.streams[0], "fork"));
    submit_fork(&fork);
    fork.exec = end_capture(fork.streams[0], false);
    const struct way eager = {"streams and events", eager_fork, &fork};
    bench_contest(&(struct contest){.name = "four branches of 25 launches",
                                    .unit = "us",
                                    .ours = {"graph", replay_fork, &fork},
                                    .rivals = &eager,
                                    .n_rivals = 1,
                                    .bar = rig_bar(rig, 0.9, 0.9),
                                    .rounds = bench_options()->quick ? 21 : 61});
    CLS(cls_graph_exec_destroy(fork.exec));
    for (unsigned b = 0; b < BRANCHES; b++) {
        CLS(cls_stream_destroy(fork.streams[b]));
        CLS(cls_event_destroy(fork.joined[b]));
        CLS(cls_buffer_destroy(fork.buffers[b]));
    }
    CLS(cls_event_destroy(fork.forked));
}

/* --- operations in a row --- */

enum { OPERATIONS = 8, COUNT = 1 << 22 };

struct operations {
    cls_stream stream;
    cls_array in, out;
    cls_batch batch;
    cls_graph_exec exec;
};

/* Every second operation adds what came in. */
static void submit_operations(const struct operations *operations) {
    const cls_array in = operations->in, out = operations->out;
    for (unsigned i = 0; i < OPERATIONS; i++)
        if (i % 2)
            CLS(cls_binary_async(CLS_BINARY_ADD, out, in, out, operations->stream));
        else
            CLS(cls_unary_param_async(CLS_UNARY_SCALE, i ? out : in, out, 0.5, operations->stream));
}

static void record_operations(const struct rig *rig, struct operations *operations) {
    cls_value in, value;
    CLS(cls_batch_create(rig->context, NULL, &operations->batch));
    CLS(cls_batch_array(operations->batch, operations->in, &in));
    value = in;
    for (unsigned i = 0; i < OPERATIONS; i++)
        if (i % 2)
            CLS(cls_batch_add(operations->batch, value, in, &value));
        else
            CLS(cls_batch_scale(operations->batch, value, 0.5, &value));
    CLS(cls_batch_store(operations->batch, value, operations->out));
    CLS(cls_batch_prepare(operations->batch));
}

static double milliseconds(const struct operations *operations,
                           void (*submit)(const struct operations *), unsigned times) {
    const double start = now_seconds();
    for (unsigned i = 0; i < times; i++)
        submit(operations);
    CLS(cls_stream_synchronize(operations->stream));
    return 1e3 * (now_seconds() - start) / times;
}

static void launch_fused(const struct operations *operations) {
    CLS(cls_graph_launch_async(operations->exec, operations->stream));
}

static void execute_batch(const struct operations *operations) {
    CLS(cls_batch_execute_async(operations->batch, operations->stream));
}

static double fused_run(void *arg, double *also) {
    *also = 0;
    return milliseconds(arg, launch_fused, 10);
}

static double batch_run(void *arg, double *also) {
    *also = 0;
    return milliseconds(arg, execute_batch, 10);
}

static double single_run(void *arg, double *also) {
    *also = 0;
    return milliseconds(arg, submit_operations, 10);
}

static void capture_fused(struct operations *operations) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph graph;
    config.fuse = 1;
    CLS(cls_stream_begin_capture(operations->stream, "operations"));
    submit_operations(operations);
    CLS(cls_stream_end_capture(operations->stream, &graph));
    CLS(cls_graph_instantiate(graph, &config, &operations->exec));
    CLS(cls_graph_destroy(graph));
}

static void operations_rows(const struct rig *rig) {
    struct operations operations = {.stream = rig_stream(rig, CLS_ORDER_AUTO)};
    cls_buffer buffers[2];
    for (int i = 0; i < 2; i++)
        CLS(cls_buffer_create(rig->context, COUNT * sizeof(float), &buffers[i]));
    const float one = 1;
    CLS(cls_fill(buffers[0], 0, COUNT * sizeof one, &one, sizeof one, operations.stream));
    operations.in = cls_array_of(buffers[0], CLS_F32, COUNT);
    operations.out = cls_array_of(buffers[1], CLS_F32, COUNT);
    record_operations(rig, &operations);
    capture_fused(&operations);
    const struct way batch = {"batch", batch_run, &operations},
                     single = {"calls", single_run, &operations};
    struct contest contest = {.name = "8 operations, captured and fused, against the batch",
                              .unit = "ms",
                              .measure = MEASURE_SPEEDUP,
                              .ours = {"graph", fused_run, &operations},
                              .rivals = &batch,
                              .n_rivals = 1,
                              .bar = rig_bar(rig, 0.95, 0.95)};
    bench_contest(&contest);
    contest.name = "8 operations, captured and fused, against calls";
    contest.rivals = &single;
    contest.bar = 0;
    bench_contest(&contest);
    CLS(cls_graph_exec_destroy(operations.exec));
    CLS(cls_batch_destroy(operations.batch));
    for (int i = 0; i < 2; i++)
        CLS(cls_buffer_destroy(buffers[i]));
    CLS(cls_stream_destroy(operations.stream));
}

/* --- a step of training --- */

enum { BATCH = 64, TRAINING_STEPS = 100 };

struct training {
    struct network network;
    cls_buffer captured, rows[2]; /* of batches */
    cls_graph_exec exec;
};

static double training_run(struct training *training, bool replayed, double *also) {
    const double start = now_seconds();
    for (unsigned i = 0; i < TRAINING_STEPS; i++) {
        const cls_buffer rows = training->rows[i % 2];
        if (replayed) {
            CLS(cls_graph_bind(training->exec, training->captured, rows));
            CLS(cls_graph_launch_async(training->exec, training->network.stream));
        } else {
            network_learn(&training->network, rows);
        }
    }
    const double submitted = now_seconds();
    CLS(cls_stream_synchronize(training->network.stream));
    *also = 1e6 * (submitted - start) / TRAINING_STEPS;
    return 1e6 * (now_seconds() - start) / TRAINING_STEPS;
}

static double replay_training(void *training, double *also) {
    return training_run(training, true, also);
}

static double submit_training(void *training, double *also) {
    return training_run(training, false, also);
}

/* The step of examples/train, operations in a row fused. */
static void capture_training(struct training *training) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph graph;
    config.fuse = 1;
    network_open(&training->network, BATCH, 7);
    network_set_rate(&training->network, 0.1);
    training->captured = filled(BATCH * ROW, 0);
    for (int i = 0; i < 2; i++)
        training->rows[i] = filled(BATCH * ROW, 0); /* of class 0 */
    CLS(cls_stream_begin_capture(training->network.stream, "step"));
    network_learn(&training->network, training->captured);
    CLS(cls_stream_end_capture(training->network.stream, &graph));
    CLS(cls_graph_instantiate(graph, &config, &training->exec));
    CLS(cls_graph_destroy(graph));
}

static void training_row(const struct rig *rig) {
    struct training training;
    double also;
    if (!cls_blas_available())
        return;
    capture_training(&training);
    training_run(&training, true, &also); /* compiles what is left */
    const struct way calls = {"calls", submit_training, &training};
    bench_contest(&(struct contest){
        .name = "step of examples/train, captured, against calls",
        .unit = "us",
        .ours = {"graph", replay_training, &training},
        .rivals = &calls,
        .n_rivals = 1,
        .bar = rig_bar(rig, 0, 0.8), /* products of small sizes are one launch in both */
        .rounds = bench_options()->quick ? 11 : 31});
    CLS(cls_graph_exec_destroy(training.exec));
    CLS(cls_buffer_destroy(training.captured));
    for (int i = 0; i < 2; i++)
        CLS(cls_buffer_destroy(training.rows[i]));
    network_close(&training.network);
}

/* --- rebinding --- */

enum { MANY = 1000, REBINDS = 100 };

struct rebinding {
    cls_graph_exec exec;
    cls_buffer captured[MANY], others[2];
};

/* Microseconds a call; each launch takes over what was bound since the one before. */
static double rebind_run(void *arg, double *also) {
    const struct rebinding *rebinding = arg;
    double seconds = 0;
    (void)also;
    for (unsigned i = 0; i < REBINDS; i++) {
        const double start = now_seconds();
        CLS(cls_graph_bind(rebinding->exec, rebinding->captured[(i * 7) % MANY],
                           rebinding->others[i % 2]));
        seconds += now_seconds() - start;
        if (i % 10 == 9)
            CLS(cls_graph_launch(rebinding->exec, NULL));
    }
    return 1e6 * seconds / REBINDS;
}

static void rebinds(const struct rig *rig) {
    static struct rebinding rebinding;
    const cls_launch shape = {1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, NULL, 0};
    cls_stream stream = rig_stream(rig, CLS_ORDER_AUTO);
    cls_kernel kernel = rig_kernel(rig, "advance");
    CLS(cls_stream_begin_capture(stream, "many"));
    for (unsigned i = 0; i < MANY; i++) {
        CLS(cls_buffer_create(rig->context, 64, &rebinding.captured[i]));
        const cls_arg args[] = {cls_arg_buffer(rebinding.captured[i]), cls_arg_u32(1)};
        CLS(cls_kernel_launch_async(kernel, &shape, args, 2, stream));
    }
    rebinding.exec = end_capture(stream, false);
    for (int i = 0; i < 2; i++)
        CLS(cls_buffer_create(rig->context, 64, &rebinding.others[i]));
    bench_figure("rebinding one buffer of 1,000 nodes", "us",
                 (struct way){"graph", rebind_run, &rebinding}, 5);
    CLS(cls_graph_exec_destroy(rebinding.exec));
    for (unsigned i = 0; i < MANY; i++)
        CLS(cls_buffer_destroy(rebinding.captured[i]));
    for (int i = 0; i < 2; i++)
        CLS(cls_buffer_destroy(rebinding.others[i]));
    CLS(cls_stream_destroy(stream));
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "graph");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("(s) graphs, time a node");
    chains(&rig);
    forks(&rig);
    operations_rows(&rig);
    training_row(&rig);
    rebinds(&rig);
    rig_close(&rig);
    return bench_end();
}

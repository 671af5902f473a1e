/* SPDX-License-Identifier: MIT */
/* Queues three kinds of operations by the async coordinator and by hand, in raw OpenCL. */
#include "queueing.h"

#include <string.h>

#include "cores.h"
#include "harness.h"

/* MORE_NS: added to each raw operation in the row that shows how much time the bar allows. */
enum { OPS = 300, RING = 4, WORDS = 1024, MORE_NS = 50 };

struct queueing {
    cls_async_coordinator coordinator;
    cls_buffer buffers[RING];
    cls_kernel kernel;
    cl_mem memory[RING];
    cl_kernel raw_kernel;
    void *in, *out;
};

struct by_hand {
    const struct queueing *q;
    bool out_of_order;
    unsigned more_ns; /* added before each operation */
    cl_command_queue queues[STAGES];
};

static cl_event events[OPS][STAGES];

static double coordinator_run(void *arg, double *also) {
    const struct queueing *q = arg;
    const cls_launch shape = cls_launch_1d(WORDS / 4);
    cls_compute compute = CLS_COMPUTE_INIT;
    compute.kernel = q->kernel;
    compute.launch = &shape;
    compute.n_args = 2;
    *also = 0;
    const double start = now_seconds();
    for (int i = 0; i < OPS; i++) {
        const cls_place place = cls_place_buffer(q->buffers[i % RING]);
        const cls_arg args[] = {cls_arg_buffer(q->buffers[i % RING]), cls_arg_u32(1)};
        compute.args = args;
        CLS(cls_async_coordinator_queue_upload(q->coordinator, q->in, WORDS * 4, place, NULL, 0,
                                               NULL));
        CLS(cls_async_coordinator_queue_compute(q->coordinator, &compute, NULL, 0, NULL));
        CLS(cls_async_coordinator_queue_download(q->coordinator, place, q->out, WORDS * 4, NULL, 0,
                                                 NULL));
    }
    CLS(cls_async_coordinator_synchronize_all(q->coordinator));
    return 1e6 * (now_seconds() - start) / (OPS * STAGES);
}

/* What an operation waits for: the last one on its buffer, and where the queue itself keeps no order the one
 * before it on the queue. */
static cl_uint waits_of(const struct by_hand *hand, int i, int stage, cl_event waits[2]) {
    cl_uint n = 0;
    if (stage > UPLOAD)
        waits[n++] = events[i][stage - 1];
    else if (i >= RING)
        waits[n++] = events[i - RING][DOWNLOAD];
    if (hand->out_of_order && i)
        waits[n++] = events[i - 1][stage];
    return n;
}

static void enqueue(const struct by_hand *hand, int i, int stage) {
    const struct queueing *q = hand->q;
    const cl_command_queue queue = hand->queues[stage];
    const cl_mem memory = q->memory[i % RING];
    const size_t items = WORDS / 4;
    const cl_uint rounds = 1;
    cl_event waits[2], *event = &events[i][stage];
    const cl_uint n = waits_of(hand, i, stage, waits);
    const cl_event *list = n ? waits : NULL;
    if (stage == UPLOAD) {
        CL(clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, WORDS * 4, q->in, n, list, event));
    } else if (stage == DOWNLOAD) {
        CL(clEnqueueReadBuffer(queue, memory, CL_FALSE, 0, WORDS * 4, q->out, n, list, event));
    } else {
        CL(clSetKernelArg(q->raw_kernel, 0, sizeof memory, &memory));
        CL(clSetKernelArg(q->raw_kernel, 1, sizeof rounds, &rounds));
        CL(clEnqueueNDRangeKernel(queue, q->raw_kernel, 1, NULL, &items, NULL, n, list, event));
    }
    CL(clFlush(queue));
}

/* An event each, waited for across queues and flushed before. A program of bounded memory releases them on
 * the way, which takes 1.01 to 1.11 times as long, depending on the queues and on when. */
static double raw_run(void *arg, double *also) {
    const struct by_hand *hand = arg;
    *also = 0;
    const double start = now_seconds();
    for (int i = 0; i < OPS; i++)
        for (int stage = 0; stage < STAGES; stage++) {
            if (hand->more_ns)
                spend_ns(hand->more_ns);
            enqueue(hand, i, stage);
        }
    for (int i = 0; i < STAGES; i++)
        CL(clFinish(hand->queues[i]));
    for (int i = 0; i < OPS; i++)
        for (int stage = 0; stage < STAGES; stage++)
            CL(clReleaseEvent(events[i][stage]));
    return 1e6 * (now_seconds() - start) / (OPS * STAGES);
}

static void open_by_hand(struct by_hand *hand, const struct queueing *q, const struct rig *rig,
                         bool out_of_order) {
    hand->q = q;
    hand->out_of_order = out_of_order;
    hand->more_ns = 0;
    for (int i = 0; i < STAGES; i++)
        hand->queues[i] = rig_queue(rig, out_of_order);
}

static void close_by_hand(struct by_hand *hand) {
    for (int i = 0; i < STAGES; i++)
        CL(clReleaseCommandQueue(hand->queues[i]));
}

static void against(struct queueing *q, const struct rig *rig, const char *name, bool out_of_order,
                    double bar) {
    struct by_hand hand;
    open_by_hand(&hand, q, rig, out_of_order);
    const struct way rival = {
        out_of_order ? "out-of-order queues by hand" : "in-order queues by hand", raw_run, &hand};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "us",
                                    .ours = {"clstream", coordinator_run, q},
                                    .rivals = &rival,
                                    .n_rivals = 1,
                                    .bar = bar});
    close_by_hand(&hand);
}

/* The raw way against itself with time added: what some nanoseconds between two operations cost any program. */
static void more(struct queueing *q, const struct rig *rig, bool out_of_order) {
    struct by_hand plain, slower;
    open_by_hand(&plain, q, rig, out_of_order);
    open_by_hand(&slower, q, rig, out_of_order);
    slower.more_ns = MORE_NS;
    const struct way rival = {"by hand", raw_run, &plain};
    bench_contest(&(struct contest){.name = "async coordinator, by hand, 50 ns more each",
                                    .unit = "us",
                                    .ours = {"by hand", raw_run, &slower},
                                    .rivals = &rival,
                                    .n_rivals = 1});
    close_by_hand(&slower);
    close_by_hand(&plain);
}

static bool runs_out_of_order(const struct queueing *q) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    cls_stream stream;
    CLS(cls_async_coordinator_get_stream(q->coordinator, CLS_OP_COMPUTE, &stream));
    CLS(cls_stream_get_info(stream, &info));
    return info.order == CLS_ORDER_OUT_OF_ORDER;
}

/* The bar is on the kind of queues that the coordinator's streams have; the other kind is reported only. */
void queueing(const struct rig *rig) {
    static const char name[] = "async coordinator, an operation",
                      other[] = "async coordinator, an operation, other queues";
    struct queueing q;
    if (!bench_wants(other))
        return;
    CLS(cls_async_coordinator_create(rig->context, NULL, &q.coordinator));
    q.kernel = rig_kernel(rig, "work");
    q.raw_kernel = rig_raw_kernel(rig, "work");
    for (int i = 0; i < RING; i++) {
        CLS(cls_buffer_create(rig->context, WORDS * 4, &q.buffers[i]));
        q.memory[i] = rig_memory(rig, WORDS * 4);
    }
    CLS(cls_host_alloc(rig->context, WORDS * 4, &q.in));
    CLS(cls_host_alloc(rig->context, WORDS * 4, &q.out));
    memset(q.in, 0, WORDS * 4);
    const bool out_of_order = runs_out_of_order(&q);
    against(&q, rig, name, out_of_order, 1.10);
    if (rig->out_of_order)
        against(&q, rig, other, !out_of_order, 0);
    more(&q, rig, out_of_order);
    CLS(cls_async_coordinator_destroy(q.coordinator));
    CL(clReleaseKernel(q.raw_kernel));
}

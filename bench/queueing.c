/* SPDX-License-Identifier: MIT */
#include "queueing.h"

#include <string.h>

#include "harness.h"

enum { OPS = 300, RING = 4, WORDS = 1024 };

struct queueing {
    cls_async_coordinator coordinator;
    cls_buffer buffers[RING];
    cls_kernel kernel;
    cl_command_queue queues[STAGES];
    cl_mem memory[RING];
    cl_kernel raw_kernel;
    void *in, *out;
};

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

/* The same by hand: in-order queues, an event each, waited for across queues and flushed before. */
static double raw_run(void *arg, double *also) {
    const struct queueing *q = arg;
    static cl_event events[OPS][STAGES];
    const size_t items = WORDS / 4;
    const cl_uint rounds = 1;
    *also = 0;
    const double start = now_seconds();
    for (int i = 0; i < OPS; i++) {
        cl_event *e = events[i];
        const cl_mem memory = q->memory[i % RING];
        CL(clEnqueueWriteBuffer(q->queues[UPLOAD], memory, CL_FALSE, 0, WORDS * 4, q->in, i >= RING,
                                i >= RING ? &events[i - RING][DOWNLOAD] : NULL, &e[UPLOAD]));
        CL(clFlush(q->queues[UPLOAD]));
        CL(clSetKernelArg(q->raw_kernel, 0, sizeof memory, &memory));
        CL(clSetKernelArg(q->raw_kernel, 1, sizeof rounds, &rounds));
        CL(clEnqueueNDRangeKernel(q->queues[COMPUTE], q->raw_kernel, 1, NULL, &items, NULL, 1,
                                  &e[UPLOAD], &e[COMPUTE]));
        CL(clFlush(q->queues[COMPUTE]));
        CL(clEnqueueReadBuffer(q->queues[DOWNLOAD], memory, CL_FALSE, 0, WORDS * 4, q->out, 1,
                               &e[COMPUTE], &e[DOWNLOAD]));
        CL(clFlush(q->queues[DOWNLOAD]));
    }
    for (int i = 0; i < STAGES; i++)
        CL(clFinish(q->queues[i]));
    for (int i = 0; i < OPS; i++)
        for (int stage = 0; stage < STAGES; stage++)
            CL(clReleaseEvent(events[i][stage]));
    return 1e6 * (now_seconds() - start) / (OPS * STAGES);
}

void queueing(const struct rig *rig) {
    struct queueing q;
    if (!bench_wants("async coordinator, an operation"))
        return;
    CLS(cls_async_coordinator_create(rig->context, NULL, &q.coordinator));
    q.kernel = rig_kernel(rig, "work");
    q.raw_kernel = rig_raw_kernel(rig, "work");
    for (int i = 0; i < STAGES; i++)
        q.queues[i] = rig_queue(rig, false);
    for (int i = 0; i < RING; i++) {
        CLS(cls_buffer_create(rig->context, WORDS * 4, &q.buffers[i]));
        q.memory[i] = rig_memory(rig, WORDS * 4);
    }
    CLS(cls_host_alloc(rig->context, WORDS * 4, &q.in));
    CLS(cls_host_alloc(rig->context, WORDS * 4, &q.out));
    memset(q.in, 0, WORDS * 4);
    const struct way by_hand = {"queues and events by hand", raw_run, &q};
    bench_contest(&(struct contest){.name = "async coordinator, an operation",
                                    .unit = "us",
                                    .ours = {"clstream", coordinator_run, &q},
                                    .rivals = &by_hand,
                                    .n_rivals = 1,
                                    .bar = 1.10});
    CLS(cls_async_coordinator_destroy(q.coordinator));
    CL(clReleaseKernel(q.raw_kernel));
}

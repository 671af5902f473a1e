/* SPDX-License-Identifier: MIT */
/* Loops of raw launches, with the bookkeeping of events that each needs. */
#include "raw_launch.h"

#include "harness.h"

enum { BATCH = 32, EVENT_INTERVAL = 256 };

static cl_event ring_at(const struct raw_ring *ring, unsigned i) {
    return ring->events[(ring->first + i) % RAW_RING];
}

static void release_oldest(struct raw_ring *ring, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        CL(clReleaseEvent(ring_at(ring, i)));
    ring->first = (ring->first + n) % RAW_RING;
    ring->count -= n;
}

/* Commands finish in order, so the newest event of a batch stands for all of it. */
static void trim(struct raw_ring *ring) {
    cl_event newest = ring_at(ring, BATCH - 1);
    cl_int state;
    CL(clGetEventInfo(newest, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    if (state < 0)
        die("a command failed: %d", state);
    if (state != CL_COMPLETE && ring->count < RAW_RING)
        return;
    if (state != CL_COMPLETE)
        CL(clWaitForEvents(1, &newest));
    release_oldest(ring, BATCH);
}

void raw_ring_keep(struct raw_ring *ring, cl_event event) {
    if (ring->count >= BATCH && ring->count % BATCH == 0)
        trim(ring);
    ring->events[(ring->first + ring->count++) % RAW_RING] = event;
}

void raw_ring_release(struct raw_ring *ring) { release_oldest(ring, ring->count); }

void raw_launch(cl_command_queue queue, cl_kernel kernel, cl_mem memory, cl_uint value,
                size_t items, cl_event after, cl_event *event) {
    CL(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    CL(clSetKernelArg(kernel, 1, sizeof value, &value));
    CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &items, after ? 1 : 0,
                              after ? &after : NULL, event));
}

static bool wants_event(const struct raw_loop *loop, unsigned i) {
    if (loop->events == RAW_EVERY_256)
        return (i + 1) % EVENT_INTERVAL == 0 || i + 1 == loop->launches;
    return loop->events != RAW_NO_EVENTS;
}

static void submit(struct raw_loop *loop, cl_event *last) {
    for (unsigned i = 0; i < loop->launches; i++) {
        const bool wanted = wants_event(loop, i);
        cl_event event;
        raw_launch(loop->queue, loop->kernel, loop->memory, 1, 1,
                   loop->events == RAW_CHAINED ? *last : NULL, wanted ? &event : NULL);
        if (!wanted)
            continue;
        raw_ring_keep(&loop->ring, event);
        *last = event;
    }
}

double raw_loop_run(void *arg, double *also) {
    struct raw_loop *loop = arg;
    cl_event last = NULL;
    const double start = now_seconds();
    submit(loop, &last);
    const double submitted = now_seconds();
    if (last)
        CL(clWaitForEvents(1, &last));
    else
        CL(clFinish(loop->queue));
    raw_ring_release(&loop->ring);
    const double end = now_seconds();
    *also = 1e6 * (submitted - start) / loop->launches;
    return 1e6 * (end - start) / loop->launches;
}

/* SPDX-License-Identifier: MIT */
/*
 * (h) A host function between two kernels: the time from the submission of the first kernel to the end of
 * the second. Raw OpenCL has two ways: a callback of the first kernel's event that sets a user event, for
 * which the second kernel waits, with a flush of the first kernel by itself or without; and a thread that waits
 * for the first kernel and enqueues the second. The least that any way takes is measured too: the two kernels,
 * enqueued and waited for one after the other by one thread, which calls the function itself in between.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "harness.h"
#include "raw_launch.h"

static _Atomic unsigned host_calls;

static void touch_host(void *arg) {
    (void)arg;
    atomic_fetch_add(&host_calls, 1);
}

/* --- clstream --- */

struct ours {
    cls_stream stream;
    cls_kernel kernel;
    cls_buffer buffer;
    unsigned rounds;
};

static double ours_run(void *arg, double *also) {
    const struct ours *ours = arg;
    const cls_launch shape = {1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, NULL, 0};
    const cls_arg args[] = {cls_arg_buffer(ours->buffer), cls_arg_u32(1)};
    double submitting = 0;
    const double start = now_seconds();
    for (unsigned i = 0; i < ours->rounds; i++) {
        const double begin = now_seconds();
        CLS(cls_kernel_launch_async(ours->kernel, &shape, args, 2, ours->stream));
        CLS(cls_stream_launch_host_async(ours->stream, touch_host, NULL));
        CLS(cls_kernel_launch_async(ours->kernel, &shape, args, 2, ours->stream));
        submitting += now_seconds() - begin;
        CLS(cls_stream_synchronize(ours->stream));
    }
    *also = 1e6 * submitting / ours->rounds;
    return 1e6 * (now_seconds() - start) / ours->rounds;
}

/* --- a callback and a user event --- */

struct raw {
    cl_context context;
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem memory;
    bool flush_first; /* the first kernel may start while the rest is prepared */
    unsigned rounds;
    /* For the second way: the thread. */
    sem_t work, done;
    cl_event first, second;
    bool stop;
};

static void CL_CALLBACK open_gate(cl_event event, cl_int state, void *gate) {
    (void)event;
    (void)state;
    touch_host(NULL);
    clSetUserEventStatus(gate, CL_COMPLETE);
}

static void finish(cl_event first, cl_event second) {
    CL(clWaitForEvents(1, &second));
    CL(clReleaseEvent(first));
    CL(clReleaseEvent(second));
}

static double callback_run(void *arg, double *also) {
    const struct raw *raw = arg;
    double submitting = 0;
    const double start = now_seconds();
    for (unsigned i = 0; i < raw->rounds; i++) {
        cl_int status;
        cl_event first, second;
        const double begin = now_seconds();
        cl_event gate = clCreateUserEvent(raw->context, &status);
        CL(status);
        raw_launch(raw->queue, raw->kernel, raw->memory, 1, 1, NULL, &first);
        if (raw->flush_first)
            CL(clFlush(raw->queue));
        CL(clSetEventCallback(first, CL_COMPLETE, open_gate, gate));
        raw_launch(raw->queue, raw->kernel, raw->memory, 1, 1, gate, &second);
        CL(clFlush(raw->queue));
        submitting += now_seconds() - begin;
        finish(first, second);
        CL(clReleaseEvent(gate));
    }
    *also = 1e6 * submitting / raw->rounds;
    return 1e6 * (now_seconds() - start) / raw->rounds;
}

/* --- a thread that waits and enqueues --- */

static void *attend(void *arg) {
    struct raw *raw = arg;
    for (;;) {
        while (sem_wait(&raw->work))
            continue;
        if (raw->stop)
            return NULL;
        CL(clWaitForEvents(1, &raw->first));
        touch_host(NULL);
        raw_launch(raw->queue, raw->kernel, raw->memory, 1, 1, NULL, &raw->second);
        CL(clFlush(raw->queue));
        sem_post(&raw->done);
    }
}

static double thread_run(void *arg, double *also) {
    struct raw *raw = arg;
    double submitting = 0;
    const double start = now_seconds();
    for (unsigned i = 0; i < raw->rounds; i++) {
        const double begin = now_seconds();
        raw_launch(raw->queue, raw->kernel, raw->memory, 1, 1, NULL, &raw->first);
        CL(clFlush(raw->queue));
        sem_post(&raw->work);
        submitting += now_seconds() - begin;
        while (sem_wait(&raw->done))
            continue;
        finish(raw->first, raw->second);
    }
    *also = 1e6 * submitting / raw->rounds;
    return 1e6 * (now_seconds() - start) / raw->rounds;
}

/* --- two kernels, and no hand-over --- */

static double bare_run(void *arg, double *also) {
    const struct raw *raw = arg;
    cl_event ended;
    *also = 0;
    const double start = now_seconds();
    for (unsigned i = 0; i < 2 * raw->rounds; i++) {
        if (i % 2)
            touch_host(NULL);
        raw_launch(raw->queue, raw->kernel, raw->memory, 1, 1, NULL, &ended);
        CL(clWaitForEvents(1, &ended));
        CL(clReleaseEvent(ended));
    }
    return 1e6 * (now_seconds() - start) / raw->rounds;
}

/* --- the contests --- */

/* The bars are on the callback on an out-of-order queue, which the library too uses where it can: there
 * <= 1.25 on PoCL, whose callbacks come on the thread that ran the kernel, and <= 0.5 elsewhere. */
static double callback_bar(const struct rig *rig) {
    if (rig->vendor == VENDOR_POCL)
        return 1.25;
    return rig->vendor == VENDOR_OTHER ? 0 : 0.5;
}

static void open_ours(const struct rig *rig, struct ours *ours) {
    const uint32_t zero = 0;
    CLS(cls_buffer_from_host(rig->context, &zero, sizeof zero, &ours->buffer));
    ours->kernel = rig_kernel(rig, "advance");
    ours->stream = rig_stream(rig, CLS_ORDER_AUTO);
    ours->rounds = bench_options()->quick ? 20 : 50;
}

static void open_raw(const struct rig *rig, struct raw *raw, bool out_of_order, unsigned rounds) {
    raw->context = rig->cl;
    raw->kernel = rig_raw_kernel(rig, "advance");
    raw->memory = rig_memory(rig, sizeof(uint32_t));
    raw->queue = rig_queue(rig, out_of_order);
    raw->rounds = rounds;
}

static void contest(const char *name, struct ours *ours, const struct way *rivals,
                    unsigned n_rivals, double bar, const char *also) {
    bench_contest(&(struct contest){.name = name,
                                    .unit = "us",
                                    .ours = {"clstream", ours_run, ours},
                                    .rivals = rivals,
                                    .n_rivals = n_rivals,
                                    .bar = bar,
                                    .rounds = bench_options()->quick ? 11 : 41,
                                    .also = also});
}

static void compare(const struct rig *rig) {
    static struct ours ours;
    static struct raw out_of_order, flushed, in_order;
    pthread_t thread;
    open_ours(rig, &ours);
    open_raw(rig, &out_of_order, rig->out_of_order, ours.rounds);
    open_raw(rig, &in_order, false, ours.rounds);
    flushed = out_of_order;
    flushed.flush_first = true;
    const struct way ways[] = {{"callback and user event", callback_run, &out_of_order},
                               {"the same, flushed at once", callback_run, &flushed},
                               {"the same, in-order queue", callback_run, &in_order},
                               {"a thread that waits", thread_run, &in_order},
                               {"two kernels by one thread", bare_run, &in_order}};
    if (sem_init(&in_order.work, 0, 0) || sem_init(&in_order.done, 0, 0) ||
        pthread_create(&thread, NULL, attend, &in_order))
        die("no thread");
    contest("host function", &ours, &ways[0], 2, callback_bar(rig), "host function: submit only");
    contest("host function, raw in-order", &ours, &ways[2], 1, 0, NULL);
    contest("host function, raw thread", &ours, &ways[3], 1, 0, NULL);
    contest("host function, no hand-over", &ours, &ways[4], 1, 0, NULL);
    in_order.stop = true;
    sem_post(&in_order.work);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "host");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("(h) kernel, host function, kernel");
    compare(&rig);
    rig_close(&rig);
    return bench_end();
}

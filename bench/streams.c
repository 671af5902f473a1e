/* SPDX-License-Identifier: MIT */
/*
 * (b) A hop from stream to stream. (b2) Independent work on several streams, and what events cost.
 */
#include <stdio.h>

#include "harness.h"
#include "raw_launch.h"

enum { MOST_KERNELS = 32, GROUP = 32, EVENTS = 512, CASTS = 3 };

/* --- (b) hops --- */

struct hops {
    cls_stream stream[2];
    cls_event event[2];
    cls_kernel kernel;
    cls_buffer buffer;
    unsigned hops;
};

/* A kernel here, an event, a wait over there, a kernel there, an event, a wait here ... */
static double hops_run(void *arg, double *also) {
    const struct hops *hops = arg;
    const cls_launch shape = {1, {1, 1, 1}, {1, 1, 1}};
    const double start = now_seconds();
    for (unsigned i = 0; i < hops->hops; i++) {
        const cls_arg args[] = {cls_arg_buffer(hops->buffer), cls_arg_u32(1)};
        const unsigned here = i % 2;
        CLS(cls_kernel_launch_async(hops->kernel, &shape, args, 2, hops->stream[here]));
        CLS(cls_event_record(hops->event[here], hops->stream[here]));
        CLS(cls_stream_wait_event(hops->stream[!here], hops->event[here]));
    }
    const double submitted = now_seconds();
    CLS(cls_event_synchronize(hops->event[(hops->hops - 1) % 2]));
    const double end = now_seconds();
    *also = 1e6 * (submitted - start) / hops->hops;
    return 1e6 * (end - start) / hops->hops;
}

struct raw_hops {
    cl_command_queue queue[2];
    cl_kernel kernel;
    cl_mem memory;
    unsigned hops;
    struct raw_ring ring;
};

/* OpenCL asks that the queue of an event be flushed before another queue waits for it. */
static double raw_hops_run(void *arg, double *also) {
    struct raw_hops *hops = arg;
    cl_event last = NULL;
    const double start = now_seconds();
    for (unsigned i = 0; i < hops->hops; i++) {
        raw_launch(hops->queue[i % 2], hops->kernel, hops->memory, 1, 1, last, &last);
        CL(clFlush(hops->queue[i % 2]));
        raw_ring_keep(&hops->ring, last);
    }
    const double submitted = now_seconds();
    CL(clWaitForEvents(1, &last));
    raw_ring_release(&hops->ring);
    const double end = now_seconds();
    *also = 1e6 * (submitted - start) / hops->hops;
    return 1e6 * (end - start) / hops->hops;
}

static struct raw_hops *raw_hops(const struct rig *rig, const struct hops *hops,
                                 bool out_of_order) {
    struct raw_hops *raw = allocate(sizeof *raw);
    raw->kernel = rig_raw_kernel(rig, "advance");
    raw->memory = rig_mem_of(hops->buffer);
    raw->hops = hops->hops;
    for (int i = 0; i < 2; i++)
        raw->queue[i] = rig_queue(rig, out_of_order);
    return raw;
}

static void set_up_hops(const struct rig *rig, struct hops *hops) {
    const uint32_t zero = 0;
    hops->kernel = rig_kernel(rig, "advance");
    hops->hops = 64;
    CLS(cls_buffer_from_host(rig->context, &zero, sizeof zero, &hops->buffer));
    for (int i = 0; i < 2; i++)
        CLS(cls_event_create(rig->context, NULL, &hops->event[i]));
}

/* Every hop adds 1 to the same word, so a hop that does not wait loses additions. */
static void check_hops(const struct rig *rig, const struct hops *hops) {
    const uint32_t zero = 0;
    uint32_t sum;
    double also;
    CLS(cls_fill(hops->buffer, 0, sizeof zero, &zero, sizeof zero, NULL));
    hops_run((void *)(uintptr_t)hops, &also);
    CLS(cls_copy_d2h(&sum, hops->buffer, 0, sizeof sum, NULL));
    if (sum != hops->hops)
        die("%u hops on %s added up to %u", hops->hops, rig->info.name, (unsigned)sum);
}

static void hop_bout(const struct rig *rig, const char *name, cls_order order) {
    struct hops hops;
    double also, time = 0;
    set_up_hops(rig, &hops);
    for (int i = 0; i < 2; i++)
        hops.stream[i] = rig_stream(rig, order);
    check_hops(rig, &hops);
    struct raw_hops *probe = raw_hops(rig, &hops, false);
    for (int i = 0; i < 3; i++)
        time = raw_hops_run(probe, &also);
    const double wanted = 3000 / time;
    hops.hops = wanted < 16 ? 16 : wanted > 3000 ? 3000 : (unsigned)wanted;
    probe->hops = hops.hops;
    struct way rivals[2] = {{"in-order queues", raw_hops_run, probe}};
    if (rig->out_of_order)
        rivals[1] = (struct way){"out-of-order queues", raw_hops_run, raw_hops(rig, &hops, true)};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "us",
                                    .ours = {"clstream", hops_run, &hops},
                                    .rivals = rivals,
                                    .n_rivals = rig->out_of_order ? 2 : 1,
                                    .bar = order == CLS_ORDER_AUTO ? rig_bar(rig, 1.10, 1.10) : 0,
                                    .rounds = bench_options()->quick ? 21 : 61,
                                    .also = order == CLS_ORDER_AUTO ? "hop: submit only" : NULL});
}

/* --- (b2) independent kernels --- */

struct burst {
    cls_kernel kernel;
    cls_stream stream[MOST_KERNELS];
    cls_buffer buffer[MOST_KERNELS];
    unsigned kernels, streams;
    cl_uint loops; /* of a kernel */
};

static double burst_run(void *arg, double *also) {
    const struct burst *burst = arg;
    const cls_launch shape = {1, {GROUP, 1, 1}, {GROUP, 1, 1}};
    const double start = now_seconds();
    for (unsigned i = 0; i < burst->kernels; i++) {
        const cls_arg args[] = {cls_arg_buffer(burst->buffer[i]), cls_arg_u32(burst->loops)};
        CLS(cls_kernel_launch_async(burst->kernel, &shape, args, 2,
                                    burst->stream[i % burst->streams]));
    }
    for (unsigned i = 0; i < burst->streams; i++)
        CLS(cls_stream_synchronize(burst->stream[i]));
    *also = 0;
    return 1e3 * (now_seconds() - start);
}

struct raw_burst {
    cl_kernel kernel;
    cl_command_queue queue[MOST_KERNELS];
    cl_mem memory[MOST_KERNELS];
    unsigned kernels, queues;
    cl_uint loops;
};

static double raw_burst_run(void *arg, double *also) {
    const struct raw_burst *burst = arg;
    cl_event events[MOST_KERNELS];
    const double start = now_seconds();
    for (unsigned i = 0; i < burst->kernels; i++)
        raw_launch(burst->queue[i % burst->queues], burst->kernel, burst->memory[i], burst->loops,
                   GROUP, NULL, &events[i]);
    for (unsigned i = 0; i < burst->queues; i++)
        CL(clFlush(burst->queue[i]));
    CL(clWaitForEvents(burst->kernels, events));
    const double end = now_seconds();
    for (unsigned i = 0; i < burst->kernels; i++)
        CL(clReleaseEvent(events[i]));
    *also = 0;
    return 1e3 * (end - start);
}

static struct raw_burst *raw_burst(const struct rig *rig, const struct burst *burst,
                                   unsigned queues, bool out_of_order) {
    struct raw_burst *raw = allocate(sizeof *raw);
    raw->kernel = rig_raw_kernel(rig, "spin");
    raw->kernels = burst->kernels;
    raw->queues = queues;
    raw->loops = burst->loops;
    for (unsigned i = 0; i < queues; i++)
        raw->queue[i] = rig_queue(rig, out_of_order);
    for (unsigned i = 0; i < burst->kernels; i++)
        raw->memory[i] = rig_mem_of(burst->buffer[i]);
    return raw;
}

static void release_burst(struct raw_burst *raw) {
    for (unsigned i = 0; i < raw->queues; i++)
        CL(clReleaseCommandQueue(raw->queue[i]));
    CL(clReleaseKernel(raw->kernel));
}

/* Loops for a kernel of about `ms` milliseconds. */
static cl_uint calibrate(const struct burst *burst, double ms) {
    struct burst one = *burst;
    double also, best = 1e9;
    one.kernels = one.streams = 1;
    one.loops = 256;
    for (int i = 0; i < 5; i++) {
        const double time = burst_run(&one, &also);
        best = time < best ? time : best;
    }
    const double loops = one.loops * ms / best;
    return loops < 1 ? 1 : loops > 60000 ? 60000 : (cl_uint)loops;
}

/* What so many kernels at once must gain over one after the other; 0 where nothing is stated. */
static double speedup_bar(const struct rig *rig, unsigned kernels) {
    if (rig->vendor == VENDOR_NVIDIA)
        return kernels == 32 ? 20 : 0;
    return rig->vendor == VENDOR_POCL && rig->info.compute_units == 2 ? 1.8 : 0;
}

static void burst_bout(const struct rig *rig, struct burst *burst) {
    struct raw_burst *raw[3];
    struct way rivals[3];
    static const char *const names[] = {"in-order queues", "out-of-order queues",
                                        "one out-of-order queue"};
    const unsigned n = rig->out_of_order ? 3 : 1;
    char name[64];
    burst->streams = burst->kernels;
    for (unsigned i = 0; i < n; i++) {
        raw[i] = raw_burst(rig, burst, i == 2 ? 1 : burst->kernels, i > 0);
        rivals[i] = (struct way){names[i], raw_burst_run, raw[i]};
    }
    snprintf(name, sizeof name, "%u kernels on %u streams", burst->kernels, burst->streams);
    const struct way ours = {"clstream", burst_run, burst};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "ms",
                                    .ours = ours,
                                    .rivals = rivals,
                                    .n_rivals = n,
                                    .bar = rig_bar(rig, 1.10, 1.10)});
    struct burst serial = *burst;
    serial.streams = 1;
    const struct way one = {"on one stream", burst_run, &serial};
    snprintf(name, sizeof name, "%u kernels, speed-up over one stream", burst->kernels);
    bench_contest(&(struct contest){.name = name,
                                    .unit = "ms",
                                    .measure = MEASURE_SPEEDUP,
                                    .ours = ours,
                                    .rivals = &one,
                                    .n_rivals = 1,
                                    .bar = speedup_bar(rig, burst->kernels)});
    for (unsigned i = 0; i < n; i++)
        release_burst(raw[i]);
}

static void bursts(const struct rig *rig) {
    struct burst burst = {.kernel = rig_kernel(rig, "spin")};
    static const unsigned counts[] = {2, 8, 32};
    const uint32_t start[1 + GROUP] = {1};
    for (unsigned i = 0; i < MOST_KERNELS; i++) {
        burst.stream[i] = rig_stream(rig, CLS_ORDER_AUTO);
        CLS(cls_buffer_from_host(rig->context, start, sizeof start, &burst.buffer[i]));
    }
    burst.loops = calibrate(&burst, 0.5);
    bench_note("kernels of one group, about 0.5 ms each");
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
        burst.kernels = counts[i];
        burst_bout(rig, &burst);
    }
    for (unsigned i = 0; i < MOST_KERNELS; i++) {
        CLS(cls_stream_destroy(burst.stream[i]));
        CLS(cls_buffer_destroy(burst.buffer[i]));
    }
}

/* --- (b2) three casts --- */

struct casts {
    cls_stream stream[CASTS];
    cls_array in[CASTS], out[CASTS];
    unsigned streams, repeats;
};

static double casts_run(void *arg, double *also) {
    const struct casts *casts = arg;
    const double start = now_seconds();
    for (unsigned k = 0; k < casts->repeats; k++)
        for (unsigned i = 0; i < CASTS; i++)
            CLS(cls_cast_async(casts->in[i], casts->out[i], casts->stream[i % casts->streams]));
    for (unsigned i = 0; i < casts->streams; i++)
        CLS(cls_stream_synchronize(casts->stream[i]));
    *also = 0;
    return 1e3 * (now_seconds() - start);
}

static void cast_bout(const struct rig *rig, size_t count) {
    struct casts three = {.streams = CASTS, .repeats = 16};
    cls_buffer in, out;
    char name[64];
    CLS(cls_buffer_create(rig->context, CASTS * count * sizeof(float), &in));
    CLS(cls_buffer_create(rig->context, CASTS * count * sizeof(int32_t), &out));
    CLS(cls_fill(in, 0, CASTS * count * sizeof(float), &(float){1.5f}, sizeof(float), NULL));
    for (unsigned i = 0; i < CASTS; i++) {
        three.stream[i] = rig_stream(rig, CLS_ORDER_AUTO);
        three.in[i] = cls_array_at(in, CLS_F32, i * count, count);
        three.out[i] = cls_array_at(out, CLS_I32, i * count, count);
    }
    struct casts one = three;
    one.streams = 1;
    snprintf(name, sizeof name, "3 casts of %zu Ki, over one stream", count / 1024);
    const struct way rival = {"on one stream", casts_run, &one};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "ms",
                                    .measure = MEASURE_SPEEDUP,
                                    .ours = {"clstream", casts_run, &three},
                                    .rivals = &rival,
                                    .n_rivals = 1});
    for (unsigned i = 0; i < CASTS; i++)
        CLS(cls_stream_destroy(three.stream[i]));
    CLS(cls_buffer_destroy(in));
    CLS(cls_buffer_destroy(out));
}

/* --- (b2) events --- */

struct events {
    const struct rig *rig;
    cls_event event[EVENTS];
    cls_stream busy, other;
    cls_kernel kernel;
    cls_buffer buffer;
    cl_uint loops; /* of a kernel that outlasts a run */
    bool pending;  /* the events are of work that is not done */
};

static double per_event(double start) { return 1e9 * (now_seconds() - start) / EVENTS; }

static double create_run(void *arg, double *also) {
    struct events *events = arg;
    const double start = now_seconds();
    for (unsigned i = 0; i < EVENTS; i++)
        CLS(cls_event_create(events->rig->context, NULL, &events->event[i]));
    const double time = per_event(start);
    for (unsigned i = 0; i < EVENTS; i++)
        CLS(cls_event_destroy(events->event[i]));
    *also = 0;
    return time;
}

/* Gives the stream something to do that lasts, if the run is about pending work. */
static void begin_work(const struct events *events) {
    const cls_launch shape = {1, {GROUP, 1, 1}, {GROUP, 1, 1}};
    const cls_arg args[] = {cls_arg_buffer(events->buffer),
                            cls_arg_u32(events->pending ? events->loops : 1)};
    CLS(cls_kernel_launch_async(events->kernel, &shape, args, 2, events->busy));
    if (!events->pending)
        CLS(cls_stream_synchronize(events->busy));
}

static void end_work(const struct events *events) {
    CLS(cls_stream_synchronize(events->other));
    CLS(cls_stream_synchronize(events->busy));
}

static double record_run(void *arg, double *also) {
    const struct events *events = arg;
    begin_work(events);
    const double start = now_seconds();
    for (unsigned i = 0; i < EVENTS; i++)
        CLS(cls_event_record(events->event[i], events->busy));
    const double time = per_event(start);
    end_work(events);
    *also = 0;
    return time;
}

static double query_run(void *arg, double *also) {
    const struct events *events = arg;
    const cls_status expected = events->pending ? CLS_NOT_READY : CLS_SUCCESS;
    unsigned odd = 0;
    begin_work(events);
    CLS(cls_event_record(events->event[0], events->busy));
    const double start = now_seconds();
    for (unsigned i = 0; i < EVENTS; i++)
        odd += cls_event_query(events->event[0]) != expected;
    const double time = per_event(start);
    end_work(events);
    if (odd && !events->pending)
        die("an event of finished work was pending");
    *also = odd;
    return time;
}

static double wait_run(void *arg, double *also) {
    const struct events *events = arg;
    begin_work(events);
    for (unsigned i = 0; i < EVENTS; i++)
        CLS(cls_event_record(events->event[i], events->busy));
    const double start = now_seconds();
    for (unsigned i = 0; i < EVENTS; i++)
        CLS(cls_stream_wait_event(events->other, events->event[i]));
    const double time = per_event(start);
    end_work(events);
    *also = 0;
    return time;
}

static void event_costs(const struct rig *rig) {
    struct events events = {.rig = rig, .kernel = rig_kernel(rig, "spin")};
    const uint32_t first[1 + GROUP] = {1};
    const bool pocl = rig->vendor == VENDOR_POCL;
    events.busy = rig_stream(rig, CLS_ORDER_AUTO);
    events.other = rig_stream(rig, CLS_ORDER_AUTO);
    CLS(cls_buffer_from_host(rig->context, first, sizeof first, &events.buffer));
    struct burst probe = {
        .kernel = events.kernel, .stream = {events.busy}, .buffer = {events.buffer}};
    events.loops = calibrate(&probe, 3);
    bench_figure("event create", "ns", (struct way){"", create_run, &events}, pocl ? 1000 : 0);
    for (unsigned i = 0; i < EVENTS; i++)
        CLS(cls_event_create(rig->context, NULL, &events.event[i]));
    for (int pending = 0; pending < 2; pending++) {
        const char *const names[2][3] = {
            {"event record, idle stream", "event query, done", "stream wait, done"},
            {"event record, busy stream", "event query, pending", "stream wait, pending"}};
        events.pending = pending;
        bench_figure(names[pending][0], "ns", (struct way){"", record_run, &events},
                     pocl ? 500 : 0);
        bench_figure(names[pending][1], "ns", (struct way){"", query_run, &events}, pocl ? 200 : 0);
        bench_figure(names[pending][2], "ns", (struct way){"", wait_run, &events}, pocl ? 300 : 0);
    }
    for (unsigned i = 0; i < EVENTS; i++)
        CLS(cls_event_destroy(events.event[i]));
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "streams");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("(b) hops between two streams, time each");
    hop_bout(&rig, "hop", CLS_ORDER_AUTO);
    hop_bout(&rig, "hop, in-order", CLS_ORDER_IN_ORDER);
    if (rig.out_of_order)
        hop_bout(&rig, "hop, out-of-order", CLS_ORDER_OUT_OF_ORDER);
    bench_section("(b2) independent work");
    bursts(&rig);
    cast_bout(&rig, 16 * 1024);
    cast_bout(&rig, 1024 * 1024);
    bench_section("(b2) events");
    event_costs(&rig);
    rig_close(&rig);
    return bench_end();
}

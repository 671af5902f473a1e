/* SPDX-License-Identifier: MIT */
/*
 * (b2) What events cost the caller: to create, record, query, and have a stream wait for, each for
 * work that is done and for work that is pending.
 */
#include "harness.h"
#include "rig.h"

enum { GROUP = 32, EVENTS = 512 };

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
    const cls_launch shape = {1, {GROUP, 1, 1}, {GROUP, 1, 1}, {0, 0, 0}, NULL, 0};
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

/* Loops for a kernel of about three milliseconds. */
static cl_uint calibrate(const struct events *events) {
    struct events probe = *events;
    double least = 1e9;
    probe.loops = 256;
    probe.pending = true;
    for (int i = 0; i < 5; i++) {
        const double start = now_seconds();
        begin_work(&probe);
        CLS(cls_stream_synchronize(probe.busy));
        const double time = now_seconds() - start;
        least = time < least ? time : least;
    }
    const double loops = probe.loops * 3e-3 / least;
    return loops < 1 ? 1 : loops > 60000 ? 60000 : (cl_uint)loops;
}

static void event_costs(const struct rig *rig) {
    struct events events = {.rig = rig, .kernel = rig_kernel(rig, "spin")};
    const uint32_t first[1 + GROUP] = {1};
    const bool pocl = rig->vendor == VENDOR_POCL;
    events.busy = rig_stream(rig, CLS_ORDER_AUTO);
    events.other = rig_stream(rig, CLS_ORDER_AUTO);
    CLS(cls_buffer_from_host(rig->context, first, sizeof first, &events.buffer));
    events.loops = calibrate(&events);
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
    bench_begin(argc, argv, "events");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("(b2) events");
    event_costs(&rig);
    rig_close(&rig);
    return bench_end();
}

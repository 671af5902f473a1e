/* SPDX-License-Identifier: MIT */
/*
 * (b) A hop from stream to stream: a kernel, an event, and another stream's wait for it, back and
 * forth, against the cheapest raw way to have a kernel of one queue wait for one of another.
 */
#include "cores.h"
#include "harness.h"
#include "raw_launch.h"

/* Nanoseconds added to each raw hop in the rows that show how much time a bar allows. */
enum { MORE_NS = 100 };

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
    const cls_launch shape = {1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, NULL, 0};
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
    unsigned more_ns; /* added before each hop */
    bool flush;
    struct raw_ring ring;
};

/* OpenCL asks that the queue of an event be flushed before another queue waits for it; where a device was
 * found to run what was never flushed, the raw side does without as well. */
static double raw_hops_run(void *arg, double *also) {
    struct raw_hops *hops = arg;
    cl_event last = NULL;
    const double start = now_seconds();
    for (unsigned i = 0; i < hops->hops; i++) {
        if (hops->more_ns)
            spend_ns(hops->more_ns);
        raw_launch(hops->queue[i % 2], hops->kernel, hops->memory, 1, 1, last, &last);
        if (hops->flush)
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
    raw->flush = rig_capability(rig, "unflushed_runs") == 0;
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
    double also, least = 1e9;
    set_up_hops(rig, &hops);
    for (int i = 0; i < 2; i++)
        hops.stream[i] = rig_stream(rig, order);
    check_hops(rig, &hops);
    struct raw_hops *probe = raw_hops(rig, &hops, false);
    for (int i = 0; i < 5; i++) {
        const double time = raw_hops_run(probe, &also);
        least = time < least ? time : least;
    }
    const double wanted = 3000 / least;
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

/* The raw way against itself with time added: what some nanoseconds between two hops cost any program. */
static void more_bout(const struct rig *rig) {
    struct hops hops;
    set_up_hops(rig, &hops);
    hops.hops = 1500;
    struct raw_hops *plain = raw_hops(rig, &hops, rig->out_of_order);
    struct raw_hops *more = raw_hops(rig, &hops, rig->out_of_order);
    more->more_ns = MORE_NS;
    const struct way rival = {"by hand", raw_hops_run, plain};
    bench_contest(&(struct contest){.name = "hop, by hand, 100 ns more each",
                                    .unit = "us",
                                    .ours = {"by hand", raw_hops_run, more},
                                    .rivals = &rival,
                                    .n_rivals = 1,
                                    .rounds = bench_options()->quick ? 21 : 61});
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "hop");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("(b) hops between two streams, time each");
    hop_bout(&rig, "hop", CLS_ORDER_AUTO);
    hop_bout(&rig, "hop, in-order", CLS_ORDER_IN_ORDER);
    if (rig.out_of_order)
        hop_bout(&rig, "hop, out-of-order", CLS_ORDER_OUT_OF_ORDER);
    more_bout(&rig);
    bench_note(
        "the last row: a raw loop that counts for 100 ns before each hop, against one that does not");
    rig_close(&rig);
    return bench_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * (a) What a launch costs. N launches of a kernel of one work-item and the wait for them, by
 * clstream and in raw OpenCL. "launch" is an empty kernel; "dependent launch" adds to a word that
 * the launch before it wrote, and the sum is checked. The ratio is of the whole time. The time
 * until the last call has returned is a row of its own: on a slow device it depends on the queue's
 * depth more than on the cost of a launch. A launch with an offset is compared with one without; "launch with an image" is
 * of an empty kernel that takes one, by both.
 */
#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "raw_launch.h"

struct loop {
    cls_stream stream;
    cls_kernel kernel;
    cls_buffer buffer;
    cls_image image; /* in its place; NULL: none */
    unsigned launches;
    size_t offset; /* of each launch's work-item */
};

static double loop_run(void *arg, double *also) {
    const struct loop *loop = arg;
    const cls_launch shape = {1, {1, 1, 1}, {1, 1, 1}, {loop->offset, 0, 0}, NULL, 0};
    const double start = now_seconds();
    for (unsigned i = 0; i < loop->launches; i++) {
        const cls_arg args[] = {loop->image ? cls_arg_image(loop->image)
                                            : cls_arg_buffer(loop->buffer),
                                cls_arg_u32(1)};
        CLS(cls_kernel_launch_async(loop->kernel, &shape, args, 2, loop->stream));
    }
    const double submitted = now_seconds();
    CLS(cls_stream_synchronize(loop->stream));
    const double end = now_seconds();
    *also = 1e6 * (submitted - start) / loop->launches;
    return 1e6 * (end - start) / loop->launches;
}

/* One kernel and the objects that both sides launch it with. */
struct bout {
    const struct rig *rig;
    const char *name; /* of the rows */
    cls_kernel kernel;
    cl_kernel raw_kernel;
    cls_buffer buffer;
    cls_image image; /* in its place; NULL: none */
    cl_command_queue in_order, out_of_order;
    unsigned launches;
};

static const char *const raw_names[] = {
    [RAW_NO_EVENTS] = "in-order, no events",
    [RAW_EVERY_256] = "in-order, event every 256",
    [RAW_EACH] = "in-order, event each",
    [RAW_CHAINED] = "out-of-order, chained",
};

static struct raw_loop *raw_loop(const struct bout *bout, enum raw_events events) {
    struct raw_loop *loop = allocate(sizeof *loop);
    loop->queue = events == RAW_CHAINED ? bout->out_of_order : bout->in_order;
    loop->kernel = bout->raw_kernel;
    if (bout->image)
        CLS(cls_image_get_cl(bout->image, &loop->memory));
    else
        loop->memory = rig_mem_of(bout->buffer);
    loop->events = events;
    loop->launches = bout->launches;
    return loop;
}

static struct way raw_way(const struct bout *bout, enum raw_events events) {
    return (struct way){raw_names[events], raw_loop_run, raw_loop(bout, events)};
}

static void contend(const struct bout *bout, const char *what, cls_order order,
                    const struct way *rivals, unsigned n_rivals, double bar) {
    struct loop loop = {.stream = rig_stream(bout->rig, order),
                        .kernel = bout->kernel,
                        .buffer = bout->buffer,
                        .image = bout->image,
                        .launches = bout->launches};
    char name[64], also[64];
    snprintf(name, sizeof name, "%s, %s", bout->name, what);
    snprintf(also, sizeof also, "%s, %s: submit only", bout->name, what);
    bench_contest(&(struct contest){.name = name,
                                    .unit = "us",
                                    .ours = {"clstream", loop_run, &loop},
                                    .rivals = rivals,
                                    .n_rivals = n_rivals,
                                    .bar = bar,
                                    .rounds = bench_options()->quick ? 21 : 61,
                                    .also = also});
    CLS(cls_stream_destroy(loop.stream));
}

/* The same kind of queue and events on both sides, then the stream as it comes against the cheapest
 * raw way of this driver. */
static void run_bout(const struct bout *bout) {
    const struct rig *rig = bout->rig;
    const bool event_less = rig_capability(rig, "event_less") != 0;
    const double bar = rig_bar(rig, 1.10, 1.05);
    struct way each = raw_way(bout, RAW_EACH), every = raw_way(bout, RAW_EVERY_256);
    contend(bout, "in-order", CLS_ORDER_IN_ORDER, event_less ? &every : &each, 1, bar);
    struct way all[4] = {raw_way(bout, RAW_NO_EVENTS), each};
    unsigned n = 2;
    if (rig->out_of_order) {
        all[n++] = raw_way(bout, RAW_CHAINED);
        contend(bout, "out-of-order", CLS_ORDER_OUT_OF_ORDER, &all[2], 1, bar);
    }
    contend(bout, "as it comes", CLS_ORDER_AUTO, all, n, rig_bar(rig, 1.15, 1.15));
}

/* Launches for a run of three milliseconds, from the time of a short raw loop. */
static unsigned calibrate(const struct bout *bout) {
    struct bout probe = *bout;
    double also, least = 1e9;
    probe.launches = 256;
    struct raw_loop *loop = raw_loop(&probe, RAW_EACH);
    for (int i = 0; i < 5; i++) {
        const double time = raw_loop_run(loop, &also);
        least = time < least ? time : least;
    }
    const double wanted = (bench_options()->quick ? 2000 : 3000) / least;
    return wanted < 100 ? 100 : wanted > 3000 ? 3000 : (unsigned)wanted;
}

static void offset_against_plain(const struct bout *bout) {
    struct loop plain = {.stream = rig_stream(bout->rig, CLS_ORDER_AUTO),
                         .kernel = bout->kernel,
                         .buffer = bout->buffer,
                         .launches = bout->launches};
    struct loop offset = plain;
    const struct way rival = {"without", loop_run, &plain};
    offset.offset = 1;
    bench_contest(&(struct contest){.name = "launch, with an offset",
                                    .unit = "us",
                                    .ours = {"with", loop_run, &offset},
                                    .rivals = &rival,
                                    .n_rivals = 1,
                                    .bar = 1.05,
                                    .rounds = bench_options()->quick ? 21 : 61});
    CLS(cls_stream_destroy(plain.stream));
}

static void bout_of(const struct rig *rig, const char *name, const char *kernel) {
    const uint32_t zero[16] = {0};
    struct bout bout = {.rig = rig,
                        .name = name,
                        .kernel = rig_kernel(rig, kernel),
                        .raw_kernel = rig_raw_kernel(rig, kernel),
                        .in_order = rig_queue(rig, false)};
    if (rig->out_of_order)
        bout.out_of_order = rig_queue(rig, true);
    CLS(cls_buffer_from_host(rig->context, zero, sizeof zero, &bout.buffer));
    bout.launches = calibrate(&bout);
    bench_note("%u launches of kernel '%s' a run", bout.launches, kernel);
    run_bout(&bout);
    if (!strcmp(kernel, "nothing") && rig_capability(rig, "launch_offsets") != 0)
        offset_against_plain(&bout);
}

static void image_bout(const struct rig *rig) {
    const cls_image_shape shape = {
        CLS_IMAGE_2D, {CLS_CHANNELS_RGBA, CLS_CHANNEL_U8}, CLS_ACCESS_READ, 4, 4, 1};
    struct bout bout = {.rig = rig, .name = "launch with an image"};
    int has = 0;
    CLS(cls_image_format_supported(rig->context, shape.kind, shape.access, shape.format, &has));
    if (!has) {
        bench_note("no launch with an image: the device has none");
        return;
    }
    bout.kernel = rig_kernel(rig, "nothing_of_image");
    bout.raw_kernel = rig_raw_kernel(rig, "nothing_of_image");
    bout.in_order = rig_queue(rig, false);
    CLS(cls_image_create(rig->context, &shape, &bout.image));
    bout.launches = calibrate(&bout);
    const struct way rival =
        raw_way(&bout, rig_capability(rig, "event_less") != 0 ? RAW_EVERY_256 : RAW_EACH);
    contend(&bout, "in-order", CLS_ORDER_IN_ORDER, &rival, 1, 1.05 * rig_bar(rig, 1.10, 1.05));
}

/* Both sides add to the same word: launches that overtook each other lose additions. */
static void check_sum(const struct rig *rig) {
    const uint32_t zero = 0;
    uint32_t sum;
    struct loop loop = {.kernel = rig_kernel(rig, "advance"), .launches = 1000};
    CLS(cls_buffer_from_host(rig->context, &zero, sizeof zero, &loop.buffer));
    for (int order = CLS_ORDER_AUTO; order <= CLS_ORDER_IN_ORDER; order++) {
        double also;
        if (order == CLS_ORDER_OUT_OF_ORDER && !rig->out_of_order)
            continue;
        CLS(cls_fill(loop.buffer, 0, sizeof zero, &zero, sizeof zero, NULL));
        loop.stream = rig_stream(rig, (cls_order)order);
        loop_run(&loop, &also);
        CLS(cls_copy_d2h(&sum, loop.buffer, 0, sizeof sum, loop.stream));
        if (sum != loop.launches)
            die("%u dependent launches added up to %u", loop.launches, (unsigned)sum);
        CLS(cls_stream_destroy(loop.stream));
    }
}

/* A launch and the wait for it, again and again. */
static double latency_run(void *arg, double *also) {
    const struct loop *loop = arg;
    struct loop one = *loop;
    double sum = 0;
    one.launches = 1;
    for (unsigned i = 0; i < loop->launches; i++)
        sum += loop_run(&one, also);
    return sum / loop->launches;
}

static double raw_latency_run(void *arg, double *also) {
    struct raw_loop *loop = arg;
    const unsigned launches = loop->launches;
    double sum = 0;
    loop->launches = 1;
    for (unsigned i = 0; i < launches; i++)
        sum += raw_loop_run(loop, also);
    loop->launches = launches;
    return sum / launches;
}

static void latency(const struct rig *rig) {
    struct bout bout = {.rig = rig,
                        .kernel = rig_kernel(rig, "nothing"),
                        .raw_kernel = rig_raw_kernel(rig, "nothing"),
                        .in_order = rig_queue(rig, false),
                        .launches = bench_options()->quick ? 50 : 200};
    CLS(cls_buffer_create(rig->context, 64, &bout.buffer));
    struct loop loop = {.stream = rig_stream(rig, CLS_ORDER_AUTO),
                        .kernel = bout.kernel,
                        .buffer = bout.buffer,
                        .launches = bout.launches};
    const struct way rivals[] = {
        {"clFinish", raw_latency_run, raw_loop(&bout, RAW_NO_EVENTS)},
        {"clWaitForEvents", raw_latency_run, raw_loop(&bout, RAW_EACH)},
    };
    bench_contest(&(struct contest){.name = "launch and wait",
                                    .unit = "us",
                                    .ours = {"clstream", latency_run, &loop},
                                    .rivals = rivals,
                                    .n_rivals = 2});
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "launch");
    rig_open(&rig);
    bench_header(&rig);
    check_sum(&rig);
    bench_section("(a) launches, time each");
    bout_of(&rig, "launch", "nothing");
    bout_of(&rig, "dependent launch", "advance");
    image_bout(&rig);
    latency(&rig);
    rig_close(&rig);
    return bench_end();
}

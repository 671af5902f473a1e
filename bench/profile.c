/* SPDX-License-Identifier: MIT */
/*
 * (g) What a profiler costs: launches of an empty kernel while none runs, on a stream that was profiled
 * before, against one that never was; and while one runs, against none.
 */
#include "harness.h"
#include "rig.h"

struct loop {
    cls_stream stream;
    cls_kernel kernel;
    cls_buffer buffer;
    cls_profiler profiler; /* NULL: none runs */
    unsigned launches;
};

static double launches(const struct loop *loop) {
    const cls_launch shape = {1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, NULL, 0};
    const double start = now_seconds();
    for (unsigned i = 0; i < loop->launches; i++) {
        const cls_arg args[] = {cls_arg_buffer(loop->buffer), cls_arg_u32(1)};
        CLS(cls_kernel_launch_async(loop->kernel, &shape, args, 2, loop->stream));
    }
    CLS(cls_stream_synchronize(loop->stream));
    return 1e6 * (now_seconds() - start) / loop->launches;
}

/* The queue is changed by a launch of its own, which is none of the launches' cost. */
static double loop_run(void *arg, double *also) {
    const struct loop *loop = arg;
    struct loop one = *loop;
    one.launches = 1;
    (void)also;
    if (loop->profiler)
        CLS(cls_profiler_start(loop->profiler));
    launches(&one);
    const double time = launches(loop);
    if (loop->profiler)
        CLS(cls_profiler_stop(loop->profiler));
    return time;
}

static void contend(const char *name, struct loop *ours, struct loop *theirs, double bar) {
    const struct way rival = {"never profiled", loop_run, theirs};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "us",
                                    .ours = {"clstream", loop_run, ours},
                                    .rivals = &rival,
                                    .n_rivals = 1,
                                    .bar = bar,
                                    .rounds = bench_options()->quick ? 21 : 61});
}

static void bout(const struct rig *rig, cls_order order, const char *on, const char *off) {
    struct loop plain = {.kernel = rig_kernel(rig, "nothing"),
                         .stream = rig_stream(rig, order),
                         .launches = bench_options()->quick ? 500 : 1500};
    struct loop profiled = plain, before;
    profiled.stream = rig_stream(rig, order);
    CLS(cls_buffer_create(rig->context, 64, &plain.buffer));
    profiled.buffer = plain.buffer;
    CLS(cls_profiler_create(NULL, &profiled.profiler));
    contend(on, &profiled, &plain, 0);
    before = profiled;
    before.profiler = NULL;
    contend(off, &before, &plain, 1.05);
    CLS(cls_profiler_destroy(profiled.profiler));
    CLS(cls_stream_destroy(plain.stream));
    CLS(cls_stream_destroy(profiled.stream));
    CLS(cls_buffer_destroy(plain.buffer));
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "profile");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("(g) launches beside a profiler, time each");
    bout(&rig, CLS_ORDER_IN_ORDER, "launch, in-order, profiled", "launch, in-order, no more");
    bout(&rig, CLS_ORDER_AUTO, "launch, as it comes, profiled", "launch, as it comes, no more");
    rig_close(&rig);
    return bench_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * (p) A pool's strategies on uneven work: tasks of which every fourth takes sixteen times as long, on four
 * streams, each of which is given its next task when it is done with the last. In turn, all the long ones
 * meet on one stream.
 */
#include "harness.h"
#include "rig.h"

enum { STREAMS = 4, TASKS = 48, LONG_EVERY = 4, LONG = 16, GROUP = 32 };

struct job {
    cls_pool pool;
    cls_kernel kernel;
    cls_buffer buffers[STREAMS]; /* one a stream, so that nothing is shared */
    cls_stream streams[STREAMS];
    cl_uint loops; /* of a short task */
};

static cls_buffer buffer_of(const struct job *job, cls_stream stream) {
    for (int i = 0; i < STREAMS; i++)
        if (job->streams[i] == stream)
            return job->buffers[i];
    die("a stream that is not the pool's");
}

static void submit(const struct job *job, cls_stream stream, cl_uint loops) {
    const cls_launch shape = {1, {GROUP, 1, 1}, {GROUP, 1, 1}};
    const cls_arg args[] = {cls_arg_buffer(buffer_of(job, stream)), cls_arg_u32(loops)};
    CLS(cls_kernel_launch_async(job->kernel, &shape, args, 2, stream));
}

/* The stream for the next task, idle: the strategy's choice once it is, or once any is. */
static cls_stream next_stream(const struct job *job, bool balanced) {
    cls_stream stream;
    if (balanced)
        CLS(cls_pool_wait_any(job->pool, UINT64_MAX, &stream));
    CLS(cls_pool_get(job->pool, &stream));
    CLS(cls_stream_synchronize(stream));
    return stream;
}

static double run_tasks(const struct job *job, bool balanced) {
    const double start = now_seconds();
    for (unsigned i = 0; i < TASKS; i++) {
        const cls_stream stream = next_stream(job, balanced);
        submit(job, stream, i % LONG_EVERY ? job->loops : LONG * job->loops);
        CLS(cls_pool_release(job->pool, stream));
    }
    for (int i = 0; i < STREAMS; i++)
        CLS(cls_stream_synchronize(job->streams[i]));
    return 1e3 * (now_seconds() - start);
}

static double balanced_run(void *arg, double *also) {
    const struct job *job = arg;
    *also = 0;
    CLS(cls_pool_set_strategy(job->pool, CLS_POOL_LOAD_BALANCED));
    return run_tasks(job, true);
}

static double in_turn_run(void *arg, double *also) {
    const struct job *job = arg;
    *also = 0;
    CLS(cls_pool_set_strategy(job->pool, CLS_POOL_ROUND_ROBIN));
    return run_tasks(job, false);
}

/* Loops for a task of about a quarter of a millisecond. */
static cl_uint calibrate(const struct job *job) {
    double least = 1e9;
    for (int i = 0; i < 5; i++) {
        const double start = now_seconds();
        submit(job, job->streams[0], 256);
        CLS(cls_stream_synchronize(job->streams[0]));
        const double time = now_seconds() - start;
        least = time < least ? time : least;
    }
    const double loops = 256 * 2.5e-4 / least;
    return loops < 1 ? 1 : loops > 60000 ? 60000 : (cl_uint)loops;
}

static void open_job(const struct rig *rig, struct job *job) {
    const uint32_t first[1 + GROUP] = {1};
    cls_pool_config config = CLS_POOL_CONFIG_INIT;
    config.min_streams = config.max_streams = STREAMS;
    CLS(cls_pool_create(rig->context, &config, &job->pool));
    job->kernel = rig_kernel(rig, "spin");
    for (int i = 0; i < STREAMS; i++) {
        CLS(cls_pool_get(job->pool, &job->streams[i]));
        CLS(cls_buffer_from_host(rig->context, first, sizeof first, &job->buffers[i]));
    }
    job->loops = calibrate(job);
}

int main(int argc, char **argv) {
    struct rig rig;
    static struct job job;
    bench_begin(argc, argv, "pool");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("(p) 48 uneven tasks on a pool of four streams");
    open_job(&rig, &job);
    const struct way in_turn = {"round robin", in_turn_run, &job};
    bench_contest(&(struct contest){.name = "pool, load balanced",
                                    .unit = "ms",
                                    .measure = MEASURE_SPEEDUP,
                                    .ours = {"clstream", balanced_run, &job},
                                    .rivals = &in_turn,
                                    .n_rivals = 1,
                                    .bar = rig.vendor == VENDOR_OTHER ? 0 : 1.3});
    CLS(cls_pool_destroy(job.pool));
    rig_close(&rig);
    return bench_end();
}

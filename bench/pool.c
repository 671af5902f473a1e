/* SPDX-License-Identifier: MIT */
/*
 * (p) A pool's strategies on uneven work. Frames of four jobs come: one long, whose length is heavy-tailed
 * (Pareto, shape 1.5), and three short. Each job is submitted at once, as programs do: get a stream, submit,
 * release. In turn, round robin puts all long ones on one stream of the four. Load balancing uses what the
 * pool was given or can see: costs, averages of kinds of work, or the number of a job's steps. Shuffled,
 * the same jobs have no such pattern. A kernel is one work-group, so that one core or
 * multiprocessor runs it; jobs that wait, as for a disk, are host functions, of which a core runs any number.
 */
#include "harness.h"
#include "rig.h"

#include <math.h>
#include <time.h>

enum {
    STREAMS = 4,
    FRAMES = 12,
    JOBS = STREAMS * FRAMES,
    LEAST_LONG = 8,
    MOST_LONG = 64,
    GROUP = 32
};

/* How a job is submitted. */
enum manner {
    BY_COST,  /* one launch, whose cost is given */
    BY_KIND,  /* one launch of a kind of work whose durations are recorded */
    BY_STEPS, /* a launch for each short job's worth; nothing is said */
    WAITING,  /* a host function that waits, whose cost is given */
};

static const double SHORT_SECONDS = 2.5e-4;

struct work {
    cls_pool pool;
    cls_kernel kernel;
    cls_buffer buffers[STREAMS]; /* one a stream, so that nothing is shared */
    cls_stream streams[STREAMS];
    cl_uint loops; /* of a short job */
};

/* One side of a contest: the rounds of both draw the same jobs. */
struct side {
    const struct work *work;
    cls_pool_strategy strategy;
    enum manner manner;
    bool shuffled;
    uint32_t round;
};

/* --- jobs --- */

static double next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) / (double)(1u << 24);
}

/* Lengths, a short job being 1. */
static void draw_jobs(const struct side *side, unsigned *lengths) {
    uint32_t state = side->round + 1;
    for (unsigned i = 0; i < JOBS; i++) {
        const double tail = LEAST_LONG * pow(1 - next_random(&state), -1 / 1.5);
        lengths[i] = i % STREAMS ? 1 : tail > MOST_LONG ? MOST_LONG : (unsigned)tail;
    }
    for (unsigned i = JOBS - 1; side->shuffled && i > 0; i--) {
        const unsigned other = (unsigned)(next_random(&state) * (i + 1)), kept = lengths[i];
        lengths[i] = lengths[other];
        lengths[other] = kept;
    }
}

static cls_buffer buffer_of(const struct work *work, cls_stream stream) {
    for (int i = 0; i < STREAMS; i++)
        if (work->streams[i] == stream)
            return work->buffers[i];
    die("a stream that is not the pool's");
}

static void launch(const struct work *work, cls_stream stream, unsigned length) {
    const cls_launch shape = {1, {GROUP, 1, 1}, {GROUP, 1, 1}, {0, 0, 0}, NULL, 0};
    const cls_arg args[] = {cls_arg_buffer(buffer_of(work, stream)),
                            cls_arg_u32(length * work->loops)};
    CLS(cls_kernel_launch_async(work->kernel, &shape, args, 2, stream));
}

static void wait_a_while(void *length) {
    const struct timespec time = {0, (long)(SHORT_SECONDS * 1e9) * (long)(uintptr_t)length};
    nanosleep(&time, NULL);
}

static cls_workload kind_of(unsigned length) {
    return length > 1 ? CLS_WORKLOAD_COMPUTE : CLS_WORKLOAD_COORDINATION;
}

static void submit(const struct side *side, unsigned length) {
    const struct work *work = side->work;
    cls_pool_request request = CLS_POOL_REQUEST_INIT;
    cls_stream stream;
    if (side->manner == BY_COST || side->manner == WAITING)
        request.cost_ns = length; /* any unit does */
    if (side->manner == BY_KIND)
        request.workload = kind_of(length);
    CLS(cls_pool_get_with(work->pool, &request, &stream));
    for (unsigned i = 0; side->manner == BY_STEPS && i < length; i++)
        launch(work, stream, 1);
    if (side->manner == WAITING)
        CLS(cls_stream_launch_host_async(stream, wait_a_while, (void *)(uintptr_t)length));
    else if (side->manner != BY_STEPS)
        launch(work, stream, length);
    CLS(cls_pool_release(work->pool, stream));
}

static double run_jobs(void *arg, double *also) {
    struct side *side = arg;
    unsigned lengths[JOBS];
    *also = 0;
    draw_jobs(side, lengths);
    side->round++;
    CLS(cls_pool_set_strategy(side->work->pool, side->strategy));
    const double start = now_seconds();
    for (unsigned i = 0; i < JOBS; i++)
        submit(side, lengths[i]);
    for (int i = 0; i < STREAMS; i++)
        CLS(cls_stream_synchronize(side->work->streams[i]));
    return 1e3 * (now_seconds() - start);
}

/* --- set-up --- */

static double time_job(const struct work *work, unsigned length) {
    const double start = now_seconds();
    launch(work, work->streams[0], length);
    CLS(cls_stream_synchronize(work->streams[0]));
    return now_seconds() - start;
}

/* Loops for a short job of about a quarter of a millisecond; no loop of a long one beyond what all drivers
 * run. */
static cl_uint calibrate(struct work *work) {
    double least = 1e9;
    work->loops = 256;
    for (int i = 0; i < 5; i++) {
        const double time = time_job(work, 1);
        least = time < least ? time : least;
    }
    const double loops = 256 * SHORT_SECONDS / least, most = 65535 / MOST_LONG;
    return loops < 1 ? 1 : loops > most ? (cl_uint)most : (cl_uint)loops;
}

/* What a program would report of jobs that it ran before. */
static void record_kinds(const struct work *work) {
    for (unsigned i = 0; i < 8; i++) {
        const unsigned length = i % 2 ? 1 : 2 * LEAST_LONG;
        CLS(cls_pool_record_completion(work->pool, kind_of(length),
                                       (uint64_t)(1e9 * time_job(work, length))));
    }
}

static void open_work(const struct rig *rig, struct work *work) {
    const uint32_t first[1 + GROUP] = {1};
    cls_pool_config config = CLS_POOL_CONFIG_INIT;
    config.min_streams = config.max_streams = STREAMS;
    CLS(cls_pool_create(rig->context, &config, &work->pool));
    work->kernel = rig_kernel(rig, "spin");
    for (int i = 0; i < STREAMS; i++) {
        CLS(cls_pool_get(work->pool, &work->streams[i]));
        CLS(cls_pool_release(work->pool, work->streams[i]));
        CLS(cls_buffer_from_host(rig->context, first, sizeof first, &work->buffers[i]));
    }
    work->loops = calibrate(work);
    record_kinds(work);
}

static void contest(const struct work *work, const char *name, enum manner manner, bool shuffled,
                    double bar) {
    struct side ours = {work, CLS_POOL_LOAD_BALANCED, manner, shuffled, 0};
    struct side theirs = {work, CLS_POOL_ROUND_ROBIN, manner, shuffled, 0};
    const struct way in_turn = {"round robin", run_jobs, &theirs};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "ms",
                                    .measure = MEASURE_SPEEDUP,
                                    .ours = {"clstream", run_jobs, &ours},
                                    .rivals = &in_turn,
                                    .n_rivals = 1,
                                    .bar = bar});
}

int main(int argc, char **argv) {
    struct rig rig;
    static struct work work;
    bench_begin(argc, argv, "pool");
    rig_open(&rig);
    bench_header(&rig);
    bench_section(
        "(p) 12 frames of four uneven jobs on a pool of four streams, by load against in turn");
    open_work(&rig, &work);
    const double bar = rig.vendor == VENDOR_OTHER ? 0 : 1.3;
    contest(&work, "pool, costs given", BY_COST, false, bar);
    contest(&work, "pool, kinds recorded", BY_KIND, false, bar);
    contest(&work, "pool, steps counted", BY_STEPS, false, bar);
    contest(&work, "pool, jobs that wait", WAITING, false, bar);
    contest(&work, "pool, jobs that wait, shuffled", WAITING, true, 0);
    contest(&work, "pool, costs given, shuffled", BY_COST, true, 0);
    CLS(cls_pool_destroy(work.pool));
    rig_close(&rig);
    return bench_end();
}

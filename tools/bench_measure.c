/* SPDX-License-Identifier: MIT */
/* The figures of `clstream bench`: each the median of a few rounds, the first of which does not count. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include <clstream.h>

#include "progress.h"

enum { STREAMS = 8, ROUNDS = 7, QUICK_ROUNDS = 3, LAUNCHES = 500, LOOP = 50000, CHUNKS = 6 };

static const char source[] =
    "kernel void nothing(global uint *out) { (void)out; }\n"
    "kernel void spin(global uint *out, uint rounds) {\n"
    "    uint x = get_global_id(0) + 1u;\n"
    "    for (uint i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;\n"
    "    if (x == 0u) out[0] = x;\n"
    "}\n";

struct bench {
    cls_context context;
    cls_stream streams[STREAMS];
    cls_event event;
    cls_program program;
    cls_kernel nothing, spin;
    cls_buffer a, b, c;
    void *pinned, *pinned_too, *pageable;
    size_t bytes;
    unsigned spins;    /* launches of `spin` that take a few milliseconds */
    cls_status status; /* the first that was no success */
};

/* Whether all went well so far, this call included. */
static bool did(struct bench *bench, cls_status status) {
    if (!bench->status)
        bench->status = status;
    return !bench->status;
}

static bool finish(struct bench *bench, unsigned streams) {
    for (unsigned i = 0; i < streams; i++)
        if (!did(bench, cls_stream_synchronize(bench->streams[i])))
            return false;
    return true;
}

static double rate(const struct bench *bench, double bytes, double start) {
    (void)bench;
    return bytes * 1e-9 / (clock_seconds() - start);
}

/* --- copies --- */

enum direction { UP = 1, DOWN = 2, PAGEABLE = 4 };

static double copies(struct bench *bench, int how) {
    void *up = how & PAGEABLE ? bench->pageable : bench->pinned;
    void *down = how & PAGEABLE ? bench->pageable : bench->pinned_too;
    const double start = clock_seconds();
    if (how & UP)
        did(bench, cls_copy_h2d_async(bench->a, 0, up, bench->bytes, bench->streams[0]));
    if (how & DOWN)
        did(bench, cls_copy_d2h_async(down, bench->b, 0, bench->bytes, bench->streams[1]));
    finish(bench, 2);
    return rate(bench, (double)bench->bytes * ((how & UP) && (how & DOWN) ? 2 : 1), start);
}

static double copy_within(struct bench *bench, int unused) {
    const double start = clock_seconds();
    (void)unused;
    did(bench, cls_copy_d2d_async(bench->b, 0, bench->a, 0, bench->bytes, bench->streams[0]));
    finish(bench, 1);
    return rate(bench, 2.0 * (double)bench->bytes, start);
}

/* --- launches --- */

static bool launch_nothing(struct bench *bench, unsigned stream) {
    const cls_launch shape = cls_launch_1d(1);
    const cls_arg args[] = {cls_arg_buffer(bench->c)};
    return did(bench,
               cls_kernel_launch_async(bench->nothing, &shape, args, 1, bench->streams[stream]));
}

/* Microseconds a launch: until all are done, or until the last call has returned. */
static double launches(struct bench *bench, int submit_only) {
    const double start = clock_seconds();
    for (unsigned i = 0; i < LAUNCHES && launch_nothing(bench, 0); i++)
        continue;
    const double submitted = clock_seconds();
    finish(bench, 1);
    return 1e6 * ((submit_only ? submitted : clock_seconds()) - start) / LAUNCHES;
}

static double launch_and_wait(struct bench *bench, int unused) {
    const unsigned n = LAUNCHES / 10;
    const double start = clock_seconds();
    (void)unused;
    for (unsigned i = 0; i < n && launch_nothing(bench, 0) && finish(bench, 1); i++)
        continue;
    return 1e6 * (clock_seconds() - start) / n;
}

/* A launch on one stream, and one on another that waits for it, to and fro. */
static double hop(struct bench *bench, int unused) {
    const unsigned n = LAUNCHES / 2;
    const double start = clock_seconds();
    (void)unused;
    for (unsigned i = 0; i < n; i++)
        if (!launch_nothing(bench, i % 2) ||
            !did(bench, cls_event_record(bench->event, bench->streams[i % 2])) ||
            !did(bench, cls_stream_wait_event(bench->streams[1 - i % 2], bench->event)))
            break;
    finish(bench, 2);
    return 1e6 * (clock_seconds() - start) / n;
}

static double record(struct bench *bench, int unused) {
    const double start = clock_seconds();
    (void)unused;
    for (unsigned i = 0; i < LAUNCHES; i++)
        if (!did(bench, cls_event_record(bench->event, bench->streams[0])))
            break;
    return 1e9 * (clock_seconds() - start) / LAUNCHES;
}

/* --- overlap --- */

static void spin(struct bench *bench, unsigned stream) {
    const cls_launch shape = cls_launch_1d(1);
    const cls_arg args[] = {cls_arg_buffer(bench->c), cls_arg_u32(LOOP)};
    for (unsigned i = 0; i < bench->spins; i++)
        if (!did(bench,
                 cls_kernel_launch_async(bench->spin, &shape, args, 2, bench->streams[stream])))
            return;
}

static double spin_on(struct bench *bench, unsigned works, unsigned streams) {
    const double start = clock_seconds();
    for (unsigned i = 0; i < works; i++)
        spin(bench, i % streams);
    finish(bench, streams);
    return clock_seconds() - start;
}

/* How much sooner n kernels of one work-item are done on n streams than on one. */
static double kernels(struct bench *bench, int n) {
    const double one = spin_on(bench, (unsigned)n, 1),
                 many = spin_on(bench, (unsigned)n, (unsigned)n);
    return one / many;
}

/* One chunk of a pipeline. */
static void chunk(struct bench *bench, unsigned i, cls_stream up, cls_stream work,
                  cls_stream down) {
    const size_t bytes = bench->bytes / CHUNKS / 64 * 64, offset = i * bytes / sizeof(float);
    const cls_array in = cls_array_at(bench->a, CLS_F32, offset, bytes / sizeof(float));
    const cls_array out = cls_array_at(bench->b, CLS_F32, offset, bytes / sizeof(float));
    did(bench, cls_copy_h2d_async(bench->a, i * bytes, bench->pinned, bytes, up));
    if (up != work) {
        did(bench, cls_event_record(bench->event, up));
        did(bench, cls_stream_wait_event(work, bench->event));
    }
    did(bench, cls_unary_async(CLS_UNARY_GELU, in, out, work));
    if (down != work) {
        did(bench, cls_event_record(bench->event, work));
        did(bench, cls_stream_wait_event(down, bench->event));
    }
    did(bench, cls_copy_d2h_async((char *)bench->pinned_too + i * bytes, bench->b, i * bytes, bytes,
                                  down));
}

static double pipeline(struct bench *bench, bool overlapped) {
    cls_stream *streams = bench->streams;
    const double start = clock_seconds();
    for (unsigned i = 0; i < CHUNKS && !bench->status; i++)
        chunk(bench, i, streams[0], streams[overlapped ? 1 : 0], streams[overlapped ? 2 : 0]);
    finish(bench, 3);
    return clock_seconds() - start;
}

static double stages(struct bench *bench, int unused) {
    (void)unused;
    const double one = pipeline(bench, false), three = pipeline(bench, true);
    return one / three;
}

/* --- operations: bytes read and written a second --- */

enum operation { CAST, RELU, EXP, GELU, ADD, WHERE, SUM };

static double operations(struct bench *bench, int which) {
    const size_t count = bench->bytes / sizeof(float);
    const cls_array a = cls_array_of(bench->a, CLS_F32, count);
    const cls_array b = cls_array_of(bench->b, CLS_F32, count);
    const cls_array c = cls_array_of(bench->c, CLS_F32, count);
    const cls_array integers = cls_array_of(bench->c, CLS_I32, count);
    const cls_array masks = cls_array_of(bench->c, CLS_U8, count);
    const cls_stream stream = bench->streams[0];
    const double start = clock_seconds(), bytes = (double)bench->bytes;
    double moved = 2 * bytes;
    float sum;
    switch ((enum operation)which) {
    case CAST:
        did(bench, cls_cast_async(a, integers, stream));
        break;
    case RELU:
        did(bench, cls_unary_async(CLS_UNARY_RELU, a, c, stream));
        break;
    case EXP:
        did(bench, cls_unary_async(CLS_UNARY_EXP, a, c, stream));
        break;
    case GELU:
        did(bench, cls_unary_async(CLS_UNARY_GELU, a, c, stream));
        break;
    case ADD:
        did(bench, cls_binary_async(CLS_BINARY_ADD, a, b, c, stream));
        moved = 3 * bytes;
        break;
    case WHERE:
        did(bench, cls_where_async(masks, a, b, b, stream));
        moved = 3.25 * bytes;
        break;
    case SUM:
        did(bench, cls_reduce(CLS_REDUCE_SUM, a, &sum, stream));
        moved = bytes;
        break;
    }
    finish(bench, 1);
    return rate(bench, moved, start);
}

/* --- the rows --- */

static const struct figure {
    const char *section, *name, *unit;
    bool more_is_better;
    double (*measure)(struct bench *bench, int arg);
    int arg;
} figures[] = {
    {"copies", "to the device, pinned", "GB/s", true, copies, UP},
    {"copies", "to the host, pinned", "GB/s", true, copies, DOWN},
    {"copies", "both ways, pinned", "GB/s", true, copies, UP | DOWN},
    {"copies", "to the device, pageable", "GB/s", true, copies, UP | PAGEABLE},
    {"copies", "to the host, pageable", "GB/s", true, copies, DOWN | PAGEABLE},
    {"copies", "within the device", "GB/s", true, copy_within, 0},
    {"launches", "launch", "us", false, launches, false},
    {"launches", "launch, submit only", "us", false, launches, true},
    {"launches", "launch and wait", "us", false, launch_and_wait, 0},
    {"launches", "hop between two streams", "us", false, hop, 0},
    {"launches", "event record", "ns", false, record, 0},
    {"overlap", "2 kernels on 2 streams", "x", true, kernels, 2},
    {"overlap", "4 kernels on 4 streams", "x", true, kernels, 4},
    {"overlap", "8 kernels on 8 streams", "x", true, kernels, 8},
    {"overlap", "upload, compute, download", "x", true, stages, 0},
    {"operations", "cast f32 to i32", "GB/s", true, operations, CAST},
    {"operations", "relu f32", "GB/s", true, operations, RELU},
    {"operations", "exp f32", "GB/s", true, operations, EXP},
    {"operations", "gelu f32", "GB/s", true, operations, GELU},
    {"operations", "add f32", "GB/s", true, operations, ADD},
    {"operations", "where u8 f32", "GB/s", true, operations, WHERE},
    {"operations", "sum f32", "GB/s", true, operations, SUM},
};

_Static_assert(sizeof figures / sizeof *figures <= BENCH_ROWS, "a result has room for all rows");

static int ascending(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void measure(struct bench *bench, const struct figure *figure, unsigned rounds,
                    struct bench_row *row) {
    double values[ROUNDS];
    figure->measure(bench, figure->arg);
    for (unsigned i = 0; i < rounds && !bench->status; i++)
        values[i] = figure->measure(bench, figure->arg);
    if (bench->status)
        return;
    qsort(values, rounds, sizeof *values, ascending);
    *row =
        (struct bench_row){.more_is_better = figure->more_is_better, .value = values[rounds / 2]};
    snprintf(row->section, sizeof row->section, "%s", figure->section);
    snprintf(row->name, sizeof row->name, "%s", figure->name);
    snprintf(row->unit, sizeof row->unit, "%s", figure->unit);
}

/* --- the objects --- */

static void describe(struct bench *bench, struct bench_result *result) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t index;
    if (!did(bench, cls_context_get_device(bench->context, &index)) ||
        !did(bench, cls_device_get_info(index, &info)))
        return;
    memcpy(result->name, info.name, sizeof result->name);
    memcpy(result->platform, info.platform, sizeof result->platform);
    memcpy(result->driver, info.driver_version, sizeof result->driver);
    if (bench->bytes > info.global_memory / 8)
        bench->bytes = info.global_memory / 8 / 4096 * 4096;
}

static void open_memory(struct bench *bench) {
    const float one = 1;
    cls_buffer *buffers[] = {&bench->a, &bench->b, &bench->c};
    for (int i = 0; i < 3 && !bench->status; i++) {
        did(bench, cls_buffer_create(bench->context, bench->bytes, buffers[i]));
        if (!bench->status)
            did(bench,
                cls_fill_async(*buffers[i], 0, bench->bytes, &one, sizeof one, bench->streams[0]));
    }
    if (!bench->status)
        did(bench, cls_host_alloc(bench->context, bench->bytes, &bench->pinned));
    if (!bench->status)
        did(bench, cls_host_alloc(bench->context, bench->bytes, &bench->pinned_too));
    bench->pageable = malloc(bench->bytes);
    if (!bench->pageable)
        did(bench, CLS_ERROR_OUT_OF_MEMORY);
    else
        memset(bench->pageable, 0, bench->bytes);
}

/* As many launches as take some milliseconds. */
static void calibrate(struct bench *bench) {
    bench->spins = 1;
    spin_on(bench, 1, 1);
    const double time = spin_on(bench, 1, 1);
    if (time > 0 && time < 4e-3)
        bench->spins = (unsigned)(4e-3 / time) + 1;
}

static void open_bench(struct bench *bench, const char *device, struct bench_result *result) {
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    config.device = device;
    if (!did(bench, cls_context_create(&config, &bench->context)))
        return;
    describe(bench, result);
    for (unsigned i = 0; i < STREAMS && !bench->status; i++)
        did(bench, cls_stream_create(bench->context, NULL, &bench->streams[i]));
    if (!bench->status && did(bench, cls_event_create(bench->context, NULL, &bench->event)) &&
        did(bench,
            cls_program_from_source(bench->context, source, "bench.cl", NULL, &bench->program)) &&
        did(bench, cls_kernel_create(bench->program, "nothing", &bench->nothing)) &&
        did(bench, cls_kernel_create(bench->program, "spin", &bench->spin)))
        open_memory(bench);
    if (!bench->status)
        calibrate(bench);
}

/* Everything is of the context. */
static void close_bench(struct bench *bench) {
    finish(bench, bench->context && bench->streams[STREAMS - 1] ? STREAMS : 0);
    if (bench->pinned)
        cls_host_free(bench->pinned);
    if (bench->pinned_too)
        cls_host_free(bench->pinned_too);
    free(bench->pageable);
    if (bench->context)
        cls_context_destroy(bench->context);
}

bool bench_measure(const char *device, bool quick, struct bench_result *result,
                   struct failure *failure) {
    struct bench bench = {.bytes = (size_t)(quick ? 4 : 64) << 20};
    struct progress progress;
    const size_t n = sizeof figures / sizeof *figures;
    *result = (struct bench_result){.n = 0};
    open_bench(&bench, device, result);
    progress_begin(&progress, true, "bench", n, 0);
    for (size_t i = 0; i < n && !bench.status; i++) {
        measure(&bench, &figures[i], quick ? QUICK_ROUNDS : ROUNDS, &result->rows[result->n++]);
        progress_update(&progress, i + 1);
    }
    progress_end(&progress);
    if (bench.status)
        fail_status(failure, bench.status, "the bench");
    close_bench(&bench);
    return !failure->set;
}

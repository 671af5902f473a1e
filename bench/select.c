/* SPDX-License-Identifier: MIT */
/*
 * Selections, histograms and searches beside copies in device memory of the elements, in elements a second. bench/peers/cub.cu times the same of CUB,
 * on elements of the same kind.
 */
#include <stdlib.h>

#include "harness.h"
#include "rig.h"

enum call {
    COMPACT,
    COMPACT_IF,
    PARTITION,
    UNIQUE,
    RUNS,
    BY_KEY,
    HISTOGRAM,
    BYTE_HISTOGRAM,
    FLAG_HISTOGRAM,
    EDGES_HISTOGRAM,
    BOUNDS
};

struct plan {
    const char *name;
    enum call call;
    double gpu_bar; /* 0: none */
};

enum { CPU_COUNT = 1 << 24, GPU_COUNT = 1 << 26, CPU_BATCH = 2, GPU_BATCH = 10, BUFFERS = 7 };

/* Elements, keys in runs of eight on average, flags of which half are set, bytes, two outputs, and the count. */
enum { ELEMENTS, KEYS, FLAGS, BYTES, OUT, BESIDE, NUMBER };

/* A histogram's counts, or edges, take the place of an output. */
enum { BINS = 256, MOST = 1 << 24 };

struct work {
    enum call call;
    size_t count;
    cls_buffer buffers[BUFFERS];
    cls_stream stream;
    unsigned batch;
};

static const size_t element_bytes[BUFFERS] = {4, 4, 1, 1, 4, 8, 0};

static void upload(const struct work *work, int which, const void *from) {
    CLS(cls_copy_h2d(work->buffers[which], 0, from, work->count * element_bytes[which],
                     work->stream));
}

static void fill_edges(const struct work *work) {
    uint32_t edges[BINS + 1];
    for (uint32_t i = 0; i <= BINS; i++)
        edges[i] = i * (MOST / BINS);
    CLS(cls_copy_h2d(work->buffers[OUT], 0, edges, sizeof edges, work->stream));
}

static void fill(const struct work *work) {
    uint32_t *elements = allocate(work->count * 4), *keys = allocate(work->count * 4);
    unsigned char *flags = allocate(work->count), *bytes = allocate(work->count);
    uint32_t state = 1, key = 0;
    for (size_t i = 0; i < work->count; i++) {
        state = state * 1664525u + 1013904223u;
        elements[i] = state >> 8;
        flags[i] = (unsigned char)(state >> 31);
        bytes[i] = (unsigned char)(state >> 24);
        key += (state >> 24) % 8 == 0;
        keys[i] = key;
    }
    upload(work, ELEMENTS, elements);
    upload(work, KEYS, keys);
    upload(work, FLAGS, flags);
    upload(work, BYTES, bytes);
    fill_edges(work);
    free(elements);
    free(keys);
    free(flags);
    free(bytes);
}

static void work_open(struct work *work, const struct rig *rig, const struct plan *plan) {
    *work = (struct work){.call = plan->call,
                          .count = rig_is_cpu(rig) ? CPU_COUNT : GPU_COUNT,
                          .batch = rig_is_cpu(rig) ? CPU_BATCH : GPU_BATCH};
    work->stream = rig_stream(rig, CLS_ORDER_AUTO);
    for (int i = 0; i < BUFFERS; i++)
        CLS(cls_buffer_create(rig->context, work->count * element_bytes[i] + 8, &work->buffers[i]));
    fill(work);
}

static void work_close(struct work *work) {
    CLS(cls_stream_destroy(work->stream));
    for (int i = 0; i < BUFFERS; i++)
        CLS(cls_buffer_destroy(work->buffers[i]));
}

static void submit(const struct work *work) {
    const cls_buffer *b = work->buffers;
    const cls_array elements = cls_array_of(b[ELEMENTS], CLS_U32, work->count),
                    keys = cls_array_of(b[KEYS], CLS_U32, work->count),
                    flags = cls_array_of(b[FLAGS], CLS_U8, work->count),
                    bytes = cls_array_of(b[BYTES], CLS_U8, work->count),
                    out = cls_array_of(b[OUT], CLS_U32, work->count),
                    sums = cls_array_of(b[BESIDE], CLS_U32, work->count),
                    lengths = cls_array_of(b[BESIDE], CLS_I64, work->count),
                    number = cls_array_of(b[NUMBER], CLS_I64, 1), all = {0};
    const cls_array counts = cls_array_of(b[BESIDE], CLS_I64, BINS),
                    positions = cls_array_of(b[BESIDE], CLS_I64, work->count),
                    edges = cls_array_of(b[OUT], CLS_U32, BINS + 1);
    const uint32_t half = 1 << 23;
    const int64_t lower = 0, upper = MOST, last = BINS;
    switch (work->call) {
    case COMPACT:
        CLS(cls_compact_async(elements, flags, out, number, all, work->stream));
        break;
    case COMPACT_IF:
        CLS(cls_compact_if_async(elements, CLS_LESS, &half, out, number, all, work->stream));
        break;
    case PARTITION:
        CLS(cls_partition_async(elements, flags, out, number, all, work->stream));
        break;
    case UNIQUE:
        CLS(cls_unique_async(keys, out, number, all, work->stream));
        break;
    case RUNS:
        CLS(cls_run_length_encode_async(keys, out, lengths, number, all, work->stream));
        break;
    case BY_KEY:
        CLS(cls_reduce_by_key_async(CLS_SCAN_SUM, keys, elements, out, sums, number, all,
                                    work->stream));
        break;
    case HISTOGRAM:
        CLS(cls_histogram_even_async(elements, &lower, &upper, counts, all, work->stream));
        break;
    case BYTE_HISTOGRAM:
        CLS(cls_histogram_even_async(bytes, &lower, &last, counts, all, work->stream));
        break;
    case FLAG_HISTOGRAM:
        CLS(cls_histogram_even_async(flags, &lower, &last, counts, all, work->stream));
        break;
    case EDGES_HISTOGRAM:
        CLS(cls_histogram_range_async(elements, edges, counts, all, work->stream));
        break;
    case BOUNDS:
        CLS(cls_lower_bound_async(keys, elements, positions, all, work->stream));
        break;
    }
}

static double rate(const struct work *work, double start) {
    CLS(cls_stream_synchronize(work->stream));
    return 1e-9 * (double)work->count * work->batch / (now_seconds() - start);
}

static double selections(void *arg, double *also) {
    const double start = now_seconds();
    const struct work *work = arg;
    for (unsigned i = 0; i < work->batch; i++)
        submit(work);
    *also = 0;
    return rate(work, start);
}

static double copies(void *arg, double *also) {
    const double start = now_seconds();
    const struct work *work = arg;
    const bool of_bytes = work->call == BYTE_HISTOGRAM || work->call == FLAG_HISTOGRAM;
    const int from = of_bytes ? BYTES : ELEMENTS;
    for (unsigned i = 0; i < work->batch; i++)
        CLS(cls_copy_d2d_async(work->buffers[BESIDE], 0, work->buffers[from], 0,
                               work->count * element_bytes[from], work->stream));
    *also = 0;
    return rate(work, start);
}

static void contest(const struct rig *rig, const struct plan *plan) {
    struct work work;
    if (!bench_wants(plan->name))
        return;
    work_open(&work, rig, plan);
    bench_rates(plan->name, "G elements/s", (struct way){"clstream", selections, &work},
                (struct way){"copies", copies, &work},
                plan->gpu_bar > 0 ? rig_bar(rig, 0, plan->gpu_bar) : 0);
    work_close(&work);
}

int main(int argc, char **argv) {
    static const struct plan plans[] = {
        {"compact u32 by flags, half", COMPACT, 0.7},
        {"compact u32 by value, half", COMPACT_IF, 0},
        {"partition u32 by flags, half", PARTITION, 0},
        {"unique u32, an eighth", UNIQUE, 0},
        {"runs of u32, an eighth", RUNS, 0},
        {"sum by key, an eighth", BY_KEY, 0},
        {"histogram, 256 even bins of u32", HISTOGRAM, 0.7},
        {"histogram, 256 even bins of u8", BYTE_HISTOGRAM, 0.7},
        {"histogram, 256 even bins of u8, two values", FLAG_HISTOGRAM, 0.7},
        {"histogram, 256 bins of u32 by edges", EDGES_HISTOGRAM, 0},
        {"lower bounds of u32 in as many", BOUNDS, 0},
    };
    struct rig rig;
    bench_begin(argc, argv, "select");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("selections");
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        contest(&rig, &plans[i]);
    rig_close(&rig);
    return bench_end();
}

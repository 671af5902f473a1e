/* SPDX-License-Identifier: MIT */
/*
 * Device memory by pointers: looking one up among many, naming memory, and launches, copies and fills by pointers beside the
 * same calls by handles. Both sides submit to one stream and wait at the end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "rig.h"

enum { LIVE = 10000, BYTES = 4096, STEP = 4 };

struct calls {
    const struct rig *rig;
    cls_stream stream;
    cls_kernel kernel;
    cls_buffer buffer, other;
    char *pointer, *other_pointer;
    void *host;
    unsigned count;
    cls_status (*call)(const struct calls *calls, unsigned i);
};

/* Nanoseconds of a call, the final wait included. */
static double calls_run(void *arg, double *also) {
    const struct calls *calls = arg;
    const double start = now_seconds();
    for (unsigned i = 0; i < calls->count; i++)
        CLS(calls->call(calls, i));
    const double submitted = now_seconds();
    CLS(cls_stream_synchronize(calls->stream));
    *also = 1e9 * (submitted - start) / calls->count;
    return 1e9 * (now_seconds() - start) / calls->count;
}

/* --- the calls --- */

static cls_status launch_by(const struct calls *calls, cls_arg memory, unsigned i) {
    const cls_launch shape = cls_launch_1d(64);
    const cls_arg args[] = {memory, cls_arg_u32(i)};
    return cls_kernel_launch_async(calls->kernel, &shape, args, 2, calls->stream);
}

static cls_status launch_handle(const struct calls *calls, unsigned i) {
    return launch_by(calls, cls_arg_buffer(calls->buffer), i);
}

static cls_status launch_pointer(const struct calls *calls, unsigned i) {
    return launch_by(calls, cls_arg_pointer(calls->pointer), i);
}

static cls_status upload_handle(const struct calls *calls, unsigned i) {
    return cls_copy_h2d_async(calls->buffer, i % STEP, calls->host, BYTES - STEP, calls->stream);
}

static cls_status upload_pointer(const struct calls *calls, unsigned i) {
    return cls_memcpy_async(calls->pointer + i % STEP, calls->host, BYTES - STEP, calls->stream);
}

static cls_status download_handle(const struct calls *calls, unsigned i) {
    return cls_copy_d2h_async(calls->host, calls->buffer, i % STEP, BYTES - STEP, calls->stream);
}

static cls_status download_pointer(const struct calls *calls, unsigned i) {
    return cls_memcpy_async(calls->host, calls->pointer + i % STEP, BYTES - STEP, calls->stream);
}

static cls_status copy_handle(const struct calls *calls, unsigned i) {
    return cls_copy_d2d_async(calls->buffer, i % STEP, calls->other, 0, BYTES - STEP,
                              calls->stream);
}

static cls_status copy_pointer(const struct calls *calls, unsigned i) {
    return cls_memcpy_async(calls->pointer + i % STEP, calls->other_pointer, BYTES - STEP,
                            calls->stream);
}

static cls_status fill_handle(const struct calls *calls, unsigned i) {
    const unsigned char byte = (unsigned char)i;
    return cls_fill_async(calls->buffer, i % STEP, BYTES - STEP, &byte, 1, calls->stream);
}

static cls_status fill_pointer(const struct calls *calls, unsigned i) {
    return cls_memset_async(calls->pointer + i % STEP, (int)i, BYTES - STEP, calls->stream);
}

static cls_status pair_handle(const struct calls *calls, unsigned i) {
    cls_buffer buffer;
    (void)i;
    const cls_status status = cls_malloc_async(calls->stream, BYTES, &buffer);
    return status ? status : cls_free_async(buffer, calls->stream);
}

static cls_status pair_pointer(const struct calls *calls, unsigned i) {
    void *pointer;
    (void)i;
    const cls_status status = cls_device_malloc_async(calls->stream, BYTES, &pointer);
    return status ? status : cls_device_free_async(pointer, calls->stream);
}

static void beside(const char *name, struct calls calls,
                   cls_status (*by_pointer)(const struct calls *, unsigned),
                   cls_status (*by_handle)(const struct calls *, unsigned), double bar) {
    struct calls theirs = calls;
    calls.call = by_pointer;
    theirs.call = by_handle;
    const struct way rival = {"by handles", calls_run, &theirs};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "ns",
                                    .measure = MEASURE_TIME,
                                    .ours = {"by pointers", calls_run, &calls},
                                    .rivals = &rival,
                                    .n_rivals = 1,
                                    .bar = bar});
}

/* --- many allocations --- */

static char *live[LIVE];
static cls_buffer buffers[LIVE];

static void allocate_many(const struct calls *calls) {
    for (unsigned i = 0; i < LIVE; i++)
        CLS(cls_malloc_async(calls->stream, BYTES, &buffers[i]));
}

static void free_many(const struct calls *calls) {
    for (unsigned i = 0; i < LIVE; i++)
        CLS(cls_free_async(buffers[i], calls->stream));
}

/* A random order, drawn once. */
static unsigned order[LIVE];

static void shuffle(void) {
    uint32_t state = 2463534242u;
    for (unsigned i = 0; i < LIVE; i++) {
        state = state * 1664525u + 1013904223u;
        const unsigned j = (unsigned)((uint64_t)state * (i + 1) >> 32);
        order[i] = order[j];
        order[j] = i;
    }
}

static double name_run(void *arg, double *also) {
    const struct calls *calls = arg;
    allocate_many(calls);
    const double start = now_seconds();
    for (unsigned i = 0; i < LIVE; i++)
        CLS(cls_buffer_get_pointer(buffers[order[i]], (void **)&live[order[i]]));
    const double end = now_seconds();
    free_many(calls);
    *also = 0;
    return 1e9 * (end - start) / LIVE;
}

static double find_run(void *arg, double *also) {
    const struct calls *calls = arg;
    size_t offset = 0, sum = 0;
    cls_buffer buffer;
    const double start = now_seconds();
    for (unsigned i = 0; i < calls->count; i++) {
        CLS(cls_pointer_get_buffer(live[order[i % LIVE]] + 5, &buffer, &offset));
        sum += offset;
    }
    const double end = now_seconds();
    if (sum != 5 * (size_t)calls->count)
        die("a wrong offset");
    *also = 0;
    return 1e9 * (end - start) / calls->count;
}

static void many(struct calls *calls) {
    bench_section("pointers: 10,000 allocations, in a random order");
    shuffle();
    bench_figure("naming memory", "ns", (struct way){"cls_buffer_get_pointer", name_run, calls},
                 2000);
    allocate_many(calls);
    for (unsigned i = 0; i < LIVE; i++)
        CLS(cls_buffer_get_pointer(buffers[i], (void **)&live[i]));
    bench_figure("looking up a pointer", "ns",
                 (struct way){"cls_pointer_get_buffer", find_run, calls}, 50);
    free_many(calls);
}

int main(int argc, char **argv) {
    struct rig rig;
    bench_begin(argc, argv, "pointers");
    rig_open(&rig);
    bench_header(&rig);
    struct calls calls = {.rig = &rig,
                          .stream = rig_stream(&rig, CLS_ORDER_AUTO),
                          .kernel = rig_kernel(&rig, "nothing"),
                          .count = bench_options()->quick ? 2000 : 20000};
    CLS(cls_device_malloc(rig.context, BYTES, (void **)&calls.pointer));
    CLS(cls_device_malloc(rig.context, BYTES, (void **)&calls.other_pointer));
    CLS(cls_pointer_get_buffer(calls.pointer, &calls.buffer, NULL));
    CLS(cls_pointer_get_buffer(calls.other_pointer, &calls.other, NULL));
    CLS(cls_host_alloc(rig.context, BYTES, &calls.host));
    many(&calls);
    bench_section("pointers: a call and its share of the final wait, 4 KiB");
    beside("launch", calls, launch_pointer, launch_handle, 1.10);
    beside("upload", calls, upload_pointer, upload_handle, 1.05);
    beside("download", calls, download_pointer, download_handle, 1.05);
    beside("copy on the device", calls, copy_pointer, copy_handle, 1.05);
    beside("fill", calls, fill_pointer, fill_handle, 1.05);
    beside("malloc and free", calls, pair_pointer, pair_handle, 0);
    CLS(cls_host_free(calls.host));
    CLS(cls_device_free(calls.pointer));
    CLS(cls_device_free(calls.other_pointer));
    CLS(cls_kernel_destroy(calls.kernel));
    CLS(cls_stream_destroy(calls.stream));
    rig_close(&rig);
    return bench_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * Memory that two devices reach directly. The raw side uses the cl_mems of the same buffers: imported memory, as a program
 * without the library has it, with one queue a device.
 */
#include "direct.h"

#include <stdio.h>

#include "harness.h"

enum { MIB = 1 << 20, PAIR = 2 };

/* A time over that by hand; a copy's 0.95 is on the rate. */
static const double COPY_BAR = 1 / 0.95, SMALL_COPY_BAR = 1.5, REDUCE_BAR = 1.05, ALONE_BAR = 1.05;

static unsigned rounds(void) { return bench_options()->quick ? 5 : 15; }

/* Repeats that make a round of some ms. */
static unsigned repeats(size_t bytes) {
    return bytes >= (size_t)64 * MIB ? 4 : bytes >= (size_t)8 * MIB ? 10 : 40;
}

bool direct_is_there(const struct several *several, unsigned n) {
    bool share = true;
    for (unsigned d = 0; d < n; d++)
        for (unsigned k = 0; k < n && share; k++) {
            cls_share_info info = CLS_SHARE_INFO_INIT;
            CLS(cls_context_can_share(several->contexts[d], several->contexts[k], &info));
            share = info.kind != CLS_SHARE_NONE;
        }
    return share;
}

/* --- two devices, with a shareable array each that the other has open --- */

struct pair {
    const struct several *several;
    size_t bytes;
    cls_device_group group;
    cls_device_streams streams[PAIR];
    cls_buffer own[PAIR], others[PAIR]; /* others[d]: the other one's, opened by device d */
    cl_command_queue queues[PAIR];
    cl_kernel kernels[PAIR];
};

static const char source[] =
    "__kernel void add_and_spread(__global float4 *a, __global float4 *b, ulong first) {\n"
    "    const ulong i = first + get_global_id(0);\n"
    "    const float4 sum = a[i] + b[i];\n"
    "    a[i] = sum;\n"
    "    b[i] = sum;\n"
    "}\n";

static cl_kernel build(const struct several *several, unsigned device) {
    const char *text = source;
    cl_int code;
    cl_program program = clCreateProgramWithSource(several->cl[device], 1, &text, NULL, &code);
    check_cl(code, "clCreateProgramWithSource");
    CL(clBuildProgram(program, 1, &several->ids[device], "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "add_and_spread", &code);
    check_cl(code, "clCreateKernel");
    CL(clReleaseProgram(program));
    return kernel;
}

static void pair_open(struct pair *pair, const struct several *several, size_t bytes) {
    pair->several = several;
    pair->bytes = bytes;
    CLS(cls_device_group_create(several->contexts, PAIR, NULL, &pair->group));
    for (unsigned d = 0; d < PAIR; d++) {
        cl_int code;
        CLS(cls_device_group_get_streams(pair->group, d, &pair->streams[d]));
        pair->own[d] = several_buffer(several->contexts[d], bytes, true);
        pair->queues[d] = clCreateCommandQueue(several->cl[d], several->ids[d], 0, &code);
        check_cl(code, "clCreateCommandQueue");
        pair->kernels[d] = build(several, d);
    }
    for (unsigned d = 0; d < PAIR; d++)
        CLS(cls_buffer_open(several->contexts[d], pair->own[1 - d], &pair->others[d]));
}

static void pair_close(struct pair *pair) {
    CLS(cls_device_group_destroy(pair->group));
    for (unsigned d = 0; d < PAIR; d++) {
        CLS(cls_buffer_destroy(pair->others[d]));
        CLS(cls_buffer_destroy(pair->own[d]));
        CL(clReleaseKernel(pair->kernels[d]));
        CL(clReleaseCommandQueue(pair->queues[d]));
    }
}

static void await_both(const struct pair *pair) {
    for (unsigned d = 0; d < PAIR; d++)
        CLS(cls_stream_synchronize(pair->streams[d].compute));
}

/* The mean time of `once` in us. */
static double repeat(const struct pair *pair, void (*once)(const struct pair *pair)) {
    const unsigned n = repeats(pair->bytes);
    const double start = now_seconds();
    for (unsigned i = 0; i < n; i++)
        once(pair);
    return 1e6 * (now_seconds() - start) / n;
}

static void contest(struct pair *pair, const char *name, double (*ours)(void *, double *),
                    double (*raw)(void *, double *), double bar) {
    const struct way hand = {"by hand", raw, pair};
    if (bench_wants(name))
        bench_contest(&(struct contest){.name = name,
                                        .unit = "us",
                                        .measure = MEASURE_TIME,
                                        .ours = {"clstream", ours, pair},
                                        .rivals = &hand,
                                        .n_rivals = 1,
                                        .bar = bar,
                                        .rounds = rounds()});
}

/* --- copies --- */

static void copy_by_group(const struct pair *pair) {
    CLS(cls_device_group_copy_async(pair->group, (cls_device_range){1, pair->own[1], 0},
                                    (cls_device_range){0, pair->own[0], 0}, pair->bytes));
    CLS(cls_stream_synchronize(pair->streams[1].compute));
}

static void copy_by_hand(const struct pair *pair) {
    CL(clEnqueueCopyBuffer(pair->queues[1], rig_mem_of(pair->others[1]), rig_mem_of(pair->own[1]),
                           0, 0, pair->bytes, 0, NULL, NULL));
    CL(clFinish(pair->queues[1]));
}

static double group_copies(void *arg, double *also) {
    *also = 0;
    return repeat(arg, copy_by_group);
}

static double hand_copies(void *arg, double *also) {
    *also = 0;
    return repeat(arg, copy_by_hand);
}

void direct_copies(const struct several *several, bool bars) {
    static const size_t sizes[] = {1, 8, 64, 256};
    static const double bar[] = {0, SMALL_COPY_BAR, 0, COPY_BAR};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct pair pair;
        char name[80];
        snprintf(name, sizeof name, "%zu MiB to another device, shareable", sizes[i]);
        if (!bench_wants(name) || !direct_is_there(several, PAIR))
            continue;
        pair_open(&pair, several, sizes[i] * MIB);
        contest(&pair, name, group_copies, hand_copies, bars ? bar[i] : 0);
        pair_close(&pair);
    }
}

/* --- all-reduce --- */

static void submit_reduction(const struct pair *pair) {
    const size_t count = pair->bytes / sizeof(float);
    const cls_array arrays[PAIR] = {cls_array_of(pair->own[0], CLS_F32, count),
                                    cls_array_of(pair->own[1], CLS_F32, count)};
    CLS(cls_device_group_all_reduce_async(pair->group, CLS_REDUCE_SUM, arrays));
}

static void reduce_by_group(const struct pair *pair) {
    submit_reduction(pair);
    await_both(pair);
}

/* Each device adds up one half and writes it to both arrays. */
static void reduce_by_hand(const struct pair *pair) {
    const size_t half = pair->bytes / sizeof(cl_float4) / 2;
    for (unsigned d = 0; d < PAIR; d++) {
        const cl_mem own = rig_mem_of(pair->own[d]), others = rig_mem_of(pair->others[d]);
        const cl_ulong first = d * half;
        CL(clSetKernelArg(pair->kernels[d], 0, sizeof own, &own));
        CL(clSetKernelArg(pair->kernels[d], 1, sizeof others, &others));
        CL(clSetKernelArg(pair->kernels[d], 2, sizeof first, &first));
        CL(clEnqueueNDRangeKernel(pair->queues[d], pair->kernels[d], 1, NULL, &half, NULL, 0, NULL,
                                  NULL));
        CL(clFlush(pair->queues[d]));
    }
    for (unsigned d = 0; d < PAIR; d++)
        CL(clFinish(pair->queues[d]));
}

static double group_reductions(void *arg, double *also) {
    *also = 0;
    return repeat(arg, reduce_by_group);
}

static double hand_reductions(void *arg, double *also) {
    *also = 0;
    return repeat(arg, reduce_by_hand);
}

/* As bench/peers/nccl.py takes NCCL's time. */
static double reduce_in_a_row(void *arg, double *also) {
    const struct pair *pair = arg;
    const double us = repeat(pair, submit_reduction);
    const double start = now_seconds();
    await_both(pair);
    *also = 0;
    return us + 1e6 * (now_seconds() - start) / repeats(pair->bytes);
}

void direct_all_reduces(const struct several *several, bool bars) {
    static const size_t sizes[] = {1, 16, 192};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct pair pair;
        char name[80];
        snprintf(name, sizeof name, "all-reduce of %zu MiB, two kernels", sizes[i]);
        if (!bench_wants(name) || !direct_is_there(several, PAIR))
            continue;
        pair_open(&pair, several, sizes[i] * MIB);
        contest(&pair, name, group_reductions, hand_reductions,
                bars && sizes[i] == 192 ? REDUCE_BAR : 0);
        snprintf(name, sizeof name, "all-reduce of %zu MiB, two kernels, in a row", sizes[i]);
        bench_figure(name, "us", (struct way){"clstream", reduce_in_a_row, &pair}, 0);
        pair_close(&pair);
    }
}

/* --- shareable memory that nobody shares --- */

struct memory {
    cls_buffer buffer;
    size_t bytes;
    unsigned n; /* operations in a round */
    cls_stream stream;
};

/* The mean time of `n` operations that depend on each other, in us. */
static double operate(void *arg, double *also) {
    const struct memory *memory = arg;
    const cls_array array = cls_array_of(memory->buffer, CLS_F32, memory->bytes / sizeof(float));
    const double start = now_seconds();
    *also = 0;
    for (unsigned i = 0; i < memory->n; i++)
        CLS(cls_unary_param_async(CLS_UNARY_ADD_SCALAR, array, array, 1, memory->stream));
    CLS(cls_stream_synchronize(memory->stream));
    return 1e6 * (now_seconds() - start) / memory->n;
}

void direct_alone(const struct several *several, bool bars) {
    static const struct {
        const char *name;
        size_t bytes;
        unsigned n;
    } rows[] = {{"operation on 64 MiB, shareable", (size_t)64 * MIB, 20},
                {"launch on 4 KiB, shareable", 4096, 2000}};
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct memory plain = {.bytes = rows[i].bytes, .n = rows[i].n}, shareable;
        if (!bench_wants(rows[i].name) || !direct_is_there(several, 1))
            continue;
        CLS(cls_stream_create(several->contexts[0], NULL, &plain.stream));
        shareable = plain;
        plain.buffer = several_buffer(several->contexts[0], plain.bytes, false);
        shareable.buffer = several_buffer(several->contexts[0], plain.bytes, true);
        const struct way usual = {"plain memory", operate, &plain};
        bench_contest(&(struct contest){.name = rows[i].name,
                                        .unit = "us",
                                        .measure = MEASURE_TIME,
                                        .ours = {"shareable", operate, &shareable},
                                        .rivals = &usual,
                                        .n_rivals = 1,
                                        .bar = bars ? ALONE_BAR : 0,
                                        .rounds = rounds()});
        CLS(cls_buffer_destroy(plain.buffer));
        CLS(cls_buffer_destroy(shareable.buffer));
        CLS(cls_stream_destroy(plain.stream));
    }
}

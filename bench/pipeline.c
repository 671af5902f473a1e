/* SPDX-License-Identifier: MIT */
/*
 * Overlap: three stages with pinned memory against the same by hand and against the longest of them, rings
 * against one batch after the other and against the model, a host that waits for a ring's slots against
 * streams that do, stages that wait as a disk would, and what the async coordinator adds to the same queues
 * and events by hand. Fill and drain count.
 *
 * In a pipeline a bus carries both directions at once, which takes longer than either alone: on an H200 1.09
 * times. So a stage's length is the one with the other direction at work, and the bar holds against that;
 * the figure over a stage alone has none, since no pipeline could meet it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "queueing.h"
#include "rig.h"

static const double EFFICIENCY = 0.95;

enum { SLOTS = 4, ITERATIONS = 60 };

/* --- three stages on the device --- */

struct task {
    const struct rig *rig;
    size_t bytes[STAGES]; /* of upload, of what the kernel works on, of download */
    unsigned rounds;      /* of the kernel */
    cls_kernel kernel;
    cls_stream stream[STAGES];
    cls_triple_buffer ring, waiting; /* with async_reuse, as by hand; the host waits for slots */
    cls_buffer alone, beside; /* for stages by themselves, and for a download at the same time */
    void *in, *out;
    cl_command_queue queues[STAGES]; /* by hand */
    cl_kernel by_hand;
    cl_mem slots[SLOTS];
};

static void submit(const struct task *task, int stage, cls_buffer buffer) {
    const cls_launch shape = cls_launch_1d(task->bytes[COMPUTE] / 16);
    const cls_arg args[] = {cls_arg_buffer(buffer), cls_arg_u32(task->rounds)};
    cls_stream stream = task->stream[stage];
    if (stage == UPLOAD)
        CLS(cls_copy_h2d_async(buffer, 0, task->in, task->bytes[UPLOAD], stream));
    else if (stage == COMPUTE)
        CLS(cls_kernel_launch_async(task->kernel, &shape, args, 2, stream));
    else
        CLS(cls_copy_d2h_async(task->out, buffer, 0, task->bytes[DOWNLOAD], stream));
}

/* A stage by itself; ms of one. */
static double alone(const struct task *task, int stage) {
    const double start = now_seconds();
    for (int i = 0; i < ITERATIONS; i++)
        submit(task, stage, task->alone);
    CLS(cls_stream_synchronize(task->stream[stage]));
    return 1e3 * (now_seconds() - start) / ITERATIONS;
}

/* Uploads and downloads at once, with nothing between them; ms of one of each. */
static double both_ways(const struct task *task) {
    const double start = now_seconds();
    for (int i = 0; i < ITERATIONS; i++) {
        submit(task, UPLOAD, task->alone);
        submit(task, DOWNLOAD, task->beside);
    }
    CLS(cls_stream_synchronize(task->stream[UPLOAD]));
    CLS(cls_stream_synchronize(task->stream[DOWNLOAD]));
    return 1e3 * (now_seconds() - start) / ITERATIONS;
}

static double overlapped(const struct task *task, cls_triple_buffer ring) {
    cls_slot slot;
    const double start = now_seconds();
    for (int i = 0; i < ITERATIONS; i++) {
        CLS(cls_triple_buffer_upload_slot(ring, task->stream[UPLOAD], &slot));
        submit(task, UPLOAD, slot.buffer);
        CLS(cls_triple_buffer_process_slot(ring, task->stream[COMPUTE], &slot));
        submit(task, COMPUTE, slot.buffer);
        CLS(cls_triple_buffer_download_slot(ring, task->stream[DOWNLOAD], &slot));
        submit(task, DOWNLOAD, slot.buffer);
        CLS(cls_triple_buffer_advance(ring));
    }
    CLS(cls_stream_synchronize(task->stream[DOWNLOAD]));
    return 1e3 * (now_seconds() - start) / ITERATIONS;
}

static double ring_run(void *arg, double *also) {
    const struct task *task = arg;
    *also = 0;
    return overlapped(task, task->ring);
}

static double waiting_run(void *arg, double *also) {
    const struct task *task = arg;
    *also = 0;
    return overlapped(task, task->waiting);
}

static void enqueue(const struct task *task, int stage, cl_mem memory, cl_uint n,
                    const cl_event *waits, cl_event *event) {
    const cl_command_queue queue = task->queues[stage];
    const size_t items = task->bytes[COMPUTE] / 16;
    const cl_uint rounds = task->rounds;
    if (stage == UPLOAD) {
        CL(clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, task->bytes[UPLOAD], task->in, n, waits,
                                event));
    } else if (stage == DOWNLOAD) {
        CL(clEnqueueReadBuffer(queue, memory, CL_FALSE, 0, task->bytes[DOWNLOAD], task->out, n,
                               waits, event));
    } else {
        CL(clSetKernelArg(task->by_hand, 0, sizeof memory, &memory));
        CL(clSetKernelArg(task->by_hand, 1, sizeof rounds, &rounds));
        CL(clEnqueueNDRangeKernel(queue, task->by_hand, 1, NULL, &items, NULL, n, waits, event));
    }
    CL(clFlush(queue));
}

/* The same by hand: in-order queues, an event for each operation, and as many buffers. */
static double overlapped_by_hand(void *arg, double *also) {
    static cl_event events[ITERATIONS][STAGES];
    const struct task *task = arg;
    *also = 0;
    const double start = now_seconds();
    for (int i = 0; i < ITERATIONS; i++) {
        const cl_mem memory = task->slots[i % SLOTS];
        cl_event *e = events[i];
        const cl_event *last = i < SLOTS ? NULL : &events[i - SLOTS][DOWNLOAD];
        enqueue(task, UPLOAD, memory, last != NULL, last, &e[UPLOAD]);
        enqueue(task, COMPUTE, memory, 1, &e[UPLOAD], &e[COMPUTE]);
        enqueue(task, DOWNLOAD, memory, 1, &e[COMPUTE], &e[DOWNLOAD]);
    }
    CL(clFinish(task->queues[DOWNLOAD]));
    const double end = now_seconds();
    for (int i = 0; i < ITERATIONS; i++)
        for (int stage = 0; stage < STAGES; stage++)
            CL(clReleaseEvent(events[i][stage]));
    return 1e3 * (end - start) / ITERATIONS;
}

static double sequential(const struct task *task) {
    const double start = now_seconds();
    for (int i = 0; i < ITERATIONS; i++)
        for (int stage = 0; stage < STAGES; stage++) {
            submit(task, stage, task->alone);
            CLS(cls_stream_synchronize(task->stream[stage]));
        }
    return 1e3 * (now_seconds() - start) / ITERATIONS;
}

static void task_open(struct task *task, const struct rig *rig, const size_t bytes[STAGES]) {
    size_t most = 0;
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    *task = (struct task){.rig = rig, .rounds = 1};
    for (int i = 0; i < STAGES; i++) {
        task->bytes[i] = bytes[i];
        most = bytes[i] > most ? bytes[i] : most;
        task->stream[i] = rig_stream(rig, CLS_ORDER_AUTO);
        task->queues[i] = rig_queue(rig, false);
    }
    for (int i = 0; i < SLOTS; i++)
        task->slots[i] = rig_memory(rig, most);
    task->by_hand = rig_raw_kernel(rig, "work");
    config.slots = SLOTS;
    task->kernel = rig_kernel(rig, "work");
    CLS(cls_buffer_create(rig->context, most, &task->alone));
    CLS(cls_buffer_create(rig->context, most, &task->beside));
    CLS(cls_triple_buffer_create(rig->context, most, &config, &task->waiting));
    config.async_reuse = 1;
    CLS(cls_triple_buffer_create(rig->context, most, &config, &task->ring));
    CLS(cls_host_alloc(rig->context, most, &task->in));
    CLS(cls_host_alloc(rig->context, most, &task->out));
    memset(task->in, 0, most);
}

static void task_close(struct task *task) {
    for (int i = 0; i < STAGES; i++) {
        CLS(cls_stream_destroy(task->stream[i]));
        CL(clReleaseCommandQueue(task->queues[i]));
    }
    for (int i = 0; i < SLOTS; i++)
        CL(clReleaseMemObject(task->slots[i]));
    CL(clReleaseKernel(task->by_hand));
    CLS(cls_kernel_destroy(task->kernel));
    CLS(cls_buffer_destroy(task->alone));
    CLS(cls_buffer_destroy(task->beside));
    CLS(cls_triple_buffer_destroy(task->ring));
    CLS(cls_triple_buffer_destroy(task->waiting));
    CLS(cls_host_free(task->in));
    CLS(cls_host_free(task->out));
}

/* Rounds for a kernel that takes `ms`. */
static void calibrate(struct task *task, double ms) {
    task->rounds = 64;
    alone(task, COMPUTE);
    for (int i = 0; i < 3; i++) {
        const double rounds = task->rounds * ms / alone(task, COMPUTE);
        task->rounds = rounds < 1 ? 1 : rounds > 60000 ? 60000 : (unsigned)rounds;
    }
}

static double larger(double a, double b) { return a > b ? a : b; }

static void against_stages(const struct task *task, const char *name) {
    enum { ROUNDS = 7 };
    char row[96];
    double over_alone[ROUNDS], over_busy[ROUNDS], over_model[ROUNDS];
    const double bar = task->rig->vendor == VENDOR_NVIDIA ? 1 / EFFICIENCY : 0;
    for (int i = 0; i < ROUNDS; i++) {
        double t[STAGES], sum = 0, most = 0;
        for (int stage = 0; stage < STAGES; stage++) {
            t[stage] = alone(task, stage);
            sum += t[stage];
            most = larger(most, t[stage]);
        }
        const double busy = larger(both_ways(task), t[COMPUTE]);
        const double time = overlapped(task, task->ring), one_by_one = sequential(task);
        const double model = sum * ITERATIONS / ((ITERATIONS - 1) * busy + sum);
        over_alone[i] = time / most;
        over_busy[i] = time / busy;
        over_model[i] = model / (one_by_one / time);
    }
    snprintf(row, sizeof row, "%s: over the longest stage", name);
    bench_values(row, "x", over_busy, ROUNDS, bar);
    snprintf(row, sizeof row, "%s: over the longest stage, all alone", name);
    bench_values(row, "x", over_alone, ROUNDS, 0);
    snprintf(row, sizeof row, "%s: model's speed-up over ours", name);
    bench_values(row, "x", over_model, ROUNDS, bar);
}

static void three_stages(const struct rig *rig, const char *name, size_t up, size_t down,
                         double compute) {
    struct task task;
    if (!bench_wants(name))
        return;
    task_open(&task, rig, (size_t[]){up, up, down});
    calibrate(&task, compute * alone(&task, UPLOAD));
    const struct way hand = {"queues and events by hand", overlapped_by_hand, &task};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "ms",
                                    .ours = {"clstream", ring_run, &task},
                                    .rivals = &hand,
                                    .n_rivals = 1,
                                    .rounds = bench_options()->quick ? 5 : 11,
                                    .bar = rig->vendor == VENDOR_NVIDIA ? 1.05 : 0});
    against_stages(&task, name);
    task_close(&task);
}

/* What it costs that the host waits for each slot: three equal stages of some bytes. */
static void waiting_host(const struct rig *rig, const char *name, size_t bytes) {
    struct task task;
    if (!bench_wants(name))
        return;
    task_open(&task, rig, (size_t[]){bytes, bytes, bytes});
    calibrate(&task, alone(&task, UPLOAD));
    const struct way streams = {"only the stream waits", ring_run, &task};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "ms",
                                    .ours = {"the host waits", waiting_run, &task},
                                    .rivals = &streams,
                                    .n_rivals = 1,
                                    .rounds = bench_options()->quick ? 5 : 21});
    task_close(&task);
}

/* --- stages that wait --- */

static void nap(void *arg) {
    const double ms = *(const double *)arg;
    struct timespec span = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (time_t)(ms / 1e3)) * 1e6)};
    nanosleep(&span, NULL);
}

static cls_status run_nap(const cls_stage_run *run, void *arg) {
    return cls_stream_launch_host_async(run->stream, nap, arg);
}

static void waiting_stages(const struct rig *rig, const char *name, double *lengths, unsigned n,
                           double bar) {
    static const char *const buffers[] = {"a", "b", "c"}, *const names[] = {"0", "1", "2", "3"};
    const int iterations = bench_options()->quick && lengths[0] > 10 ? 25 : ITERATIONS;
    cls_pipeline_config config = CLS_PIPELINE_CONFIG_INIT;
    cls_pipeline pipeline;
    config.untimed = 1;
    if (!bench_wants(name))
        return;
    CLS(cls_pipeline_create(rig->context, &config, &pipeline));
    for (unsigned i = 0; i + 1 < n; i++)
        CLS(cls_pipeline_add_buffer(pipeline, buffers[i], 64, NULL, CLS_PIPELINE_INTERNAL));
    for (unsigned i = 0; i < n; i++) {
        cls_stage stage = CLS_STAGE_INIT;
        stage.name = names[i];
        stage.inputs = i ? &buffers[i - 1] : NULL;
        stage.n_inputs = i > 0;
        stage.outputs = i + 1 < n ? &buffers[i] : NULL;
        stage.n_outputs = i + 1 < n;
        stage.fn = run_nap;
        stage.arg = &lengths[i];
        CLS(cls_pipeline_add_stage(pipeline, &stage));
    }
    const double start = now_seconds();
    for (int i = 0; i < iterations; i++)
        CLS(cls_pipeline_execute_iteration(pipeline));
    CLS(cls_pipeline_synchronize(pipeline));
    double ms = 1e3 * (now_seconds() - start) / iterations;
    bench_values(name, "ms", &ms, 1, bar);
    CLS(cls_pipeline_destroy(pipeline));
}

/* --- a host that loads, as from a disk, beside a device that uploads, computes and downloads --- */

static double load_ms = 10;

static cls_status load_slowly(void *arg, uint64_t index, void *memory, size_t capacity,
                              size_t *bytes) {
    (void)arg;
    (void)memory;
    if (index == ITERATIONS)
        return CLS_SUCCESS;
    nap(&load_ms);
    *bytes = capacity;
    return CLS_SUCCESS;
}

/* ms of one, by one thread that does nothing else. */
static double loads_alone(void) {
    const double start = now_seconds();
    for (int i = 0; i < ITERATIONS; i++)
        nap(&load_ms);
    return 1e3 * (now_seconds() - start) / ITERATIONS;
}

static double prefetched(const struct task *task, cls_event computed) {
    cls_stream work = task->stream[COMPUTE], down = task->stream[DOWNLOAD];
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher prefetcher;
    cls_prefetched batch;
    config.workers = 1;
    config.depth = SLOTS;
    const double start = now_seconds();
    CLS(cls_prefetcher_create(task->rig->context, task->bytes[UPLOAD], load_slowly, NULL, &config,
                              &prefetcher));
    for (;;) {
        CLS(cls_prefetcher_next(prefetcher, work, &batch));
        if (!batch.bytes)
            break;
        submit(task, COMPUTE, batch.buffer);
        CLS(cls_event_record(computed, work));
        CLS(cls_stream_wait_event(down, computed));
        submit(task, DOWNLOAD, batch.buffer);
        CLS(cls_prefetcher_release(prefetcher, &batch, down));
    }
    CLS(cls_stream_synchronize(down));
    const double end = now_seconds();
    CLS(cls_prefetcher_destroy(prefetcher));
    return 1e3 * (end - start) / ITERATIONS;
}

static void loading_host(const struct rig *rig, const char *name) {
    enum { ROUNDS = 5, MIB = 1 << 20 };
    const unsigned rounds = bench_options()->quick ? 3 : ROUNDS;
    double over[ROUNDS];
    struct task task;
    cls_event computed;
    if (!bench_wants(name))
        return;
    task_open(&task, rig, (size_t[]){2 * MIB, 2 * MIB, 2 * MIB});
    CLS(cls_event_create(rig->context, NULL, &computed));
    calibrate(&task, load_ms / 2);
    for (unsigned i = 0; i < rounds; i++) {
        const double most = loads_alone();
        over[i] = prefetched(&task, computed) / most;
    }
    bench_values(name, "x", over, rounds, 1 / EFFICIENCY);
    CLS(cls_event_destroy(computed));
    task_close(&task);
}

int main(int argc, char **argv) {
    struct rig rig;
    double four[] = {50, 10, 100, 5}, three[] = {2, 5, 2};
    bench_begin(argc, argv, "pipeline");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("three stages, pinned memory");
    const size_t mib = rig_is_cpu(&rig) ? 2 : 64, one = mib << 20;
    three_stages(&rig, "alike", one, one, 1);
    three_stages(&rig, "long upload", 2 * one, one, 0.3);
    three_stages(&rig, "long compute", one, one, 3);
    bench_section("a ring's slots: the host waits, against its stream alone");
    waiting_host(&rig, "slot: small", 4 << 10);
    waiting_host(&rig, "slot: large", one);
    bench_section("stages that wait, ms an iteration");
    waiting_stages(&rig, "50 / 10 / 100 / 5 (165 in sequence)", four, 4, 103);
    waiting_stages(&rig, "2 / 5 / 2 (9 in sequence)", three, 3, 5.3);
    bench_section("a host that loads for 10 ms, then 5 ms of device");
    loading_host(&rig, "load: over the load alone");
    bench_section("queueing");
    queueing(&rig);
    rig_close(&rig);
    return bench_end();
}

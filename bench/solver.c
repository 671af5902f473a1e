/* SPDX-License-Identifier: MIT */
/*
 * The loop of an iterative solver: clear a sum, launch, read the sum back, wait, decide. The wait is in each iteration, so
 * these rows show what waiting costs: its latency, and on a CPU the cores that it takes from the kernel. Raw OpenCL waits
 * in the read or for the read's event, on an in-order queue. The library waits by cls_stream_synchronize on a default
 * stream, or polls cls_stream_query until the work is done.
 */
#include <stdio.h>

#include "harness.h"
#include "rig.h"

enum { ITEMS = 4096, ITEM_BYTES = 16, ITERATIONS = 200, GROUP = 64 };

struct solver {
    cls_stream stream;
    cls_kernel kernel;
    cls_buffer field, sum;
    cl_command_queue queue;
    cl_kernel raw_kernel;
    cl_mem raw_field, raw_sum;
    float *host; /* pinned */
    cl_uint rounds;
    unsigned iterations;
};

static const float zero;

static void submit(const struct solver *solver) {
    const cls_launch shape = {1, {ITEMS, 1, 1}, {GROUP, 1, 1}, {0, 0, 0}, NULL, 0};
    const cls_arg args[] = {cls_arg_buffer(solver->field), cls_arg_u32(solver->rounds)};
    CLS(cls_fill_async(solver->sum, 0, sizeof zero, &zero, sizeof zero, solver->stream));
    CLS(cls_kernel_launch_async(solver->kernel, &shape, args, 2, solver->stream));
    CLS(cls_copy_d2h_async(solver->host, solver->sum, 0, sizeof zero, solver->stream));
}

static double run(const struct solver *solver, void (*iterate)(const struct solver *solver)) {
    const double start = now_seconds();
    for (unsigned i = 0; i < solver->iterations; i++) {
        iterate(solver);
        if (solver->host[0] != 0)
            die("the sum is %g", (double)solver->host[0]);
    }
    return 1e6 * (now_seconds() - start) / solver->iterations;
}

static void iterate_waiting(const struct solver *solver) {
    submit(solver);
    CLS(cls_stream_synchronize(solver->stream));
}

static void iterate_polling(const struct solver *solver) {
    cls_status status;
    submit(solver);
    while ((status = cls_stream_query(solver->stream)) == CLS_NOT_READY)
        continue;
    CLS(status);
}

static void raw_submit(const struct solver *solver, cl_bool waits, cl_event *event) {
    const size_t items = ITEMS, group = GROUP;
    CL(clEnqueueFillBuffer(solver->queue, solver->raw_sum, &zero, sizeof zero, 0, sizeof zero, 0,
                           NULL, NULL));
    CL(clEnqueueNDRangeKernel(solver->queue, solver->raw_kernel, 1, NULL, &items, &group, 0, NULL,
                              NULL));
    CL(clEnqueueReadBuffer(solver->queue, solver->raw_sum, waits, 0, sizeof zero, solver->host, 0,
                           NULL, event));
}

static void iterate_raw(const struct solver *solver) { raw_submit(solver, CL_TRUE, NULL); }

static void iterate_raw_event(const struct solver *solver) {
    cl_event event;
    raw_submit(solver, CL_FALSE, &event);
    CL(clWaitForEvents(1, &event));
    CL(clReleaseEvent(event));
}

static double waiting(void *arg, double *also) {
    *also = 0;
    return run(arg, iterate_waiting);
}

static double polling(void *arg, double *also) {
    *also = 0;
    return run(arg, iterate_polling);
}

static double raw_read(void *arg, double *also) {
    *also = 0;
    return run(arg, iterate_raw);
}

static double raw_event(void *arg, double *also) {
    *also = 0;
    return run(arg, iterate_raw_event);
}

/* An iteration of the raw loop with so many rounds of the kernel: the least of some runs. */
static double raw_iteration(struct solver *solver, cl_uint rounds) {
    double also, least = 1e9;
    solver->rounds = rounds;
    CL(clSetKernelArg(solver->raw_kernel, 1, sizeof rounds, &rounds));
    for (int i = 0; i < 7; i++) {
        const double time = raw_read(solver, &also);
        least = time < least ? time : least;
    }
    return least;
}

/* Sets the kernel's rounds, so that such an iteration takes `us` microseconds or up to twice that. */
static void calibrate(struct solver *solver, double us) {
    cl_uint rounds = 1;
    while (raw_iteration(solver, rounds) < us && rounds < 1u << 30)
        rounds *= 2;
}

static void contend(const char *name, struct solver *solver,
                    double (*ours)(void *arg, double *also), double bar) {
    const struct way rivals[] = {{"blocking read", raw_read, solver},
                                 {"clWaitForEvents", raw_event, solver}};
    bench_contest(&(struct contest){.name = name,
                                    .unit = "us",
                                    .ours = {"clstream", ours, solver},
                                    .rivals = rivals,
                                    .n_rivals = 2,
                                    .bar = bar});
}

static void open_solver(const struct rig *rig, struct solver *solver) {
    CLS(cls_buffer_create(rig->context, ITEMS * ITEM_BYTES, &solver->field));
    CLS(cls_buffer_create(rig->context, sizeof zero, &solver->sum));
    CLS(cls_fill(solver->field, 0, ITEMS * ITEM_BYTES, &zero, sizeof zero, NULL));
    CLS(cls_host_alloc(rig->context, sizeof zero, (void **)&solver->host));
    solver->stream = rig_stream(rig, CLS_ORDER_AUTO);
    solver->kernel = rig_kernel(rig, "work");
    solver->raw_kernel = rig_raw_kernel(rig, "work");
    solver->queue = rig_queue(rig, false);
    solver->raw_field = rig_mem_of(solver->field);
    solver->raw_sum = rig_mem_of(solver->sum);
    CL(clSetKernelArg(solver->raw_kernel, 0, sizeof solver->raw_field, &solver->raw_field));
    solver->iterations = bench_options()->quick ? ITERATIONS / 4 : ITERATIONS;
}

int main(int argc, char **argv) {
    static struct solver solver;
    struct rig rig;
    bench_begin(argc, argv, "solver");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("fill, launch, read four bytes, wait: time of an iteration");
    open_solver(&rig, &solver);
    calibrate(&solver, 0);
    contend("solver loop, shortest kernel", &solver, waiting, 0);
    calibrate(&solver, 100);
    contend("solver loop, 100 us", &solver, waiting, rig_bar(&rig, 1.10, 0));
    contend("solver loop, 100 us, polled", &solver, polling, 0);
    rig_close(&rig);
    return bench_end();
}

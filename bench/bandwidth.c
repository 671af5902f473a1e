/* SPDX-License-Identifier: MIT */
/*
 * The five operations of BabelStream as a program has them: a kernel and a wait, the last with a read of the groups' sums.
 * Each way by its own calls on the same memory, in turns.
 */
#include <stdio.h>

#include "harness.h"
#include "rig.h"

enum { GROUP = 256, GROUPS = 256, ARRAYS = 3, SUMS = 3, COUNT = 1 << 24, QUICK_COUNT = 1 << 20 };

static const char source[] =
    "#define THREE global float *a, global float *b, global float *c\n"
    "#define I get_global_id(0)\n"
    "kernel void copy(THREE) { c[I] = a[I]; }\n"
    "kernel void mul(THREE) { b[I] = 0.4f * c[I]; }\n"
    "kernel void add(THREE) { c[I] = a[I] + b[I]; }\n"
    "kernel void triad(THREE) { a[I] = b[I] + 0.4f * c[I]; }\n"
    "kernel void dot_product(THREE, uint n, local float *sum) {\n"
    "    uint l = get_local_id(0);\n"
    "    sum[l] = 0;\n"
    "    for (size_t i = I; i < n; i += get_global_size(0)) sum[l] += a[i] * b[i];\n"
    "    for (uint step = get_local_size(0) / 2; step; step /= 2) {\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        if (l < step) sum[l] += sum[l + step];\n"
    "    }\n"
    "    if (l == 0) c[get_group_id(0)] = sum[0];\n"
    "}\n";

static struct {
    cls_buffer arrays[ARRAYS + 1];
    cl_mem raw_arrays[ARRAYS + 1];
    cls_stream stream;
    cl_command_queue queue;
    cls_program program;
    cl_program raw_program;
    cl_uint count;
    float sums[GROUPS];
} field;

/* One operation, with the bytes that it reads and writes. */
struct operation {
    const char *name;
    double bytes; /* of an element */
    bool is_dot;
    cls_kernel kernel;
    cl_kernel raw_kernel;
};

static double gigabytes(const struct operation *operation, double start) {
    return 1e-9 * operation->bytes * field.count / (now_seconds() - start);
}

static double on_stream(void *arg, double *also) {
    const struct operation *operation = arg;
    const bool is_dot = operation->is_dot;
    const double start = now_seconds();
    const cls_launch shape = {
        1, {is_dot ? GROUP * GROUPS : field.count, 1, 1}, {GROUP, 1, 1}, {0, 0, 0}, NULL, 0};
    const cls_arg args[] = {cls_arg_buffer(field.arrays[0]), cls_arg_buffer(field.arrays[1]),
                            cls_arg_buffer(field.arrays[is_dot ? SUMS : 2]),
                            cls_arg_u32(field.count), cls_arg_local(GROUP * sizeof(float))};
    CLS(cls_kernel_launch_async(operation->kernel, &shape, args, is_dot ? 5 : 3, field.stream));
    if (is_dot)
        CLS(cls_copy_d2h_async(field.sums, field.arrays[SUMS], 0, sizeof field.sums, field.stream));
    CLS(cls_stream_synchronize(field.stream));
    *also = 0;
    return gigabytes(operation, start);
}

static double by_hand(void *arg, double *also) {
    const struct operation *operation = arg;
    const bool is_dot = operation->is_dot;
    const size_t items = is_dot ? GROUP * GROUPS : field.count, group = GROUP;
    const double start = now_seconds();
    CL(clEnqueueNDRangeKernel(field.queue, operation->raw_kernel, 1, NULL, &items, &group, 0, NULL,
                              NULL));
    if (is_dot)
        CL(clEnqueueReadBuffer(field.queue, field.raw_arrays[SUMS], CL_FALSE, 0, sizeof field.sums,
                               field.sums, 0, NULL, NULL));
    CL(clFinish(field.queue));
    *also = 0;
    return gigabytes(operation, start);
}

static void open_field(const struct rig *rig) {
    const float first[ARRAYS + 1] = {0.1f};
    field.count = bench_options()->quick ? QUICK_COUNT : COUNT;
    field.stream = rig_stream(rig, CLS_ORDER_AUTO);
    field.queue = rig_queue(rig, false);
    CLS(cls_program_from_source(rig->context, source, "bandwidth.cl", NULL, &field.program));
    CLS(cls_program_get_cl(field.program, &field.raw_program));
    for (int i = 0; i <= ARRAYS; i++) {
        CLS(cls_buffer_create(rig->context, field.count * sizeof(float), &field.arrays[i]));
        CLS(cls_fill(field.arrays[i], 0, field.count * sizeof(float), &first[i], sizeof(float),
                     field.stream));
        field.raw_arrays[i] = rig_mem_of(field.arrays[i]);
    }
}

static void open_operation(struct operation *operation) {
    cl_int code;
    CLS(cls_kernel_create(field.program, operation->name, &operation->kernel));
    operation->raw_kernel = clCreateKernel(field.raw_program, operation->name, &code);
    CL(code);
    for (cl_uint i = 0; i < ARRAYS; i++)
        CL(clSetKernelArg(operation->raw_kernel, i, sizeof(cl_mem),
                          &field.raw_arrays[i == 2 && operation->is_dot ? SUMS : i]));
    if (operation->is_dot) {
        CL(clSetKernelArg(operation->raw_kernel, 3, sizeof field.count, &field.count));
        CL(clSetKernelArg(operation->raw_kernel, 4, GROUP * sizeof(float), NULL));
    }
}

int main(int argc, char **argv) {
    struct operation operations[] = {{.name = "copy", .bytes = 8},
                                     {.name = "mul", .bytes = 8},
                                     {.name = "add", .bytes = 12},
                                     {.name = "triad", .bytes = 12},
                                     {.name = "dot_product", .bytes = 8, .is_dot = true}};
    struct rig rig;
    bench_begin(argc, argv, "bandwidth");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("BabelStream's operations: a kernel and a wait");
    open_field(&rig);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        open_operation(&operations[i]);
        const struct way raw = {"clFinish", by_hand, &operations[i]};
        bench_contest(&(struct contest){.name = operations[i].name,
                                        .unit = "GB/s",
                                        .measure = MEASURE_RATE,
                                        .ours = {"clstream", on_stream, &operations[i]},
                                        .rivals = &raw,
                                        .n_rivals = 1,
                                        .bar = rig_bar(&rig, 0.98, 0.98)});
    }
    rig_close(&rig);
    return bench_end();
}

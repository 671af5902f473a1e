/* SPDX-License-Identifier: MIT */
/*
 * Memory bandwidth by the five operations of BabelStream, on a stream and by raw OpenCL on the same objects: `on_stream`
 * and `by_hand` do the same. The last operation brings the sums of its groups to the host.
 */
#include <clstream.h>
#include <clstream/opencl.h>
#include <stdio.h>
#include <string.h>

enum { GROUP = 256, GROUPS = 256, OPERATIONS = 5, ARRAYS = 3, COUNT = 1 << 24 };

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
static const char *const names[OPERATIONS] = {"copy", "mul", "add", "triad", "dot_product"};
static cls_kernel kernels[OPERATIONS];
static cl_kernel raw_kernels[OPERATIONS];
static cls_buffer arrays[ARRAYS + 1]; /* the last: the sums */
static cls_stream stream;
static cl_command_queue queue;
static unsigned count;
static float sums[GROUPS];

static void must(int status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

static void on_stream(int i) {
    const int dot = i == OPERATIONS - 1;
    cls_launch launch = cls_launch_1d(dot ? GROUP * GROUPS : count);
    launch.local[0] = GROUP;
    const cls_arg args[] = {cls_arg_buffer(arrays[0]), cls_arg_buffer(arrays[1]),
                            cls_arg_buffer(arrays[dot ? 3 : 2]), cls_arg_u32(count),
                            cls_arg_local(GROUP * sizeof(float))};
    must(cls_kernel_launch_async(kernels[i], &launch, args, dot ? 5 : 3, stream));
    if (dot)
        must(cls_copy_d2h_async(sums, arrays[3], 0, sizeof sums, stream));
    must(cls_stream_synchronize(stream));
}

static void by_hand(int i) {
    const int dot = i == OPERATIONS - 1;
    const size_t global = dot ? GROUP * GROUPS : count, local = GROUP;
    cl_mem memory;
    for (cl_uint k = 0; k < 3; k++) {
        must(cls_buffer_get_cl(arrays[k == 2 && dot ? 3 : k], &memory));
        must(clSetKernelArg(raw_kernels[i], k, sizeof memory, &memory));
    }
    if (dot)
        must(clSetKernelArg(raw_kernels[i], 3, sizeof count, &count) |
             clSetKernelArg(raw_kernels[i], 4, GROUP * sizeof(float), NULL));
    must(clEnqueueNDRangeKernel(queue, raw_kernels[i], 1, NULL, &global, &local, 0, NULL, NULL));
    if (dot)
        must(clEnqueueReadBuffer(queue, memory, CL_FALSE, 0, sizeof sums, sums, 0, NULL, NULL));
    must(clFinish(queue));
}

static uint64_t least(uint64_t than, void (*run)(int i), int i) {
    const uint64_t begin = cls_profiler_now();
    run(i);
    const uint64_t ns = cls_profiler_now() - begin;
    return ns < than ? ns : than;
}

int main(int argc, char **argv) {
    const int quick = argc > 1 && !strcmp(argv[1], "--quick"), rounds = quick ? 3 : 50;
    const float first[ARRAYS + 1] = {0.1f};
    cls_program program;
    cl_program raw_program;
    cl_context context;
    cl_device_id device;
    cl_int code;
    double sum = 0;
    count = quick ? COUNT / 256 : COUNT;
    must(cls_stream_create(NULL, NULL, &stream));
    must(cls_program_from_source(NULL, source, "bandwidth.cl", NULL, &program));
    must(cls_program_get_cl(program, &raw_program));
    must(cls_context_get_cl(NULL, &context, &device));
    queue = clCreateCommandQueue(context, device, 0, &code);
    for (int i = 0; i <= ARRAYS; i++) {
        must(cls_buffer_create(NULL, count * sizeof(float), &arrays[i]));
        must(cls_fill(arrays[i], 0, count * sizeof(float), &first[i], sizeof first[i], stream));
    }
    printf("%-11s %14s %14s   of %.0f MB\n", "", "clStream GB/s", "OpenCL GB/s", 4e-6 * count);
    for (int i = 0; i < OPERATIONS; i++) {
        uint64_t ns = UINT64_MAX, raw_ns = UINT64_MAX;
        must(cls_kernel_create(program, names[i], &kernels[i]));
        raw_kernels[i] = clCreateKernel(raw_program, names[i], &code);
        must(code);
        for (int round = 0; round < rounds; round++) {
            ns = least(ns, on_stream, i);
            raw_ns = least(raw_ns, by_hand, i);
        }
        const double bytes = (i == 2 || i == 3 ? 12.0 : 8.0) * count; /* of three arrays, or two */
        printf("%-11s %14.2f %14.2f\n", names[i], bytes / (double)ns, bytes / (double)raw_ns);
    }
    for (int k = 0; k < GROUPS; k++)
        sum += sums[k];
    const double error = sum / (0.096 * 0.04 * count) - 1; /* a * b after the other four */
    printf("the dot product is off by %.0e\n", error);
    return error > 1e-4 || error < -1e-4;
}

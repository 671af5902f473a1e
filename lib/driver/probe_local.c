/* SPDX-License-Identifier: MIT */
/*
 * The local memory that a kernel's own arrays may have. NVIDIA's devices state 48 KiB, which local arguments are limited to,
 * but from compute capability 8.0 on most have room for more in arrays that the compiler lays out. There are more groups
 * than multiprocessors, so that groups that follow one another, or share one, have to be told apart.
 */
#include <stdlib.h>

#include "driver/probe.h"

#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define WORDS 36864 /* 144 KiB */

enum { ROOMY_CAPABILITY = 80, /* the first */ GROUP = 256, GROUPS_PER_UNIT = 3 };

static const char *const source =
    "kernel void local_arrays(global uint *sums) {\n"
    "    local uint all[" STRING(
        WORDS) "];\n"
               "    const uint me = get_local_id(0), n = get_local_size(0);\n"
               "    uint sum = 0;\n"
               "    for (uint i = me; i < " STRING(
                   WORDS) "; i += n)\n"
                          "        all[i] = (i + get_group_id(0)) * 2654435761u;\n"
                          "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                          "    for (uint i = me; i < " STRING(
                              WORDS) "; i += n)\n"
                                     "        sum = sum * 5 + all[" STRING(
                                         WORDS) " - 1 - i];\n"
                                                "    sums[get_global_id(0)] = sum;\n"
                                                "}\n";

static uint32_t wanted(size_t group, uint32_t item) {
    uint32_t sum = 0;
    for (uint32_t i = item; i < WORDS; i += GROUP)
        sum = sum * 5 + (WORDS - 1 - i + (uint32_t)group) * 2654435761u;
    return sum;
}

static bool all_wanted(const uint32_t *sums, size_t groups) {
    for (size_t i = 0; i < groups * GROUP; i++)
        if (sums[i] != wanted(i / GROUP, (uint32_t)(i % GROUP)))
            return false;
    return true;
}

static bool launch_arrays(struct probe *probe, cl_kernel kernel, cl_mem memory, size_t groups) {
    const size_t items = groups * GROUP, group = GROUP;
    cl_event event = NULL;
    cl_int code = clSetKernelArg(kernel, 0, sizeof memory, &memory);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(probe->queues[0], kernel, 1, NULL, &items, &group, 0, NULL,
                                      &event);
    return code == CL_SUCCESS && probe_finish(probe, probe->queues[0], event);
}

static bool read_back(struct probe *probe, cl_mem memory, uint32_t *sums, size_t bytes) {
    cl_event event = NULL;
    const cl_int code =
        clEnqueueReadBuffer(probe->queues[0], memory, CL_FALSE, 0, bytes, sums, 0, NULL, &event);
    return code == CL_SUCCESS && probe_finish(probe, probe->queues[0], event);
}

static bool arrays_are_right(struct probe *probe, cl_program program, uint32_t *sums,
                             size_t groups) {
    const size_t bytes = groups * GROUP * sizeof *sums;
    cl_int code, no_memory;
    cl_kernel kernel = clCreateKernel(program, "local_arrays", &code);
    cl_mem memory = clCreateBuffer(probe->context, CL_MEM_READ_WRITE, bytes, NULL, &no_memory);
    const bool right = code == CL_SUCCESS && probe_did(probe, no_memory) &&
                       launch_arrays(probe, kernel, memory, groups) &&
                       read_back(probe, memory, sums, bytes) && all_wanted(sums, groups);
    if (code == CL_SUCCESS && !probe->stuck)
        clReleaseKernel(kernel);
    if (no_memory == CL_SUCCESS && !probe->stuck)
        clReleaseMemObject(memory);
    return right;
}

/* A compiler that refuses the arrays answers the question. */
static cl_program build_arrays(struct probe *probe) {
    cl_int code;
    const char *text = source;
    cl_program program = clCreateProgramWithSource(probe->context, 1, &text, NULL, &code);
    if (!probe_did(probe, code))
        return NULL;
    if (clBuildProgram(program, 1, &probe->device->id, NULL, NULL, NULL) == CL_SUCCESS)
        return program;
    clReleaseProgram(program);
    return NULL;
}

/* What fails means that there is no more than is stated. */
static bool has_more(struct probe *probe) {
    const size_t groups = (size_t)probe->device->info.compute_units * GROUPS_PER_UNIT;
    uint32_t *sums = malloc(groups * GROUP * sizeof *sums);
    cl_program program =
        probe_did(probe, sums ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY) ? build_arrays(probe) : NULL;
    const bool right = program && arrays_are_right(probe, program, sums, groups);
    if (program && !probe->stuck)
        clReleaseProgram(program);
    probe_free(probe, sums);
    return right;
}

void probe_local_arrays(struct probe *probe, struct caps *caps) {
    const struct device *device = probe->device;
    const size_t bytes = WORDS * sizeof(cl_uint), stated = device->info.local_memory;
    const bool may_have_more = device->compute_capability >= ROOMY_CAPABILITY && stated < bytes;
    caps->local_array_bytes = (double)stated;
    if (may_have_more && !probe->stuck && has_more(probe))
        caps->local_array_bytes = bytes;
}

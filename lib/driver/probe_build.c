/* SPDX-License-Identifier: MIT */
/*
 * Whether the driver compiles a program when it is asked for its binary. PoCL does: clBuildProgram leaves each kernel to
 * its first launch, and the question has all of them compiled, which takes eight times as long as the build of a program
 * of 60 kernels. Such a driver keeps what it has compiled itself.
 */
#include "driver/probe.h"

#include <stdio.h>
#include <stdlib.h>

#include "system/clocks.h"
#include "system/processes.h"

/* The first answer took longer than a lookup, and than the second answer. */
enum { LONG_NS = 1000000, TIMES = 10 };

/* New to the driver's own cache. */
static bool build_new(struct probe *probe, cl_program *out) {
    static const char *source =
        "kernel void new_to_it(global uint *word) { word[get_global_id(0)] = SALT; }\n";
    char options[64];
    cl_int code;
    cl_program program = clCreateProgramWithSource(probe->context, 1, &source, NULL, &code);
    if (!probe_did(probe, code))
        return false;
    snprintf(options, sizeof options, "-DSALT=%luu",
             (unsigned long)(clock_now_ns() ^ (uint64_t)system_process() << 20) & 0xffffffffUL);
    code = clBuildProgram(program, 1, &probe->device->id, options, NULL, NULL);
    if (probe_did(probe, code))
        *out = program;
    else
        clReleaseProgram(program);
    return code == CL_SUCCESS;
}

/* In ns; 0 when it failed. */
static uint64_t time_question(struct probe *probe, cl_program program) {
    size_t bytes = 0;
    const uint64_t start = clock_now_ns();
    cl_int code = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL);
    unsigned char *binary = malloc(bytes + 1);
    if (binary && code == CL_SUCCESS)
        code = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    free(binary);
    return binary && probe_did(probe, code) ? clock_now_ns() - start : 0;
}

void probe_binary(struct probe *probe, struct caps *caps) {
    cl_program program;
    if (probe->stuck || !build_new(probe, &program))
        return;
    const uint64_t first = time_question(probe, program), again = time_question(probe, program);
    caps->binary_compiles = first > LONG_NS && first > TIMES * again;
    clReleaseProgram(program);
}

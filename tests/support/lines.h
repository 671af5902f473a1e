/* SPDX-License-Identifier: MIT */
/* Whether a driver's compiler says where an error is. */
#ifndef CLSTREAM_TESTS_LINES_H
#define CLSTREAM_TESTS_LINES_H

#include <stdbool.h>
#include <string.h>

#include <clstream/opencl.h>

/* Its messages name the file and line of a #line directive, or a line of the whole source in NVIDIA's form, which the
 * library translates. Some compile a copy, with a name and lines of its own. */
static inline bool compiler_tells_lines(cl_context context, cl_device_id device) {
    static const char *source = "#line 100 \"told.cl\"\n"
                                "kernel void broken(global uint *out) { out[0] = no_such_name; }\n";
    char log[4096] = "";
    cl_int code;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    if (code != CL_SUCCESS)
        return false;
    if (clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS)
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    clReleaseProgram(program);
    return strstr(log, "told.cl:100") || strstr(log, "<kernel>:");
}

#endif

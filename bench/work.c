/* SPDX-License-Identifier: MIT */
#include "work.h"

#include "harness.h"

static const char source[] = "kernel void work(global float4 *x, uint rounds) {\n"
                             "    float4 y = x[get_global_id(0)];\n"
                             "    for (uint i = 0; i < rounds; i++) y = y * 0.999f + 0.5f;\n"
                             "    x[get_global_id(0)] = y;\n"
                             "}\n";

cls_kernel work_kernel(const struct rig *rig) {
    cls_program program;
    cls_kernel kernel;
    CLS(cls_program_from_source(rig->context, source, "work.cl", NULL, &program));
    CLS(cls_kernel_create(program, "work", &kernel));
    CLS(cls_program_destroy(program));
    return kernel;
}

cl_kernel work_kernel_by_hand(const struct rig *rig) {
    const char *text = source;
    cl_int code;
    cl_program program = clCreateProgramWithSource(rig->cl, 1, &text, NULL, &code);
    check_cl(code, "clCreateProgramWithSource");
    CL(clBuildProgram(program, 1, &rig->device, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, "work", &code);
    check_cl(code, "clCreateKernel");
    CL(clReleaseProgram(program));
    return kernel;
}

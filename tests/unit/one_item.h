/* SPDX-License-Identifier: MIT */
/* Running a kernel of one work-item on one int, with the driver alone. */
#ifndef CLSTREAM_TESTS_ONE_ITEM_H
#define CLSTREAM_TESTS_ONE_ITEM_H

#include <CL/cl.h>

#include "driver/device.h"
#include "driver/program.h"

/* What the kernel makes of `value`. */
static inline int one_item(const struct device *device, cl_context context, cl_program program,
                           const char *name, int value) {
    const size_t one = 1;
    cl_int code;
    cl_kernel kernel = NULL;
    assert_int_equal(program_create_kernel(program, name, &kernel), CLS_SUCCESS);
    cl_command_queue queue = clCreateCommandQueue(context, device->id, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof value,
                                   &value, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clSetKernelArg(kernel, 0, sizeof memory, &memory), CL_SUCCESS);
    assert_int_equal(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_int_equal(
        clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL),
        CL_SUCCESS);
    clReleaseMemObject(memory);
    clReleaseCommandQueue(queue);
    clReleaseKernel(kernel);
    return value;
}

#endif

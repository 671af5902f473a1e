/* SPDX-License-Identifier: MIT */
/* The driver's clEnqueueNDRangeKernel, in whose place the test program is called. For a program that is linked with
 * $(wrapped_launch) and --wrap=clEnqueueNDRangeKernel. */
#ifndef CLSTREAM_TESTS_WRAPPED_LAUNCH_H
#define CLSTREAM_TESTS_WRAPPED_LAUNCH_H

#include <clstream/opencl.h>

struct wrapped_launch {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_uint dims;
    const size_t *offset, *global, *local;
    cl_uint n_waits;
    const cl_event *waits;
    cl_event *event;
};

/* The program's own. */
cl_int launch_instead(const struct wrapped_launch *call);

/* The driver's. */
cl_int launch_really(const struct wrapped_launch *call);

#endif

/* SPDX-License-Identifier: MIT */
#include "latest_kernel.h"

#include <string.h>

enum { MOST_WAITS = 16 };

cl_event latest_kernel;

static cl_event waited_for[MOST_WAITS];
static cl_uint n_waited_for;

bool latest_kernel_waits_for(cl_event event) {
    bool found = false;
    for (cl_uint i = 0; i < n_waited_for; i++)
        found = found || waited_for[i] == event;
    return found;
}

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint n_waits, const cl_event *waits,
                                     cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint n_waits, const cl_event *waits,
                                     cl_event *event);

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint n_waits, const cl_event *waits,
                                     cl_event *event) {
    cl_int code = __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                                n_waits, waits, event);
    latest_kernel = event ? *event : NULL;
    n_waited_for = n_waits < MOST_WAITS ? n_waits : MOST_WAITS;
    if (n_waited_for)
        memcpy(waited_for, waits, n_waited_for * sizeof *waits);
    return code;
}

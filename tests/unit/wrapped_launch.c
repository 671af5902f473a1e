/* SPDX-License-Identifier: MIT */
#include "wrapped_launch.h"

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint n_waits, const cl_event *waits,
                                     cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint n_waits, const cl_event *waits,
                                     cl_event *event);

cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dims,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint n_waits, const cl_event *waits,
                                     cl_event *event) {
    const struct wrapped_launch call = {.queue = queue,
                                        .kernel = kernel,
                                        .dims = dims,
                                        .offset = offset,
                                        .global = global,
                                        .local = local,
                                        .n_waits = n_waits,
                                        .waits = waits,
                                        .event = event};
    return launch_instead(&call);
}

cl_int launch_really(const struct wrapped_launch *call) {
    return __real_clEnqueueNDRangeKernel(call->queue, call->kernel, call->dims, call->offset,
                                         call->global, call->local, call->n_waits, call->waits,
                                         call->event);
}

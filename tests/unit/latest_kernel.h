/* SPDX-License-Identifier: MIT */
/* What the driver was last given to run. For a test program that is linked with
 * $(latest_kernel) and --wrap=clEnqueueNDRangeKernel. */
#ifndef CLSTREAM_TESTS_LATEST_KERNEL_H
#define CLSTREAM_TESTS_LATEST_KERNEL_H

#include <stdbool.h>

#include <clstream/opencl.h>

/* The kernel's event, not retained; NULL: it has none of its own. */
extern cl_event latest_kernel;

/* Whether its wait list names an event. */
bool latest_kernel_waits_for(cl_event event);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Keeps launches of one kernel with unlike grids apart, on a driver that aborts when they overlap
 * (QUIRK_UNLIKE_GRIDS_ABORT). Launches of a kernel in a row that may overlap make an era, and each launch waits for the
 * era before its own. Those run by themselves, so the wait ends, and circular waits cannot arise: each launch waits only
 * for earlier enqueues. A launch costs the same however many are pending.
 *
 * Most kernels only ever have one kind of grid, so only the queues of their launches are known. At the first unlike one,
 * markers on those queues stand for the era so far.
 *
 * Kernels are identified by name in the whole process, like in the driver's table of compiled kernels; a launch of
 * another kernel of that name is at worst waited for without need. Launches enqueued by other libraries are not seen.
 * Safe from any thread.
 *
 * A wait list cannot name a launch of another cl_context: grids_cross_context_launches returns those, and the caller
 * waits for them before it enqueues. A launch that comes in between is waited for on the host.
 */
#ifndef CLSTREAM_DRIVER_GRIDS_H
#define CLSTREAM_DRIVER_GRIDS_H

#include "driver/queue.h"

/* Returns up to `most` events of launches of other contexts that must not overlap this one and that the driver still
 * has, each with a reference for the caller. */
cl_uint grids_cross_context_launches(cl_command_queue queue, cl_kernel kernel,
                                     const struct grid *grid, cl_event *events, cl_uint most);

/* clEnqueueNDRangeKernel behind those waits. `event` may be NULL. */
cl_int grids_enqueue(cl_command_queue queue, cl_kernel kernel, const struct grid *grid,
                     struct wait_list waits, cl_event *event);

/* Whether launches of another context may be pending. */
bool grids_span_contexts(cl_context context);

/* Before the kernel is released. */
void grids_forget_kernel(cl_kernel kernel);

/* For each stream on a queue of the program's. False: there is no memory. */
bool grids_wrap_queue(cl_command_queue queue);
/* Before a stream releases the queue. */
void grids_forget_queue(cl_command_queue queue);

/* Forget launches that are done: a few, which is called for each event that is released; all, before their cl_context
 * is released. */
void grids_forget_some(void);
void grids_forget_done(void);

#endif

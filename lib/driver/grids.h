/* SPDX-License-Identifier: MIT */
/*
 * Keeps launches of one kernel with unlike grids apart, on a driver that aborts when they overlap
 * (QUIRK_UNLIKE_GRIDS_ABORT): a launch waits for the unlike ones of that kernel that the driver still has. Those run
 * by themselves, so the wait ends, and circular waits cannot arise: each launch waits only for earlier enqueues.
 *
 * Kernels are identified by name in the whole process, like in the driver's table of compiled kernels; a launch of
 * another kernel of that name is at worst waited for without need. Launches enqueued by other libraries are not seen.
 * Safe from any thread.
 *
 * A wait list cannot name a launch of another cl_context: grids_turns returns those, and the caller waits for them
 * before it enqueues. A launch that comes in between is waited for on the host.
 */
#ifndef CLSTREAM_DRIVER_GRIDS_H
#define CLSTREAM_DRIVER_GRIDS_H

#include "driver/queue.h"

/* Returns up to `most` events of launches of other contexts that must not overlap this one and that the driver still
 * has, each with a reference for the caller. */
cl_uint grids_turns(cl_command_queue queue, cl_kernel kernel, const struct grid *grid,
                    cl_event *events, cl_uint most);

/* clEnqueueNDRangeKernel behind those waits. `event` may be NULL. */
cl_int grids_enqueue(cl_command_queue queue, cl_kernel kernel, const struct grid *grid,
                     struct wait_list waits, cl_event *event);

/* grids_forget: forgets the launch of an event that is about to be released, if the launch is done. grids_forget_done:
 * forgets all launches that are done, before their cl_context is released. */
void grids_forget(cl_event event);
void grids_forget_done(void);

#endif

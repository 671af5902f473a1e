/* SPDX-License-Identifier: MIT */
/*
 * Launches of one kernel whose grids are unlike, on a driver that aborts where they overlap
 * (QUIRK_UNLIKE_GRIDS_ABORT): each waits for those of that kernel that are still with the driver and do not get
 * along with it. What is with the driver runs by itself, so such a wait ends, and nobody waits in circles: the
 * order is the one in which the driver was given them.
 *
 * Kernels go by their name, in the whole process, as the driver's table of compiled kernels does: one of the same
 * name is at worst waited for without need. Launches that another library enqueues are not seen. Safe from any
 * thread.
 *
 * No wait list can name a launch of another cl_context: grids_turns tells of those, for the caller to wait for
 * before it enqueues. One that comes between the two is waited for on the host.
 */
#ifndef CLSTREAM_DRIVER_GRIDS_H
#define CLSTREAM_DRIVER_GRIDS_H

#include "driver/queue.h"

struct grid {
    cl_uint dims;
    const size_t *global, *local; /* local: NULL where the driver chooses */
};

/* Up to `most` events of launches of other contexts that are still with the driver and do not get along with this
 * one, each with a reference for the caller. */
cl_uint grids_turns(cl_command_queue queue, cl_kernel kernel, const struct grid *grid,
                    cl_event *events, cl_uint most);

/* clEnqueueNDRangeKernel. `event` may be NULL. */
cl_int grids_enqueue(cl_command_queue queue, cl_kernel kernel, const struct grid *grid,
                     struct wait_list waits, cl_event *event);

/* Forgets the launch of an event that its user is about to release, if it is done; and all that are done, before
 * their cl_context is to go. */
void grids_forget(cl_event event);
void grids_settle(void);

#endif

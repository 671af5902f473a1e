/* SPDX-License-Identifier: MIT */
/*
 * Launches whose group size is left open. Drivers take a divisor of the size for the group, and so run a size that has
 * none in groups of one work-item: 3 to 170 times slower. Such a launch is given a group of a whole row, if
 * one has room for it, or one that need not divide the size, where device and program allow it; else it is launched in two parts, the greater one of a round size, where
 * its program cannot tell; else it is noted for the profile.
 */
#ifndef CLSTREAM_COMMAND_LAUNCH_GROUPS_H
#define CLSTREAM_COMMAND_LAUNCH_GROUPS_H

#include "base/handle.h"
#include "driver/queue.h"

struct command;
struct kernel;
struct launch_shape;
struct target;

/* Decides on the groups of a launch without a local size: sets `local`, or `cut`. */
void launch_groups_choose(const struct kernel *kernel, struct launch_shape *shape);

/* Keeps the event of the rest of a launch that is cut in two as long as the command, as a flight keeps its own. */
struct launch_rest {
    struct object object;
    const struct device *device;
    cl_event event; /* NULL: none */
};

/* Gives the command of a launch that is cut in two its launch_rest. */
cls_status launch_rest_keep(const struct kernel *kernel, struct command *command);

/* Enqueues the rest, then the round part, which the event is of: it has nearly all of the time. */
cls_status launch_enqueue_in_two(struct target target, const struct command *command,
                                 struct wait_list waits, cl_event *event);

#endif

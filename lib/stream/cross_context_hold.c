/* SPDX-License-Identifier: MIT */
/* The launches of other contexts that a launch waits for, as dependencies on their events. */
#include "stream/cross_context_hold.h"

#include "driver/event.h"
#include "driver/queue.h"
#include "stream/event_ref.h"

enum { AT_ONCE = 16 };

static bool add_event(struct deps *deps, const struct device *device, cl_event event) {
    struct dep dep = {.event_ref = event_ref_new(device, event), .order_only = true};
    if (!dep.event_ref) {
        event_release(device, event);
        return false;
    }
    bool added = !deps_add(deps, &dep);
    if (!added)
        dep_release(&dep);
    return added;
}

bool cross_context_find(struct stream *stream, const struct command *command, struct deps *deps) {
    const struct device *device = stream->context->device;
    const struct launch_shape *shape = &command->u.launch.shape;
    cl_event events[AT_ONCE];
    bool found = false;
    const struct grid grid = launch_grid(shape);
    cl_uint count = kernel_cross_context_launches(
        device, stream->queue->cl, command->u.launch.instance, &grid, events, AT_ONCE);
    for (cl_uint i = 0; i < count; i++)
        found = add_event(deps, device, events[i]) || found;
    return found;
}

/* SPDX-License-Identifier: MIT */
#include "command/launch_groups.h"

#include <string.h>

#include "base/error.h"
#include "command/kernel.h"
#include "driver/caps.h"
#include "driver/event.h"
#include "driver/quirk.h"
#include "driver/trust.h"
#include "stream/command.h"
#include "stream/context.h"

enum {
    LEAST_ITEMS = 8192,    /* below, a second launch costs as much as small groups do */
    MANY_ITEMS = 64 << 10, /* from here on large groups leave enough of them for every core */
    SMALL_GROUP = 64,
    LARGE_GROUP = 256,
    ENOUGH_GROUPS = 256 /* for every core */
};

/* The dimension that groups are cut from: those before it are short, and in a group as a whole. */
struct pivot {
    unsigned dim;
    size_t inner;     /* work-items of the dimensions before it */
    size_t low, high; /* a group's work-items in it, */
    size_t most;      /* and how many there may be */
};

static size_t lesser(size_t a, size_t b) { return a < b ? a : b; }

/* False where the groups do not matter, or the kernel allows small ones only. */
static bool find_pivot(const struct kernel *kernel, const struct launch_shape *shape,
                       struct pivot *out) {
    const size_t *most = kernel->context->device->max_local;
    struct pivot at = {.inner = 1};
    if (shape->items < LEAST_ITEMS || kernel->max_group < SMALL_GROUP)
        return false;
    while (shape->global[at.dim] * at.inner < SMALL_GROUP) {
        if (shape->global[at.dim] > most[at.dim])
            return false;
        at.inner *= shape->global[at.dim++];
    }
    at.low = (SMALL_GROUP + at.inner - 1) / at.inner;
    at.most = lesser(kernel->max_group / at.inner, most[at.dim]);
    at.high = lesser(LARGE_GROUP / at.inner, at.most);
    *out = at;
    return at.low <= at.high;
}

static bool has_divisor(size_t n, size_t low, size_t high) {
    if (n % SMALL_GROUP == 0 || n <= high)
        return true;
    for (size_t divisor = high; divisor >= low; divisor--)
        if (n % divisor == 0)
            return true;
    return false;
}

static void set_local(const struct pivot *pivot, size_t group, struct launch_shape *shape) {
    shape->has_local = true;
    for (unsigned i = 0; i < 3; i++)
        shape->local[i] = i < pivot->dim ? shape->global[i] : i == pivot->dim ? group : 1;
}

void launch_groups_choose(const struct kernel *kernel, struct launch_shape *shape) {
    struct pivot pivot;
    if (!find_pivot(kernel, shape, &pivot) ||
        has_divisor(shape->global[pivot.dim], pivot.low, pivot.high))
        return;
    const size_t group = shape->items < MANY_ITEMS ? pivot.low : pivot.high;
    const size_t whole = shape->global[pivot.dim];
    if (whole <= pivot.most && shape->items / pivot.inner / whole >= ENOUGH_GROUPS) {
        set_local(&pivot, whole, shape);
    } else if (kernel->takes_odd_groups) {
        set_local(&pivot, group, shape);
    } else if (kernel->may_be_cut && caps_trusts(kernel->context->caps, TRUST_LAUNCH_OFFSETS)) {
        shape->cut = CUT_IN_TWO;
        shape->pivot = (unsigned char)pivot.dim;
        shape->round = shape->global[pivot.dim] - shape->global[pivot.dim] % group;
    } else {
        shape->cut = CUT_SMALL;
    }
}

/* --- launches in two parts --- */

/* Some drivers abort when the event of a failed command is released. */
static void rest_finalize(struct object *object) {
    const struct launch_rest *rest = (const struct launch_rest *)(const void *)object;
    if (!rest->event)
        return;
    const bool kept = (rest->device->quirks & QUIRK_FAILED_RELEASE_ABORTS) &&
                      event_state(rest->device, rest->event) < CL_COMPLETE;
    if (!kept)
        event_release(rest->device, rest->event);
}

static struct object_pool rest_pool =
    OBJECT_POOL(28, sizeof(struct launch_rest), "rest of a launch", rest_finalize);

cls_status launch_rest_keep(const struct kernel *kernel, struct command *command) {
    struct launch_rest *rest = object_create(&rest_pool);
    if (!rest)
        return object_none(&rest_pool, "a launch");
    rest->device = kernel->context->device;
    rest->event = NULL;
    command->u.launch.rest = rest;
    const cls_status status = command_keep(command, &rest->object);
    if (status)
        object_release(&rest->object);
    return status;
}

cls_status launch_enqueue_in_two(struct target target, const struct command *command,
                                 struct wait_list waits, cl_event *event) {
    const struct launch_shape *shape = &command->u.launch.shape;
    const unsigned dim = shape->pivot;
    struct launch_rest *kept = command->u.launch.rest;
    struct launch_shape rest = *shape, round = *shape;
    round.global[dim] = shape->round;
    rest.global[dim] -= shape->round;
    if (!rest.has_offset)
        memset(rest.offset, 0, sizeof rest.offset);
    rest.offset[dim] += shape->round;
    rest.has_offset = true;
    set_local(&(struct pivot){.dim = dim}, rest.global[dim], &rest);
    struct grid grid = launch_grid(&rest);
    cls_status status = enqueue_kernel(target.device, target.queue, command->u.launch.instance,
                                       &grid, waits, target.in_order ? NULL : &kept->event);
    if (status)
        return status;
    const struct wait_list behind = {target.in_order ? 0 : 1, &kept->event};
    grid = launch_grid(&round);
    return enqueue_kernel(target.device, target.queue, command->u.launch.instance, &grid, behind,
                          event);
}

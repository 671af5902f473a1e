/* SPDX-License-Identifier: MIT */
#include "stream/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

cls_status command_keep(struct command *command, struct object *object) {
    return refs_keep(&command->refs, object);
}

cls_status refs_keep(struct refs *refs, struct object *object) {
    if (refs->count < COMMAND_REFS) {
        refs->here[refs->count++] = object;
        return CLS_SUCCESS;
    }
    struct object **more = refs->more_count ? refs->more : NULL;
    more = realloc(more, (refs->more_count + 1) * sizeof(struct object *));
    if (!more)
        return error_no_memory("for a command of many arguments");
    refs->more = more;
    refs->more[refs->more_count++] = object;
    return CLS_SUCCESS;
}

bool refs_use(const struct refs *refs, const struct object *object) {
    bool used = refs_hold(refs, object);
    for (unsigned i = 0; i < refs->more_count && !used; i++)
        used = refs->more[i] == object;
    return used;
}

void refs_release_all(struct refs *refs) {
    for (unsigned i = 0; i < refs->count; i++)
        object_release(refs->here[i]);
    for (unsigned i = 0; i < refs->more_count; i++)
        object_release(refs->more[i]);
    if (RARELY(refs->more_count))
        free(refs->more);
    refs->count = refs->more_count = 0;
}

void command_drop(struct command *command) {
    if (command->type->discard)
        command->type->discard(command);
    refs_release(&command->refs);
    deps_clear(&command->deps);
}

/* A marker that waits has no times on some drivers (NVIDIA says 0). Where it is to be timed, a second one
 * without waits follows it, which the order of the queue puts behind. */
static cls_status marker(struct target target, const struct command *command,
                         struct wait_list waits, cl_event *event) {
    bool twice = command->u.marker.event && target.in_order && waits.count;
    if (!twice)
        return enqueue_marker(target.device, target.queue, waits, event);
    cls_status status = enqueue_marker(target.device, target.queue, waits, NULL);
    return status ? status
                  : enqueue_marker(target.device, target.queue, (struct wait_list){0, NULL}, event);
}

const struct command_type type_marker = {
    .kind = CLS_COMMAND_MARKER, .label = "marker", .enqueue = marker};

/* SPDX-License-Identifier: MIT */
#include "stream/touch.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"
#include "driver/shareable.h"
#include "stream/command.h"
#include "stream/context.h"
#include "stream/stream.h"

static struct touch *add(struct touches *touches) {
    if (!ARRAY_ROOM(touches->items, touches->count, touches->capacity, 8)) {
        touches->failed = true;
        return NULL;
    }
    return &touches->items[touches->count++];
}

void touches_add_buffer(struct touches *touches, const struct device *device, cl_mem memory,
                        const struct byte_span *span, bool write, bool possible) {
    struct memory_place place;
    struct touch *touch = byte_span_bytes(span) ? add(touches) : NULL;
    if (!touch)
        return;
    memory_identify(device, memory, &place);
    *touch = (struct touch){.root = place.root,
                            .bytes = place.bytes,
                            .origin = place.origin,
                            .span = *span,
                            .write = write,
                            .possible = possible};
    touch->span.start += place.origin;
}

void touches_add_host(struct touches *touches, const void *memory, const struct byte_span *span,
                      bool write) {
    struct touch *touch = byte_span_bytes(span) ? add(touches) : NULL;
    if (!touch)
        return;
    *touch = (struct touch){.span = *span, .write = write};
    touch->span.start += (size_t)(uintptr_t)memory;
}

void touch_copy(struct touches *touches, const struct device *device, const struct command *command,
                const struct launch_args *args) {
    cl_mem to = command->u.copy.to, from = command->u.copy.from;
    const struct range_1d range = command->u.copy.range;
    struct byte_span here = byte_span_1d(range.offset, range.bytes),
                     host = byte_span_1d(0, range.bytes);
    struct byte_span there =
        byte_span_1d(to && from ? command->u.copy.to_offset : range.offset, range.bytes);
    (void)args;
    if (to)
        touches_add_buffer(touches, device, to, &there, true, false);
    if (from)
        touches_add_buffer(touches, device, from, &here, false, false);
    if (!to || !from)
        touches_add_host(touches, command->u.copy.host, &host, !to);
}

void touch_rect(struct touches *touches, const struct device *device, const struct command *command,
                const struct launch_args *args) {
    cl_mem to = command->u.rect.to, from = command->u.rect.from;
    const struct rect_3d *rect = &command->u.rect.rect;
    const struct byte_span dst = byte_span_of(rect, &rect->dst),
                           src = byte_span_of(rect, &rect->src);
    (void)args;
    if (to)
        touches_add_buffer(touches, device, to, &dst, true, false);
    else
        touches_add_host(touches, command->u.rect.host, &dst, true);
    if (from)
        touches_add_buffer(touches, device, from, &src, false, false);
    else
        touches_add_host(touches, command->u.rect.host, &src, false);
}

void touch_fill(struct touches *touches, const struct device *device, const struct command *command,
                const struct launch_args *args) {
    struct byte_span span = byte_span_1d(command->u.fill.range.offset, command->u.fill.range.bytes);
    (void)args;
    touches_add_buffer(touches, device, command->u.fill.to, &span, true, false);
}

void touches_add_whole(struct touches *touches, const struct device *device, cl_mem memory,
                       bool write, bool possible) {
    struct memory_place place;
    memory_identify(device, memory, &place);
    struct byte_span span = byte_span_1d(0, place.bytes);
    touches_add_buffer(touches, device, memory, &span, write, possible);
}

/* A migration moves what is there: it goes with reads, and with no write. */
void touch_migrate(struct touches *touches, const struct device *device,
                   const struct command *command, const struct launch_args *args) {
    (void)args;
    touches_add_whole(touches, device, *command->u.migrate.memory, false, false);
}

void touches_collect(struct touches *touches, const struct stream *stream,
                     const struct command *command, const struct launch_args *args) {
    *touches = (struct touches){0};
    if (command->type->touch)
        command->type->touch(touches, stream->context->device, command, args);
}

void touches_free(struct touches *touches) { free(touches->items); }

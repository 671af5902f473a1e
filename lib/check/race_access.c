/* SPDX-License-Identifier: MIT */
/* Which bytes a command touches: the race checker's view of its arguments. */
#include <stdlib.h>

#include "check/race.h"
#include "command/kernel.h"
#include "command/op.h"
#include "driver/memory.h"
#include "memory/buffer.h"
#include "stream/command.h"
#include "stream/context.h"
#include "stream/stream.h"

static struct race_touch *add(struct race_touches *touches) {
    if (touches->count == touches->capacity) {
        size_t capacity = touches->capacity ? 2 * touches->capacity : 8;
        struct race_touch *grown = realloc(touches->items, capacity * sizeof *grown);
        if (!grown) {
            touches->failed = true;
            return NULL;
        }
        touches->items = grown;
        touches->capacity = capacity;
    }
    return &touches->items[touches->count++];
}

void race_add_buffer(struct race_touches *touches, const struct device *device, cl_mem memory,
                     const struct race_span *span, bool write, bool possible) {
    struct memory_place place;
    struct race_touch *touch = span->width && span->height ? add(touches) : NULL;
    if (!touch)
        return;
    memory_find(device, memory, &place);
    *touch = (struct race_touch){.root = place.root,
                                 .bytes = place.bytes,
                                 .origin = place.origin,
                                 .span = *span,
                                 .write = write,
                                 .possible = possible};
    touch->span.start += place.origin;
}

void race_add_host(struct race_touches *touches, const void *memory, const struct race_span *span,
                   bool write) {
    struct race_touch *touch = span->width && span->height ? add(touches) : NULL;
    if (!touch)
        return;
    *touch = (struct race_touch){.span = *span, .write = write};
    touch->span.start += (size_t)(uintptr_t)memory;
}

static struct race_span flat(size_t offset, size_t bytes) {
    return (struct race_span){offset, bytes, bytes, 1};
}

void race_touch_copy(struct race_touches *touches, const struct device *device,
                     const struct command *command, const struct race_args *args) {
    cl_mem to = command->u.copy.to, from = command->u.copy.from;
    const struct range_1d range = command->u.copy.range;
    struct race_span here = flat(range.offset, range.bytes), host = flat(0, range.bytes);
    struct race_span there =
        flat(to && from ? command->u.copy.to_offset : range.offset, range.bytes);
    (void)args;
    if (to)
        race_add_buffer(touches, device, to, &there, true, false);
    if (from)
        race_add_buffer(touches, device, from, &here, false, false);
    if (!to || !from)
        race_add_host(touches, command->u.copy.host, &host, !to);
}

void race_touch_rect(struct race_touches *touches, const struct device *device,
                     const struct command *command, const struct race_args *args) {
    cl_mem to = command->u.rect.to, from = command->u.rect.from;
    const struct rect_2d *rect = &command->u.rect.rect;
    struct race_span near = {rect->buffer_offset, rect->width, rect->buffer_pitch, rect->height};
    struct race_span far = {rect->other_offset, rect->width, rect->other_pitch, rect->height};
    (void)args;
    if (to)
        race_add_buffer(touches, device, to, from ? &far : &near, true, false);
    if (from)
        race_add_buffer(touches, device, from, &near, false, false);
    if (!to || !from)
        race_add_host(touches, command->u.rect.host, &far, !to);
}

void race_touch_fill(struct race_touches *touches, const struct device *device,
                     const struct command *command, const struct race_args *args) {
    struct race_span span = flat(command->u.fill.range.offset, command->u.fill.range.bytes);
    (void)args;
    race_add_buffer(touches, device, command->u.fill.to, &span, true, false);
}

void race_add_whole(struct race_touches *touches, const struct device *device, cl_mem memory,
                    bool write, bool possible) {
    struct memory_place place;
    memory_find(device, memory, &place);
    struct race_span span = flat(0, place.bytes);
    race_add_buffer(touches, device, memory, &span, write, possible);
}

/* A migration moves what is there: it goes with reads, and with no write. */
void race_touch_migrate(struct race_touches *touches, const struct device *device,
                        const struct command *command, const struct race_args *args) {
    (void)args;
    race_add_whole(touches, device, *command->u.migrate.memory, false, false);
}

/* The buffer of a handle that another thread may be destroying: then its last use is that thread's. */
static void add_arg(struct race_touches *touches, const struct device *device, const cls_arg *arg,
                    bool writable) {
    struct buffer *buffer = object_acquire(&buffer_pool, arg->u.buffer);
    if (!buffer)
        return;
    struct race_span span = flat(arg->u.part.offset, arg->size);
    if (arg->access == CLS_ACCESS_UNKNOWN)
        race_add_whole(touches, device, buffer->memory, writable, true);
    else
        race_add_buffer(touches, device, buffer->memory, &span, arg->access != CLS_ACCESS_READ,
                        false);
    buffer_put(buffer);
}

void race_touch_args(struct race_touches *touches, const struct device *device,
                     const struct command *command, const struct race_args *args) {
    for (unsigned i = 0; args && i < args->count; i++) {
        const struct op_arg *own = args->op_args ? &args->op_args[i] : NULL;
        const cls_arg *arg = args->args ? &args->args[i] : NULL;
        if (own && own->kind == OP_ARG_BUFFER) {
            struct race_span span = flat(own->u.part.offset, own->size);
            race_add_buffer(touches, device, own->u.part.buffer->memory, &span, own->writes, false);
        }
        if (arg && arg->kind == CLS_ARG_BUFFER && arg->u.buffer)
            add_arg(touches, device, arg,
                    !kernel_parameter_is_const(device, command->u.launch.instance, i));
    }
}

void race_collect(struct race_touches *touches, const struct stream *stream,
                  const struct command *command, const struct race_args *args) {
    *touches = (struct race_touches){0};
    if (command->type->touch)
        command->type->touch(touches, stream->context->device, command, args);
}

void race_drop(struct race_touches *touches) { free(touches->items); }

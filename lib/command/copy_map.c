/* SPDX-License-Identifier: MIT */
/* Maps of buffers for the host, in stream order: copies from and to pinned memory, or markers where none is needed. */
#include "base/error.h"
#include "command/copy_call.h"
#include "memory/buffer_map.h"
#include "stream/context.h"
#include "stream/hooks.h"
#include "stream/touch.h"
#include "stream/wait.h"

/* --- commands: `from` is read and `to` written, of one buffer; `host` is NULL where nothing is copied --- */

static cls_status download_mapped(struct target target, const struct command *command,
                                  struct wait_list waits, cl_event *event) {
    return enqueue_read(target.device, target.queue, command->u.copy.from, command->u.copy.range,
                        command->u.copy.host, waits, event);
}

static cls_status upload_mapped(struct target target, const struct command *command,
                                struct wait_list waits, cl_event *event) {
    return enqueue_write(target.device, target.queue, command->u.copy.to, command->u.copy.range,
                         command->u.copy.host, waits, event);
}

static cls_status mark_map(struct target target, const struct command *command,
                           struct wait_list waits, cl_event *event) {
    (void)command;
    return enqueue_marker(target.device, target.queue, waits, event);
}

static void touch_buffer(struct touches *touches, const struct device *device,
                         const struct command *command) {
    const struct copy_arguments *copy = &command->u.copy;
    const struct byte_span span = byte_span_1d(copy->range.offset, copy->range.bytes);
    if (copy->from)
        touches_add_buffer(touches, device, copy->from, &span, false, false);
    if (copy->to)
        touches_add_buffer(touches, device, copy->to, &span, true, false);
}

static void touch_map(struct touches *touches, const struct device *device,
                      const struct command *command, const struct launch_args *args) {
    const struct byte_span host = byte_span_1d(0, command->u.copy.range.bytes);
    (void)args;
    touch_buffer(touches, device, command);
    if (command->u.copy.host)
        touches_add_host(touches, command->u.copy.host, &host,
                         command->type->kind == CLS_COMMAND_COPY_D2H);
}

#define MAP_COMMAND(kind_, label_, enqueue_) \
    { .kind = (kind_), .label = (label_), .enqueue = (enqueue_), .touch = (touch_map) }

/* Indexed by whether the bytes are copied. Captures refuse them. */
static const struct command_type types_map[2] = {
    MAP_COMMAND(CLS_COMMAND_MARKER, "map", mark_map),
    MAP_COMMAND(CLS_COMMAND_COPY_D2H, "map", download_mapped)};
static const struct command_type types_unmap[2] = {
    MAP_COMMAND(CLS_COMMAND_MARKER, "unmap", mark_map),
    MAP_COMMAND(CLS_COMMAND_COPY_H2D, "unmap", upload_mapped)};

/* --- calls --- */

static void set_map_command(struct copy_call *t, const struct command_type *type,
                            const struct buffer_map *map, bool copies) {
    t->command.type = type;
    t->command.bytes = copies ? map->range.bytes : 0;
    t->command.u.copy =
        (struct copy_arguments){.host = copies ? map->host : NULL, .range = map->range};
    if (copies) {
        object_retain(&map->copy->object);
        command_keep(&t->command, &map->copy->object);
    }
}

static void set_map(struct copy_call *t, const struct buffer_map *map) {
    const bool keeps = map->access != CLS_MAP_WRITE_INVALIDATE, copies = map->copy && keeps;
    set_map_command(t, &types_map[copies], map, copies);
    t->command.u.copy.from = keeps ? map->buffer->memory : NULL;
    t->command.u.copy.to = buffer_map_writes(map) ? map->buffer->memory : NULL;
}

static void set_unmap(struct copy_call *t, const struct buffer_map *map) {
    const bool writes = buffer_map_writes(map), copies = map->copy && writes;
    set_map_command(t, &types_unmap[copies], map, copies);
    t->command.u.copy.from = writes ? NULL : map->buffer->memory;
    t->command.u.copy.to = writes ? map->buffer->memory : NULL;
}

static void drop_map(struct buffer *buffer, const void *host) {
    struct buffer_map *map = buffer_map_take(buffer, host);
    if (map)
        buffer_map_free(map);
}

/* The map is the caller's no longer once it is submitted: another thread may destroy the buffer. */
static cls_status submit_map(struct copy_call *t, struct buffer *buffer,
                             const struct buffer_map *map, bool blocking, void **pointer) {
    void *const host = map->host;
    uint64_t position = 0;
    set_map(t, map);
    cls_status status = copy_call_hand_in(t, &position);
    if (!status && race_on())
        buffer_map_submitted(buffer, host, t->stream, position);
    if (!status && blocking)
        status = stream_wait(t->stream, position, WAIT_FOREVER);
    if (status)
        drop_map(buffer, host);
    else
        *pointer = host;
    return status;
}

/* Each launch of a graph would use the one pointer. */
static cls_status refuse_captured_map(struct stream *stream) {
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&stream->lock);
    if (stream->capturing)
        status = hooks.capture.refuse(stream, "map: its pointer would be that of each launch");
    pthread_mutex_unlock(&stream->lock);
    return status;
}

static cls_status check_map(cls_map_access access, size_t bytes, void *const *pointer) {
    if (access < CLS_MAP_READ || access > CLS_MAP_WRITE_INVALIDATE)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_map_access", (int)access);
    return buffer_check_create(bytes, pointer, "cls_buffer_map");
}

static cls_status map_buffer(cls_buffer handle, cls_map_access access, struct range_1d range,
                             cls_stream stream, bool blocking, void **pointer) {
    struct copy_call t;
    struct buffer_map *map;
    cls_status status = check_map(access, range.bytes, pointer);
    if (!status)
        status = copy_call_begin(&t, stream, NULL, &handle);
    if (status)
        return status;
    struct buffer *buffer = t.from;
    object_retain(&buffer->object);
    status = copy_check_range(buffer, range.offset, range.bytes);
    if (!status && blocking)
        status = check_may_block();
    if (!status)
        status = refuse_captured_map(t.stream);
    if (!status)
        status = buffer_map_add(buffer, access, range, &map);
    if (!status)
        status = submit_map(&t, buffer, map, blocking, pointer);
    buffer_put(buffer);
    return copy_call_end(&t, status);
}

/* With the map taken out. */
static cls_status submit_unmap(struct copy_call *t, struct buffer_map *map, uint64_t *position) {
    struct buffer *buffer = map->buffer;
    object_retain(&buffer->object);
    cls_status status = refuse_captured_map(t->stream);
    if (!status) {
        set_unmap(t, map);
        status = copy_call_hand_in(t, position);
    }
    if (status)
        buffer_map_put_back(map);
    else
        buffer_map_free(map);
    buffer_put(buffer);
    return status;
}

static cls_status unmap_buffer(cls_buffer handle, const void *pointer, cls_stream stream,
                               bool blocking) {
    struct copy_call t;
    uint64_t position = 0;
    cls_status status = copy_call_begin(&t, stream, &handle, NULL);
    if (!status && blocking && (status = check_may_block()) != CLS_SUCCESS)
        return copy_call_end(&t, status);
    if (status)
        return status;
    struct buffer_map *map = buffer_map_take(t.to, pointer);
    status = map ? submit_unmap(&t, map, &position)
                 : error_set(CLS_ERROR_INVALID_VALUE, "no map of the buffer begins at %p", pointer);
    if (!status && blocking)
        status = stream_wait(t.stream, position, WAIT_FOREVER);
    return copy_call_end(&t, status);
}

cls_status cls_buffer_map_async(cls_buffer buffer, cls_map_access access, size_t offset,
                                size_t bytes, cls_stream stream, void **pointer) {
    return map_buffer(buffer, access, (struct range_1d){offset, bytes}, stream, false, pointer);
}

cls_status cls_buffer_map(cls_buffer buffer, cls_map_access access, size_t offset, size_t bytes,
                          cls_stream stream, void **pointer) {
    return map_buffer(buffer, access, (struct range_1d){offset, bytes}, stream, true, pointer);
}

cls_status cls_buffer_unmap_async(cls_buffer buffer, const void *pointer, cls_stream stream) {
    return unmap_buffer(buffer, pointer, stream, false);
}

cls_status cls_buffer_unmap(cls_buffer buffer, const void *pointer, cls_stream stream) {
    return unmap_buffer(buffer, pointer, stream, true);
}

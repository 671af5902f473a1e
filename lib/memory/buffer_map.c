/* SPDX-License-Identifier: MIT */
#include "memory/buffer_map.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/error.h"
#include "driver/shareable.h"
#include "stream/context.h"
#include "stream/stream.h"

static pthread_mutex_t maps_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf; guards the list */
static struct buffer_map *maps;                               /* oldest first */

/* --- the list; under the lock --- */

static void append_map(struct buffer_map *map) {
    DL_APPEND(maps, map);
    atomic_fetch_add_explicit(&map->buffer->n_maps, 1, memory_order_release);
}

static void take_map_out(struct buffer_map *map) {
    DL_DELETE(maps, map);
    atomic_fetch_sub_explicit(&map->buffer->n_maps, 1, memory_order_release);
}

static bool is_live(const struct buffer_map *map) {
    return object_is(&map->buffer->object, map->handle);
}

static bool excludes(const struct buffer_map *a, const struct buffer_map *b) {
    return (buffer_map_writes(a) || buffer_map_writes(b)) && is_live(b) &&
           buffer_spans_overlap(a->buffer, byte_span_1d(a->range.offset, a->range.bytes), b->buffer,
                                byte_span_1d(b->range.offset, b->range.bytes));
}

static const struct buffer_map *find_excluding(const struct buffer_map *map) {
    const struct buffer_map *other;
    DL_FOREACH(maps, other) if (excludes(map, other)) return other;
    return NULL;
}

static struct buffer_map *find_buffer_map(const struct buffer *buffer, const void *host) {
    struct buffer_map *map;
    DL_FOREACH(maps, map)
    if (map->buffer == buffer && map->host == host && is_live(map))
        return map;
    return NULL;
}

static struct buffer_map *find_first_of(const struct buffer *buffer) {
    struct buffer_map *map;
    DL_FOREACH(maps, map) if (map->buffer == buffer) return map;
    return NULL;
}

/* --- making and ending --- */

/* Whether host and device use the same bytes at any time. Coarse unified memory changes its owner as a whole, so that
 * ranges of it are copied, as those of device memory are. */
static bool is_shared(const struct buffer *buffer) { return buffer->host && !buffer->svm_owner; }

static cls_status place_map(struct buffer_map *map) {
    if (is_shared(map->buffer)) {
        map->host = (char *)map->buffer->host + map->range.offset;
        return CLS_SUCCESS;
    }
    cls_status status = buffer_part_new_pinned(map->buffer->context, map->range.bytes, &map->copy);
    if (!status)
        map->host = map->copy->pinned.host;
    return status;
}

void buffer_map_free(struct buffer_map *map) {
    if (map->copy)
        object_release(&map->copy->object);
    free(map->life);
    free(map);
}

static cls_status refuse_overlap(const struct buffer_map *other) {
    return error_set(CLS_ERROR_INVALID_STATE, "bytes %zu to %zu of the buffer are mapped for %s",
                     other->range.offset, other->range.offset + other->range.bytes - 1,
                     buffer_map_writes(other) ? "writing" : "reading");
}

static cls_status enlist_map(struct buffer_map *map) {
    pthread_mutex_lock(&maps_lock);
    const struct buffer_map *other = find_excluding(map);
    cls_status status = other ? refuse_overlap(other) : CLS_SUCCESS;
    if (!other)
        append_map(map);
    pthread_mutex_unlock(&maps_lock);
    return status;
}

cls_status buffer_map_add(struct buffer *buffer, cls_map_access access, struct range_1d range,
                          struct buffer_map **out) {
    struct buffer_map *map = calloc(1, sizeof *map);
    if (!map)
        return error_no_memory("for a map of a buffer");
    map->buffer = buffer;
    map->handle = object_handle(&buffer->object);
    map->access = access;
    map->range = range;
    map->life = keeps_lives() ? life_begin() : NULL;
    cls_status status = place_map(map);
    if (!status)
        status = enlist_map(map);
    if (status) {
        buffer_map_free(map);
        return status;
    }
    *out = map;
    return CLS_SUCCESS;
}

struct buffer_map *buffer_map_take(struct buffer *buffer, const void *host) {
    pthread_mutex_lock(&maps_lock);
    struct buffer_map *map = find_buffer_map(buffer, host);
    if (map)
        take_map_out(map);
    pthread_mutex_unlock(&maps_lock);
    return map;
}

void buffer_map_put_back(struct buffer_map *map) {
    pthread_mutex_lock(&maps_lock);
    append_map(map);
    pthread_mutex_unlock(&maps_lock);
}

void buffer_maps_end_all(struct buffer *buffer) {
    struct buffer_map *map;
    do {
        pthread_mutex_lock(&maps_lock);
        map = find_first_of(buffer);
        if (map)
            take_map_out(map);
        pthread_mutex_unlock(&maps_lock);
        if (map)
            buffer_map_free(map);
    } while (map);
}

/* --- the checkers --- */

void buffer_map_visit(void (*visit)(const struct buffer_map *map, void *arg), void *arg) {
    const struct buffer_map *map;
    pthread_mutex_lock(&maps_lock);
    DL_FOREACH(maps, map) if (is_live(map)) visit(map, arg);
    pthread_mutex_unlock(&maps_lock);
}

static void note_submitted(struct buffer_map *map, const struct stream *stream, uint64_t position) {
    memory_identify(map->buffer->context->device, map->buffer->memory, &map->place);
    memcpy(map->stream, stream->name, sizeof map->stream);
    map->position = position;
}

void buffer_map_submitted(struct buffer *buffer, const void *host, const struct stream *stream,
                          uint64_t position) {
    pthread_mutex_lock(&maps_lock);
    struct buffer_map *map = find_buffer_map(buffer, host);
    if (map)
        note_submitted(map, stream, position);
    pthread_mutex_unlock(&maps_lock);
}

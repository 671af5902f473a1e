/* SPDX-License-Identifier: MIT */
/*
 * The maps of buffers for the host: which bytes are mapped, and where the host has them. A map is found by its buffer and
 * its address, of which several maps for reading may have the same where no copy is made.
 */
#ifndef CLSTREAM_MEMORY_BUFFER_MAP_H
#define CLSTREAM_MEMORY_BUFFER_MAP_H

#include "driver/queue.h"
#include "memory/buffer.h"
#include "memory/part.h"

struct stream;
struct touch;

struct buffer_map {
    struct buffer *buffer; /* which ends its maps at its own end */
    const void *handle;    /* of the buffer's life that is mapped */
    cls_map_access access;
    struct range_1d range;
    void *host;
    struct buffer_part
        *copy; /* pinned memory that the bytes are copied to, a reference; NULL: none */
    struct object_life *life; /* NULL unless lives are kept (base/life.h) */
    /* For the race checker; position 0: it is not submitted yet. The place of the bytes in their root. */
    char stream[64];
    uint64_t position;
    struct memory_place place;
    struct buffer_map *prev, *next;
};

static inline bool buffer_map_writes(const struct buffer_map *map) {
    return map->access != CLS_MAP_READ;
}

/* Adds a map. CLS_ERROR_INVALID_STATE: it overlaps with another, and one of them is for writing. */
cls_status buffer_map_add(struct buffer *buffer, cls_map_access access, struct range_1d range,
                          struct buffer_map **out);

/* Takes the map at an address out, for buffer_map_put_back or buffer_map_free; NULL: there is none. */
struct buffer_map *buffer_map_take(struct buffer *buffer, const void *host);
void buffer_map_put_back(struct buffer_map *map);
void buffer_map_free(struct buffer_map *map);

/* The buffer's memory goes, or has a new life: so do its maps. */
void buffer_maps_end_all(struct buffer *buffer) COLD;
static inline void buffer_maps_end(struct buffer *buffer) {
    if (RARELY(atomic_load_explicit(&buffer->n_maps, memory_order_acquire)))
        buffer_maps_end_all(buffer);
}

/* Calls `visit` for all maps of buffers that are not destroyed, oldest first. */
void buffer_map_visit(void (*visit)(const struct buffer_map *map, void *arg), void *arg);

/* For the race checker: the map at this address is submitted. */
void buffer_map_submitted(struct buffer *buffer, const void *host, const struct stream *stream,
                          uint64_t position) COLD;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A device group inside. What leaves a device goes through its ring of pinned chunks: down on its download
 * stream, up on the upload streams of those that it is for behind that, and down again into the same chunk
 * behind their uploads. Each device has a ring of its own, so that none waits for what others exchange.
 */
#ifndef CLSTREAM_PIPELINE_GROUP_H
#define CLSTREAM_PIPELINE_GROUP_H

#include <pthread.h>

#include <clstream/device_group.h>

#include "base/handle.h"

enum { MOST_CHUNKS = 64 };

struct chunk {
    void *memory;
    cls_event down;                     /* behind the way down; of the ring's device */
    cls_event up[CLS_DEVICE_GROUP_MAX]; /* behind the way up to a device, and of that one */
    uint32_t uploaders; /* a bit for each device that it went up to since it came down last */
    uint32_t unmarked;  /* those among them whose event could not be recorded */
};

struct member {
    cls_context context;
    cls_device_streams streams;
    cls_event event;   /* for marks that are waited for at once */
    cls_buffer others; /* what the other devices have, for all-reduce; NULL until needed */
    size_t others_bytes;
    struct chunk chunks[MOST_CHUNKS];
    unsigned next_chunk;
};

struct group {
    struct object object;
    unsigned n, n_chunks;
    size_t chunk_bytes;
    pthread_mutex_t lock; /* guards what changes, and the order of what is submitted */
    struct member members[CLS_DEVICE_GROUP_MAX];
};

cls_status group_get(cls_device_group handle, struct group **out);
cls_status group_put(struct group *group, cls_status status);

cls_status group_check_device(const struct group *group, unsigned device);

/* --- under the lock (group_copy.c) --- */

/* The stream's later work runs behind what the device's compute stream holds, and the other way round. */
cls_status group_enter(const struct member *member, cls_stream stream);
cls_status group_leave(const struct member *member, cls_stream stream);

/* How much of so many bytes a chunk takes: so much that all of them are on their way at once, but no more than fits
 * and no less than reaches the speed of a bus. A driver may tell the end of a way up only behind the ways down that
 * it was given before, so that a ring gone round costs a pause for each chunk. */
size_t group_piece(const struct group *group, size_t bytes);

/* Sends at most a chunk from a device to others, to the places `to[0]` to `to[n - 1]`. Between entering the
 * streams concerned and leaving them. */
cls_status group_send(struct group *group, const cls_device_range *from, const cls_device_range *to,
                      unsigned n, size_t bytes);

/* Whether a range of a device's buffer may be copied; asked of all before any is. */
cls_status group_check_range(const struct member *member, cls_buffer buffer, size_t offset,
                             size_t bytes);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Device groups: contexts of several devices that exchange data. Where the context of one end reaches the memory of the
 * other, a copy is one command of that context's device. Ordinary buffers of devices with a link go through memory that
 * they reach (group_linked.h). Else data that leaves a device goes through the device's ring of pinned chunks: a download to a chunk on its download stream, then uploads from it on the upload streams of the targets.
 * The next download to that chunk waits for those uploads. Each device has a ring of its own, so that no device waits for
 * what others exchange.
 */
#ifndef CLSTREAM_PIPELINE_GROUP_H
#define CLSTREAM_PIPELINE_GROUP_H

#include <pthread.h>

#include <clstream/device_group.h>

#include "base/handle.h"
#include "base/types.h"

struct buffer;
struct stream;

enum {
    MOST_CHUNKS = 64,
    GROUP_OPS = 3, /* sum, min, max */
    GROUP_KERNELS = GROUP_OPS * TYPES * 2 * 2
};

struct group_chunk {
    void *memory;
    /* The last upload to each device since the last download, a position of its upload stream; 0: none. */
    uint64_t up[CLS_DEVICE_GROUP_MAX];
};

struct group_member {
    cls_context context;
    cls_device_streams streams;
    struct stream *upload, *download; /* of those, retained */
    cls_event event;                  /* for marks that are waited for at once */
    cls_buffer others; /* the other devices' slices, for reductions; NULL until needed */
    size_t others_bytes;
    cls_buffer stand_in; /* shareable: group_linked.h; NULL until needed */
    size_t stand_in_bytes;
    cls_kernel kernels[GROUP_KERNELS]; /* for reductions: group_sum.c; NULL until needed */
    struct group_chunk chunks[MOST_CHUNKS];
    unsigned next_chunk;
};

struct group {
    struct object object;
    unsigned n, n_chunks;
    size_t chunk_bytes;
    /* Guards rings, `others`, stand-ins, `kernels` and the statistics; copies are submitted under it. */
    pthread_mutex_t lock;
    cls_device_group_statistics statistics;
    struct group_member members[CLS_DEVICE_GROUP_MAX];
};

cls_status group_get(cls_device_group handle, struct group **out);
cls_status group_put(struct group *group, cls_status status);

/* Under the lock: whether all devices of the group reach each other's memory over a link. Reports nothing. */
bool group_is_linked(struct group *group);

cls_status group_check_device(const struct group *group, unsigned device);

/* --- under the lock (group_copy.c) --- */

/* Later work of the stream runs behind the work of the device's compute stream so far; leave: the other way
 * round. */
cls_status group_enter(const struct group_member *member, cls_stream stream);
cls_status group_leave(const struct group_member *member, cls_stream stream);

/* The size of the pieces that so many bytes are sent in: such that the whole ring is in use at once, but no
 * more than a chunk and no less than reaches the speed of the bus. A driver may report the end of an upload
 * only behind downloads that it was given earlier, so going round the ring costs a pause for each chunk. */
size_t group_piece(const struct group *group, size_t bytes);

/* Sends at most a chunk from a device to `to[0]` ... `to[n - 1]`. Between group_enter and group_leave of the
 * streams concerned. */
cls_status group_send(struct group *group, const cls_device_range *from, const cls_device_range *to,
                      unsigned n, size_t bytes);

/* Checks a range of a device's buffer, and takes a reference to that. All are checked before any copy. */
cls_status group_get_range(const struct group_member *member, cls_buffer handle, size_t offset,
                           size_t bytes, struct buffer **out);
cls_status group_check_range(const struct group_member *member, cls_buffer buffer, size_t offset,
                             size_t bytes);

#endif

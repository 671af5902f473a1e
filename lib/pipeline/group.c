/* SPDX-License-Identifier: MIT */
/*
 * Device groups. A copy between devices goes chunk by chunk through pinned memory: down on the one's
 * download stream, up on the other's upload stream behind that, and down again into the same chunk behind
 * its upload. Events belong to a context, so a chunk has one for each device.
 */
#include <clstream/device_group.h>

#include <pthread.h>
#include <stdlib.h>

#include <clstream/binary.h>
#include <clstream/buffer.h>
#include <clstream/event.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "base/handle.h"
#include "core/mutant.h"
#include "pipeline/pipeline.h"

enum { MOST_CHUNKS = 64, CHUNKS = 8, NOBODY = -1 };

static const size_t CHUNK_BYTES = (size_t)4 << 20;

struct member {
    cls_context context;
    cls_device_streams streams;
    cls_event event;   /* for marks that are waited for at once */
    cls_buffer others; /* what the other devices have, for all-reduce; NULL until needed */
    size_t others_bytes;
};

struct chunk {
    void *memory;
    cls_event down[CLS_DEVICE_GROUP_MAX], up[CLS_DEVICE_GROUP_MAX];
    int uploader; /* the device that it went up to last, or NOBODY */
};

struct group {
    struct object object;
    unsigned n, n_chunks;
    size_t chunk_bytes;
    pthread_mutex_t lock; /* guards what follows, and the order of what is submitted */
    struct member members[CLS_DEVICE_GROUP_MAX];
    struct chunk chunks[MOST_CHUNKS];
    unsigned next_chunk;
};

/* --- life --- */

static void close_member(struct member *member) {
    const cls_stream streams[] = {member->streams.upload, member->streams.compute,
                                  member->streams.download};
    for (int i = 0; i < 3; i++)
        if (streams[i])
            cls_stream_destroy(streams[i]);
    if (member->event)
        cls_event_destroy(member->event);
    if (member->others)
        cls_buffer_destroy(member->others);
}

static void group_finalize(struct object *object) {
    struct group *group = (struct group *)(void *)object;
    for (unsigned i = 0; i < group->n_chunks; i++) {
        struct chunk *chunk = &group->chunks[i];
        if (chunk->memory)
            cls_host_free(chunk->memory);
        for (unsigned d = 0; d < group->n; d++) {
            if (chunk->down[d])
                cls_event_destroy(chunk->down[d]);
            if (chunk->up[d])
                cls_event_destroy(chunk->up[d]);
        }
    }
    for (unsigned d = 0; d < group->n; d++)
        close_member(&group->members[d]);
    pthread_mutex_destroy(&group->lock);
}

static struct object_pool group_pool =
    OBJECT_POOL(22, sizeof(struct group), "device group", group_finalize);

static cls_status group_get(cls_device_group handle, struct group **out) {
    struct group *group = object_acquire(&group_pool, handle);
    if (!group)
        return object_invalid(&group_pool, handle);
    cls_status status = CLS_SUCCESS;
    for (unsigned d = 0; d < group->n && !status; d++)
        status = cls_event_query(group->chunks[0].up[d]);
    if (status == CLS_ERROR_CONTEXT_DESTROYED) {
        object_release(&group->object);
        return status;
    }
    *out = group;
    return CLS_SUCCESS;
}

static cls_status group_put(struct group *group, cls_status status) {
    object_release(&group->object);
    return status;
}

static cls_status open_member(struct member *member, cls_context given) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream ignored;
    cls_status status = pipeline_context(given, &member->context, &ignored);
    config.name = "group upload";
    if (!status)
        status = cls_stream_create(member->context, &config, &member->streams.upload);
    config.name = "group compute";
    if (!status)
        status = cls_stream_create(member->context, &config, &member->streams.compute);
    config.name = "group download";
    if (!status)
        status = cls_stream_create(member->context, &config, &member->streams.download);
    if (!status)
        status = cls_event_create(member->context, NULL, &member->event);
    return status;
}

static cls_status open_chunk(struct group *group, struct chunk *chunk) {
    chunk->uploader = NOBODY;
    cls_status status =
        cls_host_alloc(group->members[0].context, group->chunk_bytes, &chunk->memory);
    for (unsigned d = 0; d < group->n && !status; d++) {
        status = cls_event_create(group->members[d].context, NULL, &chunk->down[d]);
        if (!status)
            status = cls_event_create(group->members[d].context, NULL, &chunk->up[d]);
    }
    return status;
}

static cls_status open_all(struct group *group, const cls_context *contexts, unsigned n,
                           unsigned chunks) {
    cls_status status = CLS_SUCCESS;
    for (unsigned d = 0; d < n && !status; d++) {
        group->n = d + 1;
        status = open_member(&group->members[d], contexts[d]);
    }
    for (unsigned i = 0; i < chunks && !status; i++) {
        group->n_chunks = i + 1;
        status = open_chunk(group, &group->chunks[i]);
    }
    return status;
}

cls_status cls_device_group_create(const cls_context *contexts, unsigned n,
                                   const cls_device_group_config *config, cls_device_group *out) {
    if (!contexts || !out || !n || n > CLS_DEVICE_GROUP_MAX ||
        (config && (config->size != sizeof *config || config->chunks > MOST_CHUNKS)))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "cls_device_group_create: a null pointer, %u contexts, or a bad config",
                         n);
    cls_status status = pipeline_may_block(); /* taking it back may free pinned memory */
    if (status)
        return status;
    struct group *group = object_create(&group_pool);
    if (!group || pthread_mutex_init(&group->lock, NULL)) {
        if (group)
            object_abandon(&group->object);
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a device group");
    }
    group->chunk_bytes = config && config->chunk_bytes ? config->chunk_bytes : CHUNK_BYTES;
    status = open_all(group, contexts, n, config && config->chunks ? config->chunks : CHUNKS);
    if (status)
        return group_put(group, status);
    *out = object_handle(&group->object);
    return CLS_SUCCESS;
}

cls_status cls_device_group_destroy(cls_device_group handle) {
    cls_status status = pipeline_may_block();
    if (status)
        return status;
    return object_destroy(&group_pool, handle) ? CLS_SUCCESS : object_invalid(&group_pool, handle);
}

cls_status cls_device_group_get_count(cls_device_group handle, unsigned *count) {
    struct group *group;
    if (!count)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_device_group_get_count: count is null");
    cls_status status = group_get(handle, &group);
    if (status)
        return status;
    *count = group->n;
    return group_put(group, CLS_SUCCESS);
}

static cls_status check_device(const struct group *group, unsigned device) {
    if (device < group->n)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OUT_OF_RANGE, "device %u of a group of %u", device, group->n);
}

cls_status cls_device_group_get_streams(cls_device_group handle, unsigned device,
                                        cls_device_streams *out) {
    struct group *group;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_device_group_get_streams: out is null");
    cls_status status = group_get(handle, &group);
    if (status)
        return status;
    status = check_device(group, device);
    if (!status)
        *out = group->members[device].streams;
    return group_put(group, status);
}

/* --- order; under the lock --- */

/* Later work of `waiter` runs behind what `stream` of the member holds now. */
static cls_status follow(const struct member *member, cls_stream stream, cls_stream waiter) {
    cls_status status = cls_event_record(member->event, stream);
    return status ? status : cls_stream_wait_event(waiter, member->event);
}

static cls_status enter(const struct member *member, cls_stream stream) {
    return mutant(MUTANT_GROUP_ENTER) ? CLS_SUCCESS
                                      : follow(member, member->streams.compute, stream);
}

static cls_status leave(const struct member *member, cls_stream stream) {
    return mutant(MUTANT_GROUP_LEAVE) ? CLS_SUCCESS
                                      : follow(member, stream, member->streams.compute);
}

/* --- copies between devices; under the lock --- */

static cls_status copy_chunk(struct group *group, const cls_device_range *to,
                             const cls_device_range *from, size_t done, size_t bytes) {
    struct chunk *chunk = &group->chunks[group->next_chunk];
    const cls_stream down = group->members[from->device].streams.download;
    const cls_stream up = group->members[to->device].streams.upload;
    cls_status status = CLS_SUCCESS;
    if (chunk->uploader != NOBODY && !mutant(MUTANT_GROUP_CHUNK))
        status = cls_stream_wait_event(down, chunk->up[chunk->uploader]);
    if (!status)
        status = cls_copy_d2h_async(chunk->memory, from->buffer, from->offset + done, bytes, down);
    if (!status)
        status = cls_event_record(chunk->down[from->device], down);
    if (!status && !mutant(MUTANT_GROUP_ARRIVAL))
        status = cls_stream_wait_event(up, chunk->down[from->device]);
    if (!status)
        status = cls_copy_h2d_async(to->buffer, to->offset + done, chunk->memory, bytes, up);
    if (!status)
        status = cls_event_record(chunk->up[to->device], up);
    if (status)
        return status;
    chunk->uploader = (int)to->device;
    group->next_chunk = (group->next_chunk + 1) % group->n_chunks;
    return CLS_SUCCESS;
}

static cls_status check_range(const cls_device_range *range, size_t bytes) {
    size_t size, end;
    cls_status status = cls_buffer_get_size(range->buffer, &size);
    if (!status && (__builtin_add_overflow(range->offset, bytes, &end) || end > size))
        status = error_set(CLS_ERROR_OUT_OF_RANGE, "%zu bytes from %zu pass the end of %zu", bytes,
                           range->offset, size);
    return status;
}

static cls_status copy(struct group *group, const cls_device_range *to,
                       const cls_device_range *from, size_t bytes) {
    const struct member *source = &group->members[from->device];
    const struct member *target = &group->members[to->device];
    cls_status status = check_range(to, bytes);
    if (!status)
        status = check_range(from, bytes);
    if (!status)
        status = enter(source, source->streams.download);
    if (!status)
        status = enter(target, target->streams.upload);
    for (size_t done = 0; done < bytes && !status; done += group->chunk_bytes) {
        const size_t left = bytes - done;
        status = copy_chunk(group, to, from, done,
                            left < group->chunk_bytes ? left : group->chunk_bytes);
    }
    if (!status)
        status = leave(source, source->streams.download);
    return status ? status : leave(target, target->streams.upload);
}

cls_status cls_device_group_copy_async(cls_device_group handle, cls_device_range to,
                                       cls_device_range from, size_t bytes) {
    struct group *group;
    cls_status status = group_get(handle, &group);
    if (status)
        return status;
    status = check_device(group, to.device);
    if (!status)
        status = check_device(group, from.device);
    if (!status) {
        const cls_stream compute = group->members[to.device].streams.compute;
        pthread_mutex_lock(&group->lock);
        status = to.device == from.device ? cls_copy_d2d_async(to.buffer, to.offset, from.buffer,
                                                               from.offset, bytes, compute)
                                          : copy(group, &to, &from, bytes);
        pthread_mutex_unlock(&group->lock);
    }
    return group_put(group, status);
}

/* --- scatter and gather --- */

/* A device's slice: up `from` the host, or down `to` it where `from` is NULL. Under the lock. */
static cls_status copy_slice(const struct member *member, cls_buffer buffer, const char *from,
                             char *to, size_t bytes) {
    const cls_stream stream = from ? member->streams.upload : member->streams.download;
    cls_status status = enter(member, stream);
    if (!status)
        status = from ? cls_copy_h2d_async(buffer, 0, from, bytes, stream)
                      : cls_copy_d2h_async(to, buffer, 0, bytes, stream);
    return status ? status : leave(member, stream);
}

/* Slice d of the host's memory and buffer d, for each device. */
static cls_status copy_slices(cls_device_group handle, const cls_buffer *buffers, const char *from,
                              char *to, size_t bytes) {
    struct group *group;
    cls_status status = group_get(handle, &group);
    if (status)
        return status;
    pthread_mutex_lock(&group->lock);
    for (unsigned d = 0; d < group->n && !status; d++)
        status = copy_slice(&group->members[d], buffers[d], from ? from + d * bytes : NULL,
                            to ? to + d * bytes : NULL, bytes);
    pthread_mutex_unlock(&group->lock);
    return group_put(group, status);
}

cls_status cls_device_group_scatter_async(cls_device_group handle, const void *host, size_t bytes,
                                          const cls_buffer *buffers) {
    if (!host || !buffers)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_device_group_scatter_async: a null pointer");
    return copy_slices(handle, buffers, host, NULL, bytes);
}

cls_status cls_device_group_gather_async(cls_device_group handle, const cls_buffer *buffers,
                                         size_t bytes, void *host) {
    if (!host || !buffers)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_device_group_gather_async: a null pointer");
    return copy_slices(handle, buffers, NULL, host, bytes);
}

/* --- all-reduce; under the lock --- */

static cls_status check_arrays(const struct group *group, const cls_array *arrays) {
    for (unsigned d = 1; d < group->n; d++) {
        if (arrays[d].count != arrays[0].count)
            return error_set(CLS_ERROR_SIZE_MISMATCH, "all-reduce: arrays of %zu and %zu elements",
                             arrays[0].count, arrays[d].count);
        if (arrays[d].dtype != arrays[0].dtype)
            return error_set(CLS_ERROR_TYPE_MISMATCH, "all-reduce: arrays of %s and of %s",
                             cls_dtype_name(arrays[0].dtype), cls_dtype_name(arrays[d].dtype));
    }
    if (!cls_dtype_size(arrays[0].dtype))
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_dtype", (int)arrays[0].dtype);
    return CLS_SUCCESS;
}

/* Room on a device for all arrays. One that is too small is kept alive by who still uses it. */
static cls_status make_room(struct member *member, size_t bytes) {
    cls_buffer larger;
    if (member->others_bytes >= bytes)
        return CLS_SUCCESS;
    cls_status status = cls_buffer_create(member->context, bytes, &larger);
    if (status)
        return status;
    if (member->others)
        cls_buffer_destroy(member->others);
    member->others = larger;
    member->others_bytes = bytes;
    return CLS_SUCCESS;
}

/* Brings all arrays to device d, each to its place. */
static cls_status collect(struct group *group, const cls_array *arrays, unsigned d, size_t bytes) {
    const struct member *member = &group->members[d];
    const size_t size = cls_dtype_size(arrays[0].dtype);
    cls_status status = make_room(&group->members[d], group->n * bytes);
    for (unsigned k = 0; k < group->n && !status; k++) {
        const cls_device_range from = {k, arrays[k].buffer, arrays[k].offset * size};
        const cls_device_range to = {d, member->others, k * bytes};
        if (k != d)
            status = copy(group, &to, &from, bytes);
    }
    return status;
}

/* The sum in the order of the devices, which is the same everywhere: in the first place, then to the
 * device's own array. */
static cls_status add_up(const struct group *group, const cls_array *arrays, unsigned d) {
    const struct member *member = &group->members[d];
    const size_t count = arrays[d].count;
    cls_array sum = d ? cls_array_of(member->others, arrays[d].dtype, count) : arrays[0];
    cls_status status = CLS_SUCCESS;
    for (unsigned k = 1; k < group->n && !status; k++) {
        const cls_array next =
            k == d ? arrays[d] : cls_array_at(member->others, arrays[d].dtype, k * count, count);
        const cls_array out = k + 1 == group->n ? arrays[d] : sum;
        status = cls_binary_async(CLS_BINARY_ADD, sum, next, out, member->streams.compute);
    }
    return status;
}

static cls_status all_reduce(struct group *group, const cls_array *arrays) {
    cls_status status = check_arrays(group, arrays);
    if (status || !arrays[0].count)
        return status;
    const size_t bytes = arrays[0].count * cls_dtype_size(arrays[0].dtype);
    for (unsigned d = 0; d < group->n && !status; d++)
        status = collect(group, arrays, d, bytes);
    for (unsigned d = 0; d < group->n && !status; d++)
        status = add_up(group, arrays, d);
    return status;
}

cls_status cls_device_group_all_reduce_async(cls_device_group handle, const cls_array *arrays) {
    struct group *group;
    if (!arrays)
        return error_set(CLS_ERROR_INVALID_VALUE, "all-reduce: arrays is null");
    cls_status status = group_get(handle, &group);
    if (status)
        return status;
    pthread_mutex_lock(&group->lock);
    status = all_reduce(group, arrays);
    pthread_mutex_unlock(&group->lock);
    return group_put(group, status);
}

cls_status cls_device_group_synchronize(cls_device_group handle) {
    struct group *group;
    cls_status first = pipeline_may_block();
    if (!first)
        first = group_get(handle, &group);
    if (first)
        return first;
    for (unsigned d = 0; d < group->n; d++) {
        const cls_device_streams *s = &group->members[d].streams;
        const cls_stream streams[] = {s->upload, s->compute, s->download};
        for (int i = 0; i < 3; i++) {
            const cls_status status = cls_stream_synchronize(streams[i]);
            first = first ? first : status;
        }
    }
    return group_put(group, first);
}

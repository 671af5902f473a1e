/* SPDX-License-Identifier: MIT */
/* Device groups as objects: contexts, streams and rings of chunks; synchronize. */
#include "pipeline/group.h"

#include <clstream/buffer.h>
#include <clstream/event.h>
#include <clstream/kernel.h>
#include <clstream/share.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "base/process.h"
#include "base/sized.h"
#include "pipeline/internals.h"
#include "pipeline/pipeline.h"

enum { CHUNKS = 8 };

static const size_t CHUNK_BYTES = (size_t)16 << 20;

/* --- life --- */

static void close_kernels(struct group_member *member) {
    for (int i = 0; i < GROUP_KERNELS; i++)
        if (member->kernels[i])
            cls_kernel_destroy(member->kernels[i]);
}

static void close_member(struct group_member *member) {
    close_kernels(member);
    const cls_stream streams[] = {member->streams.upload, member->streams.compute,
                                  member->streams.download};
    for (int i = 0; i < 3; i++)
        if (streams[i])
            stream_destroy_owned(streams[i]);
    if (member->upload)
        stream_put(member->upload);
    if (member->download)
        stream_put(member->download);
    if (member->event)
        cls_event_destroy(member->event);
    if (member->others)
        buffer_destroy_owned(member->others);
    if (member->stand_in)
        buffer_destroy_owned(member->stand_in);
}

static void await_copies(const struct group_member *member) {
    if (member->streams.upload)
        cls_stream_synchronize(member->streams.upload);
    if (member->streams.download)
        cls_stream_synchronize(member->streams.download);
}

static void group_finalize(struct object *object) {
    struct group *group = (struct group *)(void *)object;
    for (unsigned d = 0; d < group->n; d++)
        await_copies(&group->members[d]);
    for (unsigned d = 0; d < group->n; d++)
        for (unsigned i = 0; i < group->n_chunks; i++)
            if (group->members[d].chunks[i].memory)
                cls_host_free(group->members[d].chunks[i].memory);
    for (unsigned d = 0; d < group->n; d++)
        close_member(&group->members[d]);
    pthread_mutex_destroy(&group->lock);
}

static struct object_pool group_pool =
    OBJECT_POOL(22, sizeof(struct group), "device group", group_finalize);

cls_status group_get(cls_device_group handle, struct group **out) {
    struct group *group = object_acquire(&group_pool, handle);
    if (!group)
        return object_invalid(&group_pool, handle);
    for (unsigned d = 0; d < group->n; d++)
        if (cls_event_query(group->members[d].event) == CLS_ERROR_CONTEXT_DESTROYED) {
            object_release(&group->object);
            return CLS_ERROR_CONTEXT_DESTROYED;
        }
    *out = group;
    return CLS_SUCCESS;
}

cls_status group_put(struct group *group, cls_status status) {
    object_release(&group->object);
    return status;
}

static cls_status open_member(struct group_member *member, cls_context given) {
    static const char *const names[] = {"group upload", "group compute", "group download"};
    cls_stream *const streams[] = {&member->streams.upload, &member->streams.compute,
                                   &member->streams.download};
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream ignored;
    cls_status status = pipeline_context(given, &member->context, &ignored);
    for (int i = 0; i < 3 && !status; i++) {
        config.name = names[i];
        status = stream_create_owned(member->context, &config, "a device group", streams[i]);
    }
    if (!status)
        status = stream_get(member->streams.upload, NULL, &member->upload);
    if (!status)
        status = stream_get(member->streams.download, NULL, &member->download);
    if (!status)
        status = pipeline_event(member->context, NULL, "a device group", &member->event);
    return status;
}

static cls_status open_ring(const struct group *group, struct group_member *member) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < group->n_chunks && !status; i++)
        status = host_alloc_owned(member->context, group->chunk_bytes, &member->chunks[i].memory);
    return status;
}

static cls_status open_all(struct group *group, const cls_context *contexts, unsigned n) {
    cls_status status = CLS_SUCCESS;
    for (unsigned d = 0; d < n && !status; d++) {
        group->n = d + 1;
        status = open_member(&group->members[d], contexts[d]);
    }
    for (unsigned d = 0; d < n && !status; d++)
        status = open_ring(group, &group->members[d]);
    return status;
}

static cls_status read_group_config(const cls_device_group_config *given,
                                    cls_device_group_config *config) {
    cls_status status = SIZED_IN(cls_device_group_config, config, given);
    if (!status && config->chunks > MOST_CHUNKS)
        status = error_set(CLS_ERROR_INVALID_VALUE,
                           "a device group has at most %d chunks a device, not %u", MOST_CHUNKS,
                           config->chunks);
    return status;
}

cls_status cls_device_group_create(const cls_context *contexts, unsigned n,
                                   const cls_device_group_config *given, cls_device_group *out) {
    cls_device_group_config config = CLS_DEVICE_GROUP_CONFIG_INIT;
    if (!contexts || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_device_group_create: %s is null",
                         contexts ? "out" : "contexts");
    if (!n || n > CLS_DEVICE_GROUP_MAX)
        return error_set(CLS_ERROR_INVALID_VALUE, "a device group has 1 to %d contexts, not %u",
                         CLS_DEVICE_GROUP_MAX, n);
    cls_status status = read_group_config(given, &config);
    if (!status)
        status = process_check();
    if (status)
        return status;
    struct group *group = object_create(&group_pool);
    if (!group || pthread_mutex_init(&group->lock, NULL)) {
        if (group)
            object_abandon(&group->object);
        return object_none(&group_pool, "a device group");
    }
    group->statistics = (cls_device_group_statistics)CLS_DEVICE_GROUP_STATISTICS_INIT;
    group->chunk_bytes = config.chunk_bytes ? config.chunk_bytes : CHUNK_BYTES;
    group->n_chunks = config.chunks ? config.chunks : CHUNKS;
    status = open_all(group, contexts, n);
    if (status)
        return group_put(group, status);
    *out = object_handle(&group->object);
    return CLS_SUCCESS;
}

cls_status cls_device_group_destroy(cls_device_group handle) {
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

static bool is_link(const struct group_member *owner, const struct group_member *other) {
    cls_share_info info = CLS_SHARE_INFO_INIT;
    return !cls_context_can_share(owner->context, other->context, &info) &&
           info.kind == CLS_SHARE_DIRECT_LINK;
}

/* Asked of the library at every use: the answers are kept there. */
bool group_is_linked(struct group *group) {
    struct detail held;
    bool linked = true;
    error_save(&held);
    for (unsigned d = 0; d < group->n && linked; d++)
        for (unsigned k = 0; k < group->n && linked; k++)
            linked = d == k || is_link(&group->members[d], &group->members[k]);
    error_restore(&held, CLS_SUCCESS);
    return linked;
}

cls_status group_check_device(const struct group *group, unsigned device) {
    if (device < group->n)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OUT_OF_RANGE, "no device %u; the group has %u", device, group->n);
}

cls_status cls_device_group_get_streams(cls_device_group handle, unsigned device,
                                        cls_device_streams *out) {
    struct group *group;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_device_group_get_streams: out is null");
    cls_status status = group_get(handle, &group);
    if (status)
        return status;
    status = group_check_device(group, device);
    if (!status)
        *out = group->members[device].streams;
    return group_put(group, status);
}

cls_status cls_device_group_get_statistics(cls_device_group handle,
                                           cls_device_group_statistics *out) {
    struct group *group;
    cls_status status = SIZED_CHECK(cls_device_group_statistics, out);
    if (!status)
        status = group_get(handle, &group);
    if (status)
        return status;
    pthread_mutex_lock(&group->lock);
    SIZED_OUT(cls_device_group_statistics, out, &group->statistics);
    pthread_mutex_unlock(&group->lock);
    return group_put(group, CLS_SUCCESS);
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

/* SPDX-License-Identifier: MIT */
/* Copies between the devices of a group, and between them and the host. */
#include <string.h>

#include <clstream/buffer.h>
#include <clstream/event.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "base/range.h"
#include "pipeline/group_linked.h"
#include "pipeline/internals.h"
#include "pipeline/pipeline.h"

enum { PIECE_ALIGN = 64 << 10, LEAST_PIECE = 4 << 20 };

/* --- order; under the lock --- */

/* Later work of `waiter` runs behind the work of the member's `stream` so far. */
static cls_status follow(const struct group_member *member, cls_stream stream, cls_stream waiter) {
    cls_status status = cls_event_record(member->event, stream);
    return status ? status : cls_stream_wait_event(waiter, member->event);
}

cls_status group_enter(const struct group_member *member, cls_stream stream) {
    return follow(member, member->streams.compute, stream);
}

/* Later work of the `other` member's compute stream runs behind that of the member's `stream` so far. */
static cls_status leave_to(const struct group_member *member, cls_stream stream,
                           const struct group_member *other) {
    return follow(member, stream, other->streams.compute);
}

cls_status group_leave(const struct group_member *member, cls_stream stream) {
    return leave_to(member, stream, member);
}

/* --- chunks; under the lock --- */

/* The next chunk of a device's ring; later work of the download stream runs behind the chunk's last uploads, whose failures
 * it does not inherit. */
static cls_status take_chunk(const struct group *group, struct group_member *member,
                             struct group_chunk **out) {
    struct group_chunk *chunk = &member->chunks[member->next_chunk];
    cls_status status = CLS_SUCCESS;
    for (unsigned d = 0; d < group->n && !status; d++)
        if (chunk->up[d])
            status = stream_follow(member->download, group->members[d].upload, chunk->up[d]);
    if (status)
        return status;
    memset(chunk->up, 0, sizeof chunk->up);
    member->next_chunk = (member->next_chunk + 1) % group->n_chunks;
    *out = chunk;
    return CLS_SUCCESS;
}

/* Behind the download to the chunk, which has the position `down` of the stream `from`. */
static cls_status upload(const struct group_member *member, struct group_chunk *chunk,
                         struct stream *from, uint64_t down, const cls_device_range *to,
                         size_t bytes) {
    cls_status status = stream_wait_for(member->upload, from, down);
    if (!status)
        status = cls_copy_h2d_async(to->buffer, to->offset, chunk->memory, bytes,
                                    member->streams.upload);
    if (!status)
        chunk->up[to->device] = stream_newest(member->upload);
    return status;
}

size_t group_piece(const struct group *group, size_t bytes) {
    const size_t share = (bytes / group->n_chunks / PIECE_ALIGN + 1) * PIECE_ALIGN;
    const size_t piece = share < LEAST_PIECE ? LEAST_PIECE : share;
    return piece < group->chunk_bytes ? piece : group->chunk_bytes;
}

cls_status group_send(struct group *group, const cls_device_range *from, const cls_device_range *to,
                      unsigned n, size_t bytes) {
    struct group_member *member = &group->members[from->device];
    struct group_chunk *chunk;
    cls_status status = take_chunk(group, member, &chunk);
    if (!status)
        status = cls_copy_d2h_async(chunk->memory, from->buffer, from->offset, bytes,
                                    member->streams.download);
    if (status)
        return status;
    const uint64_t down = stream_newest(member->download);
    for (unsigned i = 0; i < n && !status; i++)
        status =
            upload(&group->members[to[i].device], chunk, member->download, down, &to[i], bytes);
    return status;
}

/* --- one copy --- */

cls_status group_get_range(const struct group_member *member, cls_buffer handle, size_t offset,
                           size_t bytes, struct buffer **out) {
    struct buffer *buffer;
    cls_status status = buffer_get(handle, &buffer);
    if (status)
        return status;
    if (object_handle(&buffer->context->object) != member->context)
        status = error_set(CLS_ERROR_WRONG_CONTEXT, "a buffer of another context than its device");
    else
        status = range_check(offset, bytes, buffer->bytes);
    if (status)
        buffer_put(buffer);
    else
        *out = buffer;
    return status;
}

cls_status group_check_range(const struct group_member *member, cls_buffer handle, size_t offset,
                             size_t bytes) {
    struct buffer *buffer;
    cls_status status = group_get_range(member, handle, offset, bytes, &buffer);
    if (!status)
        buffer_put(buffer);
    return status;
}

/* Under the lock: sends piece by piece. */
static cls_status send_all(struct group *group, cls_device_range to, cls_device_range from,
                           size_t bytes) {
    const size_t most = group_piece(group, bytes);
    cls_status status = CLS_SUCCESS;
    while (bytes && !status) {
        const size_t now = bytes < most ? bytes : most;
        status = group_send(group, &from, &to, 1, now);
        from.offset += now;
        to.offset += now;
        bytes -= now;
    }
    return status;
}

/* Under the lock. Also after a failure the streams are left, because pieces sent before it are in flight. */
static cls_status copy_across(struct group *group, const cls_device_range *to,
                              const cls_device_range *from, size_t bytes) {
    const struct group_member *source = &group->members[from->device];
    const struct group_member *target = &group->members[to->device];
    cls_status status = group_enter(source, source->streams.download);
    if (!status)
        status = group_enter(target, target->streams.upload);
    if (status)
        return status;
    status = send_all(group, *to, *from, bytes);
    const cls_status left = group_leave(source, source->streams.download);
    const cls_status arrived = group_leave(target, target->streams.upload);
    return status ? status : left ? left : arrived;
}

/* Whether the copy is one command of the member's driver. Copies between two devices of one cl_context are too, but
 * drivers are slow at them. */
static bool is_direct(const struct buffer *to, const struct buffer *from, struct context *context) {
    const bool is_one_cl = to->context->cl == from->context->cl;
    struct copy_ends unused;
    return (!is_one_cl || to->context->device == from->context->device) &&
           copy_is_direct(context, to, from, &unused);
}

/* Under the lock: a command of `stream`, which is `member`'s and runs for the `other` end too. Also after a failure the
 * stream is left. */
static cls_status copy_directly(const struct group_member *member, cls_stream stream,
                                const struct group_member *other, const cls_device_range *to,
                                const cls_device_range *from, size_t bytes) {
    cls_status status = group_enter(member, stream);
    if (!status)
        status = group_enter(other, stream);
    if (status)
        return status;
    status = cls_copy_d2d_async(to->buffer, to->offset, from->buffer, from->offset, bytes, stream);
    const cls_status left = group_leave(member, stream);
    const cls_status left_too = leave_to(member, stream, other);
    return status ? status : left ? left : left_too;
}

/* Under the lock: an ordinary buffer's bytes through the source's stand-in, from which the target reads. */
static cls_status copy_linked(const struct group *group, const cls_device_range *to,
                              const cls_device_range *from, cls_buffer stand_in, size_t bytes) {
    const struct group_member *source = &group->members[from->device];
    const struct group_member *target = &group->members[to->device];
    cls_status status = CLS_SUCCESS;
    for (size_t done = 0; done < bytes && !status; done += MOST_STAND_IN) {
        const size_t part = bytes - done < MOST_STAND_IN ? bytes - done : MOST_STAND_IN;
        const cls_device_range half_way = {from->device, stand_in, 0};
        const cls_device_range end = {to->device, to->buffer, to->offset + done};
        status = cls_copy_d2d_async(stand_in, 0, from->buffer, from->offset + done, part,
                                    source->streams.compute);
        if (!status)
            status = copy_directly(target, target->streams.upload, source, &end, &half_way, part);
    }
    return status;
}

/* Under the lock: the stand-in for such a copy, or NULL, where there is none. */
static cls_buffer find_stand_in(struct group *group, unsigned device, size_t bytes) {
    const size_t part = bytes < MOST_STAND_IN ? bytes : MOST_STAND_IN;
    struct detail held;
    cls_buffer found;
    error_save(&held);
    if (!group_is_linked(group) || group_stand_in(&group->members[device], part, &found))
        found = NULL;
    error_restore(&held, CLS_SUCCESS);
    return found;
}

/* Under the lock: the two ends are different members. */
static cls_status copy_between(struct group *group, const struct buffer *to_buffer,
                               const struct buffer *from_buffer, const cls_device_range *to,
                               const cls_device_range *from, size_t bytes) {
    const struct group_member *source = &group->members[from->device];
    const struct group_member *target = &group->members[to->device];
    const bool pulls = is_direct(to_buffer, from_buffer, to_buffer->context);
    const bool is_apart = !pulls && !is_direct(to_buffer, from_buffer, from_buffer->context);
    const cls_buffer stand_in = is_apart ? find_stand_in(group, from->device, bytes) : NULL;
    const bool is_pinned = is_apart && !stand_in;
    cls_status status =
        is_pinned  ? copy_across(group, to, from, bytes)
        : stand_in ? copy_linked(group, to, from, stand_in, bytes)
        : pulls    ? copy_directly(target, target->streams.upload, source, to, from, bytes)
                   : copy_directly(source, source->streams.download, target, to, from, bytes);
    if (!status)
        ++*(is_pinned ? &group->statistics.pinned_copies : &group->statistics.direct_copies);
    return status;
}

/* Under the lock. */
static cls_status copy(struct group *group, const cls_device_range *to,
                       const cls_device_range *from, size_t bytes) {
    const struct group_member *source = &group->members[from->device];
    const struct group_member *target = &group->members[to->device];
    struct buffer *to_buffer, *from_buffer;
    cls_status status = group_get_range(target, to->buffer, to->offset, bytes, &to_buffer);
    if (status)
        return status;
    status = group_get_range(source, from->buffer, from->offset, bytes, &from_buffer);
    if (!status) {
        status = to->device == from->device
                     ? cls_copy_d2d_async(to->buffer, to->offset, from->buffer, from->offset, bytes,
                                          target->streams.compute)
                     : copy_between(group, to_buffer, from_buffer, to, from, bytes);
        buffer_put(from_buffer);
    }
    buffer_put(to_buffer);
    return status;
}

cls_status cls_device_group_copy_async(cls_device_group handle, cls_device_range to,
                                       cls_device_range from, size_t bytes) {
    struct group *group;
    cls_status status = group_get(handle, &group);
    if (status)
        return status;
    status = group_check_device(group, to.device);
    if (!status)
        status = group_check_device(group, from.device);
    if (!status) {
        blocking_lock(&group->lock);
        status = copy(group, &to, &from, bytes);
        status = blocking_unlock(&group->lock, status);
    }
    return group_put(group, status);
}

/* --- scatter and gather --- */

/* Under the lock: copies a device's slice from the host (`from`) or to it (`to`, where `from` is NULL). */
static cls_status copy_slice(const struct group_member *member, cls_buffer buffer, const char *from,
                             char *to, size_t bytes) {
    const cls_stream stream = from ? member->streams.upload : member->streams.download;
    cls_status status = group_enter(member, stream);
    if (!status)
        status = from ? cls_copy_h2d_async(buffer, 0, from, bytes, stream)
                      : cls_copy_d2h_async(to, buffer, 0, bytes, stream);
    return status ? status : group_leave(member, stream);
}

/* Copies between slice d of the host memory and buffer d, for each device d. */
static cls_status copy_slices(cls_device_group handle, const cls_buffer *buffers, const char *from,
                              char *to, size_t bytes) {
    struct group *group;
    cls_status status = group_get(handle, &group);
    if (status)
        return status;
    for (unsigned d = 0; d < group->n && !status; d++)
        status = group_check_range(&group->members[d], buffers[d], 0, bytes);
    if (status)
        return group_put(group, status);
    blocking_lock(&group->lock);
    for (unsigned d = 0; d < group->n && !status; d++)
        status = copy_slice(&group->members[d], buffers[d], from ? from + d * bytes : NULL,
                            to ? to + d * bytes : NULL, bytes);
    return group_put(group, blocking_unlock(&group->lock, status));
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

/* SPDX-License-Identifier: MIT */
#include "pipeline/group_linked.h"

#include <clstream/buffer.h>
#include <clstream/share.h>

#include "base/error.h"
#include "pipeline/internals.h"

/* A smaller one is destroyed; work in flight keeps its memory. */
cls_status group_stand_in(struct group_member *member, size_t bytes, cls_buffer *out) {
    struct buffer *buffer;
    cls_buffer larger;
    if (member->stand_in_bytes < bytes) {
        cls_status status = cls_buffer_create_shareable(member->context, bytes, &larger);
        if (!status)
            status = buffer_get(larger, &buffer);
        if (status)
            return status;
        buffer->owner = "a device group";
        buffer_put(buffer);
        if (member->stand_in)
            buffer_destroy_owned(member->stand_in);
        member->stand_in = larger;
        member->stand_in_bytes = bytes;
    }
    *out = member->stand_in;
    return CLS_SUCCESS;
}

/* --- reductions --- */

static bool is_shareable(const cls_array *array) {
    struct buffer *buffer;
    if (buffer_get(array->buffer, &buffer))
        return false;
    const bool is = buffer->share != NULL;
    buffer_put(buffer);
    return is;
}

static cls_status copy(const struct reduction *r, unsigned device, const cls_array *to,
                       const cls_array *from) {
    return cls_copy_d2d_async(to->buffer, to->offset * r->size, from->buffer,
                              from->offset * r->size, r->count * r->size,
                              r->group->members[device].streams.compute);
}

/* Takes all stand-ins before anything is submitted. */
static cls_status find_stand_ins(const struct reduction *r, cls_array arrays[]) {
    cls_status status = CLS_SUCCESS;
    for (unsigned d = 0; d < r->group->n && !status; d++) {
        cls_buffer buffer;
        arrays[d] = r->arrays[d];
        if (is_shareable(&r->arrays[d]))
            continue;
        status = group_stand_in(&r->group->members[d], r->count * r->size, &buffer);
        if (!status)
            arrays[d] = cls_array_of(buffer, r->dtype, r->count);
    }
    return status;
}

static cls_status copy_each(const struct reduction *r, const cls_array to[],
                            const cls_array from[]) {
    cls_status status = CLS_SUCCESS;
    for (unsigned d = 0; d < r->group->n && !status; d++)
        if (to[d].buffer != from[d].buffer)
            status = copy(r, d, &to[d], &from[d]);
    return status;
}

cls_status group_reduce_linked(const struct reduction *r, bool *taken) {
    cls_array arrays[CLS_DEVICE_GROUP_MAX];
    struct reduction through = *r;
    struct detail held;
    error_save(&held);
    *taken = group_is_linked(r->group) && !find_stand_ins(r, arrays);
    error_restore(&held, CLS_SUCCESS);
    if (!*taken)
        return CLS_SUCCESS;
    through.arrays = arrays;
    cls_status status = copy_each(r, arrays, r->arrays);
    if (!status)
        status = group_reduce_directly(&through, taken);
    return status || !*taken || r->results ? status : copy_each(r, r->arrays, arrays);
}

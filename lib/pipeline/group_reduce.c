/* SPDX-License-Identifier: MIT */
/*
 * All-reduce: the arrays are cut into one slice per device. Where all devices reach all arrays, kernels do the rest
 * (group_sum.c). Else data goes through pinned memory, as here. A device gathers its slice of all arrays, adds
 * them up, and sends the sum to all devices. So each device downloads an array's size and uploads at most
 * twice that, however many devices there are, and all get the same bits. On NVIDIA's driver a copy that waits
 * for a kernel starts behind kernels that other queues got meanwhile, so little of a reduction overlaps with
 * a step's computing.
 */
#include <clstream/binary.h>
#include <clstream/buffer.h>

#include "base/error.h"
#include "pipeline/group_reduce.h"
#include "pipeline/internals.h"

/* Elements: slices begin at an alignment at which kernels are fastest. */
enum { SLICE_ALIGN = 64 };

/* A slice of a device's array, from `done` bytes on. */
static cls_device_range range_of(const struct reduction *r, unsigned device, unsigned slice,
                                 size_t done) {
    const cls_array *array = &r->arrays[device];
    return (cls_device_range){device, array->buffer,
                              (array->offset + slice_start(r, slice)) * r->size + done};
}

static cls_status check_arrays(const struct group *group, const cls_array *arrays) {
    const size_t size = cls_dtype_size(arrays[0].dtype);
    cls_status status = CLS_SUCCESS;
    if (!size)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_dtype", (int)arrays[0].dtype);
    for (unsigned d = 0; d < group->n && !status; d++) {
        size_t offset, bytes;
        if (arrays[d].count != arrays[0].count)
            return error_set(CLS_ERROR_SIZE_MISMATCH, "all-reduce: arrays of %zu and %zu elements",
                             arrays[0].count, arrays[d].count);
        if (arrays[d].dtype != arrays[0].dtype)
            return error_set(CLS_ERROR_TYPE_MISMATCH, "all-reduce: arrays of %s and of %s",
                             cls_dtype_name(arrays[0].dtype), cls_dtype_name(arrays[d].dtype));
        if (__builtin_mul_overflow(arrays[d].offset, size, &offset) ||
            __builtin_mul_overflow(arrays[d].count, size, &bytes))
            return error_set(CLS_ERROR_OUT_OF_RANGE,
                             "all-reduce: the size of %zu elements from %zu on overflows",
                             arrays[d].count, arrays[d].offset);
        status = group_check_range(&group->members[d], arrays[d].buffer, offset, bytes);
    }
    return status;
}

/* Makes room on a device for the others' slices. A smaller buffer is destroyed; work in flight keeps its
 * memory. */
static cls_status make_room(struct member *member, size_t bytes) {
    cls_buffer larger;
    if (member->others_bytes >= bytes)
        return CLS_SUCCESS;
    cls_status status = buffer_create_owned(member->context, bytes, "a device group", &larger);
    if (status)
        return status;
    if (member->others)
        buffer_destroy_owned(member->others);
    member->others = larger;
    member->others_bytes = bytes;
    return CLS_SUCCESS;
}

/* --- sending --- */

/* Calls `pass` for both copy streams of every device, also after a failure. */
static cls_status each_way(const struct group *group,
                           cls_status (*pass)(const struct member *member, cls_stream stream)) {
    cls_status first = CLS_SUCCESS;
    for (unsigned d = 0; d < group->n; d++) {
        const struct member *member = &group->members[d];
        const cls_status down = pass(member, member->streams.download);
        const cls_status up = pass(member, member->streams.upload);
        first = first ? first : down ? down : up;
    }
    return first;
}

/* Also after a failure: pieces sent before it are in flight. */
static cls_status leave_all(const struct group *group, cls_status status) {
    const cls_status left = each_way(group, group_leave);
    return status ? status : left;
}

/* Sends a device's slice to the slice's owner, into the device's place in `others` there. */
static cls_status send_slice(const struct reduction *r, unsigned from, unsigned owner) {
    const size_t bytes = slice_count(r, owner) * r->size, most = r->piece;
    const cls_buffer others = r->group->members[owner].others;
    cls_status status = CLS_SUCCESS;
    for (size_t done = 0; done < bytes && !status; done += most) {
        const cls_device_range source = range_of(r, from, owner, done);
        const cls_device_range target = {owner, others, from * r->per_slice * r->size + done};
        status =
            group_send(r->group, &source, &target, 1, bytes - done < most ? bytes - done : most);
    }
    return status;
}

/* In each round every device sends to another one. */
static cls_status gather_slices(const struct reduction *r) {
    const unsigned n = r->group->n;
    cls_status status = each_way(r->group, group_enter);
    for (unsigned round = 1; round < n && !status; round++)
        for (unsigned d = 0; d < n && !status; d++)
            status = send_slice(r, d, (d + round) % n);
    return leave_all(r->group, status);
}

/* Sends a piece of an owner's slice to the arrays of all other devices. */
static cls_status spread_chunk(const struct reduction *r, unsigned owner, size_t done) {
    const size_t bytes = slice_count(r, owner) * r->size, most = r->piece;
    const cls_device_range from = range_of(r, owner, owner, done);
    cls_device_range to[CLS_DEVICE_GROUP_MAX];
    unsigned n = 0;
    if (done >= bytes)
        return CLS_SUCCESS;
    for (unsigned d = 0; d < r->group->n; d++)
        if (d != owner)
            to[n++] = range_of(r, d, owner, done);
    return group_send(r->group, &from, to, n, bytes - done < most ? bytes - done : most);
}

/* Sends pieces of all slices in turn, so that every device always has one to upload. */
static cls_status spread_sums(const struct reduction *r) {
    const size_t most = r->piece;
    cls_status status = each_way(r->group, group_enter);
    for (size_t done = 0; done < r->per_slice * r->size && !status; done += most)
        for (unsigned owner = 0; owner < r->group->n && !status; owner++)
            status = spread_chunk(r, owner, done);
    return leave_all(r->group, status);
}

/* --- sums --- */

/* Where an owner has a device's slice. */
static cls_array slice_at(const struct reduction *r, unsigned owner, unsigned device) {
    const size_t count = slice_count(r, owner);
    const cls_array *own = &r->arrays[owner];
    return device == owner
               ? cls_array_at(own->buffer, r->dtype, own->offset + slice_start(r, owner), count)
               : cls_array_at(r->group->members[owner].others, r->dtype, device * r->per_slice,
                              count);
}

/* Adds in the order of the devices, so that all get the same bits: into the place of the first one's slice, and at
 * last into the owner's array. */
static cls_status add_up(const struct reduction *r, unsigned owner) {
    const unsigned n = r->group->n;
    const cls_array sum = slice_at(r, owner, 0), own = slice_at(r, owner, owner);
    cls_status status = CLS_SUCCESS;
    for (unsigned k = 1; k < n && sum.count && !status; k++)
        status = cls_binary_async(CLS_BINARY_ADD, sum, slice_at(r, owner, k),
                                  k + 1 == n ? own : sum, r->group->members[owner].streams.compute);
    return status;
}

/* Through pinned memory. */
static cls_status reduce_pinned(struct reduction *r) {
    struct group *group = r->group;
    cls_status status = CLS_SUCCESS;
    r->piece = group_piece(group, r->per_slice * r->size * (group->n - 1));
    for (unsigned d = 0; d < group->n && !status; d++)
        if (slice_count(r, d))
            status = make_room(&group->members[d], group->n * r->per_slice * r->size);
    if (!status)
        status = gather_slices(r);
    for (unsigned d = 0; d < group->n && !status; d++)
        status = add_up(r, d);
    return status ? status : spread_sums(r);
}

static cls_status all_reduce(struct group *group, const cls_array *arrays) {
    const size_t count = arrays[0].count, share = count / group->n + (count % group->n > 0);
    struct reduction r = {.group = group,
                          .arrays = arrays,
                          .dtype = arrays[0].dtype,
                          .size = cls_dtype_size(arrays[0].dtype),
                          .count = count,
                          .per_slice = (share + SLICE_ALIGN - 1) / SLICE_ALIGN * SLICE_ALIGN};
    cls_status status = check_arrays(group, arrays);
    if (status || !count || group->n == 1)
        return status;
    bool direct;
    status = group_reduce_directly(&r, &direct);
    if (!direct)
        status = reduce_pinned(&r);
    if (!status)
        ++*(direct ? &group->statistics.direct_reductions : &group->statistics.pinned_reductions);
    return status;
}

cls_status cls_device_group_all_reduce_async(cls_device_group handle, const cls_array *arrays) {
    struct group *group;
    if (!arrays)
        return error_set(CLS_ERROR_INVALID_VALUE, "all-reduce: arrays is null");
    cls_status status = group_get(handle, &group);
    if (status)
        return status;
    blocking_lock(&group->lock);
    return group_put(group, blocking_unlock(&group->lock, all_reduce(group, arrays)));
}

/* SPDX-License-Identifier: MIT */
/*
 * All-reduce and reduce-scatter: the arrays are cut into one slice per device. Where all devices reach all arrays, kernels
 * do the rest (group_sum.c), or where they reach copies of them (group_linked.c). Else data goes through pinned memory, as here. A device gathers its slice of all arrays,
 * combines them, and, for all-reduce, sends the result to all devices. So each device downloads an array's size and uploads
 * at most twice that, however many devices there are, and all get the same bits. On NVIDIA's driver a copy that waits
 * for a kernel starts behind kernels that other queues got meanwhile, so little of a reduction overlaps with
 * a step's computing.
 */
#include <clstream/binary.h>
#include <clstream/buffer.h>

#include "base/error.h"
#include "base/types.h"
#include "pipeline/group_linked.h"
#include "pipeline/internals.h"

/* Elements: slices begin at an alignment at which kernels are fastest. */
enum { SLICE_ALIGN = 64 };

static size_t align(size_t count) { return (count + SLICE_ALIGN - 1) / SLICE_ALIGN * SLICE_ALIGN; }

/* A slice of a device's array, from `done` bytes on. */
static cls_device_range range_of(const struct reduction *r, unsigned device, unsigned slice,
                                 size_t done) {
    const cls_array at = slice_of(r, device, slice);
    return (cls_device_range){device, at.buffer, at.offset * r->size + done};
}

/* --- checks --- */

static cls_status check_op(const char *name, cls_reduce_op op) {
    if (op == CLS_REDUCE_SUM || op == CLS_REDUCE_MIN || op == CLS_REDUCE_MAX)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_VALUE, "%s: %s (%d) is none of sum, min and max", name,
                     cls_reduce_op_name(op), (int)op);
}

/* The bytes of an array or a result. */
struct group_extent {
    struct buffer *buffer; /* retained */
    size_t from, to;       /* in its memory */
};

struct extents {
    unsigned n;
    struct group_extent at[2 * CLS_DEVICE_GROUP_MAX];
};

static cls_status add_extent(struct extents *extents, const struct reduction *r, const char *name,
                             unsigned device, const cls_array *array) {
    struct group_extent *extent = &extents->at[extents->n];
    size_t offset, bytes;
    if (array->dtype != r->dtype)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: arrays of %s and of %s", name,
                         cls_dtype_name(r->dtype), cls_dtype_name(array->dtype));
    if (__builtin_mul_overflow(array->offset, r->size, &offset) ||
        __builtin_mul_overflow(array->count, r->size, &bytes))
        return error_set(CLS_ERROR_OUT_OF_RANGE,
                         "%s: the size of %zu elements from %zu on overflows", name, array->count,
                         array->offset);
    cls_status status =
        group_get_range(&r->group->members[device], array->buffer, offset, bytes, &extent->buffer);
    if (status)
        return status;
    extent->from = extent->buffer->origin + offset;
    extent->to = extent->from + bytes;
    extents->n++;
    return CLS_SUCCESS;
}

static bool overlap(const struct group_extent *a, const struct group_extent *b) {
    return buffer_is_same_memory(a->buffer, b->buffer) && a->from < b->to && b->from < a->to &&
           a->from < a->to && b->from < b->to;
}

/* The result of an owner may be its slice of its own array. */
static bool is_in_place(const struct reduction *r, const struct extents *extents, unsigned array,
                        unsigned owner) {
    const struct group_extent *of = &extents->at[array],
                              *result = &extents->at[r->group->n + owner];
    return array == owner && result->from == of->from + slice_start(r, owner) * r->size;
}

static cls_status check_overlaps(const struct reduction *r, const char *name,
                                 const struct extents *extents) {
    const unsigned n = r->group->n;
    for (unsigned i = 0; i < extents->n; i++)
        for (unsigned k = 0; k < i; k++)
            if (overlap(&extents->at[i], &extents->at[k]) &&
                !(i >= n && k < n && is_in_place(r, extents, k, i - n)))
                return error_set(CLS_ERROR_OVERLAP, "%s: %s %u and %s %u overlap", name,
                                 i < n ? "array" : "result", i % n, k < n ? "array" : "result",
                                 k % n);
    return CLS_SUCCESS;
}

static cls_status add_extents(struct extents *extents, const struct reduction *r,
                              const char *name) {
    cls_status status = CLS_SUCCESS;
    for (unsigned d = 0; d < r->group->n && !status; d++) {
        if (r->arrays[d].count != r->count)
            return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: arrays of %zu and %zu elements", name,
                             r->count, r->arrays[d].count);
        status = add_extent(extents, r, name, d, &r->arrays[d]);
    }
    for (unsigned d = 0; d < r->group->n && r->results && !status; d++)
        status = add_extent(extents, r, name, d, &r->results[d]);
    return status;
}

static cls_status check_arrays(const struct reduction *r, const char *name) {
    struct extents extents = {0};
    if (!r->size)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_dtype", (int)r->dtype);
    if (type_is_narrow(type_row(r->dtype)))
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s does not support %s", name,
                         cls_dtype_name(r->dtype));
    cls_status status = add_extents(&extents, r, name);
    if (!status)
        status = check_overlaps(r, name, &extents);
    for (unsigned i = 0; i < extents.n; i++)
        buffer_put(extents.at[i].buffer);
    return status;
}

/* --- slices --- */

/* Of about one size. */
static void cut_evenly(struct reduction *r) {
    const unsigned n = r->group->n;
    const size_t each = align(r->count / n + (r->count % n > 0));
    for (unsigned d = 0; d <= n; d++)
        r->starts[d] = d * each < r->count ? d * each : r->count;
}

/* As the results say. */
static cls_status cut_for_results(struct reduction *r) {
    for (unsigned d = 0; d < r->group->n; d++)
        if (__builtin_add_overflow(r->starts[d], r->results[d].count, &r->starts[d + 1]))
            return error_set(CLS_ERROR_OUT_OF_RANGE, "reduce-scatter: the counts overflow");
    if (r->starts[r->group->n] == r->count)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_SIZE_MISMATCH,
                     "reduce-scatter: results of %zu elements, and arrays of %zu",
                     r->starts[r->group->n], r->count);
}

static size_t largest_slice(const struct reduction *r) {
    size_t most = 0;
    for (unsigned d = 0; d < r->group->n; d++)
        most = slice_count(r, d) > most ? slice_count(r, d) : most;
    return most;
}

/* Makes room on a device for the others' slices. A smaller buffer is destroyed; work in flight keeps its
 * memory. */
static cls_status make_room(struct group_member *member, size_t bytes) {
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
                           cls_status (*pass)(const struct group_member *member,
                                              cls_stream stream)) {
    cls_status first = CLS_SUCCESS;
    for (unsigned d = 0; d < group->n; d++) {
        const struct group_member *member = &group->members[d];
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
        const cls_device_range target = {owner, others, from * r->stride * r->size + done};
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
static cls_status spread_results(const struct reduction *r) {
    const size_t most = r->piece;
    cls_status status = each_way(r->group, group_enter);
    for (size_t done = 0; done < r->stride * r->size && !status; done += most)
        for (unsigned owner = 0; owner < r->group->n && !status; owner++)
            status = spread_chunk(r, owner, done);
    return leave_all(r->group, status);
}

/* --- results --- */

static cls_binary_op element_op(cls_reduce_op op) {
    return op == CLS_REDUCE_SUM   ? CLS_BINARY_ADD
           : op == CLS_REDUCE_MIN ? CLS_BINARY_MIN
                                  : CLS_BINARY_MAX;
}

/* Where an owner has a device's slice. */
static cls_array slice_at(const struct reduction *r, unsigned owner, unsigned device) {
    return device == owner ? slice_of(r, owner, owner)
                           : cls_array_at(r->group->members[owner].others, r->dtype,
                                          device * r->stride, slice_count(r, owner));
}

/* Combines in the order of the devices, so that all get the same bits. The first device's slice is replaced, where it is
 * a copy, because the result may be the owner's own slice, which is still to be read. */
static cls_status combine(const struct reduction *r, unsigned owner) {
    const unsigned n = r->group->n;
    const cls_array result = slice_result(r, owner);
    const cls_array place = owner ? slice_at(r, owner, 0) : result;
    cls_array so_far = slice_at(r, owner, 0);
    cls_status status = CLS_SUCCESS;
    for (unsigned k = 1; k < n && result.count && !status; k++) {
        const cls_array to = k + 1 == n ? result : place;
        status = cls_binary_async(element_op(r->op), so_far, slice_at(r, owner, k), to,
                                  r->group->members[owner].streams.compute);
        so_far = to;
    }
    return status;
}

/* Through pinned memory. */
static cls_status reduce_pinned(struct reduction *r) {
    struct group *group = r->group;
    cls_status status = CLS_SUCCESS;
    r->stride = align(largest_slice(r));
    r->piece = group_piece(group, r->stride * r->size * (group->n - 1));
    for (unsigned d = 0; d < group->n && !status; d++)
        if (slice_count(r, d))
            status = make_room(&group->members[d], group->n * r->stride * r->size);
    if (!status)
        status = gather_slices(r);
    for (unsigned d = 0; d < group->n && !status; d++)
        status = combine(r, d);
    return status || r->results ? status : spread_results(r);
}

/* A group of one device. */
static cls_status keep(const struct reduction *r) {
    if (!r->results)
        return CLS_SUCCESS;
    return cls_copy_d2d_async(r->results->buffer, r->results->offset * r->size, r->arrays->buffer,
                              r->arrays->offset * r->size, r->count * r->size,
                              r->group->members[0].streams.compute);
}

static cls_status reduce(struct reduction *r) {
    struct group *group = r->group;
    bool direct;
    if (!r->count)
        return CLS_SUCCESS;
    if (group->n == 1)
        return keep(r);
    cls_status status = group_reduce_directly(r, &direct);
    if (!direct)
        status = group_reduce_linked(r, &direct);
    if (!direct)
        status = reduce_pinned(r);
    if (!status)
        ++*(direct ? &group->statistics.direct_reductions : &group->statistics.pinned_reductions);
    return status;
}

static cls_status check_and_reduce(struct reduction *r, const char *name) {
    cls_status status = check_op(name, r->op);
    if (!status && r->results)
        status = cut_for_results(r);
    else if (!status)
        cut_evenly(r);
    if (!status)
        status = check_arrays(r, name);
    if (status)
        return status;
    blocking_lock(&r->group->lock);
    return blocking_unlock(&r->group->lock, reduce(r));
}

static cls_status enter_and_reduce(cls_device_group handle, const char *name, cls_reduce_op op,
                                   const cls_array *arrays, const cls_array *results) {
    struct group *group;
    cls_status status = group_get(handle, &group);
    if (status)
        return status;
    struct reduction r = {.group = group,
                          .op = op,
                          .arrays = arrays,
                          .results = results,
                          .dtype = arrays->dtype,
                          .size = cls_dtype_size(arrays->dtype),
                          .count = arrays->count};
    return group_put(group, check_and_reduce(&r, name));
}

cls_status cls_device_group_all_reduce_async(cls_device_group handle, cls_reduce_op op,
                                             const cls_array *arrays) {
    if (!arrays)
        return error_set(CLS_ERROR_INVALID_VALUE, "all-reduce: arrays is null");
    return enter_and_reduce(handle, "all-reduce", op, arrays, NULL);
}

cls_status cls_device_group_reduce_scatter_async(cls_device_group handle, cls_reduce_op op,
                                                 const cls_array *arrays,
                                                 const cls_array *results) {
    if (!arrays || !results)
        return error_set(CLS_ERROR_INVALID_VALUE, "reduce-scatter: %s is null",
                         arrays ? "results" : "arrays");
    return enter_and_reduce(handle, "reduce-scatter", op, arrays, results);
}

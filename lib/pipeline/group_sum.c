/* SPDX-License-Identifier: MIT */
/*
 * Reductions where every device reaches all arrays: each combines its slice of them by one kernel (cl/all_reduce.cl), in
 * the order of the devices, and writes the result to all, or, for reduce-scatter, to its own memory. The kernels run on
 * the compute streams, each behind the work of all of them, and later work of each behind all kernels.
 */
#include <stdio.h>

#include <clstream/buffer.h>
#include <clstream/event.h>
#include <clstream/kernel.h>
#include <clstream/share.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "base/types.h"
#include "driver/source.h"
#include "pipeline/group_reduce.h"
#include "pipeline/internals.h"

enum {
    WIDE = 16, /* bytes that a work-item has at once, if the arrays are aligned for that */
    GROUP =
        256, /* work-items of a group; where the driver chooses, the launch is a multiple of it */
    MOST_ARGS = 3 + 2 * CLS_DEVICE_GROUP_MAX
};

/* The arguments of a device's launch. */
struct share_of_work {
    cls_kernel kernel; /* the member's */
    size_t groups;     /* most in the launch; 0: one work-item for each WIDE bytes */
    cls_buffer views[CLS_DEVICE_GROUP_MAX]; /* the arrays' buffers in the device's context */
};

/* --- views of the others' arrays --- */

static bool is_own(const struct reduction *r, unsigned owner, unsigned device) {
    return r->group->members[owner].context == r->group->members[device].context;
}

static void close_views(const struct reduction *r, unsigned owner, struct share_of_work *work) {
    for (unsigned d = 0; d < r->group->n; d++)
        if (work->views[d] && !is_own(r, owner, d))
            cls_buffer_destroy(work->views[d]);
}

/* A device without the type is left to the pinned way, which says so. */
static bool has_type(const struct group_member *member, cls_dtype dtype) {
    struct context *context;
    if (context_get(member->context, &context))
        return false;
    const bool has = dtype != CLS_F64 || context->caps->fp64;
    context_put(context);
    return has;
}

static bool open_views(const struct reduction *r, unsigned owner, struct share_of_work *work) {
    const struct group_member *member = &r->group->members[owner];
    bool opened = has_type(member, r->dtype);
    for (unsigned d = 0; d < r->group->n && opened; d++) {
        const cls_buffer array = r->arrays[d].buffer;
        if (is_own(r, owner, d))
            work->views[d] = array;
        else
            opened = cls_buffer_open(member->context, array, &work->views[d]) == CLS_SUCCESS;
    }
    return opened;
}

/* More accesses at once slow a link down: four H200s took 943 us for 192 MiB with a group of work-items for each compute
 * unit, and 1,058 with a work-item for each 16 bytes. */
static size_t groups_for_link(const struct group_member *member) {
    struct context *context;
    if (context_get(member->context, &context))
        return 0;
    const size_t units = context->device->info.compute_units;
    context_put(context);
    return units;
}

/* Devices without a slice of their own need none. */
static bool open_all(const struct reduction *r, struct share_of_work works[]) {
    struct detail held;
    bool opened = true;
    error_save(&held);
    for (unsigned d = 0; d < r->group->n && opened; d++)
        opened = !slice_count(r, d) || open_views(r, d, &works[d]);
    error_restore(&held, CLS_SUCCESS);
    return opened;
}

/* --- kernels --- */

/* Integers are added as unsigned ones, which wrap around. */
static const char *element_of(const struct reduction *r) {
    const struct type_row *type = type_row(r->dtype);
    return type->is_float || r->op != CLS_REDUCE_SUM ? type->opencl : type->bits;
}

static cls_status build(const struct reduction *r, cls_context context, bool wide, bool loop,
                        cls_kernel *out) {
    const char *text, *element = element_of(r);
    const unsigned width = wide ? WIDE / (unsigned)r->size : 1;
    char options[128], vector[4] = "";
    cls_program program;
    cls_status status = source_get("all_reduce.cl", &text);
    if (status)
        return status;
    if (wide)
        snprintf(vector, sizeof vector, "%u", width);
    snprintf(options, sizeof options, "-DARRAYS=ARRAYS_%u -DOP_%s -DE=%s -DV=%s%s -DW=%u%s%s%s%s",
             r->group->n, cls_reduce_op_name(r->op), element, element, vector, width,
             type_row(r->dtype)->is_float ? " -DIS_FLOAT" : "",
             r->dtype == CLS_F64 ? " -DIS_DOUBLE" : "", r->results ? " -DSCATTER" : "",
             loop ? " -DLOOP" : "");
    status = cls_program_from_source(context, text, "all_reduce.cl", options, &program);
    if (status)
        return status;
    status = cls_kernel_create(program, "all_reduce", out);
    cls_program_destroy(program);
    if (!status)
        object_note_librarys(*out);
    return status;
}

static bool is_aligned(const cls_array *array, size_t size) {
    return array->offset * size % WIDE == 0;
}

static bool is_wide(const struct reduction *r, unsigned owner) {
    const cls_array result = slice_result(r, owner);
    bool aligned = is_aligned(&result, r->size);
    for (unsigned d = 0; d < r->group->n && aligned; d++) {
        const cls_array slice = slice_of(r, d, owner);
        aligned = is_aligned(&slice, r->size);
    }
    return aligned;
}

static unsigned kernel_index(const struct reduction *r, bool wide) {
    const unsigned op = (unsigned)r->op - CLS_REDUCE_SUM, type = type_row(r->dtype)->index;
    return ((op * TYPES + type) * 2 + (r->results != NULL)) * 2 + wide;
}

/* Built on first use, and kept with the member. */
static cls_status find_kernels(const struct reduction *r, struct share_of_work works[]) {
    const bool linked = group_is_linked(r->group);
    cls_status status = CLS_SUCCESS;
    for (unsigned d = 0; d < r->group->n && !status; d++) {
        struct group_member *member = &r->group->members[d];
        const bool wide = is_wide(r, d);
        cls_kernel *kernel = &member->kernels[kernel_index(r, wide)];
        works[d].groups = linked ? groups_for_link(member) : 0;
        if (!*kernel && slice_count(r, d))
            status = build(r, member->context, wide, linked, kernel);
        works[d].kernel = *kernel;
    }
    return status;
}

/* --- the launches --- */

/* Later work of every compute stream runs behind that of all of them so far; also after a failure. */
static cls_status join(const struct group *group) {
    cls_status first = CLS_SUCCESS;
    for (unsigned d = 0; d < group->n; d++) {
        const struct group_member *member = &group->members[d];
        const cls_status status = cls_event_record(member->event, member->streams.compute);
        first = first ? first : status;
    }
    for (unsigned d = 0; d < group->n; d++)
        for (unsigned k = 0; k < group->n; k++) {
            const cls_status status = k == d
                                          ? CLS_SUCCESS
                                          : cls_stream_wait_event(group->members[d].streams.compute,
                                                                  group->members[k].event);
            first = first ? first : status;
        }
    return first;
}

static cls_launch shape_of(const struct share_of_work *work, size_t items) {
    const size_t groups = (items + GROUP - 1) / GROUP, most = work->groups ? work->groups : groups;
    cls_launch shape = cls_launch_1d((groups < most ? groups : most) * GROUP);
    if (work->groups)
        shape.local[0] = GROUP;
    return shape;
}

static cls_status launch(const struct reduction *r, unsigned owner,
                         const struct share_of_work *work) {
    const cls_array result = slice_result(r, owner);
    const size_t count = result.count, width = is_wide(r, owner) ? WIDE / r->size : 1;
    const size_t items = (count + width - 1) / width;
    const cls_launch shape = shape_of(work, items);
    cls_arg args[MOST_ARGS];
    unsigned n = 0;
    args[n++] = cls_arg_u64(count);
    for (unsigned d = 0; d < r->group->n; d++) {
        const size_t first = slice_of(r, d, owner).offset;
        cls_arg (*const access)(cls_buffer, size_t, size_t) =
            r->results ? cls_arg_reads : cls_arg_updates;
        args[n++] = access(work->views[d], first * r->size, count * r->size);
        args[n++] = cls_arg_u64(first);
    }
    if (r->results) {
        args[n++] = cls_arg_writes(result.buffer, result.offset * r->size, count * r->size);
        args[n++] = cls_arg_u64(result.offset);
    }
    return cls_kernel_launch_async(work->kernel, &shape, args, n,
                                   r->group->members[owner].streams.compute);
}

static cls_status launch_all(const struct reduction *r, const struct share_of_work works[]) {
    cls_status status = join(r->group);
    for (unsigned d = 0; d < r->group->n && !status; d++)
        if (slice_count(r, d))
            status = launch(r, d, &works[d]);
    const cls_status left = join(r->group);
    return status ? status : left;
}

cls_status group_reduce_directly(const struct reduction *r, bool *taken) {
    struct share_of_work works[CLS_DEVICE_GROUP_MAX] = {{0}};
    cls_status status = CLS_SUCCESS;
    *taken = open_all(r, works);
    if (*taken)
        status = find_kernels(r, works);
    if (*taken && !status)
        status = launch_all(r, works);
    for (unsigned d = 0; d < r->group->n; d++)
        close_views(r, d, &works[d]);
    return status;
}

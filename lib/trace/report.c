/* SPDX-License-Identifier: MIT */
/* The public getters of a profile. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "stream/stream.h"
#include "trace/profiler.h"

static cls_status profile_get(cls_profile handle, struct profile **out) {
    *out = object_acquire(&profile_pool, handle);
    return *out ? CLS_SUCCESS : object_invalid(&profile_pool, handle);
}

static void profile_put(struct profile *profile) { object_release(&profile->object); }

/* Copies the i-th item of an array of structs that begin with their size. */
struct items {
    const void *first;
    size_t count;
    size_t size;
};

static cls_status copy_item(const char *call, struct items items, size_t i, void *out) {
    if (i >= items.count)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%s: no index %zu; there are %zu", call, i,
                         items.count);
    sized_out(out, (const char *)items.first + i * items.size);
    return CLS_SUCCESS;
}

/* The profile, for a call that fills a caller's struct. */
#define OPEN_FOR(type, out, handle, profile) open_for(SIZED_CHECK(type, out), handle, profile)

static cls_status open_for(cls_status checked, cls_profile handle, struct profile **out) {
    return checked ? checked : profile_get(handle, out);
}

cls_status cls_profile_get_record(cls_profile handle, size_t i, cls_profile_record *out) {
    struct profile *profile;
    cls_status status = OPEN_FOR(cls_profile_record, out, handle, &profile);
    if (status)
        return status;
    status =
        copy_item(__func__, (struct items){profile->records, profile->count, sizeof *out}, i, out);
    profile_put(profile);
    return status;
}

cls_status cls_profile_get_summary(cls_profile handle, cls_profile_summary *out) {
    struct profile *profile;
    cls_status status = OPEN_FOR(cls_profile_summary, out, handle, &profile);
    if (status)
        return status;
    SIZED_OUT(cls_profile_summary, out, &profile->summary);
    profile_put(profile);
    return CLS_SUCCESS;
}

cls_status cls_profile_get_stream(cls_profile handle, size_t i, cls_profile_stream *out) {
    struct profile *profile;
    cls_status status = OPEN_FOR(cls_profile_stream, out, handle, &profile);
    if (status)
        return status;
    status = copy_item(__func__, (struct items){profile->streams, profile->n_streams, sizeof *out},
                       i, out);
    profile_put(profile);
    return status;
}

cls_status cls_profile_find_stream(cls_profile handle, cls_stream stream_handle, size_t *index) {
    struct profile *profile;
    struct stream *stream;
    if (!index)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_profile_find_stream: index is null");
    cls_status status = profile_get(handle, &profile);
    if (status)
        return status;
    status = stream_get(stream_handle, NULL, &stream);
    if (!status) {
        size_t i = 0;
        while (i < profile->n_streams && profile->streams[i].number != stream->id)
            i++;
        if (i < profile->n_streams)
            *index = i;
        else
            status = error_set(CLS_ERROR_NOT_FOUND, "stream '%s' has no record", stream->name);
        stream_put(stream);
    }
    profile_put(profile);
    return status;
}

static cls_status check_stream(const struct profile *profile, size_t stream) {
    if (stream < profile->n_streams)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OUT_OF_RANGE, "no stream %zu; the profile has %zu", stream,
                     profile->n_streams);
}

cls_status cls_profile_get_operation(cls_profile handle, size_t stream, size_t i,
                                     cls_profile_operation *out) {
    struct profile *profile;
    cls_status status = OPEN_FOR(cls_profile_operation, out, handle, &profile);
    if (status)
        return status;
    size_t row = stream == CLS_PROFILE_ALL ? profile->n_streams : stream;
    if (stream != CLS_PROFILE_ALL)
        status = check_stream(profile, stream);
    if (!status)
        status = copy_item(__func__,
                           (struct items){profile->operations[row].items,
                                          profile->operations[row].count, sizeof *out},
                           i, out);
    profile_put(profile);
    return status;
}

static cls_status overlap(struct profile *profile, const struct record_group *a,
                          const struct record_group *b, cls_profile_overlap *out) {
    cls_profile_overlap found = CLS_PROFILE_OVERLAP_INIT;
    cls_status status = group_overlap(profile, a, b, &found);
    if (!status)
        SIZED_OUT(cls_profile_overlap, out, &found);
    return status;
}

cls_status cls_profile_get_stream_overlap(cls_profile handle, size_t a, size_t b,
                                          cls_profile_overlap *out) {
    struct profile *profile;
    cls_status status = OPEN_FOR(cls_profile_overlap, out, handle, &profile);
    if (status)
        return status;
    status = check_stream(profile, a > b ? a : b);
    if (!status)
        status = overlap(profile, &(struct record_group){(uint32_t)a, -1},
                         &(struct record_group){(uint32_t)b, -1}, out);
    profile_put(profile);
    return status;
}

cls_status cls_profile_get_kind_overlap(cls_profile handle, cls_command_kind a, cls_command_kind b,
                                        cls_profile_overlap *out) {
    struct profile *profile;
    cls_status status = SIZED_CHECK(cls_profile_overlap, out);
    if (!status && (!is_work_kind(a) || !is_work_kind(b)))
        status =
            error_set(CLS_ERROR_INVALID_VALUE, "%s and %s: one of them is not work of a device",
                      cls_command_kind_name(a), cls_command_kind_name(b));
    if (!status)
        status = profile_get(handle, &profile);
    if (status)
        return status;
    status = overlap(profile, &(struct record_group){NO_INDEX, (int)a},
                     &(struct record_group){NO_INDEX, (int)b}, out);
    profile_put(profile);
    return status;
}

/* --- names --- */

const char *cls_command_kind_name(cls_command_kind kind) {
    static const char *const names[] = {
        [CLS_COMMAND_KERNEL] = "kernel",     [CLS_COMMAND_COPY_H2D] = "copy_h2d",
        [CLS_COMMAND_COPY_D2H] = "copy_d2h", [CLS_COMMAND_COPY_D2D] = "copy_d2d",
        [CLS_COMMAND_FILL] = "fill",         [CLS_COMMAND_MIGRATE] = "migrate",
        [CLS_COMMAND_MARKER] = "marker",     [CLS_COMMAND_HOST] = "host",
        [CLS_COMMAND_CALLBACK] = "callback", [CLS_COMMAND_FOREIGN] = "foreign",
        [CLS_COMMAND_GRAPH] = "graph",
    };
    _Static_assert(sizeof names / sizeof *names == CLS_COMMAND_KINDS, "one name for each kind");
    return (unsigned)kind < CLS_COMMAND_KINDS && names[kind] ? names[kind] : "?";
}

const char *cls_hold_name(cls_hold hold) {
    static const char *const names[] = {
        [CLS_HOLD_NONE] = "none",   [CLS_HOLD_DEPENDENCY] = "dependency",
        [CLS_HOLD_HOST] = "host",   [CLS_HOLD_QUEUE] = "queue",
        [CLS_HOLD_WIDTH] = "width", [CLS_HOLD_LATENCY] = "latency",
    };
    _Static_assert(sizeof names / sizeof *names == CLS_HOLDS, "one name for each hold");
    return (unsigned)hold < CLS_HOLDS ? names[hold] : "?";
}

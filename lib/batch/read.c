/* SPDX-License-Identifier: MIT */
/* Reading results, and queries about a batch. */
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "batch/internals.h"
#include "batch/places.h"
#include "batch/plan.h"

static cls_status find_ready(struct batch *batch, cls_value value, const void *data,
                             const struct batch_node **out) {
    uint32_t index;
    cls_status status = batch_find(batch, "read", "value", value, &index);
    if (status)
        return status;
    const struct batch_node *node = &batch->nodes[index];
    if (node_is_input(node))
        return error_set(CLS_ERROR_INVALID_STATE, "read: the value is an input");
    if (!data && node->count)
        return error_set(CLS_ERROR_INVALID_VALUE, "read: data is null");
    if (!node->ready)
        return error_set(CLS_ERROR_INVALID_STATE, "read: %s %s", node->row->name,
                         node_is_result(node)
                             ? batch->cut_short
                                   ? "was not computed: the latest execution was refused midway"
                                   : "was not executed since it became a result"
                             : "is no result: another operation takes it, and it was not kept");
    *out = node;
    return node->stored ? place_check(&node->place) : CLS_SUCCESS;
}

/* Reports the failure of the latest execution, also where its stream was reset since. A read on another
 * stream does not need it: that stream gets the failure by its wait for the execution. */
static cls_status check_latest(const struct batch *batch, const struct stream *stream,
                               bool blocking) {
    const struct batch_use *latest = &batch->latest;
    const struct failure *failure = stream_failure_at(latest->stream, latest->position);
    const bool reported = failure && (blocking || stream == latest->stream);
    return reported ? failure_report(latest->stream, failure) : CLS_SUCCESS;
}

/* Submits the copy behind the latest execution. */
static cls_status submit(struct batch *batch, const struct batch_node *node, void *data,
                         struct stream *stream, bool blocking, uint64_t *position) {
    const size_t size = cls_dtype_size(node->dtype), bytes = node->count * size;
    if (stream->context != batch->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "batch and stream are of different contexts");
    cls_status status = check_latest(batch, stream, blocking);
    if (!status)
        status = batch_reserve_uses(batch, 1);
    if (!status)
        status = stream_wait_for(stream, batch->latest.stream, batch->latest.position);
    if (!status && bytes)
        status =
            copy_call_read_kept(stream, node->place.buffer, node->place.offset * size, data, bytes);
    if (!status)
        status = stream_mark(stream, position);
    if (status)
        return status;
    batch_note_use(batch, stream, *position);
    if (bytes) {
        batch->totals.downloads++;
        batch->totals.bytes_to_host += bytes;
    }
    return CLS_SUCCESS;
}

cls_status cls_batch_read_async(cls_batch handle, cls_value value, void *data,
                                cls_stream stream_handle) {
    struct batch *batch;
    struct stream *stream;
    const struct batch_node *node;
    uint64_t position;
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = find_ready(batch, value, data, &node);
    if (!status)
        status = stream_get(stream_handle, batch->context, &stream);
    if (status)
        return batch_leave(batch, status);
    blocking_hold();
    status =
        blocking_release(batch_leave(batch, submit(batch, node, data, stream, false, &position)));
    stream_put(stream);
    return status;
}

/* The latest execution's stream; the default stream once that was destroyed. */
static cls_status stream_to_read_on(struct batch *batch, struct stream **out) {
    struct stream *latest = batch->latest.stream;
    if (atomic_load(&latest->destroyed))
        return stream_get(NULL, batch->context, out);
    object_retain(&latest->object);
    *out = latest;
    return CLS_SUCCESS;
}

cls_status cls_batch_read(cls_batch handle, cls_value value, void *data) {
    struct batch *batch;
    struct stream *stream;
    const struct batch_node *node;
    uint64_t position = 0;
    cls_status status = check_may_block();
    if (!status)
        status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = find_ready(batch, value, data, &node);
    if (!status)
        status = stream_to_read_on(batch, &stream);
    if (status)
        return batch_leave(batch, status);
    blocking_hold();
    status =
        blocking_release(batch_leave(batch, submit(batch, node, data, stream, true, &position)));
    if (!status)
        status = stream_wait(stream, position, WAIT_FOREVER);
    stream_put(stream);
    return status;
}

/* ---- queries */

cls_status cls_batch_get_value(cls_batch handle, cls_value value, cls_value_info *info) {
    struct batch *batch;
    uint32_t index;
    cls_status status = SIZED_CHECK(cls_value_info, info);
    if (!status)
        status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = batch_find(batch, "cls_batch_get_value", "value", value, &index);
    if (!status) {
        const struct batch_node *node = &batch->nodes[index];
        const cls_value_info found = {sizeof found, node->dtype, node->count, node->scalar,
                                      node_is_result(node)};
        SIZED_OUT(cls_value_info, info, &found);
    }
    return batch_leave(batch, status);
}

cls_status cls_batch_get_statistics(cls_batch handle, cls_batch_statistics *statistics) {
    struct batch *batch;
    cls_status status = SIZED_CHECK(cls_batch_statistics, statistics);
    if (!status)
        status = batch_enter(handle, &batch);
    if (status)
        return status;
    cls_batch_statistics now = batch->totals;
    const struct batch_plan *plan = batch->plan;
    if (plan) {
        now.regions = plan->regions.count;
        now.kernels_per_run = plan->n_kernels;
        now.streams = plan->n_lanes;
        now.arena_bytes = plan->arena_bytes;
        now.arena_least_bytes = plan->arena_least;
        now.storage_bytes = plan->storage_bytes;
    }
    SIZED_OUT(cls_batch_statistics, statistics, &now);
    return batch_leave(batch, CLS_SUCCESS);
}

static cls_status copy_source(struct batch *batch, unsigned region, char *text, size_t capacity,
                              size_t *length) {
    cls_status status = plan_prepare(batch);
    if (status)
        return status;
    if (region >= batch->plan->regions.count)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "the batch has %u regions",
                         batch->plan->regions.count);
    const char *source = batch->plan->steps[region].source;
    const size_t all = strlen(source);
    if (capacity) {
        const size_t part = all < capacity ? all : capacity - 1;
        memcpy(text, source, part);
        text[part] = '\0';
    }
    if (length)
        *length = all;
    return CLS_SUCCESS;
}

cls_status cls_batch_get_source(cls_batch handle, unsigned region, char *text, size_t capacity,
                                size_t *length) {
    struct batch *batch;
    if (!text && capacity)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_batch_get_source: text is null");
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    return batch_leave(batch, copy_source(batch, region, text, capacity, length));
}

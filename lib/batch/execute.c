/* SPDX-License-Identifier: MIT */
/*
 * Executing a plan. The plan spreads its steps over lanes. Lane 0 is the caller's stream; the others are
 * streams of the batch, which wait for the work before the execution, and which the caller's stream waits for
 * at the end. So from outside the whole execution is work of the caller's stream.
 */
#include "base/error.h"
#include "batch/call.h"
#include "batch/internals.h"
#include "batch/places.h"
#include "batch/plan.h"

/* One execution being submitted. */
struct execution {
    struct batch *batch;
    struct batch_plan *plan;
    struct stream *stream;               /* the lane's */
    struct stream *lanes[BATCH_STREAMS]; /* NULL: not begun */
    uint64_t ends[BATCH_STREAMS];        /* the last position of each */
    uint64_t begin;                      /* the position in lane 0 that the other lanes wait for */
    bool captured;                       /* lane 0 is captured: there are no positions */
};

/* ---- lanes */

/* A stream of the batch's own. A poisoned one is replaced by a new one; work that waits for it still gets its
 * failure. */
static cls_status own_stream(struct batch *batch, unsigned i, struct stream **out) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    struct stream *stream = batch->streams[i];
    cls_stream handle;
    if (stream && !stream_poison(stream)) {
        *out = stream;
        return CLS_SUCCESS;
    }
    if (stream) {
        batch_note_use(batch, stream, stream_newest(stream));
        batch->streams[i] = NULL;
        cls_stream_destroy(object_handle(&stream->object));
        stream_put(stream);
    }
    config.name = "batch";
    cls_status status = cls_stream_create(object_handle(&batch->context->object), &config, &handle);
    if (!status)
        object_note_librarys(handle);
    if (!status)
        status = stream_get(handle, batch->context, &batch->streams[i]);
    if (!status)
        *out = batch->streams[i];
    return status;
}

static cls_status enter_lane(struct execution *execution, unsigned lane) {
    cls_status status = CLS_SUCCESS;
    if (!execution->lanes[lane]) {
        struct stream *stream;
        status = own_stream(execution->batch, lane - 1, &stream);
        if (!status && !execution->begin)
            status = stream_mark(execution->lanes[0], &execution->begin);
        if (!status)
            status = stream_wait_for(stream, execution->lanes[0], execution->begin);
        if (status)
            return status;
        execution->lanes[lane] = stream;
    }
    execution->stream = execution->lanes[lane];
    return status;
}

static cls_status follow_lane(struct execution *execution, unsigned lane, uint64_t position) {
    if (!position)
        return CLS_SUCCESS;
    return stream_wait_for(execution->stream, execution->lanes[lane], position);
}

/* ---- inputs */

static cls_status upload(struct execution *execution, uint32_t node, unsigned lane) {
    struct batch *batch = execution->batch;
    struct batch_node *at = &batch->nodes[node];
    struct upload_mark *mark = &execution->plan->uploads[node];
    const size_t bytes = at->count * cls_dtype_size(at->dtype);
    if (bytes) {
        cls_status status =
            cls_copy_h2d_async(object_handle(&at->place.buffer->object), 0, at->host, bytes,
                               object_handle(&execution->stream->object));
        if (!status)
            status = stream_mark(execution->stream, &mark->position);
        if (status)
            return status;
        execution->ends[lane] = mark->position;
        batch->totals.uploads++;
        batch->totals.bytes_to_device += bytes;
    }
    mark->execution = execution->plan->executions;
    mark->lane = lane;
    at->dirty = false;
    return CLS_SUCCESS;
}

/* Makes the lane wait for what the region reads, and uploads what is not uploaded yet. */
static cls_status await_inputs(struct execution *execution, const struct region *region,
                               unsigned lane) {
    const struct batch_plan *plan = execution->plan;
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < region->inputs.count && !status; i++) {
        const uint32_t node = region->inputs.at[i], from = plan->regions.of_node[node];
        const struct upload_mark *mark = &plan->uploads[node];
        if (from != NO_NODE && plan->steps[from].lane != lane)
            status = follow_lane(execution, plan->steps[from].lane, plan->steps[from].position);
        else if (from == NO_NODE && execution->batch->nodes[node].dirty)
            status = upload(execution, node, lane);
        else if (from == NO_NODE && mark->execution == plan->executions && mark->lane != lane)
            status = follow_lane(execution, mark->lane, mark->position);
    }
    return status;
}

/* ---- launches */

static cls_status launch_call(struct execution *execution, uint32_t node, uint64_t *position) {
    struct batch *batch = execution->batch;
    struct stream *stream = execution->stream;
    if (!batch->nodes[node].count)
        return CLS_SUCCESS;
    batch->totals.kernels++;
    cls_status status = call_submit(batch, node, object_handle(&stream->object));
    return status || execution->captured ? status : stream_mark(stream, position);
}

static cls_status launch(struct execution *execution, struct plan_step *step) {
    struct batch *batch = execution->batch;
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < step->n_launches && !status; i++) {
        batch->totals.kernels++;
        status =
            op_launch_repeat(execution->stream, &step->launches[i], batch->arena, &step->position);
    }
    return status;
}

static cls_status run_step(struct execution *execution, unsigned i) {
    const struct region *region = &execution->plan->regions.at[i];
    struct plan_step *step = &execution->plan->steps[i];
    cls_status status = enter_lane(execution, step->lane);
    if (!status && !step->alone)
        status = await_inputs(execution, region, step->lane);
    if (status)
        return status;
    step->position = 0;
    status = region->call != NO_NODE ? launch_call(execution, region->call, &step->position)
                                     : launch(execution, step);
    if (step->position)
        execution->ends[step->lane] = step->position;
    return status;
}

/* Makes the caller's stream wait for the other lanes; also after a step that could not be submitted. */
static cls_status join(struct execution *execution, uint64_t *position) {
    struct stream *stream = execution->lanes[0];
    cls_status status = CLS_SUCCESS;
    bool joined = false;
    for (unsigned lane = 1; lane < execution->plan->n_lanes; lane++)
        if (execution->ends[lane]) {
            cls_status one = stream_wait_for(stream, execution->lanes[lane], execution->ends[lane]);
            status = status ? status : one;
            joined = true;
        }
    if (!joined && execution->ends[0]) {
        *position = execution->ends[0];
        return status;
    }
    cls_status marked = stream_mark(stream, position);
    return status ? status : marked;
}

/* ---- the execution */

/* An execution that failed may have left out any of its uploads: they are made again. After one that
 * succeeded they are done, and the host memory is the caller's again. */
static void upload_again_after_failure(struct batch *batch) {
    for (uint32_t i = 0; i < batch->n_nodes && batch->n_uploaders; i++) {
        struct batch_node *node = &batch->nodes[i];
        if (!node->uploader)
            continue;
        const bool over = atomic_load(&node->uploader->retired) >= node->uploaded_at;
        if (stream_failure_at(node->uploader, node->uploaded_at))
            node->dirty = true;
        else if (!over)
            continue;
        batch_forget_uploader(batch, node);
    }
}

/* `stream` NULL: the outcome of this execution cannot be known, so its uploads are made again. */
static void note_uploads(struct batch *batch, struct stream *stream, uint64_t position) {
    const struct batch_plan *plan = batch->plan;
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        struct batch_node *node = &batch->nodes[i];
        if (node->kind != NODE_UPLOAD || plan->uploads[i].execution != plan->executions)
            continue;
        batch_forget_uploader(batch, node);
        node->dirty = !stream;
        if (!stream)
            continue;
        object_retain(&stream->object);
        node->uploader = stream;
        node->uploaded_at = position;
        batch->n_uploaders++;
    }
}

static void note_execution(struct batch *batch, struct stream *stream, uint64_t position) {
    batch_note_use(batch, stream, position);
    if (batch->latest.stream != stream) {
        object_retain(&stream->object);
        if (batch->latest.stream)
            stream_put(batch->latest.stream);
        batch->latest.stream = stream;
    }
    batch->latest.position = position;
    batch->totals.executions++;
    if (!batch->plan->results_noted)
        for (uint32_t i = 0; i < batch->n_nodes; i++)
            batch->nodes[i].ready = node_is_result(&batch->nodes[i]);
    batch->plan->results_noted = true;
}

/* After a failure: some results may have been written, others not. */
static void forget_results(struct batch *batch) {
    for (uint32_t i = 0; i < batch->n_nodes; i++)
        batch->nodes[i].ready = false;
    batch->plan->results_noted = false;
}

/* Stream-ordered memory: later work of the stream may get the same memory. */
static cls_status take_arena(struct batch *batch, struct stream *stream) {
    if (!batch->plan->arena_bytes)
        return CLS_SUCCESS;
    return stream_malloc(stream, NULL, batch->plan->arena_bytes, NULL, &batch->arena);
}

static void free_arena(struct batch *batch, struct stream *stream) {
    if (batch->arena)
        stream_free(stream, batch->arena);
    batch->arena = NULL;
}

static void begin(struct execution *execution, struct batch *batch, struct stream *stream) {
    execution->batch = batch;
    execution->plan = batch->plan;
    execution->begin = 0;
    execution->captured = false;
    for (unsigned i = 0; i < batch->plan->n_lanes; i++) {
        execution->lanes[i] = i ? NULL : stream;
        execution->ends[i] = 0;
    }
}

/* Notes the work of lanes that could not be joined. */
static void note_lanes(struct batch *batch, const struct execution *execution) {
    for (unsigned lane = 0; lane < execution->plan->n_lanes; lane++)
        if (execution->ends[lane])
            batch_note_use(batch, execution->lanes[lane], execution->ends[lane]);
}

/* Submits the steps of an execution; the arena is allocated. */
static cls_status submit_steps(struct batch *batch, struct stream *stream, uint64_t *position) {
    const uint64_t uploads = batch->totals.uploads;
    struct execution execution;
    begin(&execution, batch, stream);
    cls_status status = CLS_SUCCESS;
    batch->plan->executions++;
    for (unsigned i = 0; i < batch->plan->regions.count && !status; i++)
        status = run_step(&execution, i);
    cls_status joined = join(&execution, position);
    status = status ? status : joined;
    if (joined)
        note_lanes(batch, &execution);
    else
        note_execution(batch, stream, *position);
    if (batch->totals.uploads != uploads)
        note_uploads(batch, joined ? NULL : stream, *position);
    batch->cut_short = status != CLS_SUCCESS;
    if (status)
        forget_results(batch);
    return status;
}

static cls_status submit(struct batch *batch, struct stream *stream, uint64_t *position) {
    cls_status status = batch_follow_uses(batch, stream);
    if (!status)
        status =
            batch_reserve_uses(batch, 2 * batch->plan->n_lanes); /* replaced streams, and lanes */
    if (!status)
        status = take_arena(batch, stream);
    if (status)
        return status;
    status = submit_steps(batch, stream, position);
    free_arena(batch, stream);
    return status;
}

/* ---- capture: the steps become nodes of a graph, one after the other */

static bool is_uploaded(const struct batch *batch, const struct region *region) {
    bool uploaded = true;
    for (unsigned i = 0; i < region->inputs.count; i++)
        uploaded = uploaded && !batch->nodes[region->inputs.at[i]].dirty;
    return uploaded;
}

/* A graph has no uploads of its own for the batch: what would be uploaded now is not there yet. */
static cls_status check_uploaded(const struct batch *batch) {
    const struct regions *regions = &batch->plan->regions;
    for (unsigned i = 0; i < regions->count; i++)
        if (!is_uploaded(batch, &regions->at[i]))
            return error_set(CLS_ERROR_INVALID_STATE,
                             "an input of the batch is not uploaded yet: execute the batch once "
                             "before it is captured");
    return CLS_SUCCESS;
}

/* The nodes have taken the instances that were set. */
static void forget_instances(struct batch_plan *plan) {
    for (unsigned i = 0; i < plan->regions.count; i++)
        for (unsigned k = 0; k < plan->steps[i].n_launches; k++)
            plan->steps[i].launches[k].instance = NULL;
}

static cls_status capture(struct batch *batch, struct stream *stream, uint64_t *position) {
    struct execution execution;
    cls_status status = check_uploaded(batch);
    if (!status)
        status = take_arena(batch, stream);
    if (status)
        return status;
    begin(&execution, batch, stream);
    execution.captured = true;
    for (unsigned lane = 1; lane < batch->plan->n_lanes; lane++)
        execution.lanes[lane] = stream;
    for (unsigned i = 0; i < batch->plan->regions.count && !status; i++)
        status = run_step(&execution, i);
    forget_instances(batch->plan);
    free_arena(batch, stream);
    *position = POSITION_CAPTURED;
    return status;
}

static cls_status execute(struct batch *batch, struct stream *stream, uint64_t *position) {
    if (stream->context != batch->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "batch and stream are of different contexts");
    const struct failure *failure = stream_poison(stream);
    if (failure)
        return failure_report(stream, failure);
    cls_status status = plan_prepare(batch);
    if (!status && !batch->overlaps_checked)
        status = places_check_overlaps(batch);
    if (!status)
        status = plan_bind(batch);
    if (!status && batch->plan->may_lose)
        status = places_check(batch);
    if (status)
        return status;
    batch->overlaps_checked = true;
    if (stream_captured_by(stream))
        return capture(batch, stream, position);
    upload_again_after_failure(batch);
    return submit(batch, stream, position);
}

/* The stream of a handle if the latest execution was on it, or NULL. The batch has a reference to that
 * stream, so none is taken; under the batch's lock. */
static struct stream *known_stream(const struct batch *batch, cls_stream handle) {
    struct stream *latest = batch->latest.stream;
    const bool known = latest && object_handle(&latest->object) == (void *)handle;
    return known && object_is(&latest->object, handle) ? latest : NULL;
}

static cls_status execute_on(cls_batch handle, cls_stream stream_handle, bool blocking) {
    struct batch *batch;
    uint64_t position = 0;
    cls_status status = blocking ? check_may_block() : CLS_SUCCESS;
    if (!status)
        status = batch_enter(handle, &batch);
    if (status)
        return status;
    struct stream *stream = blocking ? NULL : known_stream(batch, stream_handle);
    const bool held = !stream;
    if (held)
        status = stream_get(stream_handle, batch->context, &stream);
    if (status)
        return batch_leave(batch, status);
    blocking_hold();
    status = blocking_release(batch_leave(batch, execute(batch, stream, &position)));
    if (!status && blocking)
        status = stream_wait(stream, position, WAIT_FOREVER);
    if (held)
        stream_put(stream);
    return status;
}

cls_status cls_batch_execute_async(cls_batch batch, cls_stream stream) {
    return execute_on(batch, stream, false);
}

cls_status cls_batch_execute(cls_batch batch, cls_stream stream) {
    return execute_on(batch, stream, true);
}

cls_status cls_batch_prepare(cls_batch handle) {
    struct batch *batch;
    cls_status status = batch_enter(handle, &batch);
    return status ? status : batch_leave(batch, plan_prepare(batch));
}

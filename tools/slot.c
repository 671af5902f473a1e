/* SPDX-License-Identifier: MIT */
#include "slot.h"

#include <clstream/buffer.h>
#include <clstream/event.h>

static cls_status create_all(struct slot *slot, const struct program *program) {
    const struct plan *plan = program->plan;
    const size_t n = program->capacity;
    cls_event_config timed = CLS_EVENT_CONFIG_INIT;
    cls_status status;

    timed.timed = 1;
    if ((status = cls_host_alloc(program->context, n * cls_dtype_size(plan->from),
                                 &slot->host_in)) != CLS_SUCCESS ||
        (status = cls_host_alloc(program->context, n * cls_dtype_size(plan->to),
                                 &slot->host_out)) != CLS_SUCCESS)
        return status;
    if ((status = cls_buffer_create(program->context, n * cls_dtype_size(plan->from),
                                    &slot->device[0])) != CLS_SUCCESS ||
        (chunk_result(plan) == 1 &&
         (status = cls_buffer_create(program->context, n * cls_dtype_size(plan->to),
                                     &slot->device[1])) != CLS_SUCCESS))
        return status;
    for (unsigned i = 0; i < MARKS; i++)
        if ((status = cls_event_create(program->context, &timed, &slot->marks[i])) != CLS_SUCCESS)
            return status;
    return CLS_SUCCESS;
}

bool slot_create(struct slot *slot, const struct program *program, struct failure *failure) {
    *slot = (struct slot){0};
    const cls_status status = create_all(slot, program);
    if (status == CLS_SUCCESS)
        return true;
    fail_status(failure, status, "cannot allocate a chunk (a smaller --chunk may help)");
    slot_destroy(slot);
    return false;
}

static cls_status upload(const struct slot *slot, size_t bytes, cls_stream stream) {
    cls_status status = cls_event_record(slot->marks[MARK_START], stream);
    if (status == CLS_SUCCESS)
        status = cls_copy_h2d_async(slot->device[0], 0, slot->host_in, bytes, stream);
    return status ? status : cls_event_record(slot->marks[MARK_UPLOADED], stream);
}

static cls_status download(const struct slot *slot, cls_buffer from, size_t bytes,
                           cls_stream stream) {
    cls_status status = cls_event_record(slot->marks[MARK_COMPUTED], stream);
    if (status == CLS_SUCCESS)
        status = cls_copy_d2h_async(slot->host_out, from, 0, bytes, stream);
    return status ? status : cls_event_record(slot->marks[MARK_DOWNLOADED], stream);
}

static bool submit(struct slot *slot, const struct program *program, size_t count,
                   cls_stream stream, struct failure *failure) {
    const struct plan *plan = program->plan;
    cls_status status = upload(slot, count * cls_dtype_size(plan->from), stream);
    if (status != CLS_SUCCESS)
        return fail_status(failure, status, "upload");
    if (!chunk_submit(&slot->chunk, program, slot->device, count, stream, failure))
        return false;
    status =
        download(slot, slot->device[chunk_result(plan)], count * cls_dtype_size(plan->to), stream);
    return status == CLS_SUCCESS || fail_status(failure, status, "download");
}

static void forget_graph(struct slot *slot) {
    if (slot->graph)
        cls_graph_exec_destroy(slot->graph);
    slot->graph = NULL;
}

/* The capture ends in any case. */
static bool capture(struct slot *slot, const struct program *program, size_t count,
                    cls_stream stream, struct failure *failure) {
    cls_graph graph;
    cls_status status = cls_stream_begin_capture(stream, "chunk");
    if (status != CLS_SUCCESS)
        return fail_status(failure, status, "cannot capture a chunk");
    const bool submitted = submit(slot, program, count, stream, failure);
    status = cls_stream_end_capture(stream, &graph);
    if (status != CLS_SUCCESS)
        return submitted ? fail_status(failure, status, "cannot capture a chunk") : false;
    if (submitted)
        status = cls_graph_instantiate(graph, NULL, &slot->graph);
    cls_graph_destroy(graph);
    slot->count = count;
    return submitted &&
           (status == CLS_SUCCESS || fail_status(failure, status, "cannot capture a chunk"));
}

bool slot_launch(struct slot *slot, const struct program *program, size_t count, cls_stream stream,
                 struct failure *failure) {
    if (slot->count != count)
        forget_graph(slot);
    if (!slot->graph && !capture(slot, program, count, stream, failure))
        return false;
    const cls_status status = cls_graph_launch_async(slot->graph, stream);
    return status == CLS_SUCCESS || fail_status(failure, status, "the device");
}

void slot_destroy(struct slot *slot) {
    forget_graph(slot);
    chunk_destroy(&slot->chunk);
    for (unsigned i = 0; i < MARKS; i++)
        if (slot->marks[i])
            cls_event_destroy(slot->marks[i]);
    for (unsigned i = 0; i < 2; i++)
        if (slot->device[i])
            cls_buffer_destroy(slot->device[i]);
    cls_host_free(slot->host_out);
    cls_host_free(slot->host_in);
    *slot = (struct slot){0};
}

/* SPDX-License-Identifier: MIT */
/* Launching an executable graph. */
#include <stdlib.h>

#include "base/error.h"
#include "driver/quirk.h"
#include "graph/capture.h"
#include "graph/exec.h"
#include "graph/replay.h"
#include "graph/worker_run.h"

/* Whether a library's call has kernels to compile, which takes long. */
static bool must_compile(struct graph_exec *exec) {
    bool must = false;
    if (!exec->in_order)
        return false;
    pthread_mutex_lock(&exec->lock);
    for (unsigned i = 0; i < exec->plan.n_nodes && !must; i++)
        must = node_must_compile(&exec->body->nodes[i].node);
    pthread_mutex_unlock(&exec->lock);
    return must;
}

/* Whether each node is to be a command of its own. Where launches of several contexts must not overlap, the machine sees
 * to it for single ones. */
static bool runs_on_worker(struct graph_exec *exec, const struct stream *stream) {
    const bool across = caps_trusts(exec->context->caps, TRUST_EVENTS_ACROSS_QUEUES);
    return exec->for_worker || observer() || (stream->queue->traits.out_of_order && !across) ||
           (exec->context->device->quirks & QUIRK_UNLIKE_GRIDS_ABORT) ||
           (exec->timed && !handover_can_profile(stream)) || must_compile(exec);
}

/* Whether a worker hands the nodes over. A caller that waits has nothing else to do. */
static bool is_in_background(const struct graph_exec *exec, bool blocking) {
    return exec->background && !blocking &&
           caps_trusts(exec->context->caps, TRUST_EVENTS_ACROSS_QUEUES);
}

static const struct command_type *type_for(struct graph_exec *exec, const struct stream *stream,
                                           bool blocking) {
    if (!runs_on_worker(exec, stream)) {
        const bool in_background = is_in_background(exec, blocking);
        if (exec->timed)
            return in_background ? &type_graph_background_timed : &type_graph_replay_timed;
        return in_background ? &type_graph_background : &type_graph_replay;
    }
    if (exec->has_callbacks)
        return &type_graph_run_calling;
    return exec->has_user_code ? &type_graph_run_user : &type_graph_run;
}

/* Gives the records of a launch their numbers: those of the nodes that are not left out. */
static bool number_records(struct graph_run *run) {
    const struct graph_body *body = run->exec->newest;
    run->records = calloc(body->n_records, sizeof *run->records);
    for (unsigned r = 0; r < body->n_records && run->records; r++) {
        const unsigned node = body->records[r].node;
        struct event *event = body->nodes[node].node.command.u.marker.event;
        if (body->records[r].enabled)
            run->records[run->n_records++] =
                (struct run_record){event, node, event_new_serial(event)};
    }
    return run->records != NULL;
}

static cls_status make_run(struct graph_exec *exec, struct stream *stream,
                           struct command *command) {
    struct graph_run *run = object_create(&graph_run_pool);
    if (!run)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a launch of a graph");
    object_retain(&exec->object);
    run->exec = exec;
    run->stream = stream;
    if (exec->timed && !number_records(run)) {
        object_release(&run->object);
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a launch of a graph");
    }
    run->number = ++exec->numbered;
    command->u.graph.run = run;
    return command_keep(command, &run->object); /* there is room */
}

/* Called with the stream entered, which it leaves. The run is kept so long, since the launch may be done by then. */
static cls_status submit_timed(struct stream *stream, struct command *command, uint64_t *position) {
    struct graph_run *run = command->u.graph.run;
    object_retain(&run->object);
    cls_status status = stream_submit_entered(stream, command, NULL, position);
    for (unsigned r = 0; r < run->n_records && !status; r++)
        event_set_record(run->records[r].event, stream, *position, run->records[r].serial);
    object_release(&run->object);
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    stream->want_profiled = true;
    pthread_mutex_unlock(&stream->lock);
    return CLS_SUCCESS;
}

/* Called with the stream entered, behind the launch before; leaves it. */
static cls_status submit(struct graph_exec *exec, struct stream *stream, bool blocking,
                         uint64_t *position) {
    const struct failure *poison = stream_poison(stream);
    struct command command;
    command_init(&command, type_for(exec, stream, blocking), exec->name);
    cls_status status = poison ? failure_report(stream, poison) : make_run(exec, stream, &command);
    if (!status)
        return exec->timed ? submit_timed(stream, &command, position)
                           : stream_submit_entered(stream, &command, NULL, position);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

/* Under `launching`: what has failed of the launch before is no failure of this one. */
static cls_status enter(struct graph_exec *exec, struct stream *stream) {
    struct stream *last = mutant(MUTANT_GRAPH_ORDER) ? NULL : exec->last;
    if (!last || last == stream || !stream_failure_at(last, exec->last_position))
        return stream_enter_behind(stream, last, exec->last_position);
    cls_status status = stream_come_after(stream, last, exec->last_position);
    if (!status)
        pthread_mutex_lock(&stream->lock);
    return status;
}

static void note_launch(struct graph_exec *exec, struct stream *stream, uint64_t position) {
    struct stream *before = exec->last;
    object_retain(&stream->object);
    exec->last = stream;
    exec->last_position = position;
    exec->launches++;
    if (before)
        stream_put(before);
}

/* Under `launching`: on a captured stream the graph's nodes are recorded; `*captured` says so. */
static cls_status capture(struct graph_exec *exec, struct stream *stream, bool *captured) {
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&stream->lock);
    *captured = stream->capturing;
    if (RARELY(*captured)) {
        pthread_mutex_lock(&exec->lock);
        status =
            exec->changes.first
                ? error_set(CLS_ERROR_INVALID_STATE,
                            "graph '%s' was changed behind a launch that has not begun", exec->name)
                : capture_graph(stream, exec);
        pthread_mutex_unlock(&exec->lock);
    }
    pthread_mutex_unlock(&stream->lock);
    return status;
}

static cls_status launch_on(struct graph_exec *exec, struct stream *stream, bool blocking,
                            uint64_t *position) {
    if (stream->context != exec->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT,
                         "graph '%s' and stream '%s' are of different "
                         "contexts",
                         exec->name, stream->name);
    bool captured = false;
    blocking_lock(&exec->launching);
    cls_status status = graph_exec_prepare(exec);
    if (!status)
        status = capture(exec, stream, &captured);
    if (captured) {
        *position = POSITION_CAPTURED;
        return blocking_unlock(&exec->launching, status);
    }
    if (!status)
        status = enter(exec, stream);
    if (!status)
        status = submit(exec, stream, blocking, position);
    if (!status)
        note_launch(exec, stream, *position);
    return blocking_unlock(&exec->launching, status);
}

static cls_status launch(cls_graph_exec handle, cls_stream stream_handle, bool blocking) {
    struct graph_exec *exec;
    struct stream *stream;
    uint64_t position = 0;
    cls_status status = blocking ? check_may_block() : CLS_SUCCESS;
    if (!status)
        status = graph_exec_get(handle, &exec);
    if (status)
        return status;
    status = stream_get(stream_handle, exec->context, &stream);
    if (!status) {
        status = launch_on(exec, stream, blocking, &position);
        if (!status && blocking)
            status = stream_wait(stream, position, WAIT_FOREVER);
        stream_put(stream);
    }
    object_release(&exec->object);
    return status;
}

cls_status cls_graph_launch_async(cls_graph_exec exec, cls_stream stream) {
    return launch(exec, stream, false);
}

cls_status cls_graph_launch(cls_graph_exec exec, cls_stream stream) {
    return launch(exec, stream, true);
}

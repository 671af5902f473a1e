/* SPDX-License-Identifier: MIT */
/* Launching an executable graph. */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "driver/queue.h"
#include "graph/capture.h"
#include "graph/exec.h"
#include "graph/external_wait.h"
#include "graph/replay.h"
#include "graph/worker_run.h"

/* Whether a library's call has kernels to compile, which takes long. */
static bool must_compile(const struct graph_exec *exec, const struct graph_version *version) {
    bool must = false;
    for (unsigned i = 0; i < version->n_nodes && !must && (exec->holds & HOLDS_LIBRARY_CALL); i++)
        must = command_must_compile(&version->nodes[i].node->command);
    return must;
}

/* Whether each node is to be a command of its own. Where launches of several contexts must not overlap, the machine sees
 * to it for single ones. */
static bool runs_on_worker(const struct graph_exec *exec, const struct graph_version *version,
                           const struct stream *stream) {
    const bool across = caps_trusts(exec->context->caps, TRUST_EVENTS_ACROSS_QUEUES);
    return (exec->holds & HOLDS_WORKER_NODE) || observer() ||
           (stream->queue->traits.out_of_order && !across) ||
           kernel_spans_contexts(exec->context->device, exec->context->cl) ||
           ((exec->holds & HOLDS_RECORD) && !handover_can_profile(stream)) ||
           must_compile(exec, version);
}

/* Whether a worker hands the nodes over. A caller that waits has nothing else to do. */
static bool is_in_background(const struct graph_exec *exec, bool blocking) {
    return exec->background && !blocking &&
           caps_trusts(exec->context->caps, TRUST_EVENTS_ACROSS_QUEUES);
}

static const struct command_type *type_for(const struct graph_exec *exec,
                                           const struct graph_version *version,
                                           const struct stream *stream, bool blocking) {
    if (!runs_on_worker(exec, version, stream)) {
        const bool in_background = is_in_background(exec, blocking);
        if (exec->holds & HOLDS_RECORD)
            return in_background ? &type_graph_background_timed : &type_graph_replay_timed;
        return in_background ? &type_graph_background : &type_graph_replay;
    }
    if (exec->holds & HOLDS_CALLBACK)
        return &type_graph_run_calling;
    return exec->holds & HOLDS_USER_CODE ? &type_graph_run_user : &type_graph_run;
}

/* Gives the records of a launch their numbers: those of the nodes that are not left out. */
static bool number_records(struct graph_run *run) {
    const struct graph_version *version = run->version;
    const struct graph_body *body = version->body;
    run->records = calloc(body->n_records, sizeof *run->records);
    for (unsigned r = 0; r < body->n_records && run->records; r++) {
        const struct body_node *node = &version->nodes[body->records[r]];
        struct event *event = node->node->command.u.marker.event;
        if (!node->disabled)
            run->records[run->n_records++] =
                (struct run_record){event, body->records[r], event_new_serial(event)};
    }
    return run->records != NULL;
}

static cls_status make_run(struct graph_exec *exec, struct graph_version *version,
                           struct stream *stream, struct command *command) {
    struct graph_run *run = object_create(&graph_run_pool);
    if (!run)
        return object_none(&graph_run_pool, "a launch of a graph");
    object_retain(&exec->object);
    run->exec = exec;
    graph_version_retain(version);
    run->version = version;
    run->stream = stream;
    if ((exec->holds & HOLDS_RECORD) && !number_records(run)) {
        object_release(&run->object);
        return error_no_memory("for a launch of a graph");
    }
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
    stream_want_timing(stream);
    return CLS_SUCCESS;
}

/* Called with the stream entered, behind the launches before; leaves it. */
static cls_status submit(struct graph_exec *exec, struct graph_version *version,
                         struct stream *stream, bool blocking, uint64_t *position) {
    const struct failure *poison = stream_poison(stream);
    struct command command;
    command_init(&command, type_for(exec, version, stream, blocking), exec->name);
    cls_status status =
        poison ? failure_report(stream, poison) : make_run(exec, version, stream, &command);
    if (!status)
        return exec->holds & HOLDS_RECORD ? submit_timed(stream, &command, position)
                                          : stream_submit_entered(stream, &command, NULL, position);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

/* --- the order of launches --- */

/* Whether a launch may be forgotten. The race checker is told of the newest, to whom it is no matter whether it happens
 * to be over. */
static bool is_unused(const struct graph_exec *exec, unsigned i) {
    return launch_is_over(&exec->open[i]) && !(race_on() && i + 1 == exec->n_open);
}

/* Forgets launches that are over, and makes room for one more. */
static cls_status reserve_open(struct graph_exec *exec) {
    while (exec->first_open < exec->n_open && is_unused(exec, exec->first_open))
        stream_put(exec->open[exec->first_open++].stream);
    if (exec->first_open == exec->n_open)
        exec->first_open = exec->n_open = 0;
    if (exec->n_open < exec->open_room)
        return CLS_SUCCESS;
    unsigned kept = 0;
    for (unsigned i = exec->first_open; i < exec->n_open; i++)
        if (is_unused(exec, i))
            stream_put(exec->open[i].stream);
        else
            exec->open[kept++] = exec->open[i];
    exec->first_open = 0;
    exec->n_open = kept;
    return 2 * kept < exec->open_room || ARRAY_ROOM(exec->open, exec->open_room, exec->open_room, 8)
               ? CLS_SUCCESS
               : error_no_memory("for a launch of a graph");
}

static void note_launch(struct graph_exec *exec, struct stream *stream, uint64_t position) {
    object_retain(&stream->object);
    exec->open[exec->n_open++] = (struct launch_place){stream, position};
    exec->launches++;
}

/* Under `launching`: enters the stream, whose next command comes after all launches so far. The newest that has not failed
 * comes after those before it. One that has failed is no failure of this one, and may be over before those that it was to
 * come after. */
static cls_status enter(const struct graph_exec *exec, struct stream *stream) {
    const struct launch_place *newest = exec->n_open ? &exec->open[exec->n_open - 1] : NULL;
    cls_status status = CLS_SUCCESS;
    if (race_on() && newest && newest->stream != stream)
        hooks.race.waits(stream, newest->stream, newest->position);
    for (unsigned i = exec->n_open; i-- > exec->first_open;) {
        const struct launch_place *launch = &exec->open[i];
        if (launch_is_over(launch))
            continue;
        if (launch->stream == stream)
            break;
        if (!stream_failure_at(launch->stream, launch->position))
            return stream_enter_behind(stream, launch->stream, launch->position);
        status = stream_come_after(stream, launch->stream, launch->position);
        if (status)
            return status;
    }
    return stream_enter_behind(stream, NULL, 0);
}

/* Under `launching`: on a captured stream the graph's nodes are recorded; `*captured` says so. */
static cls_status capture(const struct graph_exec *exec, const struct graph_version *version,
                          struct stream *stream, bool *captured) {
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&stream->lock);
    *captured = stream->capturing;
    if (RARELY(*captured))
        status = capture_graph(stream, exec, version);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

/* --- launches --- */

/* Under `launching`. */
static cls_status launch_locked(struct graph_exec *exec, struct stream *stream, bool blocking,
                                uint64_t *position) {
    struct graph_version *version;
    bool captured = false;
    cls_status status = graph_exec_version(exec, &version);
    if (!status)
        status = capture(exec, version, stream, &captured);
    if (captured)
        *position = POSITION_CAPTURED;
    if (status || captured)
        return status;
    status = reserve_open(exec);
    if (!status && (exec->holds & HOLDS_WAIT))
        status = graph_wait_external(version, stream);
    if (!status)
        status = enter(exec, stream);
    if (!status)
        status = submit(exec, version, stream, blocking, position);
    if (!status)
        note_launch(exec, stream, *position);
    return status;
}

static cls_status launch_on(struct graph_exec *exec, struct stream *stream, bool blocking,
                            uint64_t *position) {
    if (stream->context != exec->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT,
                         "graph '%s' and stream '%s' are of different "
                         "contexts",
                         exec->name, stream->name);
    blocking_lock(&exec->launching);
    return blocking_unlock(&exec->launching, launch_locked(exec, stream, blocking, position));
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

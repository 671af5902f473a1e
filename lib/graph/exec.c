/* SPDX-License-Identifier: MIT */
#include "graph/exec.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/sized.h"
#include "driver/event.h"
#include "driver/quirk.h"
#include "graph/external_wait.h"
#include "graph/memory.h"
#include "system/clocks.h"

enum { DEFAULT_LANES = 8 };

static void release_queues(struct graph_exec *exec) {
    for (unsigned lane = 0; lane < PLAN_LANES; lane++)
        if (exec->queues[lane] && atomic_load(&exec->hurt))
            queue_bury(exec->context, exec->queues[lane]);
        else if (exec->queues[lane])
            queue_unuse(exec->context, exec->queues[lane]);
}

static void graph_exec_finalize(struct object *object) {
    struct graph_exec *exec = (struct graph_exec *)(void *)object;
    exec_nodes_free(&exec->nodes);
    graph_exec_changes(exec);
    if (exec->body)
        graph_body_put(exec->body);
    exec_plan_free(&exec->plan);
    fusion_free(&exec->fusion);
    release_queues(exec);
    for (unsigned lane = 0; lane < PLAN_LANES; lane++)
        if (exec->streams[lane])
            stream_destroy_owned(object_handle(&exec->streams[lane]->object));
    if (exec->recorder)
        stream_destroy_owned(exec->recorder);
    for (unsigned i = exec->first_open; i < exec->n_open; i++)
        stream_put(exec->open[i].stream);
    free(exec->open);
    pthread_mutex_destroy(&exec->launching);
    context_put(exec->context);
}

struct object_pool graph_exec_pool =
    OBJECT_POOL(31, sizeof(struct graph_exec), "executable graph", graph_exec_finalize);

/* Some drivers abort when the event of a failed command is released. Where none has failed, none is asked about. */
static void release_event(struct graph_exec *exec, cl_event event) {
    const struct device *device = exec->context->device;
    const bool failed = atomic_load(&exec->context->hurt) && event_state(device, event) < 0;
    if (failed)
        atomic_store(&exec->hurt, true);
    if (!failed || !(device->quirks & QUIRK_FAILED_RELEASE_ABORTS))
        event_release(device, event);
}

/* When the nodes of a replay that record events were done; a worker's are commands, which tell by themselves. A launch's
 * references are released before it counts as done, so nobody who sees it done comes too early. */
static void report_times(const struct graph_run *run) {
    struct event_time time = {.host_ns = clock_now_ns()};
    for (unsigned r = 0; r < run->n_records && run->events; r++) {
        const struct run_record *record = &run->records[r];
        if (!run->events[record->node])
            continue;
        time.has_device =
            event_end_time(run->exec->context->device, run->events[record->node], &time.device_ns);
        event_set_time(record->event, record->serial, &time);
    }
}

static bool end_exec(struct later *ending) {
    struct graph_exec *exec =
        (struct graph_exec *)(void *)((char *)ending - offsetof(struct graph_exec, ending));
    object_release(&exec->object);
    return true;
}

/* Under the lock of the launch's stream, perhaps, while the end of the graph takes the locks of the streams of its lanes. */
static void drop_exec(struct graph_exec *exec) {
    if (object_release_unless_last(&exec->object))
        return;
    exec->ending.attempt = end_exec;
    later_add(&exec->ending);
}

static void graph_run_finalize(struct object *object) {
    struct graph_run *run = (struct graph_run *)(void *)object;
    report_times(run);
    free(run->records);
    for (unsigned i = 0; i < run->n_events && run->events; i++)
        if (run->events[i])
            release_event(run->exec, run->events[i]);
    free(run->events);
    refs_release(&run->kept);
    graph_version_put(run->version);
    drop_exec(run->exec);
}

struct object_pool graph_run_pool =
    OBJECT_POOL(15, sizeof(struct graph_run), "launch of a graph", graph_run_finalize);

cls_status graph_exec_get(cls_graph_exec handle, struct graph_exec **out) {
    struct graph_exec *exec = object_acquire(&graph_exec_pool, handle);
    if (!exec)
        return object_invalid(&graph_exec_pool, handle);
    cls_status status = context_check(exec->context);
    if (status)
        object_release(&exec->object);
    else
        *out = exec;
    return status;
}

/* --- what launches do --- */

cls_status graph_exec_version(struct graph_exec *exec, struct graph_version **out) {
    cls_status status = graph_memory_restore(exec->body);
    if (!status && !exec->version)
        status = graph_version_new(exec->body, &exec->version);
    if (!status)
        *out = exec->version;
    return status;
}

void graph_exec_changes(struct graph_exec *exec) {
    if (exec->version)
        graph_version_put(exec->version);
    exec->version = NULL;
}

cls_status graph_run_begin(struct graph_run *run) {
    struct exec_nodes *nodes = &run->exec->nodes;
    cls_status status = exec_nodes_set(nodes, run->version);
    for (unsigned r = 0; r < run->n_records && !status; r++)
        nodes->items[run->records[r].node].command.u.marker.serial = run->records[r].serial;
    return status;
}

static const struct graph_run *run_of(const struct object *object) {
    return object->pool == &graph_run_pool ? (const struct graph_run *)(const void *)object : NULL;
}

bool graph_uses(const struct refs *refs, use_test uses, const void *arg) {
    bool used = false;
    for (unsigned i = 0; i < refs->count + refs->more_count && !used; i++) {
        const struct graph_run *run = run_of(refs_at(refs, i));
        used = run && graph_version_uses(run->version, uses, arg);
    }
    return used;
}

static bool has_failed(const struct graph_run *run) {
    bool failed = false;
    for (unsigned i = 0; i < run->n_events && run->events && !failed; i++)
        failed = run->events[i] && event_state(run->exec->context->device, run->events[i]) < 0;
    return failed;
}

bool graph_has_failed(const struct refs *refs) {
    bool failed = false;
    for (unsigned i = 0; i < refs->count + refs->more_count && !failed; i++) {
        const struct graph_run *run = run_of(refs_at(refs, i));
        failed = run && has_failed(run);
    }
    return failed;
}

void graph_abandon(struct object *object) {
    const struct graph_run *run = run_of(object);
    buffer_abandon(object);
    if (run)
        graph_version_visit(run->version, buffer_abandon);
}

/* --- instantiation --- */

static unsigned holds_of(const struct graph_exec *exec, const struct command *command) {
    const bool is_record = command_is_record(command);
    const bool for_worker =
        !command->type->enqueue || (is_record && !exec->context->caps->marker_times_sane);
    return (is_record ? HOLDS_RECORD : 0) |
           (command->type == &type_external_wait ? HOLDS_WAIT : 0) |
           (for_worker ? HOLDS_WORKER_NODE : 0) |
           (command->type->when_failed ? HOLDS_CALLBACK : 0) |
           (command->type->user_code ? HOLDS_USER_CODE : 0) |
           (command->type->capture == CAPTURE_LIBRARY ? HOLDS_LIBRARY_CALL : 0);
}

cls_status exec_parts_make(struct command_graph *captured, bool fuse, unsigned lanes,
                           struct exec_parts *out) {
    struct exec_parts parts = {.body = NULL};
    struct command_graph *fused = NULL;
    cls_status status = fuse ? graph_fuse(captured, &parts.fusion, &fused) : CLS_SUCCESS;
    struct command_graph *graph = fused ? fused : captured;
    if (!status)
        status = exec_plan_make(graph->nodes, graph->n_nodes, lanes, &parts.plan);
    if (!status)
        status = graph_memory_body(graph, &parts.plan, &parts.body);
    if (fused)
        object_release(&fused->object);
    if (status) {
        exec_parts_free(&parts);
        return status;
    }
    object_retain(&captured->object);
    parts.body->captured = captured;
    *out = parts;
    out->body->plan = &out->plan;
    return CLS_SUCCESS;
}

void exec_parts_free(struct exec_parts *parts) {
    if (parts->body)
        graph_body_put(parts->body);
    exec_plan_free(&parts->plan);
    fusion_free(&parts->fusion);
}

static void take_parts(struct graph_exec *exec, const struct exec_parts *parts) {
    exec->fusion = parts->fusion;
    exec->plan = parts->plan;
    exec->body = parts->body;
    exec->body->plan = &exec->plan;
    for (unsigned i = 0; i < exec->plan.n_nodes; i++)
        exec->holds |= holds_of(exec, &exec->body->nodes[i].node->command);
}

static cls_status make(struct command_graph *graph, const cls_graph_config *config,
                       struct graph_exec **out) {
    struct exec_parts parts;
    struct graph_version *version;
    struct graph_exec *exec = object_create(&graph_exec_pool);
    if (!exec)
        return object_none(&graph_exec_pool, "an executable graph");
    object_retain(&graph->context->object);
    exec->context = graph->context;
    exec->name = graph->name;
    pthread_mutex_init(&exec->launching, NULL);
    exec->fuse = config->fuse;
    exec->background = config->background;
    exec->most_lanes = config->streams ? config->streams : DEFAULT_LANES;
    if (!caps_trusts(exec->context->caps, TRUST_EVENTS_ACROSS_QUEUES))
        exec->most_lanes = 1;
    cls_status status = exec_parts_make(graph, exec->fuse, exec->most_lanes, &parts);
    if (!status) {
        take_parts(exec, &parts);
        status = graph_exec_version(exec, &version);
    }
    if (!status)
        status = exec_nodes_set(&exec->nodes, version);
    if (status)
        object_release(&exec->object);
    else
        *out = exec;
    return status;
}

cls_status cls_graph_instantiate(cls_graph handle, const cls_graph_config *given,
                                 cls_graph_exec *out) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    struct command_graph *graph;
    struct graph_exec *exec;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_graph_instantiate: out is null");
    cls_status status = SIZED_IN(cls_graph_config, &config, given);
    if (!status && config.streams > PLAN_LANES)
        status = error_set(CLS_ERROR_INVALID_VALUE, "%u streams: a graph has at most %d",
                           config.streams, PLAN_LANES);
    if (!status)
        status = command_graph_get(handle, &graph);
    if (status)
        return status;
    status = make(graph, &config, &exec);
    if (!status)
        *out = object_handle(&exec->object);
    object_release(&graph->object);
    return status;
}

cls_status cls_graph_exec_destroy(cls_graph_exec handle) {
    return object_destroy(&graph_exec_pool, handle) ? CLS_SUCCESS
                                                    : object_invalid(&graph_exec_pool, handle);
}

cls_status cls_graph_get_statistics(cls_graph_exec handle, cls_graph_statistics *statistics) {
    cls_graph_statistics now = CLS_GRAPH_STATISTICS_INIT;
    struct graph_exec *exec;
    cls_status status = SIZED_CHECK(cls_graph_statistics, statistics);
    if (!status)
        status = graph_exec_get(handle, &exec);
    if (status)
        return status;
    now.nodes = exec->plan.n_nodes;
    now.edges = exec->plan.n_deps;
    now.streams = exec->plan.n_lanes;
    now.one_command = !(exec->holds & HOLDS_WORKER_NODE);
    now.fused_nodes = exec->fusion.n_fused;
    now.fused_kernels = exec->fusion.n_kernels;
    pthread_mutex_lock(&exec->launching);
    now.arena_bytes = exec->body->arena_bytes;
    now.arena_least_bytes = exec->body->arena_least;
    now.launches = exec->launches;
    pthread_mutex_unlock(&exec->launching);
    SIZED_OUT(cls_graph_statistics, statistics, &now);
    object_release(&exec->object);
    return CLS_SUCCESS;
}

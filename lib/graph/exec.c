/* SPDX-License-Identifier: MIT */
#include "graph/exec.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "driver/event.h"
#include "driver/quirk.h"
#include "graph/memory.h"

enum { DEFAULT_LANES = 8 };

static void release_queues(struct graph_exec *exec) {
    for (unsigned lane = 0; lane < PLAN_LANES; lane++)
        if (exec->queues[lane] && atomic_load(&exec->hurt))
            queue_bury(exec->context, exec->queues[lane]);
        else if (exec->queues[lane])
            queue_unuse(exec->context, exec->queues[lane]);
}

static void free_changes(struct change *change) {
    while (change) {
        struct change *next = change->next;
        change_free(change);
        change = next;
    }
}

static void graph_exec_finalize(struct object *object) {
    struct graph_exec *exec = (struct graph_exec *)(void *)object;
    free_changes(exec->changes.first);
    if (exec->newest)
        graph_body_free(exec->body);
    exec_plan_free(&exec->plan);
    fusion_free(&exec->fusion);
    release_queues(exec);
    for (unsigned lane = 0; lane < PLAN_LANES; lane++)
        if (exec->streams[lane])
            stream_destroy_owned(exec->streams[lane]);
    if (exec->recorder)
        stream_destroy_owned(exec->recorder);
    if (exec->last)
        stream_put(exec->last);
    pthread_mutex_destroy(&exec->launching);
    pthread_mutex_destroy(&exec->lock);
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

static void graph_run_finalize(struct object *object) {
    struct graph_run *run = (struct graph_run *)(void *)object;
    pthread_mutex_lock(&run->exec->lock);
    if (run->exec->latest == run)
        run->exec->latest = NULL;
    pthread_mutex_unlock(&run->exec->lock);
    report_times(run);
    free(run->records);
    free_changes(run->replaced);
    for (unsigned i = 0; i < run->n_events && run->events; i++)
        if (run->events[i])
            release_event(run->exec, run->events[i]);
    free(run->events);
    refs_release(&run->kept);
    object_release(&run->exec->object);
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

/* --- the beginning of launches --- */

/* Under the lock. What a change replaces goes with the newest launch that began, behind which all before it are done. */
static cls_status make_changes(struct graph_exec *exec, uint64_t before) {
    struct changes *changes = &exec->changes;
    while (changes->first && changes->first->after < before) {
        struct change *change = changes->first;
        cls_status status = change_make(change, &exec->body);
        if (status)
            return status;
        changes->first = change->next;
        change->next = exec->latest ? exec->latest->replaced : NULL;
        if (exec->latest)
            exec->latest->replaced = change;
        else
            change_free(change);
    }
    return CLS_SUCCESS;
}

cls_status graph_exec_begin(struct graph_exec *exec, struct graph_run *run) {
    cls_status status = make_changes(exec, run->number);
    if (status)
        return status;
    exec->latest = run;
    for (unsigned r = 0; r < run->n_records; r++)
        exec->body->nodes[run->records[r].node].node.command.u.marker.serial =
            run->records[r].serial;
    return CLS_SUCCESS;
}

cls_status graph_exec_prepare(struct graph_exec *exec) {
    pthread_mutex_lock(&exec->lock);
    cls_status status =
        exec->begun == exec->numbered ? make_changes(exec, exec->numbered + 1) : CLS_SUCCESS;
    pthread_mutex_unlock(&exec->lock);
    return status;
}

void graph_discard(struct command *command) {
    struct graph_run *run = command->u.graph.run;
    pthread_mutex_lock(&run->exec->lock);
    if (run->exec->begun < run->number)
        run->exec->begun = run->number;
    pthread_mutex_unlock(&run->exec->lock);
}

/* --- what launches use --- */

static const struct graph_run *run_of(const struct object *object) {
    return object->pool == &graph_run_pool ? (const struct graph_run *)(const void *)object : NULL;
}

static bool node_uses(const struct node *node, use_test uses, const void *arg) {
    const struct command *command = &node->command;
    const struct host_copy_arguments *copy = &command->u.host_copy;
    if (command->type->copies_host)
        return uses(&command->refs, copy->to, arg) || uses(&command->refs, copy->from, arg);
    return uses(&command->refs, command_host(command), arg);
}

static bool body_uses(const struct graph_body *body, use_test uses, const void *arg) {
    bool used = false;
    for (unsigned n = 0; n < body->plan->n_nodes && !used; n++)
        used = node_uses(&body->nodes[n].node, uses, arg);
    for (unsigned i = 0; i < body->n_slots && !used; i++) {
        const struct refs current = {.count = 1, .here = {(struct object *)body->slots[i].current}};
        used = body->slots[i].current && uses(&current, NULL, arg);
    }
    return used;
}

bool graph_uses(const struct refs *refs, use_test uses, const void *arg) {
    bool used = false;
    for (unsigned i = 0; i < refs->count + refs->more_count && !used; i++) {
        const struct graph_run *run = run_of(refs_at(refs, i));
        if (!run)
            continue;
        pthread_mutex_lock(&run->exec->lock);
        used = body_uses(run->exec->body, uses, arg);
        pthread_mutex_unlock(&run->exec->lock);
    }
    return used;
}

static void abandon_body(const struct graph_body *body) {
    for (unsigned n = 0; n < body->plan->n_nodes; n++) {
        const struct refs *refs = &body->nodes[n].node.command.refs;
        for (unsigned i = 0; i < refs->count + refs->more_count; i++)
            buffer_abandon(refs_at(refs, i));
    }
    for (unsigned i = 0; i < body->n_slots; i++)
        if (body->slots[i].current)
            buffer_abandon(&body->slots[i].current->object);
}

void graph_abandon(struct object *object) {
    const struct graph_run *run = run_of(object);
    buffer_abandon(object);
    if (!run)
        return;
    pthread_mutex_lock(&run->exec->lock);
    abandon_body(run->exec->body);
    pthread_mutex_unlock(&run->exec->lock);
}

/* --- instantiation --- */

static void note(struct graph_exec *exec, const struct exec_node *node) {
    const struct command *command = &node->node.command;
    const bool is_record = node_is_record(&node->node);
    exec->timed |= is_record;
    exec->for_worker |=
        !command->type->enqueue || (is_record && !exec->context->caps->marker_times_sane);
    exec->has_callbacks |= command->type->when_failed;
    exec->has_user_code |= command->type->user_code;
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
    parts.body->n_products = parts.fusion.n_products;
    *out = parts;
    out->body->plan = &out->plan;
    return CLS_SUCCESS;
}

void exec_parts_free(struct exec_parts *parts) {
    if (parts->body)
        graph_body_free(parts->body);
    exec_plan_free(&parts->plan);
    fusion_free(&parts->fusion);
}

static void take_parts(struct graph_exec *exec, const struct exec_parts *parts) {
    exec->fusion = parts->fusion;
    exec->plan = parts->plan;
    exec->body = exec->newest = parts->body;
    exec->body->plan = &exec->plan;
    for (unsigned i = 0; i < exec->plan.n_nodes; i++)
        note(exec, &exec->body->nodes[i]);
    for (unsigned i = 0; i < parts->body->captured->n_nodes; i++)
        exec->in_order |= node_is_library_call(&parts->body->captured->nodes[i]);
}

static cls_status make(struct command_graph *graph, const cls_graph_config *config,
                       struct graph_exec **out) {
    struct exec_parts parts;
    struct graph_exec *exec = object_create(&graph_exec_pool);
    if (!exec)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for an executable graph");
    object_retain(&graph->context->object);
    exec->context = graph->context;
    exec->name = graph->name;
    pthread_mutex_init(&exec->launching, NULL);
    pthread_mutex_init(&exec->lock, NULL);
    exec->fuse = config->fuse;
    exec->background = config->background;
    exec->most_lanes = config->streams ? config->streams : DEFAULT_LANES;
    if (!caps_trusts(exec->context->caps, TRUST_EVENTS_ACROSS_QUEUES))
        exec->most_lanes = 1;
    cls_status status = exec_parts_make(graph, exec->fuse, exec->most_lanes, &parts);
    if (status) {
        object_release(&exec->object);
        return status;
    }
    take_parts(exec, &parts);
    *out = exec;
    return CLS_SUCCESS;
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
    now.one_command = !exec->for_worker;
    now.fused_nodes = exec->fusion.n_fused;
    now.fused_kernels = exec->fusion.n_kernels;
    caps_graph_path(exec->context->device, exec->context->caps, now.path, sizeof now.path);
    pthread_mutex_lock(&exec->launching);
    now.arena_bytes = exec->newest->arena_bytes;
    now.arena_least_bytes = exec->newest->arena_least;
    now.product_kernels = exec->newest->n_products;
    now.launches = exec->launches;
    pthread_mutex_unlock(&exec->launching);
    SIZED_OUT(cls_graph_statistics, statistics, &now);
    object_release(&exec->object);
    return CLS_SUCCESS;
}

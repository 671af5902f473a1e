/* SPDX-License-Identifier: MIT */
/* Running a task graph: a stream for each task, the waits, and the calls. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "coordinator/coordinator.h"
#include "coordinator/internals.h"
#include "coordinator/task.h"

/* A stream of the set during a run. */
struct run_slot {
    uint32_t last; /* task */
    uint64_t load; /* tasks given to it, and commands it had before */
};

struct run {
    struct task_graph *graph;
    struct plan plan;
    struct run_slot *slots;
    uint32_t *place; /* of each task's stream in the plan; until it is chosen: fixed, or NOWHERE */
};

enum { NOWHERE = -1 };

/* --- before the first call --- */

static cls_status find_place(const struct run *run, uint32_t number, uint32_t *place) {
    const struct task *task = &run->graph->tasks[number];
    *place = (uint32_t)NOWHERE;
    for (size_t i = 0; i < run->plan.count; i++)
        if (task->wanted == run->plan.streams[i].handle)
            *place = (uint32_t)i;
    if (task->wanted != CLS_ANY_STREAM && *place == (uint32_t)NOWHERE)
        return error_set(CLS_ERROR_NOT_FOUND, "task '%s' is for a stream that is not in '%s'",
                         task->label, run->graph->coordinator->name);
    return CLS_SUCCESS;
}

static void run_drop(struct run *run) {
    free(run->slots);
    free(run->place);
    plan_drop(&run->plan);
}

static cls_status prepare(struct run *run) {
    cls_status status = CLS_SUCCESS;
    run->slots = calloc(run->plan.count + 1, sizeof *run->slots);
    run->place = calloc((size_t)run->graph->count + 1, sizeof *run->place);
    if (!run->slots || !run->place)
        return error_no_memory("to run a task graph");
    if (!run->plan.count && run->graph->count)
        return error_set(CLS_ERROR_INVALID_STATE, "'%s' has no streams",
                         run->graph->coordinator->name);
    for (size_t i = 0; i < run->plan.count; i++)
        run->slots[i] =
            (struct run_slot){CLS_NO_TASK, stream_outstanding(run->plan.streams[i].stream)};
    for (uint32_t i = 0; i < run->graph->count && !status; i++)
        status = find_place(run, i, &run->place[i]);
    return status;
}

/* --- one task --- */

/* The stream on which a prerequisite is the last task, since nothing has to wait there; else the one with the
 * least load. */
static uint32_t choose_place(const struct run *run, uint32_t number) {
    struct wait_graph_span span = wait_graph_prerequisites(run->graph->edges, number);
    uint32_t best = 0;
    if (run->place[number] != (uint32_t)NOWHERE)
        return run->place[number];
    for (size_t i = 0; i < span.count; i++) {
        uint32_t place = run->place[span.nodes[i]];
        if (place != (uint32_t)NOWHERE && run->slots[place].last == span.nodes[i])
            return place;
    }
    for (uint32_t i = 1; i < run->plan.count; i++)
        if (run->slots[i].load < run->slots[best].load)
            best = i;
    return best;
}

/* Whether a prerequisite was skipped or failed on the host already, so that the task is skipped too. */
static bool is_to_skip(const struct run *run, uint32_t number) {
    struct wait_graph_span span = wait_graph_prerequisites(run->graph->edges, number);
    for (size_t i = 0; i < span.count; i++) {
        const struct task *first = &run->graph->tasks[span.nodes[i]];
        if (first->step == TASK_SKIPPED || first->returned)
            return true;
    }
    return false;
}

static cls_status wait_for_prerequisites(const struct run *run, uint32_t number,
                                         struct stream *stream) {
    struct wait_graph_span span = wait_graph_prerequisites(run->graph->edges, number);
    cls_status status = CLS_SUCCESS;
    for (size_t i = 0; i < span.count && !status; i++) {
        const struct task *first = &run->graph->tasks[span.nodes[i]];
        status = stream_wait_for(stream, first->stream, first->end);
    }
    return status;
}

/* A positive status is no error: stored, CLS_NOT_READY would keep pollers waiting for ever. */
static cls_status call_function(const struct task *task) {
    const cls_status status = task->fn(task->handle, task->arg);
    return status > 0 ? error_set(CLS_ERROR_INVALID_STATE, "its function returned %s",
                                  cls_status_string(status))
                      : status;
}

/* Submits the waits and calls the function, unless the stream is poisoned then. Writes to `out`, a copy,
 * because other threads read the task meanwhile. */
static void call(const struct run *run, uint32_t number, struct task *out) {
    unsigned long before = error_count();
    out->step = TASK_CALLED;
    out->begin = stream_newest(out->stream);
    out->returned = wait_for_prerequisites(run, number, out->stream);
    if (!out->returned)
        out->failure = stream_poison(out->stream);
    if (out->failure)
        out->step = TASK_SKIPPED;
    else if (!out->returned)
        out->returned = call_function(out);
    cls_status marked = stream_mark(out->stream, &out->end);
    if (!out->returned)
        out->returned = marked;
    if (!out->returned)
        return;
    if (!out->failure)
        out->failure = stream_poison(out->stream);
    if (error_count() == before)
        return;
    out->code = cls_last_error_code();
    out->detail = strdup(cls_last_error_detail());
}

static void run_task(struct run *run, uint32_t number) {
    struct task_graph *graph = run->graph;
    struct task outcome = graph->tasks[number];
    outcome.step = TASK_SKIPPED;
    if (!is_to_skip(run, number)) {
        uint32_t place = choose_place(run, number);
        const struct planned *planned = &run->plan.streams[place];
        object_retain(&planned->stream->object);
        outcome.stream = planned->stream;
        outcome.handle = planned->handle;
        call(run, number, &outcome);
        run->place[number] = place;
        run->slots[place].last = number;
        run->slots[place].load++;
    }
    pthread_mutex_lock(&graph->lock);
    graph->tasks[number] = outcome;
    pthread_mutex_unlock(&graph->lock);
}

/* --- the run --- */

static cls_status take_graph(struct task_graph *graph) {
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&graph->lock);
    if (graph->running)
        status = error_set(CLS_ERROR_INVALID_STATE, "the task graph is being run");
    else
        graph->running = true;
    pthread_mutex_unlock(&graph->lock);
    return status;
}

static cls_status run_all(struct run *run) {
    struct task_graph *graph = run->graph;
    pthread_mutex_lock(&graph->lock);
    for (uint32_t i = 0; i < graph->count; i++)
        task_clear(&graph->tasks[i]);
    graph->was_run = true;
    graph->n_done = 0;
    graph->is_final = false;
    pthread_mutex_unlock(&graph->lock);
    for (uint32_t i = 0; i < graph->count; i++)
        run_task(run, i);
    pthread_mutex_lock(&graph->lock);
    task_graph_update(graph);
    cls_status status = task_graph_report(graph);
    pthread_mutex_unlock(&graph->lock);
    return status;
}

cls_status cls_task_graph_run(cls_task_graph handle) {
    struct run run = {.graph = NULL};
    cls_status status = task_graph_get(handle, &run.graph);
    if (status)
        return status;
    status = take_graph(run.graph);
    if (!status) {
        status = plan_take(run.graph->coordinator, PLAN_ANY, &run.plan);
        if (!status) {
            status = prepare(&run);
            if (!status)
                status = run_all(&run);
            run_drop(&run);
        }
        pthread_mutex_lock(&run.graph->lock);
        run.graph->running = false;
        pthread_mutex_unlock(&run.graph->lock);
    }
    task_graph_put(run.graph);
    return status;
}

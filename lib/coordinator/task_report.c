/* SPDX-License-Identifier: MIT */
/* The states of tasks after a run: query, wait, and which task is the cause of a failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/sized.h"
#include "coordinator/internals.h"
#include "coordinator/task.h"

/* --- states --- */

/* The task that failed first on the way of prerequisites, or CLS_NO_TASK. Prerequisites have lower numbers,
 * so their states are up to date. */
static uint32_t cause_ahead(const struct task_graph *graph, uint32_t number, cls_status *status) {
    struct wait_graph_span span = wait_graph_prerequisites(graph->edges, number);
    for (size_t i = 0; i < span.count; i++) {
        const struct task *first = &graph->tasks[span.nodes[i]];
        if (!first->status)
            continue;
        *status = first->status;
        return first->state == CLS_TASK_FAILED ? span.nodes[i] : first->cause;
    }
    return CLS_NO_TASK;
}

/* Where a stream's failure comes from: found once per update, for all tasks of the stream. */
struct verdict {
    const struct failure *failure;
    uint64_t first;  /* the first failed position, when this was found */
    uint32_t origin; /* the task whose command failed, on whatever stream, or CLS_NO_TASK */
    uint32_t within; /* the task of the stream in whose work the failure begins, or CLS_NO_TASK */
};

/* One for each failure. Without memory the latest share `spare`, and are found again. */
struct verdicts {
    struct verdict *of;
    unsigned count, room;
    struct verdict spare;
};

static struct verdict *place_of_next(struct verdicts *verdicts) {
    if (!ARRAY_ROOM(verdicts->of, verdicts->count, verdicts->room, 16))
        return &verdicts->spare;
    return &verdicts->of[verdicts->count++];
}

static uint32_t task_within(const struct task_graph *graph, const struct stream *stream,
                            uint64_t first) {
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct task *task = &graph->tasks[i];
        if (task->stream == stream && task->begin < first && first <= task->end)
            return i;
    }
    return CLS_NO_TASK;
}

/* The failure of a called task's work so far, or of its submission; or NULL. A task that had failed when it
 * was submitted is not charged with a failure that a later task brought into the stream. */
static const struct failure *find_failure(const struct task *task) {
    return task->returned ? task->failure : stream_failure_at(task->stream, task->end);
}

static void set_state(struct task *task, cls_task_state state, cls_status status, uint32_t cause) {
    task->state = state;
    task->status = status;
    task->cause = cause;
}

static uint32_t origin_of(const struct task_graph *graph, const struct failure *failure) {
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct task *task = &graph->tasks[i];
        if (task->step == TASK_CALLED && task->stream->id == failure->origin &&
            task->begin < failure->at && failure->at <= task->end)
            return i;
    }
    return CLS_NO_TASK;
}

static const struct verdict *verdict_of(const struct task_graph *graph, const struct task *task,
                                        struct verdicts *verdicts) {
    const struct failure *failure = task->failure;
    const uint64_t first = atomic_load(&failure->first);
    for (unsigned i = 0; i < verdicts->count; i++)
        if (verdicts->of[i].failure == failure && verdicts->of[i].first == first)
            return &verdicts->of[i];
    struct verdict *verdict = place_of_next(verdicts);
    *verdict = (struct verdict){failure, first, origin_of(graph, failure), CLS_NO_TASK};
    if (verdict->origin == CLS_NO_TASK)
        verdict->within = task_within(graph, task->stream, first);
    return verdict;
}

/* The cause that lies in an earlier task: that task, or its own cause. */
static uint32_t cause_within(const struct task_graph *graph, const struct task *task,
                             uint32_t number) {
    if (number >= (uint32_t)(task - graph->tasks))
        return CLS_NO_TASK;
    const struct task *other = &graph->tasks[number];
    return other->state == CLS_TASK_POISONED ? other->cause : number;
}

/* For a task without a failed prerequisite. A failure that no task's command caused counts as the task's own
 * where it begins within its work; one that begins earlier or later was brought into the stream by somebody
 * else. */
static void set_failed_state(const struct task_graph *graph, struct task *task,
                             struct verdicts *verdicts) {
    const struct verdict *verdict = verdict_of(graph, task, verdicts);
    const cls_status status = verdict->failure->status;
    const uint32_t origin = verdict->origin;
    bool within = task->step == TASK_CALLED && verdict->first > task->begin;
    if (origin == CLS_NO_TASK ? within : task == &graph->tasks[origin])
        set_state(task, CLS_TASK_FAILED, status, CLS_NO_TASK);
    else if (origin != CLS_NO_TASK)
        set_state(task, CLS_TASK_POISONED, status, origin);
    else
        set_state(task, CLS_TASK_POISONED, status, cause_within(graph, task, verdict->within));
}

/* Called before the failure is read, because progress may be what notices it. */
static bool is_pending(const struct task *task) {
    return task->step == TASK_CALLED && !task->returned && stream_query(task->stream, task->end);
}

static void update(struct task_graph *graph, uint32_t number, struct verdicts *verdicts) {
    struct task *task = &graph->tasks[number];
    cls_status status = CLS_SUCCESS;
    if (task->step == TASK_WAITING)
        return;
    bool pending = is_pending(task);
    if (task->step == TASK_CALLED)
        task->failure = find_failure(task);
    uint32_t cause = cause_ahead(graph, number, &status);
    if (status && (task->failure || task->returned || task->step == TASK_SKIPPED))
        set_state(task, CLS_TASK_POISONED, status, cause);
    else if (task->failure)
        set_failed_state(graph, task, verdicts);
    else if (task->returned)
        set_state(task, CLS_TASK_FAILED, task->returned, CLS_NO_TASK);
    else if (pending)
        set_state(task, CLS_TASK_PENDING, CLS_SUCCESS, CLS_NO_TASK);
    else
        set_state(task, CLS_TASK_DONE, CLS_SUCCESS, CLS_NO_TASK);
}

bool task_graph_update(struct task_graph *graph) {
    struct verdicts verdicts = {.count = 0};
    bool pending = false;
    if (graph->is_final)
        return false;
    for (uint32_t i = graph->n_done; i < graph->count; i++) {
        update(graph, i, &verdicts);
        pending |= graph->tasks[i].state == CLS_TASK_PENDING;
        if (i == graph->n_done && graph->tasks[i].state == CLS_TASK_DONE)
            graph->n_done++;
    }
    free(verdicts.of);
    graph->is_final = !pending && !graph->running;
    return pending;
}

/* --- reports --- */

static cls_status report_task(const struct task *task) {
    const char *how = task->state == CLS_TASK_FAILED ? "failed" : "is poisoned";
    const char *why = task->detail ? task->detail : cls_status_string(task->status);
    int code = task->code;
    if (task->failure) {
        failure_report(task->stream, task->failure);
        why = cls_last_error_detail();
        code = task->failure->code;
    }
    return error_set_code(task->status, code, "task '%s' %s: %s", task->label, how, why);
}

cls_status task_graph_report(const struct task_graph *graph) {
    const struct task *poisoned = NULL;
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct task *task = &graph->tasks[i];
        if (task->state == CLS_TASK_FAILED)
            return report_task(task);
        if (task->state == CLS_TASK_POISONED && !poisoned)
            poisoned = task;
    }
    return poisoned ? report_task(poisoned) : CLS_SUCCESS;
}

/* Under the lock. */
static cls_status check_was_run(const struct task_graph *graph) {
    if (graph->was_run)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_STATE, "the task graph was never run");
}

static cls_status query(struct task_graph *graph) {
    cls_status status = check_was_run(graph);
    if (status)
        return status;
    bool pending = task_graph_update(graph) || graph->running;
    return pending ? CLS_NOT_READY : task_graph_report(graph);
}

cls_status cls_task_graph_query(cls_task_graph handle) {
    struct task_graph *graph;
    cls_status status = task_graph_get(handle, &graph);
    if (status)
        return status;
    pthread_mutex_lock(&graph->lock);
    status = query(graph);
    pthread_mutex_unlock(&graph->lock);
    task_graph_put(graph);
    return status;
}

cls_status cls_task_graph_get_info(cls_task_graph handle, uint32_t number, cls_task_info *info) {
    cls_task_info now = CLS_TASK_INFO_INIT;
    struct task_graph *graph;
    cls_status status = SIZED_CHECK(cls_task_info, info);
    if (!status)
        status = task_graph_get(handle, &graph);
    if (status)
        return status;
    pthread_mutex_lock(&graph->lock);
    if (number < graph->count) {
        task_graph_update(graph);
        const struct task *task = &graph->tasks[number];
        memcpy(now.label, task->label, sizeof now.label);
        now.stream = task->step == TASK_CALLED ? task->handle : NULL;
        now.state = task->state;
        now.status = task->status;
        now.cause = task->cause;
        SIZED_OUT(cls_task_info, info, &now);
    } else {
        status = error_set(CLS_ERROR_OUT_OF_RANGE, "no task %lu; the graph has %lu",
                           (unsigned long)number, (unsigned long)graph->count);
    }
    pthread_mutex_unlock(&graph->lock);
    task_graph_put(graph);
    return status;
}

/* --- waiting --- */

/* A retained stream, and where in it the task ends; NULL for one that was not called. */
static struct stream *end_of(struct task_graph *graph, uint32_t number, uint64_t *end) {
    struct stream *stream = NULL;
    pthread_mutex_lock(&graph->lock);
    if (number < graph->count && graph->tasks[number].step == TASK_CALLED) {
        stream = graph->tasks[number].stream;
        *end = graph->tasks[number].end;
        object_retain(&stream->object);
    }
    pthread_mutex_unlock(&graph->lock);
    return stream;
}

static cls_status check_may_wait(struct task_graph *graph, uint32_t *count) {
    cls_status status = check_may_block();
    if (status)
        return status;
    pthread_mutex_lock(&graph->lock);
    status = check_was_run(graph);
    if (!status && graph->running)
        status = error_set(CLS_ERROR_INVALID_STATE, "the task graph is being run");
    *count = graph->count;
    pthread_mutex_unlock(&graph->lock);
    return status;
}

static cls_status time_out(struct task_graph *graph, uint32_t number, struct stream *stream) {
    char what[128];
    pthread_mutex_lock(&graph->lock);
    snprintf(what, sizeof what, "task '%s' is still at work", graph->tasks[number].label);
    pthread_mutex_unlock(&graph->lock);
    return explain_timeout_of(what, &stream, 1);
}

static cls_status wait_all(struct task_graph *graph, uint64_t deadline) {
    uint32_t count;
    uint64_t end;
    cls_status status = check_may_wait(graph, &count);
    for (uint32_t i = 0; i < count && !status; i++) {
        struct stream *stream = end_of(graph, i, &end);
        if (!stream)
            continue;
        if (!stream_await(stream, end, deadline))
            status = time_out(graph, i, stream);
        stream_put(stream);
    }
    if (status)
        return status;
    pthread_mutex_lock(&graph->lock);
    status = query(graph);
    pthread_mutex_unlock(&graph->lock);
    return status;
}

cls_status cls_task_graph_wait(cls_task_graph handle, uint64_t timeout_ns) {
    struct task_graph *graph;
    uint64_t deadline = deadline_after(timeout_ns);
    cls_status status = task_graph_get(handle, &graph);
    if (status)
        return status;
    status = wait_all(graph, deadline);
    task_graph_put(graph);
    return status;
}

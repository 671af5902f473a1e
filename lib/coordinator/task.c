/* SPDX-License-Identifier: MIT */
/* Task graphs: create, destroy, add a task, draw. */
#include "coordinator/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "coordinator/coordinator.h"
#include "coordinator/dot.h"

enum { FIRST_CAPACITY = 16 };

void task_clear(struct task *task) {
    if (task->stream)
        stream_put(task->stream);
    free(task->detail);
    task->step = TASK_WAITING;
    task->stream = NULL;
    task->handle = NULL;
    task->failure = NULL;
    task->returned = CLS_SUCCESS;
    task->detail = NULL;
    task->state = CLS_TASK_NEW;
    task->status = CLS_SUCCESS;
    task->cause = CLS_NO_TASK;
}

/* --- the object --- */

static void task_graph_finalize(struct object *object) {
    struct task_graph *graph = (struct task_graph *)(void *)object;
    for (uint32_t i = 0; i < graph->count; i++)
        task_clear(&graph->tasks[i]);
    free(graph->tasks);
    wait_graph_destroy(graph->edges);
    pthread_mutex_destroy(&graph->lock);
    coordinator_put(graph->coordinator);
}

struct object_pool task_graph_pool =
    OBJECT_POOL(8, sizeof(struct task_graph), "task graph", task_graph_finalize);

cls_status task_graph_get(cls_task_graph handle, struct task_graph **out) {
    struct task_graph *graph = object_acquire(&task_graph_pool, handle);
    if (!graph)
        return object_invalid(&task_graph_pool, handle);
    *out = graph;
    return CLS_SUCCESS;
}

/* Takes over the coordinator's reference on success. */
static cls_status build(struct coordinator *coordinator, struct task_graph **out) {
    struct wait_graph *edges;
    cls_status status = wait_graph_create(false, &edges);
    if (status)
        return status;
    struct task_graph *graph = object_create(&task_graph_pool);
    if (!graph || pthread_mutex_init(&graph->lock, NULL)) {
        if (graph)
            object_abandon(&graph->object);
        wait_graph_destroy(edges);
        return object_none(&task_graph_pool, "a task graph");
    }
    graph->coordinator = coordinator;
    graph->edges = edges;
    *out = graph;
    return CLS_SUCCESS;
}

cls_status cls_task_graph_create(cls_coordinator handle, cls_task_graph *out) {
    struct coordinator *coordinator;
    struct task_graph *graph;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_task_graph_create: out is null");
    cls_status status = coordinator_get(handle, &coordinator);
    if (status)
        return status;
    status = build(coordinator, &graph);
    if (status)
        coordinator_put(coordinator);
    else
        *out = object_handle(&graph->object);
    return status;
}

cls_status cls_task_graph_destroy(cls_task_graph handle) {
    return object_destroy(&task_graph_pool, handle) ? CLS_SUCCESS
                                                    : object_invalid(&task_graph_pool, handle);
}

/* --- adding --- */

static cls_status check_task(const cls_task *task) {
    if (!task->fn || (task->n_prerequisites && !task->prerequisites))
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_task_graph_add: a task without %s",
                         task->fn ? "the list of its prerequisites" : "a function");
    return CLS_SUCCESS;
}

static cls_status reserve(struct task_graph *graph) {
    if (graph->count < graph->capacity)
        return CLS_SUCCESS;
    size_t capacity = graph->capacity ? 2 * (size_t)graph->capacity : FIRST_CAPACITY;
    struct task *grown = NULL;
    if (capacity < CLS_NO_TASK && capacity <= SIZE_MAX / sizeof *grown)
        grown = realloc(graph->tasks, capacity * sizeof *grown);
    if (!grown)
        return error_no_memory("for a task");
    graph->tasks = grown;
    graph->capacity = (uint32_t)capacity;
    return CLS_SUCCESS;
}

static cls_status add_edges(struct task_graph *graph, uint32_t node, const cls_task *task) {
    cls_status status = CLS_SUCCESS;
    for (size_t i = 0; i < task->n_prerequisites && !status; i++) {
        if (task->prerequisites[i] >= node)
            return error_set(CLS_ERROR_INVALID_VALUE,
                             "task '%s' names prerequisite %lu, but there are %lu tasks before it",
                             wait_graph_label(graph->edges, node),
                             (unsigned long)task->prerequisites[i], (unsigned long)node);
        status = wait_graph_add_edge(graph->edges, node, task->prerequisites[i]);
    }
    return status;
}

/* Under the lock. A node removed on failure gives its number to the next one, so numbers stay dense. */
static cls_status add_task(struct task_graph *graph, const cls_task *task, uint32_t *number) {
    struct task added = {.wanted = task->stream, .fn = task->fn, .arg = task->arg};
    uint32_t node;
    if (task->label)
        snprintf(added.label, sizeof added.label, "%s", task->label);
    else
        snprintf(added.label, sizeof added.label, "task %lu", (unsigned long)graph->count);
    cls_status status = reserve(graph);
    if (!status)
        status = wait_graph_add_node(graph->edges, NULL, added.label, &node);
    if (status)
        return status;
    status = add_edges(graph, node, task);
    if (status) {
        wait_graph_remove_node(graph->edges, node);
        return status;
    }
    task_clear(&added);
    graph->tasks[graph->count++] = added;
    if (number)
        *number = node;
    return CLS_SUCCESS;
}

cls_status cls_task_graph_add(cls_task_graph handle, const cls_task *given, uint32_t *number) {
    cls_task task = CLS_TASK_INIT;
    struct task_graph *graph;
    cls_status status = SIZED_IN(cls_task, &task, given);
    if (!status)
        status = check_task(&task);
    if (!status)
        status = task_graph_get(handle, &graph);
    if (status)
        return status;
    pthread_mutex_lock(&graph->lock);
    if (graph->running)
        status = error_set(CLS_ERROR_INVALID_STATE, "the task graph is being run");
    else
        status = add_task(graph, &task, number);
    pthread_mutex_unlock(&graph->lock);
    task_graph_put(graph);
    return status;
}

/* --- drawing --- */

cls_status cls_task_graph_write_dot(cls_task_graph handle, FILE *file) {
    struct task_graph *graph;
    struct text text;
    if (!file)
        return error_set(CLS_ERROR_INVALID_VALUE, "the file is null");
    cls_status status = task_graph_get(handle, &graph);
    if (status)
        return status;
    pthread_mutex_lock(&graph->lock);
    status = dot_draw(graph->edges, "tasks", wait_graph_write_dot, &text);
    pthread_mutex_unlock(&graph->lock);
    if (!status)
        status = dot_write(&text, file);
    task_graph_put(graph);
    return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * Task graphs: functions with prerequisites, which a run distributes over the streams of a coordinator. The
 * prerequisites of a task always have lower numbers, so the numbers are an order to run in.
 *
 * Nobody notes when a task ends. Its state is updated when it is asked for, from the positions of its work in its
 * stream and from the failures that the stream has recorded.
 */
#ifndef CLSTREAM_COORDINATOR_TASK_H
#define CLSTREAM_COORDINATOR_TASK_H

#include <pthread.h>
#include <stdbool.h>

#include <clstream/task.h>

#include "base/handle.h"
#include "coordinator/wait_graph.h"

struct coordinator;
struct failure;
struct stream;

/* How far the latest run got with a task. */
enum task_step { TASK_WAITING, TASK_CALLED, TASK_SKIPPED };

struct task {
    char label[64];
    cls_stream wanted; /* CLS_ANY_STREAM, or one of the set when it is run */
    cls_task_fn fn;
    void *arg;
    /* Of the latest run. */
    enum task_step step;
    struct stream *stream; /* retained; NULL: none was chosen */
    cls_stream handle;
    const struct failure
        *failure; /* of the stream; the task was skipped for it, or its work failed with it */
    uint64_t begin, end; /* its work has the positions above `begin`, up to `end` */
    cls_status returned; /* by the function */
    int code;            /* the driver's, behind that */
    char *detail;        /* NULL: none, or there was no memory for it */
    /* Written by task_graph_update. */
    cls_task_state state;
    cls_status status;
    uint32_t cause;
};

struct task_graph {
    struct object object;
    struct coordinator *coordinator; /* retained */
    pthread_mutex_t lock;            /* guards what follows; streams' locks are taken inside it */
    struct wait_graph *edges;        /* node i is task i */
    struct task *tasks;
    uint32_t count, capacity;
    bool running; /* no tasks are added; cls_task_graph_run writes results under the lock */
    bool was_run;
    /* States that cannot change any more are not updated again. */
    uint32_t n_done; /* so many tasks, the first ones, are done */
    bool is_final;   /* the run is over, and no task is pending */
};

extern struct object_pool task_graph_pool;

/* Looks up a handle and takes a reference. Reports. */
cls_status task_graph_get(cls_task_graph handle, struct task_graph **out);
static inline void task_graph_put(struct task_graph *graph) { object_release(&graph->object); }

/* Clears the results of the latest run from a task. */
void task_clear(struct task *task);

/* Under the lock: updates every task's state. True while one is pending. */
bool task_graph_update(struct task_graph *graph);

/* Under the lock, after an update: reports the first failure; CLS_SUCCESS when there is none. */
cls_status task_graph_report(const struct task_graph *graph);

#endif

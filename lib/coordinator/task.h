/* SPDX-License-Identifier: MIT */
/*
 * Task graphs inside. Prerequisites are always of a lower number, so the numbers are an order to run in;
 * the graph keeps the edges. A task's outcome is made out when it is asked for, from the positions that
 * its work has in its stream and from the failures that the stream has recorded.
 */
#ifndef CLSTREAM_COORDINATOR_TASK_H
#define CLSTREAM_COORDINATOR_TASK_H

#include <pthread.h>
#include <stdbool.h>

#include <clstream/task.h>

#include "base/handle.h"
#include "coordinator/graph.h"

struct coordinator;
struct failure;
struct stream;

/* How far the latest run has come with a task. */
enum task_step { TASK_AHEAD, TASK_CALLED, TASK_LEFT_OUT };

struct task {
    char label[64];
    cls_stream wanted; /* CLS_ANY_STREAM, or one of the set when it is run */
    cls_task_fn fn;
    void *arg;
    /* Of the latest run. */
    enum task_step step;
    struct stream *stream; /* retained; NULL: it did not come to that */
    cls_stream handle;
    const struct failure *failure; /* the stream's, that left it out or that its work has met */
    uint64_t begin, end;           /* its work has the positions above `begin`, up to `end` */
    cls_status returned;           /* by the function */
    int code;                      /* the driver's, behind that */
    char *detail;                  /* NULL: none, or there was no memory for it */
    /* Made out by task_graph_judge. */
    cls_task_state state;
    cls_status status;
    uint32_t cause;
};

struct task_graph {
    struct object object;
    struct coordinator *coordinator; /* retained */
    pthread_mutex_t lock;            /* guards what follows; streams' locks are taken inside it */
    struct graph *edges;             /* node i is task i */
    struct task *tasks;
    uint32_t count, capacity;
    bool running; /* the tasks are not added to; the runner writes under the lock */
    bool was_run;
    /* What is made out for good is not looked at again. */
    uint32_t n_done; /* so many tasks, the first ones, are done */
    bool settled;    /* the run is over, and no task is pending */
};

extern struct object_pool task_graph_pool;

/* Looks up a handle and takes a reference. Reports. */
cls_status task_graph_get(cls_task_graph handle, struct task_graph **out);
static inline void task_graph_put(struct task_graph *graph) { object_release(&graph->object); }

/* Forgets what the latest run left with a task. */
void task_clear(struct task *task);

/* Under the lock: makes out every task's state. True while one is pending. */
bool task_graph_judge(struct task_graph *graph);

/* Under the lock, after judging: reports the first failure; CLS_SUCCESS when there is none. */
cls_status task_graph_report(const struct task_graph *graph);

#endif

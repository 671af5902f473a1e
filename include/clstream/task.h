/* SPDX-License-Identifier: MIT */
/**
 * @file task.h
 * Task graphs: pieces of work with names and prerequisites, spread over the streams of a coordinator.
 *
 * A task is a function that submits work to the stream it is given. Its prerequisites are tasks added
 * before it, so a task graph has no cycles. A run calls the functions and puts the waits in place; the
 * dependencies between the coordinator's streams have no part in it.
 *
 * **Failure.** A task fails when its function returns an error, or when a command that it submitted
 * fails. What depends on it, directly or not, is poisoned: it is not called any more, or what it had
 * submitted fails with it, and it is reported with the task that was the cause. A failed command poisons
 * its stream as well (stream.h), so the tasks that come after it on the same stream share its fate. So do those
 * before it that the stream still holds, where one behind them makes it depend on a failed task's.
 *
 * All calls are safe from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_INVALID_VALUE (a null argument, a size field of another library), CLS_ERROR_OUT_OF_MEMORY;
 * cls_task_graph_run also returns what a submission can (stream.h), CLS_ERROR_LIMIT for one.
 */
#ifndef CLSTREAM_TASK_H
#define CLSTREAM_TASK_H

#include <stdio.h>

#include <clstream/coordinator.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Tasks with their prerequisites. */
typedef struct cls_task_graph_handle *cls_task_graph;

/** The stream of a task that may run on any stream of the set. */
#define CLS_ANY_STREAM NULL

/** In place of a task's number: none. */
#define CLS_NO_TASK UINT32_MAX

/**
 * A task's function: submits its work to `stream`; what it submits there waits for the prerequisites and
 * is waited for by the dependents. Called without a lock held.
 * @return CLS_SUCCESS, or an error, which fails the task; CLS_NOT_READY counts as CLS_ERROR_INVALID_STATE
 */
typedef cls_status (*cls_task_fn)(cls_stream stream, void *arg);

/** A task to add. Start with CLS_TASK_INIT. */
typedef struct cls_task {
    size_t size;                   /**< sizeof(cls_task) */
    const char *label;             /**< copied, at most 63 bytes kept; NULL: "task N" */
    cls_stream stream;             /**< one of the coordinator's set, or CLS_ANY_STREAM */
    cls_task_fn fn;                /**< submits the task's work */
    void *arg;                     /**< for `fn` */
    const uint32_t *prerequisites; /**< numbers of tasks; may be NULL when there are none */
    size_t n_prerequisites;        /**< of `prerequisites` */
} cls_task;

#define CLS_TASK_INIT \
    { sizeof(cls_task), 0, CLS_ANY_STREAM, 0, 0, 0, 0 }

/** What has become of a task in the latest run. */
typedef enum cls_task_state {
    CLS_TASK_NEW = 0,     /**< no run has come to it yet */
    CLS_TASK_PENDING = 1, /**< its work is not done */
    CLS_TASK_DONE = 2,    /**< its work is done and went well */
    CLS_TASK_FAILED = 3,  /**< by itself */
    CLS_TASK_POISONED = 4 /**< by another task, or by a failure from outside the graph */
} cls_task_state;

/** What a task is and has come to. Start with CLS_TASK_INFO_INIT. */
typedef struct cls_task_info {
    size_t size;          /**< sizeof(cls_task_info) */
    char label[64];       /**< as added */
    cls_stream stream;    /**< where it was run; NULL: it was not called */
    cls_task_state state; /**< in the latest run */
    cls_status status;    /**< of a failed or poisoned task: the error; else CLS_SUCCESS */
    uint32_t cause;       /**< of a poisoned task: the failed one; else CLS_NO_TASK */
} cls_task_info;

#define CLS_TASK_INFO_INIT \
    { sizeof(cls_task_info), "", 0, CLS_TASK_NEW, CLS_SUCCESS, CLS_NO_TASK }

/** Creates a task graph without tasks over the streams of a coordinator, which may be destroyed before
 * it. */
CLS_API cls_status cls_task_graph_create(cls_coordinator coordinator, cls_task_graph *out);

/** Destroys a task graph and returns at once; submitted work still completes. */
CLS_API cls_status cls_task_graph_destroy(cls_task_graph graph);

/**
 * Adds a task. `number` (may be NULL) is told its number: 0, 1, ... in the order of adding.
 * @retval CLS_ERROR_INVALID_VALUE a null function, a prerequisite that is not there
 * @retval CLS_ERROR_INVALID_STATE the graph is being run
 */
CLS_API cls_status cls_task_graph_add(cls_task_graph graph, const cls_task *task, uint32_t *number);

/**
 * Runs the graph: calls the functions on this thread, each after those of its prerequisites. Returns when
 * all is submitted; does not wait for the device. Functions whose tasks are poisoned are not called, the
 * others are. A task for any stream goes where a prerequisite was the last to go, and else to the stream
 * with the least to do. A graph may be run again and again, also while work of an earlier run is pending:
 * what of it the streams do not order is not ordered (cls_coordinator_barrier between two runs does).
 * @retval CLS_ERROR_INVALID_STATE  it is being run, or the set has no streams
 * @retval CLS_ERROR_NOT_FOUND      a task's stream is not in the set; nothing was called
 * @retval CLS_ERROR_INVALID_HANDLE also a stream of the set that was destroyed; nothing was called
 * @return the first failure known so far, with the task's label in the detail
 */
CLS_API cls_status cls_task_graph_run(cls_task_graph graph);

/**
 * Asks what the latest run came to. Polling alone finishes the work.
 * @retval CLS_NOT_READY           some task is pending, whatever the others came to
 * @retval CLS_ERROR_INVALID_STATE it was never run
 * @return with all settled, the error of the first task that failed by itself, its label in the detail
 */
CLS_API cls_status cls_task_graph_query(cls_task_graph graph);

/**
 * Waits until all tasks of the latest run are settled, for at most `timeout_ns` nanoseconds (UINT64_MAX:
 * without end). Returns as cls_task_graph_query, and:
 * @retval CLS_ERROR_TIMEOUT        some task is still pending; the detail names it and says what its stream
 *                                  waits for
 * @retval CLS_ERROR_INVALID_STATE  also while it is being run
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 */
CLS_API cls_status cls_task_graph_wait(cls_task_graph graph, uint64_t timeout_ns);

/**
 * What a task is and has come to.
 * @retval CLS_ERROR_OUT_OF_RANGE there is no task of that number
 */
CLS_API cls_status cls_task_graph_get_info(cls_task_graph graph, uint32_t number,
                                           cls_task_info *info);

/**
 * Writes the tasks and their prerequisites as Graphviz DOT; arrows point to what is waited for.
 * @retval CLS_ERROR_IO writing failed
 */
CLS_API cls_status cls_task_graph_write_dot(cls_task_graph graph, FILE *file);

CLS_END_DECLS

#endif

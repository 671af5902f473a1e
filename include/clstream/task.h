/* SPDX-License-Identifier: MIT */
/**
 * @file task.h
 * Task graphs: named tasks with prerequisites, distributed over the streams of a coordinator.
 *
 * A task is a function that submits work to the stream that it is given. Its prerequisites are
 * tasks that were added before it, so a task graph has no cycles. Running the graph calls the
 * functions and makes each task's work wait for that of its prerequisites. The dependencies between
 * the coordinator's streams are not used.
 *
 * **Failure.** A task fails if its function returns an error, or if a command that it submitted
 * fails. All tasks that depend on it, directly or not, are poisoned: they are not called any more,
 * or the work that they had submitted fails too. A poisoned task is reported with the task that
 * caused it. A failed command also poisons its stream (stream.h), so later tasks on the same stream
 * fail too. So do earlier tasks that the stream still holds, if a task behind them makes the stream
 * depend on a failed one.
 *
 * Every function may be called from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_INVALID_VALUE (a null argument, a wrong size),
 * CLS_ERROR_OUT_OF_MEMORY. cls_task_graph_run also returns the statuses of submissions (stream.h),
 * such as CLS_ERROR_LIMIT.
 */
#ifndef CLSTREAM_TASK_H
#define CLSTREAM_TASK_H

#include <stdio.h>

#include <clstream/coordinator.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A set of tasks with their prerequisites. */
typedef struct cls_task_graph_handle *cls_task_graph;

/** The stream of a task that may run on any stream of the set. */
#define CLS_ANY_STREAM NULL

/** Stands for no task, in place of a task's number. */
#define CLS_NO_TASK UINT32_MAX

/**
 * The function of a task: submits its work to `stream`. This work waits for that of the
 * prerequisites, and the work of the dependents waits for it. Called without a lock held.
 * @return CLS_SUCCESS, or an error, which fails the task; CLS_NOT_READY counts as
 *         CLS_ERROR_INVALID_STATE
 */
typedef cls_status (*cls_task_fn)(cls_stream stream, void *arg);

/** A task to add. Start with CLS_TASK_INIT. */
typedef struct cls_task {
    size_t size;                   /**< sizeof(cls_task) */
    const char *label;             /**< copied, at most 63 bytes kept; NULL: "task N" */
    cls_stream stream;             /**< a stream of the coordinator, or CLS_ANY_STREAM */
    cls_task_fn fn;                /**< submits the task's work */
    void *arg;                     /**< argument of `fn` */
    const uint32_t *prerequisites; /**< numbers of tasks; may be NULL if there are none */
    size_t n_prerequisites;        /**< number of `prerequisites` */
} cls_task;

#define CLS_TASK_INIT \
    { sizeof(cls_task), 0, CLS_ANY_STREAM, 0, 0, 0, 0 }

/** State of a task in the latest run. */
typedef enum cls_task_state {
    CLS_TASK_NEW = 0,     /**< no run has reached it yet */
    CLS_TASK_PENDING = 1, /**< its work is not done */
    CLS_TASK_DONE = 2,    /**< its work is done and succeeded */
    CLS_TASK_FAILED = 3,  /**< it failed itself */
    CLS_TASK_POISONED = 4 /**< it failed because of another task, or of a failure outside the
                               graph */
} cls_task_state;

/** Properties and state of a task. Start with CLS_TASK_INFO_INIT. */
typedef struct cls_task_info {
    size_t size;          /**< sizeof(cls_task_info) */
    char label[64];       /**< as added */
    cls_stream stream;    /**< the stream that it ran on; NULL: it was not called */
    cls_task_state state; /**< in the latest run */
    cls_status status;    /**< error of a failed or poisoned task; else CLS_SUCCESS */
    uint32_t cause;       /**< the failed task that poisoned this one; else CLS_NO_TASK */
    int reserved;         /**< 0; later releases may give it a meaning */
} cls_task_info;

#define CLS_TASK_INFO_INIT \
    { sizeof(cls_task_info), "", 0, CLS_TASK_NEW, CLS_SUCCESS, CLS_NO_TASK, 0 }

/**
 * Creates a task graph without tasks over the streams of a coordinator, which may be destroyed
 * before the graph. The caller destroys the graph.
 */
CLS_API cls_status cls_task_graph_create(cls_coordinator coordinator, cls_task_graph *out);

/** Destroys a task graph and returns at once. Submitted work still completes. */
CLS_API cls_status cls_task_graph_destroy(cls_task_graph graph);

/**
 * Adds a task. `number` (may be NULL) receives its number: 0, 1, ... in the order of adding.
 * @retval CLS_ERROR_INVALID_VALUE the function is null, or a prerequisite does not exist
 * @retval CLS_ERROR_INVALID_STATE the graph is being run
 */
CLS_API cls_status cls_task_graph_add(cls_task_graph graph, const cls_task *task, uint32_t *number);

/**
 * Runs the graph: calls the functions on this thread, each after those of its prerequisites.
 * Returns when all work is submitted; does not wait for the device. It does not call functions of
 * poisoned tasks; it calls all others. A task for any stream goes to a stream whose last task is
 * one of its prerequisites, or, if there is none, to the stream with the least work. A graph may be
 * run repeatedly, also while work of an earlier run is pending: two runs are ordered only as far as
 * the streams order them (cls_coordinator_barrier between two runs orders them fully).
 * @retval CLS_ERROR_INVALID_STATE  the graph is being run, or the coordinator has no streams
 * @retval CLS_ERROR_NOT_FOUND      a task's stream is not in the set; nothing was called
 * @retval CLS_ERROR_INVALID_HANDLE also if a stream of the set was destroyed; nothing was called
 * @return the first failure known so far, with the task's label in the detail
 */
CLS_API cls_status cls_task_graph_run(cls_task_graph graph);

/**
 * Asks for the result of the latest run. Calling it repeatedly is enough for the work to finish.
 * @retval CLS_NOT_READY           some task is pending, even if others have failed
 * @retval CLS_ERROR_INVALID_STATE the graph was never run
 * @return once all tasks are settled, the error of the first task that failed itself, with its
 *         label in the detail
 */
CLS_API cls_status cls_task_graph_query(cls_task_graph graph);

/**
 * Waits until all tasks of the latest run are settled, for at most `timeout_ns` nanoseconds
 * (CLS_FOREVER: without limit). Statuses as for cls_task_graph_query, and:
 * @retval CLS_ERROR_TIMEOUT        some task is still pending; the detail names it and says what
 *                                  its stream waits for
 * @retval CLS_ERROR_INVALID_STATE  also while the graph is being run
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 */
CLS_API cls_status cls_task_graph_wait(cls_task_graph graph, uint64_t timeout_ns);

/**
 * Gets the properties and the state of a task.
 * @retval CLS_ERROR_OUT_OF_RANGE there is no task of this number
 */
CLS_API cls_status cls_task_graph_get_info(cls_task_graph graph, uint32_t number,
                                           cls_task_info *info);

/**
 * Writes the tasks and their prerequisites as Graphviz DOT. Arrows point to the prerequisite.
 * @retval CLS_ERROR_IO writing failed
 */
CLS_API cls_status cls_task_graph_write_dot(cls_task_graph graph, FILE *file);

CLS_END_DECLS

#endif

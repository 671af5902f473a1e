/* SPDX-License-Identifier: MIT */
/**
 * @file event.h
 * Events: points in a stream's work that streams and the host can wait for, and measure time
 * between.
 *
 * An event holds its latest record only. Every function may be called from any thread.
 *
 * **Other processes.** A shareable event is one event in all processes that open it: cls_event_export gives a file
 * descriptor, which is sent over a Unix socket (sendmsg with SCM_RIGHTS) or inherited, and cls_event_import opens it there.
 * A wait or a query takes the latest record of any process at the time of the call. An event that no process has recorded
 * counts as done. With shareable memory (share.h), streams of several processes work on the same bytes in order.
 *
 * The host orders such work. A record holds its stream's later work back until the work before it is done and known to be,
 * as a host function does. Work behind a wait is held by the library, which looks for the record about every 0.4 ms, and on a
 * device that does not compute on the host's cores every 20 us at first; a wait of the host looks more often at first.
 *
 * A record whose work failed fails the waits for it in every process with CLS_ERROR_COMMAND_FAILED, and so does one whose
 * process ended, or was killed, before the work was done: no wait outlasts the process that it is for. A child that was
 * forked and executed no other program keeps such a record pending until it ends as well. The processes must trust each
 * other, as any can end a record. A query or wait of the host goes on failing until somebody records the event again. An outcome
 * is kept until the 510th record after it: a stream that looks for it later goes on as if the work had not failed.
 *
 * A captured stream refuses records of shareable events and waits for them, but for cls_stream_wait_external_event. Calls that
 * need a position of a stream return CLS_ERROR_UNSUPPORTED: cls_event_get_cl, cls_event_wait_cl, cls_stream_frees_wait_event
 * and waits of pipelines. As there is no telling what another process does, no deadlock is reported, and the race checker
 * knows no order by such an event (check.h).
 */
#ifndef CLSTREAM_EVENT_H
#define CLSTREAM_EVENT_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Options of cls_event_create. Start with CLS_EVENT_CONFIG_INIT. */
typedef struct cls_event_config {
    size_t size;   /**< sizeof(cls_event_config) */
    int timed;     /**< nonzero: records take a device timestamp, for cls_event_elapsed */
    int shareable; /**< nonzero: other processes can open the event, which is then not timed */
} cls_event_config;

#define CLS_EVENT_CONFIG_INIT \
    { sizeof(cls_event_config), 0, 0 }

/**
 * Creates an event on a context. NULL `config`: not timed. The caller destroys the event. A shareable one
 * takes a page of memory and a file descriptor.
 * @retval CLS_ERROR_INVALID_VALUE the event is to be timed and shareable
 * @retval CLS_ERROR_UNSUPPORTED   the system cannot share events: it is not Linux 3.17 or later, as a rule
 * @retval CLS_ERROR_LIMIT         the process has no file descriptor left
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_event_create(cls_context context, const cls_event_config *config,
                                    cls_event *out);

/**
 * Destroys an event. Waits that were already taken on it remain in effect. A shareable event lives on in other processes,
 * and pending records of this one still end.
 */
CLS_API cls_status cls_event_destroy(cls_event event);

/**
 * Gets a file descriptor of a shareable event, for cls_event_import in another process. The caller closes it (it is closed on
 * exec).
 * @retval CLS_ERROR_INVALID_VALUE the event is not shareable, or `fd` is null
 * @retval CLS_ERROR_UNSUPPORTED   the system opens no descriptors by /proc/self/fd
 * @retval CLS_ERROR_LIMIT         the process has no file descriptor left
 */
CLS_API cls_status cls_event_export(cls_event event, int *fd);

/**
 * Makes an event on a context of one that was exported, by this process or another one. The caller destroys the event, and
 * keeps the descriptor, which may be closed at once.
 * @retval CLS_ERROR_INVALID_VALUE `fd` is not of cls_event_export, or `out` is null
 * @retval CLS_ERROR_UNSUPPORTED   the system opens no descriptors by /proc/self/fd
 * @retval CLS_ERROR_LIMIT         the process has no file descriptor left
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_event_import(cls_context context, int fd, cls_event *out);

/**
 * Records the event: it now stands for the work submitted to `stream` so far. The record of a timed
 * event submits a marker command, whose end is the event's time, and makes the stream's queue a
 * profiled one from the next command on. The order of the commands is kept. The queue of a wrapped
 * stream stays as it is (opencl.h). A poisoned stream accepts the record too; the event then
 * reports the stream's error.
 * On a captured stream the event stands for nodes of the capture, and a timed one is recorded by
 * each launch of the graph (graph.h).
 * @retval CLS_ERROR_WRONG_CONTEXT the stream and the event belong to different contexts
 * @return of a shareable event also the statuses of submissions (stream.h), and CLS_ERROR_LIMIT where
 *         the system has no file lock left
 */
CLS_API cls_status cls_event_record(cls_event event, cls_stream stream);

/**
 * Asks whether the recorded work is done. An event that was never recorded counts as done.
 * @retval CLS_NOT_READY the work is pending
 * @return the error of the stream if a command of the recorded work failed
 */
CLS_API cls_status cls_event_query(cls_event event);

/** Waits for the recorded work. Statuses as for cls_stream_synchronize. */
CLS_API cls_status cls_event_synchronize(cls_event event);

/**
 * Waits for the recorded work for at most `timeout_ns` nanoseconds (CLS_FOREVER: without limit).
 * Statuses as for cls_stream_wait.
 */
CLS_API cls_status cls_event_wait(cls_event event, uint64_t timeout_ns);

/**
 * Gets the device time from `start` to `end`, in milliseconds. The resolution is that of the
 * device's timer, or about 1 us if the driver's timestamps are unusable and the library uses the
 * host's clock.
 * @retval CLS_ERROR_NOT_TIMED     one of the events is not timed, or was never recorded, whatever is
 *                                 pending; or it was recorded in a capture, and by no launch since
 * @retval CLS_NOT_READY           the work of one of the events is pending, and the other's is well
 * @retval CLS_ERROR_WRONG_CONTEXT the events belong to different contexts
 */
CLS_API cls_status cls_event_elapsed(cls_event start, cls_event end, double *milliseconds);

CLS_END_DECLS

#endif

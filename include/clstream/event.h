/* SPDX-License-Identifier: MIT */
/**
 * @file event.h
 * Events: points in a stream's work that streams and the host can wait for, and measure time
 * between.
 *
 * An event holds its latest record only. Every function may be called from any thread.
 */
#ifndef CLSTREAM_EVENT_H
#define CLSTREAM_EVENT_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Options of cls_event_create. Start with CLS_EVENT_CONFIG_INIT. */
typedef struct cls_event_config {
    size_t size;  /**< sizeof(cls_event_config) */
    int timed;    /**< nonzero: records take a device timestamp, for cls_event_elapsed */
    int reserved; /**< 0; later releases may give it a meaning */
} cls_event_config;

#define CLS_EVENT_CONFIG_INIT \
    { sizeof(cls_event_config), 0, 0 }

/**
 * Creates an event on a context. NULL `config`: not timed. The caller destroys the event.
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_event_create(cls_context context, const cls_event_config *config,
                                    cls_event *out);

/** Destroys an event. Waits that were already taken on it remain in effect. */
CLS_API cls_status cls_event_destroy(cls_event event);

/**
 * Records the event: it now stands for the work submitted to `stream` so far. The record of a timed
 * event submits a marker command, whose end is the event's time, and makes the stream's queue a
 * profiled one from the next command on. The order of the commands is kept. The queue of a wrapped
 * stream stays as it is (opencl.h). A poisoned stream accepts the record too; the event then
 * reports the stream's error.
 * On a captured stream the event stands for nodes of the capture, and a timed one is recorded by
 * each launch of the graph (graph.h).
 * @retval CLS_ERROR_WRONG_CONTEXT the stream and the event belong to different contexts
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

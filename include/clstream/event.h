/* SPDX-License-Identifier: MIT */
/**
 * @file event.h
 * Events: marks in a stream's work, to wait for and to time.
 *
 * An event holds its latest record only. All calls are safe from any thread.
 */
#ifndef CLSTREAM_EVENT_H
#define CLSTREAM_EVENT_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Options of cls_event_create. Start with CLS_EVENT_CONFIG_INIT. */
typedef struct cls_event_config {
    size_t size; /**< sizeof(cls_event_config) */
    int timed;   /**< nonzero: records take a device time, for cls_event_elapsed */
} cls_event_config;

#define CLS_EVENT_CONFIG_INIT \
    { sizeof(cls_event_config), 0 }

/**
 * Creates an event on a context. `config` may be NULL: not timed.
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_event_create(cls_context context, const cls_event_config *config,
                                    cls_event *out);

/** Destroys an event; waits already taken on it are not disturbed. */
CLS_API cls_status cls_event_destroy(cls_event event);

/**
 * Marks the work submitted to `stream` so far. A timed event makes the stream's queue a profiled one
 * from its next command on, order kept (but not a wrapped one: opencl.h), and adds a marker command whose end
 * is the event's time.
 * A poisoned stream takes it as well: the event then reports the stream's error.
 * @retval CLS_ERROR_WRONG_CONTEXT the stream is of another context than the event
 */
CLS_API cls_status cls_event_record(cls_event event, cls_stream stream);

/**
 * Asks whether the marked work is done. An event that was never recorded is done.
 * @retval CLS_NOT_READY still pending
 * @return the error of the stream if a command up to the mark failed
 */
CLS_API cls_status cls_event_query(cls_event event);

/** Waits for the marked work. Statuses as cls_stream_synchronize. */
CLS_API cls_status cls_event_synchronize(cls_event event);

/** Waits for the marked work for at most `timeout_ns` nanoseconds. Statuses as cls_stream_wait. */
CLS_API cls_status cls_event_wait(cls_event event, uint64_t timeout_ns);

/**
 * The device time from `start`'s mark to `end`'s, in milliseconds; resolution as the device's timer
 * (about 1 us where the driver's timestamps are not usable and the host's clock stands in).
 * @retval CLS_NOT_READY        one of them is pending
 * @retval CLS_ERROR_NOT_TIMED  one of them is not timed or was never recorded
 * @retval CLS_ERROR_WRONG_CONTEXT they are of different contexts
 */
CLS_API cls_status cls_event_elapsed(cls_event start, cls_event end, double *milliseconds);

CLS_END_DECLS

#endif

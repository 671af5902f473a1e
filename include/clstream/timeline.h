/* SPDX-License-Identifier: MIT */
/**
 * @file timeline.h
 * Timelines: 64-bit counters that streams and the host signal and wait for, like timeline
 * semaphores in Vulkan.
 *
 * A timeline starts at a value and only ever rises. A wait for a value ends once the timeline has
 * reached or passed it. Unlike an event, a timeline can be waited for **before its signal exists**,
 * from any stream and any thread. It belongs to no context, so streams of several devices can use
 * the same one. Every function may be called from any thread.
 *
 * **Signals.** Signals that one stream submits to a timeline must rise: a value that is not above
 * those of the stream's pending signals is CLS_ERROR_INVALID_VALUE. If the timeline has a named
 * signaller, all its signals must rise. Otherwise a signal for a value that the timeline has
 * already reached or passed changes nothing, and is no error.
 *
 * **Captures.** Signals of a captured stream, and waits for them, order the nodes of the capture
 * (graph.h): they are no signals of the timeline, whose value stays as it is.
 *
 * **Failure.** A signal behind a failed command still advances its timeline, so that no wait hangs,
 * and poisons it. From then until cls_timeline_reset, waits for values that were not reached before
 * the failure complete with its error, and poison the streams that wait: whichever stream's signal
 * failed, and whether the library or the device waits. Work that the device already has may run
 * all the same; it is reported as failed. A poisoned stream accepts signals too. A wait that can
 * never be satisfied, because the timeline or its only signaller was destroyed, fails in the same
 * way once the signals queued before that have taken effect.
 *
 * **Deadlock.** A timeline may name one stream as its only signaller. A stream that waits for the
 * timeline then depends on that stream. A call after which a stream would wait for its own later
 * work, through any number of streams, timelines and events, is refused with CLS_ERROR_DEADLOCK; it
 * changes nothing, and the detail names the whole cycle. This check covers the waits and signals of
 * this header, cls_stream_wait_event, and submissions under the legacy order of a default stream. It never refuses a
 * wait that may still be satisfied from elsewhere: if the timeline has no named signaller, or if a host function that
 * is queued or running on the signaller may signal. cls_context_explain reports such waits. The check assumes that the
 * caller's own cl_events complete.
 */
#ifndef CLSTREAM_TIMELINE_H
#define CLSTREAM_TIMELINE_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Options of cls_timeline_create. Start with CLS_TIMELINE_CONFIG_INIT. */
typedef struct cls_timeline_config {
    size_t size;          /**< sizeof(cls_timeline_config) */
    const char *name;     /**< copied, at most 63 bytes kept; NULL: "timeline N" */
    uint64_t initial;     /**< start value */
    cls_stream signaller; /**< the only stream that may signal it; NULL: any stream and the host
                               may */
} cls_timeline_config;

#define CLS_TIMELINE_CONFIG_INIT \
    { sizeof(cls_timeline_config), 0, 0, 0 }

/** State of a timeline. Start with CLS_TIMELINE_INFO_INIT. */
typedef struct cls_timeline_info {
    size_t size;          /**< sizeof(cls_timeline_info) */
    char name[64];        /**< as created */
    uint64_t value;       /**< current value */
    uint64_t queued;      /**< highest value of a pending signal of a stream; `value` if there is
                               none */
    cls_status status;    /**< CLS_SUCCESS, or the error that poisoned it */
    cls_stream signaller; /**< NULL: any stream and the host may signal */
} cls_timeline_info;

#define CLS_TIMELINE_INFO_INIT \
    { sizeof(cls_timeline_info), "", 0, 0, CLS_SUCCESS, 0 }

/**
 * Creates a timeline. NULL `config`: it starts at 0 and has no named signaller. The caller destroys
 * it.
 * @retval CLS_ERROR_INVALID_VALUE  `out` is null, or a wrong size
 * @retval CLS_ERROR_INVALID_HANDLE the signaller is not a stream
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_timeline_create(const cls_timeline_config *config, cls_timeline *out);

/**
 * Destroys a timeline and returns at once. Signals queued on streams still take effect. Waits that
 * none of them satisfies fail, and poison the streams that wait. A signal that is queued behind the
 * very wait that it would satisfy counts as still to come, so a cycle of streams stays blocked.
 * @retval CLS_ERROR_INVALID_HANDLE
 */
CLS_API cls_status cls_timeline_destroy(cls_timeline timeline);

/**
 * Signals the timeline from the host, at once. If the timeline has a named signaller, only a host
 * function or callback of that stream may call this, and the value must be above the current one.
 * @retval CLS_ERROR_INVALID_STATE the timeline has a named signaller, and the caller is not on it
 * @retval CLS_ERROR_INVALID_VALUE the timeline has a named signaller, and the value does not rise
 * @retval CLS_ERROR_INVALID_HANDLE
 */
CLS_API cls_status cls_timeline_signal(cls_timeline timeline, uint64_t value);

/**
 * Poisons the timeline from the host, as a failed signal does, but leaves its value: all waits for
 * values that are not reached yet complete with CLS_ERROR_COMMAND_FAILED. The error detail says that
 * `label` failed, with `message`. Both are copied; at most 63 and 127 bytes are kept. It is for code
 * that works between two streams, such as a thread that receives data. A poisoned timeline stays as
 * it is.
 * @retval CLS_ERROR_INVALID_VALUE `label` or `message` is null
 * @retval CLS_ERROR_INVALID_STATE the timeline has a named signaller, and the caller is not on it
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_timeline_fail(cls_timeline timeline, const char *label, const char *message);

/**
 * Sets a text that explanations of waits for this timeline end with (cls_context_explain, details of
 * CLS_ERROR_TIMEOUT), as what the signaller itself waits for. It is copied; at most 191 bytes are
 * kept. NULL or "" removes it.
 */
CLS_API cls_status cls_timeline_annotate(cls_timeline timeline, const char *text);

/**
 * Asks whether the timeline has reached or passed `value`. Calling it repeatedly is enough for the
 * work that signals it to finish.
 * @retval CLS_SUCCESS   it has
 * @retval CLS_NOT_READY it has not yet
 * @return the error that poisoned the timeline, if `value` was not reached before
 */
CLS_API cls_status cls_timeline_query(cls_timeline timeline, uint64_t value);

/**
 * Waits on the host until the timeline has reached or passed `value`, for at most `timeout_ns`
 * nanoseconds (CLS_FOREVER: without limit).
 * @retval CLS_ERROR_TIMEOUT        it has not; the detail says what it waits for
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 * @retval CLS_ERROR_SHUTDOWN       the process is exiting
 * @return the error that poisoned the timeline, as in cls_timeline_query
 */
CLS_API cls_status cls_timeline_wait(cls_timeline timeline, uint64_t value, uint64_t timeout_ns);

/**
 * Clears the error of a poisoned timeline: values signalled from now on are reached without error.
 * Values up to the current one that report the failure keep doing so. Waits taken before the reset
 * for a value that was not reached still fail. If the only signaller was destroyed, later waits for
 * values that were not reached fail too. On a healthy timeline the call does nothing.
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_timeline_reset(cls_timeline timeline);

/** Gets the state of the timeline, with its current value. */
CLS_API cls_status cls_timeline_get_info(cls_timeline timeline, cls_timeline_info *info);

/**
 * Signals the timeline once the work submitted to the stream so far is done, or has failed. The
 * call returns at once.
 * @retval CLS_ERROR_INVALID_VALUE the value does not rise
 * @retval CLS_ERROR_INVALID_STATE another stream is the timeline's signaller
 * @retval CLS_ERROR_DEADLOCK      the signal would be queued behind waits that could then never end
 * @return also the statuses of submissions (stream.h), except a poisoned stream's error
 */
CLS_API cls_status cls_stream_signal_timeline(cls_stream stream, cls_timeline timeline,
                                              uint64_t value);

/**
 * Makes later work of the stream wait until the timeline has reached or passed `value`. The signal
 * need not exist yet. If a queued signal satisfies the wait and is already with the device, the
 * device waits for that signal itself, even if another signal reaches the value earlier, and fails
 * if the work before that signal does.
 * @retval CLS_ERROR_DEADLOCK the stream would wait for its own later work
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_stream_wait_timeline(cls_stream stream, cls_timeline timeline,
                                            uint64_t value);

/**
 * Writes, as Graphviz DOT, the cycle that the last call of the process refused with
 * CLS_ERROR_DEADLOCK would have closed.
 * @param text   receives the text, like the buffer of snprintf; may be NULL if `size` is 0
 * @param size   the most bytes to write, including the terminating NUL
 * @param length receives the length of the whole text without the NUL; may be NULL
 * @retval CLS_ERROR_NOT_FOUND no call was refused yet
 * @retval CLS_ERROR_INVALID_VALUE
 */
CLS_API cls_status cls_timeline_export_cycle(char *text, size_t size, size_t *length);

CLS_END_DECLS

#endif

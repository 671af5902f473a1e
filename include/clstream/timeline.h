/* SPDX-License-Identifier: MIT */
/**
 * @file timeline.h
 * Timelines: 64-bit counters that streams and hosts signal and wait for.
 *
 * A timeline starts at a value and only ever rises. A wait for a value is over once the timeline is at
 * it or past it. Unlike an event, a timeline may be waited for **before its signal exists**, from any
 * stream and any thread. It belongs to no context: streams of several devices may meet on one. All
 * calls are safe from any thread.
 *
 * **Signals** of one stream must rise in value: one that is not above those which the stream has still to
 * give is CLS_ERROR_INVALID_VALUE. The signals of a timeline with a named signaller have one order, so there
 * all of them must rise. Elsewhere a signal that finds the timeline at its value or past it changes nothing,
 * and is no error.
 *
 * **Failure.** A signal behind a failed command advances its timeline all the same, so that nobody hangs,
 * and poisons it: from there on the waits for every value not yet reached well are over, with that
 * error, and poison the streams that wait; until cls_timeline_reset. Signals are accepted by a poisoned
 * stream too. A wait that can never be met because the timeline, or its only signaller, was destroyed
 * fails in the same way once the signals queued before have come.
 *
 * **Deadlock.** A timeline may name its only signaller, a stream. A stream that waits for it is then
 * known to wait for that stream, and a call that would leave a stream waiting for its own later work, by
 * way of any number of streams, timelines and events, is refused with CLS_ERROR_DEADLOCK; nothing
 * is changed, and the detail names the whole cycle. This goes for the waits and signals of this
 * header and for cls_stream_wait_event. What anybody may signal, and what a host function that is
 * queued or running on the signaller may signal, is never refused; cls_context_explain reports it.
 * A cl_event of the caller's own counts as one that comes.
 */
#ifndef CLSTREAM_TIMELINE_H
#define CLSTREAM_TIMELINE_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Options of cls_timeline_create. Start with CLS_TIMELINE_CONFIG_INIT. */
typedef struct cls_timeline_config {
    size_t size;          /**< sizeof(cls_timeline_config) */
    const char *name;     /**< copied, at most 63 bytes kept; NULL: "timeline N" */
    uint64_t initial;     /**< the value it starts at */
    cls_stream signaller; /**< the only stream that may signal it; NULL: anybody may */
} cls_timeline_config;

#define CLS_TIMELINE_CONFIG_INIT \
    { sizeof(cls_timeline_config), 0, 0, 0 }

/** What a timeline is. Start with CLS_TIMELINE_INFO_INIT. */
typedef struct cls_timeline_info {
    size_t size;    /**< sizeof(cls_timeline_info) */
    char name[64];  /**< as created */
    uint64_t value; /**< reached */
    uint64_t
        queued; /**< the highest value that a stream is to signal; `value` when there is none */
    cls_status status;    /**< CLS_SUCCESS, or the error that poisons it */
    cls_stream signaller; /**< NULL: anybody */
} cls_timeline_info;

#define CLS_TIMELINE_INFO_INIT \
    { sizeof(cls_timeline_info), "", 0, 0, CLS_SUCCESS, 0 }

/**
 * Creates a timeline. `config` may be NULL: it starts at 0, and anybody may signal it.
 * @retval CLS_ERROR_INVALID_VALUE  a null out, a size that is not of this library
 * @retval CLS_ERROR_INVALID_HANDLE the signaller is none
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_timeline_create(const cls_timeline_config *config, cls_timeline *out);

/**
 * Destroys a timeline and returns at once. Signals queued on streams still take effect; waits that none
 * of them meets fail, and poison the streams that wait. One that is queued behind the very wait that it would
 * meet counts as still to come: a circle of streams stays one.
 * @retval CLS_ERROR_INVALID_HANDLE
 */
CLS_API cls_status cls_timeline_destroy(cls_timeline timeline);

/**
 * Signals from the host, at once. Where the timeline has a signaller, only a host function or callback of
 * that stream may, and the value must be above the timeline's.
 * @retval CLS_ERROR_INVALID_STATE the timeline is another's to signal
 * @retval CLS_ERROR_INVALID_VALUE a named signaller's value that does not rise
 * @retval CLS_ERROR_INVALID_HANDLE
 */
CLS_API cls_status cls_timeline_signal(cls_timeline timeline, uint64_t value);

/**
 * Asks whether the timeline is at `value` or past it. Polling alone finishes the work that signals it.
 * @retval CLS_SUCCESS   it is
 * @retval CLS_NOT_READY not yet
 * @return the error that poisons it, when the value is one that was not reached well
 */
CLS_API cls_status cls_timeline_query(cls_timeline timeline, uint64_t value);

/**
 * Waits on the host until the timeline is at `value` or past it, for at most `timeout_ns` nanoseconds
 * (UINT64_MAX: for ever).
 * @retval CLS_ERROR_TIMEOUT        it is not there yet; the detail says what it waits for
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 * @retval CLS_ERROR_SHUTDOWN       the process is exiting
 * @return the error that poisons it, as cls_timeline_query
 */
CLS_API cls_status cls_timeline_wait(cls_timeline timeline, uint64_t value, uint64_t timeout_ns);

/**
 * Forgets the error of a poisoned timeline: values signalled from here on are reached well. Those up to
 * the present one go on reporting the failure, and waits that were taken before it, for whatever value that
 * was not reached, fail by it all the same. On a healthy timeline it does nothing.
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_timeline_reset(cls_timeline timeline);

/** What the timeline is, with its value of now. */
CLS_API cls_status cls_timeline_get_info(cls_timeline timeline, cls_timeline_info *info);

/**
 * Signals the timeline once the work submitted to the stream so far is done, failed work included. The
 * call returns at once.
 * @retval CLS_ERROR_INVALID_VALUE a value that does not rise
 * @retval CLS_ERROR_INVALID_STATE the timeline has another signaller
 * @retval CLS_ERROR_DEADLOCK      the signal would stand behind waits that can never be met any more
 * @return what a submission can return, but for a poisoned stream's error
 */
CLS_API cls_status cls_stream_signal_timeline(cls_stream stream, cls_timeline timeline,
                                              uint64_t value);

/**
 * Makes the stream's later work wait until the timeline is at `value` or past it; the signal need not
 * exist yet. Where a queued signal will do and is with the device already, the wait is the device's own: for that
 * signal, whoever else brings the timeline there sooner.
 * @retval CLS_ERROR_DEADLOCK      the stream would wait for its own later work
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_stream_wait_timeline(cls_stream stream, cls_timeline timeline,
                                            uint64_t value);

/**
 * Writes the cycle that the process's last refused call would have closed as Graphviz DOT.
 * @param text   takes the text, as from snprintf; may be NULL where `size` is 0
 * @param size   the most bytes to write, the NUL among them
 * @param length takes the length of the whole text without the NUL; may be NULL
 * @retval CLS_ERROR_NOT_FOUND     nothing was refused yet
 * @retval CLS_ERROR_INVALID_VALUE
 */
CLS_API cls_status cls_timeline_export_cycle(char *text, size_t size, size_t *length);

CLS_END_DECLS

#endif

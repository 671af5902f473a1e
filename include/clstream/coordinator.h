/* SPDX-License-Identifier: MIT */
/**
 * @file coordinator.h
 * A coordinator: a set of streams, of one device or of several, and what waits for what among them.
 *
 * A dependency is declared between two streams: work of the dependent waits for work of the
 * prerequisite. By itself it orders nothing; it takes effect in cls_coordinator_apply, for the work
 * submitted so far, and in a phase (cls_coordinator_run, cls_coordinator_execute_parallel), for the
 * work that the phase submits. A strict coordinator refuses the dependency that would close a cycle; a
 * permissive one takes it, lists its cycles, and refuses to run as long as there are any.
 *
 * The streams stay the caller's: they may be used beside the coordinator and be in several. A stream
 * that is destroyed while in the set, or whose context is, has to be removed: until then the calls that
 * use the whole set return CLS_ERROR_INVALID_HANDLE or CLS_ERROR_CONTEXT_DESTROYED, with its name in the
 * detail. A NULL stream is the default stream of the default context.
 *
 * All calls are safe from any thread. A call that uses the whole set works on the set and the
 * dependencies as they are when it begins; functions of the caller's may change them meanwhile.
 *
 * Statuses common to all: CLS_ERROR_INVALID_HANDLE (coordinator or stream), CLS_ERROR_INVALID_VALUE (a
 * null argument), CLS_ERROR_NOT_FOUND (the stream is not in the set), CLS_ERROR_OUT_OF_MEMORY. What submits to streams
 * also returns what a submission can (stream.h), CLS_ERROR_LIMIT for one; where it is refused midway, some of the
 * waits may be in place.
 */
#ifndef CLSTREAM_COORDINATOR_H
#define CLSTREAM_COORDINATOR_H

#include <stdio.h>

#include <clstream/stream.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A set of streams with what was declared of their order. */
typedef struct cls_coordinator_handle *cls_coordinator;

/** Options of cls_coordinator_create. Start with CLS_COORDINATOR_CONFIG_INIT. */
typedef struct cls_coordinator_config {
    size_t size;      /**< sizeof(cls_coordinator_config) */
    const char *name; /**< copied, at most 63 bytes kept; NULL: "coordinator" */
    int permissive;   /**< nonzero: takes dependencies that close cycles */
} cls_coordinator_config;

#define CLS_COORDINATOR_CONFIG_INIT \
    { sizeof(cls_coordinator_config), 0, 0 }

/** Creates a coordinator without streams. `config` may be NULL: strict. */
CLS_API cls_status cls_coordinator_create(const cls_coordinator_config *config,
                                          cls_coordinator *out);

/** Destroys a coordinator and returns at once; work submitted through it and callbacks still complete. */
CLS_API cls_status cls_coordinator_destroy(cls_coordinator coordinator);

/* --- streams --- */

/**
 * Adds a stream; one that is in the set already is a success. `index` (may be NULL) is told the stream's
 * number in the set: dense from 0, and the number of a removed stream is given again.
 */
CLS_API cls_status cls_coordinator_add_stream(cls_coordinator coordinator, cls_stream stream,
                                              size_t *index);

/** Removes a stream, destroyed or not, and its dependencies. Work already submitted is not disturbed. */
CLS_API cls_status cls_coordinator_remove_stream(cls_coordinator coordinator, cls_stream stream);

/**
 * The streams, prerequisites before their dependents; where there are cycles, by number. Writes at most
 * `room` of them (`streams` may be NULL with room 0) and how many there are to `count`.
 */
CLS_API cls_status cls_coordinator_get_streams(cls_coordinator coordinator, cls_stream *streams,
                                               size_t room, size_t *count);

/* --- dependencies --- */

/**
 * Declares that `dependent` waits for `prerequisite`. One that is there already is a success.
 * @retval CLS_ERROR_DEADLOCK it would close a cycle in a strict coordinator: nothing has changed, the
 *         detail names the cycle, and cls_coordinator_get_last_cycle has it
 */
CLS_API cls_status cls_coordinator_add_dependency(cls_coordinator coordinator, cls_stream dependent,
                                                  cls_stream prerequisite);

/** @retval CLS_ERROR_NOT_FOUND there is no such dependency */
CLS_API cls_status cls_coordinator_remove_dependency(cls_coordinator coordinator,
                                                     cls_stream dependent, cls_stream prerequisite);

/** Sets `has` to 1 or 0: whether exactly this dependency was declared. */
CLS_API cls_status cls_coordinator_has_dependency(cls_coordinator coordinator, cls_stream dependent,
                                                  cls_stream prerequisite, int *has);

/** The prerequisites declared for a stream, in no particular order; arguments as get_streams. */
CLS_API cls_status cls_coordinator_get_prerequisites(cls_coordinator coordinator, cls_stream stream,
                                                     cls_stream *streams, size_t room,
                                                     size_t *count);

/** Sets `has` to 1 or 0: whether there is a cycle, which only a permissive coordinator can have. */
CLS_API cls_status cls_coordinator_has_cycles(cls_coordinator coordinator, int *has);

/** How many cycles cls_coordinator_get_cycle lists: one for each group of streams that wait for each
 * other. */
CLS_API cls_status cls_coordinator_count_cycles(cls_coordinator coordinator, size_t *count);

/**
 * Cycle `i`: each stream waits for the next and the last for the first. Arguments as get_streams.
 * @retval CLS_ERROR_OUT_OF_RANGE there is no cycle of that number
 */
CLS_API cls_status cls_coordinator_get_cycle(cls_coordinator coordinator, size_t i,
                                             cls_stream *streams, size_t room, size_t *count);

/**
 * The cycle last refused, or in a permissive coordinator last closed; the first stream would have waited
 * for the second by the dependency in question. Arguments as get_streams.
 * @retval CLS_ERROR_NOT_FOUND there was none, or one of its streams was removed
 */
CLS_API cls_status cls_coordinator_get_last_cycle(cls_coordinator coordinator, cls_stream *streams,
                                                  size_t room, size_t *count);

/**
 * Writes the streams and their dependencies as Graphviz DOT; arrows point to what is waited for. In red:
 * the cycles that there are, or else the last cycle, the refused dependency dashed.
 * @retval CLS_ERROR_IO writing failed
 */
CLS_API cls_status cls_coordinator_write_dot(cls_coordinator coordinator, FILE *file);

/**
 * Writes the last cycle (get_last_cycle) alone as Graphviz DOT.
 * @retval CLS_ERROR_NOT_FOUND there is none
 * @retval CLS_ERROR_IO        writing failed
 */
CLS_API cls_status cls_coordinator_write_cycle_dot(cls_coordinator coordinator, FILE *file);

/* --- running --- */

/**
 * Makes the later work of every dependent wait for what its prerequisites hold so far, and with it for
 * what those wait for. Does not wait for the device.
 * @retval CLS_ERROR_DEADLOCK there are cycles; the detail names one
 */
CLS_API cls_status cls_coordinator_apply(cls_coordinator coordinator);

/**
 * Submits a stream's part of a phase; `index` is the stream's number in the set. What it submits to
 * `stream` waits for what the calls for the prerequisites have submitted, and is waited for by the
 * dependents. Called without a lock held.
 * @return CLS_SUCCESS, or an error: the streams that depend on this one are not called
 */
typedef cls_status (*cls_phase_fn)(cls_stream stream, size_t index, void *arg);

/**
 * Runs a phase: calls `fn` once for each stream, on this thread, prerequisites before their dependents.
 * Returns when all is submitted; does not wait for the device. A stream whose call fails, or which turns
 * out to be poisoned after it, keeps its dependents, direct or not, from being called; the others are
 * called all the same.
 * @retval CLS_ERROR_DEADLOCK there are cycles; nothing was called, and the detail names one
 * @return the first error, with its stream in the detail (and in cls_coordinator_get_failed)
 */
CLS_API cls_status cls_coordinator_run(cls_coordinator coordinator, cls_phase_fn fn, void *arg);

/**
 * As cls_coordinator_run, with a host thread for each stream: `fn` is called for a stream as soon as the
 * calls for its prerequisites have returned, at the same time as for others. Returns when all calls have
 * returned. `fn` may block, but not on a stream that depends on its own.
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 * @retval CLS_ERROR_OUT_OF_MEMORY  also when a thread cannot be made; nothing was called
 */
CLS_API cls_status cls_coordinator_execute_parallel(cls_coordinator coordinator, cls_phase_fn fn,
                                                    void *arg);

/**
 * The stream that the phase which ended last reported.
 * @retval CLS_ERROR_NOT_FOUND that phase succeeded, or there was none
 */
CLS_API cls_status cls_coordinator_get_failed(cls_coordinator coordinator, cls_stream *stream);

/**
 * Makes the later work of every stream wait for what all of them hold now. Does not block the host. All
 * streams depend on each other by it: if one is poisoned, so are all.
 */
CLS_API cls_status cls_coordinator_barrier(cls_coordinator coordinator);

/* --- completion --- */

/** Called when work of the whole set is done, with the first error that one of its streams met. */
typedef void (*cls_coordinator_callback)(cls_coordinator coordinator, cls_status status, void *arg);

/**
 * Calls `fn` once what the stream, one of the set, holds now is done: cls_stream_add_callback.
 */
CLS_API cls_status cls_coordinator_add_stream_callback(cls_coordinator coordinator,
                                                       cls_stream stream, cls_stream_callback fn,
                                                       void *arg);

/**
 * Calls `fn` once what all streams hold now is done, exactly once, also on failure and when the process
 * exits first, on a thread of the library as any callback; the later work of the stream that was done
 * last starts when `fn` has returned.
 * @retval CLS_ERROR_INVALID_STATE there are no streams
 */
CLS_API cls_status cls_coordinator_add_callback(cls_coordinator coordinator,
                                                cls_coordinator_callback fn, void *arg);

/**
 * Asks whether everything submitted to the streams so far is done. Polling alone finishes the work.
 * @retval CLS_NOT_READY some stream is still at work, whatever the others came to
 * @return with all work done, the first error of a poisoned stream, in the order of get_streams
 */
CLS_API cls_status cls_coordinator_query(cls_coordinator coordinator);

/**
 * Waits until everything submitted to one stream before the call is done, for at most `timeout_ns`
 * nanoseconds (UINT64_MAX: without end): cls_stream_wait.
 */
CLS_API cls_status cls_coordinator_wait(cls_coordinator coordinator, cls_stream stream,
                                        uint64_t timeout_ns);

/**
 * Waits until one of the streams is done with what was submitted to it before the call, for at most
 * `timeout_ns` nanoseconds, and stores it; a stream without work is done. Of several, calls in a row give
 * each its turn. Whether its work failed is for cls_stream_query to say.
 * @retval CLS_ERROR_TIMEOUT        all are at work still; the detail says what they wait for
 * @retval CLS_ERROR_INVALID_STATE  there are no streams
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 */
CLS_API cls_status cls_coordinator_wait_any(cls_coordinator coordinator, uint64_t timeout_ns,
                                            cls_stream *stream);

/**
 * Waits until everything submitted to all streams before the call is done, for at most `timeout_ns`
 * nanoseconds.
 * @retval CLS_ERROR_TIMEOUT        some stream is still at work; the detail says what it waits for
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 * @return the first error of a poisoned stream, in the order of get_streams
 */
CLS_API cls_status cls_coordinator_wait_all(cls_coordinator coordinator, uint64_t timeout_ns);

CLS_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file coordinator.h
 * A coordinator: a set of streams, of one device or of several, with declared dependencies between
 * them. A cls_async_coordinator (async_coordinator.h) is a ready-made special case: three streams
 * of its own for upload, compute and download, with dependencies between operations.
 *
 * A dependency is declared between two streams: work of the dependent waits for work of the
 * prerequisite. The declaration alone orders nothing. It takes effect in cls_coordinator_apply, for
 * the work submitted so far, and in a phase (cls_coordinator_run,
 * cls_coordinator_execute_parallel), for the work that the phase submits. A strict coordinator
 * refuses a dependency that would close a cycle. A permissive one accepts it, lists its cycles, and
 * refuses to run while there are any.
 *
 * The streams remain the caller's: they can be used outside the coordinator, and belong to several
 * coordinators. A stream must be removed from the set after it, or its context, was destroyed.
 * Until then the calls that use the whole set return CLS_ERROR_INVALID_HANDLE or
 * CLS_ERROR_CONTEXT_DESTROYED, with the stream's name in the detail. A NULL stream means the
 * default stream of the default context.
 *
 * Every function may be called from any thread. A call that uses the whole set works on the set and
 * the dependencies as they are when it begins; the caller's functions may change both meanwhile.
 *
 * Statuses common to all: CLS_ERROR_INVALID_HANDLE (coordinator or stream), CLS_ERROR_INVALID_VALUE
 * (a null argument), CLS_ERROR_NOT_FOUND (the stream is not in the set), CLS_ERROR_OUT_OF_MEMORY.
 * Calls that submit to streams also return the statuses of submissions (stream.h), such as
 * CLS_ERROR_LIMIT. If such a call is refused midway, some of its waits may be in effect.
 */
#ifndef CLSTREAM_COORDINATOR_H
#define CLSTREAM_COORDINATOR_H

#include <stdio.h>

#include <clstream/stream.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A set of streams and their dependencies. */
typedef struct cls_coordinator_handle *cls_coordinator;

/** Options of cls_coordinator_create. Start with CLS_COORDINATOR_CONFIG_INIT. */
typedef struct cls_coordinator_config {
    size_t size;      /**< sizeof(cls_coordinator_config) */
    const char *name; /**< copied, at most 63 bytes kept; NULL: "coordinator" */
    int permissive;   /**< nonzero: accepts dependencies that close cycles */
    int reserved;     /**< 0; later releases may give it a meaning */
} cls_coordinator_config;

#define CLS_COORDINATOR_CONFIG_INIT \
    { sizeof(cls_coordinator_config), 0, 0, 0 }

/** Creates a coordinator without streams. NULL `config`: strict. The caller destroys it. */
CLS_API cls_status cls_coordinator_create(const cls_coordinator_config *config,
                                          cls_coordinator *out);

/**
 * Destroys a coordinator and returns at once. Work and callbacks submitted through it still
 * complete.
 */
CLS_API cls_status cls_coordinator_destroy(cls_coordinator coordinator);

/* --- streams --- */

/**
 * Adds a stream. Adding a stream that is already in the set succeeds. `index` (may be NULL)
 * receives the stream's number in the set. Numbers are dense from 0, and numbers of removed streams
 * are reused.
 */
CLS_API cls_status cls_coordinator_add_stream(cls_coordinator coordinator, cls_stream stream,
                                              size_t *index);

/** Removes a stream, destroyed or not, and its dependencies. Submitted work is not affected. */
CLS_API cls_status cls_coordinator_remove_stream(cls_coordinator coordinator, cls_stream stream);

/**
 * Gets the streams, prerequisites before their dependents, or by number if there are cycles. Writes
 * at most `room` of them (`streams` may be NULL if `room` is 0), and the number of all streams to
 * `count`.
 */
CLS_API cls_status cls_coordinator_get_streams(cls_coordinator coordinator, cls_stream *streams,
                                               size_t room, size_t *count);

/* --- dependencies --- */

/**
 * Declares that `dependent` waits for `prerequisite`. Declaring a dependency again succeeds.
 * @retval CLS_ERROR_DEADLOCK it would close a cycle in a strict coordinator: nothing has changed,
 *                            the detail names the cycle, and cls_coordinator_get_last_cycle returns
 *                            it
 */
CLS_API cls_status cls_coordinator_add_dependency(cls_coordinator coordinator, cls_stream dependent,
                                                  cls_stream prerequisite);

/**
 * Removes a declared dependency.
 * @retval CLS_ERROR_NOT_FOUND there is no such dependency
 */
CLS_API cls_status cls_coordinator_remove_dependency(cls_coordinator coordinator,
                                                     cls_stream dependent, cls_stream prerequisite);

/** Sets `has` to 1 if exactly this dependency is declared, else to 0. */
CLS_API cls_status cls_coordinator_has_dependency(cls_coordinator coordinator, cls_stream dependent,
                                                  cls_stream prerequisite, int *has);

/**
 * Gets the prerequisites declared for a stream, in no particular order. Arguments as in
 * cls_coordinator_get_streams.
 */
CLS_API cls_status cls_coordinator_get_prerequisites(cls_coordinator coordinator, cls_stream stream,
                                                     cls_stream *streams, size_t room,
                                                     size_t *count);

/**
 * Sets `has` to 1 if there is a cycle, else to 0. Only a permissive coordinator can have cycles.
 */
CLS_API cls_status cls_coordinator_has_cycles(cls_coordinator coordinator, int *has);

/**
 * Gets the number of cycles that cls_coordinator_get_cycle lists: one for each group of streams
 * that wait for each other.
 */
CLS_API cls_status cls_coordinator_count_cycles(cls_coordinator coordinator, size_t *count);

/**
 * Gets cycle `i`: each stream waits for the next one, and the last for the first. Arguments as in
 * cls_coordinator_get_streams.
 * @retval CLS_ERROR_OUT_OF_RANGE there is no cycle of this number
 */
CLS_API cls_status cls_coordinator_get_cycle(cls_coordinator coordinator, size_t i,
                                             cls_stream *streams, size_t room, size_t *count);

/**
 * Gets the cycle that was refused last, or in a permissive coordinator the one that was closed
 * last. The dependency that closes it is that of the first stream on the second. Arguments as in
 * cls_coordinator_get_streams.
 * @retval CLS_ERROR_NOT_FOUND there was none, or one of its streams was removed
 */
CLS_API cls_status cls_coordinator_get_last_cycle(cls_coordinator coordinator, cls_stream *streams,
                                                  size_t room, size_t *count);

/**
 * Writes the streams and their dependencies as Graphviz DOT. Arrows point to the prerequisite.
 * Cycles are red; if there are none, the last cycle is, with the refused dependency dashed.
 * @retval CLS_ERROR_IO writing failed
 */
CLS_API cls_status cls_coordinator_write_dot(cls_coordinator coordinator, FILE *file);

/**
 * Writes only the last cycle (cls_coordinator_get_last_cycle) as Graphviz DOT.
 * @retval CLS_ERROR_NOT_FOUND there is none
 * @retval CLS_ERROR_IO        writing failed
 */
CLS_API cls_status cls_coordinator_write_cycle_dot(cls_coordinator coordinator, FILE *file);

/* --- running --- */

/**
 * Makes later work of every dependent wait for the work that its prerequisites hold now, including
 * what that work waits for. Does not wait for the device.
 * @retval CLS_ERROR_DEADLOCK there are cycles; the detail names one
 */
CLS_API cls_status cls_coordinator_apply(cls_coordinator coordinator);

/**
 * Submits a stream's part of a phase. `index` is the stream's number in the set. The work that it
 * submits to `stream` waits for the work submitted by the calls for the prerequisites, and the
 * dependents wait for it. Called without a lock held.
 * @return CLS_SUCCESS, or an error; the streams that depend on this one are not called then
 */
typedef cls_status (*cls_phase_fn)(cls_stream stream, size_t index, void *arg);

/**
 * Runs a phase: calls `fn` once for each stream, on this thread, prerequisites before their
 * dependents. Returns when all work is submitted; does not wait for the device. If a call fails, or
 * its stream turns out to be poisoned after it, the direct and indirect dependents are not called.
 * All other streams are.
 * @retval CLS_ERROR_DEADLOCK there are cycles; nothing was called, and the detail names one
 * @return the first error, with its stream in the detail (and in cls_coordinator_get_failed)
 */
CLS_API cls_status cls_coordinator_run(cls_coordinator coordinator, cls_phase_fn fn, void *arg);

/**
 * Like cls_coordinator_run, with a host thread for each stream: `fn` is called for a stream as soon
 * as the calls for its prerequisites have returned, at the same time as for other streams. Returns
 * when all calls have returned. `fn` may block, but not on a stream that depends on its own stream.
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 * @retval CLS_ERROR_OUT_OF_MEMORY  also if a thread cannot be created; nothing was called
 */
CLS_API cls_status cls_coordinator_execute_parallel(cls_coordinator coordinator, cls_phase_fn fn,
                                                    void *arg);

/**
 * Gets the stream whose error the last completed phase reported.
 * @retval CLS_ERROR_NOT_FOUND that phase succeeded, or there was none
 */
CLS_API cls_status cls_coordinator_get_failed(cls_coordinator coordinator, cls_stream *stream);

/**
 * Makes later work of every stream wait for the work that all of them hold now. Does not block the
 * host. The streams then depend on each other: if one is poisoned, all are.
 */
CLS_API cls_status cls_coordinator_barrier(cls_coordinator coordinator);

/* --- completion --- */

/**
 * Called when the work of the whole set is done, with the first error of its streams as `status`.
 */
typedef void (*cls_coordinator_callback)(cls_coordinator coordinator, cls_status status, void *arg);

/**
 * Calls `fn` once the work that a stream of the set holds now is done, as cls_stream_add_callback
 * does.
 */
CLS_API cls_status cls_coordinator_add_stream_callback(cls_coordinator coordinator,
                                                       cls_stream stream, cls_stream_callback fn,
                                                       void *arg);

/**
 * Calls `fn` exactly once, when the work that all streams hold now is done, on a thread of the
 * library. It is also called on failure, and when the process exits first. Later work of the stream
 * that finished last starts after `fn` has returned.
 * @retval CLS_ERROR_INVALID_STATE there are no streams, or one is captured (graph.h)
 */
CLS_API cls_status cls_coordinator_add_callback(cls_coordinator coordinator,
                                                cls_coordinator_callback fn, void *arg);

/**
 * Asks whether everything submitted to the streams so far is done. Calling it repeatedly is enough
 * for the work to finish.
 * @retval CLS_NOT_READY some stream still has work, even if others have failed
 * @return once all work is done, the first error of a poisoned stream, in the order of
 *         cls_coordinator_get_streams
 */
CLS_API cls_status cls_coordinator_query(cls_coordinator coordinator);

/**
 * Waits until everything submitted to one stream before the call is done, for at most `timeout_ns`
 * nanoseconds (CLS_FOREVER: without limit), as cls_stream_wait does.
 */
CLS_API cls_status cls_coordinator_wait(cls_coordinator coordinator, cls_stream stream,
                                        uint64_t timeout_ns);

/**
 * Waits until one of the streams is done with the work that was submitted to it before the call,
 * for at most `timeout_ns` nanoseconds, and stores that stream. A stream without work is done. If
 * several are done, repeated calls return them in turn. cls_stream_query says whether the work
 * failed.
 * @retval CLS_ERROR_TIMEOUT        all streams still have work; the detail says what they wait for
 * @retval CLS_ERROR_INVALID_STATE  there are no streams
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 */
CLS_API cls_status cls_coordinator_wait_any(cls_coordinator coordinator, uint64_t timeout_ns,
                                            cls_stream *stream);

/**
 * Waits until everything submitted to all streams before the call is done, for at most `timeout_ns`
 * nanoseconds.
 * @retval CLS_ERROR_TIMEOUT        some stream still has work; the detail says what it waits for
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 * @return the first error of a poisoned stream, in the order of cls_coordinator_get_streams
 */
CLS_API cls_status cls_coordinator_wait_all(cls_coordinator coordinator, uint64_t timeout_ns);

CLS_END_DECLS

#endif

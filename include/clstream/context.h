/* SPDX-License-Identifier: MIT */
/**
 * @file context.h
 * A context: one device with its default stream, programs and queues.
 *
 * Where a function takes a context, NULL means the process-wide default context. It is created on
 * first use, on the device that cls_device_find(NULL) chooses, and lives until the process exits. A
 * process may have several contexts, on one device or on several. Every function may be called from
 * any thread.
 */
#ifndef CLSTREAM_CONTEXT_H
#define CLSTREAM_CONTEXT_H

#include <clstream/device.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Options of cls_context_create. Start with CLS_CONTEXT_CONFIG_INIT. */
typedef struct cls_context_config {
    size_t size;               /**< sizeof(cls_context_config) */
    const char *device;        /**< as in cls_device_find; NULL: the default device */
    int legacy_default_stream; /**< nonzero: the default stream has CUDA's legacy order, see
                                    cls_context_default_stream */
    int shareable_pool; /**< nonzero: the default memory pool is shareable (mempool.h), so that
                                    other contexts can open buffers of cls_malloc_async */
} cls_context_config;

#define CLS_CONTEXT_CONFIG_INIT \
    { sizeof(cls_context_config), 0, 0, 0 }

/**
 * Creates a context. NULL `config`: the default device. The caller destroys the context.
 * @retval CLS_ERROR_NO_DEVICE no device matches
 * @retval CLS_ERROR_UNSUPPORTED the probes found the driver's reads, writes or order of commands
 *                               wrong, or `shareable_pool` was asked for and the device has no
 *                               memory that can be shared; the detail has the reason
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @retval CLS_ERROR_SHUTDOWN  the process is exiting
 */
CLS_API cls_status cls_context_create(const cls_context_config *config, cls_context *out);

/**
 * Destroys a context and returns at once. Submitted work still completes. The default stream is
 * destroyed with the context: its handle becomes CLS_ERROR_INVALID_HANDLE. All other objects of the
 * context become unusable: calls on its streams, events, buffers, programs and kernels return
 * CLS_ERROR_CONTEXT_DESTROYED. The caller must still destroy these objects, which still succeeds.
 * @retval CLS_ERROR_INVALID_VALUE the default context, which the caller cannot destroy
 * @retval CLS_ERROR_INVALID_HANDLE
 */
CLS_API cls_status cls_context_destroy(cls_context context);

/**
 * Gets the process-wide default context, creating it on first use. Statuses as for
 * cls_context_create.
 */
CLS_API cls_status cls_context_default(cls_context *out);

/**
 * Gets the context's default stream. It belongs to the context; cls_stream_destroy refuses it with
 * CLS_ERROR_INVALID_VALUE.
 *
 * It is an ordinary stream: no stream waits for another unless it is told to. With
 * cls_context_config.legacy_default_stream it has the order of CUDA's legacy default stream:
 *   - a command of the default stream waits for all work that was submitted before it to the
 *     context's blocking streams, destroyed ones included;
 *   - work that is submitted to a blocking stream afterwards waits for that command;
 *   - event records, waits for events, timelines and cl_events, and stream-ordered allocations and
 *     frees count as commands; cls_stream_query, cls_stream_synchronize and cls_stream_wait of the
 *     default stream are about the work of all blocking streams, and those of a blocking stream
 *     about the default stream's commands so far, too, but for their errors;
 *   - captures (graph.h) take no part: what a captured stream records waits for nothing by this
 *     order, and no command of the default stream waits for it, but for the stream's work before
 *     the capture. A launch of the graph is a command as any other. The default stream itself
 *     cannot be captured;
 *   - these waits are like any other: work that depends on failed work fails, and a wait that would
 *     close a cycle is refused. So a failure reaches the default stream with its next command, and
 *     from there each blocking stream with its own. Each of them is reset by itself.
 *
 * A blocking stream is one that the caller has created without cls_stream_config.non_blocking, or
 * wrapped. Streams that belong to the library's objects (pools, pipelines, groups) are non-blocking:
 * neither rule has to do with them. Of several threads' submissions, each command of the default
 * stream comes before or after each command of a blocking one. In such a context a call that makes
 * a stream wait can return every status of a submission.
 *
 * A command of the default stream costs one wait for each blocking stream that was used since the
 * one before it.
 */
CLS_API cls_status cls_context_default_stream(cls_context context, cls_stream *out);

/** Gets the index of the context's device, as used in device.h. */
CLS_API cls_status cls_context_get_device(cls_context context, size_t *index);

/**
 * Waits for all work that was submitted to the context's streams before this call.
 * @return the first error of a poisoned stream of this context, or CLS_SUCCESS
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 */
CLS_API cls_status cls_context_synchronize(cls_context context);

/**
 * Describes what the context's streams are doing and what they wait for, as text for people to
 * read, with a paragraph per stream: how many commands are done, how many the driver has (and how
 * many of those are not flushed), how many are not submitted to it yet; which host function is
 * running, and for how long; which value a timeline has, which value is waited for, and who may
 * signal it. Streams of other contexts that these streams wait for are included, and streams that
 * wait for each other in a circle are named at the end. The text is a snapshot; the call does not
 * wait for work. The detail of a wait that timed out has such paragraphs too. An example, of a stream
 * that computes and one that stores its results:
 *
 *     stream 'compute': 4 of 7 commands are done. The driver has 1; first comes 'inf' (command 5).
 *     The library holds 2.
 *         'scale' (command 6) waits for timeline 'stored' to reach 3; it is at 2: stream 'store'
 *         signals it after its command 9
 *     stream 'store': 8 of 9 commands are done. The library holds 1.
 *         'host function' (command 9) has been running for 1250 ms
 *
 * (Each paragraph's sentences are on one line.) A stream numbers its commands from 1, records and
 * waits included. So 'scale' has not gone to the driver: the host function must return first.
 * @param context NULL: the default context
 * @param text    receives the text, like the buffer of snprintf; may be NULL if `size` is 0
 * @param size    the most bytes to write, including the terminating NUL
 * @param length  receives the length of the whole text without the NUL; may be NULL
 * @retval CLS_ERROR_INVALID_VALUE `text` is null and `size` is not 0
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_context_explain(cls_context context, char *text, size_t size,
                                       size_t *length);

CLS_END_DECLS

#endif

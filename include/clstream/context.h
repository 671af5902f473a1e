/* SPDX-License-Identifier: MIT */
/**
 * @file context.h
 * A context: one device, its default stream, its programs and its queues.
 *
 * Wherever a call takes a context, NULL means the process-wide default context, which is made on
 * first use on the device that cls_device_find(NULL) chooses and is never destroyed before exit.
 * Several contexts, of one device or of several, live side by side.
 */
#ifndef CLSTREAM_CONTEXT_H
#define CLSTREAM_CONTEXT_H

#include <clstream/device.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Options of cls_context_create. Start with CLS_CONTEXT_CONFIG_INIT. */
typedef struct cls_context_config {
    size_t size;        /**< sizeof(cls_context_config) */
    const char *device; /**< as in cls_device_find; NULL: the default device */
} cls_context_config;

#define CLS_CONTEXT_CONFIG_INIT \
    { sizeof(cls_context_config), 0 }

/**
 * Creates a context. `config` may be NULL.
 * @retval CLS_ERROR_NO_DEVICE            nothing matches
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @retval CLS_ERROR_SHUTDOWN             the process is exiting
 */
CLS_API cls_status cls_context_create(const cls_context_config *config, cls_context *out);

/**
 * Destroys a context and returns at once. Work already submitted still completes. Streams, events,
 * buffers, programs and kernels of the context become unusable: calls on them return
 * CLS_ERROR_CONTEXT_DESTROYED, except destroying them, which still succeeds and is still owed. The default
 * stream goes with the context: its handle is CLS_ERROR_INVALID_HANDLE.
 * @retval CLS_ERROR_INVALID_VALUE  the default context, which is not the caller's to destroy
 * @retval CLS_ERROR_INVALID_HANDLE
 */
CLS_API cls_status cls_context_destroy(cls_context context);

/** The process-wide default context, made on first use. Statuses as cls_context_create. */
CLS_API cls_status cls_context_default(cls_context *out);

/**
 * The context's default stream: an ordinary stream, with no hidden synchronization. It belongs to the
 * context; destroying it is CLS_ERROR_INVALID_VALUE.
 */
CLS_API cls_status cls_context_default_stream(cls_context context, cls_stream *out);

/** The index of the context's device, as in device.h. */
CLS_API cls_status cls_context_get_device(cls_context context, size_t *index);

/**
 * Waits for everything submitted to the context's streams before this call.
 * @return the first error of a poisoned stream of this context, or CLS_SUCCESS
 * @retval CLS_ERROR_WOULD_DEADLOCK called inside a host function or callback
 */
CLS_API cls_status cls_context_synchronize(cls_context context);

/**
 * Says in words what the context's streams do and wait for, and the streams of others that they wait for:
 * how many commands are done, with the driver (and unflushed) or not submitted to it yet; which host
 * function has been running for how long; which timeline is at which value of which, and who may signal
 * it. A snapshot for people to read, a paragraph for each stream; waits for no work.
 * @param context NULL: the default context
 * @param text    takes the text, as from snprintf; may be NULL where `size` is 0
 * @param size    the most bytes to write, the NUL among them
 * @param length  takes the length of the whole text without the NUL; may be NULL
 * @retval CLS_ERROR_INVALID_VALUE a null text of some size
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_context_explain(cls_context context, char *text, size_t size,
                                       size_t *length);

CLS_END_DECLS

#endif

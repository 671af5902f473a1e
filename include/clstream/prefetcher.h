/* SPDX-License-Identifier: MIT */
/**
 * @file prefetcher.h
 * Prefetchers: loader functions on their own threads fill pinned memory ahead of time, and the
 * upload of the next batches runs while the device computes on the current one. They work like a
 * data loader with worker processes. To move a single buffer ahead of its use see
 * cls_prefetch_async (buffer.h).
 *
 *     while (!cls_prefetcher_next(data, stream, &batch) && batch.bytes) {
 *         ... submit work with batch.buffer to stream ...
 *         cls_prefetcher_release(data, &batch, stream);
 *     }
 *
 * **Host memory.** A loader may write the memory that it is given during its call only. The library
 * uploads it from then on, and gives it to a loader again once the upload is done.
 *
 * **Failure.** If work on a batch has failed by the time its memory is reused, the prefetcher
 * continues with the next data. If it fails later, the upload queued behind it fails too; that ends
 * the data, with its error.
 *
 * Batches are numbered from 0 and handed out in that order, in whatever order the loaders finish.
 * Every function may be called from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_CONTEXT_DESTROYED. A NULL stream means the default stream of the prefetcher's context.
 */
#ifndef CLSTREAM_PREFETCHER_H
#define CLSTREAM_PREFETCHER_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Loader threads, and the batches that they fill. */
typedef struct cls_prefetcher_handle *cls_prefetcher;

/**
 * Loads one batch and reports its size. The library calls it once per index, on several threads at
 * the same time for different indices, without a lock held. It may block.
 * @param arg      of cls_prefetcher_create
 * @param index    number of the batch, from 0
 * @param memory   where to write the batch; pinned
 * @param capacity size of `memory` in bytes
 * @param bytes    receives the bytes written; 0 (its value at the call): end of data, before this one
 * @return CLS_SUCCESS. Any other status ends the data too, and cls_prefetcher_next returns it when
 *         it comes to this batch; in place of CLS_NOT_READY, which is no error, it returns
 *         CLS_ERROR_INVALID_STATE
 */
typedef cls_status (*cls_load_fn)(void *arg, uint64_t index, void *memory, size_t capacity,
                                  size_t *bytes);

/**
 * In a loader: gets the number of its thread in its prefetcher, from 0 to one below the number of
 * workers. Loaders that run at the same time have different numbers, so memory that is kept for each
 * number needs no lock.
 * @retval CLS_ERROR_INVALID_VALUE `worker` is null
 * @retval CLS_ERROR_INVALID_STATE the calling thread is in no loader
 */
CLS_API cls_status cls_prefetcher_get_worker(unsigned *worker);

/**
 * In a loader: sets why it fails. cls_last_error_detail has it, with the numbers of batch and worker,
 * where cls_prefetcher_next returns the loader's error. The call copies the message, and at most
 * CLS_PREFETCHER_MAX_MESSAGE bytes of it. Without a message, the detail of the last library call that
 * failed in the loader takes its place.
 * @retval CLS_ERROR_INVALID_VALUE `message` is null
 * @retval CLS_ERROR_INVALID_STATE the calling thread is in no loader
 */
CLS_API cls_status cls_prefetcher_set_message(const char *message);

/**
 * Called once after a prefetcher was destroyed and its last loader has returned, at the latest when
 * the process exits. The library does not use `arg` after that. Runs on a thread of the library,
 * without a lock held.
 */
typedef void (*cls_load_end_fn)(void *arg);

/** Limits of a prefetcher. */
enum {
    CLS_PREFETCHER_MAX_WORKERS = 64, /**< loader threads */
    CLS_PREFETCHER_MAX_DEPTH = 256,  /**< batches held at once */
    CLS_PREFETCHER_MAX_MESSAGE = 255 /**< bytes of a loader's message */
};

/** Options of cls_prefetcher_create. Start with CLS_PREFETCHER_CONFIG_INIT. */
typedef struct cls_prefetcher_config {
    size_t size;         /**< sizeof(cls_prefetcher_config) */
    unsigned workers;    /**< loader threads; 0: 2 */
    unsigned depth;      /**< batches held at once, including the caller's; 0: workers + 2 */
    cls_load_end_fn end; /**< called when the library no longer uses `arg`; may be NULL */
} cls_prefetcher_config;

#define CLS_PREFETCHER_CONFIG_INIT \
    { sizeof(cls_prefetcher_config), 0, 0, NULL }

/** A batch from cls_prefetcher_next. */
typedef struct cls_prefetched {
    cls_buffer buffer; /**< holds the batch from its start; do not destroy it. NULL: end of data */
    size_t bytes;      /**< size of the batch; 0: end of data */
    uint64_t index;    /**< number of the batch, from 0 */
} cls_prefetched;

/**
 * Creates a prefetcher and starts loading. `capacity` is the most bytes of a batch. NULL `config`:
 * the defaults. If the call fails, neither `load` nor `end` is called. The caller destroys the
 * prefetcher.
 * @retval CLS_ERROR_INVALID_VALUE  `out` or `load` is null, 0 bytes, too many workers or batches,
 *                                  or a wrong size
 * @retval CLS_ERROR_OUT_OF_MEMORY  also if a thread cannot be created
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 */
CLS_API cls_status cls_prefetcher_create(cls_context context, size_t capacity, cls_load_fn load,
                                         void *arg, const cls_prefetcher_config *config,
                                         cls_prefetcher *out);

/**
 * Stops loading and returns at once. Work submitted with batches still completes. Loaders that are
 * running finish; `arg` must stay valid until config's `end` is called.
 */
CLS_API cls_status cls_prefetcher_destroy(cls_prefetcher prefetcher);

/**
 * Waits on the host until the next batch is loaded, and makes `stream` wait for its upload. The
 * caller holds the batch until it releases it.
 * @retval CLS_ERROR_LIMIT          the caller holds all `depth` batches: release one
 * @retval CLS_ERROR_WRONG_CONTEXT  the stream belongs to another context
 * @retval CLS_ERROR_INVALID_STATE  the stream is captured (graph.h); its capture is invalid then
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 * @retval CLS_ERROR_SHUTDOWN       the process is exiting, and the batch will not be loaded
 * @return the error of the batch's loader, or of its upload if that is already known; every later
 *         call returns it again
 */
CLS_API cls_status cls_prefetcher_next(cls_prefetcher prefetcher, cls_stream stream,
                                       cls_prefetched *out);

/**
 * Like cls_prefetcher_next, without waiting.
 * @retval CLS_NOT_READY the next batch is not loaded yet
 */
CLS_API cls_status cls_prefetcher_try_next(cls_prefetcher prefetcher, cls_stream stream,
                                           cls_prefetched *out);

/**
 * Gives a batch back after the work submitted to `stream` so far: its memory is loaded again once
 * that work is done.
 * @retval CLS_ERROR_INVALID_VALUE `batch` is null
 * @retval CLS_ERROR_INVALID_STATE the caller does not hold the batch, or the stream is captured
 */
CLS_API cls_status cls_prefetcher_release(cls_prefetcher prefetcher, const cls_prefetched *batch,
                                          cls_stream stream);

/**
 * Ends the data early: no more loaders are called, and cls_prefetcher_next reports the end of data.
 */
CLS_API cls_status cls_prefetcher_stop(cls_prefetcher prefetcher);

CLS_END_DECLS

#endif

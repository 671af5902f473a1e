/* SPDX-License-Identifier: MIT */
/**
 * @file prefetcher.h
 * Prefetchers: loader functions on threads of their own fill pinned memory ahead of the device, and the
 * upload of the next batches runs while this one computes; like a data loader with worker processes.
 *
 *     while (!cls_prefetcher_next(data, stream, &batch) && batch.bytes) {
 *         ... submit work with batch.buffer to stream ...
 *         cls_prefetcher_release(data, &batch, stream);
 *     }
 *
 * **Failure.** Work with a batch that has failed by the time its memory is used again is over, and the data goes
 * on. Where it fails later than that, the upload behind it fails too: that ends the data, with its error.
 *
 * Batches are numbered from 0 and handed out in that order, however the loaders finish. All calls are safe
 * from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED. A NULL
 * stream is the default stream of the prefetcher's context.
 */
#ifndef CLSTREAM_PREFETCHER_H
#define CLSTREAM_PREFETCHER_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Loader threads, with the batches that they fill. */
typedef struct cls_prefetcher_handle *cls_prefetcher;

/**
 * Loads a batch and says how much it is. Called once for each index, on several threads at once for
 * several ones, without a lock held; it may block.
 * @param arg      of cls_prefetcher_create
 * @param index    which batch, from 0
 * @param memory   where it goes; pinned
 * @param capacity the bytes there is room for
 * @param bytes    0 at the call; left at 0: there is no such batch, the data ends before it
 * @return what is not CLS_SUCCESS ends the data too, and next returns it in the batch's turn; for CLS_NOT_READY,
 *         which is no error, CLS_ERROR_INVALID_STATE
 */
typedef cls_status (*cls_load_fn)(void *arg, uint64_t index, void *memory, size_t capacity,
                                  size_t *bytes);

/**
 * Called once for a prefetcher that was destroyed, when no loader is at work any more: from then on the
 * library does not use `arg`. On a thread of the library, without a lock held; at the latest when the process
 * exits.
 */
typedef void (*cls_load_end_fn)(void *arg);

/** What a prefetcher may have at most. */
enum {
    CLS_PREFETCHER_MAX_WORKERS = 64, /**< loader threads */
    CLS_PREFETCHER_MAX_DEPTH = 256   /**< batches at once */
};

/** Options of cls_prefetcher_create. Start with CLS_PREFETCHER_CONFIG_INIT. */
typedef struct cls_prefetcher_config {
    size_t size;         /**< sizeof(cls_prefetcher_config) */
    unsigned workers;    /**< loader threads; 0: 2 */
    unsigned depth;      /**< batches held at once, the caller's among them; 0: workers + 2 */
    cls_load_end_fn end; /**< called when `arg` is the caller's again; NULL: nothing is */
} cls_prefetcher_config;

#define CLS_PREFETCHER_CONFIG_INIT \
    { sizeof(cls_prefetcher_config), 0, 0, NULL }

/** A batch as next hands it out. */
typedef struct cls_prefetched {
    cls_buffer buffer; /**< the prefetcher's, from the start; not to be destroyed. NULL: the end */
    size_t bytes;      /**< 0: the data has ended */
    uint64_t index;    /**< the batch's number, from 0 */
} cls_prefetched;

/**
 * Creates a prefetcher and starts loading. `config` may be NULL; `capacity` bounds a batch's bytes. Where it
 * fails, neither `load` nor config's end is called.
 * @retval CLS_ERROR_INVALID_VALUE null out or load, 0 bytes, too many workers or batches, a wrong size
 * @retval CLS_ERROR_OUT_OF_MEMORY also for want of threads
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
CLS_API cls_status cls_prefetcher_create(cls_context context, size_t capacity, cls_load_fn load,
                                         void *arg, const cls_prefetcher_config *config,
                                         cls_prefetcher *out);

/**
 * Stops loading and returns at once; work submitted with batches still completes. A loader that is at work
 * is not disturbed, and `arg` must live until config's end is called.
 */
CLS_API cls_status cls_prefetcher_destroy(cls_prefetcher prefetcher);

/**
 * Waits on the host until the next batch is loaded, and makes `stream` wait for its upload. The batch is the
 * caller's until it is released.
 * @retval CLS_ERROR_LIMIT          the caller holds all batches that there may be: release one
 * @retval CLS_ERROR_WRONG_CONTEXT  the stream is of another context
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 * @retval CLS_ERROR_SHUTDOWN       the process is exiting, and the batch will not be loaded
 * @return what the loader of the batch returned, or what is known by now to have become of its upload; again on
 *         every later call
 */
CLS_API cls_status cls_prefetcher_next(cls_prefetcher prefetcher, cls_stream stream,
                                       cls_prefetched *out);

/** As next, without waiting. @retval CLS_NOT_READY the next batch is not loaded yet */
CLS_API cls_status cls_prefetcher_try_next(cls_prefetcher prefetcher, cls_stream stream,
                                           cls_prefetched *out);

/**
 * Gives a batch back behind the work submitted to `stream` so far: its memory is loaded anew once that is
 * done.
 * @retval CLS_ERROR_INVALID_VALUE a null batch
 * @retval CLS_ERROR_INVALID_STATE the batch is not the caller's
 */
CLS_API cls_status cls_prefetcher_release(cls_prefetcher prefetcher, const cls_prefetched *batch,
                                          cls_stream stream);

/** Ends the data early: no loader is called any more, and next says that the data has ended. */
CLS_API cls_status cls_prefetcher_stop(cls_prefetcher prefetcher);

CLS_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file triple_buffer.h
 * Triple buffers: a ring of device buffers (slots) that go through Free -> Uploading -> Processing
 * -> Downloading -> Free. The upload of the next data, the work on the current data and the
 * download of the last results overlap.
 *
 * Each stage takes a slot with the stream that it works on, and submits its work there. The next
 * stage takes the slot over: its stream then waits for that work, the host does not.
 *
 *     cls_triple_buffer_upload_slot(ring, up, &slot);      cls_copy_h2d_async(slot.buffer, ..., up);
 *     cls_triple_buffer_process_slot(ring, work, &slot);   cls_kernel_launch_async(..., work);
 *     cls_triple_buffer_download_slot(ring, down, &slot);  cls_copy_d2h_async(..., slot.buffer, ..., down);
 *     cls_triple_buffer_advance(ring);                     the round is closed: the slot is free
 *
 * Slots go through every stage in the order in which they were uploaded. If a stage has no slot to
 * take, the call returns CLS_NOT_READY, which is not an error, and changes nothing.
 *
 * **Host memory.** When upload_slot returns a slot, the slot's last round is done: memory that the
 * program keeps for each slot, such as its source and target of copies or what a host function
 * reads, holds that round's results and may be filled again. The calling thread waits for that. The
 * last round is the work that the streams of its stages held when cls_triple_buffer_advance, or
 * before it cls_triple_buffer_submitted, was called. With the option `async_reuse` only the stream
 * waits. Host memory of a slot may then still be in use: keep memory for each batch, or wait for an
 * event (event.h) before touching it.
 *
 * **Threads.** Every function may be called from any thread. A slot can be taken over once its work
 * is submitted, and only its holder knows when that is. If another thread is to take it over, the
 * holder calls cls_triple_buffer_submitted first. A thread that takes a slot through all stages
 * itself need not call it.
 *
 * Statuses common to all calls: CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED. A NULL
 * stream means the default stream of the ring's context.
 */
#ifndef CLSTREAM_TRIPLE_BUFFER_H
#define CLSTREAM_TRIPLE_BUFFER_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A ring of slots. */
typedef struct cls_triple_buffer_handle *cls_triple_buffer;

/** The stage that a slot is in. */
typedef enum cls_slot_state {
    CLS_SLOT_FREE = 0,       /**< in no stage */
    CLS_SLOT_UPLOADING = 1,  /**< taken by upload_slot */
    CLS_SLOT_PROCESSING = 2, /**< taken by process_slot */
    CLS_SLOT_DOWNLOADING = 3 /**< taken by download_slot */
} cls_slot_state;

/** A slot that a stage has taken. */
typedef struct cls_slot {
    cls_buffer buffer; /**< belongs to the ring; do not destroy it */
    unsigned index;    /**< number of the slot in the ring, from 0 */
    uint64_t round;    /**< number of slots uploaded before this one */
} cls_slot;

/** Limits of a ring. */
enum {
    CLS_TRIPLE_BUFFER_MAX_SLOTS = 64 /**< slots */
};

/** Options of cls_triple_buffer_create. Start with CLS_TRIPLE_BUFFER_CONFIG_INIT. */
typedef struct cls_triple_buffer_config {
    size_t size;     /**< sizeof(cls_triple_buffer_config) */
    unsigned slots;  /**< 1 to CLS_TRIPLE_BUFFER_MAX_SLOTS; 2 is double buffering; 0: 3 */
    int async_reuse; /**< 0: upload_slot waits on the host until the slot's last round is done;
                          nonzero: only the stream waits, and host memory kept for each slot is not
                          guarded */
} cls_triple_buffer_config;

#define CLS_TRIPLE_BUFFER_CONFIG_INIT \
    { sizeof(cls_triple_buffer_config), 0, 0 }

/**
 * Creates a ring of slots of `bytes` bytes each. NULL `config`: the defaults. The caller destroys
 * the ring.
 * @retval CLS_ERROR_INVALID_VALUE `out` is null, 0 bytes, too many slots, or a wrong size field
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_triple_buffer_create(cls_context context, size_t bytes,
                                            const cls_triple_buffer_config *config,
                                            cls_triple_buffer *out);

/** Destroys a ring and returns at once. Work submitted on its slots still completes. */
CLS_API cls_status cls_triple_buffer_destroy(cls_triple_buffer ring);

/**
 * Takes the next free slot for an upload on `stream`. The calling thread waits until the slot's last
 * round is done; with `async_reuse` only the stream waits. The round must not wait for what the
 * calling thread does later, such as a signal: the call would never return.
 * @retval CLS_NOT_READY            no slot is free
 * @retval CLS_ERROR_INVALID_VALUE  `out` is null
 * @retval CLS_ERROR_WRONG_CONTEXT  the stream belongs to another context
 * @retval CLS_ERROR_INVALID_STATE  the stream is captured (graph.h); its capture is invalid then
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function, unless the ring has `async_reuse`
 * @return without `async_reuse`, also the error of the slot's last round
 */
CLS_API cls_status cls_triple_buffer_upload_slot(cls_triple_buffer ring, cls_stream stream,
                                                 cls_slot *out);

/**
 * Takes the slot that was uploaded first, for work on `stream`. The stream waits for the upload.
 * @retval CLS_NOT_READY           no slot is uploading, or another thread holds it and has not
 *                                 called cls_triple_buffer_submitted
 * @retval CLS_ERROR_INVALID_STATE work of an async coordinator (async_coordinator.h) on this slot
 *                                 was refused: the slot is unusable until cls_triple_buffer_reset
 * @return also the other statuses of upload_slot, and those of cls_event_record for the stream of
 *         the upload
 */
CLS_API cls_status cls_triple_buffer_process_slot(cls_triple_buffer ring, cls_stream stream,
                                                  cls_slot *out);

/**
 * Takes the slot that was processed first, for a download on `stream`. The stream waits for the
 * processing. Statuses as for process_slot.
 */
CLS_API cls_status cls_triple_buffer_download_slot(cls_triple_buffer ring, cls_stream stream,
                                                   cls_slot *out);

/**
 * Declares that the holder of the slot has submitted its work, so that any thread may take the slot
 * over.
 * @retval CLS_ERROR_INVALID_VALUE there is no slot of this index
 * @retval CLS_ERROR_INVALID_STATE the slot is free, or the holder's stream is captured
 */
CLS_API cls_status cls_triple_buffer_submitted(cls_triple_buffer ring, unsigned index);

/**
 * Closes the round of the slot that began its download first: the slot becomes free, and so do the
 * slots behind it whose rounds an async coordinator has already closed.
 * @retval CLS_NOT_READY           no slot is downloading, or another thread holds it and has not
 *                                 called cls_triple_buffer_submitted
 * @retval CLS_ERROR_INVALID_STATE as in process_slot
 */
CLS_API cls_status cls_triple_buffer_advance(cls_triple_buffer ring);

/**
 * Waits for the work on all slots, failed or not, and makes all slots free. Operations of async
 * coordinators that are being submitted on the slots are waited for too, but for the one whose
 * function makes this call. Use it after a failure, once the streams are reset. Calls that take a slot
 * return CLS_NOT_READY meanwhile.
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
CLS_API cls_status cls_triple_buffer_reset(cls_triple_buffer ring);

/** Gets the size of a slot in bytes. */
CLS_API cls_status cls_triple_buffer_get_size(cls_triple_buffer ring, size_t *bytes);

/** Gets the number of slots. */
CLS_API cls_status cls_triple_buffer_get_slots(cls_triple_buffer ring, unsigned *slots);

/**
 * Gets the states of all slots at one moment, by index.
 * @retval CLS_ERROR_INVALID_VALUE null, or `capacity` is below the number of slots
 */
CLS_API cls_status cls_triple_buffer_get_states(cls_triple_buffer ring, cls_slot_state *states,
                                                unsigned capacity);

CLS_END_DECLS

#endif

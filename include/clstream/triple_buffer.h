/* SPDX-License-Identifier: MIT */
/**
 * @file triple_buffer.h
 * Triple buffers: a ring of device buffers (slots) that go round Free -> Uploading -> Processing ->
 * Downloading -> Free, so that the upload of the next batch, the work on this one and the download of the
 * last one overlap.
 *
 * Each stage takes its slot with the stream that it works on, submits its work there, and the next stage
 * takes the slot over: its stream then waits for that work, the host does not.
 *
 *     cls_triple_buffer_upload_slot(ring, up, &slot);      cls_copy_h2d_async(slot.buffer, ..., up);
 *     cls_triple_buffer_process_slot(ring, work, &slot);   cls_kernel_launch_async(..., work);
 *     cls_triple_buffer_download_slot(ring, down, &slot);  cls_copy_d2h_async(..., slot.buffer, ..., down);
 *     cls_triple_buffer_advance(ring);                     the round is closed: the slot is free
 *
 * Slots go through every stage in the order in which they were uploaded. When there is none to take a
 * call returns CLS_NOT_READY, which is no error, and changes nothing.
 *
 * **Threads.** All calls are safe from any thread. A slot may be taken over once its work is submitted,
 * and only its holder knows that: where another thread is to take it over, the holder says so with
 * cls_triple_buffer_submitted. The thread that took a slot and takes it on need not.
 *
 * Statuses common to all calls: CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED. A NULL stream is
 * the default stream of the ring's context.
 */
#ifndef CLSTREAM_TRIPLE_BUFFER_H
#define CLSTREAM_TRIPLE_BUFFER_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A ring of slots. */
typedef struct cls_triple_buffer_handle *cls_triple_buffer;

/** What a slot is being used for. */
typedef enum cls_slot_state {
    CLS_SLOT_FREE = 0,       /**< nothing */
    CLS_SLOT_UPLOADING = 1,  /**< taken by upload_slot */
    CLS_SLOT_PROCESSING = 2, /**< taken by process_slot */
    CLS_SLOT_DOWNLOADING = 3 /**< taken by download_slot */
} cls_slot_state;

/** A slot as a stage holds it. */
typedef struct cls_slot {
    cls_buffer buffer; /**< the ring's; not to be destroyed */
    unsigned index;    /**< from 0 */
    uint64_t round;    /**< how many slots were uploaded before this one */
} cls_slot;

/** What a ring may have at most. */
enum {
    CLS_TRIPLE_BUFFER_MAX_SLOTS = 64 /**< slots */
};

/** Options of cls_triple_buffer_create. Start with CLS_TRIPLE_BUFFER_CONFIG_INIT. */
typedef struct cls_triple_buffer_config {
    size_t size;    /**< sizeof(cls_triple_buffer_config) */
    unsigned slots; /**< 1 to CLS_TRIPLE_BUFFER_MAX_SLOTS; 2 is double buffering; 0: 3 */
    int host_wait;  /**< nonzero: upload_slot waits until the device is done with the slot */
} cls_triple_buffer_config;

#define CLS_TRIPLE_BUFFER_CONFIG_INIT \
    { sizeof(cls_triple_buffer_config), 0, 0 }

/**
 * Creates a ring of slots of `bytes` bytes each. `config` may be NULL.
 * @retval CLS_ERROR_INVALID_VALUE        null out, 0 bytes, too many slots, a wrong size field
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_triple_buffer_create(cls_context context, size_t bytes,
                                            const cls_triple_buffer_config *config,
                                            cls_triple_buffer *out);

/** Destroys a ring and returns at once; work submitted on its slots still completes. */
CLS_API cls_status cls_triple_buffer_destroy(cls_triple_buffer ring);

/**
 * Takes the next free slot for an upload on `stream`, which waits for the download of the slot's last
 * round. With `host_wait` the calling thread waits for it instead.
 * @retval CLS_NOT_READY            no slot is free
 * @retval CLS_ERROR_INVALID_VALUE  a null out
 * @retval CLS_ERROR_WRONG_CONTEXT  the stream is of another context
 * @retval CLS_ERROR_WOULD_DEADLOCK with `host_wait`, inside a host function
 * @return with `host_wait`, also the error of the download
 */
CLS_API cls_status cls_triple_buffer_upload_slot(cls_triple_buffer ring, cls_stream stream,
                                                 cls_slot *out);

/**
 * Takes the slot uploaded longest ago for work on `stream`, which waits for the upload.
 * @retval CLS_NOT_READY no slot is uploading, or another thread holds it and has not said
 *                       that its work is submitted
 * @retval CLS_ERROR_INVALID_STATE work that an async coordinator (async_coordinator.h) had for this slot was refused:
 *                                 it is there for nobody until the reset
 * @return also the other statuses of upload_slot, and those of cls_event_record for the stream of the
 *         upload
 */
CLS_API cls_status cls_triple_buffer_process_slot(cls_triple_buffer ring, cls_stream stream,
                                                  cls_slot *out);

/** Takes the slot processed longest ago for a download on `stream`. As process_slot. */
CLS_API cls_status cls_triple_buffer_download_slot(cls_triple_buffer ring, cls_stream stream,
                                                   cls_slot *out);

/**
 * Says that the work of the slot's holder is submitted, so that any thread may take the slot over.
 * @retval CLS_ERROR_INVALID_VALUE no such slot
 * @retval CLS_ERROR_INVALID_STATE the slot is free
 */
CLS_API cls_status cls_triple_buffer_submitted(cls_triple_buffer ring, unsigned index);

/**
 * Closes the round of the slot that is downloading longest: it is free, and so are those behind it that an async
 * coordinator has closed.
 * @retval CLS_NOT_READY no slot is downloading, or another thread holds it and has not said that its
 *                       work is submitted
 * @retval CLS_ERROR_INVALID_STATE as process_slot
 */
CLS_API cls_status cls_triple_buffer_advance(cls_triple_buffer ring);

/**
 * Waits for the work on all slots, failed or not, and makes them free: to go on after a failure, once the
 * streams are reset. Nobody is given a slot meanwhile: those calls return CLS_NOT_READY.
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
CLS_API cls_status cls_triple_buffer_reset(cls_triple_buffer ring);

/** The size of a slot in bytes. */
CLS_API cls_status cls_triple_buffer_get_size(cls_triple_buffer ring, size_t *bytes);

/** The number of slots. */
CLS_API cls_status cls_triple_buffer_get_slots(cls_triple_buffer ring, unsigned *slots);

/**
 * The states of all slots at one moment, by index.
 * @retval CLS_ERROR_INVALID_VALUE null, or a capacity below the number of slots
 */
CLS_API cls_status cls_triple_buffer_get_states(cls_triple_buffer ring, cls_slot_state *states,
                                                unsigned capacity);

CLS_END_DECLS

#endif

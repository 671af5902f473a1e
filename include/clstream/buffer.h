/* SPDX-License-Identifier: MIT */
/**
 * @file buffer.h
 * Device memory, pinned host memory, and the copies between them.
 *
 * Sizes and offsets are in bytes. `_async` forms return before the work is done, also for pageable
 * host memory, which must stay valid and unchanged until the copy is done. The forms without the suffix
 * have completed on return. A NULL stream is the default stream of the buffer's context.
 *
 * Statuses common to all copies: CLS_ERROR_INVALID_HANDLE (buffer or stream), CLS_ERROR_INVALID_VALUE
 * (null host memory with a size above 0), CLS_ERROR_OUT_OF_RANGE (offset + bytes passes the end, or
 * overflows), CLS_ERROR_OVERLAP (within one buffer), CLS_ERROR_WRONG_CONTEXT,
 * CLS_ERROR_CONTEXT_DESTROYED, CLS_ERROR_OUT_OF_MEMORY, CLS_ERROR_LIMIT. Blocking forms return the
 * stream's error too, and CLS_ERROR_WOULD_DEADLOCK inside a host function. Zero bytes is a no-op.
 */
#ifndef CLSTREAM_BUFFER_H
#define CLSTREAM_BUFFER_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Allocates device memory; its contents are undefined.
 * @retval CLS_ERROR_INVALID_VALUE        null out, or 0 bytes
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY also for more than the device allows in one buffer
 */
CLS_API cls_status cls_buffer_create(cls_context context, size_t bytes, cls_buffer *out);

/** Allocates device memory and uploads `bytes` bytes of `data`; both are done on return. */
CLS_API cls_status cls_buffer_from_host(cls_context context, const void *data, size_t bytes,
                                        cls_buffer *out);

/** Downloads the first `bytes` bytes; done on return. Runs on the context's default stream. */
CLS_API cls_status cls_buffer_to_host(cls_buffer buffer, void *data, size_t bytes);

/**
 * Releases the caller's handle and returns at once; submitted work keeps the memory until it is done.
 * @retval CLS_ERROR_INVALID_VALUE it belongs to a triple buffer, a prefetcher or a pipeline
 */
CLS_API cls_status cls_buffer_destroy(cls_buffer buffer);

/** The size in bytes. */
CLS_API cls_status cls_buffer_get_size(cls_buffer buffer, size_t *bytes);

/**
 * Allocates pinned host memory: copies from and to it need no staging and run at the full speed of
 * the bus, those of other contexts too. Aligned to a page.
 * @retval CLS_ERROR_INVALID_VALUE null out, or 0 bytes
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY one or the other, as the driver sees it
 */
CLS_API cls_status cls_host_alloc(cls_context context, size_t bytes, void **out);

/**
 * Frees memory of cls_host_alloc. NULL is a no-op. Copies pending on it are completed first.
 * @retval CLS_ERROR_INVALID_VALUE  a pointer that cls_host_alloc did not return
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
CLS_API cls_status cls_host_free(void *memory);

/** Copies host memory to the device. */
CLS_API cls_status cls_copy_h2d_async(cls_buffer dst, size_t dst_offset, const void *src,
                                      size_t bytes, cls_stream stream);
/** As cls_copy_h2d_async, and waits for it. */
CLS_API cls_status cls_copy_h2d(cls_buffer dst, size_t dst_offset, const void *src, size_t bytes,
                                cls_stream stream);

/** Copies device memory to the host. */
CLS_API cls_status cls_copy_d2h_async(void *dst, cls_buffer src, size_t src_offset, size_t bytes,
                                      cls_stream stream);
/** As cls_copy_d2h_async, and waits for it. */
CLS_API cls_status cls_copy_d2h(void *dst, cls_buffer src, size_t src_offset, size_t bytes,
                                cls_stream stream);

/** Copies within the device. */
CLS_API cls_status cls_copy_d2d_async(cls_buffer dst, size_t dst_offset, cls_buffer src,
                                      size_t src_offset, size_t bytes, cls_stream stream);
/** As cls_copy_d2d_async, and waits for it. */
CLS_API cls_status cls_copy_d2d(cls_buffer dst, size_t dst_offset, cls_buffer src,
                                size_t src_offset, size_t bytes, cls_stream stream);

/** A 2-D rectangle of bytes: `height` rows of `width` bytes, `*_pitch` bytes from row to row. */
typedef struct cls_rect {
    size_t width;      /**< bytes in a row */
    size_t height;     /**< rows */
    size_t dst_offset; /**< bytes from the start of the destination to the first row */
    size_t dst_pitch;  /**< at least width */
    size_t src_offset; /**< bytes from the start of the source to the first row */
    size_t src_pitch;  /**< at least width */
} cls_rect;

/**
 * Copies a rectangle of host memory to the device.
 * @retval CLS_ERROR_INVALID_VALUE from all rectangle copies: a pitch below the width
 */
CLS_API cls_status cls_copy_rect_h2d_async(cls_buffer dst, const void *src, const cls_rect *rect,
                                           cls_stream stream);
/** As cls_copy_rect_h2d_async, and waits for it. */
CLS_API cls_status cls_copy_rect_h2d(cls_buffer dst, const void *src, const cls_rect *rect,
                                     cls_stream stream);
/** Copies a rectangle of device memory to the host. */
CLS_API cls_status cls_copy_rect_d2h_async(void *dst, cls_buffer src, const cls_rect *rect,
                                           cls_stream stream);
/** As cls_copy_rect_d2h_async, and waits for it. */
CLS_API cls_status cls_copy_rect_d2h(void *dst, cls_buffer src, const cls_rect *rect,
                                     cls_stream stream);
/** Copies a rectangle within the device. Within one buffer between rows of unequal pitches or across multiples
 * of the pitch, and where the driver's own copy cannot be used (`clstream info` says so among its quirks), a
 * kernel of the library's does it, and it counts as one that copied so many bytes. */
CLS_API cls_status cls_copy_rect_d2d_async(cls_buffer dst, cls_buffer src, const cls_rect *rect,
                                           cls_stream stream);
/** As cls_copy_rect_d2d_async, and waits for it. */
CLS_API cls_status cls_copy_rect_d2d(cls_buffer dst, cls_buffer src, const cls_rect *rect,
                                     cls_stream stream);

/**
 * Fills `bytes` bytes with a pattern of 1, 2, 4, 8 or 16 bytes, which is copied by the call. Offset and
 * size are multiples of the pattern's size, or CLS_ERROR_INVALID_VALUE.
 */
CLS_API cls_status cls_fill_async(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                                  size_t pattern_bytes, cls_stream stream);
/** As cls_fill_async, and waits for it. */
CLS_API cls_status cls_fill(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                            size_t pattern_bytes, cls_stream stream);

/** Where prefetch moves a buffer. */
typedef enum cls_location {
    CLS_TO_DEVICE = 0, /**< where the stream's kernels run */
    CLS_TO_HOST = 1    /**< where the program runs */
} cls_location;

/** Moves a buffer's memory to the stream's device, or to the host, ahead of its use. A hint, but for unified
 * memory on a coarse-grained device: see managed.h. Where a driver cannot be trusted with the way to the host
 * (`clstream info` says so among its quirks) that one moves nothing. */
CLS_API cls_status cls_prefetch_async(cls_buffer buffer, cls_location where, cls_stream stream);
/** As cls_prefetch_async, and waits for it. */
CLS_API cls_status cls_prefetch(cls_buffer buffer, cls_location where, cls_stream stream);

CLS_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file types.h
 * Handles, element types and the array view that typed operations take.
 *
 * Handles are opaque: their value encodes type, slot and generation and is looked up, never
 * dereferenced. A stale, foreign or garbage handle is CLS_ERROR_INVALID_HANDLE, never a crash.
 */
#ifndef CLSTREAM_TYPES_H
#define CLSTREAM_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <clstream/status.h>

CLS_BEGIN_DECLS

/** A device with its default stream, programs and queues: context.h. */
typedef struct cls_context_handle *cls_context;
/** An order of work: stream.h. */
typedef struct cls_stream_handle *cls_stream;
/** A mark in a stream's work: event.h. */
typedef struct cls_event_handle *cls_event;
/** Device memory: buffer.h, mempool.h, managed.h. */
typedef struct cls_buffer_handle *cls_buffer;
/** Built OpenCL C: kernel.h. */
typedef struct cls_program_handle *cls_program;
/** A function of a program: kernel.h. */
typedef struct cls_kernel_handle *cls_kernel;
/** A counter to signal and to wait for: timeline.h. */
typedef struct cls_timeline_handle *cls_timeline;

/** Element types. The numbers are fixed; those that follow are free for f16, bf16, i8, i16 and u16. */
typedef enum cls_dtype {
    CLS_F32 = 1, /**< float */
    CLS_F64 = 2, /**< double */
    CLS_I32 = 3, /**< int32_t */
    CLS_I64 = 4, /**< int64_t */
    CLS_U8 = 5,  /**< uint8_t */
    CLS_U32 = 6  /**< uint32_t */
} cls_dtype;

/**
 * The size of one element in bytes.
 * @return 1, 4 or 8, and 0 for a value that is no dtype.
 */
CLS_API size_t cls_dtype_size(cls_dtype dtype);

/** The short name of a dtype, as "f32"; "?" for a value that is none. */
CLS_API const char *cls_dtype_name(cls_dtype dtype);

/**
 * Finds a dtype by its short name ("f32", "f64", "i32", "i64", "u8", "u32").
 * @retval CLS_ERROR_INVALID_VALUE a null argument
 * @retval CLS_ERROR_NOT_FOUND     no such name
 */
CLS_API cls_status cls_dtype_parse(const char *name, cls_dtype *out);

/** `count` elements of type `dtype` that start `offset` elements into `buffer`. A plain value. */
typedef struct cls_array {
    cls_buffer buffer; /**< where the elements are */
    cls_dtype dtype;   /**< their type */
    size_t offset;     /**< in elements */
    size_t count;      /**< in elements */
} cls_array;

/** A view of the first `count` elements of a buffer. */
static inline cls_array cls_array_of(cls_buffer buffer, cls_dtype dtype, size_t count) {
    cls_array view = {buffer, dtype, 0, count};
    return view;
}

/** A view of `count` elements from element `offset` on. */
static inline cls_array cls_array_at(cls_buffer buffer, cls_dtype dtype, size_t offset,
                                     size_t count) {
    cls_array view = {buffer, dtype, offset, count};
    return view;
}

CLS_END_DECLS

#endif

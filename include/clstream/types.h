/* SPDX-License-Identifier: MIT */
/**
 * @file types.h
 * Handles, element types, and the array view that typed operations take.
 *
 * A handle is an opaque value that encodes type, slot and generation. The library looks it up and
 * never dereferences it: a stale, foreign or garbage handle gives CLS_ERROR_INVALID_HANDLE, never a
 * crash.
 *
 * **Structs with a size.** A struct of options or results begins with a field `size`, which its *_INIT
 * sets to the sizeof that the program was built with. A library takes every size from that of the
 * field itself up to its own sizeof, in steps of sizeof(size_t): options that are missing have the
 * values of *_INIT, and results are written up to the given size, of which `size` itself stays as it is.
 * So a program that was built with older headers runs with a newer library. A size above the library's
 * own is CLS_ERROR_INVALID_VALUE, as are all others.
 */
#ifndef CLSTREAM_TYPES_H
#define CLSTREAM_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <clstream/status.h>

CLS_BEGIN_DECLS

/** The `timeout_ns` of a wait without limit; 0 only asks. */
#define CLS_FOREVER UINT64_MAX

/** A device with its default stream, programs and queues: context.h. */
typedef struct cls_context_handle *cls_context;
/** A sequence of commands that take effect in order: stream.h. */
typedef struct cls_stream_handle *cls_stream;
/** A point in a stream's work: event.h. */
typedef struct cls_event_handle *cls_event;
/** Device memory: buffer.h, mempool.h, managed.h. */
typedef struct cls_buffer_handle *cls_buffer;
/** Device memory of texels: image.h. */
typedef struct cls_image_handle *cls_image;
/** A built OpenCL C program: kernel.h. */
typedef struct cls_program_handle *cls_program;
/** A kernel function of a program: kernel.h. */
typedef struct cls_kernel_handle *cls_kernel;
/** A 64-bit counter that streams and the host signal and wait for: timeline.h. */
typedef struct cls_timeline_handle *cls_timeline;

/**
 * Element types. The numbers do not change.
 *
 * f16 and bf16 are types of memory: operations read them as f32, which holds all of their values,
 * calculate in f32, and round the result once, to nearest with ties to even. They need no
 * extension of the device. In C an element is a uint16_t with its bits.
 *
 * i8, i16 and u16 have no typed names (typed.h): the generic functions take them, as all others.
 */
typedef enum cls_dtype {
    CLS_F32 = 1,  /**< float */
    CLS_F64 = 2,  /**< double */
    CLS_I32 = 3,  /**< int32_t */
    CLS_I64 = 4,  /**< int64_t */
    CLS_U8 = 5,   /**< uint8_t */
    CLS_U32 = 6,  /**< uint32_t */
    CLS_F16 = 7,  /**< IEEE 754 binary16: 5 bits of exponent, 10 of fraction, up to 65504 */
    CLS_BF16 = 8, /**< the upper half of an f32: 8 bits of exponent, 7 of fraction */
    CLS_I8 = 9,   /**< int8_t */
    CLS_I16 = 10, /**< int16_t */
    CLS_U16 = 11  /**< uint16_t */
} cls_dtype;

/**
 * Returns the size of one element in bytes.
 * @return 1, 2, 4 or 8; 0 for an unknown value
 */
CLS_API size_t cls_dtype_size(cls_dtype dtype);

/** Returns the short name of a dtype, for example "f32"; "?" for an unknown value. */
CLS_API const char *cls_dtype_name(cls_dtype dtype);

/**
 * Gets a dtype by its short name ("f32", "f64", "i32", "i64", "u8", "u32", "f16",
 * "bf16", "i8", "i16", "u16").
 * @retval CLS_ERROR_INVALID_VALUE an argument is null
 * @retval CLS_ERROR_NOT_FOUND     there is no such name
 */
CLS_API cls_status cls_dtype_parse(const char *name, cls_dtype *out);

/**
 * A view of a buffer: `count` elements of type `dtype`, starting `offset` elements into the buffer.
 * It is a plain value, without ownership.
 */
typedef struct cls_array {
    cls_buffer buffer; /**< holds the elements */
    cls_dtype dtype;   /**< type of the elements */
    size_t offset;     /**< first element of the view, in elements */
    size_t count;      /**< number of elements */
} cls_array;

/** A view of the first `count` elements of a buffer. */
static inline cls_array cls_array_of(cls_buffer buffer, cls_dtype dtype, size_t count) {
    cls_array view = {buffer, dtype, 0, count};
    return view;
}

/** A view of `count` elements, starting at element `offset`. */
static inline cls_array cls_array_at(cls_buffer buffer, cls_dtype dtype, size_t offset,
                                     size_t count) {
    cls_array view = {buffer, dtype, offset, count};
    return view;
}

CLS_END_DECLS

#endif

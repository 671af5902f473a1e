/* SPDX-License-Identifier: MIT */
/**
 * @file cast.h
 * Conversion from one element type to another. The 30 typed names are in typed.h.
 *
 * **Common rules** of the operations of cast.h, where.h, unary.h, binary.h and reduce.h. Arrays
 * are views (types.h); counts and offsets are in elements. The order of arguments is inputs,
 * output, parameters, stream. A NULL stream is the default stream of the arrays' context. The
 * `_async` forms only submit: the arrays' buffers may be destroyed at once, their contents are the
 * device's until the work is done. The forms without the suffix have completed on return. All are
 * safe from any thread.
 *
 * In place is allowed for element-by-element operations: the output may be exactly the bytes of an
 * input of the same element size. Any other sharing of bytes between output and input is refused.
 * Inputs may overlap each other. Zero elements is a no-op.
 *
 * Floating-point results below the smallest normal number may be flushed to zero, and such inputs
 * may be taken as zero, on devices whose arithmetic does so; a NaN's sign and payload are not kept.
 *
 * Statuses, besides those of each function:
 * @retval CLS_ERROR_INVALID_VALUE     an unknown operation or element type
 * @retval CLS_ERROR_INVALID_HANDLE    a buffer, or the stream
 * @retval CLS_ERROR_WRONG_CONTEXT     buffers or stream of different contexts
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_OUT_OF_RANGE      a view that passes the end of its buffer
 * @retval CLS_ERROR_SIZE_MISMATCH     views of unequal counts
 * @retval CLS_ERROR_TYPE_MISMATCH     element types that do not go together or have no such
 *   operation
 * @retval CLS_ERROR_OVERLAP           output and input share bytes without being the same
 * @retval CLS_ERROR_UNSUPPORTED       f64 on a device without it; the detail names the type
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @retval CLS_ERROR_LIMIT             the stream's fifo_limit is reached
 * @retval CLS_ERROR_BUILD_FAILED      only with kernels of CLSTREAM_KERNEL_PATH; without a file there
 *   CLS_ERROR_NOT_FOUND, with one that cannot be read CLS_ERROR_IO
 * @return from blocking forms also the stream's error, and CLS_ERROR_WOULD_DEADLOCK inside a host
 *         function
 */
#ifndef CLSTREAM_CAST_H
#define CLSTREAM_CAST_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Converts every element of `in` to `out`'s type. Bit-exact on every device:
 *
 * - to an integer type: truncated toward zero, then saturated to the type's range; NaN gives 0,
 *   infinities and values out of range the nearest limit;
 * - from an integer to a floating-point type: rounded to nearest, ties to even;
 * - f64 to f32: rounded to nearest, ties to even; beyond the range infinity; NaN stays NaN, -0
 *   stays -0;
 * - f32 to f64: exact;
 * - equal types: a copy.
 */
CLS_API cls_status cls_cast(cls_array in, cls_array out, cls_stream stream);
/** As cls_cast; only submits. */
CLS_API cls_status cls_cast_async(cls_array in, cls_array out, cls_stream stream);

/**
 * As cls_cast by the kernel registered under `name` in the arrays' context (cls_kernel_register),
 * or, if there is none, by the library's own of that name, which is "cast". A registered kernel may
 * take any two element types. Its parameters are
 *
 *     (global const IN *in, ulong in_offset, global OUT *out, ulong out_offset, ulong count)
 *
 * with offsets and count in elements. It is launched in one dimension with at least `count`
 * work-items and must ignore those from `count` on.
 * @retval CLS_ERROR_NOT_FOUND neither a registered kernel nor one of the library's own
 */
CLS_API cls_status cls_cast_named(const char *name, cls_array in, cls_array out, cls_stream stream);
/** As cls_cast_named; only submits. */
CLS_API cls_status cls_cast_named_async(const char *name, cls_array in, cls_array out,
                                        cls_stream stream);

CLS_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file cast.h
 * Conversion between element types, and the common rules of all typed operations. The 56 typed
 * names (cls_cast_f32_f64 ...) are in typed.h; i8, i16 and u16 have none (types.h).
 *
 * **Common rules** of the operations of cast.h, where.h, unary.h, binary.h and reduce.h:
 *   - Arrays are views (types.h). Counts and offsets are in elements.
 *   - The order of arguments is inputs, output, parameters, stream. A NULL stream means the default
 *     stream of the arrays' context.
 *   - The `_async` forms only submit. The caller may destroy the arrays' buffers at once; their
 *     contents belong to the device until the work is done. The forms without the suffix have
 *     completed on return.
 *   - Every function may be called from any thread.
 *   - Element-by-element operations may be in place: the output may be exactly the bytes of an
 *     input with the same element size. Any other overlap of output and input is refused. Inputs
 *     may overlap each other.
 *   - Zero elements is a no-op.
 *   - Devices that flush denormal numbers may return zero for floating-point results below the
 *     smallest normal number, and read such inputs as zero. The sign and payload of a NaN are not
 *     kept.
 *
 * Statuses, besides those of each function:
 * @retval CLS_ERROR_INVALID_VALUE  the operation or element type is unknown
 * @retval CLS_ERROR_INVALID_HANDLE a buffer, or the stream
 * @retval CLS_ERROR_WRONG_CONTEXT  the buffers and the stream belong to different contexts
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_OUT_OF_RANGE   a view ends past the end of its buffer
 * @retval CLS_ERROR_SIZE_MISMATCH  views of unequal counts
 * @retval CLS_ERROR_TYPE_MISMATCH  the element types do not fit together, or the operation does not
 *                                  support them
 * @retval CLS_ERROR_OVERLAP        output and input overlap without being the same bytes
 * @retval CLS_ERROR_UNSUPPORTED    f64 on a device without it; the detail names the type. f64 to f16 or bf16, functions
 *                                  and sums of floats on a device whose floats keep more digits than they have. Also if the
 *                                  device's compiler does not build the operation, since it lacks
 *                                  a function; the detail has its words
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @retval CLS_ERROR_LIMIT          the stream's fifo_limit is reached
 * @retval CLS_ERROR_NOT_FOUND      only with CLSTREAM_KERNEL_PATH: the folder lacks the file;
 *                                  CLS_ERROR_IO if the file cannot be read
 * @return blocking forms also return the stream's error, and CLS_ERROR_WOULD_DEADLOCK inside a host
 *         function
 */
#ifndef CLSTREAM_CAST_H
#define CLSTREAM_CAST_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Converts every element of `in` to the type of `out`. The result is bit-exact on every device:
 *   - to an integer type: truncated toward zero, then saturated to the type's range. NaN gives 0;
 *     infinities and values out of range give the nearest limit;
 *   - from an integer to a floating-point type: rounded once, to nearest, ties to even; beyond the
 *     range of f16 infinity;
 *   - to a smaller floating-point type: rounded once, to nearest, ties to even, also from f64 to
 *     f16 or bf16. Values beyond the range give infinity; numbers below the smallest normal one are
 *     kept; NaN stays NaN, in f16 and bf16 a quiet one; -0 stays -0;
 *   - f32 to f64, and f16 or bf16 to f32 or f64: exact;
 *   - equal types: a copy.
 */
CLS_API cls_status cls_cast(cls_array in, cls_array out, cls_stream stream);
/** Like cls_cast; only submits. */
CLS_API cls_status cls_cast_async(cls_array in, cls_array out, cls_stream stream);

/**
 * Like cls_cast, with the kernel that is registered under `name` in the arrays' context
 * (cls_kernel_register), or, if there is none, with the library's own kernel of that name, "cast".
 * A registered kernel may convert between any two element types. Its parameters are
 *
 *     (global const IN *in, ulong in_offset, global OUT *out, ulong out_offset, ulong count)
 *
 * with offsets and count in elements. It is launched in one dimension with at least `count`
 * work-items, and must ignore those from `count` on.
 * @retval CLS_ERROR_NOT_FOUND neither the context nor the library has a kernel of this name
 */
CLS_API cls_status cls_cast_named(const char *name, cls_array in, cls_array out, cls_stream stream);
/** Like cls_cast_named; only submits. */
CLS_API cls_status cls_cast_named_async(const char *name, cls_array in, cls_array out,
                                        cls_stream stream);

CLS_END_DECLS

#endif

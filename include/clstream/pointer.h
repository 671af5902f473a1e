/* SPDX-License-Identifier: MIT */
/**
 * @file pointer.h
 * Device memory by pointers, as CUDA programs hold it: allocate, calculate with the pointer, copy, launch.
 *
 *     float *x;
 *     cls_device_malloc(NULL, n * sizeof *x, (void **)&x);
 *     cls_memcpy_async(x, host, n * sizeof *x, stream);
 *     cls_arg args[] = {cls_arg_pointer(x + 1), cls_arg_i32(n - 1)};
 *     cls_kernel_launch_async(kernel, &launch, args, 2, stream);
 *     cls_device_free(x);
 *
 * A pointer names a byte of a buffer (buffer.h). Arithmetic on the host within the buffer's bytes is valid. Pointers
 * and handles of the same memory may be mixed, and a call by pointer does what the call by handle does: it has the same
 * order, statuses and race checks, and a capture (graph.h) holds the buffer that the pointer named.
 *
 * The host never dereferences a pointer to device memory. Unified memory (managed.h) and pinned memory (cls_host_buffer)
 * keep their rules: their pointers are the host's own. Other pointers are one of two kinds, which cls_pointer_get_info
 * tells apart:
 *
 * - the address (address.h) that kernels see (cls_pointer_info.is_address), where the device gives one and the process
 *   has no other use for these addresses. On a device that computes in the host's memory they are the memory itself.
 * - else an address in a range that the library reserves, which the process cannot access. A kernel cannot use it: it is
 *   for the host's calls and for cls_arg_pointer. Two buffers of one memory have different pointers for that reason, as
 *   do buffers of two devices that give both the same address.
 *
 * A pointer is valid as long as its buffer's handle. It is unknown from the call on that frees the buffer, though
 * submitted work keeps the memory. The byte past the end of a buffer belongs to nothing, or to the buffer that begins
 * there; in a reserved range it belongs to nothing.
 *
 * A pointer that is in no buffer is host memory to the copies, except where the library knows that it cannot be: in memory
 * that was freed, in a reserved range, or in addresses that only the device's driver uses. Those are CLS_ERROR_NOT_FOUND, and
 * the detail names the nearest buffer. Freed memory of a device that computes in the host's memory
 * is known until the process has another use for it, as with free.
 *
 * Looking up a pointer takes no lock, and about 50 ns among 10,000 buffers. Every function may be called from
 * any thread. A NULL stream means the default stream of the context of the first device pointer among the arguments,
 * destinations first, or of the default context where there is none.
 */
#ifndef CLSTREAM_POINTER_H
#define CLSTREAM_POINTER_H

#include <clstream/buffer.h>
#include <clstream/kernel.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/* --- memory --- */

/**
 * Gets a pointer to the first byte of a buffer. Every call for one handle gives the same. For unified and pinned memory
 * it is the host's.
 *
 * The first call for a buffer asks the device for its address, and waits for the answer (cls_buffer_get_address); memory
 * that a pool gives again keeps its pointer. Where the device has no addresses, or tells none of this buffer, the pointer is
 * in a reserved range. In a capture it always is, because the memory is another one in each graph.
 * @retval CLS_ERROR_INVALID_VALUE `pointer` is null
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_CONTEXT_LOST
 * @retval CLS_ERROR_OUT_OF_MEMORY also if the process has no addresses left to reserve
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @return also what else the device's compiler or driver makes of the question
 */
CLS_API cls_status cls_buffer_get_pointer(cls_buffer buffer, void **pointer);

/**
 * Allocates device memory with undefined contents, as cls_buffer_create does, and gets its pointer. The caller frees it with
 * cls_device_free. NULL `context`: the default context.
 * @retval CLS_ERROR_INVALID_VALUE        `pointer` is null, or `bytes` is 0
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY also for more than the device allows in one buffer
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @return also the statuses of cls_buffer_get_pointer
 */
CLS_API cls_status cls_device_malloc(cls_context context, size_t bytes, void **pointer);

/**
 * Frees the buffer that begins at `pointer`, as cls_buffer_destroy does: it returns at once, and submitted work keeps
 * the memory until it is done. NULL is a no-op.
 * @retval CLS_ERROR_NOT_FOUND     no buffer has this byte, or it was freed before; the detail names the nearest
 * @retval CLS_ERROR_INVALID_VALUE the pointer is inside a buffer, and the detail names its start; or the buffer belongs
 *                                 to an object of the library or to pinned memory
 */
CLS_API cls_status cls_device_free(void *pointer);

/**
 * Allocates stream-ordered memory from the current pool of the stream's context, as cls_malloc_async does, and gets its
 * pointer. Memory that the pool gives for the first time has the device asked for its address. Of another pool:
 * cls_mempool_malloc_async and cls_buffer_get_pointer.
 * @return the statuses of cls_malloc_async and cls_buffer_get_pointer
 */
CLS_API cls_status cls_device_malloc_async(cls_stream stream, size_t bytes, void **pointer);

/**
 * Frees the buffer that begins at `pointer` at this point of the stream, as cls_free_async does. NULL is a no-op, if the
 * stream is valid. The pointer is unknown from the call on.
 * @retval CLS_ERROR_NOT_FOUND     no buffer has this byte, or it was freed before; the detail names the nearest
 * @retval CLS_ERROR_INVALID_VALUE the pointer is inside a buffer, and the detail names its start
 * @return also the statuses of cls_free_async
 */
CLS_API cls_status cls_device_free_async(void *pointer, cls_stream stream);

/* --- asking --- */

/**
 * Gets the buffer that has the byte at `pointer`, and how far behind its start the byte is. The handle stays its
 * owner's. Either of the results may be null.
 * @retval CLS_ERROR_NOT_FOUND no buffer has this byte; the detail names the nearest
 */
CLS_API cls_status cls_pointer_get_buffer(const void *pointer, cls_buffer *buffer, size_t *offset);

/** What a pointer points to. */
typedef enum cls_pointer_kind {
    CLS_POINTER_HOST = 0,    /**< nothing that the library knows: other memory of the host's */
    CLS_POINTER_DEVICE = 1,  /**< device memory */
    CLS_POINTER_UNIFIED = 2, /**< memory of cls_managed_alloc whose pointer was asked for */
    CLS_POINTER_PINNED = 3   /**< memory of cls_host_alloc or cls_host_register */
} cls_pointer_kind;

/** What the library knows of a pointer. Start with CLS_POINTER_INFO_INIT. */
typedef struct cls_pointer_info {
    size_t size;           /**< sizeof(cls_pointer_info) */
    cls_pointer_kind kind; /**< what it points to */
    int is_address; /**< nonzero: kernels see the byte at this address, so that a program may put
                                the pointer into memory that they read */
    cls_context context; /**< of the memory; NULL: of CLS_POINTER_HOST */
    cls_buffer buffer; /**< that has the byte; NULL: of CLS_POINTER_HOST, and of pinned memory that
                                is no buffer, or whose buffer's pointer was not asked for */
    void *base;        /**< the memory's first byte; NULL: of CLS_POINTER_HOST */
    size_t bytes;      /**< the memory's size, 0: of CLS_POINTER_HOST */
    size_t offset;     /**< from `base` to the pointer */
} cls_pointer_info;

#define CLS_POINTER_INFO_INIT \
    { sizeof(cls_pointer_info), CLS_POINTER_HOST, 0, 0, 0, 0, 0, 0 }

/**
 * Gets what the library knows of a pointer. The handles in it remain their owners'.
 * @retval CLS_ERROR_INVALID_VALUE `info` is null, or its size field is wrong
 * @retval CLS_ERROR_NOT_FOUND     it is known that the host cannot access it, and no buffer has it; the detail names the
 *                                 nearest
 */
CLS_API cls_status cls_pointer_get_info(const void *pointer, cls_pointer_info *info);

/* --- copies and fills --- */

/**
 * Copies `bytes` bytes. Either of `dst` and `src` is a pointer into a buffer or host memory, from which the direction
 * follows: the copy is one of cls_copy_h2d_async, cls_copy_d2h_async, cls_copy_d2d_async (between contexts too) and
 * cls_copy_h2h_async. Unified memory that belongs to the host counts as host memory. 0 bytes: the pointers are not looked
 * at, and a stream that is not NULL is checked.
 * @retval CLS_ERROR_NOT_FOUND     `dst` or `src` is in no buffer and is no host memory; the detail names the nearest
 * @retval CLS_ERROR_OUT_OF_RANGE  the bytes pass the end of the buffer in which they begin
 * @retval CLS_ERROR_INVALID_VALUE `dst` or `src` is null
 * @retval CLS_ERROR_OVERLAP       source and destination overlap
 * @retval CLS_ERROR_WRONG_CONTEXT the stream is of another context than the buffers
 * @return also the other statuses of copies (buffer.h)
 */
CLS_API cls_status cls_memcpy_async(void *dst, const void *src, size_t bytes, cls_stream stream);
/** Like cls_memcpy_async, and waits for the copy. */
CLS_API cls_status cls_memcpy(void *dst, const void *src, size_t bytes, cls_stream stream);

/**
 * Copies `height` rows of `width` bytes that begin `dst_pitch` and `src_pitch` bytes apart, as cudaMemcpy2DAsync does.
 * @retval CLS_ERROR_INVALID_VALUE also for a pitch below the width
 * @return also the statuses of cls_memcpy_async
 */
CLS_API cls_status cls_memcpy_2d_async(void *dst, size_t dst_pitch, const void *src,
                                       size_t src_pitch, size_t width, size_t height,
                                       cls_stream stream);
/** Like cls_memcpy_2d_async, and waits for the copy. */
CLS_API cls_status cls_memcpy_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                                 size_t width, size_t height, cls_stream stream);

/**
 * Sets `bytes` bytes to the lowest eight bits of `value`, by cls_fill_async. Pinned memory, and unified memory that belongs
 * to the host, is set on the host in the order of the stream.
 * @retval CLS_ERROR_NOT_FOUND     `dst` is in no buffer and in no pinned memory; the detail names the nearest
 * @retval CLS_ERROR_OUT_OF_RANGE  the bytes pass the end of the memory in which they begin
 * @retval CLS_ERROR_INVALID_VALUE `dst` is null
 * @retval CLS_ERROR_WRONG_CONTEXT the stream is of another context than the buffer
 * @return also the other statuses of fills (buffer.h)
 */
CLS_API cls_status cls_memset_async(void *dst, int value, size_t bytes, cls_stream stream);
/** Like cls_memset_async, and waits for the fill. */
CLS_API cls_status cls_memset(void *dst, int value, size_t bytes, cls_stream stream);

/**
 * Sets `height` rows of `width` bytes that begin `pitch` bytes apart, as cudaMemset2DAsync does.
 * @retval CLS_ERROR_INVALID_VALUE also for a pitch below the width
 * @return also the statuses of cls_memset_async
 */
CLS_API cls_status cls_memset_2d_async(void *dst, size_t pitch, int value, size_t width,
                                       size_t height, cls_stream stream);
/** Like cls_memset_2d_async, and waits for the fill. */
CLS_API cls_status cls_memset_2d(void *dst, size_t pitch, int value, size_t width, size_t height,
                                 cls_stream stream);

/* --- arguments --- */

/**
 * A pointer into a buffer, for a __global or __constant pointer, looked up by the launch. The start of a buffer is passed
 * as cls_arg_buffer does; any other byte as cls_arg_buffer_at does with all bytes from there on, where the device takes that
 * offset. The kernel may use bytes before the pointer too: the race checker takes it that the whole buffer may be
 * accessed. NULL passes a null pointer, as cls_arg_buffer does. A pointer in no buffer makes the launch
 * CLS_ERROR_NOT_FOUND.
 */
static inline cls_arg cls_arg_pointer(const void *pointer) {
    cls_arg arg;
    arg.kind = CLS_ARG_POINTER;
    arg.access = CLS_ACCESS_UNKNOWN;
    arg.type = CLS_ARG_ANY;
    arg.size = 0;
    arg.u.pointer = pointer;
    return arg;
}

CLS_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file address.h
 * Addresses of device memory, for kernels that follow them: structures of pointers, tables of rows, trees.
 *
 *     struct rows { cl_ulong row[2]; } rows;                  // in the kernel: global float *row[2]
 *     cls_buffer_get_address(a, &rows.row[0]);
 *     cls_buffer_get_address(b, &rows.row[1]);
 *     cls_copy_h2d_async(table, 0, &rows, sizeof rows, stream);
 *
 *     cls_arg args[] = {cls_arg_buffer(table)};
 *     cls_arg reaches[] = {cls_arg_buffer(a), cls_arg_reads(b, 0, bytes)};
 *     cls_launch launch = cls_launch_1d(n);
 *     launch.reaches = reaches;
 *     launch.n_reaches = 2;
 *     cls_kernel_launch_async(kernel, &launch, args, 1, stream);
 *
 * An address is what `(ulong)p` is in a kernel for a pointer `p` to the buffer's first byte. It means something to kernels
 * of the buffer's context only; the host adds offsets to it, and never dereferences it. Kernels may load from it and
 * store to it as through an argument, within the buffer's bytes.
 *
 * OpenCL 1.2 has no call for an address: a small kernel of the library's tells it. Drivers need not keep a buffer at one
 * address, nor present to a kernel that it is no argument of. So both are tried by values at the first use of a device
 * (`clstream check` names the mechanism `addresses`), and all that uses addresses is refused where the trial failed or
 * could not be run.
 *
 * What a launch reaches through addresses is said with it, in cls_launch.reaches (kernel.h), or by cls_arg_address: these
 * buffers are kept until the launch is done, as its arguments are, and the race checker and captures know them. A kernel that
 * reaches other buffers than those uses memory that may be gone, on every driver.
 *
 * Every function may be called from any thread.
 */
#ifndef CLSTREAM_ADDRESS_H
#define CLSTREAM_ADDRESS_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Gets the address at which kernels see a buffer's first byte. It stays the same as long as the handle is valid. The
 * buffer may be of any kind: the caller's own or of a memory pool, shareable or a part of such memory, opened, imported,
 * wrapped, unified, pinned.
 *
 * The first call for a buffer asks the device, and waits for the answer, but for no work that was submitted; it may be
 * made in a host function, as cls_host_alloc. Later calls, and those for memory that a pool gives again, read what is
 * kept: a few nanoseconds.
 * @param buffer  the buffer
 * @param address receives the address, which is not 0
 * @retval CLS_ERROR_INVALID_VALUE     `address` is null
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_CONTEXT_LOST
 * @retval CLS_ERROR_INVALID_STATE     the host owns the unified or pinned memory: prefetch it to the device first
 * @retval CLS_ERROR_UNSUPPORTED       the trial of addresses failed on this device, or could not be run; or the buffer was
 *                                     allocated in a capture, and has other memory in each graph. The detail says which
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 */
CLS_API cls_status cls_buffer_get_address(cls_buffer buffer, uint64_t *address);

CLS_END_DECLS

#endif

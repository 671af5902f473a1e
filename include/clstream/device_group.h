/* SPDX-License-Identifier: MIT */
/**
 * @file device_group.h
 * Device groups: several contexts, of several devices or of parts of one, with a set of streams each, and
 * what data-parallel work needs between them: copies, scatter, gather and all-reduce.
 *
 * The drivers' own copies between devices are slow or missing, so data goes through pinned chunks, of which
 * each device has a ring, down on one device while it goes up on the other. All calls only submit. What moves
 * data runs behind the work that the compute streams of the devices concerned hold, and their later work
 * behind it. To overlap them, work on streams of your own and let the compute streams wait for those, as
 * bench/parallel.c does with the gradients of a network's layers.
 *
 * All calls are safe from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_CONTEXT_DESTROYED.
 */
#ifndef CLSTREAM_DEVICE_GROUP_H
#define CLSTREAM_DEVICE_GROUP_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Several contexts that work on one set of data. */
typedef struct cls_device_group_handle *cls_device_group;

/** What a group may have at most. */
enum {
    CLS_DEVICE_GROUP_MAX = 16 /**< contexts */
};

/** The streams of one device. */
typedef struct cls_device_streams {
    cls_stream upload;   /**< for uploads */
    cls_stream compute;  /**< for kernels and typed operations */
    cls_stream download; /**< for downloads */
} cls_device_streams;

/** Options of cls_device_group_create. Start with CLS_DEVICE_GROUP_CONFIG_INIT. */
typedef struct cls_device_group_config {
    size_t size;        /**< sizeof(cls_device_group_config) */
    size_t chunk_bytes; /**< of a ring, at most at once; 0: 16 MiB */
    unsigned chunks;    /**< of each device's ring, 1 to 64; 0: 8 */
} cls_device_group_config;

#define CLS_DEVICE_GROUP_CONFIG_INIT \
    { sizeof(cls_device_group_config), 0, 0 }

/**
 * Creates a group of the caller's contexts, which must outlive it. `config` may be NULL.
 * @retval CLS_ERROR_INVALID_VALUE null pointers, none or more than CLS_DEVICE_GROUP_MAX contexts, a wrong size
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 * @return also what cls_stream_create and cls_host_alloc return
 */
CLS_API cls_status cls_device_group_create(const cls_context *contexts, unsigned n_contexts,
                                           const cls_device_group_config *config,
                                           cls_device_group *out);

/**
 * Destroys a group and its streams. Waits for the copies that it has submitted.
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
CLS_API cls_status cls_device_group_destroy(cls_device_group group);

/** The number of devices. */
CLS_API cls_status cls_device_group_get_count(cls_device_group group, unsigned *count);

/** The streams of a device. They are the group's. @retval CLS_ERROR_OUT_OF_RANGE no such device */
CLS_API cls_status cls_device_group_get_streams(cls_device_group group, unsigned device,
                                                cls_device_streams *out);

/** A range of a buffer of one device of a group. */
typedef struct cls_device_range {
    unsigned device;   /**< its number in the group, from 0 */
    cls_buffer buffer; /**< of the device's context */
    size_t offset;     /**< in bytes */
} cls_device_range;

/**
 * Copies `bytes` bytes from one device to another, or within one.
 * @retval CLS_ERROR_OUT_OF_RANGE   no such device, or past the end of a buffer
 * @retval CLS_ERROR_WRONG_CONTEXT  a buffer is not of its device's context
 * @return also what cls_copy_d2h_async and cls_copy_h2d_async return
 */
CLS_API cls_status cls_device_group_copy_async(cls_device_group group, cls_device_range to,
                                               cls_device_range from, size_t bytes);

/**
 * Uploads a share of `bytes` bytes to the start of each device's buffer: device i gets host + i * bytes.
 * The host memory must stay as it is until the copies are done. Statuses as copy_async, and
 * CLS_ERROR_INVALID_VALUE for null pointers.
 */
CLS_API cls_status cls_device_group_scatter_async(cls_device_group group, const void *host,
                                                  size_t bytes, const cls_buffer *buffers);

/** Downloads `bytes` bytes from the start of each device's buffer, of device i to host + i * bytes. */
CLS_API cls_status cls_device_group_gather_async(cls_device_group group, const cls_buffer *buffers,
                                                 size_t bytes, void *host);

/**
 * Replaces every device's array by the sum of all of them, added up in the order of the devices. Each element
 * is added up once, on one of them, so all get the same bits. Whatever their number, each device sends and
 * gets about twice the size of an array.
 * @retval CLS_ERROR_INVALID_VALUE null arrays
 * @retval CLS_ERROR_SIZE_MISMATCH unequal counts
 * @retval CLS_ERROR_TYPE_MISMATCH unequal types
 * @return also what copy_async and cls_binary_async return
 */
CLS_API cls_status cls_device_group_all_reduce_async(cls_device_group group,
                                                     const cls_array *arrays);

/** Waits for everything on the group's streams. @return the first error of one of them */
CLS_API cls_status cls_device_group_synchronize(cls_device_group group);

CLS_END_DECLS

#endif

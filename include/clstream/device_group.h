/* SPDX-License-Identifier: MIT */
/**
 * @file device_group.h
 * Device groups for data-parallel work: several contexts, on several devices or on parts of one,
 * each with a set of streams, and copies, scatter, gather, all-reduce and reduce-scatter between
 * them.
 *
 * Where the context of one device reaches the other's memory, because the buffer is shareable
 * (share.h) or the contexts are of one device and one cl_context, data takes the direct way: a copy
 * is one command of a driver. Ordinary buffers of devices that have a link (CLS_SHARE_DIRECT_LINK) go
 * through a shareable buffer of the group's, as large as the largest such array, or copy up to 256
 * MiB, on each device. Else the library copies through chunks of pinned memory, because the
 * drivers' own copies between devices are slow or missing: each device has a ring of chunks, and
 * downloads from one device overlap with uploads to another. cls_device_group_get_statistics tells
 * which way was taken. All copies only submit. A copy runs after the work that the compute
 * streams of the devices involved hold, and their later work runs after the copy. To overlap copies
 * with computation, submit the computation to streams of your own, and make the compute streams
 * wait for those; bench/parallel.c does so with the gradients of a network's layers.
 *
 * Every function may be called from any thread. Statuses common to all: CLS_ERROR_INVALID_HANDLE,
 * CLS_ERROR_CONTEXT_DESTROYED.
 */
#ifndef CLSTREAM_DEVICE_GROUP_H
#define CLSTREAM_DEVICE_GROUP_H

#include <clstream/reduce.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Several contexts that work on one set of data. */
typedef struct cls_device_group_handle *cls_device_group;

/** Limits of a group. */
enum {
    CLS_DEVICE_GROUP_MAX = 16 /**< contexts */
};

/** The streams of one device. They belong to the group. */
typedef struct cls_device_streams {
    cls_stream upload;   /**< for uploads */
    cls_stream compute;  /**< for kernels and typed operations */
    cls_stream download; /**< for downloads */
} cls_device_streams;

/** Options of cls_device_group_create. Start with CLS_DEVICE_GROUP_CONFIG_INIT. */
typedef struct cls_device_group_config {
    size_t size;        /**< sizeof(cls_device_group_config) */
    size_t chunk_bytes; /**< size of a chunk of pinned memory; 0: 16 MiB */
    unsigned chunks;    /**< chunks per device, 1 to 64; 0: 8 */
    int reserved;       /**< 0; later releases may give it a meaning */
} cls_device_group_config;

#define CLS_DEVICE_GROUP_CONFIG_INIT \
    { sizeof(cls_device_group_config), 0, 0, 0 }

/**
 * Creates a group of the caller's contexts, which must outlive it. NULL `config`: the defaults. The
 * caller destroys the group.
 * @retval CLS_ERROR_INVALID_VALUE  a pointer is null, no contexts or more than
 *                                  CLS_DEVICE_GROUP_MAX, or a wrong size
 * @return also the statuses of cls_stream_create and cls_host_alloc
 */
CLS_API cls_status cls_device_group_create(const cls_context *contexts, unsigned n_contexts,
                                           const cls_device_group_config *config,
                                           cls_device_group *out);

/**
 * Destroys a group and its streams. Waits for the copies that it has submitted, but not inside a host
 * function or callback: there it returns at once, and they still complete.
 */
CLS_API cls_status cls_device_group_destroy(cls_device_group group);

/** Gets the number of devices. */
CLS_API cls_status cls_device_group_get_count(cls_device_group group, unsigned *count);

/**
 * Gets the streams of a device. They belong to the group; do not destroy them.
 * @retval CLS_ERROR_OUT_OF_RANGE there is no such device
 */
CLS_API cls_status cls_device_group_get_streams(cls_device_group group, unsigned device,
                                                cls_device_streams *out);

/** A range of a buffer of one device of a group. */
typedef struct cls_device_range {
    unsigned device;   /**< number of the device in the group, from 0 */
    cls_buffer buffer; /**< buffer of the device's context */
    size_t offset;     /**< start of the range in bytes */
} cls_device_range;

/**
 * Copies `bytes` bytes from one device to another, or within one. A direct copy runs on the target's
 * `upload` stream, or, where only the source's context reaches both buffers, on the source's
 * `download` stream.
 * @retval CLS_ERROR_OUT_OF_RANGE  there is no such device, or the range is past the end of a buffer
 * @retval CLS_ERROR_WRONG_CONTEXT a buffer does not belong to its device's context
 * @retval CLS_ERROR_OVERLAP       the ranges share bytes of one memory without being the same
 * @return also the statuses of cls_copy_d2h_async and cls_copy_h2d_async
 */
CLS_API cls_status cls_device_group_copy_async(cls_device_group group, cls_device_range to,
                                               cls_device_range from, size_t bytes);

/**
 * Uploads `bytes` bytes to the start of each device's buffer: device i gets those from host + i *
 * bytes. The host memory must stay unchanged until the copies are done: until
 * cls_device_group_synchronize has returned, or an event that was recorded on each device's `upload`
 * stream after this call. Statuses as for cls_device_group_copy_async, and CLS_ERROR_INVALID_VALUE for
 * null pointers.
 */
CLS_API cls_status cls_device_group_scatter_async(cls_device_group group, const void *host,
                                                  size_t bytes, const cls_buffer *buffers);

/**
 * Downloads `bytes` bytes from the start of each device's buffer: those of device i go to host + i
 * * bytes. The host must not touch that memory until the copies are done, as for
 * cls_device_group_scatter_async, on the `download` streams. Statuses as for
 * cls_device_group_scatter_async.
 */
CLS_API cls_status cls_device_group_gather_async(cls_device_group group, const cls_buffer *buffers,
                                                 size_t bytes, void *host);

/**
 * Replaces every device's array by the sum, minimum or maximum of all arrays, element by element.
 * `op` is CLS_REDUCE_SUM, CLS_REDUCE_MIN or CLS_REDUCE_MAX: the sum is of the arrays' type, and sums
 * of integers wrap around; a minimum or maximum is NaN where one of the elements is. All types. Each
 * element is computed once, on one of the devices, in the order of the devices, so all devices get
 * the same bits, whichever way the data takes. Each device sends and receives about twice the size
 * of an array, whatever the number of devices.
 *
 * Where every device's context reaches all arrays, or copies of them in memory of the group's, each
 * device runs one kernel on its `compute` stream, which the first such call for an operation and a
 * type builds. Else the arrays are sent
 * through pinned memory, and the devices allocate memory for the others' parts. Where the work of
 * one device failed that a result needs, the compute streams of the devices that get it inherit the
 * failure.
 * @retval CLS_ERROR_INVALID_VALUE `arrays` is null, or another operation
 * @retval CLS_ERROR_SIZE_MISMATCH the counts differ
 * @retval CLS_ERROR_TYPE_MISMATCH the types differ
 * @retval CLS_ERROR_OVERLAP       two of the arrays share bytes
 * @return also the statuses of cls_device_group_copy_async and cls_binary_async
 */
CLS_API cls_status cls_device_group_all_reduce_async(cls_device_group group, cls_reduce_op op,
                                                     const cls_array *arrays);

/**
 * Like cls_device_group_all_reduce_async, but each device gets a part of the result, in a view of its
 * own: the first results[0].count elements go to device 0, the next results[1].count to device 1, and
 * so on; a count may be 0. The arrays keep their elements, unless a device's result is that part of
 * its own array. A device sends and receives about the size of an array.
 * @retval CLS_ERROR_INVALID_VALUE a pointer is null, or another operation
 * @retval CLS_ERROR_SIZE_MISMATCH the arrays' counts differ, or the results' counts do not add up to
 *                                 an array's
 * @retval CLS_ERROR_TYPE_MISMATCH the types differ
 * @retval CLS_ERROR_OVERLAP       two of the arrays, or of the results, share bytes, or a result shares
 *                                 bytes with an array without being its part
 * @return also the statuses of cls_device_group_copy_async and cls_binary_async
 */
CLS_API cls_status cls_device_group_reduce_scatter_async(cls_device_group group, cls_reduce_op op,
                                                         const cls_array *arrays,
                                                         const cls_array *results);

/** Which ways a group's calls took. Start with CLS_DEVICE_GROUP_STATISTICS_INIT. */
typedef struct cls_device_group_statistics {
    size_t size;            /**< sizeof(cls_device_group_statistics) */
    uint64_t direct_copies; /**< copies from device to device, by their drivers */
    uint64_t pinned_copies; /**< those that went through pinned memory */
    uint64_t
        direct_reductions; /**< all-reduces and reduce-scatters by kernels that read all devices'
                              memory */
    uint64_t pinned_reductions; /**< those that went through pinned memory */
} cls_device_group_statistics;

#define CLS_DEVICE_GROUP_STATISTICS_INIT \
    { sizeof(cls_device_group_statistics), 0, 0, 0, 0 }

/** Gets the numbers of calls that were submitted so far, by the way that they took. */
CLS_API cls_status cls_device_group_get_statistics(cls_device_group group,
                                                   cls_device_group_statistics *out);

/**
 * Waits for all work on the group's streams.
 * @return the first error of one of them
 */
CLS_API cls_status cls_device_group_synchronize(cls_device_group group);

CLS_END_DECLS

#endif

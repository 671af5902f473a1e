/* SPDX-License-Identifier: MIT */
/**
 * @file device.h
 * The OpenCL devices of this machine and what was measured of them.
 *
 * Devices are numbered over all platforms in the loader's order, from 0. The list is made once a
 * process. All calls are safe from any thread.
 */
#ifndef CLSTREAM_DEVICE_H
#define CLSTREAM_DEVICE_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Kinds of devices. */
typedef enum cls_device_type {
    CLS_DEVICE_OTHER = 0,      /**< none of these */
    CLS_DEVICE_CPU = 1,        /**< runs on the host's processors */
    CLS_DEVICE_GPU = 2,        /**< a graphics processor */
    CLS_DEVICE_ACCELERATOR = 3 /**< what the driver calls so */
} cls_device_type;

/** What a device says of itself. Start with CLS_DEVICE_INFO_INIT. */
typedef struct cls_device_info {
    size_t size;              /**< sizeof(cls_device_info), set by the caller */
    cls_device_type type;     /**< as the driver says */
    char name[128];           /**< of the device */
    char vendor[128];         /**< of the device */
    char platform[128];       /**< its platform's name */
    char version[128];        /**< the device's OpenCL version, as it prints it */
    char driver_version[128]; /**< of the driver */
    uint64_t global_memory;   /**< bytes */
    uint64_t max_allocation;  /**< bytes in one buffer */
    uint64_t local_memory;    /**< bytes in one work-group */
    uint32_t compute_units;   /**< as the driver counts */
    uint32_t max_work_group;  /**< work-items */
    uint32_t base_align;      /**< bytes; where a sub-buffer may start */
    int has_fp64;             /**< nonzero: computes in f64 */
    int unified_memory;       /**< nonzero: host and device share memory */
} cls_device_info;

#define CLS_DEVICE_INFO_INIT \
    { sizeof(cls_device_info), CLS_DEVICE_OTHER, "", "", "", "", "", 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * One figure of the capability record: what a probe found, or what the device states.
 * The strings live as long as the process.
 */
typedef struct cls_capability {
    const char *name;    /**< as "out_of_order_concurrent" */
    const char *meaning; /**< one line */
    const char *unit;    /**< "bool", "ns", "GB/s" ... */
    double value;        /**< 0 or 1 for a bool */
} cls_capability;

/** One row of the quirk table that is in force for a device. The strings live as long as the
 * process. */
typedef struct cls_quirk {
    const char *name;   /**< as "callback_on_completed_never_comes" */
    const char *reason; /**< what the driver does, and what the library does about it */
} cls_quirk;

/** The number of devices. 0 is a success. */
CLS_API cls_status cls_device_count(size_t *count);

/**
 * Describes device `index`.
 * @retval CLS_ERROR_INVALID_VALUE null, or a size field that is not this struct's
 * @retval CLS_ERROR_NO_DEVICE     no such index
 */
CLS_API cls_status cls_device_get_info(size_t index, cls_device_info *info);

/**
 * Chooses a device: by index ("2"), by type ("cpu", "gpu", "accelerator"), or by a part of a
 * device's or platform's name, without regard to case; digits alone that are no index must be a
 * whole number of the name ("3090"). NULL or "" takes CLSTREAM_DEVICE from the environment, and
 * where that is unset the first GPU, else the first accelerator, else the first device.
 * @retval CLS_ERROR_NO_DEVICE nothing matches; the detail lists what there is
 */
CLS_API cls_status cls_device_find(const char *spec, size_t *index);

/**
 * The i-th figure of device `index`'s capability record. The first call for a device runs probes, for about a
 * tenth of a second, unless this driver's record is in the cache.
 * @retval CLS_ERROR_NO_DEVICE  no such device
 * @retval CLS_ERROR_OUT_OF_RANGE `i` is past the last figure
 */
CLS_API cls_status cls_device_get_capability(size_t index, size_t i, cls_capability *out);

/**
 * The i-th quirk in force for device `index`.
 * @retval CLS_ERROR_NO_DEVICE  no such device
 * @retval CLS_ERROR_OUT_OF_RANGE `i` is past the last one
 */
CLS_API cls_status cls_device_get_quirk(size_t index, size_t i, cls_quirk *out);

CLS_END_DECLS

#endif

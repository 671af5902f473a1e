/* SPDX-License-Identifier: MIT */
/**
 * @file device.h
 * The OpenCL devices of this machine, and what the library measured on them.
 *
 * Devices are numbered from 0 over all platforms, in the order of the OpenCL loader. The list is
 * made once per process. Every function may be called from any thread.
 */
#ifndef CLSTREAM_DEVICE_H
#define CLSTREAM_DEVICE_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Kinds of devices. */
typedef enum cls_device_type {
    CLS_DEVICE_OTHER = 0,      /**< none of the following */
    CLS_DEVICE_CPU = 1,        /**< a CPU of the host */
    CLS_DEVICE_GPU = 2,        /**< a GPU */
    CLS_DEVICE_ACCELERATOR = 3 /**< an accelerator, as the driver calls it */
} cls_device_type;

/** Properties of a device, as the driver states them. Start with CLS_DEVICE_INFO_INIT. */
typedef struct cls_device_info {
    size_t size;              /**< sizeof(cls_device_info), set by the caller */
    cls_device_type type;     /**< kind of device */
    char name[128];           /**< name of the device */
    char vendor[128];         /**< vendor of the device */
    char platform[128];       /**< name of its platform */
    char version[128];        /**< OpenCL version of the device, as the driver prints it */
    char driver_version[128]; /**< version of the driver */
    uint64_t global_memory;   /**< bytes */
    uint64_t max_allocation;  /**< most bytes in one buffer */
    uint64_t local_memory;    /**< bytes of __local memory per work-group */
    uint32_t compute_units;   /**< as the driver counts them */
    uint32_t max_work_group;  /**< most work-items in a work-group */
    uint32_t base_align;      /**< alignment of buffers and sub-buffers in bytes */
    int has_fp64;             /**< nonzero: the device supports f64 (double) */
    int unified_memory;       /**< nonzero: host and device share physical memory */
    int has_images;           /**< nonzero: the device supports images; else their limits are 0 */
    const char *extensions;   /**< names with a blank between each two, valid until the process
                                   exits; "" if the driver tells none. cls_device_has_extension
                                   looks one up */
    char c_version[128];      /**< newest OpenCL C, as the driver prints it; "" if it does not */
    uint64_t max_constant;    /**< most bytes of __constant memory in one argument */
    uint64_t cache_bytes;     /**< cache of global memory in bytes; 0: none, or not told */
    size_t max_work_items[3]; /**< most work-items of a group by dimension; 0: not told */
    size_t max_parameters;    /**< most bytes of a kernel's arguments together */
    size_t max_image_2d[2];   /**< largest width and height of an image */
    size_t max_image_3d[3];   /**< largest width, height and depth of an image */
    size_t max_image_layers;  /**< most layers of an array of images */
    uint32_t max_samplers;    /**< most samplers of a kernel */
    uint32_t
        opencl_version;    /**< 120, 200, 210, 220, 300: the device's OpenCL version as a number */
    uint32_t address_bits; /**< 32 or 64: size of a kernel's size_t; 0: not told */
    uint32_t cache_line;  /**< bytes of a line of the cache of global memory; 0: as `cache_bytes` */
    uint32_t clock_mhz;   /**< highest clock; 0: not told */
    uint32_t float_width; /**< preferred number of elements of a vector of float */
    uint32_t double_width;  /**< the same of double; 0 without `has_fp64` */
    int has_uuid;           /**< nonzero: the driver tells `uuid` */
    unsigned char uuid[16]; /**< the same for the device in other interfaces; else 0 */
    int has_pci;            /**< nonzero: the driver tells the following four, else 0 */
    uint32_t pci_domain;    /**< domain on the PCI bus */
    uint32_t pci_bus;       /**< bus */
    uint32_t pci_device;    /**< device, or slot */
    uint32_t pci_function;  /**< function */
    int reserved;           /**< 0; later releases may give it a meaning */
} cls_device_info;

#define CLS_DEVICE_INFO_INIT                                                                      \
    {                                                                                             \
        sizeof(cls_device_info), CLS_DEVICE_OTHER, "", "", "", "", "", 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            "", "", 0, 0, {0, 0, 0}, 0, {0, 0}, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, 0,  \
            0, 0, 0, 0                                                                            \
    }

/**
 * One entry of a device's capability record: what a probe measured, or what the driver states. The
 * strings are valid until the process exits.
 */
typedef struct cls_capability {
    const char *name;    /**< for example "out_of_order_concurrent" */
    const char *meaning; /**< description, one line */
    const char *unit;    /**< one of "bool", "ns", "GB/s" ...; "trust": a mechanism that the library
                              relies on was tried, and its results compared */
    double value;        /**< 0 or 1 for a bool; for a trust 1 right, 0 wrong (the quirk of the same
                              meaning has what the library does about it), -1 not tried */
} cls_capability;

/**
 * A known fault of a driver that the library works around on a device. The strings are valid until
 * the process exits.
 */
typedef struct cls_quirk {
    const char *name;   /**< for example "callback_on_completed_never_comes" */
    const char *reason; /**< what the driver does, and what the library does about it */
} cls_quirk;

/** Gets the number of devices. Having none is a success: `count` is 0 then. */
CLS_API cls_status cls_device_count(size_t *count);

/**
 * Gets the properties of device `index`.
 * @retval CLS_ERROR_INVALID_VALUE null, or a wrong size
 * @retval CLS_ERROR_NO_DEVICE     there is no device of this index
 */
CLS_API cls_status cls_device_get_info(size_t index, cls_device_info *info);

/**
 * Gets whether device `index` has an extension, such as "cl_khr_fp16". Compares whole names.
 * @retval CLS_ERROR_INVALID_VALUE null, or no name: empty, or with a blank
 * @retval CLS_ERROR_NO_DEVICE     there is no device of this index
 */
CLS_API cls_status cls_device_has_extension(size_t index, const char *name, int *has);

/**
 * Gets anything that OpenCL tells about device `index`, without a context. `name` is the number of a
 * cl_device_info, such as 0x1002 for CL_DEVICE_MAX_COMPUTE_UNITS. `needed` receives the size of the answer
 * in bytes, and may be NULL; the answer is written to `value` if `bytes` is not 0. Queries above
 * OpenCL 1.2 need the version or the extension that they came with: ask for that first.
 * @retval CLS_ERROR_INVALID_VALUE `value` is null with `bytes` above 0; or both are nothing and `needed` is null;
 *                                 or `bytes` is too small, but not 0
 * @retval CLS_ERROR_NO_DEVICE     there is no device of this index
 * @retval CLS_ERROR_NOT_FOUND     the driver does not know the number
 * @retval CLS_ERROR_UNSUPPORTED   the driver refuses the query; cls_last_error_code has its code
 */
CLS_API cls_status cls_device_query(size_t index, uint32_t name, size_t bytes, void *value,
                                    size_t *needed);

/**
 * Chooses a device by its index ("2"), by its type ("cpu", "gpu", "accelerator"), or by a part of
 * the device's or platform's name, ignoring case. Digits that are not an index match only a whole
 * number in the name ("3090"). NULL or "" uses CLSTREAM_DEVICE from the environment; if that is
 * unset, it chooses the first GPU, else the first accelerator, else the first device.
 * @retval CLS_ERROR_NO_DEVICE no device matches; the detail lists the devices
 */
CLS_API cls_status cls_device_find(const char *spec, size_t *index);

/**
 * Gets entry `i` of the capability record of device `index`. The first call for a device runs
 * probes for about a tenth of a second, unless the cache on disk has the record of this driver.
 * @retval CLS_ERROR_NO_DEVICE    there is no device of this index
 * @retval CLS_ERROR_OUT_OF_RANGE `i` is past the last entry
 */
CLS_API cls_status cls_device_get_capability(size_t index, size_t i, cls_capability *out);

/**
 * Gets the priorities that queues of device `index` can have: CLS_PRIORITY_LOW and
 * CLS_PRIORITY_HIGH, or twice CLS_PRIORITY_NORMAL if the device has no priorities (the capability
 * "priorities"). The order in which the library hands over the commands that it holds follows
 * cls_stream_config.priority on every device (stream.h). May run probes, as
 * cls_device_get_capability.
 * @retval CLS_ERROR_INVALID_VALUE null
 * @retval CLS_ERROR_NO_DEVICE     there is no device of this index
 */
CLS_API cls_status cls_device_get_priority_range(size_t index, int *least, int *greatest);

/**
 * Gets quirk `i` in force for device `index`: the faults known of its driver, then those that the
 * probes found, which run as in cls_device_get_capability.
 * @retval CLS_ERROR_NO_DEVICE    there is no device of this index
 * @retval CLS_ERROR_OUT_OF_RANGE `i` is past the last quirk
 */
CLS_API cls_status cls_device_get_quirk(size_t index, size_t i, cls_quirk *out);

CLS_END_DECLS

#endif

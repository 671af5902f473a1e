/* SPDX-License-Identifier: MIT */
/* What the driver knows of a kernel, and setting its arguments. */
#ifndef CLSTREAM_DRIVER_KERNEL_H
#define CLSTREAM_DRIVER_KERNEL_H

#include "driver/device.h"

/* How a parameter is passed, where the driver kept that (CL_KERNEL_ARG_INFO_NOT_AVAILABLE else) or it can be
 * found out safely. */
enum parameter_kind {
    PARAMETER_UNKNOWN,
    PARAMETER_BUFFER, /* from here on as cls_arg_kind */
    PARAMETER_VALUE,
    PARAMETER_LOCAL,
    PARAMETER_IMAGE /* nothing that can be passed; so are pipes */
};

cls_status kernel_parameter_count(const struct device *device, cl_kernel kernel, unsigned *out);
enum parameter_kind kernel_parameter(const struct device *device, cl_kernel kernel, unsigned i);

/* Whether a pointer parameter is one to const: false also where the driver does not say. */
bool kernel_parameter_is_const(const struct device *device, cl_kernel kernel, unsigned i);

/* The most work-items of one group on this device. */
cls_status kernel_max_group(const struct device *device, cl_kernel kernel, size_t *out);

/* The group that the source says it is for (reqd_work_group_size), in each dimension; all 0: any. */
cls_status kernel_compiled_group(const struct device *device, cl_kernel kernel, size_t out[3]);

/* Bytes of __local memory in a group, but for those of arguments. */
cls_status kernel_local_bytes(const struct device *device, cl_kernel kernel, size_t *out);

cls_status kernel_set_arg(const struct device *device, cl_kernel kernel, unsigned i, size_t size,
                          const void *value);
void kernel_release(const struct device *device, cl_kernel kernel);

#endif

/* SPDX-License-Identifier: MIT */
/* Driver kernels (cl_kernel): queries of parameters, group sizes and memory, and setting arguments. */
#ifndef CLSTREAM_DRIVER_KERNEL_H
#define CLSTREAM_DRIVER_KERNEL_H

#include <clstream/image.h>

#include "driver/device.h"

/* How a parameter is passed; known where the driver kept that information (it is not
 * CL_KERNEL_ARG_INFO_NOT_AVAILABLE) or where trying is safe. */
enum parameter_kind {
    PARAMETER_UNKNOWN,
    PARAMETER_BUFFER, /* from here on as cls_arg_kind */
    PARAMETER_VALUE,
    PARAMETER_LOCAL,
    PARAMETER_IMAGE,
    PARAMETER_SAMPLER,
    PARAMETER_PIPE /* which the library cannot pass */
};

cls_status kernel_parameter_count(const struct device *device, cl_kernel kernel, unsigned *out);
enum parameter_kind kernel_parameter(const struct device *device, cl_kernel kernel, unsigned i);

/* The name or the type's name of a parameter; false where the driver does not tell it or `room` is too small. */
bool kernel_parameter_text(const struct device *device, cl_kernel kernel, unsigned i,
                           cl_kernel_arg_info what, char *text, size_t room);

/* Whether the driver takes a value of a size that hardly any type has; argument `i` is to be set anew then. */
bool kernel_takes_any_size(const struct device *device, cl_kernel kernel, unsigned i);

/* What an image parameter takes; 0 where the driver does not say. */
void kernel_image_parameter(const struct device *device, cl_kernel kernel, unsigned i,
                            cls_image_kind *kind, cls_access *access);

/* The type of a parameter for an image of a kind. */
const char *kernel_image_type(cls_image_kind kind);

cls_access kernel_access_of(cl_kernel_arg_access_qualifier access);

/* Whether a pointer parameter points to const, or an image is read_only; false also where the driver does not say. */
bool kernel_parameter_is_const(const struct device *device, cl_kernel kernel, unsigned i);

/* The most work-items of one group on this device. */
cls_status kernel_max_group(const struct device *device, cl_kernel kernel, size_t *out);

/* The group size that the source fixes (reqd_work_group_size), by dimension; all 0: any. */
cls_status kernel_compiled_group(const struct device *device, cl_kernel kernel, size_t out[3]);

/* Bytes of __local memory of a group, without those of __local arguments. */
cls_status kernel_local_bytes(const struct device *device, cl_kernel kernel, size_t *out);

/* What a group is best a multiple of, and bytes of private memory of a work-item. */
cls_status kernel_group_multiple(const struct device *device, cl_kernel kernel, size_t *out);
cls_status kernel_private_bytes(const struct device *device, cl_kernel kernel, uint64_t *out);

/* The qualifiers in a parameter's declaration. */
struct parameter_qualifiers {
    cl_kernel_arg_address_qualifier space;
    cl_kernel_arg_access_qualifier access;
    cl_kernel_arg_type_qualifier type;
};

/* CLS_ERROR_UNSUPPORTED where the driver has not kept them. */
cls_status kernel_parameter_qualifiers(const struct device *device, cl_kernel kernel, unsigned i,
                                       struct parameter_qualifiers *out);

cls_status kernel_set_arg(const struct device *device, cl_kernel kernel, unsigned i, size_t size,
                          const void *value);
/* By an address of the device's, on a device that takes pointers. Some drivers then refuse a cl_mem for this argument of this
 * kernel (NVIDIA's, at each launch). */
cls_status kernel_set_pointer(const struct device *device, cl_kernel kernel, unsigned i,
                              uint64_t address);
void kernel_release(const struct device *device, cl_kernel kernel);

#endif

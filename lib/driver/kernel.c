/* SPDX-License-Identifier: MIT */
#include "driver/kernel.h"

#include <string.h>

#include "base/error.h"
#include "driver/grids.h"
#include "driver/quirk.h"
#include "driver/serial.h"
#include "driver/status.h"

cls_status kernel_parameter_count(const struct device *device, cl_kernel kernel, unsigned *out) {
    cl_uint count = 0;
    driver_enter(device);
    cl_int code = clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    driver_leave(device);
    cls_status status = driver_status(code, "clGetKernelInfo");
    if (!status)
        *out = count;
    return status;
}

/* Finds the kind by trying: only pointer parameters accept NULL, and only those to global memory accept a cl_mem. */
static enum parameter_kind parameter_by_trial(cl_kernel kernel, unsigned i) {
    cl_context context;
    cl_int code;
    if (clSetKernelArg(kernel, i, sizeof(cl_mem), NULL) != CL_SUCCESS)
        return PARAMETER_VALUE;
    if (clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL) != CL_SUCCESS)
        return PARAMETER_UNKNOWN;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, 16, NULL, &code);
    if (code != CL_SUCCESS)
        return PARAMETER_UNKNOWN;
    code = clSetKernelArg(kernel, i, sizeof memory, &memory);
    clSetKernelArg(kernel, i, sizeof memory, NULL);
    clReleaseMemObject(memory);
    return code == CL_SUCCESS ? PARAMETER_BUFFER : PARAMETER_LOCAL;
}

/* An image is __global like a buffer, but only images and pipes have an access qualifier. Some drivers crash when a
 * buffer, or a null one, is passed for an image. */
static bool is_image(cl_kernel kernel, unsigned i) {
    cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
    return clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access, &access,
                              NULL) == CL_SUCCESS &&
           access != CL_KERNEL_ARG_ACCESS_NONE;
}

static bool has_qualifier(cl_kernel kernel, unsigned i, cl_kernel_arg_type_qualifier which) {
    cl_kernel_arg_type_qualifier type = 0;
    return clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof type, &type, NULL) ==
               CL_SUCCESS &&
           (type & which);
}

static bool parameter_has_type(cl_kernel kernel, unsigned i, const char *name) {
    char type[64];
    return clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, NULL) ==
               CL_SUCCESS &&
           !strcmp(type, name);
}

static const char *const image_types[] = {
    [CLS_IMAGE_1D] = "image1d_t",
    [CLS_IMAGE_2D] = "image2d_t",
    [CLS_IMAGE_3D] = "image3d_t",
    [CLS_IMAGE_1D_ARRAY] = "image1d_array_t",
    [CLS_IMAGE_2D_ARRAY] = "image2d_array_t",
    [CLS_IMAGE_1D_BUFFER] = "image1d_buffer_t",
};

const char *kernel_image_type(cls_image_kind kind) { return image_types[kind]; }

cls_access kernel_access_of(cl_kernel_arg_access_qualifier access) {
    return access == CL_KERNEL_ARG_ACCESS_READ_ONLY    ? CLS_ACCESS_READ
           : access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY ? CLS_ACCESS_WRITE
           : access == CL_KERNEL_ARG_ACCESS_READ_WRITE ? CLS_ACCESS_READ_WRITE
                                                       : CLS_ACCESS_UNKNOWN;
}

void kernel_image_parameter(const struct device *device, cl_kernel kernel, unsigned i,
                            cls_image_kind *kind, cls_access *access) {
    cl_kernel_arg_access_qualifier qualifier = CL_KERNEL_ARG_ACCESS_NONE;
    unsigned type = sizeof image_types / sizeof *image_types - 1;
    driver_enter(device);
    while (type && !parameter_has_type(kernel, i, image_types[type]))
        type--;
    clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof qualifier, &qualifier,
                       NULL);
    driver_leave(device);
    *kind = (cls_image_kind)type;
    *access = kernel_access_of(qualifier);
}

enum parameter_kind kernel_parameter(const struct device *device, cl_kernel kernel, unsigned i) {
    cl_kernel_arg_address_qualifier space = 0;
    driver_enter(device);
    cl_int code =
        clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space, NULL);
    const bool image = code == CL_SUCCESS && is_image(kernel, i);
    const bool pipe = image && has_qualifier(kernel, i, CL_KERNEL_ARG_TYPE_PIPE);
    const bool is_sampler = code == CL_SUCCESS && parameter_has_type(kernel, i, "sampler_t");
    enum parameter_kind tried = PARAMETER_UNKNOWN;
    if (code != CL_SUCCESS && (device->quirks & QUIRK_ARG_INFO_BREAKS_BUILD))
        tried = parameter_by_trial(kernel, i);
    driver_leave(device);
    if (code != CL_SUCCESS)
        return tried;
    if (image)
        return pipe ? PARAMETER_PIPE : PARAMETER_IMAGE;
    if (is_sampler)
        return PARAMETER_SAMPLER;
    switch (space) {
    case CL_KERNEL_ARG_ADDRESS_GLOBAL:
    case CL_KERNEL_ARG_ADDRESS_CONSTANT:
        return PARAMETER_BUFFER;
    case CL_KERNEL_ARG_ADDRESS_LOCAL:
        return PARAMETER_LOCAL;
    case CL_KERNEL_ARG_ADDRESS_PRIVATE:
        return PARAMETER_VALUE;
    }
    return PARAMETER_UNKNOWN;
}

bool kernel_parameter_text(const struct device *device, cl_kernel kernel, unsigned i,
                           cl_kernel_arg_info what, char *text, size_t room) {
    driver_enter(device);
    cl_int code = clGetKernelArgInfo(kernel, i, what, room, text, NULL);
    driver_leave(device);
    return code == CL_SUCCESS;
}

bool kernel_takes_any_size(const struct device *device, cl_kernel kernel, unsigned i) {
    static const char bytes[4093];
    driver_enter(device);
    cl_int code = clSetKernelArg(kernel, i, sizeof bytes, bytes);
    driver_leave(device);
    return code == CL_SUCCESS;
}

static cl_int ask_qualifiers(cl_kernel kernel, unsigned i, struct parameter_qualifiers *out) {
    cl_int code = clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof out->space,
                                     &out->space, NULL);
    if (code == CL_SUCCESS)
        code = clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof out->access,
                                  &out->access, NULL);
    if (code == CL_SUCCESS)
        code = clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof out->type,
                                  &out->type, NULL);
    return code;
}

bool kernel_parameter_is_const(const struct device *device, cl_kernel kernel, unsigned i) {
    struct parameter_qualifiers has = {0};
    driver_enter(device);
    const cl_int code = ask_qualifiers(kernel, i, &has);
    driver_leave(device);
    return code == CL_SUCCESS &&
           ((has.type & CL_KERNEL_ARG_TYPE_CONST) || has.space == CL_KERNEL_ARG_ADDRESS_CONSTANT ||
            has.access == CL_KERNEL_ARG_ACCESS_READ_ONLY);
}

static cls_status group_info(const struct device *device, cl_kernel kernel,
                             cl_kernel_work_group_info what, size_t size, void *value) {
    driver_enter(device);
    cl_int code = clGetKernelWorkGroupInfo(kernel, device->id, what, size, value, NULL);
    driver_leave(device);
    return driver_status(code, "clGetKernelWorkGroupInfo");
}

cls_status kernel_max_group(const struct device *device, cl_kernel kernel, size_t *out) {
    size_t group = 0;
    cls_status status = group_info(device, kernel, CL_KERNEL_WORK_GROUP_SIZE, sizeof group, &group);
    if (!status)
        *out = group;
    return status;
}

cls_status kernel_local_bytes(const struct device *device, cl_kernel kernel, size_t *out) {
    cl_ulong bytes = 0;
    cls_status status = group_info(device, kernel, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes);
    if (!status)
        *out = (size_t)bytes;
    return status;
}

cls_status kernel_compiled_group(const struct device *device, cl_kernel kernel, size_t out[3]) {
    size_t group[3] = {0, 0, 0};
    cls_status status =
        group_info(device, kernel, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof group, group);
    for (int i = 0; i < 3 && !status; i++)
        out[i] = group[i];
    return status;
}

cls_status kernel_group_multiple(const struct device *device, cl_kernel kernel, size_t *out) {
    size_t multiple = 0;
    cls_status status = group_info(device, kernel, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
                                   sizeof multiple, &multiple);
    if (!status)
        *out = multiple;
    return status;
}

cls_status kernel_private_bytes(const struct device *device, cl_kernel kernel, uint64_t *out) {
    cl_ulong bytes = 0;
    cls_status status =
        group_info(device, kernel, CL_KERNEL_PRIVATE_MEM_SIZE, sizeof bytes, &bytes);
    if (!status)
        *out = bytes;
    return status;
}

cls_status kernel_parameter_qualifiers(const struct device *device, cl_kernel kernel, unsigned i,
                                       struct parameter_qualifiers *out) {
    struct parameter_qualifiers got = {0};
    driver_enter(device);
    const cl_int code = ask_qualifiers(kernel, i, &got);
    driver_leave(device);
    if (code == CL_KERNEL_ARG_INFO_NOT_AVAILABLE)
        return error_set_code(CLS_ERROR_UNSUPPORTED, code,
                              "argument %u: the driver tells nothing of this program's arguments",
                              i);
    cls_status status = driver_status(code, "clGetKernelArgInfo");
    if (!status)
        *out = got;
    return status;
}

cls_status kernel_set_arg(const struct device *device, cl_kernel kernel, unsigned i, size_t size,
                          const void *value) {
    driver_enter(device);
    cl_int code = clSetKernelArg(kernel, i, size, value);
    driver_leave(device);
    if (code == CL_SUCCESS)
        return CLS_SUCCESS;
    if (code == CL_INVALID_ARG_SIZE || code == CL_INVALID_ARG_VALUE)
        return error_set_code(CLS_ERROR_INVALID_VALUE, code,
                              "argument %u: the driver refuses a value of %zu bytes", i, size);
    return driver_status(code, "clSetKernelArg");
}

cls_status kernel_set_pointer(const struct device *device, cl_kernel kernel, unsigned i,
                              uint64_t address) {
    driver_enter(device);
    const cl_int code = clSetKernelArgSVMPointer(kernel, i, (const void *)(uintptr_t)address);
    driver_leave(device);
    return driver_status(code, "clSetKernelArgSVMPointer");
}

void kernel_release(const struct device *device, cl_kernel kernel) {
    if (!driver_begin(device))
        return;
    if (device->quirks & QUIRK_UNLIKE_GRIDS_ABORT)
        grids_forget_kernel(kernel);
    clReleaseKernel(kernel);
    driver_end(device);
}

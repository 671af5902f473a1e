/* SPDX-License-Identifier: MIT */
/* What a program can ask of a kernel: limits, memory and arguments, as the driver states them. */
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "command/kernel.h"
#include "stream/context.h"

static cls_status kernel_describe(const struct kernel *kernel, cl_kernel instance,
                                  cls_kernel_info *info) {
    const struct device *device = kernel->context->device;
    info->max_group = kernel->max_group;
    memcpy(info->required_group, kernel->group, sizeof info->required_group);
    info->local_bytes = kernel->local_bytes;
    info->arguments = kernel->n_parameters;
    cls_status status = kernel_group_multiple(device, instance, &info->group_multiple);
    return status ? status : kernel_private_bytes(device, instance, &info->private_bytes);
}

cls_status cls_kernel_get_info(cls_kernel handle, cls_kernel_info *out) {
    cls_kernel_info info = CLS_KERNEL_INFO_INIT;
    struct kernel *kernel;
    cl_kernel instance;
    cls_status status = SIZED_CHECK(cls_kernel_info, out);
    if (!status)
        status = kernel_get(handle, &kernel);
    if (status)
        return status;
    status = kernel_take_instance(kernel, &instance);
    if (!status) {
        status = kernel_describe(kernel, instance, &info);
        kernel_give_instance(kernel, instance);
    }
    object_release(&kernel->object);
    if (!status)
        SIZED_OUT(cls_kernel_info, out, &info);
    return status;
}

/* --- arguments --- */

static cls_address_space space_of(cl_kernel_arg_address_qualifier space) {
    return space == CL_KERNEL_ARG_ADDRESS_GLOBAL     ? CLS_ADDRESS_GLOBAL
           : space == CL_KERNEL_ARG_ADDRESS_CONSTANT ? CLS_ADDRESS_CONSTANT
           : space == CL_KERNEL_ARG_ADDRESS_LOCAL    ? CLS_ADDRESS_LOCAL
                                                     : CLS_ADDRESS_PRIVATE;
}

static cls_status describe_arg(const struct kernel *kernel, cl_kernel instance, unsigned i,
                               cls_kernel_arg_info *info) {
    const struct device *device = kernel->context->device;
    struct parameter_qualifiers has;
    cls_status status = kernel_parameter_qualifiers(device, instance, i, &has);
    if (status)
        return status;
    info->space = space_of(has.space);
    info->image_access = kernel_access_of(has.access);
    info->is_const = (has.type & CL_KERNEL_ARG_TYPE_CONST) != 0;
    info->is_restrict = (has.type & CL_KERNEL_ARG_TYPE_RESTRICT) != 0;
    info->is_volatile = (has.type & CL_KERNEL_ARG_TYPE_VOLATILE) != 0;
    info->is_pipe = (has.type & CL_KERNEL_ARG_TYPE_PIPE) != 0;
    if (!kernel_parameter_text(device, instance, i, CL_KERNEL_ARG_NAME, info->name,
                               sizeof info->name))
        info->name[0] = '\0';
    if (!kernel_parameter_text(device, instance, i, CL_KERNEL_ARG_TYPE_NAME, info->type_name,
                               sizeof info->type_name))
        info->type_name[0] = '\0';
    return CLS_SUCCESS;
}

static cls_status get_arg(struct kernel *kernel, unsigned i, cls_kernel_arg_info *info) {
    cl_kernel instance;
    if (i >= kernel->n_parameters)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "'%s' has no argument %u; there are %u",
                         kernel->label, i, kernel->n_parameters);
    cls_status status = kernel_take_instance(kernel, &instance);
    if (status)
        return status;
    status = describe_arg(kernel, instance, i, info);
    kernel_give_instance(kernel, instance);
    return status;
}

cls_status cls_kernel_get_arg_info(cls_kernel handle, unsigned i, cls_kernel_arg_info *out) {
    cls_kernel_arg_info info = CLS_KERNEL_ARG_INFO_INIT;
    struct kernel *kernel;
    cls_status status = SIZED_CHECK(cls_kernel_arg_info, out);
    if (!status)
        status = kernel_get(handle, &kernel);
    if (status)
        return status;
    status = get_arg(kernel, i, &info);
    object_release(&kernel->object);
    if (!status)
        SIZED_OUT(cls_kernel_arg_info, out, &info);
    return status;
}

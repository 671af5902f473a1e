/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_launch.h
 * Launches of clstream/cuda_runtime.h with an address of each argument, for code that does not know their types, and how many
 * blocks fill a device. The driver tells the types of the kernel's parameters, so that an address says enough.
 *
 * Every function may be called from any thread, and returns the device's sticky error if it has one (cuda_error.h).
 */
#ifndef CLSTREAM_CUDA_LAUNCH_H
#define CLSTREAM_CUDA_LAUNCH_H

#include <stdio.h>
#include <string.h>

#include <clstream/cuda_kernel.h>
#include <clstream/cuda_properties.h>
#include <clstream/kernel.h>

CLS_BEGIN_DECLS

/** @cond */
/* A value as a kernel's parameter of this type takes it; of size 0 where the type is none of OpenCL C's. */
static inline cls_arg cls_cuda_arg_of_type(const char *type, const void *value) {
    static const struct {
        const char *name;
        size_t size;
        cls_arg_type type;
    } types[] = {
        {"char", 1, CLS_ARG_INTEGER},  {"uchar", 1, CLS_ARG_INTEGER},
        {"short", 2, CLS_ARG_INTEGER}, {"ushort", 2, CLS_ARG_INTEGER},
        {"int", 4, CLS_ARG_INTEGER},   {"uint", 4, CLS_ARG_INTEGER},
        {"long", 8, CLS_ARG_INTEGER},  {"ulong", 8, CLS_ARG_INTEGER},
        {"half", 2, CLS_ARG_FLOAT},    {"float", 4, CLS_ARG_FLOAT},
        {"double", 8, CLS_ARG_FLOAT},
    };
    unsigned i;
    if (strncmp(type, "unsigned ", 9) == 0) /* as some drivers write it */
        type += 9;
    for (i = 0; i < sizeof types / sizeof *types; i++) {
        size_t length = strlen(types[i].name);
        int width = 1;
        char more;
        if (strncmp(type, types[i].name, length) != 0)
            continue;
        if (type[length] && sscanf(type + length, "%d%c", &width, &more) != 1)
            continue;
        if (!type[length])
            return cls_arg_typed(value, types[i].size, types[i].type);
        return cls_arg_value(value, types[i].size * CLS_CUDA_CAST(size_t, width == 3 ? 4 : width));
    }
    return cls_arg_value(value, 0);
}

/* The arguments of a kernel by an address of each, as its parameters are declared. */
static inline cudaError_t cls_cuda_read_params(cls_kernel kernel, void *const *params,
                                               size_t shared, cls_arg *args, unsigned *n) {
    cls_kernel_info info = CLS_KERNEL_INFO_INIT;
    cls_status status = cls_kernel_get_info(kernel, &info);
    unsigned i, given = 0;
    if (status == CLS_SUCCESS && info.arguments > CLS_CUDA_MAX_ARGUMENTS)
        return cls_cuda_refuse(cudaErrorInvalidValue, "a launch has at most 24 arguments");
    for (i = 0; status == CLS_SUCCESS && i < info.arguments; i++) {
        cls_kernel_arg_info arg = CLS_KERNEL_ARG_INFO_INIT;
        status = cls_kernel_get_arg_info(kernel, i, &arg);
        if (status == CLS_SUCCESS && arg.space == CLS_ADDRESS_LOCAL) {
            args[i] = cls_arg_local(shared);
            continue;
        }
        if (status == CLS_SUCCESS && (!params || !params[given]))
            return cls_cuda_refuse(cudaErrorInvalidValue, "the address of an argument is null");
        if (status == CLS_SUCCESS && arg.space != CLS_ADDRESS_PRIVATE)
            args[i] = cls_arg_pointer(*CLS_CUDA_CAST(void *const *, params[given]));
        else if (status == CLS_SUCCESS)
            args[i] = cls_cuda_arg_of_type(arg.type_name, params[given]);
        if (status == CLS_SUCCESS && args[i].kind == CLS_ARG_VALUE && args[i].size == 0)
            return cls_cuda_refuse(cudaErrorNotSupported,
                                   "an argument by address is a pointer, a number or a vector");
        given++;
    }
    *n = info.arguments;
    return cls_cuda_result(status);
}
/** @endcond */

/**
 * Launches a kernel with an address of each argument. `kernel` is a cls_cuda_kernel's address, and `args` has no element for
 * a __local parameter, which gets `shared` bytes. The driver tells the parameters' types: a structure among them is
 * cudaErrorNotSupported, and so is a driver that tells nothing. Else as cls_cuda_launch_args.
 */
static inline cudaError_t cudaLaunchKernel(const void *kernel, struct dim3 grid, struct dim3 block,
                                           void **args, size_t shared, cudaStream_t stream) {
    cls_cuda_kernel *named = CLS_CUDA_CAST(cls_cuda_kernel *, CLS_CUDA_UNCONST(kernel));
    cls_arg read[CLS_CUDA_MAX_ARGUMENTS];
    cls_launch launch;
    cls_stream found;
    cls_kernel of_device;
    unsigned n = 0;
    cudaError_t error = cls_cuda_get_kernel(named, &of_device);
    if (error == cudaSuccess)
        error = cls_cuda_stream(stream, &found);
    if (error == cudaSuccess)
        error = cls_cuda_shape(grid, block, &launch);
    if (error == cudaSuccess)
        error = cls_cuda_read_params(of_device, args, shared, read, &n);
    if (error != cudaSuccess)
        return error;
    return cls_cuda_launch_items(of_device, &launch, block, read, n, found);
}

/**
 * Gets how many blocks of this size, with `shared` bytes of dynamic shared memory, a compute unit can hold at once; 0: the
 * device runs no such block. `kernel` is a cls_cuda_kernel's address. It is a bound by what OpenCL tells, the most threads
 * (maxThreadsPerMultiProcessor) and the shared memory of a block: a grid of so many blocks for each of multiProcessorCount
 * fills the device, where registers allow it. What the driver says of the kernel's own groups does not count, as some run more.
 */
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                        const void *kernel,
                                                                        int block_size,
                                                                        size_t shared) {
    cls_cuda_kernel *named = CLS_CUDA_CAST(cls_cuda_kernel *, CLS_CUDA_UNCONST(kernel));
    cls_kernel_info info = CLS_KERNEL_INFO_INIT;
    struct cudaDeviceProp prop;
    cls_kernel of_device;
    size_t threads = CLS_CUDA_CAST(size_t, block_size), by_threads, by_memory;
    cudaError_t error = cls_cuda_get_kernel(named, &of_device);
    if (error == cudaSuccess && (!blocks || block_size <= 0))
        error = cls_cuda_refuse(cudaErrorInvalidValue, "blocks is null, or a block is empty");
    if (error == cudaSuccess)
        error = cudaGetDeviceProperties(&prop, cls_cuda_thread.device);
    if (error == cudaSuccess)
        error = cls_cuda_result(cls_kernel_get_info(of_device, &info));
    if (error != cudaSuccess)
        return error;
    shared += CLS_CUDA_CAST(size_t, info.local_bytes);
    by_threads = CLS_CUDA_CAST(size_t, prop.maxThreadsPerMultiProcessor) / threads;
    by_memory = shared ? prop.sharedMemPerMultiprocessor / shared : by_threads;
    *blocks = CLS_CUDA_CAST(int, by_threads < by_memory ? by_threads : by_memory);
    return cudaSuccess;
}

CLS_END_DECLS

#endif

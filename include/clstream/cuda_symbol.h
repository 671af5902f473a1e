/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_symbol.h
 * Symbols of clstream/cuda_runtime.h: variables of the host file that stand for device memory.
 *
 *     __constant__ float coefficients[16];
 *     __device__ int counter = 3;
 *     ...
 *     cudaMemcpyToSymbol(coefficients, host, sizeof coefficients, 0, cudaMemcpyHostToDevice);
 *     cls_cuda_launch(&filter, grid, block, 0, stream, x, n, cls_cuda_symbol(coefficients), cls_cuda_symbol(counter));
 *
 * where the kernel has the parameters `constant float *coefficients` and `global int *counter`, since OpenCL C has no
 * variables that the host can reach.
 *
 * A symbol is any variable that lives as long as the program; its address and its size are its name. The variable is the
 * host's, and no call writes to it: the memory is allocated, once for each device, by the first call there that names the
 * symbol, with the value that the variable has then. cudaDeviceReset frees it, and the next call begins anew. In C the calls
 * are macros that take the variable itself, in C++ templates with CUDA's default arguments. Two files that define a variable
 * of the same name do not link: make it `static`.
 *
 * Every call returns cudaErrorInvalidSymbol for a variable at whose address a symbol of another size is known, and what
 * cudaMalloc returns if there is no memory for it. Bytes past the end of the symbol are cudaErrorInvalidValue; a direction
 * that does not lead to the symbol, or from it, is cudaErrorInvalidMemcpyDirection. Inside a host function the first call of
 * a symbol is cudaErrorNotPermitted, since it waits for the memory to have its value. Every function may be called from any
 * thread.
 */
#ifndef CLSTREAM_CUDA_SYMBOL_H
#define CLSTREAM_CUDA_SYMBOL_H

#include <clstream/buffer.h>
#include <clstream/cuda_copy.h>
#include <clstream/kernel.h>
#include <clstream/pointer.h>

CLS_BEGIN_DECLS

#ifndef __constant__
#define __constant__ /**< before a variable: a symbol */
#endif
#ifndef __device__
#define __device__ /**< before a variable: a symbol; before a function of the host's too: nothing */
#endif
#ifndef __host__
#define __host__ /**< before a function: nothing */
#endif

/** @cond */
/* Finds a symbol, or makes it known. The lock is held. NULL: there is no memory, or it has another size. */
static inline struct cls_cuda_symbol *cls_cuda_find_symbol(const void *variable, size_t bytes,
                                                           cudaError_t *error) {
    struct cls_cuda_symbol **place = &cls_cuda_state.symbols, *symbol = *place;
    while (symbol && symbol->variable != variable)
        symbol = symbol->next;
    if (symbol) {
        *error = symbol->bytes == bytes ? cudaSuccess : cudaErrorInvalidSymbol;
        return *error == cudaSuccess ? symbol : NULL;
    }
    symbol = CLS_CUDA_CAST(struct cls_cuda_symbol *, calloc(1, sizeof *symbol));
    *error = symbol ? cudaSuccess : cudaErrorMemoryAllocation;
    if (symbol) {
        symbol->variable = variable;
        symbol->bytes = bytes;
        symbol->next = *place;
        *place = symbol;
    }
    return symbol;
}

/* Gives a symbol its memory in a context, with the variable's value. The lock is held. */
static inline cls_status cls_cuda_place_symbol(struct cls_cuda_symbol *symbol, int device,
                                               cls_context context) {
    void *pointer = NULL;
    cls_buffer buffer;
    cls_status status = cls_buffer_from_host(context, symbol->variable, symbol->bytes, &buffer);
    if (status != CLS_SUCCESS)
        return status;
    status = cls_buffer_get_pointer(buffer, &pointer);
    if (status != CLS_SUCCESS) {
        cls_buffer_destroy(buffer);
        return status;
    }
    symbol->at[device].context = context;
    symbol->at[device].buffer = buffer;
    symbol->at[device].pointer = pointer;
    return CLS_SUCCESS;
}

/* Gets the memory of a symbol on the current device. */
static inline cudaError_t cls_cuda_symbol_memory(const void *variable, size_t bytes, void **out) {
    int device = cls_cuda_thread.device;
    struct cls_cuda_symbol *symbol;
    cls_status status = CLS_SUCCESS;
    cls_context context;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!variable)
        return cls_cuda_refuse(cudaErrorInvalidSymbol, "the symbol is null");
    pthread_mutex_lock(&cls_cuda_symbol_lock);
    symbol = cls_cuda_find_symbol(variable, bytes, &error);
    if (symbol && symbol->at[device].buffer && symbol->at[device].context != context)
        cls_cuda_forget_symbol(symbol, device); /* of a context before a reset */
    if (symbol && !symbol->at[device].buffer)
        status = cls_cuda_place_symbol(symbol, device, context);
    if (symbol && status == CLS_SUCCESS)
        *out = symbol->at[device].pointer;
    pthread_mutex_unlock(&cls_cuda_symbol_lock);
    if (error == cudaErrorInvalidSymbol)
        return cls_cuda_refuse(error, "a symbol of another size has this address");
    if (error != cudaSuccess)
        return cls_cuda_refuse(error, "there is no memory to know a symbol");
    return cls_cuda_result_of(device, status);
}

/* Gets the place `offset` bytes into a symbol, if `bytes` bytes are there. */
static inline cudaError_t cls_cuda_symbol_at(const void *variable, size_t size, size_t bytes,
                                             size_t offset, char **out) {
    void *start = NULL;
    cudaError_t error = cls_cuda_symbol_memory(variable, size, &start);
    if (error == cudaSuccess && (offset > size || bytes > size - offset))
        error = cls_cuda_refuse(cudaErrorInvalidValue, "the bytes pass the end of the symbol");
    if (error == cudaSuccess)
        *out = CLS_CUDA_CAST(char *, start) + offset;
    return error;
}

static inline cudaError_t cls_cuda_to_symbol(const void *variable, size_t size, const void *src,
                                             size_t bytes, size_t offset, cudaMemcpyKind kind,
                                             cudaStream_t stream, int named) {
    char *at = NULL;
    cudaError_t error = cls_cuda_symbol_at(variable, size, bytes, offset, &at);
    if (error == cudaSuccess && (kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost))
        error = cls_cuda_refuse(cudaErrorInvalidMemcpyDirection, "a symbol is on the device");
    return error != cudaSuccess ? error : cls_cuda_copy(at, src, bytes, kind, stream, named);
}

static inline cudaError_t cls_cuda_from_symbol(void *dst, const void *variable, size_t size,
                                               size_t bytes, size_t offset, cudaMemcpyKind kind,
                                               cudaStream_t stream, int named) {
    char *at = NULL;
    cudaError_t error = cls_cuda_symbol_at(variable, size, bytes, offset, &at);
    if (error == cudaSuccess && (kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice))
        error = cls_cuda_refuse(cudaErrorInvalidMemcpyDirection, "a symbol is on the device");
    return error != cudaSuccess ? error : cls_cuda_copy(dst, at, bytes, kind, stream, named);
}

static inline cudaError_t cls_cuda_symbol_address(void **out, const void *variable, size_t size) {
    return out ? cls_cuda_symbol_memory(variable, size, out)
               : cls_cuda_refuse(cudaErrorInvalidValue, "cudaGetSymbolAddress: null");
}

static inline cudaError_t cls_cuda_symbol_size(size_t *out, const void *variable, size_t size) {
    void *memory = NULL;
    cudaError_t error = out ? cls_cuda_symbol_memory(variable, size, &memory)
                            : cls_cuda_refuse(cudaErrorInvalidValue, "cudaGetSymbolSize: null");
    if (error == cudaSuccess)
        *out = size;
    return error;
}

/* The argument of a launch. Without the memory it is the variable's own address, which the launch refuses. */
static inline cls_arg cls_cuda_symbol_arg(const void *variable, size_t size) {
    void *memory = NULL;
    if (cls_cuda_symbol_memory(variable, size, &memory) != cudaSuccess)
        return cls_arg_pointer(variable);
    return cls_arg_pointer(memory);
}
/** @endcond */

#ifndef __cplusplus

/** Copies `bytes` bytes to a symbol, `offset` bytes behind its start, and waits for the copy. */
#define cudaMemcpyToSymbol(symbol, src, bytes, offset, kind) \
    cls_cuda_to_symbol(&(symbol), sizeof(symbol), src, bytes, offset, kind, NULL, 0)
/** The same in the order of a stream. */
#define cudaMemcpyToSymbolAsync(symbol, src, bytes, offset, kind, stream) \
    cls_cuda_to_symbol(&(symbol), sizeof(symbol), src, bytes, offset, kind, stream, 1)
/** Copies `bytes` bytes from a symbol, `offset` bytes behind its start, and waits for the copy. */
#define cudaMemcpyFromSymbol(dst, symbol, bytes, offset, kind) \
    cls_cuda_from_symbol(dst, &(symbol), sizeof(symbol), bytes, offset, kind, NULL, 0)
/** The same in the order of a stream. */
#define cudaMemcpyFromSymbolAsync(dst, symbol, bytes, offset, kind, stream) \
    cls_cuda_from_symbol(dst, &(symbol), sizeof(symbol), bytes, offset, kind, stream, 1)
/** Gets the pointer to a symbol's memory on the current device, as of cudaMalloc; it is not to be freed. */
#define cudaGetSymbolAddress(pointer, symbol) \
    cls_cuda_symbol_address(pointer, &(symbol), sizeof(symbol))
/** Gets the bytes of a symbol. */
#define cudaGetSymbolSize(bytes, symbol) cls_cuda_symbol_size(bytes, &(symbol), sizeof(symbol))
/** A symbol's memory on the current device as an argument of a launch. */
#define cls_cuda_symbol(symbol) cls_cuda_symbol_arg(&(symbol), sizeof(symbol))

#endif

CLS_END_DECLS

#ifdef __cplusplus

/** @cond */
/* The address of a variable, whatever its type makes of &. */
template <class T> inline const void *cls_cuda_name(const T &symbol) {
    return const_cast<const char *>(&reinterpret_cast<const volatile char &>(symbol));
}
/** @endcond */

/** Copies `bytes` bytes to a symbol, `offset` bytes behind its start, and waits for the copy. */
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *src, size_t bytes,
                                      size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return cls_cuda_to_symbol(cls_cuda_name(symbol), sizeof(T), src, bytes, offset, kind, nullptr,
                              0);
}

/** The same in the order of a stream. */
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *src, size_t bytes,
                                           size_t offset = 0,
                                           cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                           cudaStream_t stream = nullptr) {
    return cls_cuda_to_symbol(cls_cuda_name(symbol), sizeof(T), src, bytes, offset, kind, stream,
                              1);
}

/** Copies `bytes` bytes from a symbol, `offset` bytes behind its start, and waits for the copy. */
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t bytes, size_t offset = 0,
                                        cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return cls_cuda_from_symbol(dst, cls_cuda_name(symbol), sizeof(T), bytes, offset, kind, nullptr,
                                0);
}

/** The same in the order of a stream. */
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const T &symbol, size_t bytes,
                                             size_t offset = 0,
                                             cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                             cudaStream_t stream = nullptr) {
    return cls_cuda_from_symbol(dst, cls_cuda_name(symbol), sizeof(T), bytes, offset, kind, stream,
                                1);
}

/** Gets the pointer to a symbol's memory on the current device, as of cudaMalloc; it is not to be freed. */
template <class P, class T> inline cudaError_t cudaGetSymbolAddress(P **pointer, const T &symbol) {
    void *memory = nullptr;
    cudaError_t error =
        cls_cuda_symbol_address(pointer ? &memory : nullptr, cls_cuda_name(symbol), sizeof(T));
    if (error == cudaSuccess)
        *pointer = static_cast<P *>(memory);
    return error;
}

/** Gets the bytes of a symbol. */
template <class T> inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol) {
    return cls_cuda_symbol_size(bytes, cls_cuda_name(symbol), sizeof(T));
}

/** A symbol's memory on the current device as an argument of a launch. */
template <class T> inline cls_arg cls_cuda_symbol(const T &symbol) {
    return cls_cuda_symbol_arg(cls_cuda_name(symbol), sizeof(T));
}

#endif

#endif

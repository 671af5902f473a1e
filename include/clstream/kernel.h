/* SPDX-License-Identifier: MIT */
/**
 * @file kernel.h
 * The caller's own OpenCL C: load, get a kernel, launch it on a stream.
 *
 * Programs and kernels are safe from any thread; no argument state is ever shared between launches.
 */
#ifndef CLSTREAM_KERNEL_H
#define CLSTREAM_KERNEL_H

#include <string.h>

#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Builds a program from OpenCL C source. `options` are the compiler's (may be NULL); `name` stands for
 * the file in the compiler's messages (may be NULL). Built programs are cached on disk.
 * @retval CLS_ERROR_BUILD_FAILED the detail holds the compiler's log, with file and line
 */
CLS_API cls_status cls_program_from_source(cls_context context, const char *source,
                                           const char *name, const char *options, cls_program *out);

/**
 * Builds a program from a .cl file; `options` as in cls_program_from_source.
 * @retval CLS_ERROR_NOT_FOUND no such file
 * @retval CLS_ERROR_IO        it cannot be read
 */
CLS_API cls_status cls_program_load(cls_context context, const char *path, const char *options,
                                    cls_program *out);

/** Destroys a program; its kernels live on. */
CLS_API cls_status cls_program_destroy(cls_program program);

/**
 * Gets a kernel by its function name.
 * @retval CLS_ERROR_NOT_FOUND no such kernel in the program
 */
CLS_API cls_status cls_kernel_create(cls_program program, const char *name, cls_kernel *out);

/** Destroys a kernel; submitted launches keep what they need. */
CLS_API cls_status cls_kernel_destroy(cls_kernel kernel);

/** What an argument is. */
typedef enum cls_arg_kind {
    CLS_ARG_BUFFER = 0, /**< a __global or __constant pointer */
    CLS_ARG_VALUE = 1,  /**< a value */
    CLS_ARG_LOCAL = 2   /**< __local memory */
} cls_arg_kind;

/** What a kernel does with memory; for the race checker (clstream/check.h), which alone heeds it. */
typedef enum cls_access {
    CLS_ACCESS_UNKNOWN = 0,   /**< perhaps all of it, in any way */
    CLS_ACCESS_READ = 1,      /**< reads only */
    CLS_ACCESS_WRITE = 2,     /**< writes only */
    CLS_ACCESS_READ_WRITE = 3 /**< reads and writes */
} cls_access;

/** One argument of a launch; make it with cls_arg_*. Values are copied by the launch. */
typedef struct cls_arg {
    cls_arg_kind kind; /**< what the rest means */
    cls_access access; /**< of a buffer; not UNKNOWN: of the `size` bytes from `part.offset` */
    size_t size;       /**< bytes of a value, of __local memory or of the declared part */
    union {
        cls_buffer buffer;
        struct {
            cls_buffer buffer;
            size_t offset;
        } part;
        const void *pointer; /**< a value of more than 16 bytes, read during the call */
        unsigned char bytes[16];
    } u; /**< for cls_arg_* to fill in */
} cls_arg;

/** A __global or __constant pointer. NULL buffer: a null pointer. */
static inline cls_arg cls_arg_buffer(cls_buffer buffer) {
    cls_arg arg;
    arg.kind = CLS_ARG_BUFFER;
    arg.access = CLS_ACCESS_UNKNOWN;
    arg.size = 0;
    arg.u.buffer = buffer;
    return arg;
}

/**
 * The same pointer, to the start of the buffer, with a word for the race checker: the kernel accesses no
 * other bytes than the `bytes` from `offset` on, and in no other way.
 */
static inline cls_arg cls_arg_declared(cls_buffer buffer, cls_access access, size_t offset,
                                       size_t bytes) {
    cls_arg arg;
    arg.kind = CLS_ARG_BUFFER;
    arg.access = access;
    arg.size = bytes;
    arg.u.part.buffer = buffer;
    arg.u.part.offset = offset;
    return arg;
}

/** A declared pointer that is only read from. */
static inline cls_arg cls_arg_reads(cls_buffer buffer, size_t offset, size_t bytes) {
    return cls_arg_declared(buffer, CLS_ACCESS_READ, offset, bytes);
}
/** A declared pointer that is only written to. */
static inline cls_arg cls_arg_writes(cls_buffer buffer, size_t offset, size_t bytes) {
    return cls_arg_declared(buffer, CLS_ACCESS_WRITE, offset, bytes);
}
/** A declared pointer that is read from and written to. */
static inline cls_arg cls_arg_updates(cls_buffer buffer, size_t offset, size_t bytes) {
    return cls_arg_declared(buffer, CLS_ACCESS_READ_WRITE, offset, bytes);
}

/** `bytes` bytes of __local memory, at least 1: a launch refuses 0, as OpenCL does. */
static inline cls_arg cls_arg_local(size_t bytes) {
    cls_arg arg;
    arg.kind = CLS_ARG_LOCAL;
    arg.access = CLS_ACCESS_UNKNOWN;
    arg.size = bytes;
    arg.u.pointer = 0;
    return arg;
}

/** Any value by its address and size, as clSetKernelArg takes it. Read during the launch call, which
 * refuses a null address. */
static inline cls_arg cls_arg_value(const void *value, size_t size) {
    cls_arg arg;
    arg.kind = CLS_ARG_VALUE;
    arg.access = CLS_ACCESS_UNKNOWN;
    arg.size = value ? size : 0;
    arg.u.pointer = value;
    if (value && size <= sizeof arg.u.bytes)
        memcpy(arg.u.bytes, value, size);
    return arg;
}

/** A float. */
static inline cls_arg cls_arg_f32(float value) { return cls_arg_value(&value, sizeof value); }
/** A double. */
static inline cls_arg cls_arg_f64(double value) { return cls_arg_value(&value, sizeof value); }
/** An int. */
static inline cls_arg cls_arg_i32(int32_t value) { return cls_arg_value(&value, sizeof value); }
/** A long. */
static inline cls_arg cls_arg_i64(int64_t value) { return cls_arg_value(&value, sizeof value); }
/** A uchar. */
static inline cls_arg cls_arg_u8(uint8_t value) { return cls_arg_value(&value, sizeof value); }
/** A uint. */
static inline cls_arg cls_arg_u32(uint32_t value) { return cls_arg_value(&value, sizeof value); }
/** A ulong. */
static inline cls_arg cls_arg_u64(uint64_t value) { return cls_arg_value(&value, sizeof value); }

/**
 * The shape of a launch, in work-items. CUDA's <<<grid, block>>> is global = grid * block,
 * local = block. A local size that does not divide its global size is CLS_ERROR_INVALID_VALUE:
 * round the global size up and test the index in the kernel.
 */
typedef struct cls_launch {
    unsigned dims;    /**< 1 to 3 */
    size_t global[3]; /**< work-items; 0 in a used dimension makes the launch a no-op */
    size_t local[3];  /**< work-items in a group; all 0: chosen by the library, or by the kernel's
                           reqd_work_group_size, beside which there is no other */
} cls_launch;

/** A one-dimensional launch of `global` work-items with the group size chosen by the library. */
static inline cls_launch cls_launch_1d(size_t global) {
    cls_launch launch = {1, {global, 1, 1}, {0, 0, 0}};
    return launch;
}

/** The same in two dimensions: get_global_id(0) runs to `x`, get_global_id(1) to `y`. */
static inline cls_launch cls_launch_2d(size_t x, size_t y) {
    cls_launch launch = {2, {x, y, 1}, {0, 0, 0}};
    return launch;
}

/** The same in three dimensions. */
static inline cls_launch cls_launch_3d(size_t x, size_t y, size_t z) {
    cls_launch launch = {3, {x, y, z}, {0, 0, 0}};
    return launch;
}

/**
 * Launches a kernel on a stream.
 * @retval CLS_ERROR_INVALID_VALUE  dims, sizes, a local size over the kernel's or the device's limit,
 *                                  more __local memory than the device has, the number of arguments,
 *                                  a value whose size is not the parameter's (as far as the driver
 *                                  looks at it), or a parameter that is an image
 * @retval CLS_ERROR_INVALID_HANDLE the kernel, the stream or a buffer argument
 * @retval CLS_ERROR_WRONG_CONTEXT  a buffer or the stream of another context
 * @retval CLS_ERROR_OUT_OF_RANGE   a declared part passes the end of its buffer
 */
CLS_API cls_status cls_kernel_launch_async(cls_kernel kernel, const cls_launch *launch,
                                           const cls_arg *args, unsigned n_args, cls_stream stream);

/** As cls_kernel_launch_async, and waits for it. */
CLS_API cls_status cls_kernel_launch(cls_kernel kernel, const cls_launch *launch,
                                     const cls_arg *args, unsigned n_args, cls_stream stream);

/**
 * Registers a kernel in its context under a name, by which cls_cast_named, cls_where_named,
 * cls_unary_named and cls_unary_param_named find it before the library's own. The parameters it must
 * have are stated with those functions. Registering a name again replaces it; a NULL kernel is
 * CLS_ERROR_INVALID_HANDLE; cls_kernel_unregister takes it away.
 */
CLS_API cls_status cls_kernel_register(cls_kernel kernel, const char *name);

/** Takes a registered name away. @retval CLS_ERROR_NOT_FOUND no such name */
CLS_API cls_status cls_kernel_unregister(cls_context context, const char *name);

CLS_END_DECLS

#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file kernel.h
 * The caller's own OpenCL C: build a program, get a kernel, launch it on a stream.
 *
 *     cls_program_load(NULL, "saxpy.cl", NULL, &program);
 *     cls_kernel_create(program, "saxpy", &saxpy);
 *     cls_launch launch = cls_launch_1d(n);
 *     cls_arg args[] = {cls_arg_f32(2.0f), cls_arg_buffer(x), cls_arg_buffer(y)};
 *     cls_kernel_launch_async(saxpy, &launch, args, 3, stream);
 *
 * Every function may be called from any thread. Arguments belong to a launch, not to the kernel, so
 * threads may launch the same kernel with different arguments at the same time.
 */
#ifndef CLSTREAM_KERNEL_H
#define CLSTREAM_KERNEL_H

#include <string.h>

#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Builds a program from OpenCL C source. `options` are compiler options; may be NULL. `name` stands
 * for the file name in the compiler's messages; may be NULL. The caller destroys the program.
 *
 * Files that are found in the folders of the options (-I, in their order) take the place of their
 * lines `#include "NAME"` and `#include <NAME>`; messages of the compiler name file and line as before.
 * The compiler is left what is not found, an `#include` of a macro, and a quoted name of which the
 * working folder has another file. Built programs are cached on disk by their text with these files, and
 * not at all if the compiler is left a file to include.
 * @retval CLS_ERROR_BUILD_FAILED the detail holds the compiler's log, with file and line
 */
CLS_API cls_status cls_program_from_source(cls_context context, const char *source,
                                           const char *name, const char *options, cls_program *out);

/**
 * Builds a program from a .cl file. `options` as in cls_program_from_source. A line `#include "NAME"`
 * finds its file in the folder of the file that has the line, whatever the folder's name, before
 * those of the options.
 * @retval CLS_ERROR_NOT_FOUND    the file does not exist
 * @retval CLS_ERROR_IO           the file cannot be read
 * @retval CLS_ERROR_BUILD_FAILED the detail holds the compiler's log, with file and line
 */
CLS_API cls_status cls_program_load(cls_context context, const char *path, const char *options,
                                    cls_program *out);

/**
 * Gets a program as bytes, from which cls_program_from_binary makes it again, without the compiler, in another process:
 * the driver's binary, what the library knew from the source, the device that it is for, and a checksum. They do not hold the source, unless
 * the driver's binary does. `bytes` receives their number; they are written to `binary` if `room` is not 0.
 * @retval CLS_ERROR_INVALID_VALUE `bytes` is null, or `binary` with a `room` above 0; or `room` is too small, but not 0
 * @retval CLS_ERROR_UNSUPPORTED   the driver gives no binary
 */
CLS_API cls_status cls_program_get_binary(cls_program program, void *binary, size_t room,
                                          size_t *bytes);

/**
 * Makes a program from the bytes of cls_program_get_binary, with the options that it was built with. Keep the source: a
 * binary is for one device and one version of its driver. A launch does not compare the size of a value of a structure
 * type, which is known from the source, and on drivers that tell nothing of the parameters of a binary no argument at all.
 * @retval CLS_ERROR_INVALID_VALUE null; or not all of these bytes, unaltered
 * @retval CLS_ERROR_UNSUPPORTED   of another device or version of the driver, or the driver refuses it: build from source
 */
CLS_API cls_status cls_program_from_binary(cls_context context, const void *binary, size_t bytes,
                                           cls_program *out);

/**
 * Builds a program from SPIR-V of the environment OpenCL, where the device takes it. `name` and `options` as in
 * cls_program_from_source; `bytes` is the size in bytes. The program is not cached on disk.
 * @retval CLS_ERROR_INVALID_VALUE null, or these bytes do not begin as SPIR-V does
 * @retval CLS_ERROR_UNSUPPORTED   the device takes no intermediate language, which takes OpenCL 2.1
 * @retval CLS_ERROR_BUILD_FAILED  the detail holds the compiler's log, or the versions of SPIR-V that the device takes
 */
CLS_API cls_status cls_program_from_il(cls_context context, const void *il, size_t bytes,
                                       const char *name, const char *options, cls_program *out);

/** Destroys a program. Its kernels remain usable. */
CLS_API cls_status cls_program_destroy(cls_program program);

/**
 * Gets a kernel by the name of its function. The caller destroys the kernel.
 * @retval CLS_ERROR_NOT_FOUND the program has no kernel of this name
 */
CLS_API cls_status cls_kernel_create(cls_program program, const char *name, cls_kernel *out);

/** Destroys a kernel. Submitted launches still complete. */
CLS_API cls_status cls_kernel_destroy(cls_kernel kernel);

/** Kinds of kernel arguments. */
typedef enum cls_arg_kind {
    CLS_ARG_BUFFER = 0,      /**< a __global or __constant pointer */
    CLS_ARG_VALUE = 1,       /**< a value, passed by copy */
    CLS_ARG_LOCAL = 2,       /**< __local memory, by its size */
    CLS_ARG_BUFFER_PART = 3, /**< a __global or __constant pointer to a part of a buffer */
    CLS_ARG_IMAGE = 4,       /**< an image: image.h */
    CLS_ARG_SAMPLER = 5,     /**< a sampler_t */
    CLS_ARG_ADDRESS = 6,     /**< a ulong that is the address of a buffer: address.h */
    CLS_ARG_POINTER = 7      /**< a __global or __constant pointer, by its address: pointer.h */
} cls_arg_kind;

/** What a sampler does with coordinates outside the image. */
typedef enum cls_addressing {
    CLS_ADDRESS_NONE = 0, /**< there are none, or the result is undefined */
    CLS_ADDRESS_BORDER =
        1, /**< a border: 0 in each channel, and 1 in alpha for formats without alpha */
    CLS_ADDRESS_CLAMP_TO_EDGE = 2,  /**< the nearest texel of the image */
    CLS_ADDRESS_REPEAT = 3,         /**< the image again; of normalized coordinates only */
    CLS_ADDRESS_MIRRORED_REPEAT = 4 /**< the image again, flipped; of normalized coordinates only */
} cls_addressing;

/** Which texels a sampler takes. */
typedef enum cls_filter {
    CLS_FILTER_NEAREST = 0, /**< the nearest one */
    CLS_FILTER_LINEAR =
        1 /**< a weighted mean of the neighbours; of formats that are read as floats only */
} cls_filter;

/** How a kernel accesses a buffer. Only the race checker (clstream/check.h) uses it. */
typedef enum cls_access {
    CLS_ACCESS_UNKNOWN = 0,   /**< may access all of it, in any way */
    CLS_ACCESS_READ = 1,      /**< reads only */
    CLS_ACCESS_WRITE = 2,     /**< writes only */
    CLS_ACCESS_READ_WRITE = 3 /**< reads and writes */
} cls_access;

/**
 * Type of a value. A launch compares it, and the value's size, with the parameter's as far as the
 * driver tells: it refuses an integer for a float, but not an int for a uint.
 */
typedef enum cls_arg_type {
    CLS_ARG_ANY = 0,     /**< any type of its size: cls_arg_value */
    CLS_ARG_INTEGER = 1, /**< an integer, signed or not */
    CLS_ARG_FLOAT = 2    /**< a floating-point number */
} cls_arg_type;

/** Most bytes of a value that a cls_arg holds itself: of all types of OpenCL C, and of most structures. */
#define CLS_ARG_VALUE_BYTES 128

/**
 * One argument of a launch, made by one of the cls_arg_* functions. It may be kept for later launches, but for
 * a value of more than CLS_ARG_VALUE_BYTES bytes, of which it holds the address. The launch copies values.
 */
typedef struct cls_arg {
    cls_arg_kind kind; /**< says which of the other fields apply */
    cls_access access; /**< of a buffer; if not UNKNOWN, applies to the `size` bytes from
                            `part.offset` */
    cls_arg_type type; /**< of a value */
    size_t size;       /**< size in bytes of a value, of __local memory or of the declared or
                            passed part */
    union {
        cls_buffer buffer;
        struct {
            cls_buffer buffer;
            size_t offset;
        } part;
        cls_image image;
        struct {
            int normalized; /* coordinates from 0 to 1; else in texels */
            cls_addressing addressing;
            cls_filter filter;
        } sampler;
        const void *pointer; /**< a longer value, read during the call */
        unsigned char bytes[CLS_ARG_VALUE_BYTES];
    } u; /**< for cls_arg_* to fill in */
} cls_arg;

/** A buffer, for a __global or __constant pointer. NULL passes a null pointer, but where the driver hangs on it, or where
 * this parameter of the kernel was given a part at an unaligned offset before (CLS_ERROR_UNSUPPORTED). */
static inline cls_arg cls_arg_buffer(cls_buffer buffer) {
    cls_arg arg;
    arg.kind = CLS_ARG_BUFFER;
    arg.access = CLS_ACCESS_UNKNOWN;
    arg.type = CLS_ARG_ANY;
    arg.size = 0;
    arg.u.buffer = buffer;
    return arg;
}

/**
 * A buffer, with a declaration for the race checker: the kernel accesses only the `bytes` bytes
 * from `offset` on, and only in the way that `access` says. The kernel still gets a pointer to the
 * start of the buffer.
 */
static inline cls_arg cls_arg_declared(cls_buffer buffer, cls_access access, size_t offset,
                                       size_t bytes) {
    cls_arg arg;
    arg.kind = CLS_ARG_BUFFER;
    arg.access = access;
    arg.type = CLS_ARG_ANY;
    arg.size = bytes;
    arg.u.part.buffer = buffer;
    arg.u.part.offset = offset;
    return arg;
}

/**
 * A part of a buffer: the kernel gets a pointer to byte `offset`, and accesses nothing but the `bytes`
 * bytes from there on. `bytes` is not 0. `offset` is a multiple of cls_device_info.base_align; where the device has shared
 * virtual memory, and the trial of arguments by address was right (`clstream check` names it `pointer_arguments`), it may be any
 * that the parameter's element type may be aligned to. Such a launch asks for the buffer's address if nobody has yet, as
 * cls_buffer_get_address. For the race checker, set `access` of the result.
 */
static inline cls_arg cls_arg_buffer_at(cls_buffer buffer, size_t offset, size_t bytes) {
    cls_arg arg;
    arg.kind = CLS_ARG_BUFFER_PART;
    arg.access = CLS_ACCESS_UNKNOWN;
    arg.type = CLS_ARG_ANY;
    arg.size = bytes;
    arg.u.part.buffer = buffer;
    arg.u.part.offset = offset;
    return arg;
}

/** A declared buffer that the kernel only reads. */
static inline cls_arg cls_arg_reads(cls_buffer buffer, size_t offset, size_t bytes) {
    return cls_arg_declared(buffer, CLS_ACCESS_READ, offset, bytes);
}
/** A declared buffer that the kernel only writes. */
static inline cls_arg cls_arg_writes(cls_buffer buffer, size_t offset, size_t bytes) {
    return cls_arg_declared(buffer, CLS_ACCESS_WRITE, offset, bytes);
}
/** A declared buffer that the kernel reads and writes. */
static inline cls_arg cls_arg_updates(cls_buffer buffer, size_t offset, size_t bytes) {
    return cls_arg_declared(buffer, CLS_ACCESS_READ_WRITE, offset, bytes);
}

/**
 * An image, for a parameter of its kind: image2d_t for CLS_IMAGE_2D. The race checker goes by the
 * parameter's read_only, write_only or read_write.
 */
static inline cls_arg cls_arg_image(cls_image image) {
    cls_arg arg;
    arg.kind = CLS_ARG_IMAGE;
    arg.access = CLS_ACCESS_UNKNOWN;
    arg.type = CLS_ARG_ANY;
    arg.size = 0;
    arg.u.image = image;
    return arg;
}

/**
 * A sampler, for a sampler_t. The library keeps one driver's sampler for each of the few there are in a
 * context.
 * @param normalized nonzero: coordinates go from 0 to 1 in each dimension; 0: they are in texels
 * @param addressing where texels outside the image come from
 * @param filter whether the nearest texel is read, or texels between which the coordinates lie are mixed
 */
static inline cls_arg cls_arg_sampler(int normalized, cls_addressing addressing,
                                      cls_filter filter) {
    cls_arg arg;
    arg.kind = CLS_ARG_SAMPLER;
    arg.access = CLS_ACCESS_UNKNOWN;
    arg.type = CLS_ARG_ANY;
    arg.u.sampler.normalized = normalized != 0;
    arg.u.sampler.addressing = addressing;
    arg.u.sampler.filter = filter;
    arg.size = sizeof arg.u.sampler;
    return arg;
}

/**
 * An address for a ulong: that of byte `offset` of a buffer, at most the one past its end (address.h). The kernel may reach
 * all of the buffer there, which is kept and known as one among cls_launch.reaches is. For the race checker, set `access` of
 * the result: it applies to the whole buffer. In a graph, cls_graph_bind changes the address with the buffer.
 */
static inline cls_arg cls_arg_address(cls_buffer buffer, size_t offset) {
    cls_arg arg;
    arg.kind = CLS_ARG_ADDRESS;
    arg.access = CLS_ACCESS_UNKNOWN;
    arg.type = CLS_ARG_INTEGER;
    arg.size = sizeof(uint64_t);
    arg.u.part.buffer = buffer;
    arg.u.part.offset = offset;
    return arg;
}

/** `bytes` bytes of __local memory. A launch refuses 0 bytes, as OpenCL does. */
static inline cls_arg cls_arg_local(size_t bytes) {
    cls_arg arg;
    arg.kind = CLS_ARG_LOCAL;
    arg.access = CLS_ACCESS_UNKNOWN;
    arg.type = CLS_ARG_ANY;
    arg.size = bytes;
    arg.u.pointer = 0;
    return arg;
}

/**
 * A value of any type by its address and size, as in clSetKernelArg. It is copied, or if it is longer than
 * CLS_ARG_VALUE_BYTES read by the launch call. A null address is refused there.
 */
static inline cls_arg cls_arg_value(const void *value, size_t size) {
    cls_arg arg;
    arg.kind = CLS_ARG_VALUE;
    arg.access = CLS_ACCESS_UNKNOWN;
    arg.type = CLS_ARG_ANY;
    arg.size = value ? size : 0;
    arg.u.pointer = value;
    if (value && size <= sizeof arg.u.bytes)
        memcpy(arg.u.bytes, value, size);
    return arg;
}

/** A value of a type that is compared with the parameter's. */
static inline cls_arg cls_arg_typed(const void *value, size_t size, cls_arg_type type) {
    cls_arg arg = cls_arg_value(value, size);
    arg.type = type;
    return arg;
}

/** A float argument. */
static inline cls_arg cls_arg_f32(float value) {
    return cls_arg_typed(&value, sizeof value, CLS_ARG_FLOAT);
}
/** A double argument. */
static inline cls_arg cls_arg_f64(double value) {
    return cls_arg_typed(&value, sizeof value, CLS_ARG_FLOAT);
}
/** An int argument. */
static inline cls_arg cls_arg_i32(int32_t value) {
    return cls_arg_typed(&value, sizeof value, CLS_ARG_INTEGER);
}
/** A long argument. */
static inline cls_arg cls_arg_i64(int64_t value) {
    return cls_arg_typed(&value, sizeof value, CLS_ARG_INTEGER);
}
/** A uchar argument. */
static inline cls_arg cls_arg_u8(uint8_t value) {
    return cls_arg_typed(&value, sizeof value, CLS_ARG_INTEGER);
}
/** A uint argument. */
static inline cls_arg cls_arg_u32(uint32_t value) {
    return cls_arg_typed(&value, sizeof value, CLS_ARG_INTEGER);
}
/** A ulong argument. */
static inline cls_arg cls_arg_u64(uint64_t value) {
    return cls_arg_typed(&value, sizeof value, CLS_ARG_INTEGER);
}

/**
 * The shape of a launch, in work-items. CUDA's <<<grid, block>>> is global = grid * block and local
 * = block. A local size that does not divide its global size is CLS_ERROR_INVALID_VALUE: round the
 * global size up, and test the index in the kernel.
 *
 * Without a local size the groups suit every size, also one without divisors, if either
 *
 * - the kernel, with the functions and macros that it uses, asks for its place by get_global_id
 *   alone, which the library tells from the source: a launch of such a size is given to the driver in
 *   two parts, of which a profile has the greater one's time; or
 * - the device allows groups of unequal sizes (OpenCL 2, optional in 3.0), and the program is built
 *   with -cl-std=CL2.0 or later and without -cl-uniform-work-group-size: the last groups are smaller.
 *
 * The source does not tell if the compiler is left a file to include, if functions are named by a
 * macro with `##`, or if a function ends in the branches of an `#if`.
 *
 * Else drivers run a size without divisors in groups of one work-item, which takes 3 to 170 times as
 * long; a profile says so (cls_profile_record.small_groups). Round such a size up.
 */
typedef struct cls_launch {
    unsigned dims;    /**< number of dimensions, 1 to 3 */
    size_t global[3]; /**< work-items per dimension; 0 in a used dimension makes the launch a
                           no-op */
    size_t local[3];  /**< work-items per work-group; all 0: the library chooses, or the kernel's
                           reqd_work_group_size, which excludes any other */
    size_t offset[3]; /**< where get_global_id begins to count, per dimension; groups are counted
                           from 0. At most what keeps the sum with `global` within the device's
                           address bits */
    const cls_arg *
        reaches; /**< `n_reaches` buffers that the kernel reaches through addresses that it finds in memory
                           (address.h), made by cls_arg_buffer, cls_arg_reads, cls_arg_writes,
                           cls_arg_updates or cls_arg_pointer: they are kept, checked and known as arguments are, and not passed.
                           Read during the call. NULL: none */
    unsigned n_reaches; /**< their number */
} cls_launch;

/** A one-dimensional launch of `global` work-items. The library chooses the work-group size. */
static inline cls_launch cls_launch_1d(size_t global) {
    cls_launch launch = {1, {global, 1, 1}, {0, 0, 0}, {0, 0, 0}, 0, 0};
    return launch;
}

/** The same in two dimensions: get_global_id(0) runs to `x`, get_global_id(1) to `y`. */
static inline cls_launch cls_launch_2d(size_t x, size_t y) {
    cls_launch launch = {2, {x, y, 1}, {0, 0, 0}, {0, 0, 0}, 0, 0};
    return launch;
}

/** The same in three dimensions. */
static inline cls_launch cls_launch_3d(size_t x, size_t y, size_t z) {
    cls_launch launch = {3, {x, y, z}, {0, 0, 0}, {0, 0, 0}, 0, 0};
    return launch;
}

/**
 * Submits a launch of a kernel to a stream. A NULL stream means the default stream of the kernel's
 * context.
 * @retval CLS_ERROR_INVALID_VALUE  wrong dims, sizes or offsets, a local size above the device's limit or
 *                                  that the driver refuses for the kernel, more __local memory as
 *                                  arguments than the device states, a wrong number of arguments, a value of another type or size than the
 *                                  parameter's (as far as the driver tells them), an image of
 *                                  another kind than the parameter's or that it may not access so, a sampler that
 *                                  OpenCL does not have, a part of a buffer that is of 0 bytes or
 *                                  not aligned; the detail has the alignment; or `reaches` is null with an
 *                                  `n_reaches` above 0, or has something else than buffers
 * @retval CLS_ERROR_UNSUPPORTED    __local memory, or a part of a buffer, as an argument, or an offset, on a device
 *                                  where the probes found that wrong (cls_device_get_quirk); an address, or a buffer that
 *                                  is reached through one, as of cls_buffer_get_address
 * @retval CLS_ERROR_INVALID_HANDLE the kernel, the stream, or a buffer or image argument
 * @retval CLS_ERROR_NOT_FOUND      a pointer that is no null pointer is in no buffer (cls_arg_pointer)
 * @retval CLS_ERROR_WRONG_CONTEXT  a buffer, an image or the stream belongs to another context
 * @retval CLS_ERROR_OUT_OF_RANGE   a declared or passed part ends past the end of its buffer, or an address lies behind that
 */
CLS_API cls_status cls_kernel_launch_async(cls_kernel kernel, const cls_launch *launch,
                                           const cls_arg *args, unsigned n_args, cls_stream stream);

/** Like cls_kernel_launch_async, and waits for the launch. */
CLS_API cls_status cls_kernel_launch(cls_kernel kernel, const cls_launch *launch,
                                     const cls_arg *args, unsigned n_args, cls_stream stream);

/** Properties of a kernel on the device of its context, from cls_kernel_get_info. Start with CLS_KERNEL_INFO_INIT. */
typedef struct cls_kernel_info {
    size_t size;      /**< sizeof(cls_kernel_info), set by the caller */
    size_t max_group; /**< most work-items of a group, as the driver states; some run more */
    size_t
        group_multiple; /**< a group is best a multiple of it, as the driver states: CUDA's warp */
    size_t required_group[3]; /**< the only group size, by reqd_work_group_size; all 0: any */
    uint64_t local_bytes;     /**< __local memory of a group, without that of arguments */
    uint64_t private_bytes;   /**< private memory of a work-item, as the driver states: often 0 */
    uint32_t arguments;       /**< number of arguments */
    int reserved;             /**< 0; later releases may give it a meaning */
} cls_kernel_info;

#define CLS_KERNEL_INFO_INIT \
    { sizeof(cls_kernel_info), 0, 0, {0, 0, 0}, 0, 0, 0, 0 }

/** Gets the properties of a kernel. */
CLS_API cls_status cls_kernel_get_info(cls_kernel kernel, cls_kernel_info *info);

/** Where an argument of a kernel lies, or the memory that it points to. */
typedef enum cls_address_space {
    CLS_ADDRESS_PRIVATE = 0,  /**< a value */
    CLS_ADDRESS_GLOBAL = 1,   /**< __global memory, or an image */
    CLS_ADDRESS_CONSTANT = 2, /**< __constant memory */
    CLS_ADDRESS_LOCAL = 3     /**< __local memory */
} cls_address_space;

/** An argument as the kernel's source declares it. Start with CLS_KERNEL_ARG_INFO_INIT. */
typedef struct cls_kernel_arg_info {
    size_t size;             /**< sizeof(cls_kernel_arg_info), set by the caller */
    char name[128];          /**< its name; "" if it is longer, or the driver does not tell it */
    char type_name[128];     /**< its type as the driver writes it, such as "float*"; "" likewise */
    cls_address_space space; /**< where it lies */
    cls_access image_access; /**< of an image or a pipe; of others CLS_ACCESS_UNKNOWN */
    int is_const;            /**< nonzero: points to const */
    int is_restrict;         /**< nonzero: a restrict pointer */
    int is_volatile;         /**< nonzero: points to volatile */
    int is_pipe;             /**< nonzero: a pipe */
} cls_kernel_arg_info;

#define CLS_KERNEL_ARG_INFO_INIT \
    { sizeof(cls_kernel_arg_info), "", "", CLS_ADDRESS_PRIVATE, CLS_ACCESS_UNKNOWN, 0, 0, 0, 0 }

/**
 * Gets argument `i` of a kernel, from 0, as the driver tells it.
 * @retval CLS_ERROR_OUT_OF_RANGE `i` is not below cls_kernel_info.arguments
 * @retval CLS_ERROR_UNSUPPORTED  the driver tells nothing of this program's arguments, as often of one from a binary
 */
CLS_API cls_status cls_kernel_get_arg_info(cls_kernel kernel, unsigned i,
                                           cls_kernel_arg_info *info);

/**
 * Gets the local size, three numbers, that a launch of this shape would have: the launch's own or the kernel's, if
 * there is one, else the library's choice. All 0: the driver chooses, or the launch has no work-items. The
 * statuses are those of cls_kernel_launch_async for a wrong shape.
 */
CLS_API cls_status cls_kernel_suggest_local(cls_kernel kernel, const cls_launch *launch,
                                            size_t *local);

/**
 * Registers a kernel in its context under a name. cls_cast_named, cls_where_named, cls_unary_named
 * and cls_unary_param_named look names up there before they look among the library's own kernels;
 * each of them documents the parameters that the kernel must have. Registering a name again
 * replaces its kernel.
 * @retval CLS_ERROR_INVALID_HANDLE also for a NULL kernel; cls_kernel_unregister removes a name
 */
CLS_API cls_status cls_kernel_register(cls_kernel kernel, const char *name);

/**
 * Removes a registered name.
 * @retval CLS_ERROR_NOT_FOUND no kernel is registered under this name
 */
CLS_API cls_status cls_kernel_unregister(cls_context context, const char *name);

CLS_END_DECLS

#endif

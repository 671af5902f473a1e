/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_kernel.h
 * Kernels of clstream/cuda_runtime.h: OpenCL C from a text or a file, launched by a grid of blocks.
 *
 *     static cls_cuda_module module = CLS_CUDA_FILE("saxpy.cl");
 *     static cls_cuda_kernel saxpy = CLS_CUDA_KERNEL(&module, "saxpy");
 *     ...
 *     cls_cuda_launch(&saxpy, (n + 255) / 256, 256, 0, stream, a, x, y, n);
 *
 * in the place of `saxpy<<<(n + 255) / 256, 256, 0, stream>>>(a, x, y, n)`. Both objects are variables that live as long as
 * the program uses them, or until cls_cuda_release_kernel and cls_cuda_release_module. A module is built for a device by the
 * first launch there, whose call that delays.
 *
 * An argument is a pointer (any address in memory of cuda_memory.h or cuda_pool.h, or null), a number, or a cls_arg; in C++
 * also a structure, which in C is cls_arg_value(&x, sizeof x). The types must be those of the kernel's parameters, since no
 * compiler converts them: size and kind of each number are compared (cls_arg_type). Where `shared` is not 0, the kernel's
 * last parameter is a __local pointer to that many bytes.
 *
 * Grids and blocks are numbers or dim3. Every function may be called from any thread.
 */
#ifndef CLSTREAM_CUDA_KERNEL_H
#define CLSTREAM_CUDA_KERNEL_H

#include <clstream/cuda_managed.h>
#include <clstream/cuda_stream.h>
#include <clstream/kernel.h>
#include <clstream/pointer.h>

#ifdef __cplusplus
#include <type_traits>
#endif

CLS_BEGIN_DECLS

/** A number of blocks or threads in each dimension. */
struct dim3 {
    unsigned x; /**< the first */
    unsigned y; /**< the second */
    unsigned z; /**< the third */
#ifdef __cplusplus
    dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {}
#endif
};
#ifndef __cplusplus
/** The same without `struct`. */
typedef struct dim3 dim3;
#endif

/** Most arguments of cls_cuda_launch. */
#define CLS_CUDA_MAX_ARGUMENTS 24

/** @cond */
/* A program or kernel of one context. It stays until the release, because another thread may be looking at it. */
struct cls_cuda_built {
    cls_context context;
    cls_program program;
    cls_kernel kernel;
    struct cls_cuda_built *older; /* of a context before a reset */
};
/** @endcond */

/** OpenCL C, and its programs. Start with CLS_CUDA_SOURCE or CLS_CUDA_FILE. */
typedef struct cls_cuda_module {
    const char *source;  /**< the text, or the path of the file */
    const char *options; /**< of the compiler; may be set before the first launch */
    int is_file;         /**< nonzero: `source` is a path */
    struct cls_cuda_built *built[CLS_CUDA_DEVICES]; /**< the library's */
} cls_cuda_module;

/** A module of a text, which must stay. */
#define CLS_CUDA_SOURCE(text) \
    {                         \
        text, 0, 0, { 0 }     \
    }
/** A module of a file, which the first launch on a device reads. */
#define CLS_CUDA_FILE(path) \
    {                       \
        path, 0, 1, { 0 }   \
    }

/** A kernel of a module. Start with CLS_CUDA_KERNEL. */
typedef struct cls_cuda_kernel {
    cls_cuda_module *module;                        /**< has the kernel */
    const char *name;                               /**< of its function */
    struct cls_cuda_built *built[CLS_CUDA_DEVICES]; /**< the library's */
} cls_cuda_kernel;

/** A kernel of the module at an address, by its name. */
#define CLS_CUDA_KERNEL(module, name) \
    {                                 \
        module, name, { 0 }           \
    }

/** @cond */
static inline struct cls_cuda_built *cls_cuda_built_for(struct cls_cuda_built **slot,
                                                        cls_context context) {
    struct cls_cuda_built *built = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    return built && built->context == context ? built : NULL;
}

/* Destroys what was built for a context before a reset. */
static inline void cls_cuda_outdate(struct cls_cuda_built *built) {
    if (built && built->program)
        cls_program_destroy(built->program);
    if (built && built->kernel)
        cls_kernel_destroy(built->kernel);
    if (built) {
        built->program = NULL;
        built->kernel = NULL;
    }
}

/* Puts a program or kernel into its place. The lock is held. */
static inline cls_status cls_cuda_publish(struct cls_cuda_built **slot, cls_context context,
                                          cls_program program, cls_kernel kernel) {
    struct cls_cuda_built *built = CLS_CUDA_CAST(struct cls_cuda_built *, malloc(sizeof *built));
    if (!built)
        return CLS_ERROR_OUT_OF_MEMORY;
    built->context = context;
    built->program = program;
    built->kernel = kernel;
    built->older = *slot;
    cls_cuda_outdate(built->older);
    __atomic_store_n(slot, built, __ATOMIC_RELEASE);
    return CLS_SUCCESS;
}

/* Gets a module's program, built if need be. The lock is held. */
static inline cudaError_t cls_cuda_build(cls_cuda_module *module, int device, cls_context context,
                                         cls_program *out) {
    struct cls_cuda_built *built = cls_cuda_built_for(&module->built[device], context);
    cls_status status;
    if (built) {
        *out = built->program;
        return cudaSuccess;
    }
    status = module->is_file
                 ? cls_program_load(context, module->source, module->options, out)
                 : cls_program_from_source(context, module->source, NULL, module->options, out);
    if (status == CLS_ERROR_NOT_FOUND)
        return cudaErrorFileNotFound;
    if (status != CLS_SUCCESS)
        return cls_cuda_error(status);
    status = cls_cuda_publish(&module->built[device], context, *out, NULL);
    if (status != CLS_SUCCESS)
        cls_program_destroy(*out);
    return cls_cuda_error(status);
}

static inline cudaError_t cls_cuda_make_kernel(cls_cuda_kernel *kernel, int device,
                                               cls_context context) {
    cls_program program;
    cls_kernel made;
    cls_status status;
    cudaError_t error = cls_cuda_build(kernel->module, device, context, &program);
    if (error != cudaSuccess)
        return error;
    status = cls_kernel_create(program, kernel->name, &made);
    if (status == CLS_ERROR_NOT_FOUND)
        return cudaErrorInvalidDeviceFunction;
    if (status != CLS_SUCCESS)
        return cls_cuda_error(status);
    status = cls_cuda_publish(&kernel->built[device], context, NULL, made);
    if (status != CLS_SUCCESS)
        cls_kernel_destroy(made);
    return cls_cuda_error(status);
}
/** @endcond */

/** Gets the kernel of the current device, built if need be. It stays the header's. */
static inline cudaError_t cls_cuda_get_kernel(cls_cuda_kernel *kernel, cls_kernel *out) {
    int device = cls_cuda_thread.device;
    struct cls_cuda_built *built;
    cls_context context;
    cudaError_t error = cls_cuda_enter(&context);
    if (error == cudaSuccess && (!kernel || !kernel->module || !out))
        error = cls_cuda_refuse(cudaErrorInvalidDeviceFunction, "the kernel or its module is null");
    if (error != cudaSuccess)
        return error;
    built = cls_cuda_built_for(&kernel->built[device], context);
    if (!built) {
        pthread_mutex_lock(&cls_cuda_lock);
        built = cls_cuda_built_for(&kernel->built[device], context);
        if (!built)
            error = cls_cuda_make_kernel(kernel, device, context);
        built = cls_cuda_built_for(&kernel->built[device], context);
        pthread_mutex_unlock(&cls_cuda_lock);
    }
    if (error == cudaSuccess)
        *out = built->kernel;
    return cls_cuda_keep(error);
}

/** @cond */
static inline void cls_cuda_release_slots(struct cls_cuda_built **slots) {
    int i;
    pthread_mutex_lock(&cls_cuda_lock);
    for (i = 0; i < CLS_CUDA_DEVICES; i++)
        while (slots[i]) {
            struct cls_cuda_built *built = slots[i];
            slots[i] = built->older;
            cls_cuda_outdate(built);
            free(built);
        }
    pthread_mutex_unlock(&cls_cuda_lock);
}
/** @endcond */

/** Gives back what was built of a kernel. Submitted launches complete. No other thread may use the kernel meanwhile. */
static inline void cls_cuda_release_kernel(cls_cuda_kernel *kernel) {
    cls_cuda_release_slots(kernel->built);
}

/** The same of a module. Its kernels stay. */
static inline void cls_cuda_release_module(cls_cuda_module *module) {
    cls_cuda_release_slots(module->built);
}

/** @cond */
/* Whether the device has no blocks of this size, where a launch was refused. */
static inline int cls_cuda_is_too_large(size_t threads) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    return cls_device_get_info(cls_cuda_state.index[cls_cuda_thread.device], &info) ==
               CLS_SUCCESS &&
           threads > info.max_work_group;
}
/** @endcond */

/** @cond */
/* The work-items of a grid of blocks. */
static inline cudaError_t cls_cuda_shape(struct dim3 grid, struct dim3 block, cls_launch *launch) {
    size_t threads = CLS_CUDA_CAST(size_t, block.x) * block.y * block.z;
    if (threads == 0 || grid.x == 0 || grid.y == 0 || grid.z == 0)
        return cls_cuda_refuse(cudaErrorInvalidConfiguration, "the grid or the block is empty");
    *launch = cls_launch_3d(1, 1, 1);
    launch->dims = grid.z > 1 || block.z > 1 ? 3 : grid.y > 1 || block.y > 1 ? 2 : 1;
    launch->global[0] = CLS_CUDA_CAST(size_t, grid.x) * block.x;
    launch->global[1] = CLS_CUDA_CAST(size_t, grid.y) * block.y;
    launch->global[2] = CLS_CUDA_CAST(size_t, grid.z) * block.z;
    launch->local[0] = block.x;
    launch->local[1] = block.y;
    launch->local[2] = block.z;
    return cudaSuccess;
}

/* Launches a kernel in work-items of blocks. */
static inline cudaError_t cls_cuda_launch_items(cls_kernel kernel, const cls_launch *launch,
                                                struct dim3 block, const cls_arg *args, unsigned n,
                                                cls_stream stream) {
    cudaError_t error;
    cls_status status = cls_cuda_managed_begin(stream, args, n);
    if (status == CLS_SUCCESS)
        status = cls_cuda_managed_end(stream, args, n,
                                      cls_kernel_launch_async(kernel, launch, args, n, stream));
    error = cls_cuda_result_on(stream, status);
    if (status == CLS_ERROR_INVALID_VALUE &&
        cls_cuda_is_too_large(CLS_CUDA_CAST(size_t, block.x) * block.y * block.z))
        error = cls_cuda_keep(cudaErrorInvalidConfiguration);
    return error;
}
/** @endcond */

/**
 * Launches a kernel with `n` arguments: what cls_cuda_launch calls. Where `shared` is not 0, `args` has room for one more.
 * An empty grid or block, and too large a block, are cudaErrorInvalidConfiguration; wrong arguments are
 * cudaErrorInvalidValue, and cls_last_error_detail says which.
 */
static inline cudaError_t cls_cuda_launch_args(cls_cuda_kernel *kernel, struct dim3 grid,
                                               struct dim3 block, size_t shared,
                                               cudaStream_t stream, cls_arg *args, unsigned n) {
    cls_launch launch;
    cls_stream found;
    cls_kernel of_device;
    cudaError_t error = cls_cuda_get_kernel(kernel, &of_device);
    if (error == cudaSuccess)
        error = cls_cuda_stream(stream, &found);
    if (error == cudaSuccess)
        error = cls_cuda_shape(grid, block, &launch);
    if (error != cudaSuccess)
        return error;
    if (shared)
        args[n++] = cls_arg_local(shared);
    return cls_cuda_launch_items(of_device, &launch, block, args, n, found);
}

#ifndef __cplusplus

/** @cond */
static inline struct dim3 cls_cuda_dim_number(size_t x) {
    struct dim3 dim = {x > UINT32_MAX ? 0 : (unsigned)x, 1, 1};
    return dim;
}
static inline struct dim3 cls_cuda_dim_itself(struct dim3 dim) { return dim; }
static inline cls_arg cls_cuda_arg_itself(cls_arg arg) { return arg; }
#define CLS_CUDA_NUMBER(name, type)                                  \
    static inline cls_arg cls_cuda_arg_##name(type value) {          \
        return cls_arg_typed(&value, sizeof value, CLS_ARG_INTEGER); \
    }
CLS_CUDA_NUMBER(char, char)
CLS_CUDA_NUMBER(schar, signed char)
CLS_CUDA_NUMBER(uchar, unsigned char)
CLS_CUDA_NUMBER(short, short)
CLS_CUDA_NUMBER(ushort, unsigned short)
CLS_CUDA_NUMBER(int, int)
CLS_CUDA_NUMBER(uint, unsigned)
CLS_CUDA_NUMBER(long, long)
CLS_CUDA_NUMBER(ulong, unsigned long)
CLS_CUDA_NUMBER(llong, long long)
CLS_CUDA_NUMBER(ullong, unsigned long long)
#undef CLS_CUDA_NUMBER

#define CLS_CUDA_DIM(dim) \
    _Generic((dim), dim3 : cls_cuda_dim_itself, default : cls_cuda_dim_number)(dim)
/* clang-format off */
#define CLS_CUDA_ARG(x) _Generic((x), \
    cls_arg: cls_cuda_arg_itself, float: cls_arg_f32, double: cls_arg_f64, \
    char: cls_cuda_arg_char, signed char: cls_cuda_arg_schar, unsigned char: cls_cuda_arg_uchar, \
    short: cls_cuda_arg_short, unsigned short: cls_cuda_arg_ushort, \
    int: cls_cuda_arg_int, unsigned: cls_cuda_arg_uint, \
    long: cls_cuda_arg_long, unsigned long: cls_cuda_arg_ulong, \
    long long: cls_cuda_arg_llong, unsigned long long: cls_cuda_arg_ullong, \
    default: cls_arg_pointer)(x)

/* The stream, which leads the list because a macro's list may not be empty, and the arguments after it. */
#define CLS_CUDA_FIRST(first, ...) first
#define CLS_CUDA_COUNT(...) CLS_CUDA_PICK(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define CLS_CUDA_PICK(s, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, t, u, v, w, x, y, count, ...) count
#define CLS_CUDA_JOIN(a, b) CLS_CUDA_JOIN_(a, b)
#define CLS_CUDA_JOIN_(a, b) a##b
#define CLS_CUDA_LIST(...) CLS_CUDA_JOIN(CLS_CUDA_LIST_, CLS_CUDA_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define CLS_CUDA_LIST_0(s)
#define CLS_CUDA_LIST_1(s, a) CLS_CUDA_ARG(a),
#define CLS_CUDA_LIST_2(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_1(s, __VA_ARGS__)
#define CLS_CUDA_LIST_3(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_2(s, __VA_ARGS__)
#define CLS_CUDA_LIST_4(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_3(s, __VA_ARGS__)
#define CLS_CUDA_LIST_5(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_4(s, __VA_ARGS__)
#define CLS_CUDA_LIST_6(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_5(s, __VA_ARGS__)
#define CLS_CUDA_LIST_7(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_6(s, __VA_ARGS__)
#define CLS_CUDA_LIST_8(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_7(s, __VA_ARGS__)
#define CLS_CUDA_LIST_9(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_8(s, __VA_ARGS__)
#define CLS_CUDA_LIST_10(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_9(s, __VA_ARGS__)
#define CLS_CUDA_LIST_11(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_10(s, __VA_ARGS__)
#define CLS_CUDA_LIST_12(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_11(s, __VA_ARGS__)
#define CLS_CUDA_LIST_13(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_12(s, __VA_ARGS__)
#define CLS_CUDA_LIST_14(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_13(s, __VA_ARGS__)
#define CLS_CUDA_LIST_15(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_14(s, __VA_ARGS__)
#define CLS_CUDA_LIST_16(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_15(s, __VA_ARGS__)
#define CLS_CUDA_LIST_17(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_16(s, __VA_ARGS__)
#define CLS_CUDA_LIST_18(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_17(s, __VA_ARGS__)
#define CLS_CUDA_LIST_19(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_18(s, __VA_ARGS__)
#define CLS_CUDA_LIST_20(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_19(s, __VA_ARGS__)
#define CLS_CUDA_LIST_21(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_20(s, __VA_ARGS__)
#define CLS_CUDA_LIST_22(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_21(s, __VA_ARGS__)
#define CLS_CUDA_LIST_23(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_22(s, __VA_ARGS__)
#define CLS_CUDA_LIST_24(s, a, ...) CLS_CUDA_ARG(a), CLS_CUDA_LIST_23(s, __VA_ARGS__)
/* clang-format on */
/** @endcond */

/** Launches a kernel on a grid of blocks: cls_cuda_launch(kernel, grid, block, shared, stream, arguments...). */
#define cls_cuda_launch(kernel, grid, block, shared, ...)                                        \
    cls_cuda_launch_args(                                                                        \
        kernel, CLS_CUDA_DIM(grid), CLS_CUDA_DIM(block), shared, CLS_CUDA_FIRST(__VA_ARGS__, 0), \
        (cls_arg[]){CLS_CUDA_LIST(__VA_ARGS__) cls_arg_local(0)}, CLS_CUDA_COUNT(__VA_ARGS__))

#endif

CLS_END_DECLS

#ifdef __cplusplus

/** @cond */
template <class T> inline cls_arg cls_cuda_arg(const T &value) {
    typedef typename std::remove_cv<T>::type type;
    static_assert(std::is_trivially_copyable<type>::value, "a kernel takes values of bytes");
    static_assert(!std::is_array<type>::value, "a kernel takes no host array");
    static_assert(!std::is_same<type, bool>::value, "a kernel takes no bool");
    return cls_arg_typed(&value, sizeof value,
                         std::is_floating_point<type>::value ? CLS_ARG_FLOAT
                         : std::is_integral<type>::value     ? CLS_ARG_INTEGER
                                                             : CLS_ARG_ANY);
}
template <class T> inline cls_arg cls_cuda_arg(T *const &pointer) {
    return cls_arg_pointer(pointer);
}
inline cls_arg cls_cuda_arg(const std::nullptr_t &) { return cls_arg_pointer(nullptr); }
inline cls_arg cls_cuda_arg(const cls_arg &arg) { return arg; }
/** @endcond */

/** Launches a kernel on a grid of blocks. */
template <class... A>
inline cudaError_t cls_cuda_launch(cls_cuda_kernel *kernel, dim3 grid, dim3 block, size_t shared,
                                   cudaStream_t stream, const A &...values) {
    static_assert(sizeof...(A) <= CLS_CUDA_MAX_ARGUMENTS, "a launch has at most 24 arguments");
    cls_arg args[sizeof...(A) + 1] = {cls_cuda_arg(values)...};
    return cls_cuda_launch_args(kernel, grid, block, shared, stream, args,
                                static_cast<unsigned>(sizeof...(A)));
}

#endif

#endif

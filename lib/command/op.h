/* SPDX-License-Identifier: MIT */
/*
 * The interface through which typed operations (lib/ops) use streams: it checks and resolves the views of a call,
 * provides the library's own kernels, and submits their launches. Queues, order and failures are handled below it.
 *
 *     struct op_call call;
 *     cls_status status = op_begin(&call, stream, views, n, blocking);
 *     if (!status) status = ... op_kernel(&call, &spec, &kernel), op_launch(&call, kernel, ...)
 *     return op_end(&call, status, blocking);
 */
#ifndef CLSTREAM_COMMAND_OP_H
#define CLSTREAM_COMMAND_OP_H

#include <stdbool.h>

#include <clstream/types.h>

#include "driver/device.h"

struct stream;
struct context;
struct kernel;
struct buffer;
struct byte_span;
struct op_row;
struct foreign_library;
struct launch_shape;

enum { OP_MAX_VIEWS = 8, OP_MAX_ARGS = 16, OP_MAX_VALUE = 64 /* bytes */ };

/* A checked view: its dtype is valid, offset + count lies within the buffer, and the call keeps the buffer alive. */
struct op_view {
    struct buffer *buffer;
    cls_dtype dtype;
    size_t offset;  /* elements */
    size_t count;   /* elements */
    size_t address; /* offset in bytes; has the view's alignment, since buffers start aligned */
};

struct op_call {
    struct context *context;
    struct stream *stream;
    struct device *device;
    const struct caps *caps;
    struct op_view views[OP_MAX_VIEWS];
    unsigned n_views;
    uint64_t last_position; /* of the call's last launch; 0: none */
    size_t copies;          /* bytes that each launch copies, for the counters; 0: not a copy */
    struct buffer *scratch;
    struct kernel *registered;
    /* Of an element-wise operation of the library's own, the output being the last view; NULL: of any other */
    const struct op_row *row;
    const unsigned char *parameter; /* of that; NULL: none */
};

/* Whether two views share bytes. */
bool op_views_overlap(const struct op_view *a, const struct op_view *b);

/* CLS_ERROR_OUT_OF_RANGE for an array, of a valid dtype, that passes the end of its buffer. */
cls_status op_check_range(const cls_array *array, const struct buffer *buffer);

/* Looks up the stream (NULL: the default stream of the views' context) and every view. On failure
 * reports, holds nothing, and op_end must not be called. A blocking call is refused inside host
 * functions. */
cls_status op_begin(struct op_call *call, cls_stream stream, const cls_array *const *views,
                    unsigned n_views, bool blocking);

/* The same with buffers that the caller keeps alive: the handles in the views are ignored and may be stale. */
cls_status op_begin_kept(struct op_call *call, cls_stream stream, const cls_array *const *views,
                         struct buffer *const *buffers, unsigned n_views, bool blocking);

/* A view of a list that is longer than a call's own: checks it as op_begin does, and takes a reference to its buffer, which
 * the caller drops by buffer_put. */
cls_status op_view_get(const struct op_call *call, const cls_array *array, struct op_view *view);

/* Where a view begins and ends in the memory that buffers may share. */
size_t op_view_start(const struct op_view *view);
size_t op_view_end(const struct op_view *view);

/* CLS_ERROR_OVERLAP when two views share bytes without being the same bytes. Elements of different
 * size may not share any. `in_place` false: sharing is refused altogether. */
cls_status op_check_overlap(const struct op_call *call, unsigned a, unsigned b, bool in_place);

/* CLS_ERROR_UNSUPPORTED with the type's name when the device has no fp64 and the dtype is f64. */
cls_status op_check_dtype(const struct op_call *call, cls_dtype dtype);

/* CLS_ERROR_TYPE_MISMATCH or CLS_ERROR_SIZE_MISMATCH unless a view of the call `name` is a length: one i64. */
cls_status op_check_length(const struct op_call *call, const char *name, unsigned view);

/* A kernel of the library's own: entry `entry` of cl/`source`, built with `options`. */
struct op_kernel_spec {
    const char *source; /* "cast.cl" */
    const char *entry;
    /* With -w where vectors are passed: clang warns of each call with a vector wider than the device's registers,
     * although all calls are inlined, and PoCL prints how many warnings there were. */
    const char *options;
    const char *label; /* the command's name, as "cast_f32_f64"; copied */
};

/* The kernel for a spec, built on first use and kept with the context under the spec's address: specs
 * must live, unchanged, as long as the process. Borrowed: the kernel lives as long as the context.
 * Lookups after the first take a lock but build nothing. */
cls_status op_kernel(struct op_call *call, const struct op_kernel_spec *spec, struct kernel **out);

/* A kernel that the user registered under `name`, or NULL. Kept alive until op_end. */
struct kernel *op_registered(struct op_call *call, const char *name);

/* Whether kernels are to have the shape of CPUs, work-items that each take a long run, rather than that of GPUs. For
 * measurements and tests, CLSTREAM_OP_SHAPE forces either. Products of CPUs go with it (ops/panels.h). */
bool op_takes_runs(const struct device *device);

/* The most work-items of one group, in one dimension, that the compiled kernel may have on this device. */
size_t op_max_group(const struct op_call *call, struct kernel *kernel);

/* The group size that a kernel's source fixes, for a launch in one dimension; 0: any. Refuses a kernel with a group of
 * more dimensions. */
cls_status op_fixed_group(const struct kernel *kernel, size_t *out);

/* Temporary device memory for one op, from the context's default pool: op_end frees it in the stream's
 * order, so that later ops reuse it without a wait. */
cls_status op_scratch(struct op_call *call, size_t bytes, struct buffer **out);

/* An argument of a launch. */
struct op_arg {
    enum { OP_ARG_BUFFER, OP_ARG_VALUE, OP_ARG_LOCAL } kind;
    bool writes; /* for a buffer */
    bool fresh;  /* of a repeated launch: a buffer that differs from launch to launch */
    size_t size; /* of a value, of local memory, or of the part of a buffer */
    union {
        struct {
            struct buffer *buffer;
            size_t offset; /* in bytes: where the part begins that the command uses */
            const struct byte_span
                *span; /* the bytes that it uses, if they are no part; NULL: they are */
        } part;
        unsigned char bytes[OP_MAX_VALUE];
    } u;
};

/* Passes the whole buffer; offset and bytes tell the race checker which part the command uses. */
struct op_arg op_arg_part(struct buffer *buffer, bool writes, size_t offset, size_t bytes);
/* Lasts no longer than the span. */
struct op_arg op_arg_span(struct buffer *buffer, bool writes, const struct byte_span *span);
struct op_arg op_arg_view(const struct op_view *view, bool writes);
struct op_arg op_arg_in(struct buffer *buffer); /* uses all of the buffer */
struct op_arg op_arg_out(struct buffer *buffer);
struct op_arg op_arg_value(const void *value, size_t size);
struct op_arg op_arg_u64(uint64_t value);
struct op_arg op_arg_pair(uint64_t a, uint64_t b); /* a ulong2 */
struct op_arg op_arg_local(size_t bytes);

/* Submits one launch of `global` work-items in groups of `local` (0: chosen). */
cls_status op_launch(struct op_call *call, struct kernel *kernel, const struct op_arg *args,
                     unsigned n_args, size_t global, size_t local);

/* The same in up to three dimensions, with the groups that the shape says. */
cls_status op_launch_grid(struct op_call *call, struct kernel *kernel, const struct op_arg *args,
                          unsigned n_args, const struct launch_shape *shape);

/* A call of a foreign library that enqueues by itself, on a queue that keeps it in order. */
struct op_library_call {
    const struct foreign_library *library;
    const void *arguments; /* copied */
    size_t bytes;
    const struct byte_span *spans; /* the bytes that it uses of each view */
    const char *label;             /* static */
};

/* Submits the call as one command that keeps the views and scratch of `call`. It runs on a worker unless its kernels
 * are known to be compiled. */
cls_status op_library(struct op_call *call, const struct op_library_call *library);

/* A queue for libraries that take one to query the device; nothing may be enqueued on it. */
cls_status op_any_queue(const struct op_call *call, cl_command_queue *out);

/* A launch that is repeated. The caller fills in members, leaves the rest zero, launches the kernel in no other way, and
 * serializes the use. */
struct op_repeat {
    struct kernel *kernel;
    struct op_arg *args;
    unsigned n_args;
    unsigned n_fresh; /* number of arguments with `fresh` */
    size_t global, local;
    struct object *keeper; /* keeps the buffers of the arguments that are not fresh */
    cl_kernel instance;    /* the instance whose arguments are set; NULL: none */
};

/* Like op_launch, with `fresh` as the buffer of the arguments so marked. Sets only the arguments that changed since the
 * last launch. */
cls_status op_launch_repeat(struct stream *stream, struct op_repeat *repeat, struct buffer *fresh,
                            uint64_t *position);

/* Downloads to the host at the end of a blocking reduction: submits the read, waits for it. */
cls_status op_read_back(struct op_call *call, struct buffer *from, size_t offset, void *to,
                        size_t bytes);

/* The stream's error, reported, for a call that comes to submit nothing. */
cls_status op_check_stream(const struct op_call *call);

/* Releases what op_begin took. With `blocking` and no error so far, waits for the call's work.
 * Returns `status`, or the wait's. */
cls_status op_end(struct op_call *call, cls_status status, bool blocking);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Kernels inside. A kernel keeps a few cl_kernel instances; a launch takes one, sets its arguments,
 * enqueues it and gives it back, so that no argument state is ever shared.
 */
#ifndef CLSTREAM_COMMAND_KERNEL_H
#define CLSTREAM_COMMAND_KERNEL_H

#include <clstream/kernel.h>

#include "base/handle.h"
#include "driver/device.h"
#include "driver/kernel.h"
#include "stream/touch.h"

struct context;
struct program;

enum { KERNEL_INSTANCES = 8 };

/* What each launch looks at comes first, in one cache line. */
struct kernel {
    struct object object;
    struct context *context; /* retained, but by one of the library's own, which the context owns */
    const char *label;       /* interned */
    enum parameter_kind *parameters;
    unsigned n_parameters;
    bool takes_local; /* it has __local memory, or may have, so that each launch adds it up */
    bool has_group;   /* its source allows one group only */
    size_t group[3];  /* that one; all 0: any */
    size_t max_group;
    size_t max_line;         /* the same of a group in one dimension */
    size_t local_bytes;      /* of __local memory, but for its arguments */
    struct program *program; /* retained; NULL for one of the library's own */
    cl_program cl;
    char name[64]; /* the function's */
    _Atomic(cl_kernel) instances[KERNEL_INSTANCES];
};

struct program {
    struct object object;
    struct context *context; /* retained */
    cl_program cl;
};

extern struct object_pool program_pool, kernel_pool;

/* Makes a kernel object of a built program; `program` may be NULL. */
cls_status kernel_new(struct context *context, struct program *program, cl_program cl,
                      const char *function, const char *label, struct kernel **out);

cls_status kernel_take_instance(struct kernel *kernel, cl_kernel *out);
void kernel_give_instance(struct kernel *kernel, cl_kernel instance);

/* Checks a handle, its context included, and takes a reference. */
cls_status kernel_get(cls_kernel handle, struct kernel **out);

struct command;
struct kernel_slot;
struct stream;

/* cls_kernel_launch_async with the stream entered (stream/stream.h), which it leaves in every case. `position`
 * may be NULL, and stays as it is where there are no work-items. */
cls_status launch_entered(struct stream *stream, cls_kernel kernel, const cls_launch *how,
                          const cls_arg *args, unsigned n_args, uint64_t *position);

/* Makes a launch of a slot's kernel, which it borrows, but for its shape: the arguments are to be set, and the
 * launch is to be submitted, before the stream's lock is left. */
void kernel_command(struct kernel_slot *slot, struct command *out);

extern const struct command_type type_launch;
touch_fn touch_args; /* of launches, and of calls that name their arguments alike */

#endif

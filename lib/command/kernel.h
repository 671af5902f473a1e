/* SPDX-License-Identifier: MIT */
/*
 * struct kernel and struct program, the objects behind cls_kernel and cls_program. A kernel keeps a few cl_kernel
 * instances; a launch takes one, sets its arguments, enqueues it and gives it back, so that threads never share argument
 * state.
 */
#ifndef CLSTREAM_COMMAND_KERNEL_H
#define CLSTREAM_COMMAND_KERNEL_H

#include <clstream/kernel.h>

#include "base/handle.h"
#include "driver/device.h"
#include "driver/kernel.h"
#include "stream/touch.h"

struct context;
struct parameter;
struct program;

enum { KERNEL_INSTANCES = 8 };

struct instance_list {
    cl_kernel *items;
    unsigned count, room;
};

/* The members that each launch reads come first, in one cache line. */
struct kernel {
    struct object object;
    struct context *context; /* retained, except by the library's own, which it owns */
    const char *label;       /* interned */
    struct parameter *parameters;
    unsigned n_parameters;
    bool takes_local;      /* has or may have __local memory: each launch adds up its bytes */
    bool has_group;        /* the source fixes the group size (reqd_work_group_size) */
    bool takes_odd_groups; /* the last groups of a launch may be smaller than the others */
    bool may_be_cut; /* it cannot tell a launch in two parts from one (driver/source_kernels.h) */
    _Atomic bool has_pointed; /* some bit of `pointed` is set */
    size_t group[3];          /* the fixed group size; all 0: any */
    size_t max_group;
    size_t max_line;         /* max_group for a group in one dimension */
    size_t local_bytes;      /* of __local memory, without that of __local arguments */
    struct program *program; /* retained; NULL for the library's own kernels */
    cl_program cl;
    char name[64];            /* of the kernel function */
    _Atomic uint64_t pointed; /* parameters that were given an address (command/pointed.h) */
    _Atomic(cl_kernel) instances[KERNEL_INSTANCES];
    _Atomic unsigned n_taken; /* instances that are not given back */
    struct instance_list
        spares;                /* given back while many were taken. Under the lock of instances.c */
    struct instance_list made; /* of those that were, in the order of their creation. Likewise */
};

struct program {
    struct object object;
    struct context *context; /* retained */
    cl_program cl;
    bool odd_groups, ignores_grid; /* of all its kernels: takes_odd_groups, may_be_cut */
    char *may_be_cut;              /* names of the others that may be; NULL: none */
    char *source, *name, *options; /* of the build; a NULL source: not OpenCL C */
};

extern struct object_pool program_pool, kernel_pool;

/* Whether a kernel of the program cannot tell a launch in two parts from one. */
bool program_may_be_cut(const struct program *program, const char *function);

/* Makes a kernel object of a built program; `program` may be NULL. */
cls_status kernel_new(struct context *context, struct program *program, cl_program cl,
                      const char *function, const char *label, struct kernel **out);

/* Instances for one launch, or for many; all that were taken are given back before the kernel ends (instances.c). */
cls_status kernel_take_instance(struct kernel *kernel, cl_kernel *out);
void kernel_give_instance(struct kernel *kernel, cl_kernel instance);
void kernel_release_instances(struct kernel *kernel);

/* Checks a handle, its context included, and takes a reference. */
cls_status kernel_get(cls_kernel handle, struct kernel **out);

struct command;
struct kernel_slot;
struct stream;

/* cls_kernel_launch_async on a stream that the caller has entered (stream/stream.h); leaves it in every case.
 * `position` may be NULL; a launch of no work-items does not set it. */
cls_status launch_entered(struct stream *stream, cls_kernel kernel, const cls_launch *how,
                          const cls_arg *args, unsigned n_args, uint64_t *position);

/* Makes a launch command without a shape that borrows the slot's kernel. The caller sets the arguments and submits the
 * launch before it drops the stream's lock. */
void kernel_command(struct kernel_slot *slot, struct command *out);

extern const struct command_type type_launch, type_launch_in_two;
touch_fn touch_args; /* for launches, and for other commands with a struct launch_args */

#endif

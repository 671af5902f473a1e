/* SPDX-License-Identifier: MIT */
#include "command/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "command/parameters.h"
#include "driver/program.h"
#include "stream/command.h"
#include "stream/context.h"

static void kernel_finalize(struct object *object) {
    struct kernel *kernel = (struct kernel *)(void *)object;
    kernel_release_instances(kernel);
    free(kernel->parameters);
    if (!kernel->program)
        return;
    object_release(&kernel->program->object);
    context_put(kernel->context);
}

struct object_pool kernel_pool = OBJECT_POOL(6, sizeof(struct kernel), "kernel", kernel_finalize);

static cls_status read_kernel(struct kernel *kernel, cl_kernel instance) {
    const struct device *device = kernel->context->device;
    cls_status status = kernel_parameter_count(device, instance, &kernel->n_parameters);
    if (!status)
        status = kernel_max_group(device, instance, &kernel->max_group);
    if (!status)
        status = kernel_compiled_group(device, instance, kernel->group);
    if (!status)
        status = kernel_local_bytes(device, instance, &kernel->local_bytes);
    if (status)
        return status;
    kernel->has_group = kernel->group[0] != 0;
    const size_t line = device->max_local[0];
    kernel->max_line = kernel->max_group < line ? kernel->max_group : line;
    status = parameters_read(kernel, instance);
    kernel->takes_local = kernel->local_bytes != 0;
    for (unsigned i = 0; i < kernel->n_parameters && !status; i++) {
        const unsigned kind = kernel->parameters[i].kind;
        kernel->takes_local |= kind == PARAMETER_UNKNOWN || kind == PARAMETER_LOCAL;
    }
    return status;
}

cls_status kernel_new(struct context *context, struct program *program, cl_program cl,
                      const char *function, const char *label, struct kernel **out) {
    cl_kernel instance;
    const char *interned = intern(label);
    if (!interned)
        return error_no_memory("for a kernel's name");
    cls_status status = program_create_kernel(cl, function, &instance);
    if (status)
        return status;
    struct kernel *kernel = object_create(&kernel_pool);
    if (!kernel) {
        kernel_release(context->device, instance);
        return object_none(&kernel_pool, "a kernel");
    }
    if (program) {
        object_retain(&context->object);
        object_retain(&program->object);
        kernel->takes_odd_groups = program->odd_groups;
        kernel->may_be_cut = program_may_be_cut(program, function);
    }
    kernel->context = context;
    kernel->program = program;
    kernel->cl = cl;
    kernel->label = interned;
    snprintf(kernel->name, sizeof kernel->name, "%s", function);
    atomic_store(&kernel->instances[0], instance);
    status = read_kernel(kernel, instance);
    if (status)
        object_release(&kernel->object);
    else
        *out = kernel;
    return status;
}

cls_status cls_kernel_create(cls_program handle, const char *name, cls_kernel *out) {
    if (!name || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_kernel_create: %s is null",
                         name ? "out" : "name");
    struct program *program = object_acquire(&program_pool, handle);
    if (!program)
        return object_invalid(&program_pool, handle);
    struct kernel *kernel;
    cls_status status = context_check(program->context);
    if (!status && strlen(name) >= sizeof kernel->name)
        status =
            error_set(CLS_ERROR_NOT_FOUND, "a kernel name of %zu bytes is too long", strlen(name));
    if (!status)
        status = kernel_new(program->context, program, program->cl, name, name, &kernel);
    if (!status)
        *out = object_handle(&kernel->object);
    object_release(&program->object);
    return status;
}

cls_status cls_kernel_destroy(cls_kernel handle) {
    return object_destroy(&kernel_pool, handle) ? CLS_SUCCESS
                                                : object_invalid(&kernel_pool, handle);
}

cls_status kernel_get(cls_kernel handle, struct kernel **out) {
    struct kernel *kernel = object_acquire(&kernel_pool, handle);
    if (!kernel)
        return object_invalid(&kernel_pool, handle);
    cls_status status = context_check(kernel->context);
    if (status)
        object_release(&kernel->object);
    else
        *out = kernel;
    return status;
}

/* SPDX-License-Identifier: MIT */
#include "command/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/text.h"
#include "base/text_file.h"
#include "command/parameters.h"
#include "driver/program.h"
#include "driver/source_include.h"
#include "driver/source_kernels.h"
#include "driver/source_words.h"
#include "stream/command.h"
#include "stream/context.h"

/* Knowing how parameters are passed lets a wrong argument be refused before a driver crashes on it. */
#define ARG_INFO_OPTION "-cl-kernel-arg-info"

static void program_finalize(struct object *object) {
    struct program *program = (struct program *)(void *)object;
    program_release(program->cl);
    free(program->source);
    free(program->name);
    free(program->options);
    free(program->may_be_cut);
    context_put(program->context);
}

static void kernel_finalize(struct object *object) {
    struct kernel *kernel = (struct kernel *)(void *)object;
    kernel_release_instances(kernel);
    free(kernel->parameters);
    if (!kernel->program)
        return;
    object_release(&kernel->program->object);
    context_put(kernel->context);
}

struct object_pool program_pool =
    OBJECT_POOL(5, sizeof(struct program), "program", program_finalize);
struct object_pool kernel_pool = OBJECT_POOL(6, sizeof(struct kernel), "kernel", kernel_finalize);

/* --- programs --- */

/* NULL: none, or none that is known. */
static char *kernels_without_grid(const struct program_spec *spec) {
    struct text names = {0};
    source_kernels_without_grid(spec->source, spec->options, &names);
    if (!names.failed)
        return names.bytes;
    free(names.bytes);
    return NULL;
}

static bool may_be_cut(const struct program *program, const char *function) {
    char name[sizeof((struct kernel *)0)->name + 2];
    snprintf(name, sizeof name, " %s ", function);
    return program->ignores_grid || (program->may_be_cut && strstr(program->may_be_cut, name));
}

static cls_status program_new(struct context *context, const struct program_spec *spec,
                              struct program **out) {
    cl_program cl;
    cls_status status = program_build(context->device, context->cl, spec, &cl);
    if (status)
        return status;
    struct program *program = object_create(&program_pool);
    if (!program) {
        program_release(cl);
        return object_none(&program_pool, "a program");
    }
    object_retain(&context->object);
    program->context = context;
    program->cl = cl;
    program->source = strdup(spec->source);
    program->name = strdup(spec->name);
    program->options = strdup(spec->options);
    if (!program->source || !program->name || !program->options) {
        object_release(&program->object);
        return error_no_memory("for a program");
    }
    program->odd_groups = context->device->odd_groups && options_allow_odd_groups(spec->options);
    program->ignores_grid = source_ignores_grid(spec->source, spec->options);
    if (!program->ignores_grid)
        program->may_be_cut = kernels_without_grid(spec);
    *out = program;
    return CLS_SUCCESS;
}

/* Builds with the parameters' kinds kept, and without them where the compiler fails over that: NVIDIA's does
 * for a kernel that has none. */
static cls_status build_user_program(struct context *context, const char *source, const char *name,
                                     const char *options, struct program **out) {
    size_t length = strlen(options) + sizeof ARG_INFO_OPTION + 1;
    char *all = malloc(length);
    if (!all)
        return error_no_memory("for build options");
    snprintf(all, length, "%s %s", ARG_INFO_OPTION, options);
    struct program_spec spec = {name, source, all};
    struct detail held;
    error_save(&held);
    cls_status status = program_new(context, &spec, out);
    if (status == CLS_ERROR_BUILD_FAILED) {
        spec.options = options;
        status = program_new(context, &spec, out);
    }
    free(all);
    return error_restore(&held, status);
}

static cls_status program_make(cls_context handle, struct source_origin origin, const char *source,
                               const char *options, cls_program *out) {
    struct context *context;
    struct program *program = NULL;
    struct text whole = {0};
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = source_include(origin, source, options, &whole);
    if (!status)
        status = build_user_program(context, whole.bytes, origin.name, options, &program);
    if (!status)
        *out = object_handle(&program->object);
    free(whole.bytes);
    context_put(context);
    return status;
}

cls_status cls_program_from_source(cls_context context, const char *source, const char *name,
                                   const char *options, cls_program *out) {
    if (!source || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_program_from_source: %s is null",
                         source ? "out" : "source");
    return program_make(context, (struct source_origin){name ? name : "source", NULL}, source,
                        options ? options : "", out);
}

cls_status cls_program_load(cls_context context, const char *path, const char *options,
                            cls_program *out) {
    char *source;
    if (!path || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_program_load: %s is null",
                         path ? "out" : "path");
    cls_status status = text_file_read(path, &source);
    if (status)
        return status;
    status = program_make(context, (struct source_origin){path, path}, source,
                          options ? options : "", out);
    if (!status)
        object_note_call(*out, "cls_program_load");
    free(source);
    return status;
}

cls_status cls_program_destroy(cls_program handle) {
    return object_destroy(&program_pool, handle) ? CLS_SUCCESS
                                                 : object_invalid(&program_pool, handle);
}

/* --- kernels --- */

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
        kernel->may_be_cut = may_be_cut(program, function);
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

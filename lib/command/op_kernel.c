/* SPDX-License-Identifier: MIT */
#include "command/op_kernel.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/error.h"
#include "base/rare.h"
#include "command/kernel.h"
#include "driver/program.h"
#include "driver/source.h"
#include "stream/context.h"

/* Keyed by the address of the spec, which is static (command/op.h). */
struct op_kernels {
    UT_hash_handle hh;
    const struct op_kernel_spec *spec;
    struct kernel *kernel;
};

static struct kernel *look_up(struct context *context, const struct op_kernel_spec *spec) {
    struct op_kernels *found;
    HASH_FIND_PTR(context->op_kernels, &spec, found);
    return found ? found->kernel : NULL;
}

cls_status op_kernel_generate(struct context *context, const char *text,
                              const struct op_kernel_spec *spec, struct kernel **out) {
    const struct program_spec program = {spec->source, text, spec->options};
    cl_program cl;
    cls_status status = program_cache_get(context->programs, &program, &cl);
    return status ? status : kernel_new(context, NULL, cl, spec->entry, spec->label, out);
}

/* A compiler that lacks a function makes unsupported what calls it, and nothing else (cl/map.cl). */
COLD static cls_status unsupported(const struct op_kernel_spec *spec) {
    const int code = cls_last_error_code();
    char *words = strdup(cls_last_error_detail());
    error_set_code(CLS_ERROR_UNSUPPORTED, code, "%s is not supported, since it does not build: %s",
                   spec->label, words ? words : "");
    free(words);
    return CLS_ERROR_UNSUPPORTED;
}

static cls_status build(struct context *context, const struct op_kernel_spec *spec,
                        struct kernel **out) {
    const char *text;
    cls_status status = source_get(spec->source, &text);
    if (!status)
        status = op_kernel_generate(context, text, spec, out);
    return status == CLS_ERROR_BUILD_FAILED ? unsupported(spec) : status;
}

/* Enters a kernel into the table. Returns the kernel that another thread entered first, if there is one. */
static struct kernel *enter(struct context *context, struct op_kernels *entry) {
    struct kernel *first = look_up(context, entry->spec);
    if (first)
        return first;
    HASH_ADD_PTR(context->op_kernels, spec, entry);
    return entry->hh.tbl ? entry->kernel : NULL;
}

cls_status op_kernel_find(struct context *context, const struct op_kernel_spec *spec,
                          struct kernel **out) {
    pthread_mutex_lock(&context->lock);
    struct kernel *kernel = look_up(context, spec);
    pthread_mutex_unlock(&context->lock);
    if (kernel) {
        *out = kernel;
        return CLS_SUCCESS;
    }
    struct op_kernels *entry = calloc(1, sizeof *entry);
    if (!entry)
        return error_no_memory("for kernel '%s'", spec->label);
    cls_status status = build(context, spec, &entry->kernel);
    if (status) {
        free(entry);
        return status;
    }
    entry->spec = spec;
    pthread_mutex_lock(&context->lock);
    kernel = enter(context, entry);
    pthread_mutex_unlock(&context->lock);
    if (kernel != entry->kernel) {
        object_release(&entry->kernel->object);
        free(entry);
    }
    if (!kernel)
        return error_no_memory("for kernel '%s'", spec->label);
    *out = kernel;
    return CLS_SUCCESS;
}

void op_kernels_free(struct op_kernels *kernels) {
    struct op_kernels *entry, *next;
    HASH_ITER(hh, kernels, entry, next) {
        HASH_DEL(kernels, entry);
        object_release(&entry->kernel->object);
        free(entry);
    }
}

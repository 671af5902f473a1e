/* SPDX-License-Identifier: MIT */
#include "command/named_kernels.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/error.h"
#include "command/kernel.h"
#include "stream/context.h"

struct named_kernel {
    UT_hash_handle hh;
    struct kernel *kernel; /* retained */
    char name[];
};

/* Under the context's lock. */
static struct named_kernel *find(struct context *context, const char *name) {
    struct named_kernel *found;
    HASH_FIND_STR(context->named_kernels, name, found);
    return found;
}

struct kernel *named_kernel_find(struct context *context, const char *name) {
    pthread_mutex_lock(&context->lock);
    struct named_kernel *found = find(context, name);
    struct kernel *kernel = found ? found->kernel : NULL;
    if (kernel)
        object_retain(&kernel->object);
    pthread_mutex_unlock(&context->lock);
    return kernel;
}

void named_kernels_clear(struct context *context) {
    struct named_kernel *entry, *next;
    pthread_mutex_lock(&context->lock);
    struct named_kernel *all = context->named_kernels;
    context->named_kernels = NULL;
    pthread_mutex_unlock(&context->lock);
    HASH_ITER(hh, all, entry, next) {
        HASH_DEL(all, entry);
        object_release(&entry->kernel->object);
        free(entry);
    }
}

/* Under the context's lock. Takes over the kernel's reference and `entry` on success; `*old` is what the name stood
 * for. A context that is destroyed takes none: the names are taken away after that, under the lock. */
static bool enter(struct context *context, struct named_kernel *entry, struct kernel *kernel,
                  struct kernel **old, bool *used) {
    *used = false;
    if (atomic_load(&context->closed))
        return false;
    struct named_kernel *known = find(context, entry->name);
    *used = !known;
    *old = known ? known->kernel : NULL;
    if (known) {
        known->kernel = kernel;
        return true;
    }
    entry->kernel = kernel;
    HASH_ADD_STR(context->named_kernels, name, entry);
    return entry->hh.tbl != NULL;
}

static cls_status register_kernel(struct kernel *kernel, const char *name) {
    struct context *context = kernel->context;
    struct kernel *old = NULL;
    bool used = false;
    size_t length = strlen(name) + 1;
    struct named_kernel *entry = calloc(1, sizeof *entry + length);
    if (!entry)
        return error_no_memory("to register '%s'", name);
    memcpy(entry->name, name, length);
    pthread_mutex_lock(&context->lock);
    bool entered = enter(context, entry, kernel, &old, &used);
    pthread_mutex_unlock(&context->lock);
    if (!used || !entered)
        free(entry);
    if (old)
        object_release(&old->object);
    if (entered)
        return CLS_SUCCESS;
    cls_status status = context_check(context);
    return status ? status : error_no_memory("to register '%s'", name);
}

cls_status cls_kernel_register(cls_kernel handle, const char *name) {
    struct kernel *kernel;
    if (!name || !*name)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_kernel_register: name is null or empty");
    cls_status status = kernel_get(handle, &kernel);
    if (status)
        return status;
    status = register_kernel(kernel, name);
    if (status) /* on success the table keeps the reference */
        object_release(&kernel->object);
    return status;
}

cls_status cls_kernel_unregister(cls_context handle, const char *name) {
    struct context *context;
    if (!name)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_kernel_unregister: name is null");
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    pthread_mutex_lock(&context->lock);
    struct named_kernel *found = find(context, name);
    if (found)
        HASH_DEL(context->named_kernels, found);
    pthread_mutex_unlock(&context->lock);
    if (found) {
        object_release(&found->kernel->object);
        free(found);
    } else {
        status = error_set(CLS_ERROR_NOT_FOUND, "no kernel is registered as '%s'", name);
    }
    context_put(context);
    return status;
}

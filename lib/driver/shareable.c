/* SPDX-License-Identifier: MIT */
#include "driver/shareable.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/error.h"
#include "driver/exporter.h"
#include "driver/serial.h"
#include "driver/status.h"

cls_status shareable_check_size(uint64_t has, size_t bytes) {
    if (has == bytes)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_SIZE_MISMATCH, "the exported buffer has %llu bytes, not %zu",
                     (unsigned long long)has, bytes);
}

const struct exporter *const exporters[EXPORTERS] = {&exporter_cuda, &exporter_pages};

cls_share_kind shareable_kind(const struct exporter *exporter) { return exporter->kind; }

/* --- memory of any exporter --- */

static cls_status allocate(const struct exporter *exporter, size_t bytes, struct shareable **out) {
    struct shareable *shareable = malloc(sizeof *shareable);
    if (!shareable)
        return error_no_memory("for shareable memory");
    *shareable = (struct shareable){.exporter = exporter, .holders = 1, .bytes = bytes, .fd = -1};
    *out = shareable;
    return CLS_SUCCESS;
}

static cls_status keep(struct shareable *shareable, cls_status status, struct shareable **out) {
    if (status)
        free(shareable);
    else
        *out = shareable;
    return status;
}

cls_status shareable_make(const struct exporter *exporter, const struct device *device,
                          size_t bytes, struct shareable **out) {
    struct shareable *shareable;
    cls_status status = allocate(exporter, bytes, &shareable);
    return status ? status : keep(shareable, exporter->make(shareable, device), out);
}

cls_status shareable_open(const struct exporter *exporter, int fd, size_t bytes,
                          struct shareable **out) {
    struct shareable *shareable;
    cls_status status = allocate(exporter, bytes, &shareable);
    if (status)
        return status;
    status = exporter->open(shareable, fd);
    if (!status && (status = shareable_check_size(shareable->bytes, bytes)))
        exporter->unmake(shareable);
    return keep(shareable, status, out);
}

bool shareable_is(const struct shareable *shareable, int fd) {
    return shareable->exporter->is(shareable, fd);
}

/* The last holder may be a thread of the driver's, where no lock may be taken. */
void shareable_drop(struct shareable *shareable) {
    if (atomic_fetch_sub(&shareable->holders, 1) != 1)
        return;
    shareable->exporter->unmake(shareable);
    free(shareable);
}

cls_status shareable_export(const struct shareable *shareable, int *fd) {
    return exporter_duplicate(shareable->fd, fd);
}

/* --- buffers of it --- */

/* For memory_identify. */
struct memory_import {
    UT_hash_handle hh;
    cl_mem memory;
    const struct shareable *of;
};

static pthread_rwlock_t imports_lock = PTHREAD_RWLOCK_INITIALIZER; /* guards what follows */
static struct memory_import *imports;

static bool remember(cl_mem memory, const struct shareable *shareable) {
    struct memory_import *import = calloc(1, sizeof *import);
    if (!import)
        return false;
    import->memory = memory;
    import->of = shareable;
    pthread_rwlock_wrlock(&imports_lock);
    HASH_ADD_PTR(imports, memory, import);
    const bool added = import->hh.tbl != NULL;
    pthread_rwlock_unlock(&imports_lock);
    if (!added)
        free(import);
    return added;
}

static void forget(cl_mem memory) {
    struct memory_import *import;
    pthread_rwlock_wrlock(&imports_lock);
    HASH_FIND_PTR(imports, &memory, import);
    if (import)
        HASH_DEL(imports, import);
    pthread_rwlock_unlock(&imports_lock);
    free(import);
}

static void CL_CALLBACK on_end(cl_mem memory, void *shareable) {
    (void)memory;
    shareable_drop(shareable);
}

static cls_status create(struct shareable *shareable, const struct device *device,
                         cl_context context, cl_mem *out) {
    cl_mem memory;
    if (!driver_begin(device))
        return driver_gone();
    cls_status status = shareable->exporter->import(shareable, device, context, &memory);
    driver_end(device);
    if (status)
        return status;
    atomic_fetch_add(&shareable->holders, 1);
    driver_enter(device);
    const cl_int code = clSetMemObjectDestructorCallback(memory, on_end, shareable);
    driver_leave(device);
    status = driver_status(code, "clSetMemObjectDestructorCallback");
    if (status) {
        memory_release(device, memory);
        shareable_drop(shareable);
        return status;
    }
    *out = memory;
    return CLS_SUCCESS;
}

cls_status shareable_import(struct shareable *shareable, const struct device *device,
                            cl_context context, cl_mem *out) {
    cl_mem memory;
    cls_status status = create(shareable, device, context, &memory);
    if (status)
        return status;
    if (!remember(memory, shareable)) {
        memory_release(device, memory);
        return error_no_memory("for an import");
    }
    *out = memory;
    return CLS_SUCCESS;
}

void shareable_end_import(const struct device *device, cl_mem memory) {
    forget(memory);
    memory_release(device, memory);
}

void memory_identify(const struct device *device, cl_mem memory, struct memory_place *out) {
    struct memory_import *import;
    memory_find(device, memory, out);
    pthread_rwlock_rdlock(&imports_lock);
    HASH_FIND_PTR(imports, &out->root, import);
    if (import)
        out->root = (cl_mem)(uintptr_t)import->of;
    pthread_rwlock_unlock(&imports_lock);
}

/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include "driver/shareable.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/error.h"
#include "driver/serial.h"
#include "driver/status.h"

cls_status shareable_check_size(uint64_t has, size_t bytes) {
    if (has == bytes)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_SIZE_MISMATCH, "the exported buffer has %llu bytes, not %zu",
                     (unsigned long long)has, bytes);
}

/* --- pages of the host, for devices whose buffers can lie in them --- */

static cls_status refused(const char *call, int code) {
    const bool full = code == EMFILE || code == ENFILE;
    const bool empty = code == ENOMEM || code == ENOSPC || code == EAGAIN;
    return error_set(full    ? CLS_ERROR_LIMIT
                     : empty ? CLS_ERROR_OUT_OF_DEVICE_MEMORY
                             : CLS_ERROR_UNSUPPORTED,
                     "shareable memory: %s: %s", call, strerror(code));
}

static cls_status duplicate(int fd, int *out) {
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return refused("a file descriptor more", errno);
    *out = copy;
    return CLS_SUCCESS;
}

static cls_status map_pages(struct shareable *shareable) {
    void *pages =
        mmap(NULL, shareable->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shareable->fd, 0);
    if (pages == MAP_FAILED)
        return refused("mmap", errno);
    shareable->pages = pages;
    return CLS_SUCCESS;
}

#ifdef F_ADD_SEALS
/* All pages are there from the start: one that the system has no memory for later would end the process (SIGBUS). Nor
 * can a process that has the descriptor take some away. */
static cls_status fill_file(int fd, size_t bytes) {
    int code;
    while ((code = posix_fallocate(fd, 0, (off_t)bytes)) == EINTR)
        ;
    if (code)
        return refused("posix_fallocate", code);
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return refused("F_ADD_SEALS", errno);
    return CLS_SUCCESS;
}

static cls_status make_pages(struct shareable *shareable, const struct device *device) {
    (void)device;
    shareable->fd = memfd_create("clstream", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (shareable->fd < 0)
        return refused("memfd_create", errno);
    cls_status status = fill_file(shareable->fd, shareable->bytes);
    if (!status)
        status = map_pages(shareable);
    if (status)
        close(shareable->fd);
    return status;
}

/* Only a file whose size is sealed is safe to map. */
static cls_status open_pages(struct shareable *shareable, int fd) {
    struct stat facts;
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &facts))
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no descriptor of cls_buffer_export", fd);
    cls_status status = shareable_check_size((uint64_t)facts.st_size, shareable->bytes);
    if (!status)
        status = duplicate(fd, &shareable->fd);
    if (status)
        return status;
    status = map_pages(shareable);
    if (status)
        close(shareable->fd);
    return status;
}
#else
static cls_status make_pages(struct shareable *shareable, const struct device *device) {
    (void)shareable;
    (void)device;
    return refused("memfd_create", ENOSYS);
}

static cls_status open_pages(struct shareable *shareable, int fd) {
    (void)shareable;
    (void)fd;
    return refused("memfd_create", ENOSYS);
}
#endif

static cl_mem import_pages(const struct shareable *shareable, cl_context context, cl_int *code) {
    return clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, shareable->bytes,
                          shareable->pages, code);
}

static bool are_pages(const struct shareable *shareable, int fd) {
    struct stat own, others;
    return !fstat(shareable->fd, &own) && !fstat(fd, &others) && own.st_dev == others.st_dev &&
           own.st_ino == others.st_ino;
}

static void unmake_pages(struct shareable *shareable) {
    munmap(shareable->pages, shareable->bytes);
    close(shareable->fd);
}

const struct exporter exporters[EXPORTERS] = {
    {CLS_SHARE_HOST_MEMORY, make_pages, open_pages, are_pages, import_pages, unmake_pages}};

/* --- memory of any exporter --- */

static cls_status allocate(const struct exporter *exporter, size_t bytes, struct shareable **out) {
    struct shareable *shareable = malloc(sizeof *shareable);
    if (!shareable)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for shareable memory");
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

cls_status shareable_open(int fd, size_t bytes, struct shareable **out) {
    struct shareable *shareable;
    cls_status status = allocate(&exporters[0], bytes, &shareable);
    return status ? status : keep(shareable, exporters[0].open(shareable, fd), out);
}

/* The last holder may be a thread of the driver's, where no lock may be taken. */
void shareable_drop(struct shareable *shareable) {
    if (atomic_fetch_sub(&shareable->holders, 1) != 1)
        return;
    shareable->exporter->unmake(shareable);
    free(shareable);
}

cls_status shareable_export(const struct shareable *shareable, int *fd) {
    return duplicate(shareable->fd, fd);
}

/* --- buffers of it --- */

/* For memory_identify. */
struct import {
    UT_hash_handle hh;
    cl_mem memory;
    const struct shareable *of;
};

static pthread_rwlock_t imports_lock = PTHREAD_RWLOCK_INITIALIZER; /* guards what follows */
static struct import *imports;

static bool remember(cl_mem memory, const struct shareable *shareable) {
    struct import *import = calloc(1, sizeof *import);
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
    struct import *import;
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
    cl_int code;
    if (!driver_begin(device))
        return driver_gone();
    cl_mem memory = shareable->exporter->import(shareable, context, &code);
    driver_end(device);
    cls_status status = driver_status(code, "the driver's import of shareable memory");
    if (status)
        return status;
    atomic_fetch_add(&shareable->holders, 1);
    driver_enter(device);
    code = clSetMemObjectDestructorCallback(memory, on_end, shareable);
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
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for an import");
    }
    *out = memory;
    return CLS_SUCCESS;
}

void shareable_end_import(const struct device *device, cl_mem memory) {
    forget(memory);
    memory_release(device, memory);
}

void memory_identify(const struct device *device, cl_mem memory, struct memory_place *out) {
    struct import *import;
    memory_find(device, memory, out);
    pthread_rwlock_rdlock(&imports_lock);
    HASH_FIND_PTR(imports, &out->root, import);
    if (import)
        out->root = (cl_mem)(uintptr_t)import->of;
    pthread_rwlock_unlock(&imports_lock);
}

/* SPDX-License-Identifier: MIT */
/* Pages of the host, for devices whose buffers can lie in them. */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/exporter.h"
#include "driver/status.h"

#ifdef F_ADD_SEALS
/* 0, or an errno. */
static int map_pages(struct shareable *shareable) {
    void *pages =
        mmap(NULL, shareable->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shareable->fd, 0);
    if (pages == MAP_FAILED)
        return errno;
    shareable->pages = pages;
    return 0;
}

static cls_status map_new_pages(struct shareable *shareable) {
    const int code = map_pages(shareable);
    return code ? exporter_refused("mmap", code) : CLS_SUCCESS;
}

/* A file without pages, or one that is not open or not unsealed for writing, is not of make_pages. */
static cls_status map_others_pages(struct shareable *shareable, int fd) {
    const int code = map_pages(shareable);
    if (code == EINVAL || code == EACCES || code == EPERM)
        return exporter_foreign(fd);
    return code ? exporter_refused("mmap", code) : CLS_SUCCESS;
}

/* All pages are there from the start: one that the system has no memory for later would end the process (SIGBUS). Nor
 * can a process that has the descriptor take some away. */
static cls_status fill_file(int fd, size_t bytes) {
    int code;
    while ((code = posix_fallocate(fd, 0, (off_t)bytes)) == EINTR)
        ;
    if (code)
        return exporter_refused("posix_fallocate", code);
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return exporter_refused("F_ADD_SEALS", errno);
    return CLS_SUCCESS;
}

static cls_status make_pages(struct shareable *shareable, const struct device *device) {
    (void)device;
    shareable->fd = memfd_create("clstream", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (shareable->fd < 0)
        return exporter_refused("memfd_create", errno);
    cls_status status = fill_file(shareable->fd, shareable->bytes);
    if (!status)
        status = map_new_pages(shareable);
    if (status)
        close(shareable->fd);
    return status;
}

/* Only a file whose size is sealed is safe to map. */
static cls_status open_pages(struct shareable *shareable, int fd) {
    struct stat facts;
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &facts))
        return exporter_foreign(fd);
    cls_status status = exporter_duplicate(fd, &shareable->fd);
    if (status)
        return status;
    shareable->bytes = (size_t)facts.st_size;
    status = map_others_pages(shareable, fd);
    if (status)
        close(shareable->fd);
    return status;
}
#else
static cls_status make_pages(struct shareable *shareable, const struct device *device) {
    (void)shareable;
    (void)device;
    return exporter_refused("memfd_create", ENOSYS);
}

static cls_status open_pages(struct shareable *shareable, int fd) {
    (void)shareable;
    (void)fd;
    return exporter_refused("memfd_create", ENOSYS);
}
#endif

static cls_status import_pages(const struct shareable *shareable, const struct device *device,
                               cl_context context, cl_mem *out) {
    cl_int code;
    (void)device;
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                   shareable->bytes, shareable->pages, &code);
    if (code == CL_SUCCESS)
        *out = memory;
    return driver_status(code, "clCreateBuffer of pages of the host");
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

const struct exporter exporter_pages = {CLS_SHARE_HOST_MEMORY, make_pages,  open_pages, are_pages,
                                        import_pages,          unmake_pages};

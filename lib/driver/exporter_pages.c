/* SPDX-License-Identifier: MIT */
/* Pages of the host, for devices whose buffers can lie in them. */
#include <errno.h>

#include "driver/exporter.h"
#include "driver/status.h"
#include "system/pages.h"

static cls_status make_pages(struct shareable *shareable, const struct device *device) {
    const char *call;
    (void)device;
    const int code = pages_share(shareable->bytes, &shareable->fd, &shareable->pages, &call);
    return code ? exporter_refused(call, code) : CLS_SUCCESS;
}

static cls_status open_pages(struct shareable *shareable, int fd) {
    const char *call;
    const int code = pages_open(fd, &shareable->fd, &shareable->pages, &shareable->bytes, &call);
    if (code == EINVAL || code == EACCES || code == EPERM)
        return exporter_foreign(fd);
    return code ? exporter_refused(call, code) : CLS_SUCCESS;
}

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
    return descriptor_is_same_file(shareable->fd, fd);
}

static void unmake_pages(struct shareable *shareable) {
    pages_unshare(shareable->fd, shareable->pages, shareable->bytes);
}

const struct exporter exporter_pages = {CLS_SHARE_HOST_MEMORY, make_pages,  open_pages, are_pages,
                                        import_pages,          unmake_pages};

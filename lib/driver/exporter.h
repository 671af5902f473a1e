/* SPDX-License-Identifier: MIT */
/* The ways of making memory that driver/shareable.h chooses from: one row each, in a file of its own. */
#ifndef CLSTREAM_DRIVER_EXPORTER_H
#define CLSTREAM_DRIVER_EXPORTER_H

#include "base/rare.h"
#include "driver/shareable.h"

struct exporter {
    cls_share_kind kind; /* how others reach the memory */
    /* Sets `fd` and `pages`. make: for `bytes` bytes of new memory on the device; CLS_ERROR_UNSUPPORTED where the device
     * has no such memory. open: for what `fd` names, which stays the caller's; sets `bytes` too, where that is known;
     * CLS_ERROR_INVALID_VALUE for a descriptor of something else. */
    cls_status (*make)(struct shareable *shareable, const struct device *device);
    cls_status (*open)(struct shareable *shareable, int fd);
    bool (*is)(const struct shareable *shareable, int fd); /* `fd` names this memory */
    /* CLS_ERROR_UNSUPPORTED where the device cannot have this memory. Inside driver_begin. */
    cls_status (*import)(const struct shareable *shareable, const struct device *device,
                         cl_context context, cl_mem *out);
    void (*unmake)(struct shareable *shareable);
};

extern const struct exporter exporter_cuda;  /* a device's memory, by libcuda */
extern const struct exporter exporter_pages; /* pages of the host */

/* Reports a refused call of the system: CLS_ERROR_LIMIT without a descriptor left, CLS_ERROR_OUT_OF_DEVICE_MEMORY,
 * CLS_ERROR_UNSUPPORTED. `code` is an errno. */
cls_status exporter_refused(const char *call, int code) COLD;

/* A descriptor more of what `fd` names, closed on exec. */
cls_status exporter_duplicate(int fd, int *out);

/* Reports CLS_ERROR_INVALID_VALUE: the descriptor is of something else. */
cls_status exporter_foreign(int fd) COLD;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Memory that several cl_contexts use as buffers of their own ("shareable"), and that another process opens by a file
 * descriptor. Each way of making it is an exporter. Which contexts reach each other's memory is found
 * by a probe of their devices (driver/share_link.h), never by a name.
 *
 * The memory lives until its last holder is gone: whoever made it, and each of its cl_mems, until the driver is done
 * with that.
 */
#ifndef CLSTREAM_DRIVER_SHAREABLE_H
#define CLSTREAM_DRIVER_SHAREABLE_H

#include <clstream/share.h>

#include "driver/memory.h"

struct exporter;

struct shareable {
    const struct exporter *exporter;
    _Atomic unsigned holders;
    size_t bytes;
    int fd;      /* by which another process opens it; its own */
    void *pages; /* in this process; NULL: the memory is a device's */
};

/* In the order in which they are tried (driver/exporter.h). A device uses the first one whose memory it can import. */
enum { EXPORTERS = 2 };
extern const struct exporter *const exporters[EXPORTERS];

cls_share_kind shareable_kind(const struct exporter *exporter);

/* New memory, with undefined contents. */
cls_status shareable_make(const struct exporter *exporter, const struct device *device,
                          size_t bytes, struct shareable **out);
/* Memory of the same exporter that another process has exported. The descriptor stays the caller's.
 * CLS_ERROR_INVALID_VALUE for a descriptor of something else, CLS_ERROR_SIZE_MISMATCH for another size. */
cls_status shareable_open(const struct exporter *exporter, int fd, size_t bytes,
                          struct shareable **out);
cls_status shareable_check_size(uint64_t has, size_t bytes);
void shareable_drop(struct shareable *shareable);

/* Whether the descriptor names this memory. */
bool shareable_is(const struct shareable *shareable, int fd);

/* A descriptor more of the memory, the caller's to close. */
cls_status shareable_export(const struct shareable *shareable, int *fd);

/* The memory as a buffer of this context, which shareable_end_import releases. */
cls_status shareable_import(struct shareable *shareable, const struct device *device,
                            cl_context context, cl_mem *out);
void shareable_end_import(const struct device *device, cl_mem memory);

/* As memory_find, but all buffers of one memory have one root, which is no cl_mem then: for comparison only. */
void memory_identify(const struct device *device, cl_mem memory, struct memory_place *out);

#endif

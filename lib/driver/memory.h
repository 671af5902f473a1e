/* SPDX-License-Identifier: MIT */
/* Driver contexts, device memory and pinned host memory. */
#ifndef CLSTREAM_DRIVER_MEMORY_H
#define CLSTREAM_DRIVER_MEMORY_H

#include "driver/device.h"
#include "driver/event.h"

cls_status context_open(const struct device *device, cl_context *out);
/* Retains somebody else's, after checking that the device is one of its devices. */
cls_status context_adopt(cl_context context, const struct device *device);
void context_close(const struct device *device, cl_context context);

cls_status memory_create(const struct device *device, cl_context context, size_t bytes,
                         cl_mem *out);
/* A sub-buffer of `parent`, which it keeps; `offset` is a multiple of the device's base alignment. */
cls_status memory_create_part(const struct device *device, cl_mem parent, size_t offset,
                              size_t bytes, cl_mem *out);
/* Retains somebody else's buffer of the context and tells its size. */
cls_status memory_adopt(const struct device *device, cl_context context, cl_mem memory,
                        size_t *bytes);

/* Where a buffer lies: in itself, or in the one that it is a part of. */
struct memory_place {
    cl_mem root;
    size_t origin; /* in the root */
    size_t bytes;  /* its own */
};
void memory_find(const struct device *device, cl_mem memory, struct memory_place *out);

void memory_release(const struct device *device, cl_mem memory);

/* Pinned host memory: a host buffer of the driver's, mapped for good. */
struct pinned {
    cl_mem memory;
    void *mapped; /* by the driver */
    void *host;   /* `bytes` of it, aligned */
    size_t bytes;
};

/* Maps on `queue`, and waits for it. `align` is a power of two; 1: as the driver does. */
cls_status pinned_create(const struct device *device, cl_context context, cl_command_queue queue,
                         size_t bytes, size_t align, struct pinned *out);
void pinned_release(const struct device *device, cl_command_queue queue,
                    const struct pinned *pinned);

/* Shared virtual memory, on a device that has it, and a buffer on top, with which it goes. */
struct shared {
    cl_mem memory;
    void *host;
    size_t bytes;
};

/* The memory goes some time after its buffer: `ended` is called when the driver is done with one, from
 * whatever thread of it, for shared_collect to be called soon. */
cls_status shared_create(const struct device *device, cl_context context, size_t bytes, bool fine,
                         const struct hint *ended, struct shared *out);

/* Frees what the driver is done with; not in a driver's callback, nor under a lock. */
void shared_collect(void);

/* Maps the buffer for the host, and waits for it; unmaps it in the order of the queue. */
cls_status shared_map_now(const struct device *device, cl_command_queue queue,
                          const struct shared *shared);
void shared_unmap(const struct device *device, cl_command_queue queue, cl_mem memory, void *host);

#endif

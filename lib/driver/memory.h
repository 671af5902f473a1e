/* SPDX-License-Identifier: MIT */
/* Driver contexts, device memory and pinned host memory. */
#ifndef CLSTREAM_DRIVER_MEMORY_H
#define CLSTREAM_DRIVER_MEMORY_H

#include "driver/device.h"
#include "driver/event.h"

cls_status context_open(const struct device *device, cl_context *out);
/* Retains a cl_context of the user's, after checking that the device is one of its devices. */
cls_status context_adopt(cl_context context, const struct device *device);
void context_close(const struct device *device, cl_context context);

cls_status memory_create(const struct device *device, cl_context context, size_t bytes,
                         cl_mem *out);
/* Makes a sub-buffer, which retains `parent`, itself no sub-buffer; `offset` is a multiple of the device's base
 * alignment. Parts are released in any order (driver/parts.h). */
cls_status memory_create_part(const struct device *device, cl_mem parent, size_t offset,
                              size_t bytes, cl_mem *out);
/* Retains a buffer of the user's, of this context, and returns its size. */
cls_status memory_adopt(const struct device *device, cl_context context, cl_mem memory,
                        size_t *bytes);

/* The memory of a buffer: its own, or a part of a root buffer's. */
struct memory_place {
    cl_mem root;
    size_t origin; /* offset in the root */
    size_t bytes;  /* size of the buffer itself */
};
/* A buffer of which the driver does not tell is taken for whole; returns its code then. */
cl_int memory_find(const struct device *device, cl_mem memory, struct memory_place *out);

cls_status memory_retain(const struct device *device, cl_mem memory);
void memory_release(const struct device *device, cl_mem memory);

/* Pinned host memory: a driver buffer with CL_MEM_ALLOC_HOST_PTR, or over the program's memory, that stays mapped. */
struct pinned {
    cl_mem memory;
    void *mapped; /* the address that the driver mapped it at; NULL: unmapped again */
    void *host;   /* the aligned part of it, `bytes` long */
    size_t bytes;
    size_t mapped_bytes;
    bool
        adopted; /* it is the program's memory, which it has back once pinned_release has returned */
};

/* Maps on `queue`, and waits for the mapping. `align` is a power of two; 1: the driver's own alignment. */
cls_status pinned_create(const struct device *device, cl_context context, cl_command_queue queue,
                         size_t bytes, size_t align, struct pinned *out);
/* The same of memory that the program has at `host`. CLS_ERROR_UNSUPPORTED where the driver maps it elsewhere. */
cls_status pinned_adopt(const struct device *device, cl_context context, cl_command_queue queue,
                        void *host, size_t bytes, struct pinned *out);
void pinned_release(const struct device *device, cl_command_queue queue,
                    const struct pinned *pinned);

/* Shared virtual memory, on a device that has it, with a buffer on top that owns it; or another buffer that the host uses
 * while it is mapped, always as a whole: a driver that maps a part may have another address for it. */
struct shared {
    cl_mem memory;
    void *host;
    size_t bytes;
};

/* The memory is freed some time after its buffer is released: when the driver is done with the buffer it calls `ended`
 * on one of its threads, and the library calls shared_collect soon after. */
cls_status shared_create(const struct device *device, cl_context context, size_t bytes, bool fine,
                         const struct hint *ended, struct shared *out);

/* Frees the memory whose buffers the driver is done with. Not to be called in a driver's callback or under a lock. */
void shared_collect(void);

/* shared_map_now: maps the buffer for the host and waits for the mapping. shared_unmap: enqueues the unmapping. */
cls_status shared_map_now(const struct device *device, cl_command_queue queue,
                          const struct shared *shared);
void shared_unmap(const struct device *device, cl_command_queue queue, const struct shared *shared);

#endif

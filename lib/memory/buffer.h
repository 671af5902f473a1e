/* SPDX-License-Identifier: MIT */
/* struct buffer, the object behind a cls_buffer: one cl_mem with its context, size and owner. */
#ifndef CLSTREAM_MEMORY_BUFFER_H
#define CLSTREAM_MEMORY_BUFFER_H

#include <clstream/buffer.h>
#include <clstream/kernel.h>

#include "base/byte_span.h"
#include "base/handle.h"
#include "base/rare.h"
#include "driver/device.h"
#include "driver/memory.h"
#include "memory/svm_owner.h"

struct context;
struct block;
struct fence;
struct share;

/* Either a buffer with memory of its own, or a slot of a memory pool. A slot is reused by many allocations; the members
 * from `block` on belong to the pool. */
struct buffer {
    struct object object;
    struct context *context; /* retained */
    cl_mem memory;
    size_t bytes;                /* as requested */
    struct svm_owner *svm_owner; /* of coarse-grained unified memory; NULL for all other buffers */
    void *host;          /* host address of unified or pinned memory; NULL: of other memory */
    const char *owner;   /* the kind of library object that owns it; NULL: the user does */
    struct share *share; /* retained: the memory of a shareable buffer; NULL: of all others */
    size_t origin;       /* of a shareable buffer in that memory; 0: of all others */
    struct buffer
        *slot; /* retained: the pool's, that an opened buffer is of; NULL: of all others */

    size_t counted;       /* bytes of device memory that the context counts for it */
    bool is_graphs;       /* they are counted as memory of graphs too */
    cls_buffer_kind kind; /* constant once the user has the handle */
    /* Handle of the capture that it was allocated in; NULL: none. Constant */
    const void *capture;
    _Atomic bool is_exposed; /* its cl_mem was asked for: captures do not see who uses it since */
    /* Only nodes of graphs refer to it, and those have memory for it: `memory` is a placeholder (graph/memory.h). */
    bool is_private;
    _Atomic unsigned
        n_maps; /* maps of it (memory/buffer_map.h), those of an earlier life of the slot included */
    struct buffer_pointer {
        uintptr_t start; /* its pointer, that of an earlier life of the slot included; 0: none */
        bool is_address; /* kernels see the memory there */
        size_t reserved; /* bytes of the range that was reserved for it; 0: none */
    } pointer;           /* under the lock of memory/pointers.c */

    /* At which kernels see its memory; 0: not asked yet. Of a slot it outlasts the allocation */
    _Atomic uint64_t address;

    struct block *block; /* NULL: not a slot of a pool */
    size_t capacity;     /* bytes of the slot */
    unsigned size_class;
    _Atomic uint64_t home;    /* id of the stream that the slot is allocated for; 0: free */
    _Atomic unsigned opened;  /* buffers whose `slot` this is */
    _Atomic bool is_librarys; /* allocated by the library itself: the user's calls do not free it */
    _Atomic bool
        use_abandoned; /* abandoned work may hold a reference; no later work is ordered behind it */
    /* Used while the slot is free; guarded by the lock of the list that it is in. */
    struct buffer *newer, *older;
    uint64_t freed_at;   /* position of the stream that freed it */
    struct fence *fence; /* further waits of the free; mostly NULL */
};

extern struct object_pool buffer_pool;
extern struct object_pool image_pool; /* of buffers that images begin with (memory/image.h) */

/* Whether an object is a buffer, as the beginning of an image is. */
static inline bool object_is_buffer(const struct object *object) {
    return object->pool == &buffer_pool || object->pool == &image_pool;
}

/* Whether an argument is memory, named by `u.buffer`, which is `u.image` too. */
static inline bool arg_is_memory(cls_arg_kind kind) {
    return kind == CLS_ARG_BUFFER || kind == CLS_ARG_BUFFER_PART || kind == CLS_ARG_IMAGE;
}

/* The same, or the address of memory. */
static inline bool arg_names_memory(cls_arg_kind kind) {
    return arg_is_memory(kind) || kind == CLS_ARG_ADDRESS;
}

/* Releases the memory of a buffer, or of an image with memory of its own, that nobody refers to any more. */
void buffer_end(struct buffer *buffer);

/* Checks a handle, its context included, and takes a reference. */
cls_status buffer_find(cls_buffer handle, struct buffer **out);
/* The same for use by a command: CLS_ERROR_INVALID_STATE while the host owns the unified memory (svm_owner). */
cls_status buffer_get(cls_buffer handle, struct buffer **out);
/* Reports CLS_ERROR_INVALID_STATE: the host owns the memory. */
cls_status buffer_is_the_hosts(void) COLD;
/* The ownership check of buffer_get, for a buffer that the caller has already. */
static inline cls_status buffer_check(const struct buffer *buffer) {
    const struct svm_owner *svm_owner = buffer->svm_owner;
    return RARELY(svm_owner) && atomic_load_explicit(&svm_owner->is_hosts, memory_order_relaxed)
               ? buffer_is_the_hosts()
               : CLS_SUCCESS;
}
/* Whether two buffers, of any contexts, are of one memory, in which each begins at its `origin`. */
static inline bool buffer_is_same_memory(const struct buffer *a, const struct buffer *b) {
    return a->share ? a->share == b->share : a->memory == b->memory;
}

/* Whether bytes of one buffer are bytes of another. Either span may be empty. */
static inline bool buffer_spans_overlap(const struct buffer *a, struct byte_span of_a,
                                        const struct buffer *b, struct byte_span of_b) {
    if (!byte_span_bytes(&of_a) || !byte_span_bytes(&of_b) || !buffer_is_same_memory(a, b))
        return false;
    of_a.start += a->origin;
    of_b.start += b->origin;
    return byte_spans_overlap(&of_a, &of_b);
}

static inline void buffer_put(struct buffer *buffer) { object_release(&buffer->object); }

/* Takes over `memory` on success. */
cls_status buffer_new(struct context *context, cl_mem memory, size_t bytes, struct buffer **out);
/* The same for a part of memory that is counted as a whole. */
cls_status buffer_new_uncounted(struct context *context, cl_mem memory, size_t bytes,
                                struct buffer **out);
cls_status buffer_allocate(struct context *context, size_t bytes, struct buffer **out);

/* The same as cls_buffer_create and cls_buffer_destroy for a buffer that belongs to another object; `owner` names that
 * object's kind for messages. cls_buffer_destroy refuses such a buffer. */
cls_status buffer_create_owned(cls_context context, size_t bytes, const char *owner,
                               cls_buffer *out);
void buffer_destroy_owned(cls_buffer handle);

/* Frees unified memory, its buffer included. */
void managed_free(struct buffer *buffer);
bool managed_coarse_is_forced(void);

/* cls_host_alloc for memory that belongs to an object of the library's. */
cls_status host_alloc_owned(cls_context context, size_t bytes, void **out);

/* Calls `visit` for the blocks of cls_host_alloc, by address. */
struct pinned;
void host_visit(void (*visit)(const struct pinned *pinned, const struct object_life *life));

/* Whether the memory begins in a block of cls_host_alloc that is a buffer too (cls_host_buffer). */
bool host_is_buffer(const void *memory);

/* Whether [memory, memory + bytes) lies within one block of cls_host_alloc. */
bool host_is_pinned(const void *memory, size_t bytes);

/* The block of cls_host_alloc or cls_host_register that has the byte. */
struct host_block {
    cls_context context;
    void *start;
    size_t bytes;
};
bool host_find_block(const void *memory, struct host_block *out);

/* For the race checker: the place of host memory in the buffer of cls_host_buffer; false: it is in none. */
bool host_find_place(const void *memory, struct memory_place *out, size_t *offset);

/* The buffer of a block of pinned memory, which begins `origin` bytes behind the driver's buffer; the block's mapping may
 * pass to it. */
cls_status host_buffer_new(struct context *context, struct pinned *pinned, size_t origin,
                           struct buffer **out);

/* CLS_ERROR_OUT_OF_DEVICE_MEMORY for more than the device allows in one buffer. */
cls_status buffer_check_most(const struct device *device, size_t bytes);

/* Checks the arguments of a call that gives memory, and reports what is wrong with them. */
cls_status buffer_check_create(size_t bytes, const void *out, const char *call);

/* If the object is a buffer, marks it as held by an abandoned command (stream/abandoned.h). */
void buffer_abandon(struct object *object);

#endif

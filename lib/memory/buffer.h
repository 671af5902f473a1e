/* SPDX-License-Identifier: MIT */
/* Buffers inside. */
#ifndef CLSTREAM_MEMORY_BUFFER_H
#define CLSTREAM_MEMORY_BUFFER_H

#include <clstream/buffer.h>

#include "base/handle.h"
#include "base/rare.h"
#include "driver/device.h"
#include "memory/svm_owner.h"

struct context;
struct block;
struct fence;

/* A buffer of its own, or a slot of a memory pool: then it has many lives, one an allocation, and the
 * members behind `block` are the pool's. */
struct buffer {
    struct object object;
    struct context *context; /* retained */
    cl_mem memory;
    size_t bytes;                /* as asked for */
    struct svm_owner *svm_owner; /* it is the host's and the device's by turns; NULL: it is not */
    void *host;                  /* unified memory's; NULL: the buffer is none */
    const char *owner;           /* an object that it belongs to, by what it is; NULL: the user's */

    struct block *block; /* NULL: a buffer of its own */
    size_t capacity;     /* bytes of the slot */
    unsigned size_class;
    _Atomic uint64_t home;    /* id of the stream that it is allocated for; 0: free */
    _Atomic bool is_librarys; /* and for the library itself: no call of the user's frees it */
    _Atomic bool
        use_abandoned; /* a reference may be abandoned work's, and nothing is ordered behind that */
    /* while it is free, and guarded by the lock of the list that it is in */
    struct buffer *newer, *older;
    uint64_t freed_at;   /* position of the stream that freed it */
    struct fence *fence; /* what the free waits for besides; NULL mostly */
};

extern struct object_pool buffer_pool;

/* Checks a handle, its context included, and takes a reference. */
cls_status buffer_find(cls_buffer handle, struct buffer **out);
/* The same for a command: CLS_ERROR_INVALID_STATE while it is the host's turn to use it. */
cls_status buffer_get(cls_buffer handle, struct buffer **out);
/* Reports that. */
cls_status buffer_is_the_hosts(void) COLD;
/* The same without a look-up: whether it is the device's turn. */
static inline cls_status buffer_check(const struct buffer *buffer) {
    const struct svm_owner *svm_owner = buffer->svm_owner;
    return RARELY(svm_owner) && atomic_load_explicit(&svm_owner->is_hosts, memory_order_relaxed)
               ? buffer_is_the_hosts()
               : CLS_SUCCESS;
}
static inline void buffer_put(struct buffer *buffer) { object_release(&buffer->object); }

/* Takes over `memory` on success. */
cls_status buffer_new(struct context *context, cl_mem memory, size_t bytes, struct buffer **out);
cls_status buffer_allocate(struct context *context, size_t bytes, struct buffer **out);

/* The same as cls_buffer_create and cls_buffer_destroy for a buffer that belongs to an object, of which `owner` says
 * in words what it is: who is handed it cannot destroy it. */
cls_status buffer_create_owned(cls_context context, size_t bytes, const char *owner,
                               cls_buffer *out);
void buffer_destroy_owned(cls_buffer handle);

/* Frees unified memory, its buffer included. */
void managed_free(struct buffer *buffer);

/* Whether [memory, memory + bytes) lies within one block of cls_host_alloc. */
bool host_is_pinned(const void *memory, size_t bytes);

/* Checks the arguments of a call that makes a buffer. Reports. */
cls_status buffer_check_create(size_t bytes, const void *out, const char *call);

/* Marks what a command holds, if it is a buffer, as in use for ever (stream/abandoned.h). */
void buffer_abandon(struct object *object);

#endif

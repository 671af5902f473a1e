/* SPDX-License-Identifier: MIT */
/* Contexts inside: one device and what is shared by its streams. */
#ifndef CLSTREAM_STREAM_CONTEXT_H
#define CLSTREAM_STREAM_CONTEXT_H

#include <pthread.h>

#include <clstream/context.h>
#include <clstream/stream.h>

#include "base/handle.h"
#include "base/rare.h"
#include "driver/blas.h"
#include "driver/caps.h"
#include "driver/device.h"
#include "driver/driver_image.h"
#include "driver/queue.h"

struct stream;
struct program_cache;
struct op_kernels;
struct named_kernel;
struct pinned_pool;
struct mempool;
struct legacy;

/* A driver queue and the number of streams on it. */
struct queue {
    cl_command_queue cl;
    struct queue_traits traits;
    unsigned users;
    unsigned number; /* from 1, of all queues of the process */
    bool adopted;    /* somebody else's: never shared */
    bool apart;      /* no stream's, ever: who waits for what is on it waits for no stream's work */
    bool dead;       /* a failure killed it, or it was stranded: never handed out again */
    struct queue *next;
};

enum { PRIORITIES = 3 };

/* What each call looks at comes first, in one cache line. */
struct context {
    struct object object;
    struct device *device;
    const struct caps *caps;
    _Atomic(const char *)
        lost_by;         /* the command whose failure lost the driver's context; NULL: well */
    _Atomic bool closed; /* destroyed by the user; streams and buffers may still hold it */
    cl_context cl;
    _Atomic unsigned holding[PRIORITIES]; /* streams with commands in their FIFO, by priority */
    _Atomic uint64_t memory_alive; /* bytes of buffers and of pools' blocks, for whoever observes */
    _Atomic uint64_t graph_memory,
        graph_memory_high; /* bytes of them that graphs have, and the most */
    _Atomic bool
        hurt; /* a command failed in the driver: what it is still at work on is not known */
    _Atomic bool gave_up; /* work of some stream that could not be flushed */
    struct program_cache *programs;
    struct blas_user blas;
    _Atomic(struct mempool *) mempool; /* the current one, retained; set under the lock; NULL: the
                                          default one, when it is needed */

    pthread_mutex_t lock;          /* guards what follows; a leaf */
    struct stream *default_stream; /* owned; NULL once the context is destroyed */
    struct queue *queues;
    struct op_kernels *op_kernels;      /* command/op_kernel.c */
    struct named_kernel *named_kernels; /* command/named_kernels.c */
    struct pinned_pool *pinned_pool;    /* memory/pinned_pool.c; NULL until needed */
    struct mempool *default_mempool;    /* memory/mempool.c; owned; NULL until needed */
    struct queue *host_queue;           /* maps pinned memory; NULL until needed */
    struct queue *spare_queue;          /* for the next context_lend_queue; NULL: none */
    bool has_shareable_pool; /* of the default pool. Constant once the user has the context */
    _Atomic(cl_sampler) samplers[SAMPLERS]; /* memory/image.c; owned; NULL until needed */
    _Atomic int images;    /* whether the driver's are right, by trial (memory/image.c) */
    _Atomic int addresses; /* whether they are the host's, by trial (memory/pointer_place.c) */
    struct legacy *legacy; /* the legacy order: stream/legacy.c; NULL: not asked for. Constant */
};

extern struct object_pool context_pool;

/* Device memory came, or went. */
static inline void context_count_memory(struct context *context, int64_t bytes) {
    atomic_fetch_add_explicit(&context->memory_alive, (uint64_t)bytes, memory_order_relaxed);
}

/* Memory of graphs came. */
static inline void context_count_graph_memory(struct context *context, size_t bytes) {
    const uint64_t used = atomic_fetch_add(&context->graph_memory, bytes) + bytes;
    uint64_t high = atomic_load(&context->graph_memory_high);
    while (high < used && !atomic_compare_exchange_weak(&context->graph_memory_high, &high, used))
        continue;
}

/* The nearest of the three priorities. */
static inline int priority_clamp(int priority) {
    if (priority < CLS_PRIORITY_HIGH)
        return CLS_PRIORITY_HIGH;
    return priority > CLS_PRIORITY_LOW ? CLS_PRIORITY_LOW : priority;
}

/* How many streams of a priority hold commands. */
static inline _Atomic unsigned *context_holding(struct context *context, int priority) {
    return &context->holding[priority - CLS_PRIORITY_HIGH];
}

/* Looks up a handle; NULL is the default context. Takes a reference. Reports. */
cls_status context_get(cls_context handle, struct context **out);
static inline void context_put(struct context *context) { object_release(&context->object); }

cls_status context_gone(const struct context *context) COLD;

/* CLS_ERROR_CONTEXT_DESTROYED or CLS_ERROR_CONTEXT_LOST, reported, when the context is. */
static inline cls_status context_check(const struct context *context) {
    return atomic_load_explicit(&context->closed, memory_order_relaxed) ||
                   atomic_load_explicit(&context->lost_by, memory_order_relaxed)
               ? context_gone(context)
               : CLS_SUCCESS;
}

/* The default stream, retained, or NULL once the context is destroyed. */
struct stream *context_default_stream(struct context *context);

/* A queue of these traits, made or shared: streams get queues of their own up to a bound, and share
 * from there on. */
cls_status queue_acquire(struct context *context, const struct queue_traits *traits,
                         struct queue **out);
void queue_unuse(struct context *context, struct queue *queue);

/* A queue that is new, however many there are. */
cls_status queue_create_own(struct context *context, const struct queue_traits *traits,
                            struct queue **out);

/* The same for no stream: nobody else is given it. */
cls_status queue_create_apart(struct context *context, const struct queue_traits *traits,
                              struct queue **out);

/* As queue_unuse, for a queue that a failure may have killed: it is never handed out again. */
void queue_bury(struct context *context, struct queue *queue);

/* Adds a user, to be taken away by queue_bury, to a queue that holds work which was given up. */
void queue_strand(struct context *context, struct queue *queue);

/* The queue that maps pinned memory; made on first need. Borrowed. */
cls_status context_host_queue(struct context *context, cl_command_queue *out);

/* Lends an in-order queue that no stream uses; `hurt`: a command on it failed. */
cls_status context_lend_queue(struct context *context, struct queue **out);
void context_take_back_queue(struct context *context, struct queue *queue, bool hurt);

/* Makes an entry, with one user, for somebody else's queue, which is retained. */
cls_status queue_adopt(struct context *context, cl_command_queue cl, struct queue **out);

/* Releases all; nobody uses any. */
void queues_free(struct context *context);

/* cls_context_create and cls_context_default, of checked arguments. */
cls_status context_create(const cls_context_config *config, cls_context *out);
cls_status context_default(cls_context *out);
bool context_is_default(cls_context handle);

/* Makes a context on a cl_context, which it takes over, also where it fails. */
cls_status context_new(struct device *device, cl_context cl, bool has_legacy_order,
                       cls_context *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Owner (host or device) of coarse-grained unified memory. A prefetch transfers ownership; prefetches of one buffer run
 * in the order of their submission, whatever their streams. A prefetch is pending until the driver has it or it is
 * dropped. The newest pending prefetch says who the owner is; without one, the last that the driver was given.
 */
#ifndef CLSTREAM_MEMORY_SVM_OWNER_H
#define CLSTREAM_MEMORY_SVM_OWNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <clstream/status.h>

#include "driver/memory.h"

struct stream;

/* One pending prefetch. */
struct pending_prefetch {
    struct svm_owner *owner;
    bool to_host;
    struct pending_prefetch *prev, *next;
};

struct svm_owner {
    struct shared mapping; /* what is mapped for the host, and where: always all of it. Constant */

    pthread_mutex_t order; /* held while a prefetch is submitted; guards the next two */
    struct stream *stream; /* of the newest prefetch, retained; NULL: there was none */
    uint64_t position;     /* of the newest prefetch */

    pthread_mutex_t lock;             /* a leaf: prefetches end under their stream's lock */
    struct pending_prefetch *pending; /* oldest first */
    _Atomic bool is_hosts;
    _Atomic bool is_mapped; /* for the host, by the last command that the driver was given */
};

/* A new owner record: the host owns the memory, and it is mapped. */
cls_status svm_owner_new(const struct shared *mapping, struct svm_owner **out);
void svm_owner_free(struct svm_owner *owner); /* NULL: does nothing */

/* Begins a transfer of ownership: orders the stream's next command, a prefetch, behind the newest one. On success the
 * caller holds `order` until svm_owner_submitted, which notes the position of the prefetch if `status` says that it was
 * submitted, and returns `status`. */
cls_status svm_owner_pass(struct svm_owner *owner, struct stream *stream, bool to_host,
                          struct pending_prefetch **out);
cls_status svm_owner_submitted(struct svm_owner *owner, struct stream *stream, uint64_t position,
                               cls_status status);

/* Called when the driver has the prefetch, or never will: takes it off the list and frees it. */
void pending_prefetch_end(struct pending_prefetch *prefetch);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Whose coarse unified memory is: the host's and the device's by turns. A prefetch passes it on, behind the prefetch
 * before it whatever their streams are, and is pending until the driver has it or it is dropped. The memory is whose
 * the newest pending one says; where none is, whose the driver was told.
 */
#ifndef CLSTREAM_MEMORY_SVM_OWNER_H
#define CLSTREAM_MEMORY_SVM_OWNER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <clstream/status.h>

struct stream;

/* One pending prefetch. */
struct pending_prefetch {
    struct svm_owner *owner;
    bool to_host;
    struct pending_prefetch *prev, *next;
};

struct svm_owner {
    pthread_mutex_t order; /* held while a prefetch is submitted; guards where the newest one is */
    struct stream *stream; /* retained; NULL: there was none */
    uint64_t position;

    pthread_mutex_t lock;             /* a leaf: prefetches are over under their stream's lock */
    struct pending_prefetch *pending; /* oldest first */
    _Atomic bool is_hosts;
    _Atomic bool is_mapped; /* for the host: as of what the driver was given */
};

/* It is the host's, and mapped. */
cls_status svm_owner_new(struct svm_owner **out);
void svm_owner_free(struct svm_owner *owner); /* or NULL */

/* Has the stream's next command, a prefetch, come behind the newest one. On success the caller holds the order until
 * svm_owner_submitted, which says where the prefetch is where it was submitted. */
cls_status svm_owner_pass(struct svm_owner *owner, struct stream *stream, bool to_host,
                          struct pending_prefetch **out);
cls_status svm_owner_submitted(struct svm_owner *owner, struct stream *stream, uint64_t position,
                               cls_status status);

/* The driver has it, or never will; it is freed. */
void pending_prefetch_end(struct pending_prefetch *prefetch);

#endif

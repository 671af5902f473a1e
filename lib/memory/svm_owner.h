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
struct passing {
    struct custody *custody;
    bool to_host;
    struct passing *prev, *next;
};

struct custody {
    pthread_mutex_t order; /* held while a prefetch is submitted; guards where the newest one is */
    struct stream *stream; /* retained; NULL: there was none */
    uint64_t position;

    pthread_mutex_t lock;    /* a leaf: prefetches are over under their stream's lock */
    struct passing *pending; /* oldest first */
    _Atomic bool is_hosts;
    _Atomic bool is_mapped; /* for the host: as of what the driver was given */
};

/* It is the host's, and mapped. */
cls_status custody_new(struct custody **out);
void custody_free(struct custody *custody); /* or NULL */

/* Has the stream's next command, a prefetch, come behind the newest one. On success the caller holds the order until
 * custody_submitted, which says where the prefetch is where it was submitted. */
cls_status custody_pass(struct custody *custody, struct stream *stream, bool to_host,
                        struct passing **out);
cls_status custody_submitted(struct custody *custody, struct stream *stream, uint64_t position,
                             cls_status status);

/* The driver has it, or never will; it is freed. */
void passing_over(struct passing *passing);

#endif

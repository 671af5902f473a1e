/* SPDX-License-Identifier: MIT */
#include "memory/svm_owner.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <utlist.h>

#include "base/error.h"
#include "check/blocking.h"
#include "stream/stream.h"

static bool make_locks(struct custody *custody) {
    if (pthread_mutex_init(&custody->order, NULL))
        return false;
    const bool made = !pthread_mutex_init(&custody->lock, NULL);
    if (!made)
        pthread_mutex_destroy(&custody->order);
    return made;
}

cls_status custody_new(struct custody **out) {
    struct custody *custody = calloc(1, sizeof *custody);
    if (!custody || !make_locks(custody)) {
        free(custody);
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for whose unified memory is");
    }
    atomic_store(&custody->is_hosts, true);
    atomic_store(&custody->is_mapped, true);
    *out = custody;
    return CLS_SUCCESS;
}

void custody_free(struct custody *custody) {
    if (!custody)
        return;
    if (custody->stream)
        stream_put(custody->stream);
    pthread_mutex_destroy(&custody->lock);
    pthread_mutex_destroy(&custody->order);
    free(custody);
}

/* Under the lock. */
static void settle(struct custody *custody) {
    const bool is_hosts =
        custody->pending ? custody->pending->prev->to_host : atomic_load(&custody->is_mapped);
    atomic_store(&custody->is_hosts, is_hosts);
}

static cls_status append(struct custody *custody, bool to_host, struct passing **out) {
    struct passing *passing = malloc(sizeof *passing);
    if (!passing)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a prefetch");
    *passing = (struct passing){.custody = custody, .to_host = to_host};
    pthread_mutex_lock(&custody->lock);
    DL_APPEND(custody->pending, passing);
    settle(custody);
    pthread_mutex_unlock(&custody->lock);
    *out = passing;
    return CLS_SUCCESS;
}

cls_status custody_pass(struct custody *custody, struct stream *stream, bool to_host,
                        struct passing **out) {
    blocking_lock(&custody->order);
    cls_status status = custody->stream
                            ? stream_come_after(stream, custody->stream, custody->position)
                            : CLS_SUCCESS;
    if (!status)
        status = append(custody, to_host, out);
    return status ? blocking_unlock(&custody->order, status) : CLS_SUCCESS;
}

cls_status custody_submitted(struct custody *custody, struct stream *stream, uint64_t position,
                             cls_status status) {
    struct stream *before = NULL;
    if (!status) {
        object_retain(&stream->object);
        before = custody->stream;
        custody->stream = stream;
        custody->position = position;
    }
    status = blocking_unlock(&custody->order, status);
    if (before)
        stream_put(before);
    return status;
}

void passing_over(struct passing *passing) {
    struct custody *custody = passing->custody;
    pthread_mutex_lock(&custody->lock);
    DL_DELETE(custody->pending, passing);
    settle(custody);
    pthread_mutex_unlock(&custody->lock);
    free(passing);
}

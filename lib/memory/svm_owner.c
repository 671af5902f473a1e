/* SPDX-License-Identifier: MIT */
#include "memory/svm_owner.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <utlist.h>

#include "base/error.h"
#include "stream/blocking.h"
#include "stream/follow.h"

static bool make_locks(struct svm_owner *owner) {
    if (pthread_mutex_init(&owner->order, NULL))
        return false;
    const bool made = !pthread_mutex_init(&owner->lock, NULL);
    if (!made)
        pthread_mutex_destroy(&owner->order);
    return made;
}

cls_status svm_owner_new(const struct shared *mapping, struct svm_owner **out) {
    struct svm_owner *owner = calloc(1, sizeof *owner);
    if (!owner || !make_locks(owner)) {
        free(owner);
        return error_no_memory("for whose unified memory is");
    }
    owner->mapping = *mapping;
    atomic_store(&owner->is_hosts, true);
    atomic_store(&owner->is_mapped, true);
    *out = owner;
    return CLS_SUCCESS;
}

void svm_owner_free(struct svm_owner *owner) {
    if (!owner)
        return;
    if (owner->stream)
        stream_put(owner->stream);
    pthread_mutex_destroy(&owner->lock);
    pthread_mutex_destroy(&owner->order);
    free(owner);
}

/* Under the lock: sets is_hosts from the newest pending prefetch, or from what the driver was given. */
static void update_owner(struct svm_owner *owner) {
    const bool is_hosts =
        owner->pending ? owner->pending->prev->to_host : atomic_load(&owner->is_mapped);
    atomic_store(&owner->is_hosts, is_hosts);
}

static cls_status append(struct svm_owner *owner, bool to_host, struct pending_prefetch **out) {
    struct pending_prefetch *prefetch = malloc(sizeof *prefetch);
    if (!prefetch)
        return error_no_memory("for a prefetch");
    *prefetch = (struct pending_prefetch){.owner = owner, .to_host = to_host};
    pthread_mutex_lock(&owner->lock);
    DL_APPEND(owner->pending, prefetch);
    update_owner(owner);
    pthread_mutex_unlock(&owner->lock);
    *out = prefetch;
    return CLS_SUCCESS;
}

cls_status svm_owner_pass(struct svm_owner *owner, struct stream *stream, bool to_host,
                          struct pending_prefetch **out) {
    blocking_lock(&owner->order);
    cls_status status =
        owner->stream ? stream_come_after(stream, owner->stream, owner->position) : CLS_SUCCESS;
    if (!status)
        status = append(owner, to_host, out);
    return status ? blocking_unlock(&owner->order, status) : CLS_SUCCESS;
}

cls_status svm_owner_submitted(struct svm_owner *owner, struct stream *stream, uint64_t position,
                               cls_status status) {
    struct stream *before = NULL;
    if (!status) {
        object_retain(&stream->object);
        before = owner->stream;
        owner->stream = stream;
        owner->position = position;
    }
    status = blocking_unlock(&owner->order, status);
    if (before)
        stream_put(before);
    return status;
}

void pending_prefetch_end(struct pending_prefetch *prefetch) {
    struct svm_owner *owner = prefetch->owner;
    pthread_mutex_lock(&owner->lock);
    DL_DELETE(owner->pending, prefetch);
    update_owner(owner);
    pthread_mutex_unlock(&owner->lock);
    free(prefetch);
}

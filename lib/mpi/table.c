/* SPDX-License-Identifier: MIT */
#include "mpi/table.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/comm.h"

enum { SLOTS = 256, TAG_BITS = 4 };

/* A handle is a slot, the number of its use, and the kind in the lowest bits. */
static struct table_slot {
    struct table_entry *entry;
    enum table_kind kind;
    uintptr_t use;
} slots[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t unused = PTHREAD_COND_INITIALIZER;

static void *handle_of(const struct table_slot *slot) {
    const uintptr_t index = (uintptr_t)(slot - slots);
    const uintptr_t value = ((slot->use * SLOTS + index) << TAG_BITS) | (uintptr_t)slot->kind;
    return (void *)value; /* NOLINT: never dereferenced */
}

/* Under the lock. */
static struct table_slot *slot_of(enum table_kind kind, const void *handle) {
    for (struct table_slot *slot = slots; slot < slots + SLOTS; slot++)
        if (slot->entry && slot->kind == kind && handle_of(slot) == handle)
            return slot;
    return NULL;
}

static const char *kind_name(enum table_kind kind) {
    return kind == KIND_COMM ? "communicator" : "set of buckets";
}

cls_status table_add(enum table_kind kind, struct table_entry *entry, void **handle) {
    struct table_slot *slot = slots;
    pthread_mutex_lock(&lock);
    while (slot < slots + SLOTS && slot->entry)
        slot++;
    const bool found = slot < slots + SLOTS;
    if (found) {
        *slot = (struct table_slot){entry, kind, slot->use + 1};
        *handle = handle_of(slot);
    }
    pthread_mutex_unlock(&lock);
    return found ? CLS_SUCCESS
                 : report(CLS_ERROR_LIMIT, "there are %d communicators and sets of buckets", SLOTS);
}

cls_status table_get(enum table_kind kind, const void *handle, struct table_entry **entry) {
    pthread_mutex_lock(&lock);
    const struct table_slot *slot = slot_of(kind, handle);
    if (slot) {
        *entry = slot->entry;
        (*entry)->users++;
    }
    pthread_mutex_unlock(&lock);
    return slot ? CLS_SUCCESS
                : report(CLS_ERROR_INVALID_HANDLE, "%p is no %s", handle, kind_name(kind));
}

void table_put(struct table_entry *entry) {
    pthread_mutex_lock(&lock);
    if (!--entry->users)
        pthread_cond_broadcast(&unused);
    pthread_mutex_unlock(&lock);
}

struct table_entry *table_remove(enum table_kind kind, const void *handle) {
    pthread_mutex_lock(&lock);
    struct table_slot *slot = slot_of(kind, handle);
    struct table_entry *entry = slot ? slot->entry : NULL;
    if (slot)
        slot->entry = NULL;
    while (entry && entry->users)
        pthread_cond_wait(&unused, &lock);
    pthread_mutex_unlock(&lock);
    return entry;
}

void table_each(enum table_kind kind, void (*visit)(struct table_entry *entry)) {
    for (struct table_slot *slot = slots; slot < slots + SLOTS; slot++) {
        pthread_mutex_lock(&lock);
        struct table_entry *entry = slot->kind == kind ? slot->entry : NULL;
        if (entry)
            entry->users++;
        pthread_mutex_unlock(&lock);
        if (entry) {
            visit(entry);
            table_put(entry);
        }
    }
}

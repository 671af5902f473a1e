/* SPDX-License-Identifier: MIT */
#include "memory/pointers.h"

#include "base/address_map.h"
#include "base/error.h"
#include "base/reserve.h"
#include "memory/pointer_place.h"
#include "stream/context.h"

/* A leaf: held while memory of a buffer ends, under any other lock. Guards writing to the map, the buffers' `pointer`
 * and the reserved ranges. */
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;
static struct address_map map;

static _Thread_local struct address_cache cache;

/* --- naming --- */

/* The slot of a pool has one pointer for all its lives. */
static size_t bytes_to_name(const struct buffer *buffer) {
    return buffer->block ? buffer->capacity : buffer->bytes;
}

/* Under the lock. */
static cls_status pointer_reserve(struct buffer *buffer) {
    const size_t bytes = bytes_to_name(buffer);
    uintptr_t start;
    cls_status status = reserve_take(bytes, &start);
    if (!status)
        buffer->pointer = (struct buffer_pointer){.start = start, .reserved = bytes};
    return status;
}

static void pointer_drop(struct buffer *buffer) {
    if (buffer->pointer.reserved)
        reserve_give(buffer->pointer.start, buffer->pointer.reserved);
    buffer->pointer = (struct buffer_pointer){0};
}

static cls_status pointer_add(const struct buffer *buffer, cls_buffer handle) {
    const struct address_range range = {buffer->pointer.start, buffer->bytes, handle};
    return address_map_add(&map, &range);
}

/* Under the lock: the host's address of memory that it shares with the device, or the one that kernels see. Two handles of
 * one memory overlap, as does memory of two devices with the same addresses. */
static cls_status pointer_name_in_place(struct buffer *buffer, cls_buffer handle,
                                        const struct pointer_place *place) {
    const uintptr_t host = (uintptr_t)buffer->host;
    if (!host && !pointer_place_is_free(place, bytes_to_name(buffer)))
        return CLS_ERROR_OVERLAP;
    buffer->pointer = (struct buffer_pointer){.start = host ? host : place->address,
                                              .is_address = !host || host == place->address};
    return pointer_add(buffer, handle);
}

/* Under the lock, of a buffer that has no pointer. */
static cls_status pointer_name(struct buffer *buffer, cls_buffer handle,
                               const struct pointer_place *place) {
    cls_status status = pointer_name_in_place(buffer, handle, place);
    if (status == CLS_ERROR_OVERLAP) {
        status = pointer_reserve(buffer);
        if (status)
            return status;
        status = pointer_add(buffer, handle);
    }
    if (!status)
        return CLS_SUCCESS;
    pointer_drop(buffer);
    return error_no_memory("for a pointer");
}

/* Under the lock: whether the entry is of this life. */
static bool is_named(const struct buffer *buffer, cls_buffer handle) {
    struct address_range range;
    return address_map_find(&map, buffer->pointer.start, &range) && range.name == handle &&
           range.start == buffer->pointer.start;
}

/* Under the lock, of the slot of a pool whose entry is of an earlier life. Where this one is larger, another buffer may have
 * the bytes by now: one of the same memory. */
static cls_status pointer_rename(struct buffer *buffer, cls_buffer handle) {
    const struct address_range range = {buffer->pointer.start, buffer->bytes, handle};
    if (address_map_replace(&map, &range))
        return CLS_SUCCESS;
    address_map_remove(&map, buffer->pointer.start);
    pointer_drop(buffer);
    return pointer_name(buffer, handle, &(struct pointer_place){0, false});
}

/* The device is asked without the lock. */
cls_status pointers_name(struct buffer *buffer, cls_buffer handle, void **out) {
    struct pointer_place place = {0, false};
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&naming);
    if (!buffer->pointer.start) {
        pthread_mutex_unlock(&naming);
        status = pointer_place_find(buffer, &place);
        if (status)
            return status;
        pthread_mutex_lock(&naming);
    }
    if (!buffer->pointer.start)
        status = pointer_name(buffer, handle, &place);
    else if (!is_named(buffer, handle))
        status = pointer_rename(buffer, handle);
    if (!status)
        *out = (void *)buffer->pointer.start;
    pthread_mutex_unlock(&naming);
    return status;
}

void pointers_forget(struct buffer *buffer) {
    pthread_mutex_lock(&naming);
    address_map_remove(&map, buffer->pointer.start);
    pointer_drop(buffer);
    pthread_mutex_unlock(&naming);
}

/* --- looking up --- */

/* What a message says of the range nearest to an address, under the lock. */
static bool nearest(uintptr_t address, struct address_range *out) {
    struct address_range before, behind;
    const bool has_before = address_map_before(&map, address, &before),
               has_behind = address_map_behind(&map, address, &behind);
    if (!has_before && !has_behind)
        return false;
    const bool is_behind =
        has_behind && (!has_before || behind.start - address < address - before.start);
    *out = is_behind ? behind : before;
    return true;
}

static cls_status report_nearest(const void *pointer, const struct address_range *near) {
    const uintptr_t address = (uintptr_t)pointer;
    const void *start = (const void *)near->start;
    if (address < near->start)
        return error_set(
            CLS_ERROR_NOT_FOUND,
            "%p is in no buffer: the nearest has %zu bytes from %p, which is %zu bytes behind",
            pointer, near->bytes, start, near->start - address);
    if (address - near->start >= near->bytes)
        return error_set(CLS_ERROR_NOT_FOUND,
                         "%p is in no buffer: the nearest has %zu bytes from %p, whose end is %zu "
                         "bytes before",
                         pointer, near->bytes, start, address - near->start - near->bytes);
    return error_set(CLS_ERROR_NOT_FOUND,
                     "%p is in a buffer that was freed: %zu bytes behind the start of its %zu",
                     pointer, address - near->start, near->bytes);
}

cls_status pointer_is_unknown(const void *pointer) {
    struct address_range near;
    pthread_mutex_lock(&naming);
    const bool has_nearest = nearest((uintptr_t)pointer, &near);
    pthread_mutex_unlock(&naming);
    return has_nearest
               ? report_nearest(pointer, &near)
               : error_set(CLS_ERROR_NOT_FOUND, "%p is in no buffer: none has a pointer", pointer);
}

static cls_status not_in_a_buffer(const void *pointer, struct pointed *out) {
    *out = (struct pointed){.buffer = NULL};
    return RARELY(pointer_place_is_drivers(pointer)) ? pointer_is_unknown(pointer) : CLS_SUCCESS;
}

cls_status pointer_find(const void *pointer, struct pointed *out) {
    struct address_range range;
    const uintptr_t address = (uintptr_t)pointer;
    if (!address_map_find_again(&map, &cache, address, &range))
        return not_in_a_buffer(pointer, out);
    const struct buffer *buffer = object_peek(&buffer_pool, range.name);
    if (RARELY(!buffer))
        return pointer_is_unknown(pointer);
    *out = (struct pointed){range.name, range.start, range.bytes, address - range.start,
                            buffer->svm_owner != NULL};
    return CLS_SUCCESS;
}

/* Only a pointer that is the host's own can be the host's. */
bool pointed_is_hosts(const struct pointed *at) {
    if (!at->by_turns)
        return false;
    struct buffer *buffer = object_acquire(&buffer_pool, at->buffer);
    if (!buffer)
        return false;
    const struct svm_owner *owner = buffer->svm_owner;
    const bool is = owner && atomic_load_explicit(&owner->is_hosts, memory_order_relaxed);
    buffer_put(buffer);
    return is;
}

cls_status pointer_find_buffer(const void *pointer, struct pointed *out) {
    cls_status status = pointer_find(pointer, out);
    return status || out->buffer ? status : pointer_is_unknown(pointer);
}

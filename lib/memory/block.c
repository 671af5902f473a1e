/* SPDX-License-Identifier: MIT */
/*
 * Blocks: what a pool takes from the driver. Large slots are a block each; smaller ones are carved, as
 * they are needed, from blocks that double with their class, so that a class never reserves much more
 * than it has been asked for.
 */
#include <stdlib.h>

#include <utlist.h>

#include "base/error.h"
#include "driver/memory.h"
#include "memory/mempool.h"
#include "memory/share.h"
#include "stream/context.h"

/* A shareable block costs a file descriptor, and devices round it up to 2 MiB. */
enum { FIRST_BLOCK = 256 << 10, FIRST_SHAREABLE_BLOCK = 2 << 20, LARGEST_BLOCK = 4 << 20 };

/* --- lists; under the pool's lock --- */

static void link_block(struct mempool *pool, struct block *block) {
    DL_PREPEND(pool->blocks, block);
    pool->n_blocks++;
    pool->n_slots[block->size_class] += block->n_slots;
}

static void unlink_block(struct mempool *pool, struct block *block) {
    DL_DELETE(pool->blocks, block);
    pool->n_blocks--;
    pool->n_slots[block->size_class] -= block->n_slots;
}

static void set_on_shelf(struct block *block, enum shelf which, bool on) {
    struct block **head = &block->pool->shelves[which][block->size_class];
    if (on == block->shelf[which].on)
        return;
    block->shelf[which].on = on;
    if (on)
        DL_PREPEND2(*head, block, shelf[which].prev, shelf[which].next);
    else
        DL_DELETE2(*head, block, shelf[which].prev, shelf[which].next);
}

/* Puts the block on its class's shelves, or takes it off, by what it has to give. */
static void put_on_shelves(struct block *block) {
    set_on_shelf(block, SHELF_IDLE, block->idle != NULL);
    set_on_shelf(block, SHELF_FRESH, block->n_carved < block->n_slots);
}

static uint64_t bytes_of(const struct block *block) {
    return (uint64_t)block->slot_bytes * block->n_slots;
}

/* Shareable memory is counted where it is made, with all its buffers. */
static void count_memory(const struct block *block, int64_t sign) {
    if (!block->share)
        context_count_memory(block->pool->context, sign * (int64_t)bytes_of(block));
}

static bool is_unused(const struct block *block) { return block->n_idle == block->n_carved; }

/* --- making and destroying --- */

static void destroy_block(struct block *block) {
    struct mempool *pool = block->pool;
    for (unsigned i = 0; i < block->n_carved; i++) {
        block->slots[i]->block = NULL;
        buffer_put(block->slots[i]);
    }
    if (block->memory)
        memory_release(pool->context->device, block->memory);
    if (block->share)
        share_put(block->share);
    free(block);
    mempool_put(pool);
}

/* Under the lock: takes the block and what it has reserved off the pool's books. */
static void remove_block(struct mempool *pool, struct block *block) {
    unlink_block(pool, block);
    for (unsigned i = 0; i < SHELVES; i++)
        set_on_shelf(block, i, false);
    atomic_fetch_sub(&pool->reserved, bytes_of(block));
    count_memory(block, -1);
}

static cls_status carve_memory(struct block *block, size_t origin, struct buffer **out) {
    struct context *context = block->pool->context;
    cl_mem memory = block->memory;
    cls_status status = CLS_SUCCESS;
    if (block->n_slots > 1)
        status =
            memory_create_part(context->device, block->memory, origin, block->slot_bytes, &memory);
    if (status)
        return status;
    status = buffer_new_uncounted(context, memory, 0, out);
    if (status) {
        if (block->n_slots > 1)
            memory_release(context->device, memory);
        return status;
    }
    if (block->n_slots == 1)
        block->memory = NULL; /* the slot's now */
    return CLS_SUCCESS;
}

/* Under the lock: makes the block's next slot. */
static cls_status carve(struct block *block, struct buffer **out) {
    const size_t origin = block->n_carved * block->slot_bytes;
    struct buffer *slot;
    cls_status status = block->share ? share_new_buffer(block->share, block->pool->context, origin,
                                                        block->slot_bytes, &slot)
                                     : carve_memory(block, origin, &slot);
    if (status)
        return status;
    slot->capacity = block->slot_bytes;
    slot->size_class = block->size_class;
    slot->block = block;
    slot->kind = CLS_BUFFER_POOL;
    block->slots[block->n_carved++] = slot;
    *out = slot;
    return CLS_SUCCESS;
}

/* Under the lock: something of a block that is on the shelf. */
static cls_status take_from(struct block *block, enum shelf shelf, struct buffer **out) {
    cls_status status = CLS_SUCCESS;
    if (shelf == SHELF_FRESH) {
        status = carve(block, out);
    } else {
        *out = block->idle;
        block->idle = block->idle->older;
        block->n_idle--;
    }
    put_on_shelves(block);
    return status;
}

cls_status pool_take(struct mempool *pool, unsigned size_class, enum shelf shelf,
                     struct buffer **out) {
    cls_status status = CLS_SUCCESS;
    *out = NULL;
    pthread_mutex_lock(&pool->lock);
    struct block *block = pool->shelves[shelf][size_class];
    if (block)
        status = take_from(block, shelf, out);
    pthread_mutex_unlock(&pool->lock);
    return status;
}

/* --- growing --- */

/* Slots of one block are sub-buffers of it. */
static unsigned slots_wanted(const struct mempool *pool, unsigned size_class, size_t bytes) {
    const uint64_t allowed = pool->context->device->info.max_allocation;
    const size_t large = pool->is_shareable ? FIRST_SHAREABLE_BLOCK : LARGE_SLOT;
    if (bytes >= large || !caps_trusts_parts(pool->context->caps))
        return 1;
    size_t least = (pool->is_shareable ? FIRST_SHAREABLE_BLOCK : FIRST_BLOCK) / bytes;
    size_t most = (allowed < LARGEST_BLOCK ? (size_t)allowed : LARGEST_BLOCK) / bytes;
    size_t wanted = pool->n_slots[size_class];
    wanted = wanted < least ? least : wanted;
    return (unsigned)(wanted > most ? most : wanted);
}

/* Reserves room for as many slots as are wanted and the limit allows. */
static cls_status reserve(struct mempool *pool, unsigned size_class, size_t bytes,
                          unsigned *slots) {
    size_t limit = atomic_load(&pool->max_bytes);
    pthread_mutex_lock(&pool->lock);
    uint64_t reserved = atomic_load(&pool->reserved);
    unsigned n = slots_wanted(pool, size_class, bytes);
    uint64_t room = limit > reserved ? limit - reserved : 0;
    if (limit && room / bytes < n)
        n = (unsigned)(room / bytes);
    atomic_fetch_add(&pool->reserved, (uint64_t)n * bytes);
    pool->asked += (uint64_t)n * bytes;
    pthread_mutex_unlock(&pool->lock);
    *slots = n;
    if (n)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OUT_OF_DEVICE_MEMORY,
                     "%zu more bytes would exceed the pool's max_bytes: %llu of %zu are reserved",
                     bytes, (unsigned long long)reserved, limit);
}

/* The driver has refused what was reserved. */
static void unreserve(struct mempool *pool, uint64_t bytes) {
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_sub(&pool->reserved, bytes);
    pool->asked -= bytes;
    pthread_mutex_unlock(&pool->lock);
}

static struct block *new_block(struct mempool *pool, unsigned size_class, size_t slot_bytes,
                               unsigned slots) {
    struct block *block = calloc(1, sizeof *block + slots * sizeof block->slots[0]);
    if (!block)
        return NULL;
    block->pool = pool;
    block->size_class = size_class;
    block->slot_bytes = slot_bytes;
    block->n_slots = slots;
    return block;
}

/* The last class may be larger than what the device allows. */
static size_t slot_bytes(const struct mempool *pool, unsigned size_class) {
    const size_t bytes = size_class_bytes(size_class, pool->unit_shift);
    const uint64_t most = pool->context->device->info.max_allocation;
    return bytes > most ? (size_t)most : bytes;
}

uint64_t pool_growth(struct mempool *pool, unsigned size_class) {
    const size_t bytes = slot_bytes(pool, size_class);
    pthread_mutex_lock(&pool->lock);
    const unsigned slots = slots_wanted(pool, size_class, bytes);
    pthread_mutex_unlock(&pool->lock);
    return (uint64_t)bytes * slots;
}

static cls_status take_memory(struct block *block) {
    struct context *context = block->pool->context;
    if (block->pool->is_shareable)
        return share_new(context, (size_t)bytes_of(block), &block->share);
    return memory_create(context->device, context->cl, (size_t)bytes_of(block), &block->memory);
}

static cls_status make_block(struct mempool *pool, unsigned size_class, struct block **out) {
    const size_t bytes = slot_bytes(pool, size_class);
    unsigned slots;
    cls_status status = reserve(pool, size_class, bytes, &slots);
    if (status)
        return status;
    struct block *block = new_block(pool, size_class, bytes, slots);
    if (block)
        status = take_memory(block);
    else
        status = error_no_memory("for a block of a pool");
    if (status) {
        unreserve(pool, (uint64_t)bytes * slots);
        free(block);
        return status;
    }
    count_memory(block, 1);
    object_retain(&pool->object);
    *out = block;
    return CLS_SUCCESS;
}

/* Under the lock: the driver has given what it was asked for. */
static void note_taken(struct mempool *pool, uint64_t bytes) {
    pool->asked -= bytes;
    const uint64_t taken = atomic_load(&pool->reserved) - pool->asked;
    if (taken > pool->reserved_high)
        pool->reserved_high = taken;
}

cls_status pool_grow(struct mempool *pool, unsigned size_class, struct buffer **out) {
    struct block *block;
    cls_status status = make_block(pool, size_class, &block);
    if (status)
        return status;
    pthread_mutex_lock(&pool->lock);
    link_block(pool, block);
    note_taken(pool, bytes_of(block));
    status = take_from(block, SHELF_FRESH, out);
    if (status)
        remove_block(pool, block);
    pthread_mutex_unlock(&pool->lock);
    if (status)
        destroy_block(block);
    return status;
}

/* --- giving back --- */

bool slot_reclaim(struct buffer *slot) {
    struct block *block = slot->block;
    struct mempool *pool = block->pool;
    uint64_t home = atomic_exchange(&slot->home, 0);
    if (home) /* the user destroyed the buffer instead of freeing it */
        pool_credit(pool, home, slot->capacity);
    pthread_mutex_lock(&pool->lock);
    pool->tally.frees += home != 0;
    atomic_store_explicit(&slot->use_abandoned, false, memory_order_relaxed);
    object_revive(&slot->object);
    slot->older = block->idle;
    block->idle = slot;
    block->n_idle++;
    bool unneeded = atomic_load(&pool->closed) && is_unused(block);
    if (unneeded)
        remove_block(pool, block);
    else
        put_on_shelves(block);
    pthread_mutex_unlock(&pool->lock);
    if (unneeded)
        destroy_block(block);
    return true;
}

bool pool_release_idle(struct mempool *pool, size_t keep) {
    struct block *going = NULL, *block, *next;
    pthread_mutex_lock(&pool->lock);
    LL_FOREACH_SAFE(pool->blocks, block, next) {
        if (atomic_load(&pool->reserved) <= keep)
            break;
        if (!is_unused(block))
            continue;
        remove_block(pool, block);
        LL_PREPEND(going, block);
    }
    pthread_mutex_unlock(&pool->lock);
    bool any = going != NULL;
    LL_FOREACH_SAFE(going, block, next) destroy_block(block);
    return any;
}

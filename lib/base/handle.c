/* SPDX-License-Identifier: MIT */
#include "base/handle.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/life.h"
#include "base/process.h"

/* Layout of a handle, from the lowest bit: a 1 (no aligned pointer has it), type, slot, generation. */
enum {
    TYPE_SHIFT = 1,
    TYPE_BITS = 5,
    NO_TYPE = 1 << TYPE_BITS, /* that no handle has */
    SLOT_SHIFT = TYPE_SHIFT + TYPE_BITS,
#if UINTPTR_MAX > 0xffffffffu
    SLOT_BITS = 26,
#else
    SLOT_BITS = 13,
#endif
};
_Static_assert(GENERATION_SHIFT == SLOT_SHIFT + SLOT_BITS, "the generation is above the slot");

enum { MOST_SLOTS = 1 << SLOT_BITS };
static const uintptr_t SLOT_MASK = MOST_SLOTS - 1;
static _Atomic uint32_t slots = MOST_SLOTS; /* of each type */
static const uint32_t GENERATION_MASK = (uint32_t)(UINTPTR_MAX >> GENERATION_SHIFT);

static uint32_t generation_of(uint64_t state) { return (uint32_t)(state >> 32); }
static uint32_t references_of(uint64_t state) { return (uint32_t)state; }

/* Chunk and index for a slot: chunk i covers slots [64 * (2^i - 1), 64 * (2^(i+1) - 1)). */
static inline unsigned chunk_of(uint32_t slot, uint32_t *index) {
    uint32_t block = slot / POOL_FIRST_CHUNK + 1;
    unsigned chunk = 31u - (unsigned)__builtin_clz(block);
    *index = slot - POOL_FIRST_CHUNK * ((1u << chunk) - 1);
    return chunk;
}

static inline struct object *object_at(struct object_pool *pool, uint32_t slot) {
    uint32_t index;
    unsigned chunk = chunk_of(slot, &index);
    if (chunk >= POOL_CHUNKS)
        return NULL;
    unsigned char *base = atomic_load_explicit(&pool->chunks[chunk], memory_order_acquire);
    return base ? (struct object *)(void *)(base + index * pool->stride) : NULL;
}

/* Pools with chunks, the newest first. */
static _Atomic(struct object_pool *) pools;

static void refuse_handles(void) {
    for (struct object_pool *pool = atomic_load(&pools); pool; pool = pool->next)
        pool->type = NO_TYPE;
}

static void enlist(struct object_pool *pool) {
    pool->next = atomic_load(&pools);
    while (!atomic_compare_exchange_weak(&pools, &pool->next, pool))
        continue;
    process_at_fork(refuse_handles);
}

static struct object_pool *pool_of_type(unsigned type) {
    struct object_pool *pool = atomic_load(&pools);
    while (pool && pool->type != type)
        pool = pool->next;
    return pool;
}

/* A chunk is never given back, so only its aligned start is kept. */
static void *new_chunk(const struct object_pool *pool, unsigned chunk) {
    size_t bytes = ((size_t)POOL_FIRST_CHUNK << chunk) * pool->stride;
    unsigned char *memory = calloc(1, bytes + CACHE_LINE - 1);
    return memory ? memory + (-(uintptr_t)memory & (CACHE_LINE - 1)) : NULL;
}

/* Under the pool's lock: a slot never used before, or NULL without memory or slots. */
static struct object *new_slot(struct object_pool *pool) {
    uint32_t slot = pool->used, index;
    unsigned chunk = chunk_of(slot, &index);
    if (chunk >= POOL_CHUNKS || slot >= slots)
        return NULL;
    if (!atomic_load_explicit(&pool->chunks[chunk], memory_order_relaxed)) {
        void *memory = new_chunk(pool, chunk);
        if (!memory)
            return NULL;
        atomic_store_explicit(&pool->chunks[chunk], memory, memory_order_release);
        if (!chunk)
            enlist(pool);
    }
    struct object *object = object_at(pool, slot);
    if (pool->locked && pthread_mutex_init((pthread_mutex_t *)(void *)(object + 1), NULL))
        return NULL;
    life_prepare();
    pool->used++;
    object->name =
        (uint32_t)(1 | (uintptr_t)pool->type << TYPE_SHIFT | (uintptr_t)slot << SLOT_SHIFT);
    object->pool = pool;
    return object;
}

void *object_create(struct object_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    struct object *object = pool->free_list;
    if (object)
        pool->free_list = object->next_free;
    else
        object = new_slot(pool);
    pthread_mutex_unlock(&pool->lock);
    if (!object)
        return NULL;
    uint32_t generation = generation_of(atomic_load(&object->state)) & GENERATION_MASK;
    if (generation == 0)
        generation = 1;
    const size_t kept = sizeof *object + (pool->locked ? sizeof(pthread_mutex_t) : 0);
    memset((unsigned char *)object + kept, 0, pool->object_size - kept);
    object->generation = generation;
    object->life = keeps_lives() ? life_begin() : NULL;
    atomic_store_explicit(&object->state, (uint64_t)generation << 32 | 1, memory_order_release);
    atomic_fetch_add(&pool->live, 1);
    return object;
}

cls_status object_none(struct object_pool *pool, const char *what) {
    pthread_mutex_lock(&pool->lock);
    const bool full = !pool->free_list && pool->used >= slots;
    pthread_mutex_unlock(&pool->lock);
    if (full)
        return error_set(CLS_ERROR_LIMIT, "no handle for %s: %u of them exist", what,
                         (unsigned)slots);
    return error_no_memory("for %s", what);
}

void object_limit(uint32_t handles) { slots = handles < MOST_SLOTS ? handles : MOST_SLOTS; }

void *object_handle(const struct object *object) {
    return (void *)(object->name | (uintptr_t)object->generation << GENERATION_SHIFT);
}

/* The slot's object and the handle's generation, for a value that has the shape of a handle. */
static inline struct object *decode(struct object_pool *pool, const void *handle,
                                    uint32_t *generation) {
    uintptr_t value = (uintptr_t)handle;
    if (!(value & 1) || ((value >> TYPE_SHIFT) & ((1u << TYPE_BITS) - 1)) != pool->type)
        return NULL;
    *generation = (uint32_t)(value >> GENERATION_SHIFT);
    return object_at(pool, (uint32_t)((value >> SLOT_SHIFT) & SLOT_MASK));
}

void *object_acquire(struct object_pool *pool, const void *handle) {
    uint32_t generation;
    struct object *object = decode(pool, handle, &generation);
    if (!object)
        return NULL;
    uint64_t state = atomic_load_explicit(&object->state, memory_order_relaxed);
    do {
        if (generation_of(state) != generation || references_of(state) == 0)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&object->state, &state, state + 1,
                                                    memory_order_acquire, memory_order_relaxed));
    return object;
}

void *object_peek(struct object_pool *pool, const void *handle) {
    uint32_t generation;
    struct object *object = decode(pool, handle, &generation);
    if (!object)
        return NULL;
    uint64_t state = atomic_load_explicit(&object->state, memory_order_acquire);
    return generation_of(state) == generation && references_of(state) ? object : NULL;
}

bool object_try_retain(struct object *object) {
    uint64_t state = atomic_load_explicit(&object->state, memory_order_relaxed);
    do {
        if (references_of(state) == 0)
            return false;
    } while (!atomic_compare_exchange_weak(&object->state, &state, state + 1));
    return true;
}

static uint32_t next_generation(uint32_t generation) {
    uint32_t next = (generation + 1) & GENERATION_MASK;
    return next ? next : 1;
}

/* Without a reference. A handle that nobody has ended names no later object either. */
static void recycle(struct object *object) {
    struct object_pool *pool = object->pool;
    if (generation_of(atomic_load(&object->state)) == object->generation)
        atomic_store(&object->state, (uint64_t)next_generation(object->generation) << 32);
    free(object->life);
    pthread_mutex_lock(&pool->lock);
    object->next_free = pool->free_list;
    pool->free_list = object;
    pthread_mutex_unlock(&pool->lock);
    atomic_fetch_sub(&pool->live, 1);
}

bool object_release_unless_last(struct object *object) {
    uint64_t state = atomic_load_explicit(&object->state, memory_order_relaxed);
    do {
        if (references_of(state) == 1)
            return false;
    } while (!atomic_compare_exchange_weak(&object->state, &state, state - 1));
    return true;
}

void object_release(struct object *object) {
    uint64_t before = atomic_fetch_sub_explicit(&object->state, 1, memory_order_acq_rel);
    if (references_of(before) != 1)
        return;
    struct object_pool *pool = object->pool;
    if (pool->reclaim && pool->reclaim(object))
        return;
    pool->finalize(object);
    recycle(object);
}

void object_abandon(struct object *object) {
    atomic_fetch_sub(&object->state, 1);
    recycle(object);
}

bool object_destroy(struct object_pool *pool, const void *handle) {
    uint32_t generation;
    struct object *object = decode(pool, handle, &generation);
    if (!object)
        return false;
    if (!object_end_life(object, generation))
        return false;
    object_release(object);
    return true;
}

/* --- several lives --- */

uint32_t object_generation_of(const void *handle) {
    return (uint32_t)((uintptr_t)handle >> GENERATION_SHIFT);
}

bool object_end_life(struct object *object, uint32_t generation) {
    uint32_t next = next_generation(generation);
    uint64_t state = atomic_load_explicit(&object->state, memory_order_relaxed);
    do {
        if (generation_of(state) != generation || references_of(state) == 0)
            return false;
    } while (!atomic_compare_exchange_weak(&object->state, &state,
                                           (uint64_t)next << 32 | references_of(state)));
    return true;
}

void object_begin_life(struct object *object) {
    uint32_t next = next_generation(object->generation);
    __atomic_store_n(&object->generation, next, __ATOMIC_RELEASE);
}

void object_undo_end(struct object *object) {
    uint64_t state = atomic_load_explicit(&object->state, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&object->state, &state,
                                         (uint64_t)object->generation << 32 | references_of(state)))
        continue;
}

void object_revive(struct object *object) {
    uint64_t state = atomic_load_explicit(&object->state, memory_order_acquire);
    __atomic_store_n(&object->generation, generation_of(state), __ATOMIC_RELEASE);
    atomic_store_explicit(&object->state, state | 1, memory_order_release);
}

cls_status object_invalid(const struct object_pool *pool, const void *handle) {
    uint32_t generation;
    if (process_check())
        return CLS_ERROR_FORKED;
    if (!handle)
        return error_set(CLS_ERROR_INVALID_HANDLE, "the %s handle is null", pool->name);
    if (decode((struct object_pool *)(uintptr_t)pool, handle, &generation))
        return error_set(CLS_ERROR_INVALID_HANDLE, "the %s handle %p is stale: it was destroyed",
                         pool->name, handle);
    return error_set(CLS_ERROR_INVALID_HANDLE, "%p is no %s handle", handle, pool->name);
}

/* --- lives --- */

static void note(const void *handle, bool librarys, const char *call) {
    const unsigned type = (unsigned)((uintptr_t)handle >> TYPE_SHIFT) & ((1u << TYPE_BITS) - 1);
    struct object_pool *pool = pool_of_type(type);
    struct object *object = pool ? object_acquire(pool, handle) : NULL;
    if (object && object->life) {
        object->life->librarys = librarys;
        object->life->call = call;
    }
    if (object)
        object_release(object);
}

void object_note_librarys(const void *handle) {
    if (keeps_lives())
        note(handle, true, NULL);
}

void object_note_call(const void *handle, const char *call) {
    if (keeps_lives())
        note(handle, false, call);
}

void object_note_made(struct object *object) {
    free(object->life);
    object->life = life_begin();
}

static uint64_t number_of(const struct object *object) {
    return object->life ? object->life->number : 0;
}

static int compare_numbers(const void *a, const void *b) {
    const uint64_t first = number_of(*(struct object *const *)a),
                   second = number_of(*(struct object *const *)b);
    return first < second ? -1 : first > second;
}

/* Whether its handle is not destroyed; takes a reference then. */
static bool hold_if_live(struct object *object) {
    if (!object || !object_try_retain(object))
        return false;
    if (generation_of(atomic_load(&object->state)) == object_generation(object))
        return true;
    object_release(object);
    return false;
}

bool object_visit(unsigned type, void (*visit)(const struct object *object, void *arg), void *arg) {
    struct object_pool *pool = pool_of_type(type);
    if (!pool)
        return true;
    pthread_mutex_lock(&pool->lock);
    const uint32_t used = pool->used;
    pthread_mutex_unlock(&pool->lock);
    struct object **live = calloc(used ? used : 1, sizeof *live);
    size_t n = 0;
    for (uint32_t slot = 0; live && slot < used; slot++) {
        struct object *object = object_at(pool, slot);
        if (hold_if_live(object))
            live[n++] = object;
    }
    if (n)
        qsort(live, n, sizeof *live, compare_numbers);
    for (size_t i = 0; i < n; i++) {
        visit(live[i], arg);
        object_release(live[i]);
    }
    const bool had_memory = live;
    free(live);
    return had_memory;
}

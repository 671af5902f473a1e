/* SPDX-License-Identifier: MIT */
/* The pool of the neighbour lists: blocks of powers of two, with a free list for each size. */
#include "coordinator/wait_graph_lists.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 4, FIRST_ROOM = 1024 };

#define NO_BLOCK UINT32_MAX

void list_pool_init(struct list_pool *pool) {
    memset(pool, 0, sizeof *pool);
    for (int i = 0; i < LIST_CLASSES; i++)
        pool->free[i] = NO_BLOCK;
}

void list_pool_free(struct list_pool *pool) { free(pool->words); }

static unsigned class_of(uint32_t words) {
    unsigned power = 0;
    while (UINT32_C(1) << power < words)
        power++;
    return power;
}

static bool pool_grow(struct list_pool *pool, uint32_t words) {
    uint64_t room = pool->room ? UINT64_C(2) * pool->room : FIRST_ROOM;
    if (room < (uint64_t)pool->used + words)
        room = (uint64_t)pool->used + words;
    if (room > UINT32_MAX || room > SIZE_MAX / sizeof *pool->words)
        return false;
    uint32_t *grown = realloc(pool->words, (size_t)room * sizeof *pool->words);
    if (!grown)
        return false;
    pool->words = grown;
    pool->room = (uint32_t)room;
    return true;
}

/* A block of `words`, a power of two; NO_BLOCK without memory. */
static uint32_t block_take(struct list_pool *pool, uint32_t words) {
    uint32_t *head = &pool->free[class_of(words)];
    uint32_t at = *head;
    if (at != NO_BLOCK) {
        *head = pool->words[at];
        return at;
    }
    if (pool->room - pool->used < words && !pool_grow(pool, words))
        return NO_BLOCK;
    at = pool->used;
    pool->used += words;
    return at;
}

static void block_give(struct list_pool *pool, uint32_t at, uint32_t words) {
    uint32_t *head = &pool->free[class_of(words)];
    pool->words[at] = *head;
    *head = at;
}

bool list_reserve(struct list_pool *pool, struct list *list, bool paired) {
    if (list->count < list->capacity)
        return true;
    /* A paired block takes twice as many words, and that must still be a size class. */
    if (list->capacity > UINT32_MAX / 8)
        return false;
    struct list grown = *list;
    grown.capacity = list->capacity ? 2 * list->capacity : FIRST_CAPACITY;
    grown.at = block_take(pool, grown.capacity << paired);
    if (grown.at == NO_BLOCK)
        return false;
    if (list->capacity) {
        memcpy(list_items(pool, &grown), list_items(pool, list), list->count * sizeof(uint32_t));
        if (paired)
            memcpy(list_mates(pool, &grown), list_mates(pool, list),
                   list->mates * sizeof(uint32_t));
        block_give(pool, list->at, list->capacity << paired);
    }
    *list = grown;
    return true;
}

void list_release(struct list_pool *pool, struct list *list, bool paired) {
    if (list->capacity)
        block_give(pool, list->at, list->capacity << paired);
    memset(list, 0, sizeof *list);
}

static uint32_t find(const uint32_t *items, uint32_t count, uint32_t item) {
    uint32_t i = 0;
    while (i < count && items[i] != item)
        i++;
    return i;
}

bool list_has(const struct list_pool *pool, const struct list *list, uint32_t item) {
    return list->count && find(list_items(pool, list), list->count, item) < list->count;
}

static void drop(uint32_t *items, uint32_t *count, uint32_t item) {
    uint32_t i = find(items, *count, item);
    if (i < *count)
        items[i] = items[--*count];
}

void list_drop(struct list_pool *pool, struct list *list, uint32_t item) {
    if (list->count)
        drop(list_items(pool, list), &list->count, item);
}

void list_drop_mate(struct list_pool *pool, struct list *list, uint32_t item) {
    if (list->mates)
        drop(list_mates(pool, list), &list->mates, item);
}

/* SPDX-License-Identifier: MIT */
/*
 * The neighbour lists of the dependency graph: short arrays that grow by doubling, all in one pool of
 * 32-bit words, so that an edge costs no malloc and a list is scanned at memory speed.
 */
#ifndef CLSTREAM_COORDINATOR_WAIT_GRAPH_LISTS_H
#define CLSTREAM_COORDINATOR_WAIT_GRAPH_LISTS_H

#include <stdbool.h>
#include <stdint.h>

enum { LIST_CLASSES = 32 };

/* Blocks are of 2^class words; a free one holds the place of the next free one of its class. */
struct list_pool {
    uint32_t *words;
    uint32_t used, room;
    uint32_t free[LIST_CLASSES];
};

/* All zero is the empty list. The block is of `capacity` words; that of a paired list has as many
 * behind them for a subset of the same items, `mates` of them, so the subset never asks for memory. */
struct list {
    uint32_t at;
    uint32_t count;
    uint32_t capacity;
    uint32_t mates;
};

void list_pool_init(struct list_pool *pool);
void list_pool_free(struct list_pool *pool);

static inline uint32_t *list_items(const struct list_pool *pool, const struct list *list) {
    return pool->words + list->at;
}

static inline uint32_t *list_mates(const struct list_pool *pool, const struct list *list) {
    return pool->words + list->at + list->capacity;
}

/* Room for one more item; false without memory. Moves lists: pointers into the pool are stale after. A
 * list is paired always or never. */
bool list_reserve(struct list_pool *pool, struct list *list, bool paired);

/* Gives back the block and leaves the empty list. */
void list_release(struct list_pool *pool, struct list *list, bool paired);

/* Both need the room. */
static inline void list_push(struct list_pool *pool, struct list *list, uint32_t item) {
    list_items(pool, list)[list->count++] = item;
}

static inline void list_push_mate(struct list_pool *pool, struct list *list, uint32_t item) {
    list_mates(pool, list)[list->mates++] = item;
}

bool list_has(const struct list_pool *pool, const struct list *list, uint32_t item);

/* Removes the item, if it is there, from the items or from the mates; the last one takes its place. */
void list_drop(struct list_pool *pool, struct list *list, uint32_t item);
void list_drop_mate(struct list_pool *pool, struct list *list, uint32_t item);

#endif

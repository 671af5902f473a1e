/* SPDX-License-Identifier: MIT */
/*
 * The signals that streams have queued on a timeline: one queue per stream that has any, a ring of
 * (position in the stream, value) that rises in both. A pure data structure: a stream is a key. The caller
 * locks.
 *
 * A signal takes two steps, because its value is claimed before its position is known: signal_queue_claim
 * reserves the room, then signal_queue_commit adds the signal or signal_queue_cancel gives the room back.
 */
#ifndef CLSTREAM_COORDINATOR_SIGNAL_QUEUES_H
#define CLSTREAM_COORDINATOR_SIGNAL_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

struct queued_signal {
    uint64_t position, value;
};

struct signal_queue {
    void *key;
    struct queued_signal *ring;
    unsigned capacity; /* a power of two, or 0 */
    unsigned first, count;
    unsigned claims;  /* neither committed nor cancelled yet; room for them is reserved */
    uint64_t claimed; /* the highest value committed or claimed */
};

/* All zero is empty. A pointer to a queue is valid until another queue is opened or closed. */
struct signal_queues {
    struct signal_queue *items;
    unsigned count, capacity;
};

/* The queue of a key, or NULL. */
struct signal_queue *signal_queues_find(const struct signal_queues *queues, const void *key);

/* Finds or adds the queue of a key; NULL without memory. `*made` says whether it is new. */
struct signal_queue *signal_queues_open(struct signal_queues *queues, void *key, bool *made);

/* Removes a queue without signals and claims; the last queue moves into its place. */
void signal_queues_close(struct signal_queues *queues, struct signal_queue *queue);

void signal_queues_free(struct signal_queues *queues);

/* Claims a value above `claimed`; false without memory. */
bool signal_queue_claim(struct signal_queue *queue, uint64_t value);

/* Ends a claim with a signal, or without. Claims end in any order. */
void signal_queue_commit(struct signal_queue *queue, uint64_t position, uint64_t value);
void signal_queue_cancel(struct signal_queue *queue);

/* The oldest signal, or NULL; pop removes it. */
const struct queued_signal *signal_queue_front(const struct signal_queue *queue);
void signal_queue_pop(struct signal_queue *queue);

/* The newest signal, or NULL. */
const struct queued_signal *signal_queue_back(const struct signal_queue *queue);

/* The first signal whose value is at least `value`, or NULL. */
const struct queued_signal *signal_queue_reaching(const struct signal_queue *queue, uint64_t value);

#endif

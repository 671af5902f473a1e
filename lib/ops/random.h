/* SPDX-License-Identifier: MIT */
/* struct random, the object behind a cls_random: the memory of its state. */
#ifndef CLSTREAM_OPS_RANDOM_H
#define CLSTREAM_OPS_RANDOM_H

#include <pthread.h>

#include <clstream/random.h>

#include "base/handle.h"
#include "command/op.h"

struct buffer;
struct context;

struct random {
    struct object object;
    pthread_mutex_t
        lock; /* between a draw and its advance no other draw of the generator is submitted */
    cls_buffer state; /* a cls_random_state; view 0 of each call */
};

/* Looks up the generator and begins a call of its state and `n_views` further views. On failure holds nothing. */
cls_status random_begin(cls_random handle, struct random **random, struct op_call *call,
                        cls_stream stream, const cls_array *const *views, unsigned n_views,
                        bool blocking);

/* op_end, and releases the generator. */
cls_status random_end(struct random *random, struct op_call *call, cls_status status,
                      bool blocking);

/* Looks up a generator of this context, and takes a reference (object_release). Reports. */
cls_status random_get(cls_random handle, const struct context *context, struct random **out);

/* Copies the state to `to`, three elements of i64 in a buffer that the caller keeps, and then adds `counters` to the offset:
 * one command. */
cls_status random_take(struct random *random, const cls_array *to, struct buffer *buffer,
                       uint64_t counters, cls_stream stream);

/* CLS_ERROR_INVALID_VALUE for no probability; else the words below which one is so probable. */
cls_status random_threshold(double probability, uint64_t *out);

/* What a dropout multiplies the elements by that stay. */
static inline double random_dropout_factor(double probability) {
    return probability < 1 ? 1 / (1 - probability) : 0;
}

/* Submits the addition of `counters` to the offset. */
cls_status random_advance(struct op_call *call, uint64_t counters);

#endif

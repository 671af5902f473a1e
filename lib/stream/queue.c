/* SPDX-License-Identifier: MIT */
/*
 * Queues of a context. Streams get a queue of their own up to a bound and share the least used ones from
 * there on: queues are dear on some drivers (256 of them are 262 threads on rusticl). Sharing cannot
 * deadlock: only commands whose dependencies are with the driver are ever enqueued.
 */
#include <stdlib.h>

#include <utlist.h>

#include "base/error.h"
#include "stream/context.h"

enum { MAX_QUEUES_OF_A_KIND = 64, MAX_IDLE_QUEUES = 16 };

static unsigned new_number(void) {
    static _Atomic unsigned numbers;
    return atomic_fetch_add(&numbers, 1) + 1;
}

static bool same_traits(const struct queue *queue, const struct queue_traits *traits) {
    return queue->traits.out_of_order == traits->out_of_order &&
           queue->traits.profiled == traits->profiled && queue->traits.priority == traits->priority;
}

/* Under the lock: the least used queue of the kind, and how many there are. */
static struct queue *least_used(struct context *context, const struct queue_traits *traits,
                                unsigned *kind) {
    struct queue *best = NULL;
    *kind = 0;
    for (struct queue *queue = context->queues; queue; queue = queue->next) {
        if (queue->adopted || queue->apart || queue->dead || !same_traits(queue, traits))
            continue;
        ++*kind;
        if (!best || queue->users < best->users)
            best = queue;
    }
    return best;
}

static cls_status add_queue(struct context *context, const struct queue_traits *traits,
                            struct queue **out) {
    struct queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return error_no_memory("for a queue");
    cls_status status = queue_create(context->device, context->cl, traits, &queue->cl);
    if (status) {
        free(queue);
        return status;
    }
    queue->traits = *traits;
    queue->number = new_number();
    LL_PREPEND(context->queues, queue);
    *out = queue;
    return CLS_SUCCESS;
}

/* Without the lock: the driver may take its time. */
static void free_queue(struct context *context, struct queue *queue) {
    queue_release(context->device, queue->cl, queue->dead);
    free(queue);
}

/* Whether the driver gives no more queues. */
static bool is_full(cls_status status) {
    return status == CLS_ERROR_OUT_OF_DEVICE_MEMORY || status == CLS_ERROR_OUT_OF_MEMORY;
}

/* Under the lock: takes out a queue that nobody uses; NULL: there is none. */
static struct queue *take_idle(struct context *context) {
    struct queue *queue = context->queues;
    while (queue && queue->users)
        queue = queue->next;
    if (queue)
        LL_DELETE(context->queues, queue);
    return queue;
}

enum sharing { SHARED, OWN, APART };

/* A driver that gives no more queues has `*idle` given back, for the next try, and when there is none any more
 * those shared that are left. */
static cls_status try_to_get(struct context *context, const struct queue_traits *traits,
                             enum sharing sharing, struct queue **out, struct queue **idle) {
    unsigned kind = 0;
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&context->lock);
    struct queue *queue = sharing == SHARED ? least_used(context, traits, &kind) : NULL;
    if (!queue || (queue->users && kind < MAX_QUEUES_OF_A_KIND))
        status = add_queue(context, traits, &queue);
    const bool full = is_full(status);
    *idle = full ? take_idle(context) : NULL;
    if (full && !*idle && queue)
        status = CLS_SUCCESS;
    if (!status) {
        queue->users++;
        queue->apart = sharing == APART;
        *out = queue;
    }
    pthread_mutex_unlock(&context->lock);
    return status;
}

static cls_status get(struct context *context, const struct queue_traits *traits,
                      enum sharing sharing, struct queue **out) {
    for (;;) {
        struct queue *idle;
        cls_status status = try_to_get(context, traits, sharing, out, &idle);
        if (!idle)
            return status;
        free_queue(context, idle);
    }
}

cls_status queue_acquire(struct context *context, const struct queue_traits *traits,
                         struct queue **out) {
    return get(context, traits, SHARED, out);
}

cls_status queue_create_own(struct context *context, const struct queue_traits *traits,
                            struct queue **out) {
    return get(context, traits, OWN, out);
}

cls_status queue_create_apart(struct context *context, const struct queue_traits *traits,
                              struct queue **out) {
    return get(context, traits, APART, out);
}

static void unuse(struct context *context, struct queue *queue, bool dead) {
    unsigned idle = 0;
    pthread_mutex_lock(&context->lock);
    queue->dead = queue->dead || dead;
    for (struct queue *other = context->queues; other; other = other->next)
        idle += other->users == 0;
    const bool kept = !queue->dead && !queue->adopted && !queue->apart && idle < MAX_IDLE_QUEUES;
    bool last = --queue->users == 0 && !kept;
    if (last)
        LL_DELETE(context->queues, queue);
    pthread_mutex_unlock(&context->lock);
    if (last)
        free_queue(context, queue);
}

void queue_unuse(struct context *context, struct queue *queue) { unuse(context, queue, false); }

void queue_bury(struct context *context, struct queue *queue) { unuse(context, queue, true); }

cls_status context_lend_queue(struct context *context, struct queue **out) {
    const struct queue_traits traits = {.out_of_order = false};
    pthread_mutex_lock(&context->lock);
    struct queue *queue = context->spare_queue;
    context->spare_queue = NULL;
    pthread_mutex_unlock(&context->lock);
    if (!queue)
        return queue_create_apart(context, &traits, out);
    *out = queue;
    return CLS_SUCCESS;
}

void context_take_back_queue(struct context *context, struct queue *queue, bool hurt) {
    pthread_mutex_lock(&context->lock);
    const bool kept = !hurt && !context->spare_queue;
    if (kept)
        context->spare_queue = queue;
    pthread_mutex_unlock(&context->lock);
    if (!kept)
        unuse(context, queue, hurt);
}

void queue_strand(struct context *context, struct queue *queue) {
    pthread_mutex_lock(&context->lock);
    queue->dead = true;
    queue->users++;
    pthread_mutex_unlock(&context->lock);
}

cls_status queue_adopt(struct context *context, cl_command_queue cl, struct queue **out) {
    struct queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return error_no_memory("for a queue");
    cls_status status = queue_traits_of(context->device, context->cl, cl, &queue->traits);
    if (!status && queue->traits.out_of_order && !caps_trusts(context->caps, TRUST_EVENTS_IN_QUEUE))
        status = trust_refuse(context->device, TRUST_EVENTS_IN_QUEUE);
    if (!status)
        status = queue_retain(context->device, cl);
    if (status) {
        free(queue);
        return status;
    }
    queue->cl = cl;
    queue->number = new_number();
    queue->adopted = true;
    queue->users = 1;
    pthread_mutex_lock(&context->lock);
    LL_PREPEND(context->queues, queue);
    pthread_mutex_unlock(&context->lock);
    *out = queue;
    return CLS_SUCCESS;
}

void queues_free(struct context *context) {
    while (context->queues) {
        struct queue *queue = context->queues;
        LL_DELETE(context->queues, queue);
        free_queue(context, queue);
    }
}

/* SPDX-License-Identifier: MIT */
/* The FIFO: what is in it, who owns its head, and the worker that is reserved for it. */
#include "stream/fifo.h"

#include <stdlib.h>

#include "base/error.h"
#include "stream/context.h"
#include "stream/engine.h"
#include "stream/exit.h"
#include "stream/failure.h"
#include "stream/hooks.h"
#include "stream/observe.h"
#include "stream/worker.h"
#include "system/clocks.h"
#include "system/conditions.h"

/* A thread that does not take an offer by then is off its core. */
static const uint64_t OFFER_NS = 2000;

/* FIFOs of the process in FIFO_BLOCKED or FIFO_CHECKING. The count is up before the head's dependencies are asked about
 * for the last time, so that whoever makes one of them ready sees the count, or the owner sees that it is ready. */
static _Atomic unsigned blocked_fifos;

bool fifo_init(struct fifo *fifo, size_t limit) {
    fifo->limit = limit;
    return condition_init(&fifo->moved);
}

void fifo_destroy(struct fifo *fifo) { pthread_cond_destroy(&fifo->moved); }

/* --- the owner --- */

static bool counts_as_blocked(enum fifo_owner owner) {
    return owner == FIFO_BLOCKED || owner == FIFO_CHECKING;
}

void fifo_set_owner(struct fifo *fifo, enum fifo_owner owner) {
    const enum fifo_owner before = atomic_load_explicit(&fifo->owner, memory_order_relaxed);
    if (before == owner)
        return;
    atomic_store_explicit(&fifo->owner, owner, memory_order_release);
    if (counts_as_blocked(owner) && !counts_as_blocked(before))
        atomic_fetch_add(&blocked_fifos, 1);
    else if (counts_as_blocked(before) && !counts_as_blocked(owner))
        atomic_fetch_sub(&blocked_fifos, 1);
}

void fifo_notify_blocked(void) {
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&blocked_fifos))
        engine_kick();
}

void fifo_release_worker(struct fifo *fifo) {
    if (fifo->worker_reserved && !fifo->head) {
        fifo->worker_reserved = false;
        workers_unreserve();
    }
}

void fifo_run_begin(struct fifo *fifo) { atomic_store(&fifo->running_since, clock_now_ns()); }
void fifo_run_end(struct fifo *fifo) { atomic_store(&fifo->running_since, 0); }

bool fifo_give_back(struct stream *stream) {
    struct fifo *fifo = &stream->fifo;
    fifo_set_owner(fifo, FIFO_IDLE);
    fifo_release_worker(fifo);
    return fifo->head && !fifo->head->type->run;
}

bool fifo_offer(struct fifo *fifo) {
    if (!atomic_load(&fifo->spinners))
        return false;
    uint64_t until = clock_now_ns() + OFFER_NS;
    atomic_store(&fifo->offered, true);
    while (clock_now_ns() < until)
        if (!atomic_load_explicit(&fifo->offered, memory_order_relaxed))
            return true;
    return !atomic_exchange(&fifo->offered, false);
}

void fifo_sleep(struct stream *stream, uint64_t until) {
    stream->fifo.sleepers++;
    condition_wait(&stream->fifo.moved, &stream->lock, until);
    stream->fifo.sleepers--;
}

/* --- what is in it --- */

static void append(struct stream *stream, struct command *node) {
    struct fifo *fifo = &stream->fifo;
    if (fifo->head) {
        fifo->tail->next = node;
    } else {
        fifo->head = node;
        atomic_store_explicit(&fifo->popped, node->position - 1, memory_order_relaxed);
        atomic_fetch_add(context_holding(stream->context, stream->priority), 1);
    }
    fifo->tail = node;
    atomic_store_explicit(&fifo->pushed, node->position, memory_order_release);
}

/* With a worker reserved for it, should it need one. */
static cls_status push(struct stream *stream, struct command *command) {
    struct command *node = malloc(sizeof *node);
    if (!node)
        return error_no_memory("to defer a command");
    cls_status status = command->type->own ? command->type->own(stream, command) : CLS_SUCCESS;
    if (status) {
        free(node);
        return status;
    }
    stream_count_submission(stream);
    command->position = stream->submitted;
    command->event_need =
        EVENT_NEEDED; /* whoever asks for it meanwhile finds no flight to note that in */
    *node = *command;
    deps_move(&node->deps, &stream->waits);
    node->next = NULL;
    append(stream, node);
    stream->counters.deferred++;
    exit_note_work(stream->context->device);
    return CLS_SUCCESS;
}

cls_status fifo_push(struct stream *stream, struct command *command) {
    struct fifo *fifo = &stream->fifo;
    if (fifo_is_full(fifo))
        return error_set(CLS_ERROR_LIMIT, "stream '%s' holds %zu commands, its fifo_limit",
                         stream->name, fifo_count(fifo));
    if (command->type->run && !fifo->worker_reserved) {
        cls_status status = workers_reserve();
        if (status)
            return status;
        fifo->worker_reserved = true;
    }
    cls_status status = push(stream, command);
    if (status)
        fifo_release_worker(fifo);
    return status;
}

struct command *fifo_pop(struct stream *stream) {
    struct fifo *fifo = &stream->fifo;
    struct command *head = fifo->head;
    fifo->yields = 0;
    fifo->head = head->next;
    if (!head->next)
        atomic_fetch_sub(context_holding(stream->context, stream->priority), 1);
    atomic_store_explicit(&fifo->popped, head->position, memory_order_release);
    if (fifo->sleepers)
        pthread_cond_broadcast(&fifo->moved);
    return head;
}

/* What a dropped command was to wait for goes on: what was freed behind it waits for that, and what comes after a
 * reset. Without memory for that the order is lost. */
static void pass_on_waits(struct stream *stream, struct command *head) {
    struct dep *items = deps_items(&head->deps);
    hooks.memory.hold(stream, &head->deps, head->position - 1);
    if (atomic_load(&stream->destroyed))
        return;
    for (unsigned i = head->deps.count; i-- > 0;)
        if (dep_outlives(&items[i]) && !deps_add(&stream->waits, &items[i]))
            items[i] = items[--head->deps.count];
}

void fifo_finish_head(struct stream *stream) {
    struct command *head = fifo_pop(stream);
    if (head->deps.count && stream_poison(stream))
        pass_on_waits(stream, head);
    stream->counters.completed++;
    if (stream_failure_at(stream, head->position)) {
        stream->counters.failed++;
        hooks.work_fails();
    }
    if (head->record)
        observe_retired(stream, head->record, head->position, NULL);
    /* References are released before `retired` is published: whoever sees that may rely on it. */
    command_drop(head);
    if (race_on())
        hooks.race.retired(stream, head->position);
    atomic_store_explicit(&stream->retired, head->position, memory_order_release);
    free(head);
}

void fifo_fail_skipped(struct stream *stream, const struct command *command) {
    const struct failure *poison = stream_poison(stream);
    if (poison)
        stream_fail_by_locked(stream, command->position, poison);
    else
        stream_fail_locked(stream, command->position, CLS_ERROR_SHUTDOWN, 0, "process exit");
}

void fifo_visit(struct stream *stream, bool (*visit)(const struct queued *queued, void *arg),
                void *arg) {
    bool going = true;
    pthread_mutex_lock(&stream->lock);
    for (struct command *command = stream->fifo.head; command && going; command = command->next) {
        struct queued queued = {command->position, command, &command->deps};
        going = visit(&queued, arg);
    }
    if (stream->waits.count && going) {
        struct queued queued = {stream->submitted + 1, NULL, &stream->waits};
        visit(&queued, arg);
    }
    pthread_mutex_unlock(&stream->lock);
}

/* SPDX-License-Identifier: MIT */
#include "stream/stream.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/error.h"
#include "base/setting.h"
#include "base/sized.h"
#include "stream/context.h"
#include "stream/engine.h"
#include "stream/failure.h"
#include "stream/handover.h"
#include "stream/hooks.h"
#include "stream/legacy.h"
#include "stream/observe.h"
#include "stream/worker.h"

enum { DEFAULT_IN_FLIGHT = 1024, MAX_IN_FLIGHT = 1 << 20 };

static void stream_finalize(struct object *object);

struct object_pool stream_pool =
    OBJECT_POOL_LOCKED(2, sizeof(struct stream), "stream", stream_finalize);
_Static_assert(offsetof(struct stream, lock) == sizeof(struct object), "the lock lasts");

/* The registry: all streams of the process, newest last. */
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream *registry;
static uint64_t registry_ids;

/* `name` NULL: named after its number. From here on others find the stream, and read its name. */
static void registry_add(struct stream *stream, const char *name) {
    pthread_mutex_lock(&registry_lock);
    stream->id = ++registry_ids;
    if (name)
        snprintf(stream->name, sizeof stream->name, "%s", name);
    else
        snprintf(stream->name, sizeof stream->name, "stream %llu", (unsigned long long)stream->id);
    DL_APPEND(registry, stream);
    pthread_mutex_unlock(&registry_lock);
}

static void registry_remove(struct stream *stream) {
    pthread_mutex_lock(&registry_lock);
    DL_DELETE(registry, stream);
    pthread_mutex_unlock(&registry_lock);
}

struct stream *stream_next(struct stream *previous) {
    pthread_mutex_lock(&registry_lock);
    struct stream *stream = previous ? previous->next : registry;
    while (stream && !object_try_retain(&stream->object))
        stream = stream->next;
    pthread_mutex_unlock(&registry_lock);
    if (previous)
        stream_put(previous);
    return stream;
}

static void free_failures(struct failure *failure) {
    while (failure) {
        struct failure *older = failure->older;
        free(failure);
        failure = older;
    }
}

static void stream_finalize(struct object *object) {
    struct stream *stream = (struct stream *)(void *)object;
    registry_remove(stream);
    if (stream->is_noted)
        legacy_forget(stream);
    if (race_on())
        hooks.race.forget_stream(stream);
    deps_clear(&stream->waits);
    hooks.forget_kernels(stream);
    hooks.memory.leave(stream);
    if (stream->companion)
        handover_leave_queue(stream, stream->companion);
    handover_leave_queue(stream, stream->queue);
    flights_free(&stream->flights);
    free_failures(atomic_load(&stream->failures));
    free(stream->spare);
    trace_records_free(stream->spare_records);
    fifo_destroy(&stream->fifo);
    context_put(stream->context);
}

cls_status stream_get(cls_stream handle, struct context *context, struct stream **out) {
    if (handle) {
        struct stream *stream = object_acquire(&stream_pool, handle);
        if (!stream)
            return object_invalid(&stream_pool, handle);
        cls_status status = context_check(stream->context);
        if (status)
            stream_put(stream);
        else
            *out = stream;
        return status;
    }
    struct context *own = NULL;
    cls_status status = context ? CLS_SUCCESS : context_get(NULL, &own);
    if (status)
        return status;
    struct stream *stream = context_default_stream(context ? context : own);
    status = stream ? CLS_SUCCESS : context_check(context ? context : own);
    if (!status)
        *out = stream;
    if (own)
        context_put(own);
    return status;
}

bool stream_is_over(const struct stream *stream) {
    if (!atomic_load(&stream->destroyed) && !atomic_load(&stream->context->closed) &&
        !atomic_load(&stream->context->lost_by))
        return false;
    return atomic_load(&stream->retired) == __atomic_load_n(&stream->submitted, __ATOMIC_RELAXED);
}

/* What the stream waits for may keep alive what keeps the stream alive. What its frees wait for too, but that is
 * still to be waited for: the engine sees to it. */
void stream_drop_waits(struct stream *stream) {
    struct deps waits;
    pthread_mutex_lock(&stream->lock);
    hooks.memory.hold(stream, &stream->waits, stream->submitted);
    deps_move(&waits, &stream->waits);
    if (stream->fence)
        hooks.memory.drop_fence(stream->fence);
    stream->fence = NULL;
    if (!stream->watched && hooks.memory.is_held(stream))
        engine_watch(stream);
    pthread_mutex_unlock(&stream->lock);
    deps_clear(&waits);
}

static inline cls_status enter(cls_stream handle, const struct context *may_be_gone,
                               struct stream **out) {
    struct stream *stream = object_peek(&stream_pool, handle);
    if (!stream)
        return object_invalid(&stream_pool, handle);
    pthread_mutex_lock(&stream->lock);
    cls_status status = CLS_SUCCESS;
    if (!object_is(&stream->object, handle))
        status = object_invalid(&stream_pool, handle);
    else if (stream->context != may_be_gone)
        status = context_check(stream->context);
    if (status)
        pthread_mutex_unlock(&stream->lock);
    else
        *out = stream;
    return status;
}

cls_status stream_enter(cls_stream handle, struct stream **out) { return enter(handle, NULL, out); }

cls_status stream_enter_to_return(cls_stream handle, const struct context *owner,
                                  struct stream **out) {
    return enter(handle, owner, out);
}

bool stream_close(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    bool closed = object_destroy(&stream_pool, object_handle(&stream->object));
    pthread_mutex_unlock(&stream->lock);
    return closed;
}

/* --- creation --- */

static cls_order forced_order(void) {
    static const struct setting setting = {
        "CLSTREAM_QUEUE_ORDER",
        {{"in", CLS_ORDER_IN_ORDER}, {"out", CLS_ORDER_OUT_OF_ORDER}},
        CLS_ORDER_AUTO};
    static _Atomic int known = -1;
    return (cls_order)setting_read(&setting, &known);
}

/* The environment forces what the device can do; a caller's wish that it cannot is refused. */
static cls_status choose_order(const struct caps *caps, cls_order wish, bool *out_of_order) {
    const cls_order forced = forced_order();
    if (forced != CLS_ORDER_AUTO) {
        *out_of_order = forced == CLS_ORDER_OUT_OF_ORDER && caps->out_of_order;
        return CLS_SUCCESS;
    }
    if (wish == CLS_ORDER_OUT_OF_ORDER && !caps->out_of_order)
        return error_set(CLS_ERROR_UNSUPPORTED, "the device has no out-of-order queues");
    *out_of_order = wish == CLS_ORDER_AUTO ? caps->out_of_order && !caps->prefer_in_order
                                           : wish == CLS_ORDER_OUT_OF_ORDER;
    return CLS_SUCCESS;
}

static cls_status check_config(const cls_stream_config *config) {
    if (config->order < CLS_ORDER_AUTO || config->order > CLS_ORDER_IN_ORDER)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_order", (int)config->order);
    if (config->wait < CLS_WAIT_AUTO || config->wait > CLS_WAIT_BLOCK)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_wait_policy", (int)config->wait);
    if (config->max_in_flight > MAX_IN_FLIGHT)
        return error_set(CLS_ERROR_INVALID_VALUE, "max_in_flight %u is above %d",
                         config->max_in_flight, MAX_IN_FLIGHT);
    return CLS_SUCCESS;
}

static void set_options(struct stream *stream, const cls_stream_config *config) {
    stream->wait = config->wait;
    stream->priority = priority_clamp(config->priority);
    stream->max_in_flight = config->max_in_flight ? config->max_in_flight : DEFAULT_IN_FLIGHT;
    stream->want_profiled = config->timing != 0;
    stream->legacy_open = stream->context->legacy && !config->non_blocking;
    stream->legacy_role = stream->legacy_open ? LEGACY_BLOCKING : LEGACY_NONE;
    event_policy_init(&stream->events, stream->context, stream->queue->traits.out_of_order,
                      stream->max_in_flight);
}

/* With everything acquired: builds the object, which takes over queue and spare. */
static cls_status build(struct context *context, const cls_stream_config *config,
                        struct queue *queue, struct failure *spare, struct stream **out) {
    struct stream *stream = object_create(&stream_pool);
    if (!stream || !fifo_init(&stream->fifo, config->fifo_limit)) {
        if (stream)
            object_abandon(&stream->object);
        return object_none(&stream_pool, "a stream");
    }
    object_retain(&context->object);
    stream->context = context;
    stream->queue = queue;
    stream->spare = spare;
    set_options(stream, config);
    registry_add(stream, config->name);
    if (race_on())
        hooks.race.meet_stream();
    *out = stream;
    return CLS_SUCCESS;
}

static cls_status find_queue(struct context *context, const cls_stream_config *config,
                             struct queue **out) {
    /* a stream that could not be ordered behind its work on another queue stays on a profiled one */
    const bool stays = !caps_trusts(context->caps, TRUST_EVENTS_ACROSS_QUEUES);
    struct queue_traits traits = {.profiled = config->timing != 0 || stays,
                                  .priority = priority_clamp(config->priority)};
    if (!context->caps->priorities)
        traits.priority = CLS_PRIORITY_NORMAL;
    cls_status status = choose_order(context->caps, config->order, &traits.out_of_order);
    return status ? status : queue_acquire(context, &traits, out);
}

cls_status stream_new(struct context *context, const cls_stream_config *given, struct queue *queue,
                      struct stream **out) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    struct queue *own = queue;
    cls_status status = SIZED_IN(cls_stream_config, &config, given);
    if (!status)
        status = check_config(&config);
    if (!status)
        status = engine_start();
    if (!status && !queue)
        status = find_queue(context, &config, &own);
    if (status)
        return status;
    struct failure *spare = calloc(1, sizeof *spare);
    status = spare ? build(context, &config, own, spare, out) : error_no_memory("for a stream");
    if (status) {
        free(spare);
        if (!queue)
            queue_unuse(context, own);
    }
    return status;
}

cls_status stream_new_owned(struct context *context, const cls_stream_config *given,
                            const char *owner, struct stream **out) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_status status = SIZED_IN(cls_stream_config, &config, given);
    if (status)
        return status;
    config.non_blocking = config.non_blocking || owner;
    status = stream_new(context, &config, NULL, out);
    if (!status)
        (*out)->owner = owner;
    return status;
}

cls_status stream_create_owned(cls_context handle, const cls_stream_config *config,
                               const char *owner, cls_stream *out) {
    struct context *context;
    struct stream *stream;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = stream_new_owned(context, config, owner, &stream);
    if (!status)
        *out = object_handle(&stream->object);
    context_put(context);
    return status;
}

cls_status stream_destroy(cls_stream handle, bool by_owner) {
    struct stream *stream = object_acquire(&stream_pool, handle);
    if (!stream)
        return object_invalid(&stream_pool, handle);
    cls_status status = CLS_SUCCESS;
    if (stream->owner && !by_owner)
        status = error_set(CLS_ERROR_INVALID_VALUE, "stream '%s' belongs to %s", stream->name,
                           stream->owner);
    else if (stream_close(stream))
        atomic_store(&stream->destroyed, true);
    else
        status = object_invalid(&stream_pool, handle);
    if (!status)
        hooks.capture.leave(stream);
    if (!status)
        stream_drop_waits(stream);
    stream_put(stream);
    return status;
}

void stream_destroy_owned(cls_stream handle) { stream_destroy(handle, true); }

/* --- what a stream is --- */

uint64_t stream_newest(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    const uint64_t position = stream_newest_locked(stream);
    pthread_mutex_unlock(&stream->lock);
    return position;
}

uint64_t stream_outstanding(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    const uint64_t count = stream->submitted - atomic_load(&stream->retired);
    pthread_mutex_unlock(&stream->lock);
    return count;
}

const void *stream_captured_by(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    const void *capture = stream->capturing ? stream->capture : NULL;
    pthread_mutex_unlock(&stream->lock);
    return capture;
}

struct queue *stream_queue(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    struct queue *queue = stream->queue;
    pthread_mutex_unlock(&stream->lock);
    return queue;
}

void stream_want_timing(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    stream->want_profiled = true;
    pthread_mutex_unlock(&stream->lock);
}

/* A copy on the host, which is never a flight, uses memory on both sides. */
static bool command_uses(const struct command *command, use_test uses, const void *arg) {
    const struct host_copy_arguments *copy = &command->u.host_copy;
    if (command->type->copies_host)
        return uses(&command->refs, copy->to, arg) || uses(&command->refs, copy->from, arg);
    return uses(&command->refs, command_host(command), arg);
}

uint64_t stream_last_use(struct stream *stream, use_test uses, const void *arg) {
    uint64_t position = 0;
    pthread_mutex_lock(&stream->lock);
    for (unsigned i = 0; i < stream->flights.count; i++) {
        struct flight *flight = flight_at(&stream->flights, i);
        if (!uses(&flight->refs, flight->host, arg) &&
            !hooks.capture.uses(&flight->refs, uses, arg))
            continue;
        flight_need_event(flight);
        position = flight->position;
    }
    const struct command *command = fifo_head(&stream->fifo);
    for (; command; command = command->next)
        if (command_uses(command, uses, arg) || hooks.capture.uses(&command->refs, uses, arg))
            position = command->position;
    pthread_mutex_unlock(&stream->lock);
    return position;
}

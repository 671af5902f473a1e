/* SPDX-License-Identifier: MIT */
#include "trace/profiler.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/error.h"
#include "base/process.h"
#include "base/sized.h"
#include "stream/context.h"
#include "stream/observe.h"
#include "stream/wait.h"
#include "system/clocks.h"

enum { DEFAULT_CAPACITY = 65536, MAX_CAPACITY = 1 << 26 };

/* Guards the list and all rings. A leaf: taken with streams' locks held. */
static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER;
static struct profiler *running;
static void (*at_drain)(void);

static void stop(struct profiler *profiler);

static void profiler_finalize(struct object *object) {
    struct profiler *profiler = (struct profiler *)(void *)object;
    raw_ring_free(&profiler->ring);
}

struct object_pool profiler_pool =
    OBJECT_POOL(24, sizeof(struct profiler), "profiler", profiler_finalize);

static cls_status profiler_get(cls_profiler handle, struct profiler **out) {
    *out = object_acquire(&profiler_pool, handle);
    return *out ? CLS_SUCCESS : object_invalid(&profiler_pool, handle);
}

static void profiler_put(struct profiler *profiler) { object_release(&profiler->object); }

/* --- the observer --- */

static void see_retired(const struct stream *stream, const struct trace_record *trace_record) {
    pthread_mutex_lock(&trace_lock);
    for (struct profiler *profiler = running; profiler; profiler = profiler->next) {
        struct raw *raw = raw_ring_put(&profiler->ring);
        raw->type = CLS_RECORD_COMMAND;
        raw->stream = stream->id;
        raw->device = stream->context->device;
        memcpy(raw->stream_name, stream->name, sizeof raw->stream_name);
        raw->u.command = *trace_record;
    }
    pthread_mutex_unlock(&trace_lock);
}

static void see_missed(void) {
    pthread_mutex_lock(&trace_lock);
    for (struct profiler *profiler = running; profiler; profiler = profiler->next)
        profiler->missed++;
    pthread_mutex_unlock(&trace_lock);
}

static void see_drained(void) {
    if (at_drain)
        at_drain();
}

static const struct observer watcher = {see_retired, see_missed, see_drained};

bool trace_is_on(void) { return observer() != NULL; }

void trace_at_drain(void (*call)(void)) { at_drain = call; }

/* --- spans --- */

static void put_span(struct profiler *profiler, cls_record_type type, const char *label,
                     uint64_t thread, uint64_t start, uint64_t end, uint64_t bytes) {
    struct raw *raw = raw_ring_put(&profiler->ring);
    *raw = (struct raw){.type = type, .thread = thread};
    raw->u.span.start = start;
    raw->u.span.end = end;
    raw->u.span.bytes = bytes;
    memset(raw->u.span.label, 0, sizeof raw->u.span.label);
    memcpy(raw->u.span.label, label, strnlen(label, LABEL_BYTES - 1));
}

void trace_span(const char *label, uint64_t thread, uint64_t start, uint64_t end) {
    pthread_mutex_lock(&trace_lock);
    for (struct profiler *profiler = running; profiler; profiler = profiler->next)
        put_span(profiler, CLS_RECORD_RANGE, label, thread, start, end, 0);
    pthread_mutex_unlock(&trace_lock);
}

cls_status cls_profiler_add(cls_profiler handle, const char *label, uint64_t start_ns,
                            uint64_t end_ns, uint64_t bytes) {
    struct profiler *profiler;
    if (!label || end_ns < start_ns)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_profiler_add: %s",
                         label ? "the end is before the start" : "label is null");
    cls_status status = profiler_get(handle, &profiler);
    if (status)
        return status;
    pthread_mutex_lock(&trace_lock);
    put_span(profiler, CLS_RECORD_USER, label, 0, start_ns, end_ns, bytes);
    pthread_mutex_unlock(&trace_lock);
    profiler_put(profiler);
    return CLS_SUCCESS;
}

uint64_t cls_profiler_now(void) { return clock_now_ns(); }

/* --- timers --- */

/* Under the lock: keeps a device's first reading and its latest. */
static void add_reading(struct profiler *profiler, const struct timed_device *reading) {
    unsigned known = 0;
    for (size_t i = 0; i < profiler->n_timers; i++) {
        if (profiler->timers[i].device != reading->device || ++known < 2)
            continue;
        profiler->timers[i] = *reading;
        return;
    }
    if (profiler->n_timers < MAX_TIMERS)
        profiler->timers[profiler->n_timers++] = *reading;
}

/* Reads the clocks of all devices that have a stream, and notices what is done on these. */
static void look_at_devices(struct profiler *profiler) {
    const struct device *last = NULL;
    for (struct stream *stream = stream_next(NULL); stream; stream = stream_next(stream)) {
        struct timed_device now = {.device = stream->context->device};
        stream_poll(stream);
        if (now.device == last)
            continue;
        last = now.device;
        if (!timer_read(now.device, &now.reading))
            continue;
        pthread_mutex_lock(&trace_lock);
        add_reading(profiler, &now);
        pthread_mutex_unlock(&trace_lock);
    }
}

/* --- profilers --- */

cls_status profiler_create(size_t wanted, cls_profiler *out) {
    size_t capacity = wanted ? wanted : DEFAULT_CAPACITY;
    if (capacity > MAX_CAPACITY)
        return error_set(CLS_ERROR_INVALID_VALUE, "a capacity of %zu is above %d", capacity,
                         MAX_CAPACITY);
    struct profiler *profiler = object_create(&profiler_pool);
    if (!profiler)
        return object_none(&profiler_pool, "a profiler");
    if (!raw_ring_init(&profiler->ring, capacity)) {
        object_abandon(&profiler->object);
        return error_no_memory("for a profiler of %zu records", capacity);
    }
    *out = object_handle(&profiler->object);
    return CLS_SUCCESS;
}

cls_status cls_profiler_create(const cls_profiler_config *given, cls_profiler *out) {
    cls_profiler_config config = CLS_PROFILER_CONFIG_INIT;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_profiler_create: out is null");
    cls_status status = SIZED_IN(cls_profiler_config, &config, given);
    if (!status)
        status = process_enter();
    return status ? status : profiler_create(config.capacity, out);
}

cls_status cls_profiler_destroy(cls_profiler handle) {
    struct profiler *profiler;
    cls_status status = profiler_get(handle, &profiler);
    if (status)
        return status;
    if (object_destroy(&profiler_pool, handle))
        stop(profiler);
    else
        status = object_invalid(&profiler_pool, handle);
    profiler_put(profiler);
    return status;
}

/* The list holds a reference: a profiler on it is not finalized. */
static void start(struct profiler *profiler) {
    pthread_mutex_lock(&trace_lock);
    if (!profiler->running) {
        object_retain(&profiler->object);
        profiler->running = true;
        LL_PREPEND(running, profiler);
        atomic_store_explicit(&observer_now, &watcher, memory_order_release);
    }
    pthread_mutex_unlock(&trace_lock);
}

static void stop(struct profiler *profiler) {
    pthread_mutex_lock(&trace_lock);
    bool was_running = profiler->running;
    if (was_running) {
        LL_DELETE(running, profiler);
        profiler->running = false;
        if (!running)
            atomic_store_explicit(&observer_now, NULL, memory_order_release);
    }
    pthread_mutex_unlock(&trace_lock);
    if (was_running)
        profiler_put(profiler);
}

/* Does that to the profiler of a handle. */
static cls_status change(cls_profiler handle, void (*how)(struct profiler *profiler)) {
    struct profiler *profiler;
    cls_status status = profiler_get(handle, &profiler);
    if (status)
        return status;
    how(profiler);
    profiler_put(profiler);
    return CLS_SUCCESS;
}

static void start_looking(struct profiler *profiler) {
    start(profiler);
    look_at_devices(profiler);
}

cls_status cls_profiler_start(cls_profiler handle) { return change(handle, start_looking); }

static void look_and_stop(struct profiler *profiler) {
    look_at_devices(profiler);
    stop(profiler);
}

cls_status cls_profiler_stop(cls_profiler handle) { return change(handle, look_and_stop); }

static void clear(struct profiler *profiler) {
    pthread_mutex_lock(&trace_lock);
    raw_ring_clear(&profiler->ring);
    profiler->missed = 0;
    pthread_mutex_unlock(&trace_lock);
}

cls_status cls_profiler_clear(cls_profiler handle) { return change(handle, clear); }

/* --- snapshots --- */

static void profile_finalize(struct object *object) {
    profile_free((struct profile *)(void *)object);
}

struct object_pool profile_pool =
    OBJECT_POOL(25, sizeof(struct profile), "profile", profile_finalize);

static cls_status build(const struct evidence *evidence, cls_profile *out) {
    struct profile *profile = object_create(&profile_pool);
    if (!profile)
        return object_none(&profile_pool, "a profile");
    cls_status status = profile_build(profile, evidence);
    if (!status)
        *out = object_handle(&profile->object);
    else
        object_release(&profile->object);
    return status;
}

/* Allocates before taking the lock: the ring may fill meanwhile, but never beyond its capacity. */
static cls_status copy_and_build(struct profiler *profiler, cls_profile *out) {
    struct timed_device timers[MAX_TIMERS];
    pthread_mutex_lock(&trace_lock);
    size_t room = profiler->running ? profiler->ring.capacity : profiler->ring.count;
    pthread_mutex_unlock(&trace_lock);
    struct raw *raws = malloc((room + 1) * sizeof *raws);
    if (!raws)
        return error_no_memory("for a profile");
    pthread_mutex_lock(&trace_lock);
    struct evidence evidence = {.raws = raws,
                                .count = profiler->ring.count,
                                .dropped = profiler->ring.dropped + profiler->missed,
                                .timers = timers,
                                .n_timers = profiler->n_timers};
    bool fits = evidence.count <= room;
    if (fits)
        raw_ring_copy(&profiler->ring, raws);
    memcpy(timers, profiler->timers, sizeof timers);
    pthread_mutex_unlock(&trace_lock);
    cls_status status = fits ? build(&evidence, out) : CLS_NOT_READY;
    free(raws);
    return status;
}

cls_status profiler_snapshot(cls_profiler handle, bool drivers, cls_profile *out) {
    struct profiler *profiler;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_profiler_snapshot: out is null");
    cls_status status = profiler_get(handle, &profiler);
    if (status)
        return status;
    if (drivers)
        look_at_devices(profiler);
    do
        status = copy_and_build(profiler, out);
    while (status == CLS_NOT_READY);
    profiler_put(profiler);
    return status;
}

cls_status cls_profiler_snapshot(cls_profiler handle, cls_profile *out) {
    return profiler_snapshot(handle, true, out);
}

cls_status cls_profile_destroy(cls_profile handle) {
    return object_destroy(&profile_pool, handle) ? CLS_SUCCESS
                                                 : object_invalid(&profile_pool, handle);
}

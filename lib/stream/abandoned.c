/* SPDX-License-Identifier: MIT */
#include "stream/abandoned.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "driver/event.h"
#include "memory/buffer.h"
#include "stream/context.h"
#include "stream/event_ref.h"
#include "stream/stream.h"

struct wreck {
    struct wreck *next;      /* once on the list, written by the engine's thread only */
    struct context *context; /* retained */
    struct queue *queue;     /* stranded */
    cl_event event;          /* NULL: none yet */
    struct share *share;     /* the flight's, held; NULL: nobody else came to hold the event */
    const void *host;        /* as in the flight */
    bool has_run;            /* the engine's thread's alone */
    unsigned n_uses;
    struct refs uses[]; /* of each flight */
};

struct release {
    struct release *next;
    const char *host;
    size_t bytes;
    void (*run)(void *arg);
    void *arg;
};

static const uint64_t FIRST_LOOK_NS = 5 * CLOCK_MS, LAST_LOOK_NS = CLOCK_SECOND;

static pthread_mutex_t wrecks_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; a leaf */
static struct wreck *wrecks;                                    /* newest first */
static unsigned n_unknown; /* of those without a record, what uses host memory */
static struct release *releases;
static uint64_t look_at, pause_ns; /* pauses double as long as nothing comes of looking */

/* --- leaving --- */

/* Under the lock. */
static void look_soon(void) {
    pause_ns = FIRST_LOOK_NS;
    look_at = clock_now_ns() + pause_ns;
}

/* A record without anything in it yet; NULL without memory. */
static struct wreck *new_wreck(struct context *context, struct queue *queue, unsigned n_uses) {
    struct wreck *wreck = calloc(1, sizeof *wreck + n_uses * sizeof wreck->uses[0]);
    queue_strand(context, queue);
    object_retain(&context->object);
    if (!wreck)
        return NULL;
    wreck->context = context;
    wreck->queue = queue;
    wreck->n_uses = n_uses;
    return wreck;
}

/* Without memory for a record of it, what it holds is kept for good. */
static void enter(struct wreck *wreck, const void *host) {
    pthread_mutex_lock(&wrecks_lock);
    if (wreck) {
        wreck->host = host;
        wreck->next = wrecks;
        wrecks = wreck;
        look_soon();
    } else {
        n_unknown += host != NULL;
    }
    pthread_mutex_unlock(&wrecks_lock);
}

/* A pool gives it again only once it has no other references. */
static void mark(struct object *object) {
    if (object->pool == &buffer_pool)
        atomic_store(&((struct buffer *)(void *)object)->wrecked, true);
}

static void take(struct wreck *wreck, unsigned use, struct refs *refs) {
    struct refs taken;
    refs_move(&taken, refs);
    for (unsigned i = 0; i < taken.count; i++)
        mark(taken.here[i]);
    for (unsigned i = 0; i < taken.more_count; i++)
        mark(taken.more[i]);
    if (wreck)
        wreck->uses[use] = taken;
}

/* Only a copy uses host memory, and it has an event to itself. */
void wreck_leave(struct stream *stream, unsigned first, unsigned last) {
    struct flight *telling = flight_at(&stream->flights, last);
    struct wreck *wreck = new_wreck(stream->context, telling->queue, last - first + 1);
    for (unsigned i = first; i <= last; i++)
        take(wreck, i - first, &flight_at(&stream->flights, i)->refs);
    if (telling->shared)
        share_hold(&telling->share);
    if (wreck) {
        wreck->event = telling->event;
        wreck->share = telling->shared ? &telling->share : NULL;
    }
    enter(wreck, telling->host);
    telling->event = NULL;
    telling->host = NULL;
}

void wreck_leave_command(struct context *context, struct queue *queue, struct command *command) {
    if (!command->refs.count)
        return;
    struct wreck *wreck = new_wreck(context, queue, 1);
    take(wreck, 0, &command->refs);
    enter(wreck, NULL);
}

/* --- host memory that waits for them --- */

/* Under the lock. */
static bool is_in_use(const char *host, size_t bytes) {
    bool used = n_unknown > 0;
    for (const struct wreck *wreck = wrecks; wreck && !used; wreck = wreck->next)
        used = wreck->host && (uintptr_t)wreck->host - (uintptr_t)host < bytes;
    return used;
}

bool wrecks_defer(const void *host, size_t bytes, void (*release)(void *arg), void *arg) {
    struct release *later = malloc(sizeof *later);
    pthread_mutex_lock(&wrecks_lock);
    const bool used = is_in_use(host, bytes);
    if (used && later) {
        *later = (struct release){releases, host, bytes, release, arg};
        releases = later;
    }
    pthread_mutex_unlock(&wrecks_lock);
    if (!used)
        free(later);
    return used;
}

/* Under the lock: those that wait for none any more. */
static struct release *take_releases(void) {
    struct release *over = NULL, **link = &releases;
    while (*link) {
        struct release *release = *link;
        if (is_in_use(release->host, release->bytes)) {
            link = &release->next;
            continue;
        }
        *link = release->next;
        release->next = over;
        over = release;
    }
    return over;
}

static void run_releases(struct release *list) {
    while (list) {
        struct release *next = list->next;
        list->run(list->arg);
        free(list);
        list = next;
    }
}

/* --- looking after them --- */

/* A mark on the queue tells of all that is ahead of it, once the driver takes one. */
static bool has_event(struct wreck *wreck) {
    const struct device *device = wreck->context->device;
    const struct wait_list none = {0, NULL};
    if (wreck->event)
        return true;
    if (enqueue_marker(device, wreck->queue->cl, none, &wreck->event))
        wreck->event = NULL;
    else
        queue_flush(device, wreck->queue->cl);
    return wreck->event != NULL;
}

/* Whether it has run. One that failed stays: perhaps only the question did, and the releases of failed
 * events are not safe on every driver. */
static bool has_run(struct wreck *wreck) {
    return has_event(wreck) && event_state(wreck->context->device, wreck->event) == CL_COMPLETE;
}

static void release(struct wreck *wreck) {
    if (wreck->share)
        share_drop(wreck->share);
    else
        event_release(wreck->context->device, wreck->event);
    for (unsigned i = 0; i < wreck->n_uses; i++)
        refs_release(&wreck->uses[i]);
    queue_bury(wreck->context, wreck->queue);
    context_put(wreck->context);
    free(wreck);
}

/* Under the lock: those that have run. */
static struct wreck *take_run(void) {
    struct wreck *over = NULL, **link = &wrecks;
    while (*link) {
        struct wreck *wreck = *link;
        if (!wreck->has_run) {
            link = &wreck->next;
            continue;
        }
        *link = wreck->next;
        wreck->next = over;
        over = wreck;
    }
    return over;
}

/* Under the lock, after a look: when the next one is. */
static void set_pause(bool came_of_it) {
    if (came_of_it)
        pause_ns = FIRST_LOOK_NS;
    else if (pause_ns < LAST_LOOK_NS)
        pause_ns *= 2;
    look_at = clock_now_ns() + pause_ns;
}

/* They stay on the list while they are looked at: only this thread takes any off. */
static void look_at_all(struct wreck *first) {
    for (struct wreck *wreck = first; wreck; wreck = wreck->next)
        wreck->has_run = has_run(wreck);
    pthread_mutex_lock(&wrecks_lock);
    struct wreck *over = take_run();
    struct release *unused = over ? take_releases() : NULL;
    set_pause(over != NULL);
    pthread_mutex_unlock(&wrecks_lock);
    while (over) {
        struct wreck *next = over->next;
        release(over);
        over = next;
    }
    run_releases(unused);
}

uint64_t wrecks_salvage(void) {
    pthread_mutex_lock(&wrecks_lock);
    struct wreck *due = wrecks && clock_now_ns() >= look_at ? wrecks : NULL;
    pthread_mutex_unlock(&wrecks_lock);
    if (due)
        look_at_all(due);
    pthread_mutex_lock(&wrecks_lock);
    uint64_t pause = wrecks ? pause_ns : 0;
    pthread_mutex_unlock(&wrecks_lock);
    return pause;
}

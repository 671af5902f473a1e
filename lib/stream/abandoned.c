/* SPDX-License-Identifier: MIT */
/* The list of abandoned work, and of releases of host memory that wait for it. */
#include "stream/abandoned.h"

#include <pthread.h>
#include <stdlib.h>

#include "driver/event.h"
#include "stream/context.h"
#include "stream/event_ref.h"
#include "stream/hooks.h"
#include "stream/stream.h"
#include "system/clocks.h"

struct abandoned {
    struct abandoned *next;      /* once on the list, written by the engine's thread only */
    struct context *context;     /* retained */
    struct queue *queue;         /* stranded */
    cl_event event;              /* NULL: none yet */
    struct event_ref *event_ref; /* the flight's, held; NULL: nobody else came to hold the event */
    const void *host;            /* as in the flight */
    bool has_run;                /* the engine's thread's alone */
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

static const uint64_t FIRST_PAUSE_NS = 5 * CLOCK_MS, LAST_PAUSE_NS = CLOCK_SECOND;

static pthread_mutex_t abandoned_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; a leaf */
static struct abandoned *abandoned_list;                           /* newest first */
static unsigned n_unknown; /* of those without a record, what uses host memory */
static struct release *releases;
static uint64_t poll_at, pause_ns; /* the pause doubles as long as nothing has run */

/* --- leaving --- */

/* Under the lock. */
static void poll_soon(void) {
    pause_ns = FIRST_PAUSE_NS;
    poll_at = clock_now_ns() + pause_ns;
}

/* A record without anything in it yet; NULL without memory. */
static struct abandoned *new_abandoned(struct context *context, struct queue *queue,
                                       unsigned n_uses) {
    struct abandoned *gone = calloc(1, sizeof *gone + n_uses * sizeof gone->uses[0]);
    queue_strand(context, queue);
    object_retain(&context->object);
    if (!gone)
        return NULL;
    gone->context = context;
    gone->queue = queue;
    gone->n_uses = n_uses;
    return gone;
}

/* Without memory for a record of it, what it holds is kept for good. */
static void enter(struct abandoned *gone, const void *host) {
    pthread_mutex_lock(&abandoned_lock);
    if (gone) {
        gone->host = host;
        gone->next = abandoned_list;
        abandoned_list = gone;
        poll_soon();
    } else {
        n_unknown += host != NULL;
    }
    pthread_mutex_unlock(&abandoned_lock);
}

static void take(struct abandoned *gone, unsigned use, struct refs *refs) {
    struct refs taken;
    refs_move(&taken, refs);
    for (unsigned i = 0; i < taken.count; i++)
        hooks.memory.abandon(taken.here[i]);
    for (unsigned i = 0; i < taken.more_count; i++)
        hooks.memory.abandon(taken.more[i]);
    if (gone)
        gone->uses[use] = taken;
}

/* Only a copy uses host memory, and it has an event to itself. */
void abandon_flights(struct stream *stream, unsigned first, unsigned last) {
    struct flight *ending = flight_at(&stream->flights, last);
    struct abandoned *gone = new_abandoned(stream->context, ending->queue, last - first + 1);
    for (unsigned i = first; i <= last; i++)
        take(gone, i - first, &flight_at(&stream->flights, i)->refs);
    if (ending->event_shared)
        event_ref_hold(&ending->event_ref);
    if (gone) {
        gone->event = ending->event;
        gone->event_ref = ending->event_shared ? &ending->event_ref : NULL;
    }
    enter(gone, ending->host);
    ending->event = NULL;
    ending->host = NULL;
}

void abandon_command(struct context *context, struct queue *queue, struct command *command) {
    if (!command->refs.count)
        return;
    struct abandoned *gone = new_abandoned(context, queue, 1);
    take(gone, 0, &command->refs);
    enter(gone, NULL);
}

/* Copies have no references but inline ones. */
void abandon_transfer(struct context *context, struct queue *queue, cl_event event,
                      const struct refs *refs, const void *host) {
    struct abandoned *gone = new_abandoned(context, queue, 1);
    struct refs own = {.count = refs->count};
    for (unsigned i = 0; i < refs->count; i++)
        object_retain(own.here[i] = refs->here[i]);
    take(gone, 0, &own);
    if (gone)
        gone->event = event;
    enter(gone, host);
}

/* --- host memory that waits for them --- */

/* Under the lock. */
static bool is_in_use(const char *host, size_t bytes) {
    bool used = n_unknown > 0;
    for (const struct abandoned *gone = abandoned_list; gone && !used; gone = gone->next)
        used = gone->host && (uintptr_t)gone->host - (uintptr_t)host < bytes;
    return used;
}

bool abandoned_defer(const void *host, size_t bytes, void (*release)(void *arg), void *arg) {
    struct release *later = malloc(sizeof *later);
    pthread_mutex_lock(&abandoned_lock);
    const bool used = is_in_use(host, bytes);
    if (used && later) {
        *later = (struct release){releases, host, bytes, release, arg};
        releases = later;
    }
    pthread_mutex_unlock(&abandoned_lock);
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

/* --- polling them --- */

/* Where the driver takes a marker now, its event covers all that is ahead of it. */
static bool has_event(struct abandoned *gone) {
    const struct device *device = gone->context->device;
    const struct wait_list none = {0, NULL};
    if (gone->event)
        return true;
    if (enqueue_marker(device, gone->queue->cl, none, &gone->event))
        gone->event = NULL;
    else
        queue_flush(device, gone->queue->cl);
    return gone->event != NULL;
}

/* Whether it has run. One that failed stays: perhaps only the question did, and the releases of failed
 * events are not safe on every driver. */
static bool has_run(struct abandoned *gone) {
    return has_event(gone) && event_state(gone->context->device, gone->event) == CL_COMPLETE;
}

static void release(struct abandoned *gone) {
    if (gone->event_ref)
        event_ref_drop(gone->event_ref);
    else
        event_release(gone->context->device, gone->event);
    for (unsigned i = 0; i < gone->n_uses; i++)
        refs_release(&gone->uses[i]);
    queue_bury(gone->context, gone->queue);
    context_put(gone->context);
    free(gone);
}

/* Under the lock: those that have run. */
static struct abandoned *take_run(void) {
    struct abandoned *over = NULL, **link = &abandoned_list;
    while (*link) {
        struct abandoned *gone = *link;
        if (!gone->has_run) {
            link = &gone->next;
            continue;
        }
        *link = gone->next;
        gone->next = over;
        over = gone;
    }
    return over;
}

/* Under the lock, after a poll: sets the time of the next. */
static void set_pause(bool any_has_run) {
    if (any_has_run)
        pause_ns = FIRST_PAUSE_NS;
    else if (pause_ns < LAST_PAUSE_NS)
        pause_ns *= 2;
    poll_at = clock_now_ns() + pause_ns;
}

/* They stay on the list meanwhile: only this thread takes any off. */
static void poll_all(struct abandoned *first) {
    for (struct abandoned *gone = first; gone; gone = gone->next)
        gone->has_run = has_run(gone);
    pthread_mutex_lock(&abandoned_lock);
    struct abandoned *over = take_run();
    struct release *unused = over ? take_releases() : NULL;
    set_pause(over != NULL);
    pthread_mutex_unlock(&abandoned_lock);
    while (over) {
        struct abandoned *next = over->next;
        release(over);
        over = next;
    }
    run_releases(unused);
}

uint64_t abandoned_reclaim(void) {
    pthread_mutex_lock(&abandoned_lock);
    struct abandoned *due = abandoned_list && clock_now_ns() >= poll_at ? abandoned_list : NULL;
    pthread_mutex_unlock(&abandoned_lock);
    if (due)
        poll_all(due);
    pthread_mutex_lock(&abandoned_lock);
    uint64_t pause = abandoned_list ? pause_ns : 0;
    pthread_mutex_unlock(&abandoned_lock);
    return pause;
}

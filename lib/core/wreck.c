/* SPDX-License-Identifier: MIT */
#include "core/wreck.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/context.h"
#include "core/flight.h"
#include "core/share.h"
#include "driver/event.h"

struct wreck {
    struct wreck *next;
    struct context *context; /* retained */
    struct queue *queue;     /* stranded */
    cl_event event;
    struct share *share; /* as in the flight */
    struct refs refs;
};

struct release {
    struct release *next;
    void (*run)(void *arg);
    void *arg;
};

static const uint64_t FIRST_LOOK_NS = 5 * CLOCK_MS, LAST_LOOK_NS = CLOCK_SECOND;

static pthread_mutex_t wrecks_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; a leaf */
static struct wreck *wrecks;
static unsigned n_wrecks; /* also those that are looked at, and those without a record */
static struct release *releases;
static uint64_t look_at, pause_ns; /* pauses double as long as nothing comes of looking */

/* Under the lock. */
static void look_soon(void) {
    pause_ns = FIRST_LOOK_NS;
    look_at = clock_now_ns() + pause_ns;
}

/* Without memory for a record of it, what the flight holds is kept for good. */
void wreck_leave(struct context *context, struct flight *flight) {
    struct wreck *wreck = malloc(sizeof *wreck);
    queue_strand(context, flight->queue);
    object_retain(&context->object);
    pthread_mutex_lock(&wrecks_lock);
    n_wrecks++;
    if (wreck) {
        *wreck = (struct wreck){.context = context,
                                .queue = flight->queue,
                                .event = flight->event,
                                .share = flight->share};
        refs_move(&wreck->refs, &flight->refs);
        wreck->next = wrecks;
        wrecks = wreck;
        look_soon();
    }
    pthread_mutex_unlock(&wrecks_lock);
    flight->event = NULL;
    flight->share = NULL;
    flight->refs.count = flight->refs.more_count = 0;
    flight->refs.more = NULL;
}

bool wrecks_defer(void (*release)(void *arg), void *arg) {
    struct release *later = malloc(sizeof *later);
    pthread_mutex_lock(&wrecks_lock);
    const bool any = n_wrecks > 0;
    if (any && later) {
        *later = (struct release){releases, release, arg};
        releases = later;
    }
    pthread_mutex_unlock(&wrecks_lock);
    if (!any)
        free(later);
    return any;
}

/* Whether it has run. One that failed stays: perhaps only the question did, and the releases of failed
 * events are not safe on every driver. */
static bool has_run(const struct wreck *wreck) {
    return event_state(wreck->context->device, wreck->event) == CL_COMPLETE;
}

static void release(struct wreck *wreck) {
    if (wreck->share)
        share_drop(wreck->share);
    else
        event_release(wreck->context->device, wreck->event);
    refs_release(&wreck->refs);
    queue_bury(wreck->context, wreck->queue);
    context_put(wreck->context);
    free(wreck);
}

/* Under the lock: the list, when it is time to look at it. */
static struct wreck *take_due(void) {
    struct wreck *due = NULL;
    if (wrecks && clock_now_ns() >= look_at) {
        due = wrecks;
        wrecks = NULL;
    }
    return due;
}

/* Under the lock: what waits for the last of them, when that is gone. */
static struct release *take_releases(void) {
    struct release *list = n_wrecks ? NULL : releases;
    if (list)
        releases = NULL;
    return list;
}

static void run_releases(struct release *list) {
    while (list) {
        struct release *next = list->next;
        list->run(list->arg);
        free(list);
        list = next;
    }
}

/* Under the lock: puts back what has not run. */
static void put_back(struct wreck *kept, unsigned n_released) {
    while (kept) {
        struct wreck *next = kept->next;
        kept->next = wrecks;
        wrecks = kept;
        kept = next;
    }
    n_wrecks -= n_released;
    if (n_released)
        look_soon();
    else if (pause_ns < LAST_LOOK_NS)
        pause_ns *= 2;
    look_at = clock_now_ns() + pause_ns;
}

uint64_t wrecks_salvage(void) {
    struct wreck *kept = NULL;
    unsigned released = 0;
    pthread_mutex_lock(&wrecks_lock);
    struct wreck *due = take_due();
    bool looked = due != NULL;
    pthread_mutex_unlock(&wrecks_lock);
    while (due) {
        struct wreck *wreck = due;
        due = due->next;
        if (has_run(wreck)) {
            release(wreck);
            released++;
        } else {
            wreck->next = kept;
            kept = wreck;
        }
    }
    pthread_mutex_lock(&wrecks_lock);
    if (looked)
        put_back(kept, released);
    uint64_t pause = wrecks ? pause_ns : 0;
    struct release *over = take_releases();
    pthread_mutex_unlock(&wrecks_lock);
    run_releases(over);
    return pause;
}

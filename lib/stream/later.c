/* SPDX-License-Identifier: MIT */
#include "stream/later.h"

#include <pthread.h>

#include "stream/engine.h"
#include "system/clocks.h"

#define FIRST_PAUSE_NS CLOCK_MS
#define LAST_PAUSE_NS (100 * CLOCK_MS)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; a leaf */
static struct later *arrivals;                           /* newest first */

/* The engine's thread's. The pause doubles as long as nothing comes and nothing is done. */
static struct later *pending;
static uint64_t attempt_at, pause_ns = FIRST_PAUSE_NS;

void later_add(struct later *later) {
    pthread_mutex_lock(&lock);
    later->next = arrivals;
    arrivals = later;
    pthread_mutex_unlock(&lock);
    engine_kick();
}

static struct later *take_arrivals(void) {
    pthread_mutex_lock(&lock);
    struct later *first = arrivals;
    arrivals = NULL;
    pthread_mutex_unlock(&lock);
    return first;
}

/* Puts what is still to be done on the pending list; true when something was done. */
static bool attempt_all(struct later *list) {
    bool any = false;
    while (list) {
        struct later *later = list;
        list = list->next;
        if (later->attempt(later)) {
            any = true;
            continue;
        }
        later->next = pending;
        pending = later;
    }
    return any;
}

uint64_t later_attempt(void) {
    struct later *fresh = take_arrivals(), *old = NULL;
    if (!fresh && !pending)
        return 0;
    if (!pending || clock_now_ns() >= attempt_at) {
        old = pending;
        pending = NULL;
        pause_ns = pause_ns < LAST_PAUSE_NS ? 2 * pause_ns : pause_ns;
        attempt_at = clock_now_ns() + pause_ns;
    }
    if (attempt_all(old) || fresh)
        pause_ns = FIRST_PAUSE_NS;
    attempt_all(fresh);
    return pending ? pause_ns : 0;
}

/* SPDX-License-Identifier: MIT */
/* Waiters are semaphores, kept in a list for the next user. */
#include "stream/waiter.h"

#include <pthread.h>
#include <stdlib.h>

#include "driver/event.h"
#include "system/clocks.h"
#include "system/semaphores.h"

static const uint64_t FIRST_SLEEP_NS = 50 * 1000, LAST_SLEEP_NS = 250 * 1000;
enum { SLEEP_SHARE = 128 };

struct waiter {
    struct semaphore wake;
    struct hint hint;
    struct waiter *next;
};

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiter *spare;

void waiter_wake(struct waiter *waiter) { semaphore_post(&waiter->wake); }

static void wake_up(void *waiter) { waiter_wake(waiter); }

struct waiter *waiter_get(void) {
    pthread_mutex_lock(&spare_lock);
    struct waiter *waiter = spare;
    if (waiter)
        spare = waiter->next;
    pthread_mutex_unlock(&spare_lock);
    if (waiter)
        return waiter;
    waiter = malloc(sizeof *waiter);
    if (!waiter || !semaphore_init(&waiter->wake)) {
        free(waiter);
        return NULL;
    }
    waiter->hint = (struct hint){wake_up, waiter};
    return waiter;
}

void waiter_put(struct waiter *waiter) {
    if (!waiter)
        return;
    pthread_mutex_lock(&spare_lock);
    waiter->next = spare;
    spare = waiter;
    pthread_mutex_unlock(&spare_lock);
}

const struct hint *waiter_hint(const struct waiter *waiter) { return &waiter->hint; }

void waiter_sleep(struct waiter *waiter, uint64_t ns) {
    if (!waiter) {
        clock_sleep_ns(ns);
        return;
    }
    semaphore_wait_ns(&waiter->wake, ns);
    semaphore_empty(&waiter->wake);
}

uint64_t waiter_span(uint64_t start, uint64_t deadline) {
    uint64_t now = clock_now_ns();
    uint64_t sleep = (now - start) / SLEEP_SHARE;
    if (sleep < FIRST_SLEEP_NS)
        sleep = FIRST_SLEEP_NS;
    if (sleep > LAST_SLEEP_NS)
        sleep = LAST_SLEEP_NS;
    if (deadline && now + sleep > deadline)
        sleep = deadline > now ? deadline - now : 1;
    return sleep;
}

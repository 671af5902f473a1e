/* SPDX-License-Identifier: MIT */
/* Waiters are semaphores, kept in a list for the next user. */
#define _GNU_SOURCE /* sem_clockwait */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "stream/waiter.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/clock.h"
#include "driver/event.h"

static const uint64_t FIRST_SLEEP_NS = 50 * 1000, LAST_SLEEP_NS = 250 * 1000;
enum { SLEEP_SHARE = 128 };

struct waiter {
    sem_t wake;
    struct hint hint;
    struct waiter *next;
};

static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiter *spare;

void waiter_wake(struct waiter *waiter) { sem_post(&waiter->wake); }

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
    if (!waiter || sem_init(&waiter->wake, 0, 0)) {
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

/* sem_timedwait knows the real-time clock only; a jump of that clock must not stretch a sleep. */
static void sleep_on(sem_t *wake, uint64_t ns) {
#ifdef HAVE_SEM_CLOCKWAIT
    const clockid_t clock = CLOCK_MONOTONIC;
#else
    const clockid_t clock = CLOCK_REALTIME;
#endif
    struct timespec until;
    clock_gettime(clock, &until);
    uint64_t sum = (uint64_t)until.tv_nsec + ns;
    until.tv_sec += (time_t)(sum / CLOCK_SECOND);
    until.tv_nsec = (long)(sum % CLOCK_SECOND);
#ifdef HAVE_SEM_CLOCKWAIT
    sem_clockwait(wake, clock, &until);
#else
    sem_timedwait(wake, &until);
#endif
    while (sem_trywait(wake) == 0)
        continue;
}

void waiter_sleep(struct waiter *waiter, uint64_t ns) {
    if (waiter)
        sleep_on(&waiter->wake, ns);
    else
        clock_sleep_ns(ns);
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

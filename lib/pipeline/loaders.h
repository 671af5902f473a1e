/* SPDX-License-Identifier: MIT */
/*
 * Worker threads of one object, which call a step of it again and again. Each holds a reference to the
 * object. At process exit all of them are told to quit and are waited for up to a limit, because a thread
 * inside a driver that unloads crashes.
 */
#ifndef CLSTREAM_PIPELINE_LOADERS_H
#define CLSTREAM_PIPELINE_LOADERS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/handle.h"

struct loaders;

struct loader_type {
    /* Does one piece of work. Called with the lock held, which it may release meanwhile; false: there was no
     * work. */
    bool (*step)(struct loaders *loaders);
    /* Called by the last thread before it ends, without the lock. */
    void (*at_end)(struct loaders *loaders);
};

/* The first member of the object that has threads. */
struct loaders {
    struct object object;
    const struct loader_type *type;
    pthread_mutex_t lock;
    pthread_cond_t work;
    unsigned workers, numbered; /* running, and given a number */
    bool go, quit;
    struct loaders *prev, *next; /* in the list of all with threads */
};

/* False: no memory; nothing is to be undone. */
bool loaders_init(struct loaders *loaders, const struct loader_type *type);
void loaders_fini(struct loaders *loaders);

/* The number of the calling thread among its object's, from 0. */
unsigned loaders_number(void);

/* Makes the threads, which wait for loaders_go. On CLS_ERROR_OUT_OF_MEMORY `at_end` has been called, or will
 * be by the threads that were made. */
cls_status loaders_start(struct loaders *loaders, unsigned workers);

/* Lets the threads call steps. */
void loaders_go(struct loaders *loaders);

/* Under the lock: there may be work. */
static inline void loaders_wake(struct loaders *loaders) { pthread_cond_broadcast(&loaders->work); }

/* Tells the threads to end after their current step. */
void loaders_quit(struct loaders *loaders);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Threads that belong to one object and run a step of it again and again. Each holds a reference to the
 * object. At process exit all of them are told to go and are waited for, for a while: a thread inside a
 * driver that is unloading crashes.
 */
#ifndef CLSTREAM_PIPELINE_LOADERS_H
#define CLSTREAM_PIPELINE_LOADERS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/handle.h"

struct loaders;

struct loader_type {
    /* Does one piece of work, called with the lock held, which it may leave meanwhile; false: there is
     * none. */
    bool (*step)(struct loaders *loaders);
    /* Called by the last thread to go, without the lock. */
    void (*at_end)(struct loaders *loaders);
};

/* The first member of the object that has threads. */
struct loaders {
    struct object object;
    const struct loader_type *type;
    pthread_mutex_t lock;
    pthread_cond_t work;
    unsigned workers;
    bool go, quit;
    struct loaders *previous, *next; /* of those that have threads */
};

/* False: no memory, and nothing to be undone. */
bool loaders_init(struct loaders *loaders, const struct loader_type *type);
void loaders_fini(struct loaders *loaders);

/* Makes the threads, which do nothing yet. CLS_ERROR_OUT_OF_MEMORY without them; `at_end` has then been
 * called, or is by those there are. */
cls_status loaders_start(struct loaders *loaders, unsigned workers);

/* Sets them to work. */
void loaders_go(struct loaders *loaders);

/* Under the lock: there may be work. */
static inline void loaders_wake(struct loaders *loaders) { pthread_cond_broadcast(&loaders->work); }

/* Tells the threads to go once they are done with what they do. */
void loaders_quit(struct loaders *loaders);

#endif

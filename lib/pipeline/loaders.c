/* SPDX-License-Identifier: MIT */
/* Worker threads, the list of all objects that have any, and their end at process exit. */
#include "pipeline/loaders.h"

#include <utlist.h>

#include "base/at_exit.h"
#include "base/error.h"
#include "base/thread.h"
#include "system/clocks.h"
#include "system/conditions.h"

static const uint64_t EXIT_PATIENCE_NS = 5 * CLOCK_SECOND;

static struct {
    pthread_mutex_t lock; /* a loaders' lock is taken inside it */
    struct loaders *first;
    pthread_cond_t gone; /* a thread has ended; made with the first loaders */
    struct at_exit handler;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct loaders *own; /* the object that this thread works for, or NULL */
static _Thread_local unsigned number;     /* of this thread among that object's */

unsigned loaders_number(void) { return number; }

void loaders_quit(struct loaders *loaders) {
    pthread_mutex_lock(&loaders->lock);
    loaders->quit = true;
    pthread_cond_broadcast(&loaders->work);
    pthread_mutex_unlock(&loaders->lock);
}

/* Under the lock: whether no thread is left. The calling thread does not count, which may be a worker whose
 * step calls exit(). */
static bool are_gone(void) {
    if (!own)
        return !all.first;
    pthread_mutex_lock(&own->lock);
    const bool alone = own->workers <= 1; /* 0: at_end is what exits */
    pthread_mutex_unlock(&own->lock);
    return alone && all.first == own && !own->next;
}

static void at_exit(void) {
    const uint64_t deadline = clock_now_ns() + EXIT_PATIENCE_NS;
    if (!at_exit_is_due(&all.handler))
        return;
    pthread_mutex_lock(&all.lock);
    for (struct loaders *one = all.first; one; one = one->next)
        loaders_quit(one);
    while (!are_gone() && condition_wait(&all.gone, &all.lock, deadline))
        continue;
    pthread_mutex_unlock(&all.lock);
}

static void register_exit(void) {
    if (condition_init(&all.gone))
        at_exit_register(&all.handler, at_exit);
}

static void enlist(struct loaders *loaders) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_exit);
    pthread_mutex_lock(&all.lock);
    DL_PREPEND(all.first, loaders);
    pthread_mutex_unlock(&all.lock);
}

bool loaders_init(struct loaders *loaders, const struct loader_type *type) {
    loaders->type = type;
    if (pthread_mutex_init(&loaders->lock, NULL))
        return false;
    if (pthread_cond_init(&loaders->work, NULL)) {
        pthread_mutex_destroy(&loaders->lock);
        return false;
    }
    return true;
}

void loaders_fini(struct loaders *loaders) {
    pthread_cond_destroy(&loaders->work);
    pthread_mutex_destroy(&loaders->lock);
}

/* Ends one thread; the last one calls at_end. */
static void end_thread(struct loaders *loaders) {
    pthread_mutex_lock(&loaders->lock);
    const bool last = --loaders->workers == 0;
    pthread_mutex_unlock(&loaders->lock);
    if (last)
        loaders->type->at_end(loaders);
    pthread_mutex_lock(&all.lock);
    if (last)
        DL_DELETE(all.first, loaders);
    pthread_cond_broadcast(&all.gone);
    pthread_mutex_unlock(&all.lock);
    object_release(&loaders->object);
}

static void *run(void *arg) {
    struct loaders *loaders = own = arg;
    pthread_mutex_lock(&loaders->lock);
    number = loaders->numbered++;
    while (!loaders->quit)
        if (!loaders->go || !loaders->type->step(loaders))
            pthread_cond_wait(&loaders->work, &loaders->lock);
    pthread_mutex_unlock(&loaders->lock);
    end_thread(loaders);
    return NULL;
}

static bool start_one(struct loaders *loaders) {
    object_retain(&loaders->object);
    if (thread_start(NULL, "cls-loader", run, loaders)) {
        end_thread(loaders);
        return false;
    }
    return true;
}

cls_status loaders_start(struct loaders *loaders, unsigned workers) {
    bool started = true;
    enlist(loaders);
    loaders->workers = workers;
    for (unsigned i = 0; i < workers; i++) {
        if (started)
            started = start_one(loaders);
        else {
            object_retain(&loaders->object);
            end_thread(loaders);
        }
    }
    if (started)
        return CLS_SUCCESS;
    loaders_quit(loaders);
    return error_set(CLS_ERROR_OUT_OF_MEMORY, "no threads for a prefetcher");
}

void loaders_go(struct loaders *loaders) {
    pthread_mutex_lock(&loaders->lock);
    loaders->go = true;
    pthread_cond_broadcast(&loaders->work);
    pthread_mutex_unlock(&loaders->lock);
}

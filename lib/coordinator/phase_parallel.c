/* SPDX-License-Identifier: MIT */
/* A phase with a host thread for each stream. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "coordinator/phase.h"

/* All threads are made before the first call, so that without memory nothing is called. Each part has a
 * condition of its own: with one for all, n threads in a chain would be woken n^2 times. */
enum start { START_WAIT, START_GO, START_CANCEL };

struct team {
    struct phase *phase; /* its parts and failure are guarded by the lock while threads run */
    pthread_mutex_t lock;
    pthread_cond_t started;
    enum start start;
    struct runner *runners; /* in the order of the plan */
};

struct runner {
    struct team *team;
    size_t i;
    pthread_t thread;
    pthread_cond_t finished; /* the part is done or has failed */
};

/* Under the lock. */
static void await_prerequisites(struct team *team, size_t i) {
    const struct planned *planned = &team->phase->plan.streams[i];
    for (size_t j = 0; j < planned->n_prerequisites; j++) {
        uint32_t first = planned->prerequisites[j];
        while (team->phase->parts[first] == PART_WAITING)
            pthread_cond_wait(&team->runners[first].finished, &team->lock);
    }
}

/* Under the lock; false when there is nothing to call. */
static bool await_turn(struct team *team, size_t i) {
    while (team->start == START_WAIT)
        pthread_cond_wait(&team->started, &team->lock);
    if (team->start == START_CANCEL)
        return false;
    await_prerequisites(team, i);
    bool call = phase_may_call(team->phase, i);
    if (!call)
        team->phase->parts[i] = PART_FAILED;
    return call;
}

static void *run_part(void *arg) {
    struct runner *runner = arg;
    struct team *team = runner->team;
    pthread_mutex_lock(&team->lock);
    if (await_turn(team, runner->i)) {
        bool has_detail = false;
        pthread_mutex_unlock(&team->lock);
        cls_status status = phase_call(team->phase, runner->i, &has_detail);
        pthread_mutex_lock(&team->lock);
        phase_finish(team->phase, runner->i, status, has_detail);
    }
    pthread_cond_broadcast(&runner->finished);
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

static void start(struct team *team, enum start how) {
    pthread_mutex_lock(&team->lock);
    team->start = how;
    pthread_cond_broadcast(&team->started);
    pthread_mutex_unlock(&team->lock);
}

static int make_runner(struct team *team, size_t i) {
    struct runner *runner = &team->runners[i];
    *runner = (struct runner){.team = team, .i = i};
    int error = pthread_cond_init(&runner->finished, NULL);
    if (error)
        return error;
    error = thread_start(&runner->thread, "cls-phase", run_part, runner);
    if (error)
        pthread_cond_destroy(&runner->finished);
    return error;
}

static cls_status run_threads(struct team *team) {
    size_t count = team->phase->plan.count, made = 0;
    int error = 0;
    while (made < count && !error) {
        error = make_runner(team, made);
        if (!error)
            made++;
    }
    start(team, error ? START_CANCEL : START_GO);
    for (size_t i = 0; i < made; i++)
        pthread_join(team->runners[i].thread, NULL);
    for (size_t i = 0; i < made; i++)
        pthread_cond_destroy(&team->runners[i].finished);
    if (error)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no thread for stream %zu of %zu: %s", made + 1,
                         count, strerror(error));
    return CLS_SUCCESS;
}

/* An error: the host lacks memory or threads, and nothing was called. Failures of calls are in the phase. */
static cls_status run_team(struct phase *phase) {
    struct team team = {.phase = phase};
    cls_status status = CLS_SUCCESS;
    team.runners = calloc(phase->plan.count + 1, sizeof *team.runners);
    if (!team.runners)
        return error_no_memory("for a phase on several threads");
    if (pthread_mutex_init(&team.lock, NULL)) {
        free(team.runners);
        return error_no_memory("for a phase on several threads");
    }
    if (pthread_cond_init(&team.started, NULL)) {
        status = error_no_memory("for a phase on several threads");
    } else {
        status = run_threads(&team);
        pthread_cond_destroy(&team.started);
    }
    pthread_mutex_destroy(&team.lock);
    free(team.runners);
    return status;
}

cls_status cls_coordinator_execute_parallel(cls_coordinator handle, cls_phase_fn fn, void *arg) {
    struct coordinator *coordinator;
    struct phase phase;
    cls_status status = coordinator_get(handle, &coordinator);
    if (status)
        return status;
    status = check_may_block();
    if (!status)
        status = phase_begin(coordinator, fn, arg, &phase);
    if (!status) {
        cls_status host = run_team(&phase);
        status = host ? host : phase_end(coordinator, &phase);
        if (host)
            phase_drop(&phase);
    }
    coordinator_put(coordinator);
    return status;
}

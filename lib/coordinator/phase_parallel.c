/* SPDX-License-Identifier: MIT */
/* A phase with a host thread for each stream. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "coordinator/phase.h"

/* All threads are made before the first call, so that a phase is called whole or not at all. A part that is
 * settled wakes those alone that wait for it: were it all, n threads in a chain would be woken n^2 times. */
enum start { START_HOLD, START_GO, START_CANCEL };

struct team {
    struct phase *phase; /* its parts and failure are guarded by the lock while threads run */
    pthread_mutex_t lock;
    pthread_cond_t started;
    enum start start;
    struct player *players; /* in the order of the plan */
};

struct player {
    struct team *team;
    size_t i;
    pthread_t thread;
    pthread_cond_t settled; /* the part */
};

/* Under the lock. */
static void await_prerequisites(struct team *team, size_t i) {
    const struct planned *planned = &team->phase->plan.streams[i];
    for (size_t j = 0; j < planned->n_prerequisites; j++) {
        uint32_t first = planned->prerequisites[j];
        while (team->phase->parts[first] == PART_AHEAD)
            pthread_cond_wait(&team->players[first].settled, &team->lock);
    }
}

/* Under the lock; false when there is nothing to call. */
static bool await_turn(struct team *team, size_t i) {
    while (team->start == START_HOLD)
        pthread_cond_wait(&team->started, &team->lock);
    if (team->start == START_CANCEL)
        return false;
    await_prerequisites(team, i);
    bool call = phase_may_call(team->phase, i);
    if (!call)
        team->phase->parts[i] = PART_FAILED;
    return call;
}

static void *play(void *arg) {
    struct player *player = arg;
    struct team *team = player->team;
    pthread_mutex_lock(&team->lock);
    if (await_turn(team, player->i)) {
        bool told = false;
        pthread_mutex_unlock(&team->lock);
        cls_status status = phase_call(team->phase, player->i, &told);
        pthread_mutex_lock(&team->lock);
        phase_settle(team->phase, player->i, status, told);
    }
    pthread_cond_broadcast(&player->settled);
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

static void start(struct team *team, enum start how) {
    pthread_mutex_lock(&team->lock);
    team->start = how;
    pthread_cond_broadcast(&team->started);
    pthread_mutex_unlock(&team->lock);
}

static int make_player(struct team *team, size_t i) {
    struct player *player = &team->players[i];
    *player = (struct player){.team = team, .i = i};
    int error = pthread_cond_init(&player->settled, NULL);
    if (error)
        return error;
    error = thread_start(&player->thread, "cls-phase", play, player);
    if (error)
        pthread_cond_destroy(&player->settled);
    return error;
}

static cls_status play_all(struct team *team) {
    size_t count = team->phase->plan.count, made = 0;
    int error = 0;
    while (made < count && !error) {
        error = make_player(team, made);
        if (!error)
            made++;
    }
    start(team, error ? START_CANCEL : START_GO);
    for (size_t i = 0; i < made; i++)
        pthread_join(team->players[i].thread, NULL);
    for (size_t i = 0; i < made; i++)
        pthread_cond_destroy(&team->players[i].settled);
    if (error)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no thread for stream %zu of %zu: %s", made + 1,
                         count, strerror(error));
    return CLS_SUCCESS;
}

static cls_status no_memory(void) {
    return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a phase on several threads");
}

/* An error is of the host, and nothing was called; what the calls came to is the phase's. */
static cls_status run_team(struct phase *phase) {
    struct team team = {.phase = phase};
    cls_status status = CLS_SUCCESS;
    team.players = calloc(phase->plan.count + 1, sizeof *team.players);
    if (!team.players)
        return no_memory();
    if (pthread_mutex_init(&team.lock, NULL)) {
        free(team.players);
        return no_memory();
    }
    if (pthread_cond_init(&team.started, NULL)) {
        status = no_memory();
    } else {
        status = play_all(&team);
        pthread_cond_destroy(&team.started);
    }
    pthread_mutex_destroy(&team.lock);
    free(team.players);
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

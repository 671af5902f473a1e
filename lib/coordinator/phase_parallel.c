/* SPDX-License-Identifier: MIT */
/* A phase with a host thread for each stream. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "coordinator/phase.h"

/* All threads are made before the first call, so that a phase is called whole or not at all. */
enum start { START_HOLD, START_GO, START_CANCEL };

struct team {
    struct phase *phase; /* its parts and failure are guarded by the lock while threads run */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum start start;
};

struct player {
    struct team *team;
    size_t i;
    pthread_t thread;
};

static bool is_settled(const struct phase *phase, size_t i) {
    const struct planned *planned = &phase->plan.streams[i];
    for (size_t j = 0; j < planned->n_prerequisites; j++)
        if (phase->parts[planned->prerequisites[j]] == PART_AHEAD)
            return false;
    return true;
}

/* Under the lock; false when there is nothing to call. */
static bool await_turn(struct team *team, size_t i) {
    while (team->start == START_HOLD)
        pthread_cond_wait(&team->changed, &team->lock);
    if (team->start == START_CANCEL)
        return false;
    while (!is_settled(team->phase, i))
        pthread_cond_wait(&team->changed, &team->lock);
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
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

static void start(struct team *team, enum start how) {
    pthread_mutex_lock(&team->lock);
    team->start = how;
    pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&team->lock);
}

static cls_status play_all(struct team *team, struct player *players) {
    size_t count = team->phase->plan.count, made = 0;
    int error = 0;
    while (made < count && !error) {
        players[made] = (struct player){.team = team, .i = made};
        error = pthread_create(&players[made].thread, NULL, play, &players[made]);
        if (!error)
            made++;
    }
    start(team, error ? START_CANCEL : START_GO);
    for (size_t i = 0; i < made; i++)
        pthread_join(players[i].thread, NULL);
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
    struct player *players = calloc(phase->plan.count + 1, sizeof *players);
    if (!players)
        return no_memory();
    if (pthread_mutex_init(&team.lock, NULL)) {
        free(players);
        return no_memory();
    }
    if (pthread_cond_init(&team.changed, NULL)) {
        status = no_memory();
    } else {
        status = play_all(&team, players);
        pthread_cond_destroy(&team.changed);
    }
    pthread_mutex_destroy(&team.lock);
    free(players);
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

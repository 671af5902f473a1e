/* SPDX-License-Identifier: MIT */
/*
 * Random operations on streams that threads share, over the borders of modules, against a model that says the
 * value of each cell and what has failed. Ends with 0 where nothing differed; else it prints the seed, the
 * difference and what was done before it. The environment:
 *
 *   MIXED_SEED     of the first run; the next run's is the next number. 1
 *   MIXED_SECONDS  runs are begun for so long; unset: MIXED_RUNS of them
 *   MIXED_RUNS     20
 *   MIXED_THREADS  1 to 4; unset: by the seed. With 1 the seed says all that is submitted, and in which order,
 *                  but for how often a stream is reset on which several failures meet
 *   MIXED_STEPS    operations of each thread in a run; 300, and in every tenth run 3000
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../support/patience.h"
#include "play.h"

enum { HANG_S = 60 };

static struct world world;
static struct journal journals[THREADS];
static struct journal *const all_journals[THREADS] = {&journals[0], &journals[1], &journals[2],
                                                      &journals[3]};
static char about_hang[128];

static unsigned number(const char *name, unsigned otherwise) {
    const char *text = getenv(name);
    return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void tell_hang(int sig) {
    (void)sig;
    if (write(STDOUT_FILENO, about_hang, strlen(about_hang)) < 0)
        _exit(98);
    _exit(97);
}

static void make_player(struct player *player, unsigned i) {
    *player = (struct player){.world = &world, .number = i, .journal = &journals[i]};
    player->random = (world.seed * THREADS + i + 1) * 2654435761u + 88172645463325252u;
    for (unsigned k = 0; k < 8; k++)
        draw(player, 2);
    journal_clear(player->journal);
}

static void *play_thread(void *player) {
    play(player);
    return NULL;
}

/* Whether nothing is wrong. */
static bool run(uint64_t seed) {
    struct player players[THREADS], keeper;
    pthread_t threads[THREADS];
    world.seed = seed;
    world.threads = number("MIXED_THREADS", (unsigned)(seed % THREADS) + 1);
    world.steps = number("MIXED_STEPS", seed % 10 ? 300 : 3000);
    world.fails = seed / THREADS % 4 != 0;
    snprintf(about_hang, sizeof about_hang, "# seed %llu with %u threads hangs\n",
             (unsigned long long)seed, world.threads);
    for (unsigned i = 0; i < THREADS; i++)
        make_player(&players[i], i);
    keeper = players[0];
    keeper.random ^= 1;
    world_begin(&world, &keeper);
    for (unsigned i = 0; i < world.threads; i++)
        if (pthread_create(&threads[i], NULL, play_thread, &players[i]))
            abort();
    for (unsigned i = 0; i < world.threads; i++)
        pthread_join(threads[i], NULL);
    if (!journals_spoilt())
        world_end(&world, &keeper);
    if (!journals_spoilt())
        return true;
    printf("# seed %llu, %u threads; what came before, thread by thread:\n",
           (unsigned long long)seed, world.threads);
    journals_print(all_journals, THREADS);
    return false;
}

int main(void) {
    const unsigned first = number("MIXED_SEED", 1), seconds = number("MIXED_SECONDS", 0);
    const unsigned runs = number("MIXED_RUNS", seconds ? 1u << 30 : 20);
    const time_t until = time(NULL) + (time_t)seconds;
    unsigned i = 0;
    bool good = true;
    signal(SIGALRM, tell_hang);
    watchdog(HANG_S);
    if (!world_open(&world)) {
        printf("# no world: %s\n", cls_last_error_detail());
        return 99;
    }
    if (world_runs_inline(&world)) {
        printf("# this driver is for single-threaded use\n");
        return 77;
    }
    for (; good && i < runs && (i == 0 || !seconds || time(NULL) < until); i++) {
        watchdog(HANG_S);
        good = run(first + i);
    }
    if (!good) {
        fflush(stdout);
        _exit(1); /* with work pending on memory of this program */
    }
    world_close(&world);
    watchdog(0);
    printf("# seeds %u to %u: %llu operations, %u failures\n", first, first + i - 1,
           (unsigned long long)world.operations, world.failures);
    return 0;
}

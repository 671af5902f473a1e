/* SPDX-License-Identifier: MIT */
/*
 * One mutant of the library under the schedule layer: mutant_probe POLICY MUTANT, by number. Ends with 0 when
 * the mutant computes everything right, with 1 when it was caught, and says how. mutants.sh runs all.
 */
#include "mutant.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../support/patience.h"
#include "../loading.h"
#include "../schedules/controls.h"
#include "../schedules/dag.h"
#include "../schedules/policy.h"
#include "block_orders.h"

enum { HANG_S = 15, ROUNDS = 20, COMMANDS = 1000, SURVIVED = 0, CAUGHT = 1, UNUSABLE = 77 };

static int which = MUTANTS;

bool mutant(enum mutant mutation) { return (int)mutation == which; }

static const struct schedule_controls *controls;

static void hold(bool held) { controls->hold(held); }

static void hang(int signal_number) {
    static const char text[] = "caught: a hang\n";
    (void)signal_number;
    ssize_t put = write(STDOUT_FILENO, text, sizeof text - 1);
    _exit(put > 0 ? CAUGHT : 2);
}

static int play(cls_context context, cls_order order) {
    struct dag_result result;
    uint64_t commands = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        watchdog(HANG_S);
        const struct dag_plan plan = {.seed = i + 1,
                                      .commands = COMMANDS,
                                      .order = order,
                                      .streams = i % 4 == 3 ? 1 : 6,
                                      .batch = 64 << i % 3,
                                      .hold = hold};
        controls->choose(i % 2 ? SCHEDULE_RANDOM : SCHEDULE_LAST_FIRST, i);
        dag_run(context, &plan, &result);
        commands += result.commands;
        if (result.failed || result.different) {
            printf("caught: %s\n", result.what);
            return CAUGHT;
        }
        if (controls->unflushed()) {
            printf("caught: a wait for what nobody flushed, within %llu commands\n",
                   (unsigned long long)commands);
            return CAUGHT;
        }
    }
    printf("survived %llu commands\n", (unsigned long long)commands);
    return SURVIVED;
}

static int play_blocks(cls_context context) {
    static const enum schedule_order orders[] = {SCHEDULE_LAST_FIRST, SCHEDULE_RANDOM,
                                                 SCHEDULE_FIRST_FIRST};
    const char *what;
    for (uint64_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        watchdog(HANG_S);
        controls->choose(orders[i], i);
        if (!block_orders(context, hold, &what)) {
            printf("caught: %s\n", what);
            return CAUGHT;
        }
    }
    return SURVIVED;
}

/* Streams that others make are of the same kind as the graphs'. */
static void force_order(enum policy policy) {
    setenv("CLSTREAM_QUEUE_ORDER", policy == POLICY_OUT_OF_ORDER ? "out" : "in", 1);
}

int main(int argc, char **argv) {
    cls_context context;
    if (argc != 3)
        return 2;
    layer_start("schedule_layer", argv);
    controls = layer_controls("schedule_layer", SCHEDULE_CONTROLS);
    force_order((enum policy)atoi(argv[1]));
    cls_order order = policy_choose((enum policy)atoi(argv[1]));
    if (order == CLS_ORDER_AUTO || cls_context_create(NULL, &context)) {
        printf("no such queues here\n");
        return UNUSABLE;
    }
    setvbuf(stdout, NULL, _IONBF, 0);
    signal(SIGALRM, hang);
    which = atoi(argv[2]);
    int result = play_blocks(context);
    if (result == SURVIVED)
        result = play(context, order);
    if (result == CAUGHT)
        _exit(result); /* what a mutant leaves behind need not end well */
    which = MUTANTS;
    cls_context_destroy(context);
    return result;
}

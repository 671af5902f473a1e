/* SPDX-License-Identifier: MIT */
/*
 * Random graphs under orders of execution that the dependencies allow and drivers seldom show.
 * TEST_EFFORT=long runs more than a million commands, else 20,000; CLS_SEED starts from another seed.
 */
#include "controls.h"

#include "../../support/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../support/effort.h"
#include "../../support/patience.h"
#include "../loading.h"
#include "dag.h"
#include "policy.h"

/* A slow driver gets a budget, and then runs less, but no less than LEAST. */
enum {
    HANG_S = 60,
    COMMANDS_A_SECOND = 500,
    GRAPHS = 40,
    SCHEDULES = 8,
    BUDGET_S = 15,
    LEAST = 250
};

static const struct schedule_controls *controls;
static cls_context context;

static void hold(bool held) { controls->hold(held); }

static unsigned long long seed(void) {
    const char *value = getenv("CLS_SEED");
    return value ? strtoull(value, NULL, 10) : 1;
}

static uint64_t commands(uint64_t few, uint64_t many) { return effort_is_long() ? many : few; }

static struct dag_result run(enum schedule_order order, uint64_t schedule, struct dag_plan plan) {
    struct dag_result result;
    watchdog(HANG_S + (unsigned)(plan.commands / COMMANDS_A_SECOND));
    controls->choose(order, schedule);
    plan.hold = order == SCHEDULE_OPEN ? NULL : hold;
    dag_run(context, &plan, &result);
    watchdog(0);
    if (result.failed)
        fail_msg("seed %llu: %s", (unsigned long long)plan.seed, result.what);
    return result;
}

/* The order for a policy, or a skipped test. */
static cls_order need(enum policy policy) {
    cls_order order = policy_choose(policy);
    if (order == CLS_ORDER_AUTO) {
        print_message("the device has no %s queues\n", policy_names[policy]);
        skip();
    }
    return order;
}

/* --- the instrument --- */

/* Whether a graph with one wait left out comes out wrong. */
static bool shows(enum schedule_order order, uint64_t schedule, cls_order queue, unsigned i) {
    const struct dag_plan plan = {.seed = seed() + i,
                                  .commands = 128,
                                  .order = queue,
                                  .streams = 6,
                                  .batch = 128,
                                  .planted = 10 + i % 20,
                                  .narrow = 4};
    return run(order, schedule, plan).different;
}

/* Of `*graphs` graphs with one wait left out, how many a few schedules expose. */
static unsigned exposed(bool layer, cls_order queue, unsigned *graphs) {
    unsigned wrong = 0, i;
    time_t until = time(NULL) + BUDGET_S;
    for (i = 0; i < *graphs && time(NULL) < until; i++) {
        bool seen = shows(layer ? SCHEDULE_LAST_FIRST : SCHEDULE_OPEN, 0, queue, i);
        for (unsigned k = 1; k < SCHEDULES && !seen; k++)
            seen = shows(layer ? SCHEDULE_RANDOM : SCHEDULE_OPEN, k, queue, i);
        wrong += seen;
    }
    *graphs = i;
    return wrong;
}

static void test_one_missing_wait_shows(void **state) {
    cls_order queue = need(*(const enum policy *)*state);
    unsigned graphs = GRAPHS;
    unsigned with = exposed(true, queue, &graphs), without = exposed(false, queue, &graphs);
    print_message("# one wait left out shows in %u of %u graphs, in %u without the layer\n", with,
                  graphs, without);
    if (graphs >= GRAPHS / 2) /* else too few to tell */
        assert_true(with >= graphs * 4 / 5);
}

/* A host that waits in the driver is let go though gates are held, also by what another thread enqueues in
 * the meantime: on an in-order queue that may come before what the host waits for. */
enum { WAITS = 200, FILLS = 4 /* for each wait: the gates are to keep up */ };

struct desk {
    cl_command_queue queue;
    cl_mem memory;
    _Atomic unsigned wanted;
    _Atomic bool over;
};

static void *keep_filling(void *arg) {
    struct desk *desk = arg;
    const cl_uint zero = 0;
    for (unsigned filled = 0; !desk->over;) {
        if (filled == desk->wanted) {
            sched_yield();
            continue;
        }
        if (clEnqueueFillBuffer(desk->queue, desk->memory, &zero, 4, 0, 64, 0, NULL, NULL))
            break;
        filled++;
    }
    return NULL;
}

static void map_and_unmap(const struct desk *desk) {
    cl_int code;
    void *at = clEnqueueMapBuffer(desk->queue, desk->memory, CL_TRUE, CL_MAP_READ, 0, 64, 0, NULL,
                                  NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clEnqueueUnmapMemObject(desk->queue, desk->memory, at, 0, NULL, NULL),
                     CL_SUCCESS);
}

static void test_a_host_that_waits_is_let_go(void **state) {
    struct desk desk = {.over = false};
    pthread_t thread;
    cl_context cl;
    cl_device_id device;
    cl_int code;
    (void)state;
    assert_int_equal(cls_context_get_cl(context, &cl, &device), CLS_SUCCESS);
    desk.queue = clCreateCommandQueue(cl, device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    desk.memory = clCreateBuffer(cl, CL_MEM_READ_WRITE, 64, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    controls->choose(SCHEDULE_LAST_FIRST, 0);
    watchdog(HANG_S);
    hold(true);
    assert_int_equal(pthread_create(&thread, NULL, keep_filling, &desk), 0);
    for (int i = 0; i < WAITS; i++) {
        desk.wanted += FILLS;
        map_and_unmap(&desk);
    }
    desk.over = true;
    pthread_join(thread, NULL);
    assert_int_equal(clFinish(desk.queue), CL_SUCCESS);
    hold(false);
    watchdog(0);
    assert_int_equal(clReleaseMemObject(desk.memory), CL_SUCCESS);
    assert_int_equal(clReleaseCommandQueue(desk.queue), CL_SUCCESS);
}

/* --- the library --- */

static void compute(enum schedule_order order, enum policy policy, uint64_t few, uint64_t many) {
    const struct dag_plan plan = {.seed = seed(),
                                  .commands = commands(few, many),
                                  .budget_s = commands(BUDGET_S, 0),
                                  .order = need(policy),
                                  .streams = 6,
                                  .batch = 256};
    struct dag_result result = run(order, plan.seed, plan);
    print_message("# %llu commands, %llu waits\n", (unsigned long long)result.commands,
                  (unsigned long long)result.waits);
    if (result.different)
        fail_msg("%s", result.what);
    assert_true(result.commands >= LEAST);
    assert_int_equal(controls->unflushed(), 0);
}

static void test_last_first(void **state) {
    compute(SCHEDULE_LAST_FIRST, *(const enum policy *)*state, 4000, 200000);
}

static void test_random(void **state) {
    compute(SCHEDULE_RANDOM, *(const enum policy *)*state, 3000, 150000);
}

/* Commands behind user events hang Oclgrind's flush. */
static bool runs_inline(void) {
    cls_quirk quirk;
    size_t device;
    if (cls_device_find(NULL, &device))
        return false;
    for (size_t i = 0; cls_device_get_quirk(device, i, &quirk) == CLS_SUCCESS; i++)
        if (!strcmp(quirk.name, "flush_runs_commands"))
            return true;
    return false;
}

static int setup(void **state) {
    (void)state;
    return cls_context_create(NULL, &context) ? -1 : 0;
}

static int teardown(void **state) {
    (void)state;
    print_message("# %llu commands gated, at most %u at a time\n",
                  (unsigned long long)controls->gated(), controls->widest());
    return controls->gated() > 0 && !cls_context_destroy(context) ? 0 : -1;
}

#define WITH(test, policy) cmocka_unit_test_prestate(test, (void *)(uintptr_t)&policies[policy])

int main(int argc, char **argv) {
    static const enum policy policies[POLICIES] = {POLICY_OUT_OF_ORDER, POLICY_IN_ORDER,
                                                   POLICY_EVENT_LESS};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_host_that_waits_is_let_go),
        WITH(test_one_missing_wait_shows, POLICY_OUT_OF_ORDER),
        WITH(test_one_missing_wait_shows, POLICY_IN_ORDER),
        WITH(test_one_missing_wait_shows, POLICY_EVENT_LESS),
        WITH(test_last_first, POLICY_OUT_OF_ORDER),
        WITH(test_random, POLICY_OUT_OF_ORDER),
        WITH(test_last_first, POLICY_IN_ORDER),
        WITH(test_random, POLICY_IN_ORDER),
        WITH(test_last_first, POLICY_EVENT_LESS),
        WITH(test_random, POLICY_EVENT_LESS),
    };
    (void)argc;
    layer_start("schedule_layer", argv);
    controls = layer_controls("schedule_layer", SCHEDULE_CONTROLS);
    if (runs_inline()) {
        printf("1..0 # SKIP the driver's flush hangs on commands that wait for user events\n");
        return 0;
    }
    return cmocka_run_group_tests_name("schedule", tests, setup, teardown);
}

/* SPDX-License-Identifier: MIT */
#include "sweep.h"

#include "../../support/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../support/effort.h"
#include "../../support/patience.h"

enum {
    HANG_S = 10,     /* for one run, on a machine that has nothing else to do */
    COMPILES_S = 60, /* for one without a fault, which comes first, and has the driver compile */
    EXTENSIONS = 8,  /* so many times that, where it has */
    SETTLE_S = 5,    /* for the library to give back what was destroyed */
    FIRST_CALLS = 2, /* of a function */
    STRIDE = 16,     /* through its later calls, unless the effort is long */
    POLLS = 24,      /* calls swept of a function that is called until something has happened */
    MAX_FINDINGS = 20
};

/* --- a crash or a hang says what was being done --- */

static char doing[256];
static volatile sig_atomic_t extensions;

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Whether this thread is kept waiting for a processor while it computes. */
static bool machine_is_busy(void) {
    const double wall = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_THREAD_CPUTIME_ID);
    while (seconds(CLOCK_THREAD_CPUTIME_ID) - used < 0.02)
        continue;
    return seconds(CLOCK_MONOTONIC) - wall > 0.03;
}

static void say_and_die(int signal_number) {
    static const char crash[] = "# crashed in: ", hang[] = "# hung in: ";
    if (signal_number == SIGALRM && extensions && machine_is_busy()) {
        extensions--;
        signal(SIGALRM, say_and_die); /* which its coming may have reset */
        watchdog(HANG_S);
        return;
    }
    const char *head = signal_number == SIGALRM ? hang : crash;
    ssize_t put = write(STDOUT_FILENO, head, strlen(head));
    put += write(STDOUT_FILENO, doing, strlen(doing));
    put += write(STDOUT_FILENO, "\n", 1);
    if (put < 0 || !getenv("SWEEP_CORE"))
        _exit(70);
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void guard(void) {
    static const int signals[] = {SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], say_and_die);
}

/* --- one run --- */

struct sweep_run {
    struct run run;
    unsigned fired;
    bool serious; /* one of the calls that failed is not harmless */
    long left;
    char live[256];
};

/* Waits until nothing is alive: what is destroyed is freed by the library's threads. */
static long settle(const struct sweep *sweep, char *text) {
    long left = sweep->live(text);
    for (unsigned ms = 0; left && ms < 1000 * patience(SETTLE_S); ms++) {
        sleep_us(1000);
        left = sweep->live(text);
    }
    return left;
}

/* Whether a call has failed whose failure must be reported. */
static bool is_serious(const struct sweep *sweep) {
    bool serious = false;
    const char *name;
    for (unsigned i = 0; !serious && (name = sweep->function(i)) != NULL; i++)
        serious = sweep->fired(name) && !sweep->harmless(name);
    return serious;
}

static const struct sweep *current;

static void relent(void) { current->arm(NULL); }

static struct sweep_run run_once(const struct sweep *sweep, const struct scenario *scenario,
                                 const struct fault_plan *plan) {
    struct sweep_run result = {.run = {0}};
    current = sweep;
    scenario_relent = relent;
    guard();
    extensions = EXTENSIONS;
    watchdog(plan->nth ? HANG_S : COMPILES_S);
    sweep->arm(plan);
    scenario->run(&result.run);
    result.fired = sweep->fired(NULL);
    result.serious = result.fired && is_serious(sweep);
    sweep->arm(NULL);
    extensions = EXTENSIONS;
    watchdog(HANG_S);
    result.left = settle(sweep, result.live);
    watchdog(0);
    return result;
}

static void describe(const struct scenario *scenario, const struct fault_plan *plan) {
    static const char *const how[] = {"once", "from then on", "and everything after"};
    snprintf(doing, sizeof doing, "%s, %s #%u failing with %d %s", scenario->name,
             plan->function ? plan->function : "call", plan->nth, (int)plan->code,
             plan->nth ? how[plan->persistence] : "never");
}

const char *sweep_clean(const struct sweep *sweep, const struct scenario *scenario) {
    static const struct fault_plan none = {0};
    describe(scenario, &none);
    struct sweep_run result = run_once(sweep, scenario, &none);
    if (result.run.errors)
        fail_msg("%s without a fault: %s (%s)", scenario->name, cls_status_string(result.run.first),
                 cls_last_error_detail());
    if (result.run.wrong)
        fail_msg("%s without a fault: %s wrong", scenario->name, result.run.what);
    if (result.left)
        fail_msg("%s without a fault leaves %s", scenario->name, result.live);
    return result.run.nothing;
}

/* --- the sweep --- */

struct tally {
    unsigned runs, fired, reported, harmless, findings;
};

/* NULL when the run was as it should be. */
static const char *judge(const struct sweep_run *result, char *text, size_t size) {
    const char *what = NULL;
    if (result->left)
        what = result->live;
    else if (result->run.wrong)
        what = result->run.what;
    else if (result->serious && !result->run.errors && !result->run.masked)
        what = "nothing reported";
    else if (!result->fired && result->run.errors)
        what = cls_status_string(result->run.first);
    if (!what)
        return NULL;
    snprintf(text, size, "%s%s%s%s", result->left ? "alive: " : "",
             result->run.wrong ? "wrong: " : "", what, result->fired ? "" : " (no fault came)");
    return text;
}

static void try(const struct sweep *sweep, const struct scenario *scenario,
                const struct fault_plan *plan, struct tally *tally) {
    char text[300];
    describe(scenario, plan);
    struct sweep_run result = run_once(sweep, scenario, plan);
    tally->runs++;
    tally->fired += result.fired != 0;
    tally->reported += result.run.errors != 0;
    tally->harmless += result.fired && !result.run.errors;
    if (!judge(&result, text, sizeof text))
        return;
    print_message("# %s: %s\n", doing, text);
    if (++tally->findings == MAX_FINDINGS)
        fail_msg("%s: that is enough", scenario->name);
}

bool sweep_once(const struct sweep *sweep, const struct scenario *scenario,
                const struct fault_plan *plan, bool *fired) {
    struct tally tally = {0};
    try(sweep, scenario, plan, &tally);
    *fired = tally.fired != 0;
    return !tally.findings;
}

/* A call that is not failed in a scenario, where a foreign library does not survive it. */
static const struct {
    const char *scenario, *function;
} spared[] = {{"library_call", "clRetainCommandQueue"} /* CLBlast 1.7; no driver refuses it */};

static const char *spared_in(const struct scenario *scenario) {
    for (size_t i = 0; i < sizeof spared / sizeof *spared; i++)
        if (!strcmp(spared[i].scenario, scenario->name))
            return spared[i].function;
    return NULL;
}

static bool is_spared(const struct scenario *scenario, const char *function) {
    const char *name = spared_in(scenario);
    return name && !strcmp(name, function);
}

/* All ways in which one call can fail, or one of them by turns. */
static void fail_call(const struct sweep *sweep, const struct scenario *scenario,
                      const char *function, unsigned nth, unsigned *turn, struct tally *tally) {
    const cl_int *codes = sweep->codes(function);
    unsigned n_codes = 0, persistences = function ? 2 : 1;
    while (codes[n_codes])
        n_codes++;
    unsigned ways = n_codes * persistences, chosen = (*turn)++ % ways;
    for (unsigned way = 0; way < ways; way++) {
        const struct fault_plan plan = {
            .function = function,
            .nth = nth,
            .persistence = !function                 ? FAULT_EVERYTHING_AFTER
                           : way % persistences == 0 ? FAULT_ONCE
                                                     : FAULT_STICKY,
            .code = codes[way / persistences],
            .spared = spared_in(scenario),
        };
        if (effort_is_long() || way == chosen)
            try(sweep, scenario, &plan, tally);
    }
}

/* CLS_FUNCTION picks one function, or "everything" (after a call), to look into. */
static bool is_picked(const char *function) {
    const char *pick = getenv("CLS_FUNCTION");
    return !pick || !strcmp(pick, function);
}

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* The calls of each function in a run without faults. */
enum { MAX_FUNCTIONS = 256 };

static unsigned count_calls(const struct sweep *sweep, const struct scenario *scenario,
                            unsigned counts[MAX_FUNCTIONS]) {
    unsigned n = 0;
    sweep_clean(sweep, scenario); /* the first run in a process builds, probes, starts threads */
    sweep_clean(sweep, scenario);
    for (const char *name; n < MAX_FUNCTIONS && (name = sweep->function(n)) != NULL; n++)
        counts[n] = sweep->calls(name);
    return n;
}

void sweep_scenario(const struct sweep *sweep, const struct scenario *scenario) {
    unsigned counts[MAX_FUNCTIONS], turn = 0, total = 0, swept = 0;
    struct tally tally = {0};
    const char *nothing = sweep_clean(sweep, scenario);
    if (nothing) {
        print_message("%s\n", nothing);
        skip();
    }
    unsigned functions = count_calls(sweep, scenario, counts);
    const unsigned stride = effort_is_long() ? 1 : STRIDE;
    for (unsigned i = 0; i < functions; i++) {
        const char *function = sweep->function(i);
        total += counts[i];
        if (!counts[i] || !is_picked(function) || is_spared(scenario, function))
            continue;
        swept++;
        unsigned polls = strcmp(function, "clGetEventInfo") ? counts[i] : least(counts[i], POLLS);
        for (unsigned nth = 1; nth <= polls; nth += nth > FIRST_CALLS ? stride : 1)
            fail_call(sweep, scenario, function, nth, &turn, &tally);
    }
    for (unsigned nth = 1; nth <= least(total, 200) && is_picked("everything"); nth += stride)
        fail_call(sweep, scenario, NULL, nth, &turn, &tally);
    sweep_clean(sweep, scenario);
    print_message("# %s: %u runs over %u functions, %u met their fault, %u reported an error, "
                  "%u went well all the same\n",
                  scenario->name, tally.runs, swept, tally.fired, tally.reported, tally.harmless);
    assert_true(tally.fired > 0);
    assert_int_equal(tally.findings, 0);
}

const char *sweep_kept(void) {
    static int keeps_queues = -1;
    cls_quirk quirk;
    size_t device;
    if (keeps_queues < 0 && cls_device_find(NULL, &device) == CLS_SUCCESS) {
        keeps_queues = 0;
        for (size_t i = 0; cls_device_get_quirk(device, i, &quirk) == CLS_SUCCESS; i++)
            keeps_queues |= !strcmp(quirk.name, "queue_release_hangs");
    }
    return keeps_queues > 0 ? "queues" : "";
}

/* --- the group --- */

static char folder[64];

int sweep_setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/clstream-sweep.XXXXXX");
    return mkdtemp(folder) && !setenv("CLSTREAM_CACHE_DIR", folder, 1) ? 0 : -1;
}

int sweep_teardown(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static const struct sweep *group_sweep;

static void test(void **state) { sweep_scenario(group_sweep, *state); }

int sweep_all(const struct sweep *sweep, const char *name, const struct CMUnitTest *more,
              unsigned n_more) {
    struct CMUnitTest tests[128];
    const char *pick = getenv("CLS_SCENARIO");
    size_t n = 0;
    group_sweep = sweep;
    if (n_scenarios + n_more > sizeof tests / sizeof *tests) {
        print_error("there are more scenarios than room for them\n");
        return -1;
    }
    for (unsigned i = 0; i < n_scenarios; i++)
        if (!pick || strstr(scenarios[i].name, pick))
            tests[n++] = (struct CMUnitTest){.name = scenarios[i].name,
                                             .test_func = test,
                                             .initial_state = (void *)(uintptr_t)&scenarios[i]};
    for (unsigned i = 0; i < n_more; i++)
        if (!pick || strstr(more[i].name, pick))
            tests[n++] = more[i];
    return _cmocka_run_group_tests(name, tests, n, sweep_setup, sweep_teardown);
}

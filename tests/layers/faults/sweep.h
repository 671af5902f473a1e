/* SPDX-License-Identifier: MIT */
/*
 * Sweeping failures over scenarios: first a run that counts what a scenario calls, then a run for each
 * call and each way it can fail. Each run must end (a watchdog of 10 s), leave no object alive, and either
 * report an error or have done all its work.
 */
#ifndef CLSTREAM_TESTS_SWEEP_H
#define CLSTREAM_TESTS_SWEEP_H

#include "../scenarios/scenario.h"
#include "controls.h"

/* What fails: calls of a driver, or of the C library. */
struct sweep {
    void (*arm)(const struct fault_plan *plan);
    unsigned (*fired)(const char *function);
    unsigned (*calls)(const char *function);
    const char *(*function)(unsigned i);
    long (*live)(char *text);
    /* Codes to fail a function with, 0 at the end. */
    const cl_int *(*codes)(const char *function);
    /* Why a failure of the function need not be reported; NULL: it must be. */
    const char *(*harmless)(const char *function);
};

/* Sweeps one scenario as a cmocka test; TEST_EFFORT=long sweeps every call with every code, persistence and
 * combination, else they take turns. */
void sweep_scenario(const struct sweep *sweep, const struct scenario *scenario);

/* The scenario as it is, to see that nothing is wrong before anything fails. Returns why there was nothing to
 * be done, or NULL. */
const char *sweep_clean(const struct sweep *sweep, const struct scenario *scenario);

/* One run with one fault, for what happens once a process: whether it was as it should be, which is said
 * otherwise, and whether the fault came. */
bool sweep_once(const struct sweep *sweep, const struct scenario *scenario,
                const struct fault_plan *plan, bool *fired);

/* The kinds of objects that the library keeps on purpose on this driver, once something has failed. */
const char *sweep_kept(void);

/* A fresh cache folder for this process, and its removal. */
int sweep_setup(void **state);
int sweep_teardown(void **state);

/* Runs all scenarios as a group under `sweep`, those that CLS_SCENARIO (a part of a name) picks,
 * with the function that CLS_FUNCTION picks; then the caller's own tests, by the same pick. */
struct CMUnitTest;
int sweep_all(const struct sweep *sweep, const char *name, const struct CMUnitTest *more,
              unsigned n_more);

#endif

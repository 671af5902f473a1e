/* SPDX-License-Identifier: MIT */
/*
 * The harness of the benchmarks: measures clstream against raw OpenCL in turns (A B A B ...) within one
 * process, so that what disturbs a shared machine disturbs both sides, and reports the median of the pairs'
 * ratios. What the programs include; the files below it are report (the output), rig (the device), cores
 * (free cores) and support.
 */
#ifndef CLSTREAM_BENCH_HARNESS_H
#define CLSTREAM_BENCH_HARNESS_H

#include <stdbool.h>

#include "report.h"
#include "support.h"

enum { MAX_RIVALS = 6, MAX_ROUNDS = 128 };

struct bench_options {
    bool quick;
    const char *json;  /* file to append to; NULL: none */
    const char *only;  /* part of the names of the rows to run; NULL: all */
    const char *child; /* what a child process of the bench is to do; NULL in the parent */
    const char *tool;  /* the clstream command */
    double patience;   /* seconds to spend in waiting for free cores, with a CPU device */
};

/* One side of a contest. `run` does the work once and returns the figure measured, in the contest's unit; it
 * may write a second figure to `also`. */
struct way {
    const char *name;
    double (*run)(void *arg, double *also);
    void *arg;
};

/* How a row's ratio is formed. */
enum measure {
    MEASURE_TIME,    /* a time; ratio = clstream / raw; a bar is an upper one */
    MEASURE_RATE,    /* a rate; ratio = clstream / raw; a bar is a lower one */
    MEASURE_SPEEDUP, /* a time; ratio = other / clstream; a bar is a lower one */
};

struct contest {
    const char *name;
    const char *unit;
    enum measure measure;
    struct way ours;
    const struct way *rivals; /* the best of them counts */
    unsigned n_rivals;
    double bar;       /* on the ratio; 0: none */
    unsigned rounds;  /* 0: the usual number */
    unsigned warm_up; /* rounds that do not count; 0: the usual number */
    const char *also; /* the name of a second row, from the second figures; NULL: none */
    /* Called when the bar is missed: why that is no fault, with the figure that shows it, or NULL. */
    const char *(*excuse)(void *arg, double ours, double theirs);
    void *excuse_arg;
};

/* The outcome of a contest. */
struct verdict {
    bool run; /* false: left out by --only */
    unsigned best;
    double ours, theirs, ratio;
    bool pass;
};

/* Parses the options, exits on --help and on bad ones. */
void bench_begin(int argc, char **argv, const char *name);
const struct bench_options *bench_options(void);

/* Prints the driver's name, the versions and the date above the table. */
void bench_header(const struct rig *rig);

/* Whether a row of this name is wanted. */
bool bench_wants(const char *name);

struct verdict bench_contest(const struct contest *contest);

/* A row of rates beside those of one rival, with a bar on the ratio (0: none). */
void bench_rates(const char *name, const char *unit, struct way ours, struct way rival, double bar);

/* A row of one figure, with an upper bar in its unit (0: none): the median of `run` over the
 * rounds. */
double bench_figure(const char *name, const char *unit, struct way way, double bar);

/* A row of figures that were measured already. */
void bench_values(const char *name, const char *unit, double *values, unsigned n, double bar);

#endif

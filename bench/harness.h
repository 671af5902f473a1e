/* SPDX-License-Identifier: MIT */
/*
 * The bench's harness: clstream against raw OpenCL, in turns (A B A B ...) within one process, so
 * that what disturbs a shared machine disturbs both sides; reported is the median of the ratios
 * of the pairs. Results go to the standard output as a table and, with --json FILE, as one object
 * a line.
 */
#ifndef CLSTREAM_BENCH_HARNESS_H
#define CLSTREAM_BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>

struct rig;

enum { MAX_RIVALS = 6, MAX_ROUNDS = 128 };

struct bench_options {
    bool quick;
    const char *json;  /* file to append to; NULL: none */
    const char *only;  /* part of the names of the rows to run; NULL: all */
    const char *child; /* what a child process of the bench is to do; NULL in the parent */
    const char *tool;  /* the clstream command */
    double patience;   /* seconds to spend in waiting for free cores, with a CPU device */
};

/* One side of a contest. `run` does the work once and returns its figure in the contest's unit; it
 * may write a second one to `also`. */
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
    /* Asked when the bar is missed: why that is no fault, with the figure that shows it, or NULL.
     * */
    const char *(*excuse)(void *arg, double ours, double theirs);
    void *excuse_arg;
};

/* What a contest came to. */
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

/* A title above the rows that follow. */
void bench_section(const char *title);

/* Whether a row of this name is wanted. */
bool bench_wants(const char *name);

struct verdict bench_contest(const struct contest *contest);

/* A row of one figure, with an upper bar in its unit (0: none): the median of `run` over the
 * rounds. */
double bench_figure(const char *name, const char *unit, struct way way, double bar);

/* A row of figures that were measured already. */
void bench_values(const char *name, const char *unit, double *values, unsigned n, double bar);

/* A line that explains the rows above it. */
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the table: 0, or 1 when a bar was missed. */
int bench_end(void);

/* --- for the programs --- */

double now_seconds(void);

/* The median; sorts the values. */
double median(double *values, unsigned n);

/* Ends the program with status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

void *allocate(size_t bytes);

/* Calls that must succeed. */
void check_cls(int status, const char *call);
void check_cl(int code, const char *call);
#define CLS(call) check_cls((int)(call), #call)
#define CL(call) check_cl((int)(call), #call)

#endif

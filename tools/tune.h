/* SPDX-License-Identifier: MIT */
/*
 * The parts of `clstream tune`. Products are measured by processes of their own: CLBlast's parameters cannot be taken back
 * in a process, some sets of them crash a driver's compiler or take it minutes, and a process that was started anew
 * shows what programs will get.
 */
#ifndef CLSTREAM_TOOLS_TUNE_H
#define CLSTREAM_TOOLS_TUNE_H

#include <stdbool.h>
#include <stddef.h>

#include <sys/types.h>

#include <clstream/blas.h>

enum { TUNE_SHAPES = 8, TUNE_DETAIL = 256 };

struct tune_shape {
    size_t m, n, k;
};

struct tune_job {
    const char *device; /* as of --device */
    cls_dtype dtype;
    unsigned count;
    struct tune_shape shapes[TUNE_SHAPES];
};

/* --- measuring processes (tune_worker.c) --- */

enum tune_task {
    TUNE_TIME,  /* compares a product with the host's, and times it */
    TUNE_CHECK, /* the same of a product of less by one each way, in all four orders */
    TUNE_KEEP   /* keeps the parameters, with `gain` */
};

struct tune_request {
    enum tune_task task;
    unsigned shape;
    double gain;
    char parameters[sizeof((cls_blas_tuning *)NULL)->parameters];
};

struct tune_answer {
    enum tune_outcome { TUNE_DONE, TUNE_NO_PARAMETERS, TUNE_WRONG, TUNE_FAILED } outcome;
    double seconds;
    char detail[TUNE_DETAIL];
};

/* What a process says of itself when it has begun. */
struct tune_hello {
    cls_status status; /* CLS_ERROR_UNSUPPORTED: the type cannot be tuned here */
    char detail[TUNE_DETAIL];
    char name[128];       /* of the device */
    cls_blas_tuning kept; /* what was in force without this process */
};

struct tune_worker {
    pid_t child; /* 0: none */
    int line;    /* a socket to it */
    struct tune_hello hello;
};

/* Starts one in which CLBlast has its own parameters. False: it did not get as far as its hello by `until`, in seconds
 * of clock_seconds. The caller must not have used a device. */
bool tune_worker_start(struct tune_worker *worker, const struct tune_job *job, double until);

/* False, and the process has been ended: it died, or there was no answer by `until`. `waiting` is called ten times a
 * second meanwhile. */
bool tune_worker_ask(struct tune_worker *worker, const struct tune_request *request, double until,
                     void (*waiting)(void *), void *arg, struct tune_answer *answer);

void tune_worker_end(struct tune_worker *worker);

/* --- sets of parameters (tune_sets.c) --- */

enum tune_kernel {
    TUNE_INDIRECT,
    TUNE_DIRECT
}; /* CLBlast's for large products, and for small ones */

enum { TUNE_VALUES = 16 };

struct tune_set {
    bool own; /* CLBlast's own; the values do not matter */
    int values[TUNE_VALUES];
};

/* The i-th set to try: first those that won on other devices, then neighbours of the best so far. They need not fit the
 * device, or each other. */
void tune_set_draw(enum tune_kernel kernel, unsigned i, const struct tune_set *best,
                   struct tune_set *out);

/* Appends the set as cls_blas_set_tuning takes it, with a blank before it. */
void tune_set_print(enum tune_kernel kernel, const struct tune_set *set, char *text, size_t size);

#endif

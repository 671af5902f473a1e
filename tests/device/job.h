/* SPDX-License-Identifier: MIT */
/* One element-by-element operation on given types, run in every way that a launch can differ in. */
#ifndef CLSTREAM_TESTS_JOB_H
#define CLSTREAM_TESTS_JOB_H

#include "arrays.h"

enum { JOB_MAX_INPUTS = 3 };

struct job {
    char name[64];
    unsigned n_inputs;
    cls_dtype inputs[JOB_MAX_INPUTS];
    cls_dtype out;
    int op;
    double param;
    /* The device's: views are the inputs and then the output. */
    cls_status (*run)(const struct job *job, const cls_array *views);
    /* The reference's. */
    bool (*expect)(const struct job *job, const void *const *in, void *out, size_t count);
    /* ULP allowed at the value x of the first input; NULL: none. */
    double (*bound)(const struct job *job, double x);
};

/*
 * Arrays that cross the ends of vectors, groups and runs; that start at the buffer's start and
 * where no vector could; shorter than a vector; and in place where the types allow it. `in` holds
 * job_count() elements for each input.
 */
void job_check(const struct job *job, const void *const *in);
size_t job_count(void);

/* job_check on hard values, with the inputs shifted against each other so that hard ones meet
 * others. Finite ones up to `limit` only, unless that is 0. */
void job_check_hard(const struct job *job, double limit);

#endif

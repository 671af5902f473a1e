/* SPDX-License-Identifier: MIT */
/*
 * Random graphs of work: commands over several streams, each on a few cells of device or host memory,
 * with just the waits that their conflicts need (and some that they do not), checked against a model
 * that runs them one after the other. All of it follows from the seed.
 */
#ifndef CLSTREAM_TESTS_DAG_H
#define CLSTREAM_TESTS_DAG_H

#include <stdbool.h>
#include <stdint.h>

#include <clstream.h>

struct dag_plan {
    uint64_t seed;
    uint64_t commands; /* at least */
    double budget_s;   /* ends after the batch that passes it; 0: no limit */
    cls_order order;
    unsigned streams; /* at most DAG_STREAMS */
    unsigned batch;   /* commands between two comparisons */
    uint64_t planted; /* the needed wait that is left out, from 1; 0: a correct graph */
    unsigned narrow; /* only kernels, on so many cells: no difference is ever overwritten; 0: all */
    void (*hold)(bool); /* around the submission of a batch; may be NULL */
};

enum { DAG_STREAMS = 8 };

struct dag_result {
    uint64_t commands, waits, left_out;
    bool failed;    /* a call did not succeed */
    bool different; /* memory is not the model's */
    char what[256];
};

void dag_run(cls_context context, const struct dag_plan *plan, struct dag_result *result);

#endif

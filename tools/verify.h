/* SPDX-License-Identifier: MIT */
/*
 * The check of --verify, after the run. Every chunk goes through the plan once more, one step at
 * a time: each step's result on the device is compared with the host reference applied to what
 * the device had before the step, so a bound holds for the step alone and errors do not add up
 * along the chain. The last step's result must then be in the written file, bit for bit, which
 * checks the pipeline itself, and the one kernel that it makes of the steps.
 */
#ifndef CLSTREAM_TOOLS_VERIFY_H
#define CLSTREAM_TOOLS_VERIFY_H

#include "compare.h"
#include "execute.h"
#include "file.h"
#include "progress.h"

struct verify_step {
    bool exact;      /* all elements had to agree bit for bit */
    double worst;    /* error, in ULP */
    double of_bound; /* the largest part that an error was of what was allowed to its element */
};

struct verify_result {
    double seconds;
    struct verify_step steps[EXPRESSION_MAX_STAGES];
};

/* Chunks must be cut as in the run. False with the first difference as the failure. */
bool verify_run(const struct program *program, const struct input *input,
                const struct output *output, struct progress *progress,
                struct verify_result *result, struct failure *failure);

#endif

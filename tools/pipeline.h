/* SPDX-License-Identifier: MIT */
/*
 * The run itself. The data are cut into chunks; each goes through five stages, which overlap:
 *
 *     read       a thread     file -> pinned memory
 *     upload     one stream   pinned memory -> device
 *     compute    N streams    the plan, as one kernel
 *     download   one stream   device -> pinned memory
 *     write      a thread     pinned memory -> file
 *
 * A chunk in flight owns a slot: its pinned and its device memory. There are as many slots as
 * compute streams and two more, one for the chunk being read and one for the chunk being
 * written, so memory does not depend on the file's size. Between streams only events order
 * anything.
 */
#ifndef CLSTREAM_TOOLS_PIPELINE_H
#define CLSTREAM_TOOLS_PIPELINE_H

#include "execute.h"
#include "file.h"
#include "progress.h"

enum { PIPELINE_MAX_STREAMS = 64, PIPELINE_SPARE_SLOTS = 2 };

enum pipeline_stage {
    PIPELINE_READ,
    PIPELINE_UPLOAD,
    PIPELINE_COMPUTE,
    PIPELINE_DOWNLOAD,
    PIPELINE_WRITE,
    PIPELINE_STAGES
};

struct pipeline_job {
    const struct program *program;
    const struct input *input;
    const struct output *output;
    unsigned streams;          /* for compute */
    struct progress *progress; /* told of every chunk written */
};

struct pipeline_result {
    uint64_t chunks;
    unsigned slots;
    double
        setup_seconds; /* allocation, and the plan run once on one element to build its kernels */
    double seconds;    /* from the first read to the last write */
    double busy
        [PIPELINE_STAGES]; /* seconds in which the stage worked; overlapping kernels count once */
    uint64_t bytes[PIPELINE_STAGES];
};

/* The number of slots for a run. */
unsigned pipeline_slots(unsigned streams, uint64_t chunks);

/* Runs to the end or to the first failure; everything submitted has ended when it returns. */
bool pipeline_run(const struct pipeline_job *job, struct pipeline_result *result,
                  struct failure *failure);

#endif

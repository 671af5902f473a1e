/* SPDX-License-Identifier: MIT */
/*
 * The run itself. The data are cut into chunks; each goes through five stages, which overlap with those of other chunks:
 *
 *     read       a thread   file -> pinned memory
 *     upload     a graph    pinned memory -> device
 *     compute               the plan, as one kernel
 *     download              device -> pinned memory
 *     write      a thread   pinned memory -> file
 *
 * A chunk in flight owns a slot: its pinned and its device memory, and the graph, which is captured once and launched for
 * each chunk, on N streams in turn. There are as many slots as streams and two more, one for the chunk being read and one
 * for the chunk being written, so memory does not depend on the file's size.
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
    unsigned streams;          /* each with a chunk on the device */
    struct progress *progress; /* told of every chunk written */
};

struct pipeline_result {
    uint64_t chunks;
    unsigned slots;
    double
        setup_seconds; /* allocation, and the plan run once on one element to build its kernels */
    double seconds;    /* from the first read to the last write */
    double busy
        [PIPELINE_STAGES]; /* seconds in which the stage worked; chunks that are in it at once count once */
    uint64_t bytes[PIPELINE_STAGES];
};

/* The number of slots for a run. */
unsigned pipeline_slots(unsigned streams, uint64_t chunks);

/* Runs to the end or to the first failure; everything submitted has ended when it returns. */
bool pipeline_run(const struct pipeline_job *job, struct pipeline_result *result,
                  struct failure *failure);

#endif

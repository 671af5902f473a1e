/* SPDX-License-Identifier: MIT */
/*
 * Pipelines: stages with declared buffers, submitted once for each iteration, so that iterations overlap. A
 * buffer has copies; iteration i uses copy i % copies. Each copy has the last access of every stage: a stage
 * that reads waits for the last writer; a stage that writes waits for the last writer and for all who have
 * read since.
 *
 * stages.c has pipelines, buffers and stages, stage_order.c checks their order, stage_run.c submits
 * iterations, stage_times.c measures them.
 */
#ifndef CLSTREAM_PIPELINE_STAGES_H
#define CLSTREAM_PIPELINE_STAGES_H

#include <pthread.h>

#include <clstream/event.h>
#include <clstream/pipeline.h>
#include <clstream/stream.h>

#include "base/handle.h"
#include "pipeline/interval_union.h"

enum { NAME_BYTES = 64, MOST_STAGE_BUFFERS = CLS_PIPELINE_MAX_STAGE_BUFFERS, TIMED_ROUNDS = 64 };

struct copy {
    cls_buffer buffer;
    cls_event event[CLS_PIPELINE_MAX_STAGES]; /* behind the stage's last access; NULL: none yet */
    uint32_t writer, users; /* bits of stages: the last writer; it and the later readers */
};

struct stage_buffer {
    char name[NAME_BYTES];
    cls_pipeline_buffer_kind kind;
    bool owned;
    unsigned n_copies;
    struct copy *copies;
};

struct span {
    cls_event start, end;
};

struct stage {
    char name[NAME_BYTES];
    unsigned n_inputs, n_outputs, n_args;
    unsigned inputs[MOST_STAGE_BUFFERS], outputs[MOST_STAGE_BUFFERS]; /* indices of buffers */
    cls_stage_fn fn;
    void *arg;
    cls_kernel kernel;
    cls_launch launch; /* `reaches` is the stage's own */
    cls_arg args[MOST_STAGE_BUFFERS];
    cls_stream stream;
    bool owns_stream;
    struct span spans[TIMED_ROUNDS];
    /* statistics, in ms from the base */
    uint64_t runs;
    double busy, waited, last_end;
};

struct pipeline {
    struct object object;
    cls_context context;
    cls_event alive; /* never recorded; a query fails once the context is destroyed */
    unsigned depth;
    bool timed;
    bool in_place;        /* each stage is completed before the next one is submitted */
    pthread_mutex_t lock; /* guards what follows */
    bool executing;       /* a thread submits an iteration or resets, without the lock */
    bool ordered;         /* the order was checked since the last stage was added */
    unsigned n_stages, n_buffers;
    struct stage *stages[CLS_PIPELINE_MAX_STAGES]; /* as added; a copy's events and bits follow */
    unsigned order[CLS_PIPELINE_MAX_STAGES];
    struct stage_buffer *buffers[CLS_PIPELINE_MAX_BUFFERS];
    uint64_t iterations;
    /* times */
    cls_event base;
    uint64_t timed_from, timed_to;  /* rounds whose times are still to be read */
    uint64_t numbers[TIMED_ROUNDS]; /* the iteration of each round */
    uint64_t rounds;                /* whose times were read */
    uint64_t first_number, last_number;
    double first_start, last_end;
    struct interval_union worked;  /* by any stage, as far as times were taken */
    struct interval_union unknown; /* `worked`, and spans in which only untimed iterations ran */
};

extern struct object_pool pipeline_pool;

cls_status pipeline_get(cls_pipeline handle, struct pipeline **out);
cls_status pipeline_put(struct pipeline *pipeline, cls_status status);

/* Under the lock: the index of a name, or -1. */
int pipeline_find_stage(const struct pipeline *pipeline, const char *name);
int pipeline_find_buffer(const struct pipeline *pipeline, const char *name);

/* Under the lock: checks that the stages can run in this order. */
cls_status pipeline_check_order(const struct pipeline *pipeline, const unsigned *order);

/* --- times (stage_times.c); under the lock, or by the thread that executes --- */

/* Reads the times of the rounds that are done. */
void times_harvest(struct pipeline *pipeline);

/* The number of a round for this iteration, or -1: it is not timed. */
int times_begin(struct pipeline *pipeline);
/* After an iteration was submitted completely. */
void times_end(struct pipeline *pipeline, int round);

/* Records the start or end of a stage; false: the iteration cannot be timed. */
bool times_mark(struct pipeline *pipeline, cls_event *event, cls_stream stream);

void times_forget(struct pipeline *pipeline);

#endif

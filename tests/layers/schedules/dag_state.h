/* SPDX-License-Identifier: MIT */
/* The state of a random graph in the making; inside dag*.c. */
#ifndef CLSTREAM_TESTS_DAG_STATE_H
#define CLSTREAM_TESTS_DAG_STATE_H

#include <clstream/opencl.h>

#include "dag.h"

enum {
    CELLS = 96, /* of each bank of device memory */
    BANKS = 2,
    HOST_CELLS = 16, /* changed by host functions and copies */
    RESOURCES = BANKS * CELLS + HOST_CELLS,
    EVENTS = 12,
    RUN = 6,              /* most cells of one copy or fill */
    STOCK = 512,          /* words to upload from */
    BATCHES_A_STREAM = 8, /* then streams are made anew */
    MAX_BATCH = 4096
};

/* How far each stream's work is known to come before something. */
struct clock {
    uint32_t of[DAG_STREAMS];
};

struct record {
    bool recorded;
    unsigned stream;
    uint64_t value; /* of the stream's timeline; 0: it is a record of the event */
    struct clock clock;
};

/* Who touched a cell last. */
struct cell {
    unsigned writer;
    uint32_t written; /* the writer's position; 0: nobody */
    uint32_t read[DAG_STREAMS];
};

struct host_step {
    uint32_t *cell;
    uint32_t factor, add;
};

struct foreign_fill {
    cls_buffer bank;
    cl_mem memory;
    uint32_t from, count, value;
};

/* What the command being submitted is not to wait for, directly or through another stream. */
struct left_out {
    bool now;
    unsigned stream;
    uint32_t position;
};

struct dag {
    const struct dag_plan *plan;
    struct dag_result *result;
    uint64_t random;
    cls_context context;
    cls_program program;
    cls_kernel step, mix;
    cls_buffer banks[BANKS];
    cl_mem memory[BANKS];
    cls_stream streams[DAG_STREAMS];
    cls_event events[EVENTS];
    struct record records[EVENTS];
    cls_timeline timelines[DAG_STREAMS]; /* each signalled by its stream alone */
    uint64_t values[DAG_STREAMS];
    uint64_t owed[DAG_STREAMS]; /* a value that is waited for and not signalled yet; 0: none */
    cls_timeline starts;        /* signalled by the host: a gate before work that orders nothing */
    uint64_t started, starting; /* its value, and the one that is waited for */
    struct clock clocks[DAG_STREAMS]; /* of each stream's next command */
    struct cell cells[RESOURCES];
    uint32_t model[RESOURCES];
    uint32_t host[HOST_CELLS];
    uint32_t stock[STOCK];
    /* for one batch */
    uint32_t downloads[MAX_BATCH], expected[MAX_BATCH];
    unsigned n_downloads;
    struct host_step host_steps[MAX_BATCH];
    unsigned n_host_steps;
    struct foreign_fill fills[MAX_BATCH];
    unsigned n_fills;
    struct left_out left_out;
    uint64_t needed; /* waits so far that a conflict asked for */
};

static inline unsigned cell_of(unsigned bank, unsigned i) { return bank * CELLS + i; }
static inline unsigned host_cell(unsigned i) { return BANKS * CELLS + i; }

uint32_t dag_number(struct dag *dag, uint32_t below);

/* Keeps the first call that did not succeed. */
bool dag_ok(struct dag *dag, cls_status status, const char *what);

/* --- dag_order.c --- */

void dag_record(struct dag *dag, unsigned event, unsigned stream);
void dag_wait_for(struct dag *dag, unsigned stream, unsigned event, bool for_real);

/* The signals that were put off: a stream's own, and the host's. Before the stream is given anything more. */
void dag_pay(struct dag *dag, unsigned stream);
void dag_start(struct dag *dag);

/* Has the stream wait for the host's next signal. */
void dag_wait_to_start(struct dag *dag, unsigned stream);

/* The waits that the stream's next command needs to touch a cell, and the note that it does. */
void dag_before_read(struct dag *dag, unsigned stream, unsigned cell);
void dag_before_write(struct dag *dag, unsigned stream, unsigned cell);
void dag_has_read(struct dag *dag, unsigned stream, unsigned cell);
void dag_has_written(struct dag *dag, unsigned stream, unsigned cell);

/* --- dag_commands.c --- */

/* Any command, record or wait on any stream. */
void dag_submit_one(struct dag *dag);

#endif

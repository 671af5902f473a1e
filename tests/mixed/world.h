/* SPDX-License-Identifier: MIT */
/*
 * The objects of a run beside the model of each, and who plays with them. A lane is a stream with cells that
 * no other stream touches but behind an event of it. What a call uses is locked from before it until the model
 * has it: lanes by rising number, then a mark. Nobody waits for work while others may need the lock to let it
 * go on.
 */
#ifndef CLSTREAM_TESTS_WORLD_H
#define CLSTREAM_TESTS_WORLD_H

#include <pthread.h>
#include <stdatomic.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "journal.h"
#include "model.h"

enum {
    THREADS = 4,
    LANES = 2 * THREADS + 2, /* two of each thread's own, and two for all */
    MARKS = 8,
    POOLS = 6,
    SCRATCHES = 4,
    PENDING = 1024,         /* entries of each kind until the lane is settled */
    MOST_OF_ONE = 8 * CELLS /* that an operation may add */
};

/* Memory of the stream's order, filled with one value. */
struct scratch {
    cls_buffer buffer; /* NULL: none */
    unsigned words;
    bool known;
    uint32_t value;
    uint64_t home; /* the stream that it was allocated for */
};

struct host_step {
    uint32_t *cell;
    uint32_t factor, add;
    unsigned nap_us;
};

struct told {
    _Atomic unsigned calls;
    cls_status status;
    bool failed; /* expected */
};

/* What the lane's work uses of the host's memory until it is done. */
struct pending {
    unsigned n_in, n_out, n_steps, n_told;
    uint32_t in[PENDING], out[PENDING], expected[PENDING];
    struct host_step steps[PENDING];
    struct told told[PENDING];
};

struct lane {
    pthread_mutex_t lock;
    unsigned number;
    bool is_default;            /* the context's default stream */
    _Atomic(cls_stream) stream; /* looked at without the lock by who takes any answer */
    cls_event before; /* of the lane's stream before this one; NULL: all of its work is done */
    bool before_failed;
    cls_buffer cells;
    cls_buffer aside;      /* as large, which nobody looks at */
    cls_timeline timeline; /* which this lane alone signals */
    bool timeline_named;   /* and the library knows */
    bool lent;             /* another lane has memory of this stream's */
    struct scratch scratches[SCRATCHES];
    struct pending pending;
    uint32_t host;
    struct lane_model model;
    struct timeline_model values;
};

struct mark {
    pthread_mutex_t lock;
    cls_event event;
    struct mark_model model;
};

struct world {
    uint64_t seed;
    unsigned threads, steps;
    bool blocking; /* CLSTREAM_LAUNCH_BLOCKING */
    bool fails;    /* whether things fail in this run */
    cls_context context;
    cls_program program;
    cls_kernel advance, blend;
    cls_mempool pools[POOLS];
    unsigned n_pools, n_lanes;
    struct lane lanes[LANES];
    struct mark marks[MARKS];
    _Atomic uint64_t streams; /* made so far */
    _Atomic unsigned failures;
    _Atomic uint64_t operations;
};

struct player {
    struct world *world;
    unsigned number;
    uint64_t random;
    struct journal *journal;
};

uint32_t draw(struct player *player, uint32_t below);
static inline bool chance(struct player *player, unsigned one_in) { return !draw(player, one_in); }

/* For all runs of a process. */
bool world_open(struct world *world);
void world_close(struct world *world);
/* Whether the driver runs commands inside its flush, which other threads must not meet. */
bool world_runs_inline(const struct world *world);

/* For one: lanes, marks and pools. The end looks at everything once more. */
void world_begin(struct world *world, struct player *player);
void world_end(struct world *world, struct player *player);

/* Gives the lane a stream of any kind. */
void lane_make_stream(struct player *player, struct lane *lane);
void lane_make_timeline(struct player *player, struct lane *lane);

/* Waits for the lane's work and compares what it left on the host. Before an operation that adds to what is
 * pending where there is no room. */
void lane_finish(struct player *player, struct lane *lane);
void lane_make_room(struct player *player, struct lane *lane);

/* Settles, and makes a poisoned stream work again. */
void lane_recover(struct player *player, struct lane *lane);

/* Compares the cells; the stream is healthy. */
void lane_compare(struct player *player, struct lane *lane);

cls_event make_event(struct player *player);

/* --- verdicts --- */

/* A submission: taken, or refused by a poisoned stream. */
void taken(struct player *player, const struct lane *lane, cls_status status, const char *what);
/* A call that succeeds on a poisoned stream as well. */
void well(struct player *player, cls_status status, const char *what);
/* An answer that `right` says is one of the right ones. */
void answered(struct player *player, const struct lane *lane, bool right, cls_status status,
              const char *what);

#endif

/* SPDX-License-Identifier: MIT */
/* The state of a soak's work, and its acts on what is built on streams; inside work.c and blocks.c. */
#ifndef CLSTREAM_TESTS_WORK_STATE_H
#define CLSTREAM_TESTS_WORK_STATE_H

#include <stdatomic.h>

#include <clstream.h>

#include "work.h"

enum { LANES = 4, WORDS = 256, BYTES = WORDS * 4, SLOTS = 32, BIG_BYTES = 1 << 20, ROUND = 512 };

/* A stream and its array, whose elements are all of one value when the stream's work is done. */
struct lane {
    cls_stream stream;
    cls_event done;
    cls_timeline timeline;
    uint64_t signalled;
    cls_buffer array, other; /* a batch writes the other, which is the array then */
    uint32_t value;
    unsigned pending; /* commands since the last synchronization */
    unsigned slot;
    uint32_t in[SLOTS][WORDS], out[SLOTS][WORDS];
};

struct work {
    cls_context context;
    cls_kernel step;
    cls_event first, last; /* timed */
    cls_stream timed;
    uint64_t random;
    uint64_t host_due;
    _Atomic uint64_t host_done;
    void *pinned;
    cls_buffer big;
    unsigned char *pageable;
    struct lane lanes[LANES];
    /* blocks.c */
    cls_timeline gate;
    uint64_t opened;
    cls_coordinator set; /* of the lanes' streams, each waiting for the one before */
    cls_task_graph errand;
    cls_batch batch;
    cls_value batch_array, batch_upload, batch_result;
    cls_pipeline pipeline;
    cls_buffer total;
    uint32_t fed, total_due;
    unsigned iterations; /* since the last synchronization */
};

bool well(cls_status status, const char *what);
#define WELL(call) well((call), #call)

unsigned draw(struct work *work, unsigned below);

/* --- work.c --- */

bool fill(struct work *work, struct lane *lane);

/* On another stream than the lane's, for those who see to the order. */
bool add_by_kernel_on(struct work *work, struct lane *lane, cls_stream stream);

/* A slot of host memory, all of one value. It is used again only after a synchronization: ROUND is below
 * what would lap them. */
const uint32_t *words_to_upload(struct lane *lane, uint32_t value);

/* --- blocks.c --- */

bool blocks_init(struct work *work);
void blocks_free(struct work *work);

bool join_set(struct work *work, struct lane *lane);
bool leave_set(struct work *work, cls_stream stream);

bool take_by_timeline(struct work *work, struct lane *lane);
bool hold_back(struct work *work, struct lane *lane);
bool run_phase(struct work *work, struct lane *lane);
bool run_tasks(struct work *work, struct lane *lane);
bool run_batch(struct work *work, struct lane *lane);
bool run_pipeline(struct work *work, struct lane *lane);
bool renew_timeline(struct work *work, struct lane *lane);
bool renew_set(struct work *work, struct lane *lane);
bool renew_batch(struct work *work, struct lane *lane);
bool renew_pipeline(struct work *work, struct lane *lane);

/* Waits for the pipeline and compares the sum of all that was fed to it. */
bool check_pipeline(struct work *work);

#endif

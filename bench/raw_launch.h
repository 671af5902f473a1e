/* SPDX-License-Identifier: MIT */
/* Launch loops as a careful program writes them in raw OpenCL. */
#ifndef CLSTREAM_BENCH_RAW_LAUNCH_H
#define CLSTREAM_BENCH_RAW_LAUNCH_H

#include "rig.h"

/* How the order is kept, and what events there are. */
enum raw_events {
    RAW_NO_EVENTS, /* in-order queue, none at all: nothing can be asked about a single launch */
    RAW_EVERY_256, /* in-order queue, one every 256 launches */
    RAW_EACH,      /* in-order queue, one each */
    RAW_CHAINED,   /* out-of-order queue, each launch waits for the one before it */
};

enum { RAW_RING = 1024 };

/* Events kept until their commands are done: releasing them early is legal, but aborts PoCL 3.1
 * when an earlier command fails. */
struct raw_ring {
    cl_event events[RAW_RING];
    unsigned first, count;
};

/* Keeps an event; makes room when the ring is full. */
void raw_ring_keep(struct raw_ring *ring, cl_event event);
void raw_ring_release(struct raw_ring *ring);

struct raw_loop {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem memory;
    enum raw_events events;
    unsigned launches;
    struct raw_ring ring;
};

/* Enqueues one launch of a kernel (memory, value) of `items` work-items in one group. */
void raw_launch(cl_command_queue queue, cl_kernel kernel, cl_mem memory, cl_uint value,
                size_t items, cl_event after, cl_event *event);

/* `launches` launches and the final wait. The time of one launch in microseconds; `also` is the
 * time of submitting one. */
double raw_loop_run(void *loop, double *also);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Data-parallel training: a perceptron of square layers on every device, each with a batch of its own. The
 * gradients of a layer are summed while those of the layers below it are worked out.
 */
#ifndef CLSTREAM_BENCH_PARALLEL_H
#define CLSTREAM_BENCH_PARALLEL_H

#include "several.h"

enum { LAYERS = 3 };

struct size {
    size_t width, batch; /* of a layer, and rows on each device */
};

struct learner {
    cls_context context;
    cls_stream work, reduce; /* reduce is the group's */
    cls_event gradient, updated[LAYERS];
    cls_buffer z[LAYERS + 1], delta[2], mask, target, w[LAYERS], g[LAYERS];
};

struct team {
    unsigned n;
    struct size size;
    cls_gemm_math math;
    cls_device_group group;
    struct learner learners[MOST_DEVICES];
};

/* The first `n` of the devices. */
void team_open(struct team *team, const struct several *several, unsigned n, struct size size,
               cls_gemm_math math);

/* Ends the program unless all devices have the same weights. */
void team_close(struct team *team);

/* Seconds of a step. */
double team_steps(const struct team *team, unsigned steps);

#endif

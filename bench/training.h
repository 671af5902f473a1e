/* SPDX-License-Identifier: MIT */
/* The allocations of training steps: what a framework asks of its allocator. */
#ifndef CLSTREAM_BENCH_TRAINING_H
#define CLSTREAM_BENCH_TRAINING_H

#include <stdbool.h>
#include <stddef.h>

/* One allocation (bytes > 0) or the free of the allocation `id`. */
struct trace_step {
    unsigned id;
    size_t bytes;
};

struct trace {
    struct trace_step *steps;
    size_t count, room;
    unsigned ids;
};

/* A transformer of `layers` layers of width `width`, trained with Adam for so many steps on sequences whose
 * length changes from step to step: weights and the optimizer's state live throughout, activations from
 * the forward to the backward pass, gradients until the update, workspaces for one operation. */
void trace_transformer(struct trace *trace, unsigned layers, size_t width, unsigned steps);
void trace_free(struct trace *trace);

#endif

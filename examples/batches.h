/* SPDX-License-Identifier: MIT */
/* The task of the buffering examples: batches that are uploaded, worked on and downloaded. */
#ifndef CLSTREAM_EXAMPLES_BATCHES_H
#define CLSTREAM_EXAMPLES_BATCHES_H

#include <clstream.h>

#include <stdbool.h>

enum { MOST_BATCHES = 64 };

struct batches {
    cls_context context;
    cls_kernel kernel;
    unsigned n, rounds;
    size_t count;                                /* floats of a batch */
    float *in[MOST_BATCHES], *out[MOST_BATCHES]; /* pinned */
};

void batches_open(struct batches *batches, bool quick);

/* Checks every result, says how long it took, and frees all. */
void batches_close(struct batches *batches, const char *name, double ms);

/* All of them through a ring of slots, on streams for upload, work and download; in milliseconds. */
double batches_through_ring(struct batches *batches, unsigned slots);

#endif

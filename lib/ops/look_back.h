/* SPDX-License-Identifier: MIT */
/* Launches over tiles whose prefixes cl/look_back.cl gives. */
#ifndef CLSTREAM_OPS_LOOK_BACK_H
#define CLSTREAM_OPS_LOOK_BACK_H

#include "ops/spec.h"

/* How elements are cut into tiles. */
struct look_back {
    size_t tile;  /* elements of a tile */
    size_t tiles; /* for all elements */
    size_t local; /* work-items of a group, each of which takes one tile */
    bool is_reversed;
};

/* The shape of a launch on these views' device; groups of one work-item where local memory cannot be relied on. */
enum shape look_back_shape(const struct op_call *call, bool aligned);

/* Whether kernels are lean (spec_scan.h). */
bool look_back_is_lean(const struct op_call *call);

/* `spec` has `batch` vectors of a work-item; of a CPU's a tile is cut here. */
struct look_back look_back_cut(const struct op_call *call, const struct spec *spec,
                               struct kernel *kernel, size_t count);

/* Words of the states of tiles whose parts have `part` bytes. */
size_t look_back_words(const struct look_back *cut, size_t part);

/* Temporary memory for so many words of states, and for `more` bytes from *beyond on, a multiple of 256. */
cls_status look_back_room(struct op_call *call, size_t words, size_t more, struct buffer **scratch,
                          size_t *beyond);

/* A launch that clears the states. */
cls_status look_back_clear(struct op_call *call, struct buffer *scratch, size_t words);

/* Submits the launch. */
cls_status look_back_launch(struct op_call *call, const struct look_back *cut,
                            struct kernel *kernel, const struct op_arg *args, unsigned n_args);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Paired comparison of two ways of doing the same, measured in turns on a machine that may be busy with other work.
 * Each round gives the ratio of two times taken at about the same moment, and the result is what nearly all rounds
 * agree on. This is the sign test; it assumes only that the noise favours neither way. For two equal ways 32 of 40
 * rounds lie on a given side once in ten thousand times.
 */
#ifndef CLSTREAM_DRIVER_PAIRED_H
#define CLSTREAM_DRIVER_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

struct paired {
    double ratio; /* four rounds of five had no less; 1 without a round */
    bool agreed;  /* four rounds of five lie on the same side of the margin */
};

/* Judges the rounds' ratios; sorts `ratios` in place. */
struct paired paired_judge(double *ratios, size_t rounds, double margin);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Two ways of doing the same, measured in turns on a machine that may do something else meanwhile: each round
 * gives a ratio of times of the same moments, and what counts is what nearly all rounds say. This is the sign
 * test: it asks nothing of the noise but that it favours neither way. Of 40 rounds of two equal ways 32 lie on a
 * given side once in ten thousand times.
 */
#ifndef CLSTREAM_DRIVER_PAIRED_H
#define CLSTREAM_DRIVER_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

struct paired {
    double ratio; /* four rounds of five had no less; 1 without a round */
    bool agreed;  /* four rounds of five lie on the same side of the margin */
};

/* Sorts `ratios`. */
struct paired paired_judge(double *ratios, size_t rounds, double margin);

#endif

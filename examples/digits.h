/* SPDX-License-Identifier: MIT */
/* The digits of examples/data, in an order that a seed gives: training images first, then test ones. */
#ifndef CLSTREAM_EXAMPLES_DIGITS_H
#define CLSTREAM_EXAMPLES_DIGITS_H

#include <stddef.h>

struct digits {
    size_t count, train;   /* all, and those to train with */
    unsigned char *pixels; /* count x 64, 0 to 16 */
    unsigned char *labels;
    unsigned *order; /* where image i lies */
};

/* From a folder with digits.npy and digits_labels.npy; a fifth is kept for the test. */
void digits_open(struct digits *digits, const char *folder, unsigned seed);
void digits_close(struct digits *digits);

/* Puts numbers in an order that depends on the seed alone. */
void shuffle(unsigned *numbers, size_t count, unsigned seed);

/* Writes an image's row of inputs (64 pixels from 0 to 1, and a 1) and of targets (one 1 of 10). */
void digits_row(const struct digits *digits, size_t image, float *inputs, float *targets);

#endif

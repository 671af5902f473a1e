/* SPDX-License-Identifier: MIT */
/*
 * What train.c needs besides its loop: the digits of examples/data, a network with one hidden layer, and a
 * picture of the losses.
 *
 * The network works on one stream, with matrix products (cls_gemm_async) and typed operations. Biases are
 * rows of the weights: inputs and hidden values have a column of ones.
 */
#ifndef CLSTREAM_EXAMPLES_LEARNING_H
#define CLSTREAM_EXAMPLES_LEARNING_H

#include <clstream.h>

/* Ends the program, with a message, if a call has failed. */
void must(cls_status status);

/* Ends the program with a message. */
void give_up(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Zeroed memory, to be freed; ends the program if there is none. */
void *allocate(size_t bytes);

enum { PIXELS = 64, INPUTS = PIXELS + 1, HIDDEN = 128, WIDE = HIDDEN + 1, CLASSES = 10 };

/* --- the digits --- */

/* In an order that a seed gives: training images first, then test images. */
struct digits {
    size_t count, train;   /* all, and those to train with */
    unsigned char *pixels; /* count x 64, 0 to 16 */
    unsigned char *labels;
    unsigned *order; /* where image i lies */
};

/* From a folder with digits.npy and digits_labels.npy; a fifth is kept for the test. */
void digits_open(struct digits *digits, const char *folder, unsigned seed);
void digits_close(struct digits *digits);

/* `count` training images from number `first` on, in an order that the seed alone gives: for each, a row of
 * INPUTS (64 pixels from 0 to 1, and a 1) and a row of targets (one 1 of CLASSES). Safe on several threads. */
cls_status digits_batch(const struct digits *digits, unsigned seed, size_t first, size_t count,
                        float *inputs, float *targets);

/* --- the network --- */

struct network {
    cls_stream stream;
    size_t batch;          /* rows at once */
    cls_buffer w1, w2;     /* INPUTS x HIDDEN, WIDE x CLASSES */
    cls_buffer v1, v2;     /* their momentum */
    cls_buffer a1, d1, m1; /* batch x WIDE: values, their gradient, where they are above 0 */
    cls_buffer z2, e2, s2; /* batch x CLASSES: scores, exponentials, their sums in each row */
    cls_buffer ones;       /* CLASSES x CLASSES */
};

/* The first weights depend on the seed alone. The stream stays the caller's. */
void network_open(struct network *network, cls_stream stream, size_t batch, unsigned seed);
void network_close(struct network *network);

/* One step of gradient descent on a batch: a matrix of inputs and one of targets, by rows. The sum of the
 * batch's losses goes to `loss`, a view of one element. Only submits. */
void network_learn(struct network *network, cls_array inputs, cls_array targets, double rate,
                   cls_array loss);

/* The share of the test images that are recognized, 0 to 1. Waits. */
double network_test(struct network *network, const struct digits *digits);

/* --- the picture --- */

/* Writes the mean losses of the epochs as SVG, with the accuracy (0 to 1) in its title. */
void draw_losses(const char *path, const double *losses, size_t count, double accuracy);

#endif

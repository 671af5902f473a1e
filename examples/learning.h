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
void *zeroed(size_t bytes);

/* The argument behind an option; the empty string, if it is the last one; NULL: there is no such option. */
const char *option(int argc, char **argv, const char *name);

/* Waits for a stream's work, and tells the time in microseconds. */
double when_done_us(cls_stream stream);

/* A buffer of equal numbers. */
cls_buffer filled(size_t count, float value);

enum {
    PIXELS = 64,
    INPUTS = PIXELS + 1,
    HIDDEN = 128,
    WIDE = HIDDEN + 1,
    CLASSES = 10,
    ROW = INPUTS + 1
};

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

/* `count` training images from number `first` on, in an order that the seed alone gives: first a row of INPUTS (64
 * pixels from 0 to 1, and a 1) for each, then the bits of a label for each, a uint32_t. Safe on several threads. */
cls_status digits_batch(const struct digits *digits, unsigned seed, size_t first, size_t count,
                        float *rows);

/* --- the network --- */

struct network {
    cls_stream stream;
    size_t batch;          /* rows at once */
    cls_buffer w1, w2;     /* INPUTS x HIDDEN, WIDE x CLASSES */
    cls_buffer v1, v2;     /* their momentum */
    cls_buffer a1, d1, m1; /* batch x WIDE: values, their gradient, where they are above 0 */
    cls_buffer z2, d2;     /* batch x CLASSES: scores, their gradient */
    cls_buffer losses;     /* one for each row */
    cls_buffer rate;       /* one number */
    cls_buffer sum, loss;  /* likewise: the losses of a batch, and of all batches */
    cls_program program;
    cls_kernel descend;
};

/* With a stream of its own, and kernels compiled. The first weights depend on the seed alone. */
void network_open(struct network *network, size_t batch, unsigned seed);
void network_close(struct network *network);

/* The learning rate of the steps from now on. Only submits, as the next two do. */
void network_set_rate(struct network *network, double rate);

/* One step of gradient descent on the rows of a batch, whose losses are added to a sum. From step to step only the
 * buffer changes, so that one can be captured. */
void network_learn(struct network *network, cls_buffer rows);

/* Puts the sum of the losses into element `index` of a buffer, and begins a new sum. */
void network_take_loss(struct network *network, cls_buffer losses, size_t index);

/* The share of the test images that are recognized, 0 to 1. Waits. */
double network_test(struct network *network, const struct digits *digits);

/* --- the picture --- */

/* Writes the mean losses of the epochs as SVG, from sums of so many images. The title has the accuracy (0 to 1). */
void draw_losses(const char *path, const float *sums, size_t count, double images, double accuracy);

#endif

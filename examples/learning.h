/* SPDX-License-Identifier: MIT */
/*
 * What train.c needs besides its loop: the digits of examples/data, and a network with one hidden layer.
 *
 * The network works on one stream. A layer is one call: a product, its bias and what follows (cls_gemm_async); the losses
 * and their gradient are one, and so is the step of all weights (cls_optimizer_step_async).
 */
#ifndef CLSTREAM_EXAMPLES_LEARNING_H
#define CLSTREAM_EXAMPLES_LEARNING_H

#include "common.h"

enum { PIXELS = 64, HIDDEN = 128, CLASSES = 10, ROW = PIXELS + 1 };

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

/* `count` training images from number `first` on, in an order that the seed alone gives: first a row of PIXELS numbers
 * from 0 to 1 for each, then the bits of a label for each, a uint32_t. Safe on several threads. */
cls_status digits_batch(const struct digits *digits, unsigned seed, size_t first, size_t count,
                        float *rows);

/* --- the network --- */

/* The weights of both layers, and behind each its biases. */
enum { W1, B1, W2, B2, PARAMETERS };

struct network {
    cls_stream stream;
    size_t batch;                  /* rows at once */
    cls_buffer weights, gradients; /* of all parameters */
    cls_optimizer optimizer;
    cls_buffer a1, d1; /* batch x HIDDEN: values, their gradient */
    cls_buffer z2, d2; /* batch x CLASSES: scores, their gradient */
    cls_buffer losses; /* one for each row of a batch */
    cls_buffer sums;   /* of these, over batches */
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

/* Draws the mean losses of the epochs, from sums of so many images. The title has the accuracy (0 to 1). */
void draw_losses(const char *path, const float *sums, size_t count, double images, double accuracy);

#endif

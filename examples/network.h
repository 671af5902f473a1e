/* SPDX-License-Identifier: MIT */
/*
 * A multilayer perceptron of one hidden layer, on matrix products and typed operations of one stream.
 * Biases are rows of the weights: inputs and hidden values carry a column of ones.
 */
#ifndef CLSTREAM_EXAMPLES_NETWORK_H
#define CLSTREAM_EXAMPLES_NETWORK_H

#include <clstream.h>

enum { PIXELS = 64, INPUTS = PIXELS + 1, HIDDEN = 128, WIDE = HIDDEN + 1, CLASSES = 10 };

struct network {
    cls_stream stream;
    size_t batch;          /* rows at once */
    cls_buffer w1, w2;     /* INPUTS x HIDDEN, WIDE x CLASSES */
    cls_buffer v1, v2;     /* their momentum */
    cls_buffer a1, d1, m1; /* batch x WIDE: values, their gradient, where they are above 0 */
    cls_buffer z2, e2, s2; /* batch x CLASSES: scores, exponentials, their sums in each row */
    cls_buffer ones;       /* CLASSES x CLASSES */
};

/* Weights are the same for the same seed. */
void network_open(struct network *network, cls_context context, cls_stream stream, size_t batch,
                  unsigned seed);
void network_close(struct network *network);

/* Scores of the rows of `inputs`, batch x INPUTS, into z2; only submits. */
void network_forward(struct network *network, cls_array inputs);

/* One step of gradient descent on a batch; `targets` is batch x CLASSES, one 1 a row. The sum of the
 * batch's losses goes to `loss`, a view of one element. Only submits. */
void network_learn(struct network *network, cls_array inputs, cls_array targets, double rate,
                   cls_array loss);

#endif

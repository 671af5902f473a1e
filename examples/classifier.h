/* SPDX-License-Identifier: MIT */
/*
 * The network of magika.c, with weights from a file (weights.h) that magika_weights.py takes from the package's ONNX graph.
 *
 * Each of 2,048 tokens becomes 64 numbers, and four of them a position of 256 channels. Channels are normalized along the
 * positions, a convolution gives 512 features of each five positions, and the greatest of each feature, normalized, give
 * the labels' scores. All of it is captured once, with the upload of the tokens and the download of the scores.
 */
#ifndef CLSTREAM_EXAMPLES_CLASSIFIER_H
#define CLSTREAM_EXAMPLES_CLASSIFIER_H

#include "weights.h"

enum { TOKENS = 2048, PADDING = 256 /* the token where there is no byte; others are bytes */ };

struct classifier {
    cls_stream stream;
    struct weights weights;
    size_t labels;
    uint32_t tokens[TOKENS]; /* read by a launch, and `scores` written, until it is done */
    float *scores;           /* of each label, 0 to 1 */
    cls_buffer numbers, rows, channels, features, greatest, results; /* see classifier.c */
    cls_graph_exec forward; /* launch it on the stream: from `tokens` to `scores` */
};

/* With a stream of its own. A bad file ends the program with a message. */
void classifier_open(struct classifier *classifier, const char *path);
void classifier_close(struct classifier *classifier);

/* The name of a label; labels are numbered from 0. */
const char *classifier_label(const struct classifier *classifier, size_t number);

#endif

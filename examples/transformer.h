/* SPDX-License-Identifier: MIT */
/*
 * What text.c needs besides its loop: a small transformer, a network that gives scores for the next character of a text.
 *
 * Two layers, each of attention by one head and of two products with ReLU between them, both behind an rms_norm and added
 * to what went in (Vaswani and others, "Attention Is All You Need", 2017, with the norms in front). All that it keeps has 16
 * bits, bf16; sums are made in f32, and the optimizer keeps parameters in f32 too. Each function works on one stream and
 * only submits, unless it says that it waits.
 */
#ifndef CLSTREAM_EXAMPLES_TRANSFORMER_H
#define CLSTREAM_EXAMPLES_TRANSFORMER_H

#include <clstream.h>

enum {
    CONTEXT = 64, /* characters of a window */
    WIDTH = 64,   /* numbers for each */
    INNER = 256,  /* between two products */
    LAYERS = 2,
    SPARE = 4
};

/* Of a layer, and of the network: arrays of one buffer, of which there is one with values and one with gradients. */
enum { GAIN_1, QKV, MIX, GAIN_2, UP, DOWN, OF_LAYER };
enum { EMBEDDING = LAYERS * OF_LAYER, PLACES, GAIN, SCORES, PARAMETERS };

struct parameters {
    cls_buffer buffer;
    size_t offsets[PARAMETERS + 1]; /* elements */
};

/* What a layer keeps of the forward pass for the backward pass: a row for each character. */
struct layer {
    cls_buffer in, normal_1, qkv, shares, mixed, between, normal_2, inner; /* see transformer.c */
};

struct transformer {
    cls_stream stream;
    size_t characters; /* different ones */
    size_t batch;      /* windows of CONTEXT characters at once */
    struct parameters weights, gradients;
    cls_optimizer optimizer;
    struct layer layers[LAYERS];
    cls_buffer out, normal;    /* of the last layer, and behind its norm */
    cls_buffer scores, losses; /* of each character, of f32 */
    cls_buffer mask; /* added to the attention of a window: -infinity for later characters */
    cls_buffer spare[SPARE], sums; /* gradients on the way; those of the embedding, in f32 */
};

/* With a stream of its own. The first weights depend on the seed alone. Waits. */
void transformer_open(struct transformer *net, size_t characters, size_t batch, uint64_t seed);
void transformer_close(struct transformer *net);

/* Scores of the character behind each of `windows` windows, at most the batch. `tokens`: the number of each character. */
void transformer_forward(struct transformer *net, cls_vector tokens, size_t windows);

/* A step of AdamW on a batch. `targets`: the character behind each one. The losses replace those before. From step to step
 * only the two arguments change, so that it can be captured. */
void transformer_learn(struct transformer *net, cls_vector tokens, cls_vector targets);

#endif

/* SPDX-License-Identifier: MIT */
#include "network.h"

#include <math.h>
#include <stdlib.h>

#include "example.h"

static const double MOMENTUM = 0.9;

/* --- life --- */

static cls_buffer filled(cls_context context, size_t count, float value) {
    cls_buffer buffer;
    MUST(cls_buffer_create(context, count * sizeof value, &buffer));
    MUST(cls_fill(buffer, 0, count * sizeof value, &value, sizeof value, NULL));
    return buffer;
}

/* Uniform, as wide as suits a layer of `in` inputs; the last row, the biases, is 0. */
static cls_buffer weights(cls_context context, size_t in, size_t out, unsigned *seed) {
    float *values = allocate(in * out * sizeof *values);
    const double width = sqrt(6.0 / (double)in);
    cls_buffer buffer;
    for (size_t i = 0; i < (in - 1) * out; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        values[i] = (float)(width * ((double)(*seed >> 8) / (1 << 23) - 1));
    }
    MUST(cls_buffer_from_host(context, values, in * out * sizeof *values, &buffer));
    free(values);
    return buffer;
}

void network_open(struct network *network, cls_context context, cls_stream stream, size_t batch,
                  unsigned seed) {
    network->stream = stream;
    network->batch = batch;
    network->w1 = weights(context, INPUTS, HIDDEN, &seed);
    network->w2 = weights(context, WIDE, CLASSES, &seed);
    network->v1 = filled(context, INPUTS * HIDDEN, 0);
    network->v2 = filled(context, WIDE * CLASSES, 0);
    network->a1 = filled(context, batch * WIDE, 1); /* its last column stays 1 */
    network->d1 = filled(context, batch * WIDE, 0);
    network->m1 = filled(context, batch * WIDE, 0);
    network->z2 = filled(context, batch * CLASSES, 0);
    network->e2 = filled(context, batch * CLASSES, 0);
    network->s2 = filled(context, batch * CLASSES, 0);
    network->ones = filled(context, CLASSES * CLASSES, 1);
}

void network_close(struct network *network) {
    const cls_buffer buffers[] = {network->w1, network->w2, network->v1,  network->v2,
                                  network->a1, network->d1, network->m1,  network->z2,
                                  network->e2, network->s2, network->ones};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        MUST(cls_buffer_destroy(buffers[i]));
}

/* --- one matrix product --- */

enum { NEITHER = 0, FIRST = 1, SECOND = 2 }; /* what is transposed */

static void multiply(const struct network *network, cls_matrix a, cls_matrix b, cls_matrix c,
                     int transposed, double alpha, double beta) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = transposed == FIRST;
    config.transpose_b = transposed == SECOND;
    config.alpha = alpha;
    config.beta = beta;
    MUST(cls_gemm_async(a, b, c, &config, network->stream));
}

/* A matrix of `wide` columns, of which `columns` are looked at. */
static cls_matrix part(cls_buffer buffer, size_t rows, size_t columns, size_t wide) {
    cls_matrix matrix = cls_matrix_of(buffer, CLS_F32, rows, columns);
    matrix.ld = wide;
    return matrix;
}

static cls_array all(cls_buffer buffer, size_t count) {
    return cls_array_of(buffer, CLS_F32, count);
}

/* --- forward, backward, update --- */

void network_forward(struct network *network, cls_array inputs) {
    const size_t n = network->batch;
    const cls_matrix x = cls_matrix_at(inputs.buffer, CLS_F32, inputs.offset, n, INPUTS);
    const cls_array a1 = all(network->a1, n * WIDE);
    multiply(network, x, part(network->w1, INPUTS, HIDDEN, HIDDEN),
             part(network->a1, n, HIDDEN, WIDE), NEITHER, 1, 0);
    MUST(cls_unary_async(CLS_UNARY_RELU, a1, a1, network->stream));
    multiply(network, part(network->a1, n, WIDE, WIDE), part(network->w2, WIDE, CLASSES, CLASSES),
             part(network->z2, n, CLASSES, CLASSES), NEITHER, 1, 0);
}

/* e2 = softmax of z2. The sum of a row, in each of its places, is a product with ones. */
static void softmax(struct network *network) {
    const size_t n = network->batch;
    const cls_array z2 = all(network->z2, n * CLASSES), e2 = all(network->e2, n * CLASSES);
    const cls_array s2 = all(network->s2, n * CLASSES);
    MUST(cls_unary_async(CLS_UNARY_EXP, z2, e2, network->stream));
    multiply(network, part(network->e2, n, CLASSES, CLASSES),
             part(network->ones, CLASSES, CLASSES, CLASSES), part(network->s2, n, CLASSES, CLASSES),
             NEITHER, 1, 0);
    MUST(cls_binary_async(CLS_BINARY_DIV, e2, s2, e2, network->stream));
}

/* The sum of -log of what the right classes got. */
static void sum_losses(struct network *network, cls_array targets, cls_array loss) {
    const size_t count = network->batch * CLASSES;
    const cls_array e2 = all(network->e2, count), s2 = all(network->s2, count);
    MUST(cls_unary_async(CLS_UNARY_LOG, e2, s2, network->stream));
    MUST(cls_dot_async(s2, targets, loss, network->stream));
    MUST(cls_unary_async(CLS_UNARY_NEG, loss, loss, network->stream));
}

void network_learn(struct network *network, cls_array inputs, cls_array targets, double rate,
                   cls_array loss) {
    const size_t n = network->batch;
    const cls_array e2 = all(network->e2, n * CLASSES), d1 = all(network->d1, n * WIDE);
    const cls_array m1 = all(network->m1, n * WIDE);
    const cls_matrix d2 = part(network->e2, n, CLASSES, CLASSES);
    network_forward(network, inputs);
    softmax(network);
    sum_losses(network, targets, loss);
    /* The gradient of the scores is softmax - targets; that of the hidden values goes where they are > 0. */
    MUST(cls_binary_async(CLS_BINARY_SUB, e2, targets, e2, network->stream));
    multiply(network, d2, part(network->w2, HIDDEN, CLASSES, CLASSES),
             part(network->d1, n, HIDDEN, WIDE), SECOND, 1, 0);
    MUST(cls_unary_async(CLS_UNARY_SIGN, all(network->a1, n * WIDE), m1, network->stream));
    MUST(cls_binary_async(CLS_BINARY_MUL, d1, m1, d1, network->stream));
    /* v = mean gradient + MOMENTUM v; w = w - rate v */
    multiply(network, part(network->a1, n, WIDE, WIDE), d2,
             part(network->v2, WIDE, CLASSES, CLASSES), FIRST, 1.0 / (double)n, MOMENTUM);
    multiply(network, cls_matrix_at(inputs.buffer, CLS_F32, inputs.offset, n, INPUTS),
             part(network->d1, n, HIDDEN, WIDE), part(network->v1, INPUTS, HIDDEN, HIDDEN), FIRST,
             1.0 / (double)n, MOMENTUM);
    MUST(cls_axpy_async(-rate, cls_vector_of(network->v2, CLS_F32, WIDE * CLASSES),
                        cls_vector_of(network->w2, CLS_F32, WIDE * CLASSES), network->stream));
    MUST(cls_axpy_async(-rate, cls_vector_of(network->v1, CLS_F32, INPUTS * HIDDEN),
                        cls_vector_of(network->w1, CLS_F32, INPUTS * HIDDEN), network->stream));
}

/* SPDX-License-Identifier: MIT */
#include "learning.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the digits --- */

/* The bytes of an array of bytes, behind the header of version 1 of NumPy's format. */
static unsigned char *read_bytes(const char *folder, const char *name, size_t *count) {
    char path[512];
    unsigned char header[10];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        give_up("%s: %s; train --data FOLDER says where it is", path, strerror(errno));
    if (fread(header, sizeof header, 1, file) != 1 || memcmp(header, "\x93NUMPY\x01", 7) != 0)
        give_up("%s is no .npy file of version 1", path);
    const long start = 10 + header[8] + 256 * header[9];
    fseek(file, 0, SEEK_END);
    *count = (size_t)(ftell(file) - start);
    unsigned char *bytes = zeroed(*count);
    fseek(file, start, SEEK_SET);
    if (fread(bytes, 1, *count, file) != *count)
        give_up("%s cannot be read", path);
    fclose(file);
    return bytes;
}

/* Puts numbers in an order that depends on the seed alone. */
static void shuffle(unsigned *numbers, size_t count, unsigned seed) {
    for (size_t i = count; i > 1; i--) {
        seed = seed * 1664525u + 1013904223u;
        const size_t k = (seed >> 8) % i;
        const unsigned kept = numbers[i - 1];
        numbers[i - 1] = numbers[k];
        numbers[k] = kept;
    }
}

void digits_open(struct digits *digits, const char *folder, unsigned seed) {
    size_t pixels;
    digits->pixels = read_bytes(folder, "digits.npy", &pixels);
    digits->labels = read_bytes(folder, "digits_labels.npy", &digits->count);
    if (pixels != digits->count * PIXELS)
        give_up("%zu pixels for %zu labels", pixels, digits->count);
    digits->order = zeroed(digits->count * sizeof *digits->order);
    for (size_t i = 0; i < digits->count; i++)
        digits->order[i] = (unsigned)i;
    shuffle(digits->order, digits->count, seed);
    digits->train = digits->count - digits->count / 5;
}

void digits_close(struct digits *digits) {
    free(digits->pixels);
    free(digits->labels);
    free(digits->order);
}

/* A row of inputs, from 0 to 1; returns its label. */
static uint32_t digits_row(const struct digits *digits, size_t image, float *inputs) {
    const unsigned at = digits->order[image];
    for (size_t i = 0; i < PIXELS; i++)
        inputs[i] = (float)digits->pixels[at * PIXELS + i] / 16;
    return digits->labels[at];
}

cls_status digits_batch(const struct digits *digits, unsigned seed, size_t first, size_t count,
                        float *rows) {
    unsigned *order = malloc(digits->train * sizeof *order);
    if (!order)
        return CLS_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < digits->train; i++)
        order[i] = (unsigned)i;
    shuffle(order, digits->train, seed);
    for (size_t i = 0; i < count; i++) {
        const uint32_t label = digits_row(digits, order[first + i], rows + i * PIXELS);
        memcpy(rows + count * PIXELS + i, &label, sizeof label);
    }
    free(order);
    return CLS_SUCCESS;
}

/* --- the network: its buffers --- */

static const double MOMENTUM = 0.9;
static const size_t shapes[PARAMETERS][2] = {
    {PIXELS, HIDDEN}, {1, HIDDEN}, {HIDDEN, CLASSES}, {1, CLASSES}};

static cls_matrix parameter(cls_buffer buffer, int which) {
    size_t offset = 0;
    for (int i = 0; i < which; i++)
        offset += shapes[i][0] * shapes[i][1];
    return cls_matrix_at(buffer, CLS_F32, offset, shapes[which][0], shapes[which][1]);
}

static cls_array parameter_array(cls_buffer buffer, int which) {
    const cls_matrix m = parameter(buffer, which);
    return cls_array_at(buffer, CLS_F32, m.offset, m.rows * m.columns);
}

static cls_vector biases(cls_buffer buffer, int which) {
    return cls_vector_from(parameter_array(buffer, which));
}

/* Uniform, in a range that suits a layer of so many inputs; biases begin with 0. */
static void draw_weights(cls_buffer buffer, unsigned seed) {
    cls_random random;
    must(cls_random_create(NULL, seed, &random));
    for (int i = W1; i <= W2; i += W2 - W1) {
        const double width = sqrt(6.0 / (double)shapes[i][0]);
        must(cls_random_uniform(random, parameter_array(buffer, i), -width, width, NULL));
    }
    must(cls_random_destroy(random));
}

static void optimizer_open(struct network *network) {
    cls_optimizer_config config = CLS_OPTIMIZER_CONFIG_INIT;
    cls_array weights[PARAMETERS];
    config.kind = CLS_SGD;
    config.momentum = MOMENTUM;
    for (int i = 0; i < PARAMETERS; i++)
        weights[i] = parameter_array(network->weights, i);
    must(cls_optimizer_create(NULL, &config, weights, PARAMETERS, &network->optimizer));
}

void network_open(struct network *network, size_t batch, unsigned seed) {
    const size_t count = parameter(NULL, B2).offset + CLASSES;
    must(cls_stream_create(NULL, NULL, &network->stream));
    must(cls_blas_warmup(CLS_F32, batch, HIDDEN, PIXELS, network->stream));
    network->batch = batch;
    network->weights = filled(count, 0);
    network->gradients = filled(count, 0);
    draw_weights(network->weights, seed);
    optimizer_open(network);
    network->a1 = filled(batch * HIDDEN, 0);
    network->d1 = filled(batch * HIDDEN, 0);
    network->z2 = filled(batch * CLASSES, 0);
    network->d2 = filled(batch * CLASSES, 0);
    network->losses = filled(batch, 0);
    network->sums = filled(batch, 0);
}

void network_close(struct network *network) {
    const cls_buffer buffers[] = {network->weights, network->gradients, network->a1,
                                  network->d1,      network->z2,        network->d2,
                                  network->losses,  network->sums};
    must(cls_optimizer_destroy(network->optimizer));
    must(cls_stream_destroy(network->stream));
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        must(cls_buffer_destroy(buffers[i]));
}

/* --- the network: forward, backward, update --- */

enum { NEITHER = 0, FIRST = 1, SECOND = 2 }; /* the transposed factor */

static void multiply(const struct network *network, cls_matrix a, cls_matrix b, cls_matrix c,
                     int transposed) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = transposed == FIRST;
    config.transpose_b = transposed == SECOND;
    must(cls_gemm_async(a, b, c, &config, network->stream));
}

/* out = activation(in w + b) */
static void layer(const struct network *network, cls_matrix in, int w, int b, cls_matrix out,
                  cls_unary_op activation) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.bias = biases(network->weights, b);
    config.activation = activation;
    must(cls_gemm_async(in, parameter(network->weights, w), out, &config, network->stream));
}

/* The gradients of a layer's weights and biases, from its inputs and the gradient of its outputs. */
static void layer_backward(const struct network *network, cls_matrix in, cls_matrix d, int w,
                           int b) {
    multiply(network, in, d, parameter(network->gradients, w), FIRST);
    must(cls_reduce_columns_async(CLS_REDUCE_SUM, d, biases(network->gradients, b),
                                  network->stream));
}

static cls_matrix rows_of(const struct network *network, cls_buffer buffer, size_t columns) {
    return cls_matrix_of(buffer, CLS_F32, network->batch, columns);
}

static cls_array all(cls_buffer buffer, size_t count) {
    return cls_array_of(buffer, CLS_F32, count);
}

/* Scores of the inputs, batch x PIXELS, into z2. */
static void network_forward(struct network *network, cls_buffer inputs) {
    const cls_matrix a1 = rows_of(network, network->a1, HIDDEN);
    layer(network, rows_of(network, inputs, PIXELS), W1, B1, a1, CLS_UNARY_RELU);
    layer(network, a1, W2, B2, rows_of(network, network->z2, CLASSES), (cls_unary_op)0);
}

/* The losses, and the gradient of their mean by the scores, in one launch; the losses are added up. */
static void take_losses(struct network *network, cls_buffer rows) {
    const size_t n = network->batch;
    const cls_vector labels = {rows, CLS_U32, n * PIXELS, n, 1};
    const cls_array losses = all(network->losses, n), sums = all(network->sums, n);
    must(cls_cross_entropy_gradient_async(
        rows_of(network, network->z2, CLASSES), labels, cls_vector_from(losses),
        rows_of(network, network->d2, CLASSES), 1.0 / (double)n, network->stream));
    must(cls_binary_async(CLS_BINARY_ADD, sums, losses, sums, network->stream));
}

void network_learn(struct network *network, cls_buffer rows) {
    const size_t count = network->batch * HIDDEN;
    const cls_array a1 = all(network->a1, count), d1 = all(network->d1, count);
    const cls_matrix d2 = rows_of(network, network->d2, CLASSES);
    cls_array gradients[PARAMETERS];
    network_forward(network, rows);
    take_losses(network, rows);
    layer_backward(network, rows_of(network, network->a1, HIDDEN), d2, W2, B2);
    multiply(network, d2, parameter(network->weights, W2), rows_of(network, network->d1, HIDDEN),
             SECOND);
    /* relu(x) is above 0 where x is: a1 stands for it. */
    must(cls_binary_async(CLS_BINARY_RELU_GRADIENT, a1, d1, d1, network->stream));
    layer_backward(network, rows_of(network, rows, PIXELS), rows_of(network, network->d1, HIDDEN),
                   W1, B1);
    for (int i = 0; i < PARAMETERS; i++)
        gradients[i] = parameter_array(network->gradients, i);
    must(cls_optimizer_step_async(network->optimizer, gradients, PARAMETERS, network->stream));
}

void network_set_rate(struct network *network, double rate) {
    must(cls_optimizer_set_rate_async(network->optimizer, rate, network->stream));
}

void network_take_loss(struct network *network, cls_buffer losses, size_t index) {
    const float zero = 0;
    must(cls_reduce_async(CLS_REDUCE_SUM, all(network->sums, network->batch),
                          cls_array_at(losses, CLS_F32, index, 1), network->stream));
    must(cls_fill_async(network->sums, 0, network->batch * sizeof zero, &zero, sizeof zero,
                        network->stream));
}

/* --- the network: how well it does --- */

static size_t best_of(const float *scores) {
    size_t best = 0;
    for (size_t i = 1; i < CLASSES; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

/* The last batch is filled with the first test images, which count once. */
double network_test(struct network *network, const struct digits *digits) {
    const size_t n = network->batch, first = digits->train, count = digits->count - first;
    float *inputs = zeroed(n * PIXELS * sizeof *inputs);
    uint32_t *labels = zeroed(n * sizeof *labels);
    float *scores = zeroed(n * CLASSES * sizeof *scores);
    size_t right = 0;
    cls_buffer buffer;
    must(cls_buffer_create(NULL, n * PIXELS * sizeof *inputs, &buffer));
    for (size_t at = 0; at < count; at += n) {
        for (size_t i = 0; i < n; i++)
            labels[i] = digits_row(digits, first + (at + i) % count, inputs + i * PIXELS);
        must(cls_copy_h2d_async(buffer, 0, inputs, n * PIXELS * sizeof *inputs, network->stream));
        network_forward(network, buffer);
        must(cls_copy_d2h(scores, network->z2, 0, n * CLASSES * sizeof *scores, network->stream));
        for (size_t i = 0; i < n && at + i < count; i++)
            right += best_of(scores + i * CLASSES) == labels[i];
    }
    must(cls_buffer_destroy(buffer));
    free(inputs);
    free(labels);
    free(scores);
    return (double)right / (double)count;
}

void draw_losses(const char *path, const float *sums, size_t count, double images,
                 double accuracy) {
    float *means = zeroed(count * sizeof *means);
    char title[96];
    for (size_t i = 0; i < count; i++)
        means[i] = sums[i] / (float)images;
    snprintf(title, sizeof title,
             "mean loss of the epochs 1 to %zu; %.2f %% right on the test images", count,
             100 * accuracy);
    draw_curve(path, title, means, count);
    free(means);
}

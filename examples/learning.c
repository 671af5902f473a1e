/* SPDX-License-Identifier: MIT */
#include "learning.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void must(cls_status status) {
    if (status)
        give_up("%s: %s", cls_status_string(status), cls_last_error_detail());
}

void give_up(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _Exit(1);
}

void *zeroed(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory)
        give_up("no memory for %zu bytes", bytes);
    return memory;
}

const char *option(int argc, char **argv, const char *name) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name))
            return i + 1 < argc ? argv[i + 1] : "";
    return NULL;
}

double when_done_us(cls_stream stream) {
    struct timespec now;
    must(cls_stream_synchronize(stream));
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

cls_buffer filled(size_t count, float value) {
    cls_buffer buffer;
    must(cls_buffer_create(NULL, count * sizeof value, &buffer));
    must(cls_fill(buffer, 0, count * sizeof value, &value, sizeof value, NULL));
    return buffer;
}

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

/* A row of inputs (64 pixels from 0 to 1, and a 1); returns its label. */
static uint32_t digits_row(const struct digits *digits, size_t image, float *inputs) {
    const unsigned at = digits->order[image];
    for (size_t i = 0; i < PIXELS; i++)
        inputs[i] = (float)digits->pixels[at * PIXELS + i] / 16;
    inputs[PIXELS] = 1;
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
        const uint32_t label = digits_row(digits, order[first + i], rows + i * INPUTS);
        memcpy(rows + count * INPUTS + i, &label, sizeof label);
    }
    free(order);
    return CLS_SUCCESS;
}

/* --- the network: its buffers --- */

static const double MOMENTUM = 0.9;

/* The rate lies on the device: an argument would be the same in each launch of a graph. */
static const char DESCEND[] =
    "__kernel void descend(__global float *weights, __global const float *gradient,\n"
    "                      __global const float *rate) {\n"
    "    const size_t i = get_global_id(0);\n"
    "    weights[i] -= rate[0] * gradient[i];\n"
    "}\n";

/* Uniform, in a range that suits a layer of `in` inputs; the last row, the biases, is 0. */
static cls_buffer weights(size_t in, size_t out, unsigned *seed) {
    float *values = zeroed(in * out * sizeof *values);
    const double width = sqrt(6.0 / (double)in);
    cls_buffer buffer;
    for (size_t i = 0; i < (in - 1) * out; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        values[i] = (float)(width * ((double)(*seed >> 8) / (1 << 23) - 1));
    }
    must(cls_buffer_from_host(NULL, values, in * out * sizeof *values, &buffer));
    free(values);
    return buffer;
}

void network_open(struct network *network, size_t batch, unsigned seed) {
    cls_program program;
    must(cls_stream_create(NULL, NULL, &network->stream));
    must(cls_blas_warmup(CLS_F32, batch, HIDDEN, INPUTS, network->stream));
    network->batch = batch;
    network->w1 = weights(INPUTS, HIDDEN, &seed);
    network->w2 = weights(WIDE, CLASSES, &seed);
    network->v1 = filled(INPUTS * HIDDEN, 0);
    network->v2 = filled(WIDE * CLASSES, 0);
    network->a1 = filled(batch * WIDE, 1); /* its last column stays 1 */
    network->d1 = filled(batch * WIDE, 0);
    network->m1 = filled(batch * WIDE, 0);
    network->z2 = filled(batch * CLASSES, 0);
    network->d2 = filled(batch * CLASSES, 0);
    network->losses = filled(batch, 0);
    network->rate = filled(1, 0);
    network->loss = filled(1, 0);
    network->sum = filled(1, 0);
    must(cls_program_from_source(NULL, DESCEND, "descend.cl", NULL, &program));
    must(cls_kernel_create(program, "descend", &network->descend));
    must(cls_program_destroy(program));
}

void network_close(struct network *network) {
    const cls_buffer buffers[] = {network->w1, network->w2,     network->v1,   network->v2,
                                  network->a1, network->d1,     network->m1,   network->z2,
                                  network->d2, network->losses, network->rate, network->loss,
                                  network->sum};
    must(cls_kernel_destroy(network->descend));
    must(cls_stream_destroy(network->stream));
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        must(cls_buffer_destroy(buffers[i]));
}

/* --- the network: one matrix product --- */

enum { NEITHER = 0, FIRST = 1, SECOND = 2 }; /* what is transposed */

static void multiply(const struct network *network, cls_matrix a, cls_matrix b, cls_matrix c,
                     int transposed, double alpha, double beta) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = transposed == FIRST;
    config.transpose_b = transposed == SECOND;
    config.alpha = alpha;
    config.beta = beta;
    must(cls_gemm_async(a, b, c, &config, network->stream));
}

/* The first `columns` columns of a matrix that has `wide`. */
static cls_matrix part(cls_buffer buffer, size_t rows, size_t columns, size_t wide) {
    cls_matrix matrix = cls_matrix_of(buffer, CLS_F32, rows, columns);
    matrix.ld = wide;
    return matrix;
}

static cls_array all(cls_buffer buffer, size_t count) {
    return cls_array_of(buffer, CLS_F32, count);
}

/* --- the network: forward, backward, update --- */

/* Scores of the inputs, batch x INPUTS, into z2. */
static void network_forward(struct network *network, cls_buffer inputs) {
    const size_t n = network->batch;
    const cls_matrix x = part(inputs, n, INPUTS, INPUTS);
    const cls_array a1 = all(network->a1, n * WIDE);
    multiply(network, x, part(network->w1, INPUTS, HIDDEN, HIDDEN),
             part(network->a1, n, HIDDEN, WIDE), NEITHER, 1, 0);
    must(cls_unary_async(CLS_UNARY_RELU, a1, a1, network->stream));
    multiply(network, part(network->a1, n, WIDE, WIDE), part(network->w2, WIDE, CLASSES, CLASSES),
             part(network->z2, n, CLASSES, CLASSES), NEITHER, 1, 0);
}

/* The losses and their gradient by the scores, softmax - 1 at the label, in one launch; the losses are added up. */
static void take_losses(struct network *network, cls_buffer rows) {
    const size_t n = network->batch;
    const cls_vector labels = {rows, CLS_U32, n * INPUTS, n, 1};
    const cls_array loss = all(network->loss, 1), sum = all(network->sum, 1);
    must(cls_cross_entropy_gradient_async(
        part(network->z2, n, CLASSES, CLASSES), labels, cls_vector_of(network->losses, CLS_F32, n),
        part(network->d2, n, CLASSES, CLASSES), 1, network->stream));
    must(cls_reduce_async(CLS_REDUCE_SUM, all(network->losses, n), sum, network->stream));
    must(cls_binary_async(CLS_BINARY_ADD, loss, sum, loss, network->stream));
}

static void descend(struct network *network, cls_buffer weights, cls_buffer v, size_t count) {
    const cls_launch shape = cls_launch_1d(count);
    const cls_arg args[] = {cls_arg_buffer(weights), cls_arg_buffer(v),
                            cls_arg_buffer(network->rate)};
    must(cls_kernel_launch_async(network->descend, &shape, args, 3, network->stream));
}

void network_learn(struct network *network, cls_buffer rows) {
    const size_t n = network->batch;
    const cls_array d1 = all(network->d1, n * WIDE), m1 = all(network->m1, n * WIDE);
    const cls_matrix d2 = part(network->d2, n, CLASSES, CLASSES);
    network_forward(network, rows);
    take_losses(network, rows);
    /* The gradient of the hidden values is 0 where they are. */
    multiply(network, d2, part(network->w2, HIDDEN, CLASSES, CLASSES),
             part(network->d1, n, HIDDEN, WIDE), SECOND, 1, 0);
    must(cls_unary_async(CLS_UNARY_SIGN, all(network->a1, n * WIDE), m1, network->stream));
    must(cls_binary_async(CLS_BINARY_MUL, d1, m1, d1, network->stream));
    /* v = mean gradient + MOMENTUM v; w = w - rate v */
    multiply(network, part(network->a1, n, WIDE, WIDE), d2,
             part(network->v2, WIDE, CLASSES, CLASSES), FIRST, 1.0 / (double)n, MOMENTUM);
    multiply(network, part(rows, n, INPUTS, INPUTS), part(network->d1, n, HIDDEN, WIDE),
             part(network->v1, INPUTS, HIDDEN, HIDDEN), FIRST, 1.0 / (double)n, MOMENTUM);
    descend(network, network->w2, network->v2, WIDE * CLASSES);
    descend(network, network->w1, network->v1, INPUTS * HIDDEN);
}

void network_set_rate(struct network *network, double rate) {
    const float value = (float)rate;
    must(cls_fill_async(network->rate, 0, sizeof value, &value, sizeof value, network->stream));
}

void network_take_loss(struct network *network, cls_buffer losses, size_t index) {
    const float zero = 0;
    must(cls_copy_d2d_async(losses, index * sizeof zero, network->loss, 0, sizeof zero,
                            network->stream));
    must(cls_fill_async(network->loss, 0, sizeof zero, &zero, sizeof zero, network->stream));
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
    float *inputs = zeroed(n * INPUTS * sizeof *inputs);
    uint32_t *labels = zeroed(n * sizeof *labels);
    float *scores = zeroed(n * CLASSES * sizeof *scores);
    size_t right = 0;
    cls_buffer buffer;
    must(cls_buffer_create(NULL, n * INPUTS * sizeof *inputs, &buffer));
    for (size_t at = 0; at < count; at += n) {
        for (size_t i = 0; i < n; i++)
            labels[i] = digits_row(digits, first + (at + i) % count, inputs + i * INPUTS);
        must(cls_copy_h2d_async(buffer, 0, inputs, n * INPUTS * sizeof *inputs, network->stream));
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

/* --- the picture --- */

enum { WIDTH = 640, HEIGHT = 320, MARGIN = 40 };

void draw_losses(const char *path, const float *sums, size_t count, double images,
                 double accuracy) {
    FILE *file = fopen(path, "w");
    if (!file)
        give_up("%s cannot be written", path);
    float most = sums[0];
    for (size_t i = 1; i < count; i++)
        most = sums[i] > most ? sums[i] : most;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"gray\"/>\n"
            "<text x=\"%d\" y=\"%d\">%.3g</text><text x=\"%d\" y=\"%d\">0</text>\n"
            "<text x=\"%d\" y=\"%d\">mean loss of the epochs 1 to %zu; %.2f %% right on the test "
            "images</text>\n<polyline fill=\"none\" stroke=\"steelblue\" stroke-width=\"2\" "
            "points=\"",
            WIDTH, HEIGHT, MARGIN, MARGIN, HEIGHT - MARGIN, WIDTH - MARGIN / 2, 4, MARGIN + 4,
            most / images, MARGIN - 14, HEIGHT - MARGIN + 4, MARGIN, HEIGHT - MARGIN / 2, count,
            100 * accuracy);
    for (size_t i = 0; i < count; i++) {
        const double x = count > 1 ? (double)i / (double)(count - 1) : 0;
        fprintf(file, "%.1f,%.1f ", MARGIN + x * (WIDTH - MARGIN * 3 / 2.0),
                MARGIN + (1 - (double)(sums[i] / most)) * (HEIGHT - 2 * MARGIN));
    }
    fputs("\"/>\n</svg>\n", file);
    if (fclose(file))
        give_up("%s cannot be written", path);
}

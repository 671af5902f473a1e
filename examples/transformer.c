/* SPDX-License-Identifier: MIT */
#include "transformer.h"

#include <math.h>
#include <stdlib.h>

#include "common.h"

static const double EPSILON = 1e-5, DECAY = 0.01, MAX_NORM = 1;

/* --- parameters --- */

static size_t parameter_rows(const struct transformer *net, int which) {
    static const size_t rows[OF_LAYER] = {1, WIDTH, WIDTH, 1, WIDTH, INNER};
    static const size_t others[] = {0, CONTEXT, 1, WIDTH};
    return which == EMBEDDING  ? net->characters
           : which < EMBEDDING ? rows[which % OF_LAYER]
                               : others[which - EMBEDDING];
}

static size_t parameter_columns(const struct transformer *net, int which) {
    static const size_t columns[OF_LAYER] = {WIDTH, 3 * WIDTH, WIDTH, WIDTH, INNER, WIDTH};
    return which == SCORES     ? net->characters
           : which < EMBEDDING ? columns[which % OF_LAYER]
                               : WIDTH;
}

static cls_matrix parameter(const struct transformer *net, const struct parameters *of, int which) {
    return cls_matrix_at(of->buffer, CLS_BF16, of->offsets[which], parameter_rows(net, which),
                         parameter_columns(net, which));
}

static cls_array parameter_array(const struct transformer *net, const struct parameters *of,
                                 int which) {
    return cls_array_at(of->buffer, CLS_BF16, of->offsets[which],
                        parameter_rows(net, which) * parameter_columns(net, which));
}

static cls_vector parameter_vector(const struct transformer *net, const struct parameters *of,
                                   int which) {
    return cls_vector_from(parameter_array(net, of, which));
}

/* `count` numbers of 16 bits. */
static cls_buffer numbers(size_t count) {
    cls_buffer buffer;
    must(cls_buffer_create(NULL, count * sizeof(uint16_t), &buffer));
    return buffer;
}

static void parameters_open(const struct transformer *net, struct parameters *of) {
    of->offsets[0] = 0;
    for (int i = 0; i < PARAMETERS; i++) /* each begins at a multiple of 16 bytes */
        of->offsets[i + 1] =
            of->offsets[i] + (parameter_rows(net, i) * parameter_columns(net, i) + 7) / 8 * 8;
    of->buffer = numbers(of->offsets[PARAMETERS]);
}

/* Gains are 1; the other numbers normal, of a deviation that keeps the size of what a matrix multiplies. The scores begin
 * with less, so that all characters are likely. */
static void parameters_draw(const struct transformer *net, uint64_t seed) {
    cls_random random;
    must(cls_random_create(NULL, seed, &random));
    for (int i = 0; i < PARAMETERS; i++) {
        const size_t rows = parameter_rows(net, i);
        const int is_table = i == EMBEDDING || i == PLACES, is_gain = rows == 1;
        const double deviation = is_gain    ? 0
                                 : is_table ? 0.5
                                            : (i == SCORES ? 0.25 : 1) / sqrt((double)rows);
        must(cls_random_normal_async(random, parameter_array(net, &net->weights, i), is_gain,
                                     deviation, net->stream));
    }
    must(cls_random_destroy(random));
}

static void optimizer_open(struct transformer *net) {
    cls_optimizer_config config = CLS_OPTIMIZER_CONFIG_INIT;
    cls_array weights[PARAMETERS];
    config.decay = DECAY;
    config.max_norm = MAX_NORM;
    config.beta2 = 0.99;
    for (int i = 0; i < PARAMETERS; i++)
        weights[i] = parameter_array(net, &net->weights, i);
    must(cls_stream_synchronize(net->stream));
    must(cls_optimizer_create(NULL, &config, weights, PARAMETERS, &net->optimizer));
}

/* --- the rest of the network --- */

/* A window's characters see those before them, and themselves. */
static cls_buffer mask_new(void) {
    static uint16_t mask[CONTEXT * CONTEXT];
    cls_buffer buffer;
    for (int i = 0; i < CONTEXT; i++)
        for (int k = i + 1; k < CONTEXT; k++)
            mask[i * CONTEXT + k] = 0xff80; /* -infinity */
    must(cls_buffer_from_host(NULL, mask, sizeof mask, &buffer));
    return buffer;
}

static void layer_open(struct layer *layer, size_t rows) {
    layer->in = numbers(rows * WIDTH);
    layer->normal_1 = numbers(rows * WIDTH);
    layer->qkv = numbers(rows * 3 * WIDTH);
    layer->shares = numbers(rows * CONTEXT);
    layer->mixed = numbers(rows * WIDTH);
    layer->between = numbers(rows * WIDTH);
    layer->normal_2 = numbers(rows * WIDTH);
    layer->inner = numbers(rows * INNER);
}

static void layer_close(const struct layer *layer) {
    const cls_buffer buffers[] = {layer->in,    layer->normal_1, layer->qkv,      layer->shares,
                                  layer->mixed, layer->between,  layer->normal_2, layer->inner};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        must(cls_buffer_destroy(buffers[i]));
}

void transformer_open(struct transformer *net, size_t characters, size_t batch, uint64_t seed) {
    const size_t rows = batch * CONTEXT;
    net->characters = characters;
    net->batch = batch;
    must(cls_stream_create(NULL, NULL, &net->stream));
    parameters_open(net, &net->weights);
    parameters_open(net, &net->gradients);
    parameters_draw(net, seed);
    optimizer_open(net);
    for (int i = 0; i < LAYERS; i++)
        layer_open(&net->layers[i], rows);
    net->out = numbers(rows * WIDTH);
    net->normal = numbers(rows * WIDTH);
    net->scores = numbers(rows * characters);
    net->losses = filled(rows, 0);
    net->mask = mask_new();
    for (int i = 0; i < SPARE; i++)
        net->spare[i] = numbers(rows * INNER);
    net->sums = filled(characters * WIDTH, 0);
}

void transformer_close(struct transformer *net) {
    const cls_buffer buffers[] = {
        net->weights.buffer, net->gradients.buffer, net->out,  net->normal,
        net->scores,         net->losses,           net->mask, net->sums};
    must(cls_optimizer_destroy(net->optimizer));
    must(cls_stream_destroy(net->stream));
    for (int i = 0; i < LAYERS; i++)
        layer_close(&net->layers[i]);
    for (int i = 0; i < SPARE; i++)
        must(cls_buffer_destroy(net->spare[i]));
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        must(cls_buffer_destroy(buffers[i]));
}

/* --- what both passes do --- */

enum { NEITHER = 0, FIRST = 1, SECOND = 2 }; /* the transposed factor */

static cls_matrix matrix(cls_buffer buffer, size_t rows, size_t columns) {
    return cls_matrix_of(buffer, CLS_BF16, rows, columns);
}

/* A product for each window. */
static void multiply_windows(const struct transformer *net, size_t windows, cls_matrix a,
                             cls_matrix b, cls_matrix c, int transposed, double factor) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_a = transposed == FIRST;
    config.transpose_b = transposed == SECOND;
    config.batches = windows;
    config.alpha = factor;
    must(cls_gemm_async(a, b, c, &config, net->stream));
}

static void multiply(const struct transformer *net, cls_matrix a, cls_matrix b, cls_matrix c,
                     int transposed) {
    multiply_windows(net, 1, a, b, c, transposed, 1);
}

static void add_to(const struct transformer *net, cls_buffer sum, cls_buffer more, size_t rows) {
    const cls_array array = cls_array_of(sum, CLS_BF16, rows * WIDTH);
    must(cls_binary_async(CLS_BINARY_ADD, array, cls_array_of(more, CLS_BF16, rows * WIDTH), array,
                          net->stream));
}

/* The windows' queries, keys or values (0, 1 or 2), which lie beside each other. */
static cls_matrix part_of(cls_buffer qkv, int which) {
    return (cls_matrix){qkv,   CLS_BF16,  (size_t)which * WIDTH, CONTEXT,
                        WIDTH, 3 * WIDTH, CONTEXT * 3 * WIDTH};
}

static const double SCALE = 0.125; /* 1 / sqrt(WIDTH) */

/* --- forward --- */

/* shares = softmax(Q K' / sqrt(WIDTH), masked); mixed = shares V */
static void attend(const struct transformer *net, const struct layer *layer, size_t windows) {
    const cls_matrix shares = matrix(layer->shares, CONTEXT, CONTEXT);
    const cls_matrix by_window = matrix(layer->shares, windows, CONTEXT * CONTEXT);
    const cls_matrix rows = matrix(layer->shares, windows * CONTEXT, CONTEXT);
    const cls_vector mask = cls_vector_of(net->mask, CLS_BF16, CONTEXT * CONTEXT);
    multiply_windows(net, windows, part_of(layer->qkv, 0), part_of(layer->qkv, 1), shares, SECOND,
                     SCALE);
    must(cls_binary_rows_async(CLS_BINARY_ADD, by_window, mask, by_window, net->stream));
    must(cls_softmax_async(rows, rows, net->stream));
    multiply_windows(net, windows, shares, part_of(layer->qkv, 2),
                     matrix(layer->mixed, CONTEXT, WIDTH), NEITHER, 1);
}

static void normalize(const struct transformer *net, cls_buffer in, int gain, cls_buffer out,
                      size_t rows) {
    must(cls_rms_norm_async(matrix(in, rows, WIDTH), parameter_vector(net, &net->weights, gain),
                            EPSILON, matrix(out, rows, WIDTH), net->stream));
}

/* between = in + attention of the norm of in; out = between + DOWN relu(UP norm of between) */
static void layer_forward(const struct transformer *net, int number, cls_buffer out,
                          size_t windows) {
    const struct layer *layer = &net->layers[number];
    const struct parameters *w = &net->weights;
    const int at = number * OF_LAYER;
    const size_t rows = windows * CONTEXT;
    cls_gemm_config relu = CLS_GEMM_CONFIG_INIT;
    relu.activation = CLS_UNARY_RELU;
    normalize(net, layer->in, at + GAIN_1, layer->normal_1, rows);
    multiply(net, matrix(layer->normal_1, rows, WIDTH), parameter(net, w, at + QKV),
             matrix(layer->qkv, rows, 3 * WIDTH), NEITHER);
    attend(net, layer, windows);
    multiply(net, matrix(layer->mixed, rows, WIDTH), parameter(net, w, at + MIX),
             matrix(layer->between, rows, WIDTH), NEITHER);
    add_to(net, layer->between, layer->in, rows);
    normalize(net, layer->between, at + GAIN_2, layer->normal_2, rows);
    must(cls_gemm_async(matrix(layer->normal_2, rows, WIDTH), parameter(net, w, at + UP),
                        matrix(layer->inner, rows, INNER), &relu, net->stream));
    multiply(net, matrix(layer->inner, rows, INNER), parameter(net, w, at + DOWN),
             matrix(out, rows, WIDTH), NEITHER);
    add_to(net, out, layer->between, rows);
}

/* Where a layer writes: to the next one, or to the end. */
static cls_buffer output_of(const struct transformer *net, int number) {
    return number + 1 < LAYERS ? net->layers[number + 1].in : net->out;
}

void transformer_forward(struct transformer *net, cls_vector tokens, size_t windows) {
    const size_t rows = windows * CONTEXT;
    const cls_buffer in = net->layers[0].in;
    const cls_matrix by_window = matrix(in, windows, CONTEXT * WIDTH);
    must(cls_select_rows_async(parameter(net, &net->weights, EMBEDDING), tokens,
                               matrix(in, rows, WIDTH), (cls_array){0}, net->stream));
    must(cls_binary_rows_async(CLS_BINARY_ADD, by_window,
                               parameter_vector(net, &net->weights, PLACES), by_window,
                               net->stream));
    for (int i = 0; i < LAYERS; i++)
        layer_forward(net, i, output_of(net, i), windows);
    normalize(net, net->out, GAIN, net->normal, rows);
    multiply(net, matrix(net->normal, rows, WIDTH), parameter(net, &net->weights, SCORES),
             matrix(net->scores, rows, net->characters), NEITHER);
}

/* --- backward: `d` is the gradient by the output of a step, and becomes that by its input --- */

/* The gradients of out = in weight, whose input is `in` of `inner` columns: by the weight, and by the input in `d_in`. */
static void product_backward(const struct transformer *net, cls_buffer in, int weight, cls_matrix d,
                             cls_buffer d_in) {
    const cls_matrix w = parameter(net, &net->weights, weight);
    multiply(net, matrix(in, d.rows, w.rows), d, parameter(net, &net->gradients, weight), FIRST);
    multiply(net, d, w, matrix(d_in, d.rows, w.rows), SECOND);
}

static void norm_backward(const struct transformer *net, cls_buffer in, int gain, cls_buffer d,
                          size_t rows) {
    must(cls_rms_norm_gradient_async(matrix(in, rows, WIDTH),
                                     parameter_vector(net, &net->weights, gain), EPSILON,
                                     matrix(d, rows, WIDTH), matrix(d, rows, WIDTH),
                                     parameter_vector(net, &net->gradients, gain), net->stream));
}

/* inner = relu(x) is above 0 where x is, and stands for it. */
static void relu_backward(const struct transformer *net, cls_buffer inner, cls_buffer d,
                          size_t count) {
    const cls_array array = cls_array_of(d, CLS_BF16, count);
    must(cls_binary_async(CLS_BINARY_RELU_GRADIENT, cls_array_of(inner, CLS_BF16, count), array,
                          array, net->stream));
}

/* d is that by `mixed`; writes that by queries, keys and values. */
static void attend_backward(const struct transformer *net, const struct layer *layer, cls_buffer d,
                            cls_buffer d_qkv, cls_buffer d_shares) {
    const size_t windows = net->batch;
    const cls_matrix shares = matrix(layer->shares, CONTEXT, CONTEXT),
                     mixed = matrix(d, CONTEXT, WIDTH);
    const cls_matrix by_shares = matrix(d_shares, CONTEXT, CONTEXT);
    const cls_matrix rows = matrix(d_shares, windows * CONTEXT, CONTEXT);
    multiply_windows(net, windows, shares, mixed, part_of(d_qkv, 2), FIRST, 1);
    multiply_windows(net, windows, mixed, part_of(layer->qkv, 2), by_shares, SECOND, 1);
    must(cls_softmax_gradient_async(matrix(layer->shares, windows * CONTEXT, CONTEXT), rows, rows,
                                    net->stream));
    multiply_windows(net, windows, by_shares, part_of(layer->qkv, 1), part_of(d_qkv, 0), NEITHER,
                     SCALE);
    multiply_windows(net, windows, by_shares, part_of(layer->qkv, 0), part_of(d_qkv, 1), FIRST,
                     SCALE);
}

static void layer_backward(const struct transformer *net, int number, cls_buffer d) {
    const struct layer *layer = &net->layers[number];
    const int at = number * OF_LAYER;
    const size_t rows = net->batch * CONTEXT;
    const cls_buffer wide = net->spare[1], narrow = net->spare[2], other = net->spare[3];
    product_backward(net, layer->inner, at + DOWN, matrix(d, rows, WIDTH), wide);
    relu_backward(net, layer->inner, wide, rows * INNER);
    product_backward(net, layer->normal_2, at + UP, matrix(wide, rows, INNER), narrow);
    norm_backward(net, layer->between, at + GAIN_2, narrow, rows);
    add_to(net, d, narrow, rows);
    product_backward(net, layer->mixed, at + MIX, matrix(d, rows, WIDTH), narrow);
    attend_backward(net, layer, narrow, wide, other);
    product_backward(net, layer->normal_1, at + QKV, matrix(wide, rows, 3 * WIDTH), narrow);
    norm_backward(net, layer->in, at + GAIN_1, narrow, rows);
    add_to(net, d, narrow, rows);
}

/* A character that occurs often gets many small additions, which bf16 would lose: they are made in f32. */
static void embedding_backward(const struct transformer *net, cls_vector tokens, cls_buffer d) {
    const size_t rows = net->batch * CONTEXT, count = net->characters * WIDTH;
    const float zero = 0;
    const cls_array wide = cls_array_of(net->spare[1], CLS_F32, rows * WIDTH);
    must(cls_reduce_columns_async(CLS_REDUCE_SUM, matrix(d, net->batch, CONTEXT * WIDTH),
                                  parameter_vector(net, &net->gradients, PLACES), net->stream));
    must(cls_cast_async(cls_array_of(d, CLS_BF16, rows * WIDTH), wide, net->stream));
    must(cls_fill_async(net->sums, 0, count * sizeof zero, &zero, sizeof zero, net->stream));
    must(cls_scatter_add_rows_async(cls_matrix_of(wide.buffer, CLS_F32, rows, WIDTH), tokens,
                                    cls_matrix_of(net->sums, CLS_F32, net->characters, WIDTH),
                                    (cls_array){0}, net->stream));
    must(cls_cast_async(cls_array_of(net->sums, CLS_F32, count),
                        parameter_array(net, &net->gradients, EMBEDDING), net->stream));
}

void transformer_learn(struct transformer *net, cls_vector tokens, cls_vector targets) {
    const size_t rows = net->batch * CONTEXT;
    const cls_matrix scores = matrix(net->scores, rows, net->characters);
    const cls_buffer d = net->spare[0];
    cls_array gradients[PARAMETERS];
    transformer_forward(net, tokens, net->batch);
    must(cls_cross_entropy_gradient_async(scores, targets,
                                          cls_vector_of(net->losses, CLS_F32, rows), scores,
                                          1 / (double)rows, net->stream));
    product_backward(net, net->normal, SCORES, scores, d);
    norm_backward(net, net->out, GAIN, d, rows);
    for (int i = LAYERS - 1; i >= 0; i--)
        layer_backward(net, i, d);
    embedding_backward(net, tokens, d);
    for (int i = 0; i < PARAMETERS; i++)
        gradients[i] = parameter_array(net, &net->gradients, i);
    must(cls_optimizer_step_async(net->optimizer, gradients, PARAMETERS, net->stream));
}

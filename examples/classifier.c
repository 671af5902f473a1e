/* SPDX-License-Identifier: MIT */
#include "classifier.h"

#include <stdlib.h>

#include "common.h"

enum {
    WIDTH = 64, /* numbers for a token */
    CHANNELS = 256,
    POSITIONS = TOKENS * WIDTH / CHANNELS,
    FILTER = 5, /* positions that a feature sees */
    FEATURES = 512,
    PLACES = POSITIONS - FILTER + 1 /* of a filter */
};

static const double EPSILON = 1e-6; /* of both norms */

/* --- the forward pass: each function submits a part to the stream --- */

/* A row for each token: gelu(row + bias). It depends on the token alone, so that it is calculated once. */
static void make_table(const struct classifier *c) {
    const cls_matrix table = weights_matrix(&c->weights, "table", PADDING + 1, WIDTH);
    const cls_array all =
        cls_array_at(table.buffer, CLS_F32, table.offset, table.rows * table.columns);
    must(cls_binary_rows_async(CLS_BINARY_ADD, table,
                               weights_vector(&c->weights, "table_bias", WIDTH), table, c->stream));
    must(cls_unary_async(CLS_UNARY_GELU, all, all, c->stream));
}

/* channels = the tokens' rows, four to a position, transposed */
static void embed(const struct classifier *c) {
    must(cls_select_rows_async(weights_matrix(&c->weights, "table", PADDING + 1, WIDTH),
                               cls_vector_of(c->numbers, CLS_U32, TOKENS),
                               cls_matrix_of(c->rows, CLS_F32, TOKENS, WIDTH), (cls_array){0},
                               c->stream));
    must(cls_transpose_async(cls_matrix_of(c->rows, CLS_F32, POSITIONS, CHANNELS),
                             cls_matrix_of(c->channels, CLS_F32, CHANNELS, POSITIONS), c->stream));
}

static void normalize(const struct classifier *c, cls_matrix rows, const char *gain,
                      const char *shift) {
    must(cls_layer_norm_async(rows, weights_vector(&c->weights, gain, rows.columns),
                              weights_vector(&c->weights, shift, rows.columns), EPSILON, rows,
                              c->stream));
}

/*
 * features = gelu(sum of F_k C_k + bias), where F_k has the filters' weights for position k of the five, and C_k is the
 * channels from position k on: five products, added up where they are written.
 */
static void convolve(const struct classifier *c) {
    const cls_matrix filters =
        weights_matrix(&c->weights, "filters", (size_t)FILTER * FEATURES, CHANNELS);
    const cls_matrix features = cls_matrix_of(c->features, CLS_F32, FEATURES, PLACES);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    for (size_t k = 0; k < FILTER; k++) {
        const cls_matrix part = cls_matrix_at(
            filters.buffer, CLS_F32, filters.offset + k * FEATURES * CHANNELS, FEATURES, CHANNELS);
        const cls_matrix shifted = {c->channels, CLS_F32, k, CHANNELS, PLACES, POSITIONS, 0};
        config.beta = k ? 1 : 0;
        if (k == FILTER - 1) {
            config.bias = weights_vector(&c->weights, "filters_bias", FEATURES);
            config.bias_by_row = 1;
            config.activation = CLS_UNARY_GELU;
        }
        must(cls_gemm_async(part, shifted, features, &config, c->stream));
    }
}

/* scores = softmax(greatest W + bias) */
static void score(const struct classifier *c) {
    const cls_matrix scores = cls_matrix_of(c->results, CLS_F32, 1, c->labels);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.bias = weights_vector(&c->weights, "scores_bias", c->labels);
    must(cls_gemm_async(cls_matrix_of(c->greatest, CLS_F32, 1, FEATURES),
                        weights_matrix(&c->weights, "scores", FEATURES, c->labels), scores, &config,
                        c->stream));
    must(cls_softmax_async(scores, scores, c->stream));
}

static void forward(struct classifier *c) {
    must(cls_copy_h2d_async(c->numbers, 0, c->tokens, sizeof c->tokens, c->stream));
    embed(c);
    normalize(c, cls_matrix_of(c->channels, CLS_F32, CHANNELS, POSITIONS), "gain_1", "shift_1");
    convolve(c);
    must(cls_reduce_rows_async(CLS_REDUCE_MAX,
                               cls_matrix_of(c->features, CLS_F32, FEATURES, PLACES),
                               cls_vector_of(c->greatest, CLS_F32, FEATURES), c->stream));
    normalize(c, cls_matrix_of(c->greatest, CLS_F32, 1, FEATURES), "gain_2", "shift_2");
    score(c);
    must(cls_copy_d2h_async(c->scores, c->results, 0, c->labels * sizeof(float), c->stream));
}

static cls_graph_exec capture_forward(struct classifier *c) {
    cls_graph_exec exec;
    cls_graph graph;
    must(cls_stream_begin_capture(c->stream, "forward"));
    forward(c);
    must(cls_stream_end_capture(c->stream, &graph));
    must(cls_graph_instantiate(graph, NULL, &exec));
    must(cls_graph_destroy(graph));
    return exec;
}

/* --- opening and closing --- */

void classifier_open(struct classifier *c, const char *path) {
    weights_open(&c->weights, path);
    while (classifier_label(c, c->labels))
        c->labels++;
    must(cls_stream_create(NULL, NULL, &c->stream));
    c->numbers = filled(TOKENS, 0);
    c->rows = filled((size_t)TOKENS * WIDTH, 0);
    c->channels = filled((size_t)CHANNELS * POSITIONS, 0);
    c->features = filled((size_t)FEATURES * PLACES, 0);
    c->greatest = filled(FEATURES, 0);
    c->results = filled(c->labels, 0);
    c->scores = zeroed(c->labels * sizeof(float));
    make_table(c);
    c->forward = capture_forward(c);
}

void classifier_close(struct classifier *c) {
    const cls_buffer buffers[] = {c->numbers,  c->rows,     c->channels,
                                  c->features, c->greatest, c->results};
    must(cls_graph_exec_destroy(c->forward));
    must(cls_stream_destroy(c->stream));
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        must(cls_buffer_destroy(buffers[i]));
    weights_close(&c->weights);
    free(c->scores);
}

const char *classifier_label(const struct classifier *c, size_t number) {
    return weights_text(&c->weights, "labels", number);
}

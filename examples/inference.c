/* SPDX-License-Identifier: MIT */
/*
 * Inference with a model whose layers stream through the device: only two layers' weights are there at a
 * time, and the next one's are uploaded while this one computes. Batches overlap as well: those of N - 2 and
 * N - 1 may be downloaded, and that of N + 1 uploaded, while that of N computes, so that four are there.
 */
#include <stdio.h>
#include <stdlib.h>

#include "example.h"

enum { LAYERS = 4, WIDTH = 256, BATCHES = 6 };

/* A layer is y = relu(x * w + b), element by element, so that the host can follow it exactly. */
struct model {
    float w[LAYERS][WIDTH], b[LAYERS][WIDTH];
};

static void run_layer(cls_stream stream, cls_buffer weights, cls_array x) {
    const cls_array w = cls_array_of(weights, CLS_F32, WIDTH);
    const cls_array b = cls_array_at(weights, CLS_F32, WIDTH, WIDTH);
    MUST(cls_binary_async(CLS_BINARY_MUL, x, w, x, stream));
    MUST(cls_binary_async(CLS_BINARY_ADD, x, b, x, stream));
    MUST(cls_unary_async(CLS_UNARY_RELU, x, x, stream));
}

/* Two slots of weights: a layer's upload waits until the one before the last is computed. */
static void run_model(const struct model *model, cls_triple_buffer weights, cls_stream up,
                      cls_stream work, cls_array x) {
    cls_slot slot;
    for (int layer = 0; layer < LAYERS; layer++) {
        MUST(cls_triple_buffer_upload_slot(weights, up, &slot));
        MUST(cls_copy_h2d_async(slot.buffer, 0, model->w[layer], sizeof model->w[layer], up));
        MUST(cls_copy_h2d_async(slot.buffer, sizeof model->w[layer], model->b[layer],
                                sizeof model->b[layer], up));
        MUST(cls_triple_buffer_process_slot(weights, work, &slot));
        run_layer(work, slot.buffer, x);
        MUST(cls_triple_buffer_download_slot(weights, work, &slot)); /* nothing to fetch */
        MUST(cls_triple_buffer_advance(weights));
    }
}

static float expected(const struct model *model, float x, int i) {
    for (int layer = 0; layer < LAYERS; layer++) {
        const float product = x * model->w[layer][i];
        x = product + model->b[layer][i];
        x = x > 0 ? x : 0;
    }
    return x;
}

int main(void) {
    static struct model model;
    static float in[BATCHES][WIDTH], out[BATCHES][WIDTH];
    cls_stream up, work, down;
    cls_triple_buffer weights, batches;
    cls_triple_buffer_config two = CLS_TRIPLE_BUFFER_CONFIG_INIT, four = two;
    cls_slot slot;
    two.slots = 2;
    four.slots = 4;
    for (int i = 0; i < WIDTH; i++)
        for (int layer = 0; layer < LAYERS; layer++) {
            model.w[layer][i] = (float)(i % 4) - 1;
            model.b[layer][i] = (float)(layer + 1);
        }
    MUST(cls_stream_create(NULL, NULL, &up));
    MUST(cls_stream_create(NULL, NULL, &work));
    MUST(cls_stream_create(NULL, NULL, &down));
    MUST(cls_triple_buffer_create(NULL, 2 * WIDTH * sizeof(float), &two, &weights));
    MUST(cls_triple_buffer_create(NULL, WIDTH * sizeof(float), &four, &batches));
    for (int n = 0; n < BATCHES; n++) {
        for (int i = 0; i < WIDTH; i++)
            in[n][i] = (float)(n + i % 8);
        MUST(cls_triple_buffer_upload_slot(batches, up, &slot));
        MUST(cls_copy_h2d_async(slot.buffer, 0, in[n], sizeof in[n], up));
        MUST(cls_triple_buffer_process_slot(batches, work, &slot));
        run_model(&model, weights, up, work, cls_array_of(slot.buffer, CLS_F32, WIDTH));
        MUST(cls_triple_buffer_download_slot(batches, down, &slot));
        MUST(cls_copy_d2h_async(out[n], slot.buffer, 0, sizeof out[n], down));
        MUST(cls_triple_buffer_advance(batches));
    }
    MUST(cls_stream_synchronize(down));
    for (int n = 0; n < BATCHES; n++)
        for (int i = 0; i < WIDTH; i++)
            if (out[n][i] != expected(&model, in[n][i], i))
                give_up("batch %d, element %d is %g", n, i, (double)out[n][i]);
    printf("%d batches through %d layers, the weights of 2 on the device\n", BATCHES, LAYERS);
    MUST(cls_triple_buffer_destroy(weights));
    MUST(cls_triple_buffer_destroy(batches));
    MUST(cls_stream_destroy(up));
    MUST(cls_stream_destroy(work));
    MUST(cls_stream_destroy(down));
    return 0;
}

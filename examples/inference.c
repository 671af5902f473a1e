/* SPDX-License-Identifier: MIT */
/*
 * Inference with a model whose weights do not fit the device: a layer is uploaded while the one before it is
 * computed, and the weights of only two are on the device. Batches overlap as well: while one is computed, the
 * next may be uploaded and those before it downloaded.
 *
 * Look at run_model(): in a ring of two slots the upload of a layer waits until the layer two before it is
 * computed; and at main(), where a ring of four slots does the same for batches.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 4, WIDTH = 256, BATCHES = 6, WEIGHT_SLOTS = 2, BATCH_SLOTS = 4 };

/* A layer is y = relu(x * w + b), element by element, so that the host can follow it exactly. */
struct layer {
    float w[WIDTH], b[WIDTH];
};

struct streams {
    cls_stream up, work, down;
};

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

static cls_triple_buffer make_ring(size_t bytes, unsigned slots) {
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_triple_buffer ring;
    config.slots = slots;
    config.async_reuse = 1; /* the host memory is not used again: only the streams have to wait */
    must(cls_triple_buffer_create(NULL, bytes, &config, &ring));
    return ring;
}

static void run_layer(cls_stream stream, cls_buffer weights, cls_array x) {
    const cls_array w = cls_array_of(weights, CLS_F32, WIDTH);
    const cls_array b = cls_array_at(weights, CLS_F32, WIDTH, WIDTH);
    must(cls_mul_f32_async(x, w, x, stream));
    must(cls_add_f32_async(x, b, x, stream));
    must(cls_relu_f32_async(x, x, stream));
}

static void run_model(const struct layer *model, cls_triple_buffer ring,
                      const struct streams *streams, cls_array x) {
    cls_slot slot;
    for (int i = 0; i < LAYERS; i++) {
        must(cls_triple_buffer_upload_slot(ring, streams->up, &slot));
        must(cls_copy_h2d_async(slot.buffer, 0, &model[i], sizeof model[i], streams->up));
        must(cls_triple_buffer_process_slot(ring, streams->work, &slot));
        run_layer(streams->work, slot.buffer, x);
        must(cls_triple_buffer_download_slot(ring, streams->work, &slot)); /* nothing to fetch */
        must(cls_triple_buffer_advance(ring));
    }
}

/* What the model makes of element `i` of a batch. */
static float expected(const struct layer *model, float x, int i) {
    for (int layer = 0; layer < LAYERS; layer++) {
        const float product = x * model[layer].w[i];
        x = product + model[layer].b[i];
        x = x > 0 ? x : 0;
    }
    return x;
}

int main(void) {
    static struct layer model[LAYERS];
    static float in[BATCHES][WIDTH], out[BATCHES][WIDTH];
    struct streams streams;
    cls_slot slot;
    for (int layer = 0; layer < LAYERS; layer++)
        for (int i = 0; i < WIDTH; i++) {
            model[layer].w[i] = (float)(i % 4) - 1;
            model[layer].b[i] = (float)(layer + 1);
        }
    for (int n = 0; n < BATCHES; n++)
        for (int i = 0; i < WIDTH; i++)
            in[n][i] = (float)(n + i % 8);
    must(cls_stream_create(NULL, NULL, &streams.up));
    must(cls_stream_create(NULL, NULL, &streams.work));
    must(cls_stream_create(NULL, NULL, &streams.down));
    cls_triple_buffer weights = make_ring(sizeof model[0], WEIGHT_SLOTS);
    cls_triple_buffer batches = make_ring(sizeof in[0], BATCH_SLOTS);

    for (int n = 0; n < BATCHES; n++) {
        must(cls_triple_buffer_upload_slot(batches, streams.up, &slot));
        must(cls_copy_h2d_async(slot.buffer, 0, in[n], sizeof in[n], streams.up));
        must(cls_triple_buffer_process_slot(batches, streams.work, &slot));
        run_model(model, weights, &streams, cls_array_of(slot.buffer, CLS_F32, WIDTH));
        must(cls_triple_buffer_download_slot(batches, streams.down, &slot));
        must(cls_copy_d2h_async(out[n], slot.buffer, 0, sizeof out[n], streams.down));
        must(cls_triple_buffer_advance(batches));
    }
    must(cls_stream_synchronize(streams.down));

    for (int n = 0; n < BATCHES; n++)
        for (int i = 0; i < WIDTH; i++)
            if (out[n][i] != expected(model, in[n][i], i)) {
                fprintf(stderr, "batch %d, element %d is %g\n", n, i, (double)out[n][i]);
                return 1;
            }
    printf("%d batches went through %d layers, with the weights of %d on the device\n", BATCHES,
           LAYERS, WEIGHT_SLOTS);
    must(cls_triple_buffer_destroy(weights));
    must(cls_triple_buffer_destroy(batches));
    must(cls_stream_destroy(streams.up));
    must(cls_stream_destroy(streams.work));
    must(cls_stream_destroy(streams.down));
    return 0;
}

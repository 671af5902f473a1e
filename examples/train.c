/* SPDX-License-Identifier: MIT */
/*
 * Training: a network learns the shipped digits. Host threads put the next batches together and upload them
 * while the device learns from this one. The step is captured once; one call launches it for each batch.
 *
 *     train [--quick] [--compare] [--data FOLDER] [--svg FILE]      --svg: draws the loss of each epoch
 *
 * For a loop whose input the host prepares and whose steps only submit. Look at capture_step() and learn(), which
 * waits for the device behind the first and the last epoch only. The network, matrix products and typed operations
 * on one stream, is in learning.c. --compare submits the steps, too: the losses must be the same. The exit status is
 * 0 when at least 96 % of the test images, which it has not learnt from, are recognized.
 */
#include <stdio.h>
#include <string.h>

#include "learning.h"

enum { BATCH = 64, EPOCHS = 60, QUICK_EPOCHS = 25, SEED = 7 };

static const double RATE = 0.1, ACCURACY = 0.96;

struct training {
    struct digits digits;
    size_t epochs, batches; /* of an epoch; images that do not fill one are left out */
};

struct result {
    float losses[EPOCHS]; /* sums */
    double step_us;       /* from the second epoch on */
    double accuracy;
};

/* The rows of one batch; called on threads of the prefetcher. */
static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    const struct training *training = arg;
    const uint64_t epoch = index / training->batches, batch = index % training->batches;
    if (epoch >= training->epochs)
        return CLS_SUCCESS; /* `bytes` stays 0: the data ends */
    *bytes = capacity;
    return digits_batch(&training->digits, (unsigned)epoch + 1, batch * BATCH, BATCH, memory);
}

/* The step for the rows in a buffer, in whose place others are bound. Operations in a row are fused. */
static cls_graph_exec capture_step(struct network *network, cls_buffer rows) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph_exec step;
    cls_graph graph;
    config.fuse = 1;
    must(cls_stream_begin_capture(network->stream, "step"));
    network_learn(network, rows);
    must(cls_stream_end_capture(network->stream, &graph));
    must(cls_graph_instantiate(graph, &config, &step));
    must(cls_graph_destroy(graph));
    return step;
}

/* By launches of the captured step, or by submitting each. All losses stay on the device until the end. */
static void learn(struct training *training, int captured, struct result *result) {
    const size_t epochs = training->epochs, batches = training->batches;
    const cls_buffer rows = filled(BATCH * ROW, 0), losses = filled(epochs, 0);
    struct network network;
    cls_prefetcher data;
    cls_prefetched batch;
    double start = 0;
    network_open(&network, BATCH, SEED);
    cls_graph_exec step = capture_step(&network, rows);
    must(cls_prefetcher_create(NULL, BATCH * ROW * sizeof(float), load, training, NULL, &data));
    for (;;) {
        must(cls_prefetcher_next(data, network.stream, &batch));
        if (!batch.bytes)
            break;
        const size_t epoch = batch.index / batches;
        if (batch.index == batches)
            start = when_done_us(network.stream);
        if (batch.index % batches == 0)
            network_set_rate(&network, RATE * (1 - 0.9 * (double)epoch / (double)epochs));
        if (captured) {
            must(cls_graph_bind(step, rows, batch.buffer));
            must(cls_graph_launch_async(step, network.stream));
        } else {
            network_learn(&network, batch.buffer);
        }
        if (batch.index % batches == batches - 1)
            network_take_loss(&network, losses, epoch);
        must(cls_prefetcher_release(data, &batch, network.stream));
    }
    result->step_us = (when_done_us(network.stream) - start) / (double)((epochs - 1) * batches);
    must(cls_copy_d2h(result->losses, losses, 0, epochs * sizeof(float), network.stream));
    result->accuracy = network_test(&network, &training->digits);
    must(cls_prefetcher_destroy(data)); /* all batches are loaded: no loader uses `training` now */
    must(cls_graph_exec_destroy(step));
    must(cls_buffer_destroy(rows));
    must(cls_buffer_destroy(losses));
    network_close(&network);
}

int main(int argc, char **argv) {
    struct training training = {.epochs = option(argc, argv, "--quick") ? QUICK_EPOCHS : EPOCHS};
    static struct result result, submitted;
    const char *data = option(argc, argv, "--data"), *svg = option(argc, argv, "--svg");
    const int compare = option(argc, argv, "--compare") != NULL;
    digits_open(&training.digits, data ? data : "examples/data", SEED);
    training.batches = training.digits.train / BATCH;
    const double images = (double)(training.batches * BATCH);
    learn(&training, 1, &result);
    printf("loss %.4f in epoch 1, %.4f in the last; %.1f us a step\n", result.losses[0] / images,
           result.losses[training.epochs - 1] / images, result.step_us);
    printf("right on the test images: %.2f %%\n", 100 * result.accuracy);
    if (compare)
        learn(&training, 0, &submitted);
    const int differ = memcmp(result.losses, submitted.losses, sizeof result.losses);
    if (compare)
        printf("submitted: %.1f us, %s losses\n", submitted.step_us, differ ? "other" : "the same");
    if (svg)
        draw_losses(svg, result.losses, training.epochs, images, result.accuracy);
    digits_close(&training.digits);
    return result.accuracy < ACCURACY || (compare && differ);
}

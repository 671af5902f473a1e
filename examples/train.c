/* SPDX-License-Identifier: MIT */
/*
 * Trains a multilayer perceptron on the shipped digits: host threads put the next batches together and
 * their upload runs while this one is learnt from. Writes the loss of each epoch as a picture.
 *
 *     train [--quick] [--data FOLDER] [--svg FILE]
 *
 * Ends with 0 when at least 96 % of the test images, which it never learnt from, are told apart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digits.h"
#include "example.h"
#include "network.h"

enum { BATCH = 64, EPOCHS = 60, QUICK_EPOCHS = 25, MOST_EPOCHS = 100, SEED = 7 };

static const double RATE = 0.1, ACCURACY = 0.96;

struct training {
    struct digits digits;
    size_t epochs, batches; /* of an epoch: what does not fill one is left out */
    const char *data, *svg;
};

/* --- loading: on threads of the prefetcher --- */

/* Batch after batch, each epoch in an order of its own. A row of inputs and one of targets an image. */
static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    const struct training *training = arg;
    const size_t epoch = index / training->batches, batch = index % training->batches;
    const size_t train = training->digits.train;
    float *inputs = memory, *targets = inputs + BATCH * INPUTS;
    if (epoch >= training->epochs)
        return CLS_SUCCESS;
    unsigned *order = malloc(train * sizeof *order);
    if (!order)
        return CLS_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < train; i++)
        order[i] = (unsigned)i;
    shuffle(order, train, (unsigned)epoch + 1);
    for (size_t i = 0; i < BATCH; i++)
        digits_row(&training->digits, order[batch * BATCH + i], inputs + i * INPUTS,
                   targets + i * CLASSES);
    free(order);
    *bytes = capacity;
    return CLS_SUCCESS;
}

/* --- training --- */

/* The losses of all batches stay on the device until the end. */
static void learn(const struct training *training, struct network *network, float *losses) {
    const size_t total = training->epochs * training->batches;
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher data;
    cls_prefetched batch;
    cls_buffer loss;
    config.workers = 2;
    config.depth = 6;
    MUST(cls_buffer_create(NULL, total * sizeof *losses, &loss));
    MUST(cls_prefetcher_create(NULL, BATCH * (INPUTS + CLASSES) * sizeof(float), load,
                               (void *)(size_t)training, &config, &data));
    for (;;) {
        MUST(cls_prefetcher_next(data, network->stream, &batch));
        if (!batch.bytes)
            break;
        const double rate = RATE * (1 - 0.9 * (double)batch.index / (double)total);
        network_learn(network, cls_array_of(batch.buffer, CLS_F32, BATCH * INPUTS),
                      cls_array_at(batch.buffer, CLS_F32, BATCH * INPUTS, BATCH * CLASSES), rate,
                      cls_array_at(loss, CLS_F32, batch.index, 1));
        MUST(cls_prefetcher_release(data, &batch, network->stream));
    }
    MUST(cls_copy_d2h(losses, loss, 0, total * sizeof *losses, network->stream));
    MUST(cls_prefetcher_destroy(data));
    MUST(cls_buffer_destroy(loss));
}

static size_t best_of(const float *scores) {
    size_t best = 0;
    for (size_t i = 1; i < CLASSES; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

/* The share of the test images that are told apart; the last batch is filled with the first of them. */
static double test(const struct training *training, struct network *network) {
    const size_t first = training->digits.train, count = training->digits.count - first;
    static float inputs[BATCH * INPUTS], targets[BATCH * CLASSES], scores[BATCH * CLASSES];
    size_t right = 0;
    cls_buffer buffer;
    MUST(cls_buffer_create(NULL, sizeof inputs, &buffer));
    for (size_t at = 0; at < count; at += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            digits_row(&training->digits, first + (at + i) % count, inputs + i * INPUTS,
                       targets + i * CLASSES);
        MUST(cls_copy_h2d_async(buffer, 0, inputs, sizeof inputs, network->stream));
        network_forward(network, cls_array_of(buffer, CLS_F32, BATCH * INPUTS));
        MUST(cls_copy_d2h(scores, network->z2, 0, sizeof scores, network->stream));
        for (size_t i = 0; i < BATCH && at + i < count; i++)
            right += targets[i * CLASSES + best_of(scores + i * CLASSES)] > 0;
    }
    MUST(cls_buffer_destroy(buffer));
    return (double)right / (double)count;
}

/* --- the picture --- */

enum { WIDTH = 640, HEIGHT = 320, MARGIN = 40 };

static void draw(const char *path, const double *losses, size_t count, double accuracy) {
    FILE *file = fopen(path, "w");
    if (!file)
        give_up("%s cannot be written", path);
    double most = losses[0];
    for (size_t i = 1; i < count; i++)
        most = losses[i] > most ? losses[i] : most;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"gray\"/>\n"
            "<text x=\"%d\" y=\"%d\">%.3g</text><text x=\"%d\" y=\"%d\">0</text>\n"
            "<text x=\"%d\" y=\"%d\">mean loss of the epochs 1 to %zu; %.2f %% right on the test "
            "images</text>\n<polyline fill=\"none\" stroke=\"steelblue\" stroke-width=\"2\" "
            "points=\"",
            WIDTH, HEIGHT, MARGIN, MARGIN, HEIGHT - MARGIN, WIDTH - MARGIN / 2, 4, MARGIN + 4, most,
            MARGIN - 14, HEIGHT - MARGIN + 4, MARGIN, HEIGHT - MARGIN / 2, count, 100 * accuracy);
    for (size_t i = 0; i < count; i++) {
        const double x = count > 1 ? (double)i / (double)(count - 1) : 0;
        fprintf(file, "%.1f,%.1f ", MARGIN + x * (WIDTH - MARGIN * 3 / 2.0),
                MARGIN + (1 - losses[i] / most) * (HEIGHT - 2 * MARGIN));
    }
    fputs("\"/>\n</svg>\n", file);
    if (fclose(file))
        give_up("%s cannot be written", path);
}

/* --- */

static void take_options(struct training *training, int argc, char **argv) {
    *training = (struct training){.epochs = is_quick(argc, argv) ? QUICK_EPOCHS : EPOCHS,
                                  .data = "examples/data"};
    for (int i = 1; i + 1 < argc; i++) {
        if (!strcmp(argv[i], "--data"))
            training->data = argv[i + 1];
        if (!strcmp(argv[i], "--svg"))
            training->svg = argv[i + 1];
    }
}

int main(int argc, char **argv) {
    struct training training;
    struct network network;
    double epochs[MOST_EPOCHS] = {0};
    take_options(&training, argc, argv);
    if (!cls_blas_available()) {
        puts("this library was built without CLBlast, and training needs matrix products");
        return 77;
    }
    digits_open(&training.digits, training.data, SEED);
    training.batches = training.digits.train / BATCH;
    float *losses = allocate(training.epochs * training.batches * sizeof *losses);
    cls_context context;
    cls_stream stream;
    MUST(cls_context_default(&context));
    MUST(cls_stream_create(context, NULL, &stream));
    network_open(&network, context, stream, BATCH, SEED);
    MUST(cls_blas_warmup(CLS_F32, BATCH, HIDDEN, INPUTS, stream));
    const double start = now_ms();
    learn(&training, &network, losses);
    const double took = now_ms() - start;
    for (size_t i = 0; i < training.epochs * training.batches; i++)
        epochs[i / training.batches] += losses[i] / (double)(training.batches * BATCH);
    const double accuracy = test(&training, &network);
    printf("loss %.4f in epoch 1, %.4f in epoch %zu; %.0f images/s\n", epochs[0],
           epochs[training.epochs - 1], training.epochs,
           (double)(training.epochs * training.batches * BATCH) / took * 1e3);
    printf("right on the test images: %.2f %%\n", 100 * accuracy);
    if (training.svg)
        draw(training.svg, epochs, training.epochs, accuracy);
    network_close(&network);
    MUST(cls_stream_destroy(stream));
    digits_close(&training.digits);
    free(losses);
    return accuracy >= ACCURACY ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * Training: a network learns the shipped digits. Host threads put the next batches together and upload them
 * while the device learns from this one.
 *
 *     train [--quick] [--data FOLDER] [--svg FILE]      --svg: draws the loss of each epoch
 *
 * For a loop whose input the host prepares and whose steps only submit. Look at learn(): nothing in it waits
 * for the device but the copy of the losses at its end. The network itself, matrix products and typed
 * operations on one stream, is in learning.c. The exit status is 0 when at least 96 % of the test images,
 * which the network has not learnt from, are recognized, and 77 without CLBlast.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "learning.h"

enum { BATCH = 64, EPOCHS = 60, QUICK_EPOCHS = 25, SEED = 7 };

static const double RATE = 0.1, ACCURACY = 0.96;

struct training {
    struct digits digits;
    size_t epochs, batches; /* of an epoch; images that do not fill one are left out */
};

/* One batch, a row of inputs and one of targets for each image; called on threads of the prefetcher. */
static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    const struct training *training = arg;
    const uint64_t epoch = index / training->batches, batch = index % training->batches;
    float *inputs = memory;
    if (epoch >= training->epochs)
        return CLS_SUCCESS; /* `bytes` stays 0: the data ends */
    *bytes = capacity;
    return digits_batch(&training->digits, (unsigned)epoch + 1, batch * BATCH, BATCH, inputs,
                        inputs + BATCH * INPUTS);
}

/* The losses of all batches stay on the device until the end. */
static void learn(struct training *training, struct network *network, float *losses) {
    const size_t total = training->epochs * training->batches;
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher data;
    cls_prefetched batch;
    cls_buffer loss;
    config.workers = 2;
    config.depth = 6;
    must(cls_buffer_create(NULL, total * sizeof *losses, &loss));
    must(cls_prefetcher_create(NULL, BATCH * (INPUTS + CLASSES) * sizeof(float), load, training,
                               &config, &data));
    for (;;) {
        must(cls_prefetcher_next(data, network->stream, &batch));
        if (!batch.bytes)
            break;
        const double rate = RATE * (1 - 0.9 * (double)batch.index / (double)total);
        network_learn(network, cls_array_of(batch.buffer, CLS_F32, BATCH * INPUTS),
                      cls_array_at(batch.buffer, CLS_F32, BATCH * INPUTS, BATCH * CLASSES), rate,
                      cls_array_at(loss, CLS_F32, batch.index, 1));
        must(cls_prefetcher_release(data, &batch, network->stream));
    }
    must(cls_copy_d2h(losses, loss, 0, total * sizeof *losses, network->stream));
    must(cls_prefetcher_destroy(data)); /* all batches are loaded: no loader uses `training` now */
    must(cls_buffer_destroy(loss));
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The argument behind an option, or `otherwise`. */
static const char *option(int argc, char **argv, const char *name, const char *otherwise) {
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return otherwise;
}

int main(int argc, char **argv) {
    const int quick = argc > 1 && !strcmp(argv[1], "--quick");
    struct training training = {.epochs = quick ? QUICK_EPOCHS : EPOCHS};
    struct network network;
    double means[EPOCHS] = {0};
    cls_stream stream;
    if (!cls_blas_available()) {
        puts("this library was built without CLBlast, and training needs matrix products");
        return 77;
    }
    digits_open(&training.digits, option(argc, argv, "--data", "examples/data"), SEED);
    training.batches = training.digits.train / BATCH;
    const size_t total = training.epochs * training.batches;
    float *losses = allocate(total * sizeof *losses);
    must(cls_stream_create(NULL, NULL, &stream));
    network_open(&network, stream, BATCH, SEED);
    must(cls_blas_warmup(CLS_F32, BATCH, HIDDEN, INPUTS, stream)); /* compiles ahead */

    const double start = now_ms();
    learn(&training, &network, losses);
    const double took = now_ms() - start;

    for (size_t i = 0; i < total; i++)
        means[i / training.batches] += losses[i] / (double)(training.batches * BATCH);
    const double accuracy = network_test(&network, &training.digits);
    printf("loss %.4f in epoch 1, %.4f in epoch %zu; %.0f images/s\n", means[0],
           means[training.epochs - 1], training.epochs, (double)(total * BATCH) / took * 1e3);
    printf("right on the test images: %.2f %%\n", 100 * accuracy);
    const char *picture = option(argc, argv, "--svg", NULL);
    if (picture)
        draw_losses(picture, means, training.epochs, accuracy);
    network_close(&network);
    must(cls_stream_destroy(stream));
    free(losses);
    digits_close(&training.digits);
    return accuracy >= ACCURACY ? 0 : 1;
}

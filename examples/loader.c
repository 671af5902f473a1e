/* SPDX-License-Identifier: MIT */
/* A prefetching loader: batches are made on host threads (here: a wait and a count) ahead of the device. */
#include <stdio.h>

#include "example.h"

enum { COUNT = 4096 };

static const double LOAD_MS = 2;

static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    const unsigned *batches = arg;
    float *values = memory;
    if (index >= *batches)
        return CLS_SUCCESS;
    sleep_ms(LOAD_MS);
    for (size_t i = 0; i < COUNT; i++)
        values[i] = (float)((index + i) % 1024);
    *bytes = capacity;
    return CLS_SUCCESS;
}

int main(int argc, char **argv) {
    unsigned batches = is_quick(argc, argv) ? 10 : 200, n = 0;
    double sum = 0;
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher data;
    cls_prefetched batch;
    cls_stream stream;
    MUST(cls_stream_create(NULL, NULL, &stream));
    config.workers = 4;
    MUST(cls_prefetcher_create(NULL, COUNT * sizeof(float), load, &batches, &config, &data));
    const double start = now_ms();
    for (;; n++) {
        float total;
        MUST(cls_prefetcher_next(data, stream, &batch));
        if (!batch.bytes)
            break;
        MUST(
            cls_reduce(CLS_REDUCE_SUM, cls_array_of(batch.buffer, CLS_F32, COUNT), &total, stream));
        MUST(cls_prefetcher_release(data, &batch, stream));
        sum += (double)total;
    }
    printf("%u batches that take %.0f ms each to load: %.1f ms\n", n, LOAD_MS, now_ms() - start);
    if (n != batches || sum != (double)batches * COUNT * 1023 / 2)
        give_up("%u batches give %g", n, sum);
    MUST(cls_prefetcher_destroy(data));
    MUST(cls_stream_destroy(stream));
    return 0;
}

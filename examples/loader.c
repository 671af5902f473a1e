/* SPDX-License-Identifier: MIT */
/*
 * A data loader: host threads read the next batches of a file into pinned memory and upload them while the
 * device works on this one.
 *
 * For input that the host must read or decode. Look at load(), which runs on several threads at once, and at
 * the loop with cls_prefetcher_next and cls_prefetcher_release in main(). The file is the prefetcher's from
 * its creation on: loaded() closes it once no loader reads any more.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 4096, LOADERS = 4, LOAD_MS = 2 };

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Batch number `index` of the file. At its end nothing is read: `bytes` 0 says that the data ends. */
static cls_status load(void *file, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    const struct timespec decoding = {0, LOAD_MS * 1000000};
    const ssize_t got = pread(fileno(file), memory, capacity, (off_t)(index * capacity));
    if (got < 0)
        return CLS_ERROR_IO;
    if (got > 0)
        nanosleep(&decoding, NULL); /* stands for a slow disk, or for a decoder */
    *bytes = (size_t)got;
    return CLS_SUCCESS;
}

static void loaded(void *file) { fclose(file); }

/* A file of the numbers 0 to 1023, over and over. */
static FILE *make_file(unsigned batches) {
    FILE *file = tmpfile();
    for (size_t i = 0; file && i < (size_t)batches * COUNT; i++) {
        const float value = (float)(i % 1024);
        fwrite(&value, sizeof value, 1, file);
    }
    if (!file || ferror(file) || fflush(file)) {
        perror("no file to read");
        exit(1);
    }
    return file;
}

int main(int argc, char **argv) {
    const unsigned batches = argc > 1 && !strcmp(argv[1], "--quick") ? 10 : 200;
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher data;
    cls_prefetched batch;
    cls_stream stream;
    unsigned n = 0;
    float total = 0;
    double sum = 0;

    must(cls_stream_create(NULL, NULL, &stream));
    must(cls_host_reduce(CLS_REDUCE_SUM, CLS_F32, &total, &total, 1, stream)); /* compiles */
    FILE *file = make_file(batches);
    config.workers = LOADERS;
    config.end = loaded;
    const double start = now_ms();
    must(cls_prefetcher_create(NULL, COUNT * sizeof(float), load, file, &config, &data));
    for (;;) {
        must(cls_prefetcher_next(data, stream, &batch));
        if (!batch.bytes)
            break;
        const size_t count = batch.bytes / sizeof total;
        must(cls_sum_f32(cls_array_of(batch.buffer, CLS_F32, count), &total, stream));
        must(cls_prefetcher_release(data, &batch, stream));
        sum += (double)total;
        n++;
    }
    printf("%u batches that take %d ms each to load: %.1f ms with %d loaders\n", n, LOAD_MS,
           now_ms() - start, LOADERS);
    must(cls_prefetcher_destroy(data));
    must(cls_stream_destroy(stream));
    if (n != batches || sum != (double)batches * COUNT * 1023 / 2) {
        fprintf(stderr, "%u batches sum up to %g\n", n, sum);
        return 1;
    }
    return 0;
}

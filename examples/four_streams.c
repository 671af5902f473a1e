/* SPDX-License-Identifier: MIT */
/*
 * Independent streams: launches too small to fill the device overlap when each chain of them has a stream of
 * its own.
 *
 * For pieces of work that do not depend on each other. Look at run(): it submits everything before it waits
 * for anything. Four streams are compared with one.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STREAMS = 4, COUNT = 64, ROUNDS = 50000 };

static const char source[] = "kernel void work(global uint *x, uint rounds) {\n"
                             "    uint y = x[get_global_id(0)];\n"
                             "    for (uint i = 0; i < rounds; i++)\n"
                             "        y = y * 1664525u + 1013904223u;\n"
                             "    x[get_global_id(0)] = y;\n"
                             "}\n";

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

/* What `launches` of the kernel make of a value. */
static uint32_t expected(uint32_t y, unsigned launches) {
    for (unsigned i = 0; i < launches * ROUNDS; i++)
        y = y * 1664525u + 1013904223u;
    return y;
}

/* Four chains of launches, on `n` streams. */
static void run(cls_kernel kernel, unsigned launches, int n) {
    const cls_launch launch = cls_launch_1d(COUNT);
    cls_stream streams[STREAMS];
    cls_buffer buffers[STREAMS];
    uint32_t results[STREAMS];
    for (int i = 0; i < n; i++)
        must(cls_stream_create(NULL, NULL, &streams[i]));
    for (uint32_t i = 0; i < STREAMS; i++) {
        must(cls_buffer_create(NULL, COUNT * sizeof i, &buffers[i]));
        must(cls_fill(buffers[i], 0, COUNT * sizeof i, &i, sizeof i, NULL));
    }
    const double start = now_ms();
    for (unsigned k = 0; k < launches; k++)
        for (int i = 0; i < STREAMS; i++) {
            const cls_arg args[] = {cls_arg_buffer(buffers[i]), cls_arg_u32(ROUNDS)};
            must(cls_kernel_launch_async(kernel, &launch, args, 2, streams[i % n]));
        }
    const double submitted = now_ms() - start;
    for (int i = 0; i < n; i++)
        must(cls_stream_synchronize(streams[i]));
    printf("%u launches on %d stream%s: submitted in %.2f ms, done in %.2f ms\n",
           launches * STREAMS, n, n > 1 ? "s" : "", submitted, now_ms() - start);
    for (uint32_t i = 0; i < STREAMS; i++) {
        must(cls_copy_d2h(&results[i], buffers[i], 0, sizeof results[i], NULL));
        must(cls_buffer_destroy(buffers[i]));
        if (results[i] != expected(i, launches)) {
            fprintf(stderr, "chain %u gives %u\n", i, results[i]);
            exit(1);
        }
    }
    for (int i = 0; i < n; i++)
        must(cls_stream_destroy(streams[i]));
}

int main(int argc, char **argv) {
    const unsigned launches = argc > 1 && !strcmp(argv[1], "--quick") ? 4 : 50;
    cls_program program;
    cls_kernel kernel;
    must(cls_program_from_source(NULL, source, "work.cl", NULL, &program));
    must(cls_kernel_create(program, "work", &kernel));
    must(cls_program_destroy(program));
    run(kernel, launches, 1);
    run(kernel, launches, STREAMS);
    must(cls_kernel_destroy(kernel));
    return 0;
}

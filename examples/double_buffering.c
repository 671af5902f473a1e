/* SPDX-License-Identifier: MIT */
/*
 * Double buffering by hand: two buffers, each with a stream of its own, take batches in turns. A stream does
 * upload, work and download of its batch in order; nothing orders the two streams, so one works while the
 * other copies.
 *
 * For batches that are independent of each other. triple_buffering.c has a stream for each kind of work.
 * Look at run(): reusing a buffer needs no wait on the host, because its stream does the next upload after
 * the last download. A GPU copies while it computes; on a CPU the same cores do both, and
 * little is gained.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 16, MOST_BUFFERS = 2 };

static const char source[] = "kernel void work(global uint *x, uint rounds) {\n"
                             "    uint y = x[get_global_id(0)];\n"
                             "    for (uint i = 0; i < rounds; i++)\n"
                             "        y = y * 1664525u + 1013904223u;\n"
                             "    x[get_global_id(0)] = y;\n"
                             "}\n";

struct task {
    cls_kernel kernel;
    size_t batches, count; /* count: elements of a batch */
    uint32_t *in, *out;
};

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

/* All batches through `n` buffers; returns the milliseconds taken. */
static double run(const struct task *task, size_t n) {
    const size_t bytes = task->count * sizeof *task->in;
    const cls_launch launch = cls_launch_1d(task->count);
    cls_stream streams[MOST_BUFFERS];
    cls_buffer buffers[MOST_BUFFERS];
    for (size_t i = 0; i < n; i++) {
        must(cls_stream_create(NULL, NULL, &streams[i]));
        must(cls_buffer_create(NULL, bytes, &buffers[i]));
    }
    const double start = now_ms();
    for (size_t b = 0; b < task->batches; b++) {
        const cls_stream stream = streams[b % n];
        const cls_buffer buffer = buffers[b % n];
        const cls_arg args[] = {cls_arg_buffer(buffer), cls_arg_u32(ROUNDS)};
        must(cls_copy_h2d_async(buffer, 0, task->in + b * task->count, bytes, stream));
        must(cls_kernel_launch_async(task->kernel, &launch, args, 2, stream));
        must(cls_copy_d2h_async(task->out + b * task->count, buffer, 0, bytes, stream));
    }
    for (size_t i = 0; i < n; i++)
        must(cls_stream_synchronize(streams[i]));
    const double took = now_ms() - start;
    for (size_t i = 0; i < n; i++) {
        must(cls_stream_destroy(streams[i]));
        must(cls_buffer_destroy(buffers[i]));
    }
    return took;
}

/* Checks every result, and clears it for the next run. */
static void check(const struct task *task) {
    for (size_t i = 0; i < task->batches * task->count; i++) {
        uint32_t y = task->in[i];
        for (int k = 0; k < ROUNDS; k++)
            y = y * 1664525u + 1013904223u;
        if (task->out[i] != y) {
            fprintf(stderr, "element %zu is %u, not %u\n", i, task->out[i], y);
            exit(1);
        }
        task->out[i] = 0;
    }
}

int main(int argc, char **argv) {
    const int quick = argc > 1 && !strcmp(argv[1], "--quick");
    struct task task = {.batches = quick ? 8 : 32, .count = quick ? 4096 : 1 << 20};
    const size_t bytes = task.batches * task.count * sizeof *task.in;
    cls_program program;
    void *in, *out;
    must(cls_program_from_source(NULL, source, "work.cl", NULL, &program));
    must(cls_kernel_create(program, "work", &task.kernel));
    must(cls_program_destroy(program));
    must(cls_host_alloc(NULL, bytes, &in)); /* pinned: copies at the full speed of the bus */
    must(cls_host_alloc(NULL, bytes, &out));
    task.in = in;
    task.out = out;
    for (size_t i = 0; i < task.batches * task.count; i++)
        task.in[i] = (uint32_t)i;
    run(&task, 1); /* the first one pays for compiling and for touching memory */
    for (size_t n = 1; n <= MOST_BUFFERS; n++) {
        const double took = run(&task, n);
        check(&task);
        printf("%zu buffer%s: %zu batches in %.2f ms\n", n, n > 1 ? "s" : "", task.batches, took);
    }
    must(cls_host_free(in));
    must(cls_host_free(out));
    must(cls_kernel_destroy(task.kernel));
    return 0;
}

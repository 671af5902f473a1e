/* SPDX-License-Identifier: MIT */
/*
 * Triple buffering: a ring of buffers (slots) and a stream for each kind of work, so that the next batch is
 * uploaded and the last one downloaded while the device works on this one.
 *
 * For batches without end that all go through upload, work and download. Look at run(): each stage takes its
 * slot with the stream that it works on, and that stream waits for the stage before; the host waits only at
 * the end. It is compared with 1 slot (nothing overlaps) and 2 slots (double buffering). A GPU copies while it
 * computes; on a CPU the same cores do both, and little is gained.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 16, MOST_SLOTS = 3 };

static const char source[] = "kernel void work(global uint *x, uint rounds) {\n"
                             "    uint y = x[get_global_id(0)];\n"
                             "    for (uint i = 0; i < rounds; i++)\n"
                             "        y = y * 1664525u + 1013904223u;\n"
                             "    x[get_global_id(0)] = y;\n"
                             "}\n";

struct task {
    cls_kernel kernel;
    cls_stream up, work, down;
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

/* All batches through a ring of `slots`; returns the milliseconds taken. */
static double run(const struct task *task, unsigned slots) {
    const size_t bytes = task->count * sizeof *task->in;
    const cls_launch launch = cls_launch_1d(task->count);
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_triple_buffer ring;
    cls_slot slot;
    config.slots = slots;
    config.async_reuse =
        1; /* each batch has host memory of its own: only the streams have to wait */
    must(cls_triple_buffer_create(NULL, bytes, &config, &ring));
    const double start = now_ms();
    for (size_t b = 0; b < task->batches; b++) {
        must(cls_triple_buffer_upload_slot(ring, task->up, &slot));
        must(cls_copy_h2d_async(slot.buffer, 0, task->in + b * task->count, bytes, task->up));
        must(cls_triple_buffer_process_slot(ring, task->work, &slot));
        const cls_arg args[] = {cls_arg_buffer(slot.buffer), cls_arg_u32(ROUNDS)};
        must(cls_kernel_launch_async(task->kernel, &launch, args, 2, task->work));
        must(cls_triple_buffer_download_slot(ring, task->down, &slot));
        must(cls_copy_d2h_async(task->out + b * task->count, slot.buffer, 0, bytes, task->down));
        must(cls_triple_buffer_advance(ring)); /* free for the upload behind this download */
    }
    must(cls_stream_synchronize(task->down));
    const double took = now_ms() - start;
    must(cls_triple_buffer_destroy(ring));
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
    must(cls_stream_create(NULL, NULL, &task.up));
    must(cls_stream_create(NULL, NULL, &task.work));
    must(cls_stream_create(NULL, NULL, &task.down));
    must(cls_host_alloc(NULL, bytes, &in)); /* pinned: copies at the full speed of the bus */
    must(cls_host_alloc(NULL, bytes, &out));
    task.in = in;
    task.out = out;
    for (size_t i = 0; i < task.batches * task.count; i++)
        task.in[i] = (uint32_t)i;
    run(&task, 1); /* the first one pays for compiling and for touching memory */
    for (unsigned slots = 1; slots <= MOST_SLOTS; slots++) {
        const double took = run(&task, slots);
        check(&task);
        printf("%u slot%s: %zu batches in %.2f ms\n", slots, slots > 1 ? "s" : "", task.batches,
               took);
    }
    must(cls_host_free(in));
    must(cls_host_free(out));
    must(cls_stream_destroy(task.up));
    must(cls_stream_destroy(task.work));
    must(cls_stream_destroy(task.down));
    must(cls_kernel_destroy(task.kernel));
    return 0;
}

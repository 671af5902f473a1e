/* SPDX-License-Identifier: MIT */
/* pipeline(stages): a list of functions with a stream each, over successive inputs. */
#include <stdio.h>

#include "example.h"

enum { INPUTS = 16, COUNT = 4096, ROUNDS = 20 };

struct work {
    cls_kernel kernel;
    cls_buffer buffers[INPUTS];
    float in[INPUTS][COUNT], out[INPUTS][COUNT];
};

static cls_status upload(cls_stream stream, uint64_t input, void *arg) {
    struct work *work = arg;
    return cls_copy_h2d_async(work->buffers[input], 0, work->in[input], sizeof work->in[input],
                              stream);
}

static cls_status compute(cls_stream stream, uint64_t input, void *arg) {
    struct work *work = arg;
    return busy_launch(work->kernel, work->buffers[input], COUNT, ROUNDS, stream);
}

static cls_status download(cls_stream stream, uint64_t input, void *arg) {
    struct work *work = arg;
    return cls_copy_d2h_async(work->out[input], work->buffers[input], 0, sizeof work->out[input],
                              stream);
}

int main(void) {
    static struct work work;
    cls_step steps[] = {{upload, NULL, &work}, {compute, NULL, &work}, {download, NULL, &work}};
    cls_context context;
    MUST(cls_context_default(&context));
    work.kernel = busy_kernel(context);
    for (int i = 0; i < INPUTS; i++) {
        MUST(cls_buffer_create(context, sizeof work.in[i], &work.buffers[i]));
        for (int k = 0; k < COUNT; k++)
            work.in[i][k] = (float)((i + k) % 1024);
    }
    for (int i = 0; i < 3; i++)
        MUST(cls_stream_create(context, NULL, &steps[i].stream));
    MUST(cls_pipeline_run(steps, 3, INPUTS));
    for (int i = 0; i < INPUTS; i++)
        for (int k = 0; k < COUNT; k++)
            if (work.out[i][k] != busy_result(work.in[i][k], ROUNDS))
                give_up("input %d, element %d is %g", i, k, (double)work.out[i][k]);
    for (int i = 0; i < 3; i++)
        MUST(cls_stream_destroy(steps[i].stream));
    for (int i = 0; i < INPUTS; i++)
        MUST(cls_buffer_destroy(work.buffers[i]));
    MUST(cls_kernel_destroy(work.kernel));
    printf("%d inputs through %d stages\n", INPUTS, 3);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Stages: a list of functions, each with a stream, over successive inputs. An input goes through the stages
 * in order, and while one stage works on it the others work on other inputs.
 *
 * For a pipeline whose buffers are the caller's; in analysis.c they are the pipeline's, which also measures.
 * Look at the three functions, which only submit, and at cls_pipeline_run, which waits for all.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

enum { STAGES = 3, INPUTS = 16, COUNT = 4096 };

struct work {
    cls_array arrays[INPUTS]; /* one for each input: none is used twice */
    float in[INPUTS][COUNT], out[INPUTS][COUNT];
};

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

static cls_status upload(cls_stream stream, uint64_t input, void *arg) {
    struct work *work = arg;
    return cls_copy_h2d_async(work->arrays[input].buffer, 0, work->in[input],
                              sizeof work->in[input], stream);
}

static cls_status square(cls_stream stream, uint64_t input, void *arg) {
    struct work *work = arg;
    return cls_sqr_f32_async(work->arrays[input], work->arrays[input], stream);
}

static cls_status download(cls_stream stream, uint64_t input, void *arg) {
    struct work *work = arg;
    return cls_copy_d2h_async(work->out[input], work->arrays[input].buffer, 0,
                              sizeof work->out[input], stream);
}

int main(void) {
    static struct work work;
    cls_step steps[STAGES] = {
        {upload, NULL, &work}, {square, NULL, &work}, {download, NULL, &work}};
    for (int i = 0; i < INPUTS; i++) {
        cls_buffer buffer;
        must(cls_buffer_create(NULL, sizeof work.in[i], &buffer));
        work.arrays[i] = cls_array_of(buffer, CLS_F32, COUNT);
        for (int k = 0; k < COUNT; k++)
            work.in[i][k] = (float)((i + k) % 1024);
    }
    for (int s = 0; s < STAGES; s++)
        must(cls_stream_create(NULL, NULL, &steps[s].stream));

    must(cls_pipeline_run(steps, STAGES, INPUTS));

    for (int i = 0; i < INPUTS; i++)
        for (int k = 0; k < COUNT; k++)
            if (work.out[i][k] != work.in[i][k] * work.in[i][k]) {
                fprintf(stderr, "input %d, element %d is %g\n", i, k, (double)work.out[i][k]);
                return 1;
            }
    printf("%d inputs went through %d stages: upload, square, download\n", INPUTS, STAGES);
    for (int s = 0; s < STAGES; s++)
        must(cls_stream_destroy(steps[s].stream));
    for (int i = 0; i < INPUTS; i++)
        must(cls_buffer_destroy(work.arrays[i].buffer));
    return 0;
}

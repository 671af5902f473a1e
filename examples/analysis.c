/* SPDX-License-Identifier: MIT */
/*
 * What a pipeline gains: named stages with buffers between them run N iterations, one by one and overlapped.
 * A model predicts both from the stages' times T: N * sum(T) one by one, and N * max(T) overlapped, to which
 * filling and draining the pipeline add sum(T) - max(T).
 *
 * For stages whose buffers the library keeps, and whose times it measures. Look at make(), which declares the
 * stages by the names of what they read and write, and at the statistics, which name the bottleneck. The
 * stages here sleep in host functions, so that their times are known.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STAGES = 3 };

static const char *const names[STAGES] = {"upload", "compute", "download"};
static const long lengths[STAGES] = {2, 5, 2}; /* ms */

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

static void wait_for(void *ms) {
    const struct timespec length = {0, *(const long *)ms * 1000000};
    nanosleep(&length, NULL);
}

/* A stage's function submits to the stage's stream; run->inputs and run->outputs are its buffers. */
static cls_status run_stage(const cls_stage_run *run, void *arg) {
    return cls_stream_launch_host_async(run->stream, wait_for, arg);
}

static cls_pipeline make(void) {
    static const char *const buffers[STAGES - 1] = {"in", "out"};
    cls_pipeline pipeline;
    must(cls_pipeline_create(NULL, NULL, &pipeline));
    for (int i = 0; i < STAGES - 1; i++)
        must(cls_pipeline_add_buffer(pipeline, buffers[i], 64, NULL, CLS_PIPELINE_INTERNAL));
    for (int i = 0; i < STAGES; i++) {
        cls_stage stage = CLS_STAGE_INIT;
        stage.name = names[i];
        stage.inputs = i ? &buffers[i - 1] : NULL;
        stage.n_inputs = i > 0;
        stage.outputs = i < STAGES - 1 ? &buffers[i] : NULL;
        stage.n_outputs = i < STAGES - 1;
        stage.fn = run_stage;
        stage.arg = (void *)(size_t)&lengths[i];
        must(cls_pipeline_add_stage(pipeline, &stage));
    }
    return pipeline;
}

static double run(cls_pipeline pipeline, unsigned n, int one_by_one) {
    const double start = now_ms();
    for (unsigned i = 0; i < n; i++) {
        must(cls_pipeline_execute_iteration(pipeline));
        if (one_by_one)
            must(cls_pipeline_synchronize(pipeline));
    }
    must(cls_pipeline_synchronize(pipeline));
    return now_ms() - start;
}

static cls_stage_statistics of_stage(cls_pipeline pipeline, int i) {
    cls_stage_statistics one = CLS_STAGE_STATISTICS_INIT;
    must(cls_pipeline_get_stage_statistics(pipeline, names[i], &one));
    return one;
}

int main(int argc, char **argv) {
    const unsigned n = argc > 1 && !strcmp(argv[1], "--quick") ? 10 : 60;
    cls_pipeline_statistics all = CLS_PIPELINE_STATISTICS_INIT;
    double alone[STAGES], sum = 0, longest = 0;
    cls_pipeline pipeline = make();

    const double one_by_one = run(pipeline, n, 1);
    for (int i = 0; i < STAGES; i++) {
        alone[i] = of_stage(pipeline, i).average_ms;
        sum += alone[i];
        longest = alone[i] > longest ? alone[i] : longest;
    }
    must(cls_pipeline_reset(pipeline));
    const double overlapped = run(pipeline, n, 0);
    must(cls_pipeline_get_statistics(pipeline, &all));

    for (int i = 0; i < STAGES; i++) {
        const cls_stage_statistics one = of_stage(pipeline, i);
        printf("%-9s T = %.2f ms; overlapped %.2f ms at work and %.2f ms waiting, by iteration\n",
               names[i], alone[i], one.average_ms, one.wait_ms / n);
    }
    printf("one by one: %.2f ms; model N * sum(T) = %.2f ms\n", one_by_one, n * sum);
    printf("overlapped: %.2f ms; model N * max(T) = %.2f ms, with fill and drain %.2f ms\n",
           overlapped, n * longest, (n - 1) * longest + sum);
    printf("bottleneck: %s; some stage is at work %.0f %% of the time\n", all.bottleneck,
           100 * all.utilisation);
    must(cls_pipeline_destroy(pipeline));
    if (strcmp(all.bottleneck, "compute") != 0 || all.timed != n) {
        fprintf(stderr, "compute is not the bottleneck, or not all iterations are timed\n");
        return 1;
    }
    return 0;
}

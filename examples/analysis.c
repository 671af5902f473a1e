/* SPDX-License-Identifier: MIT */
/*
 * What a pipeline is good for: times each stage (T) where nothing overlaps, and sets what N batches took, one
 * after the other and overlapped, beside the model's N * sum(T) and N * max(T), to which filling and draining
 * the pipeline add sum(T) - max(T). The stages wait, as a disk or a bus would, in host functions.
 */
#include <stdio.h>
#include <string.h>

#include "example.h"

enum { STAGES = 3 };

static const double lengths[STAGES] = {2, 5, 2}; /* upload, compute, download: ms */
static const char *const names[STAGES] = {"upload", "compute", "download"};

static void wait_for(void *arg) { sleep_ms(*(const double *)arg); }

static cls_status run_stage(const cls_stage_run *run, void *arg) {
    return cls_stream_launch_host_async(run->stream, wait_for, arg);
}

static cls_pipeline make(void) {
    static const char *const buffers[STAGES - 1] = {"in", "out"};
    cls_pipeline pipeline;
    MUST(cls_pipeline_create(NULL, NULL, &pipeline));
    for (int i = 0; i < STAGES - 1; i++)
        MUST(cls_pipeline_add_buffer(pipeline, buffers[i], 64, NULL, CLS_PIPELINE_INTERNAL));
    for (int i = 0; i < STAGES; i++) {
        cls_stage stage = CLS_STAGE_INIT;
        stage.name = names[i];
        stage.inputs = i ? &buffers[i - 1] : NULL;
        stage.n_inputs = i > 0;
        stage.outputs = i < STAGES - 1 ? &buffers[i] : NULL;
        stage.n_outputs = i < STAGES - 1;
        stage.fn = run_stage;
        stage.arg = (void *)(size_t)&lengths[i];
        MUST(cls_pipeline_add_stage(pipeline, &stage));
    }
    return pipeline;
}

static double run(cls_pipeline pipeline, unsigned n, bool one_by_one) {
    const double start = now_ms();
    for (unsigned i = 0; i < n; i++) {
        MUST(cls_pipeline_execute_iteration(pipeline));
        if (one_by_one)
            MUST(cls_pipeline_synchronize(pipeline));
    }
    MUST(cls_pipeline_synchronize(pipeline));
    return now_ms() - start;
}

static cls_stage_statistics of_stage(cls_pipeline pipeline, int i) {
    cls_stage_statistics one = CLS_STAGE_STATISTICS_INIT;
    MUST(cls_pipeline_get_stage_statistics(pipeline, names[i], &one));
    return one;
}

int main(int argc, char **argv) {
    const unsigned n = is_quick(argc, argv) ? 10 : 60;
    cls_pipeline_statistics all = CLS_PIPELINE_STATISTICS_INIT;
    cls_pipeline pipeline = make();
    double alone[STAGES], sum = 0, most = 0;
    const double sequential = run(pipeline, n, true);
    for (int i = 0; i < STAGES; i++) {
        alone[i] = of_stage(pipeline, i).average_ms;
        sum += alone[i];
        most = alone[i] > most ? alone[i] : most;
    }
    MUST(cls_pipeline_reset(pipeline));
    const double overlapped = run(pipeline, n, false);
    MUST(cls_pipeline_get_statistics(pipeline, &all));
    for (int i = 0; i < STAGES; i++) {
        const cls_stage_statistics one = of_stage(pipeline, i);
        printf("%-9s T = %6.2f ms; overlapped %6.2f ms at work, %6.2f ms waited in a run\n",
               names[i], alone[i], one.average_ms, one.wait_ms / (double)n);
    }
    printf("sequential: %8.2f ms; model N * sum(T) = %.2f ms\n", sequential, n * sum);
    printf("overlapped: %8.2f ms; model N * max(T) = %.2f ms, with fill and drain %.2f ms\n",
           overlapped, n * most, (n - 1) * most + sum);
    printf("bottleneck: %s; some stage is at work %.0f %% of the time\n", all.bottleneck,
           100 * all.utilisation);
    if (strcmp(all.bottleneck, "compute") != 0 || all.timed != n)
        give_up("the bottleneck is %s, of %llu iterations", all.bottleneck,
                (unsigned long long)all.timed);
    MUST(cls_pipeline_destroy(pipeline));
    return 0;
}

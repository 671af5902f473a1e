/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include <stdio.h>

#include "size.h"

uint64_t summary_bytes_in(const struct summary *summary) {
    return summary->input->array.count * cls_dtype_size(summary->plan->from);
}

uint64_t summary_bytes_out(const struct summary *summary) {
    return summary->input->array.count * cls_dtype_size(summary->plan->to);
}

static double rate(uint64_t bytes, double seconds) {
    return seconds > 0 ? 1e-9 * (double)bytes / seconds : 0;
}

double summary_rate(const struct summary *summary) {
    return rate(summary_bytes_in(summary) + summary_bytes_out(summary), summary->run.seconds);
}

double summary_overlap(const struct summary *summary, enum pipeline_stage first,
                       enum pipeline_stage last) {
    double busy = 0;
    for (unsigned i = first; i <= (unsigned)last; i++)
        busy += summary->run.busy[i];
    return summary->run.seconds > 0 ? busy / summary->run.seconds : 0;
}

const char *pipeline_stage_name(enum pipeline_stage stage) {
    static const char *const names[PIPELINE_STAGES] = {
        [PIPELINE_READ] = "read",       [PIPELINE_UPLOAD] = "upload",
        [PIPELINE_COMPUTE] = "compute", [PIPELINE_DOWNLOAD] = "download",
        [PIPELINE_WRITE] = "write",
    };
    return names[stage];
}

static const char *seconds_format(double seconds, char text[SIZE_TEXT]) {
    return span_format((uint64_t)(seconds * 1e9 + 0.5), text);
}

static void print_head(const struct summary *summary) {
    const struct pipeline_result *run = &summary->run;
    char a[SIZE_TEXT], b[SIZE_TEXT], c[SIZE_TEXT];

    printf("%s -> %s\n", summary->input->path, summary->output->path);
    printf("  stages    %s\n", summary->expression->text);
    printf("  device    %s\n", summary->device->name);
    printf("  elements  %s, %s -> %s (%s -> %s)\n", count_format(summary->input->array.count, a),
           cls_dtype_name(summary->plan->from), cls_dtype_name(summary->plan->to),
           size_format(summary_bytes_in(summary), b), size_format(summary_bytes_out(summary), c));
    printf("  chunks    %s of %s elements; %u slot%s, %u stream%s\n", count_format(run->chunks, a),
           count_format(summary->chunk_elements, b), run->slots, run->slots == 1 ? "" : "s",
           summary->streams, summary->streams == 1 ? "" : "s");
    printf("  time      %s, after %s to open the device and build the kernels\n",
           seconds_format(run->seconds, a),
           seconds_format(summary->open_seconds + run->setup_seconds, b));
    printf("  speed     %.3g GB/s (in and out)\n", summary_rate(summary));
}

static void print_stages(const struct summary *summary) {
    const struct pipeline_result *run = &summary->run;
    char busy[SIZE_TEXT];
    printf("\n  %-9s %9s %9s %9s\n", "", "busy", "of time", "GB/s");
    for (unsigned i = 0; i < PIPELINE_STAGES; i++)
        printf("  %-9s %9s %8.0f%% %9.3g\n", pipeline_stage_name(i),
               seconds_format(run->busy[i], busy), 100 * run->busy[i] / run->seconds,
               rate(run->bytes[i], run->busy[i]));
    printf("  %-9s %9.2f  of upload, compute and download; %.2f with the files (1: in turns)\n",
           "overlap", summary_overlap(summary, PIPELINE_UPLOAD, PIPELINE_DOWNLOAD),
           summary_overlap(summary, PIPELINE_READ, PIPELINE_WRITE));
}

static void print_verify(const struct summary *summary) {
    const struct verify_result *verify = summary->verify;
    printf("\n  verified against the host reference in %.3f s\n", verify->seconds);
    for (unsigned i = 0; i < summary->plan->n_steps; i++) {
        const struct plan_step *step = &summary->plan->steps[i];
        printf("    %-12s %-3s -> %-4s ", step->stage->operation->name, cls_dtype_name(step->from),
               cls_dtype_name(step->to));
        if (verify->steps[i].exact)
            puts("bit for bit");
        else
            printf("worst error %.0f ULP, at most %.0f%% of what is allowed\n",
                   verify->steps[i].worst, 100 * verify->steps[i].of_bound);
    }
}

void summary_print(const struct summary *summary) {
    print_head(summary);
    if (summary->run.chunks > 0)
        print_stages(summary);
    if (summary->verify)
        print_verify(summary);
}

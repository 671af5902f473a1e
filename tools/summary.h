/* SPDX-License-Identifier: MIT */
/* The result of a run, and its printing. */
#ifndef CLSTREAM_TOOLS_SUMMARY_H
#define CLSTREAM_TOOLS_SUMMARY_H

#include <clstream/device.h>

#include "file.h"
#include "pipeline.h"
#include "plan.h"
#include "verify.h"

struct summary {
    const struct input *input;
    const struct output *output;
    const struct expression *expression;
    const struct plan *plan;
    const cls_device_info *device;
    size_t device_index;
    size_t chunk_elements;
    unsigned streams;
    double open_seconds; /* to find the device and make the context */
    struct pipeline_result run;
    const struct verify_result *verify; /* NULL: not asked for */
};

/* Bytes of the elements, without headers. */
uint64_t summary_bytes_in(const struct summary *summary);
uint64_t summary_bytes_out(const struct summary *summary);

/* Bytes in and out over the run's time, in 1e9 a second; 0 for an empty run. */
double summary_rate(const struct summary *summary);

/*
 * Seconds in which the stages from `first` to `last` were busy, over the run's seconds: 1 when they
 * took turns without a pause, and as many as there are of them when all were always busy.
 */
double summary_overlap(const struct summary *summary, enum pipeline_stage first,
                       enum pipeline_stage last);

/* "read", "upload" ... */
const char *pipeline_stage_name(enum pipeline_stage stage);

/* For people, to the standard output. */
void summary_print(const struct summary *summary);

#endif

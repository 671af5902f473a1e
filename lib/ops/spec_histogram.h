/* SPDX-License-Identifier: MIT */
/* The kernels of histograms and of bounds: cl/histogram.cl, cl/histogram_runs.cl, cl/add_counts.cl, cl/bounds.cl. */
#ifndef CLSTREAM_OPS_SPEC_HISTOGRAM_H
#define CLSTREAM_OPS_SPEC_HISTOGRAM_H

#include "ops/spec.h"

/* How the bin of an element is found: see cl/bins.cl. */
enum bin_rule { BINS_BY_SCALE, BINS_BY_WORDS, BINS_BY_LONGS, BINS_BY_EDGES, BIN_RULES };

/* Who counts: an item of a CPU by itself, a group in local memory, or groups together in device memory. */
enum count_way { COUNT_BY_RUNS, COUNT_BY_GROUPS, COUNT_TOGETHER, COUNT_WAYS };

struct histogram_kind {
    cls_dtype dtype;
    enum bin_rule rule;
    enum count_way way;
};

/* Values of an element that are counted by themselves before bins are; 0: none are. */
unsigned spec_histogram_bytes(const struct histogram_kind *kind);

/* `batch` vectors of a work-item are under way together. */
cls_status spec_of_histogram(const struct histogram_kind *kind, bool aligned,
                             const struct spec **spec);

/* Adds up parts: teams of a group's items, which have COUNT_COLUMNS bins, or an item for each bin. */
enum { COUNT_COLUMNS = 8 };
cls_status spec_of_add_counts(bool teams, const struct spec **spec);

/* Lower or upper bounds. */
cls_status spec_of_bounds(cls_dtype dtype, bool upper, const struct spec **spec);

#endif

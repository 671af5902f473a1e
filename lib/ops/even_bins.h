/* SPDX-License-Identifier: MIT */
/* Bins of one width between two bounds (clstream/histogram.h), as cl/bins.cl takes them. */
#ifndef CLSTREAM_OPS_EVEN_BINS_H
#define CLSTREAM_OPS_EVEN_BINS_H

#include "ops/spec_histogram.h"

/* `lower` and `upper` are an int64_t each, or of floats a double; CLS_ERROR_INVALID_VALUE for those that are no bounds. */
cls_status even_bins(const char *name, cls_dtype dtype, const void *lower, const void *upper,
                     uint32_t count, enum bin_rule *rule, uint64_t how[4]);

#endif

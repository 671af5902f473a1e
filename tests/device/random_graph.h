/* SPDX-License-Identifier: MIT */
/*
 * Random expression graphs: recorded in a batch, run fused, and then again one operation at a time on
 * the device and on the host. A function of two seeds: one of the structure, one of the data and their
 * count.
 */
#ifndef CLSTREAM_TESTS_RANDOM_GRAPH_H
#define CLSTREAM_TESTS_RANDOM_GRAPH_H

#include "arrays.h"

enum { GRAPH_MAX_VALUES = 48 };

/* What graphs are made of. */
struct graph_style {
    unsigned min_operations, max_operations;
    size_t max_count; /* elements of the arrays */
    bool exact; /* only operations whose results are the same bits for every width of a vector */
};

/* What a number of graphs came to. */
struct graph_totals {
    unsigned graphs;
    unsigned operations;
    unsigned reductions;
    unsigned regions;
    unsigned fused;  /* graphs with fewer regions than operations */
    size_t elements; /* compared */
};

/* Runs one graph and compares; a difference fails the running test, naming the seeds. */
void graph_check(unsigned structure, unsigned data, const struct graph_style *style,
                 struct graph_totals *totals);

#endif

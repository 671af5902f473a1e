/* SPDX-License-Identifier: MIT */
/*
 * Ranges (cls_range_push) that were open while nodes were captured. Each launch that is profiled records them again,
 * each from when the first of its nodes could begin until the host has seen the last one done.
 */
#ifndef CLSTREAM_GRAPH_RANGES_H
#define CLSTREAM_GRAPH_RANGES_H

#include "trace/profiler.h"

/* Those of a node, the outer ones first. On the heap; NULL: none. */
struct node_ranges {
    unsigned count;
    struct open_range items[];
};

/* The calling thread's, of those pushed after number `since`. */
cls_status node_ranges_open(uint64_t since, struct node_ranges **out);

/* Those of one, and those of another inside them. Either may be NULL. */
cls_status node_ranges_join(const struct node_ranges *outer, const struct node_ranges *inner,
                            struct node_ranges **out);

/* Spans of the ranges of nodes, while they are put together. */
struct spans {
    struct range_span *items;
    unsigned count, room;
    bool incomplete; /* there was no memory */
};

/* Has the spans of a node's ranges cover that time. */
void spans_cover(struct spans *spans, const struct node_ranges *ranges, uint64_t start,
                 uint64_t end);

/* Gives all to the profilers, and frees them. */
void spans_record(struct spans *spans);

#endif

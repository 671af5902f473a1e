/* SPDX-License-Identifier: MIT */
/*
 * The length of a union of intervals that are added in any order: for how long something was the case. A
 * caller that adds no interval from before an instant any more folds the union up to it, so that only parts
 * behind it are stored.
 */
#ifndef CLSTREAM_PIPELINE_INTERVAL_UNION_H
#define CLSTREAM_PIPELINE_INTERVAL_UNION_H

#include <stdbool.h>

struct interval {
    double start, end;
};

struct interval_union {
    struct interval *parts; /* behind `folded_until`, in order, disjoint */
    unsigned n, room;
    double folded_until;
    double folded; /* the length of what lies before it */
};

/* Room for so many parts; false without memory. */
bool interval_union_reserve(struct interval_union *all, unsigned room);
void interval_union_free(struct interval_union *all);

/* Empties the union, folded up to `from`. */
void interval_union_begin(struct interval_union *all, double from);

/* Ignores what of the part lies before `folded_until`. Without room, folds the earliest part first. */
void interval_union_add(struct interval_union *all, struct interval part);

/* Replaces the parts before `until` by their length. */
void interval_union_fold(struct interval_union *all, double until);

double interval_union_length(const struct interval_union *all);

#endif

/* SPDX-License-Identifier: MIT */
/* Unions of intervals: a sorted array of disjoint parts, and the length of what was folded. */
#include "pipeline/interval_union.h"

#include <stdlib.h>
#include <string.h>

bool interval_union_reserve(struct interval_union *all, unsigned room) {
    if (room <= all->room)
        return true;
    struct interval *parts = realloc(all->parts, room * sizeof *parts);
    if (!parts)
        return false;
    all->parts = parts;
    all->room = room;
    return true;
}

void interval_union_free(struct interval_union *all) { free(all->parts); }

void interval_union_begin(struct interval_union *all, double from) {
    all->n = 0;
    all->folded_until = from;
    all->folded = 0;
}

static double earlier(double a, double b) { return a < b ? a : b; }
static double later(double a, double b) { return a > b ? a : b; }

static void drop_first(struct interval_union *all, unsigned n) {
    all->n -= n;
    memmove(all->parts, all->parts + n, all->n * sizeof *all->parts);
}

void interval_union_fold(struct interval_union *all, double until) {
    unsigned over = 0;
    if (until <= all->folded_until)
        return;
    for (; over < all->n && all->parts[over].end <= until; over++)
        all->folded += all->parts[over].end - all->parts[over].start;
    drop_first(all, over);
    if (all->n && all->parts[0].start < until) {
        all->folded += until - all->parts[0].start;
        all->parts[0].start = until;
    }
    all->folded_until = until;
}

/* Replaces the parts from `first` to before `end` by one. */
static void replace(struct interval_union *all, unsigned first, unsigned end,
                    struct interval part) {
    struct interval *at = all->parts + first;
    memmove(at + 1, all->parts + end, (all->n - end) * sizeof *at);
    *at = part;
    all->n += 1 - (end - first);
}

void interval_union_add(struct interval_union *all, struct interval part) {
    if (all->n == all->room)
        interval_union_fold(all, all->parts[0].end);
    part.start = later(part.start, all->folded_until);
    if (part.end <= part.start)
        return;
    /* Most come last. Those between the two touch the part. */
    unsigned end = all->n;
    while (end && all->parts[end - 1].start > part.end)
        end--;
    unsigned first = end;
    while (first && all->parts[first - 1].end >= part.start)
        first--;
    if (first < end) {
        part.start = earlier(part.start, all->parts[first].start);
        part.end = later(part.end, all->parts[end - 1].end);
    }
    replace(all, first, end, part);
}

double interval_union_length(const struct interval_union *all) {
    double length = all->folded;
    for (unsigned i = 0; i < all->n; i++)
        length += all->parts[i].end - all->parts[i].start;
    return length;
}

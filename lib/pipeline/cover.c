/* SPDX-License-Identifier: MIT */
#include "pipeline/cover.h"

#include <stdlib.h>
#include <string.h>

bool cover_reserve(struct cover *cover, unsigned room) {
    if (room <= cover->room)
        return true;
    struct interval *parts = realloc(cover->parts, room * sizeof *parts);
    if (!parts)
        return false;
    cover->parts = parts;
    cover->room = room;
    return true;
}

void cover_free(struct cover *cover) { free(cover->parts); }

void cover_begin(struct cover *cover, double from) {
    cover->n = 0;
    cover->settled = from;
    cover->length = 0;
}

static double earlier(double a, double b) { return a < b ? a : b; }
static double later(double a, double b) { return a > b ? a : b; }

static void drop_first(struct cover *cover, unsigned n) {
    cover->n -= n;
    memmove(cover->parts, cover->parts + n, cover->n * sizeof *cover->parts);
}

void cover_settle(struct cover *cover, double until) {
    unsigned over = 0;
    if (until <= cover->settled)
        return;
    for (; over < cover->n && cover->parts[over].end <= until; over++)
        cover->length += cover->parts[over].end - cover->parts[over].start;
    drop_first(cover, over);
    if (cover->n && cover->parts[0].start < until) {
        cover->length += until - cover->parts[0].start;
        cover->parts[0].start = until;
    }
    cover->settled = until;
}

/* Puts the part in the place of those from `first` to before `end`. */
static void replace(struct cover *cover, unsigned first, unsigned end, struct interval part) {
    struct interval *at = cover->parts + first;
    memmove(at + 1, cover->parts + end, (cover->n - end) * sizeof *at);
    *at = part;
    cover->n += 1 - (end - first);
}

void cover_add(struct cover *cover, struct interval part) {
    if (cover->n == cover->room)
        cover_settle(cover, cover->parts[0].end);
    part.start = later(part.start, cover->settled);
    if (part.end <= part.start)
        return;
    /* Most come last. Those between the two touch the part. */
    unsigned end = cover->n;
    while (end && cover->parts[end - 1].start > part.end)
        end--;
    unsigned first = end;
    while (first && cover->parts[first - 1].end >= part.start)
        first--;
    if (first < end) {
        part.start = earlier(part.start, cover->parts[first].start);
        part.end = later(part.end, cover->parts[end - 1].end);
    }
    replace(cover, first, end, part);
}

double cover_length(const struct cover *cover) {
    double length = cover->length;
    for (unsigned i = 0; i < cover->n; i++)
        length += cover->parts[i].end - cover->parts[i].start;
    return length;
}

/* SPDX-License-Identifier: MIT */
/*
 * How long something was the case: the length of a union of intervals that come in any order. No interval that is
 * still to come begins before the instant up to which a cover is settled, so that only the parts behind that are
 * kept.
 */
#ifndef CLSTREAM_PIPELINE_COVER_H
#define CLSTREAM_PIPELINE_COVER_H

#include <stdbool.h>

struct interval {
    double start, end;
};

struct cover {
    struct interval *parts; /* behind `settled`, in order, apart from each other */
    unsigned n, room;
    double settled, length; /* up to where, and what is covered before */
};

/* Room for so many parts; false without memory. */
bool cover_reserve(struct cover *cover, unsigned room);
void cover_free(struct cover *cover);

/* Empty, and settled up to `from`. */
void cover_begin(struct cover *cover, double from);

/* What of the part lies before the settled instant is ignored. Without room, what comes first is settled. */
void cover_add(struct cover *cover, struct interval part);

void cover_settle(struct cover *cover, double until);

double cover_length(const struct cover *cover);

#endif

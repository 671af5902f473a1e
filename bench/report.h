/* SPDX-License-Identifier: MIT */
/* The two forms of the results: a table, and one JSON object a line. */
#ifndef CLSTREAM_BENCH_REPORT_H
#define CLSTREAM_BENCH_REPORT_H

#include <stdbool.h>

struct spread {
    double median, low, high; /* and the quartiles */
    double least, most;
};

struct row {
    const char *name;
    const char *unit;
    const char *rival; /* what the right-hand figure is of; NULL: there is none */
    struct spread ours, theirs, ratio;
    unsigned rounds;
    double bar; /* on the ratio, or on the figure where there is no rival; 0: none */
    bool bar_is_upper;
    const char *excuse; /* why a missed bar is no fault; NULL: it is one, or it is met */
};

void report_open(const char *program, const char *json);

/* Whether the bar is met. */
bool row_passes(const struct row *row);

/* Prints a row; false when its bar is missed without an excuse. */
bool report_row(const struct row *row);

#endif

/* SPDX-License-Identifier: MIT */
/* The two forms of the results: a table, and one JSON object a line. */
#ifndef CLSTREAM_BENCH_REPORT_H
#define CLSTREAM_BENCH_REPORT_H

#include <stdbool.h>

struct rig;

struct spread {
    double median, low, high; /* and the quartiles */
    double least, most;
    double good; /* what only one round in ten betters: little disturbed by others on the machine */
};

struct row {
    const char *name;
    const char *unit;
    const char *rival; /* what the right-hand figure is of; NULL: there is none */
    struct spread ours, theirs, ratio;
    double good_ratio; /* of the sides' good rounds, whichever they are */
    unsigned rounds;
    double bar; /* on the ratio, or on the figure where there is no rival; 0: none */
    bool bar_is_upper;
    double cores;       /* what two host threads did against one just before; 0: not asked */
    const char *excuse; /* why a missed bar is no fault; NULL: it is one, or it is met */
};

void report_open(const char *program, const char *json);

/* The driver's name, the versions and the date. */
void report_header(const struct rig *rig);

/* Whether the bar is met. */
bool row_passes(const struct row *row);

/* Prints a row; false when its bar is missed without an excuse. */
bool report_row(const struct row *row);

#endif

/* SPDX-License-Identifier: MIT */
/* The two forms of the results: a table, and one JSON object a line. */
#ifndef CLSTREAM_BENCH_REPORT_H
#define CLSTREAM_BENCH_REPORT_H

#include <stdbool.h>

struct rig;

struct spread {
    double median, low, high; /* and the quartiles */
    double least, most;
    double good; /* bettered by one round in ten only: little disturbed by others on the machine */
};

struct row {
    const char *name;
    const char *unit;
    const char *rival; /* the name of the right-hand figure; NULL: there is none */
    struct spread ours, theirs, ratio;
    double good_ratio; /* of the `good` figures of both sides */
    unsigned rounds;
    double bar; /* on the ratio, or on the figure where there is no rival; 0: none */
    bool bar_is_upper;
    double cores;       /* speed-up of two host threads, measured just before; 0: not measured */
    const char *excuse; /* why a missed bar is no fault; NULL: it is one, or it is met */
};

/* `json`: the file that rows are appended to; NULL: none. */
void report_open(const char *program, const char *json, bool quick);

/* The driver's name, the versions and the date. */
void report_header(const struct rig *rig);

/* A title above the rows that follow. */
void bench_section(const char *title);

/* A line that explains the rows above it. */
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether the bar is met. */
bool row_passes(const struct row *row);

/* Prints a row; false when its bar is missed without an excuse. */
bool report_row(const struct row *row);

/* Ends the table: 0, or 1 when a bar was missed. */
int bench_end(void);

#endif

/* SPDX-License-Identifier: MIT */
/* `clstream bench`: what a device does through this library, as rows that can be compared. */
#ifndef CLSTREAM_TOOLS_BENCH_H
#define CLSTREAM_TOOLS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "failure.h"

enum { BENCH_ROWS = 64, BENCH_MOST = 6, BENCH_TEXT = 128 };

struct bench_row {
    char section[24]; /* "copies", "launches", "overlap", "operations" */
    char name[48];
    char unit[8];
    bool more_is_better;
    double value; /* the median of the rounds */
};

/* What one device came to. */
struct bench_result {
    char name[BENCH_TEXT], platform[BENCH_TEXT], driver[BENCH_TEXT];
    unsigned n;
    struct bench_row rows[BENCH_ROWS];
};

/* Measures a device (NULL: the default one). */
bool bench_measure(const char *device, bool quick, struct bench_result *result,
                   struct failure *failure);

/* The row of a name in a section, or NULL. */
const struct bench_row *bench_find(const struct bench_result *result, const struct bench_row *row);

/* The smallest unit of a row's quantity, ns for all times, and its value in that: rows of one unit can be compared. */
const char *bench_unit(const struct bench_row *row);
double bench_value(const struct bench_row *row);

/* A table: with several results a column each, and their ratios to the first, above 1 being better. */
void bench_print(FILE *file, const struct bench_result *results, unsigned n);

/* An SVG with a group of bars a row, and an axis for the rows of a section that have one bench_unit. */
void bench_picture(FILE *file, const struct bench_result *results, unsigned n);

#endif

/* SPDX-License-Identifier: MIT */
/* Results of `clstream bench` as a table. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

enum { NAME = 28, COLUMN = 16 };

const struct bench_row *bench_find(const struct bench_result *result, const struct bench_row *row) {
    for (unsigned i = 0; i < result->n; i++)
        if (strcmp(result->rows[i].name, row->name) == 0 &&
            strcmp(result->rows[i].section, row->section) == 0)
            return &result->rows[i];
    return NULL;
}

static const struct {
    const char *unit, *smallest;
    double factor;
} units[] = {{"ns", "ns", 1}, {"us", "ns", 1e3}, {"ms", "ns", 1e6}, {"s", "ns", 1e9}};
enum { UNITS = sizeof units / sizeof units[0] };

/* UNITS where it is the only unit of its quantity. */
static unsigned unit_of(const struct bench_row *row) {
    unsigned i = 0;
    while (i < UNITS && strcmp(row->unit, units[i].unit) != 0)
        i++;
    return i;
}

const char *bench_unit(const struct bench_row *row) {
    const unsigned i = unit_of(row);
    return i < UNITS ? units[i].smallest : row->unit;
}

double bench_value(const struct bench_row *row) {
    const unsigned i = unit_of(row);
    return i < UNITS ? row->value * units[i].factor : row->value;
}

static void print_devices(FILE *file, const struct bench_result *results, unsigned n) {
    for (unsigned i = 0; i < n; i++)
        fprintf(file, "%c  %s, %s, %s\n", 'A' + (char)i, results[i].name, results[i].platform,
                results[i].driver);
}

/* How much better than the first: a rate over its rate, a time under its time. Blank where they measure different
 * things. */
static void print_ratio(FILE *file, const struct bench_row *first, const struct bench_row *other) {
    const double a = bench_value(first), b = bench_value(other);
    if (a > 0 && b > 0 && strcmp(bench_unit(first), bench_unit(other)) == 0)
        fprintf(file, " %6.2f x", first->more_is_better ? b / a : a / b);
    else
        fprintf(file, "%9s", "");
}

static void print_row(FILE *file, const struct bench_result *results, unsigned n,
                      const struct bench_row *row) {
    fprintf(file, "  %-*s", NAME, row->name);
    for (unsigned i = 0; i < n; i++) {
        const struct bench_row *cell = bench_find(&results[i], row);
        if (cell)
            fprintf(file, " %9.4g %-5s", cell->value, cell->unit);
        else
            fprintf(file, " %*s", COLUMN - 1, "-");
        if (i > 0 && cell)
            print_ratio(file, row, cell);
        else if (i > 0)
            fprintf(file, "%9s", "");
    }
    fputc('\n', file);
}

void bench_print(FILE *file, const struct bench_result *results, unsigned n) {
    const char *section = "";
    print_devices(file, results, n);
    for (unsigned i = 0; i < results[0].n; i++) {
        const struct bench_row *row = &results[0].rows[i];
        if (strcmp(section, row->section) != 0) {
            fprintf(file, "\n%-*s", n > 1 ? NAME + 2 : 0, row->section);
            for (unsigned k = 0; n > 1 && k < n; k++)
                fprintf(file, k ? " %14c %9s" : " %14c ", 'A' + (char)k, k ? "of A" : "");
            fputc('\n', file);
        }
        section = row->section;
        print_row(file, results, n, row);
    }
}

/* SPDX-License-Identifier: MIT */
/* What every benchmark needs and nothing of it measures: time, medians, and calls that must succeed. */
#ifndef CLSTREAM_BENCH_SUPPORT_H
#define CLSTREAM_BENCH_SUPPORT_H

#include <stddef.h>

double now_seconds(void);

/* Sorts the values. */
void sort_values(double *values, unsigned n);

/* The value below which a share of the sorted values lies, interpolated. */
double quantile(const double *sorted, unsigned n, double share);

/* The median; sorts the values. */
double median(double *values, unsigned n);

/* Ends the program with status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

void *allocate(size_t bytes);

/* Calls that must succeed. */
void check_cls(int status, const char *call);
void check_cl(int code, const char *call);
#define CLS(call) check_cls((int)(call), #call)
#define CL(call) check_cl((int)(call), #call)

#endif

/* SPDX-License-Identifier: MIT */
/* Time, medians, and checks that end the program. */
#include "support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <clstream.h>

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(const double *sorted, unsigned n, double share) {
    const double at = share * (n - 1);
    const unsigned i = (unsigned)at;
    return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

void sort_values(double *values, unsigned n) { qsort(values, n, sizeof *values, compare); }

double median(double *values, unsigned n) {
    sort_values(values, n);
    return quantile(values, n, 0.5);
}

double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fflush(stdout);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory)
        die("no memory for %zu bytes", bytes);
    return memory;
}

void check_cls(int status, const char *call) {
    if (status != CLS_SUCCESS)
        die("%s: %s: %s", call, cls_status_string((cls_status)status), cls_last_error_detail());
}

void check_cl(int code, const char *call) {
    if (code != 0)
        die("%s: OpenCL error %d", call, code);
}

/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "size.h"

enum { BAR = 30 };

double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(struct progress *progress, bool wanted, const char *what, uint64_t total) {
    progress->shown = wanted && total > 0 && isatty(STDERR_FILENO);
    progress->what = what;
    progress->total = total;
    progress->started = progress->drawn = clock_seconds();
}

void progress_update(struct progress *progress, uint64_t done) {
    char bar[BAR + 1], size[SIZE_TEXT];
    if (!progress->shown)
        return;
    const double now = clock_seconds();
    if (now - progress->drawn < 0.1)
        return;
    progress->drawn = now;
    if (done > progress->total) /* the last chunk may be a short one */
        done = progress->total;
    const double part = (double)done / (double)progress->total;
    const int full = (int)(part * BAR);
    for (int i = 0; i < BAR; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR] = '\0';
    fprintf(stderr, "\r%s [%s] %3.0f%%  %s  %.2f GB/s \033[K", progress->what, bar, 100 * part,
            size_format(done, size), (double)done * 1e-9 / (now - progress->started));
    fflush(stderr);
}

void progress_end(struct progress *progress) {
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}

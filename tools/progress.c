/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "platform.h"
#include "size.h"

enum { BAR = 30 };

double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_begin(struct progress *progress, bool wanted, const char *what, uint64_t total,
                    double moved) {
    progress->shown = wanted && total > 0 && platform_is_terminal(STDERR_FILENO);
    progress->what = what;
    progress->total = total;
    progress->moved = moved;
    progress->started = progress->drawn = clock_seconds();
}

void progress_start(struct progress *progress) { progress->started = clock_seconds(); }

void progress_update(struct progress *progress, uint64_t done) {
    char bar[BAR + 1], size[SIZE_TEXT], of[SIZE_TEXT], so_far[2 * SIZE_TEXT + 32];
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
    if (progress->moved > 0)
        snprintf(so_far, sizeof so_far, "%s  %.3g GB/s", size_format(done, size),
                 (double)done * progress->moved * 1e-9 / (now - progress->started));
    else
        snprintf(so_far, sizeof so_far, "%s of %s", count_format(done, size),
                 count_format(progress->total, of));
    fprintf(stderr, "\r%s [%s] %3.0f%%  %s \033[K", progress->what, bar, 100 * part, so_far);
    fflush(stderr);
}

void progress_end(struct progress *progress) {
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}

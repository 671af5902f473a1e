/* SPDX-License-Identifier: MIT */
/* A progress bar on the standard error, only where that is a terminal. */
#ifndef CLSTREAM_TOOLS_PROGRESS_H
#define CLSTREAM_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool shown;
    const char *what;
    uint64_t total; /* bytes of the input, or things that are no bytes */
    double moved;   /* bytes that each of the total moves; 0: it is no byte */
    double started; /* seconds of the monotonic clock */
    double drawn;
};

/* `wanted` false: nothing is ever drawn. `moved`: what each byte of the total counts for in the speed; 0: the
 * total is no number of bytes, and has no speed. */
void progress_begin(struct progress *progress, bool wanted, const char *what, uint64_t total,
                    double moved);

/* What came before was preparation: the speed counts from here on. */
void progress_start(struct progress *progress);

/* Redraws at most ten times a second. Called by one thread at a time. */
void progress_update(struct progress *progress, uint64_t done);

/* Wipes the bar. */
void progress_end(struct progress *progress);

/* Seconds of the monotonic clock. */
double clock_seconds(void);

#endif

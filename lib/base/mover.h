/* SPDX-License-Identifier: MIT */
/*
 * Moving memory with several threads: one core copies some 10 GB/s, a fifth of what a bus carries. The
 * threads are made as needed and go after some idle seconds.
 */
#ifndef CLSTREAM_BASE_MOVER_H
#define CLSTREAM_BASE_MOVER_H

#include <stddef.h>
#include <stdint.h>

/* `height` rows of `width` bytes, a pitch apart on either side; the two sides do not overlap. */
struct rows {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch;
    size_t width, height;
};

/* Returns when all is copied. From any thread, and from several at once; where there are no threads to help
 * the caller does it alone. */
void move_rows(const struct rows *rows);

/* Ends the helpers, waiting for them until `deadline` (clock_now_ns); who moves later does it alone. */
void movers_stop(uint64_t deadline);

#endif

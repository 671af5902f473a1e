/* SPDX-License-Identifier: MIT */
/* What the mechanisms of `clstream check` are tried on: two buffers, and the bytes that they should hold. */
#ifndef CLSTREAM_TOOLS_CHECK_SCENE_H
#define CLSTREAM_TOOLS_CHECK_SCENE_H

#include <stdint.h>

#include <clstream/buffer.h>
#include <clstream/kernel.h>
#include <clstream/stream.h>

#include "check_part.h"

enum { CHECK_BYTES = 8192 };

struct scene {
    cls_context context;
    cls_program program;
    cls_kernel change, slow, turn;
    cls_stream stream;
    cls_buffer to, from;
    unsigned char wanted_to[CHECK_BYTES], wanted_from[CHECK_BYTES];
    uint64_t draws;  /* the state of check_draw */
    bool right;      /* so far */
    char wrong[128]; /* what was the first not to be */
};

/* Ends the function with the status of a call that fails. */
#define TRY(call)                             \
    do {                                      \
        const cls_status try_status = (call); \
        if (try_status)                       \
            return try_status;                \
    } while (0)

/* A number below `n`, from the report's seed. */
size_t check_draw(struct scene *s, size_t n);

/* Writes both buffers, and expects them so. */
cls_status check_reset(struct scene *s, unsigned salt);

/* Notes what is wrong if the buffers do not hold what is expected. */
cls_status check_compare(struct scene *s, const char *format, ...)
    __attribute__((format(PLATFORM_PRINTF, 2, 3)));
void check_is_wrong(struct scene *s, const char *format, ...)
    __attribute__((format(PLATFORM_PRINTF, 2, 3)));

/* check_copies.c */
cls_status check_transfers(struct scene *s);
cls_status check_odd_copies(struct scene *s);
cls_status check_odd_fills(struct scene *s);
cls_status check_rectangles(struct scene *s);
cls_status check_padded_rows(struct scene *s);

#endif

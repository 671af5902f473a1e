/* SPDX-License-Identifier: MIT */
/*
 * Trials of rectangles. Drivers move rows without a gap, or rows that they take for such, as bytes in a row; what they
 * go by are equal sizes. So the shapes go through which of pitches, width, height and distances of slices are equal,
 * with sizes and offsets that are drawn.
 */
#include <string.h>

#include "driver/queue.h"
#include "driver/trial.h"

enum {
    SIDES = 9, /* a pitch is below it, and so is a height */
    DEPTH = 3,
    SPREAD = 40, /* of offsets */
    KINDS = 18,  /* of equalities, for each kind of slices */
    SLICES = 3
};

typedef cl_int (*mover)(struct trial *trial, const struct trial_place *to,
                        const struct trial_place *from, const struct rect_3d *rect);

/* --- shapes --- */

static size_t less(size_t a, size_t b) { return a < b ? a : b; }

static size_t draw_up_to(struct trial *trial, size_t most) { return 1 + trial_draw(trial, most); }

/* The distance of slices: the rows of one without a gap, or some more. */
static size_t draw_slice(struct trial *trial, const struct rect_3d *rect, size_t pitch,
                         bool tight) {
    return pitch * (rect->height + (tight ? 0 : draw_up_to(trial, 2)));
}

/* Offsets that are 0, the start of a row, or anything. */
static size_t draw_offset(struct trial *trial, size_t pitch) {
    const size_t any = trial_draw(trial, SPREAD);
    return any % 3 ? any : any / pitch * pitch;
}

/* The shape of a kind, a number of digits: one of 2 for the pitches, equal or not, and two of 3 for height and width. */
static void draw_shape(struct trial *trial, unsigned kind, unsigned slices, struct rect_3d *out) {
    memset(out, 0, sizeof *out);
    out->src.pitch = 1 + draw_up_to(trial, SIDES - 2);
    out->dst.pitch = kind % 2 ? 1 + draw_up_to(trial, SIDES - 2) : out->src.pitch;
    const size_t heights[] = {draw_up_to(trial, SIDES - 1), out->src.pitch, out->dst.pitch};
    out->height = heights[kind / 2 % 3];
    const size_t pitch = less(out->src.pitch, out->dst.pitch);
    const size_t widths[] = {draw_up_to(trial, pitch - 1), pitch, less(out->height, pitch)};
    out->width = widths[kind / 6];
    out->depth = slices ? 1 + draw_up_to(trial, DEPTH - 1) : 1;
    out->src.slice = draw_slice(trial, out, out->src.pitch, slices < 2);
    out->dst.slice = draw_slice(trial, out, out->dst.pitch, slices < 2 || trial_draw(trial, 2));
    out->src.offset = draw_offset(trial, out->src.pitch);
    out->dst.offset = draw_offset(trial, out->dst.pitch);
}

static size_t end_of(const struct rect_3d *rect, const struct rect_side *side) {
    return side->offset + (rect->depth - 1) * side->slice + (rect->height - 1) * side->pitch +
           rect->width;
}

/* Anywhere in the place where there is room for that. */
static void spread(struct trial *trial, const struct trial_place *place, const struct rect_3d *rect,
                   struct rect_side *side) {
    const size_t end = end_of(rect, side);
    if (end < place->bytes && trial_draw(trial, 2))
        side->offset += trial_draw(trial, place->bytes - end);
}

/* Two sides of one image, next to each other or below each other, as the library has drivers copy within a buffer
 * (command/copy_rect.c). */
static void draw_within(struct trial *trial, struct rect_3d *out) {
    const bool beside = trial_draw(trial, 2);
    out->width = draw_up_to(trial, SIDES - 1);
    out->src.pitch = out->width * (beside ? 2 : 1) + trial_draw(trial, 3);
    out->height = trial_draw(trial, 2) ? out->src.pitch : draw_up_to(trial, SIDES - 1);
    out->depth = 1;
    out->dst.pitch = out->src.pitch;
    out->src.slice = out->dst.slice = 0;
    out->src.offset = out->src.pitch * trial_draw(trial, 3);
    out->dst.offset = out->src.offset +
                      (beside ? out->width : out->src.pitch * (out->height + trial_draw(trial, 2)));
    if (trial_draw(trial, 2)) {
        const size_t offset = out->dst.offset;
        out->dst.offset = out->src.offset;
        out->src.offset = offset;
    }
}

static void expect_rows(unsigned char *to, const unsigned char *from, const struct rect_3d *rect) {
    for (size_t slice = 0; slice < rect->depth; slice++)
        for (size_t row = 0; row < rect->height; row++)
            memcpy(to + rect->dst.offset + slice * rect->dst.slice + row * rect->dst.pitch,
                   from + rect->src.offset + slice * rect->src.slice + row * rect->src.pitch,
                   rect->width);
}

/* --- commands: origins are given as the library's own calls give them (driver/queue.c) --- */

#define REGION(rect) ((const size_t[3]){(rect)->width, (rect)->height, (rect)->depth})
#define IN_ROW(side) \
    ((const size_t[3]){(side).offset % (side).pitch, (side).offset / (side).pitch, 0})
#define SLICE(rect, side) ((rect)->depth > 1 ? (rect)->side.slice : 0)

static cl_int copy(struct trial *trial, const struct trial_place *to,
                   const struct trial_place *from, const struct rect_3d *rect) {
    return clEnqueueCopyBufferRect(trial->probe->queues[0], from->memory, to->memory,
                                   IN_ROW(rect->src), IN_ROW(rect->dst), REGION(rect),
                                   rect->src.pitch, SLICE(rect, src), rect->dst.pitch,
                                   SLICE(rect, dst), 0, NULL, NULL);
}

/* The host's memory is what is expected of the other buffer, or a copy of that. */
static cl_int write(struct trial *trial, const struct trial_place *to,
                    const struct trial_place *from, const struct rect_3d *rect) {
    return clEnqueueWriteBufferRect(trial->probe->queues[0], to->memory, CL_FALSE,
                                    (const size_t[3]){rect->dst.offset, 0, 0},
                                    (const size_t[3]){0, 0, 0}, REGION(rect), rect->dst.pitch,
                                    SLICE(rect, dst), rect->src.pitch, SLICE(rect, src),
                                    trial->wanted[from->which] + rect->src.offset, 0, NULL, NULL);
}

static cl_int read(struct trial *trial, const struct trial_place *to,
                   const struct trial_place *from, const struct rect_3d *rect) {
    (void)to;
    return clEnqueueReadBufferRect(
        trial->probe->queues[0], from->memory, CL_FALSE, (const size_t[3]){rect->src.offset, 0, 0},
        (const size_t[3]){0, 0, 0}, REGION(rect), rect->src.pitch, SLICE(rect, src),
        rect->dst.pitch, SLICE(rect, dst), trial->read + rect->dst.offset, 0, NULL, NULL);
}

/* --- trials --- */

/* Enqueues one shape of each kind on the probe's first queue, without a wait. */
static bool move_all(struct trial *trial, mover move, const struct trial_place *to,
                     const struct trial_place *from, unsigned slices) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct rect_3d rect;
        draw_shape(trial, kind, slices, &rect);
        spread(trial, to, &rect, &rect.dst);
        spread(trial, from, &rect, &rect.src);
        if (!trial_did(trial, move(trial, to, from, &rect)))
            return false;
        expect_rows(trial->wanted[to->which] + to->origin,
                    trial->wanted[from->which] + from->origin, &rect);
    }
    return true;
}

static bool copy_within(struct trial *trial, const struct trial_place *place) {
    for (unsigned i = 0; i < KINDS; i++) {
        unsigned char *wanted = trial->wanted[place->which] + place->origin;
        struct rect_3d rect;
        draw_within(trial, &rect);
        if (!trial_did(trial, copy(trial, place, place, &rect)))
            return false;
        expect_rows(wanted, wanted, &rect);
    }
    return true;
}

static bool try_copies(struct trial *trial, const struct trial_place *to,
                       const struct trial_place *from, unsigned slices) {
    const bool done = trial_reset(trial, 20 + slices) && move_all(trial, copy, to, from, slices);
    return trial_compare(trial) && done;
}

static bool try_copies_within(struct trial *trial, const struct trial_place *place) {
    const bool done = trial_reset(trial, 23) && copy_within(trial, place);
    return trial_compare(trial) && done;
}

bool trial_of_rectangles(struct trial *trial) {
    const struct trial_place to = trial_whole(trial, 0), from = trial_whole(trial, 1);
    bool right = true;
    for (unsigned slices = 0; slices < SLICES && right; slices++)
        right = try_copies(trial, &to, &from, slices);
    return right && try_copies_within(trial, &to);
}

/* A sub-buffer at one end, at the other, and at both, which may be the same. */
static bool try_parts(struct trial *trial, const struct trial_place *to,
                      const struct trial_place *from) {
    const struct trial_place whole_to = trial_whole(trial, 0), whole_from = trial_whole(trial, 1);
    return try_copies(trial, to, &whole_from, 0) && try_copies(trial, &whole_to, from, 1) &&
           try_copies(trial, to, from, 2) && try_copies_within(trial, to);
}

bool trial_of_sub_buffer_rectangles(struct trial *trial) {
    return trial_with_parts(trial, try_parts);
}

static bool try_writes(struct trial *trial, const struct trial_place *to,
                       const struct trial_place *from, unsigned slices) {
    const bool done = trial_reset(trial, 24 + slices) && move_all(trial, write, to, from, slices);
    return trial_compare(trial) && done;
}

/* What reads should make of the host's memory is kept where the first buffer's contents are expected. */
static bool try_reads(struct trial *trial, const struct trial_place *to,
                      const struct trial_place *from, unsigned slices) {
    bool done = trial_reset(trial, 27 + slices);
    memcpy(trial->read, trial->wanted[0], trial->bytes);
    done = done && move_all(trial, read, to, from, slices);
    cl_event event = NULL;
    const cl_int code = clEnqueueMarkerWithWaitList(trial->probe->queues[0], 0, NULL, &event);
    return trial_done(trial, code, event) && done &&
           !memcmp(trial->read, trial->wanted[0], trial->bytes);
}

bool trial_of_padded_rows(struct trial *trial) {
    const struct trial_place to = trial_whole(trial, 0), from = trial_whole(trial, 1);
    bool right = true;
    for (unsigned slices = 0; slices < SLICES && right; slices++)
        right = try_writes(trial, &to, &from, slices) && try_reads(trial, &to, &from, slices);
    return right;
}

/* SPDX-License-Identifier: MIT */
/*
 * Copies and fills of drawn offsets, sizes and shapes, which go through what drivers tell their special cases by: what is
 * aligned, and which sizes are equal.
 */
#include "check_scene.h"

#include <string.h>

/* --- bytes in a row --- */

enum { SPANS = 60, WIDTHS = 5 };

/* An offset or a size below `n`: odd, or a multiple of 2, 4, 8 ... 64. */
static size_t any_number(struct scene *s, unsigned i, size_t n) {
    const size_t step = (size_t)1 << i % 7;
    return step == 1 ? check_draw(s, n / 2) * 2 + 1 : check_draw(s, n / step) * step;
}

static size_t any_size(struct scene *s, unsigned i) {
    const size_t size = any_number(s, i, i % 4 ? 300 : CHECK_BYTES / 2);
    return size ? size : 16;
}

cls_status check_transfers(struct scene *s) {
    unsigned char seen[CHECK_BYTES];
    TRY(check_reset(s, 1));
    for (unsigned i = 0; i < SPANS; i++) {
        const size_t bytes = any_size(s, i + i / 7), at = any_number(s, i, CHECK_BYTES - bytes);
        for (size_t j = 0; j < bytes; j++)
            s->wanted_to[at + j] ^= 0x5a;
        TRY(cls_copy_h2d(s->to, at, s->wanted_to + at, bytes, s->stream));
        TRY(cls_copy_d2h(seen, s->to, at, bytes, s->stream));
        if (memcmp(seen, s->wanted_to + at, bytes))
            check_is_wrong(s, "%zu bytes at %zu", bytes, at);
    }
    return check_compare(s, "of %u writes", (unsigned)SPANS);
}

/* Every third at one offset in both buffers. */
cls_status check_odd_copies(struct scene *s) {
    TRY(check_reset(s, 2));
    for (unsigned i = 0; i < SPANS; i++) {
        const size_t bytes = any_size(s, i + i / 7), from = any_number(s, i, CHECK_BYTES - bytes);
        const size_t drawn = any_number(s, i / 2, CHECK_BYTES - bytes), to = i % 3 ? drawn : from;
        TRY(cls_copy_d2d(s->to, to, s->from, from, bytes, s->stream));
        memcpy(s->wanted_to + to, s->wanted_from + from, bytes);
        if (s->right)
            TRY(check_compare(s, "%zu bytes from %zu to %zu", bytes, from, to));
    }
    return CLS_SUCCESS;
}

cls_status check_odd_fills(struct scene *s) {
    unsigned char pattern[1 << (WIDTHS - 1)];
    TRY(check_reset(s, 3));
    for (unsigned i = 0; i < SPANS; i++) {
        const size_t width = (size_t)1 << i % WIDTHS, count = 1 + check_draw(s, 40);
        const size_t at = width * check_draw(s, CHECK_BYTES / width - count);
        for (size_t j = 0; j < width; j++)
            pattern[j] = (unsigned char)check_draw(s, 256);
        TRY(cls_fill(s->to, at, count * width, pattern, width, s->stream));
        for (size_t j = 0; j < count * width; j++)
            s->wanted_to[at + j] = pattern[j % width];
        if (s->right)
            TRY(check_compare(s, "%zu patterns of %zu bytes at %zu", count, width, at));
    }
    return CLS_SUCCESS;
}

/* --- rectangles --- */

enum { SHAPES = 150, LONGEST_SIDE = 24, SPREAD = 300 };

static size_t up_to(struct scene *s, size_t most) { return 1 + check_draw(s, most); }

/* 0, the start of a row, or anything. */
static size_t any_offset(struct scene *s, size_t pitch) {
    const size_t any = check_draw(s, SPREAD);
    return any % 3 ? any : any / pitch * pitch;
}

static size_t any_slice(struct scene *s, const cls_rect *r, size_t pitch) {
    return check_draw(s, 2) ? 0 : pitch * (r->height + check_draw(s, 3));
}

static cls_rect any_shape(struct scene *s, unsigned kind) {
    cls_rect r = {.src_pitch = 1 + up_to(s, LONGEST_SIDE - 1)};
    r.dst_pitch = kind % 2 ? 1 + up_to(s, LONGEST_SIDE - 1) : r.src_pitch;
    const size_t pitch = r.src_pitch < r.dst_pitch ? r.src_pitch : r.dst_pitch;
    const size_t heights[] = {up_to(s, LONGEST_SIDE), r.src_pitch, r.dst_pitch};
    r.height = heights[kind / 2 % 3];
    const size_t widths[] = {up_to(s, pitch - 1), pitch, r.height < pitch ? r.height : pitch};
    r.width = widths[kind / 6 % 3];
    r.depth = check_draw(s, 3) ? 0 : up_to(s, 3);
    r.dst_slice_pitch = any_slice(s, &r, r.dst_pitch);
    r.src_slice_pitch = any_slice(s, &r, r.src_pitch);
    r.dst_offset = any_offset(s, r.dst_pitch);
    r.src_offset = any_offset(s, r.src_pitch);
    return r;
}

static void copy_rows(unsigned char *to, const unsigned char *from, const cls_rect *r) {
    const size_t to_slice = r->dst_slice_pitch ? r->dst_slice_pitch : r->height * r->dst_pitch;
    const size_t from_slice = r->src_slice_pitch ? r->src_slice_pitch : r->height * r->src_pitch;
    for (size_t slice = 0; slice < (r->depth ? r->depth : 1); slice++)
        for (size_t i = 0; i < r->height; i++)
            memcpy(to + r->dst_offset + slice * to_slice + i * r->dst_pitch,
                   from + r->src_offset + slice * from_slice + i * r->src_pitch, r->width);
}

static void is_wrong(struct scene *s, const char *what, const cls_rect *r) {
    check_is_wrong(s, "%s of %zu x %zu x %zu from %zu/%zu/%zu to %zu/%zu/%zu", what, r->width,
                   r->height, r->depth, r->src_offset, r->src_pitch, r->src_slice_pitch,
                   r->dst_offset, r->dst_pitch, r->dst_slice_pitch);
}

/* Compares the buffers while nothing was found to be wrong: what follows is then wrong, too. */
static cls_status compare(struct scene *s, const char *what, const cls_rect *r) {
    const bool was_right = s->right;
    TRY(was_right ? check_compare(s, "%s", "") : CLS_SUCCESS);
    if (was_right && !s->right) {
        s->right = true;
        is_wrong(s, what, r);
    }
    return CLS_SUCCESS;
}

/* Two sides of one image, next to each other or below each other. */
static cls_rect within(struct scene *s) {
    const bool beside = check_draw(s, 2);
    cls_rect r = {.width = up_to(s, LONGEST_SIDE)};
    r.src_pitch = r.dst_pitch = r.width * (beside ? 2 : 1) + check_draw(s, 3);
    r.height = check_draw(s, 2) ? r.src_pitch : up_to(s, LONGEST_SIDE);
    r.src_offset = check_draw(s, SPREAD);
    r.dst_offset = r.src_offset + (beside ? r.width : r.src_pitch * r.height + check_draw(s, 9));
    return r;
}

cls_status check_rectangles(struct scene *s) {
    TRY(check_reset(s, 4));
    for (unsigned i = 0; i < SHAPES; i++) {
        const cls_rect r = any_shape(s, i);
        TRY(cls_copy_rect_d2d(s->to, s->from, &r, s->stream));
        copy_rows(s->wanted_to, s->wanted_from, &r);
        TRY(compare(s, "a copy", &r));
    }
    for (unsigned i = 0; i < SHAPES / 3; i++) {
        const cls_rect r = within(s);
        TRY(cls_copy_rect_d2d(s->to, s->to, &r, s->stream));
        copy_rows(s->wanted_to, s->wanted_to, &r);
        TRY(compare(s, "a copy in a buffer", &r));
    }
    return CLS_SUCCESS;
}

cls_status check_padded_rows(struct scene *s) {
    unsigned char seen[CHECK_BYTES], wanted[CHECK_BYTES];
    TRY(check_reset(s, 5));
    for (unsigned i = 0; i < SHAPES; i++) {
        const cls_rect r = any_shape(s, i);
        TRY(cls_copy_rect_h2d(s->to, s->wanted_from, &r, s->stream));
        copy_rows(s->wanted_to, s->wanted_from, &r);
        TRY(compare(s, "an upload", &r));
        memset(seen, 0x3c, CHECK_BYTES);
        memset(wanted, 0x3c, CHECK_BYTES);
        TRY(cls_copy_rect_d2h(seen, s->from, &r, s->stream));
        copy_rows(wanted, s->wanted_from, &r);
        if (memcmp(seen, wanted, CHECK_BYTES))
            is_wrong(s, "a download", &r);
    }
    return CLS_SUCCESS;
}

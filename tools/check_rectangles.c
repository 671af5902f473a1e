/* SPDX-License-Identifier: MIT */
/* Rectangles of drawn shapes, which go through what drivers tell their special cases by: which sizes are equal. */
#include "check_scene.h"

#include <string.h>

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

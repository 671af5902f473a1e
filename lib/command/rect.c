/* SPDX-License-Identifier: MIT */
#include "command/rect.h"

#include <stdint.h>

#include "base/error.h"
#include "stream/touch.h"

cls_status rect_check_given(const cls_rect *rect) {
    return rect ? CLS_SUCCESS : error_set(CLS_ERROR_INVALID_VALUE, "the rectangle is null");
}

static bool is_empty(const struct rect_3d *rect) {
    return !rect->width || !rect->height || !rect->depth;
}

/* Where a side ends; an empty one ends where it begins. False when that overflows. */
static bool find_end(const struct rect_3d *rect, const struct rect_side *side, size_t *end) {
    size_t rows, slices;
    *end = side->offset;
    if (is_empty(rect))
        return true;
    return !__builtin_mul_overflow(side->pitch, rect->height - 1, &rows) &&
           !__builtin_mul_overflow(side->slice, rect->depth - 1, &slices) &&
           !__builtin_add_overflow(*end, slices, end) && !__builtin_add_overflow(*end, rows, end) &&
           !__builtin_add_overflow(*end, rect->width, end);
}

static cls_status check_pitches(const struct rect_3d *rect, const struct rect_side *side) {
    struct rect_3d slice = *rect;
    const struct rect_side first = {0, side->pitch, 0};
    size_t bytes;
    slice.depth = 1;
    if (side->pitch < rect->width)
        return error_set(CLS_ERROR_INVALID_VALUE, "a pitch is below the width %zu", rect->width);
    if (!find_end(&slice, &first, &bytes))
        return error_set(CLS_ERROR_OUT_OF_RANGE, "the rectangle's size overflows");
    if (rect->depth > 1 && side->slice < bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "a slice pitch is below the %zu bytes of a slice",
                         bytes);
    return CLS_SUCCESS;
}

static cls_status check_end(const struct rect_3d *rect, const struct rect_side *side,
                            size_t bytes) {
    size_t end;
    if (!find_end(rect, side, &end))
        return error_set(CLS_ERROR_OUT_OF_RANGE, "the rectangle's size overflows");
    if (end > bytes)
        return error_set(CLS_ERROR_OUT_OF_RANGE,
                         "the rectangle ends at byte %zu of a buffer of %zu", end, bytes);
    return CLS_SUCCESS;
}

/* A slice pitch of 0 stands for slices without a gap; one that overflows is past every end. */
static struct rect_side side_of(size_t offset, size_t pitch, size_t slice, size_t height) {
    struct rect_side side = {offset, pitch, slice};
    if (!slice && __builtin_mul_overflow(pitch, height, &side.slice))
        side.slice = SIZE_MAX;
    return side;
}

static void make_one_slice(struct rect_3d *rect) {
    rect->depth = 1;
    rect->dst.slice = rect->height * rect->dst.pitch;
    rect->src.slice = rect->height * rect->src.pitch;
}

/* Slices of one row are rows, and so are slices without a gap. */
static void reduce(struct rect_3d *rect) {
    const bool dense = rect->dst.slice == rect->height * rect->dst.pitch &&
                       rect->src.slice == rect->height * rect->src.pitch;
    if (rect->depth > 1 && (dense || rect->height == 1)) {
        rect->dst.pitch = dense ? rect->dst.pitch : rect->dst.slice;
        rect->src.pitch = dense ? rect->src.pitch : rect->src.slice;
        rect->height *= rect->depth;
        rect->depth = 1;
    }
    if (rect->depth == 1)
        make_one_slice(rect);
}

cls_status rect_read(const cls_rect *rect, size_t dst_bytes, size_t src_bytes,
                     struct rect_3d *out) {
    struct rect_3d r = {
        .width = rect->width,
        .height = rect->height,
        .depth = rect->depth ? rect->depth : 1,
        .dst = side_of(rect->dst_offset, rect->dst_pitch, rect->dst_slice_pitch, rect->height),
        .src = side_of(rect->src_offset, rect->src_pitch, rect->src_slice_pitch, rect->height)};
    cls_status status = check_pitches(&r, &r.dst);
    if (!status)
        status = check_pitches(&r, &r.src);
    if (!status)
        status = check_end(&r, &r.dst, dst_bytes);
    if (!status)
        status = check_end(&r, &r.src, src_bytes);
    if (status)
        return status;
    if (is_empty(&r))
        r.depth = 0;
    else
        reduce(&r);
    *out = r;
    return CLS_SUCCESS;
}

size_t rect_end(const struct rect_3d *rect, const struct rect_side *side) {
    size_t end;
    find_end(rect, side, &end);
    return end;
}

bool rect_is_onto_itself(const struct rect_3d *r) {
    return r->dst.offset == r->src.offset && (r->height == 1 || r->dst.pitch == r->src.pitch) &&
           (r->depth == 1 || r->dst.slice == r->src.slice);
}

bool rect_overlaps(const struct rect_3d *rect) {
    const struct byte_span dst = byte_span_of(rect, &rect->dst),
                           src = byte_span_of(rect, &rect->src);
    return byte_spans_overlap(&dst, &src);
}

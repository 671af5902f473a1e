/* SPDX-License-Identifier: MIT */
#include "command/by_kernel.h"

#include <string.h>

#include "command/op.h"

/* How the bytes are shared out (cl/copy.cl). The work-items of a launch are a multiple of GROUP, so that a group divides
 * them. Above the most, each takes several pieces. */
enum {
    TEAM = 32,
    RUN = 1024,
    TEAM_PIECE = 16 * TEAM,
    MOST_ITEMS = 1 << 20,
    GROUP = 256,
    MOST_PATTERN = 16
};

/* A kernel for each shape: a work-item that takes a run of bytes by itself, or a team. */
struct shapes {
    struct op_kernel_spec run, team;
};

static size_t piece_of(const struct op_call *call) {
    return op_takes_runs(call) ? RUN : TEAM_PIECE;
}

static cls_status launch(struct op_call *call, const struct shapes *shapes,
                         const struct op_arg *args, unsigned n_args, size_t width, size_t height) {
    const bool runs = op_takes_runs(call);
    const size_t pieces = (width + piece_of(call) - 1) / piece_of(call) * height;
    const size_t most = runs ? MOST_ITEMS : MOST_ITEMS / TEAM;
    const size_t items = (pieces < most ? pieces : most) * (runs ? 1 : TEAM);
    struct kernel *kernel;
    cls_status status = op_kernel(call, runs ? &shapes->run : &shapes->team, &kernel);
    if (status)
        return status;
    call->copies = width * height;
    return op_launch(call, kernel, args, n_args, (items + GROUP - 1) / GROUP * GROUP, 0);
}

/* --- rectangles --- */

static cls_array rect_bytes(cls_buffer buffer, size_t offset, size_t pitch, const cls_rect *rect) {
    return cls_array_at(buffer, CLS_U8, offset, (rect->height - 1) * pitch + rect->width);
}

static cls_status launch_rect(struct op_call *call, const cls_rect *rect) {
    static const struct shapes shapes = {{"copy.cl", "copy_rect", "-DTEAM=1", "copy_rect"},
                                         {"copy.cl", "copy_rect", "-DTEAM=32", "copy_rect"}};
    const struct op_arg args[] = {
        op_arg_view(&call->views[0], false),
        op_arg_u64(rect->src_offset),
        op_arg_u64(rect->src_pitch),
        op_arg_view(&call->views[1], true),
        op_arg_u64(rect->dst_offset),
        op_arg_u64(rect->dst_pitch),
        op_arg_u64(rect->width),
        op_arg_u64(rect->height),
        op_arg_u64(piece_of(call)),
    };
    return launch(call, &shapes, args, sizeof args / sizeof *args, rect->width, rect->height);
}

cls_status rect_by_kernel(cls_buffer dst, cls_buffer src, const cls_rect *rect, cls_stream stream,
                          bool blocking) {
    const cls_array from = rect_bytes(src, rect->src_offset, rect->src_pitch, rect);
    const cls_array to = rect_bytes(dst, rect->dst_offset, rect->dst_pitch, rect);
    const cls_array *const views[] = {&from, &to};
    struct op_call call;
    cls_status status = op_begin(&call, stream, views, 2, blocking);
    return status ? status : op_end(&call, launch_rect(&call, rect), blocking);
}

cls_status copy_by_kernel(cls_buffer dst, size_t dst_offset, cls_buffer src, size_t src_offset,
                          size_t bytes, cls_stream stream, bool blocking) {
    const cls_rect row = {.width = bytes,
                          .height = 1,
                          .dst_offset = dst_offset,
                          .dst_pitch = bytes,
                          .src_offset = src_offset,
                          .src_pitch = bytes};
    return rect_by_kernel(dst, src, &row, stream, blocking);
}

/* --- fills --- */

static cls_status launch_fill(struct op_call *call, const void *pattern, size_t pattern_bytes) {
    static const struct shapes shapes = {{"copy.cl", "fill_bytes", "-DTEAM=1", "fill"},
                                         {"copy.cl", "fill_bytes", "-DTEAM=32", "fill"}};
    const struct op_view *view = &call->views[0];
    unsigned char whole[MOST_PATTERN];
    for (size_t i = 0; i < sizeof whole; i += pattern_bytes)
        memcpy(whole + i, pattern, pattern_bytes);
    const struct op_arg args[] = {
        op_arg_view(view, true), op_arg_u64(view->offset),   op_arg_value(whole, sizeof whole),
        op_arg_u64(view->count), op_arg_u64(piece_of(call)),
    };
    return launch(call, &shapes, args, sizeof args / sizeof *args, view->count, 1);
}

cls_status fill_by_kernel(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                          size_t pattern_bytes, cls_stream stream, bool blocking) {
    const cls_array to = cls_array_at(dst, CLS_U8, offset, bytes);
    const cls_array *const views[] = {&to};
    struct op_call call;
    cls_status status = op_begin(&call, stream, views, 1, blocking);
    return status ? status : op_end(&call, launch_fill(&call, pattern, pattern_bytes), blocking);
}

/* SPDX-License-Identifier: MIT */
#include "command/by_kernel.h"

#include <string.h>

#include "command/op.h"
#include "command/rect.h"
#include "stream/touch.h"

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
    return op_takes_runs(call->device) ? RUN : TEAM_PIECE;
}

static cls_status launch(struct op_call *call, const struct shapes *shapes,
                         const struct op_arg *args, unsigned n_args, size_t width, size_t height) {
    const bool runs = op_takes_runs(call->device);
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

static cls_array bytes_of(cls_buffer buffer, const struct rect_3d *rect,
                          const struct rect_side *side) {
    return cls_array_at(buffer, CLS_U8, side->offset, rect_end(rect, side) - side->offset);
}

static cls_status launch_rect(struct op_call *call, const struct rect_3d *rect) {
    static const struct shapes shapes = {{"copy.cl", "copy_rect", "-DTEAM=1", "copy_rect"},
                                         {"copy.cl", "copy_rect", "-DTEAM=32", "copy_rect"}};
    const struct byte_span src = byte_span_of(rect, &rect->src),
                           dst = byte_span_of(rect, &rect->dst);
    const size_t rows = rect->height * rect->depth;
    const struct op_arg args[] = {
        op_arg_span(call->views[0].buffer, false, &src),
        op_arg_u64(rect->src.offset),
        op_arg_u64(rect->src.pitch),
        op_arg_u64(rect->src.slice),
        op_arg_span(call->views[1].buffer, true, &dst),
        op_arg_u64(rect->dst.offset),
        op_arg_u64(rect->dst.pitch),
        op_arg_u64(rect->dst.slice),
        op_arg_u64(rect->width),
        op_arg_u64(rect->height),
        op_arg_u64(rows),
        op_arg_u64(piece_of(call)),
    };
    return launch(call, &shapes, args, sizeof args / sizeof *args, rect->width, rows);
}

cls_status rect_by_kernel(cls_buffer dst, cls_buffer src, const struct rect_3d *rect,
                          cls_stream stream, bool blocking) {
    const cls_array from = bytes_of(src, rect, &rect->src), to = bytes_of(dst, rect, &rect->dst);
    const cls_array *const views[] = {&from, &to};
    struct op_call call;
    cls_status status = op_begin(&call, stream, views, 2, blocking);
    return status ? status : op_end(&call, launch_rect(&call, rect), blocking);
}

/* --- fills --- */

static cls_status launch_fill(struct op_call *call, const struct rect_3d *rect, const void *pattern,
                              size_t pattern_bytes) {
    static const struct shapes shapes = {{"copy.cl", "fill_rect", "-DTEAM=1", "fill_rect"},
                                         {"copy.cl", "fill_rect", "-DTEAM=32", "fill_rect"}};
    const struct byte_span span = byte_span_of(rect, &rect->dst);
    const size_t rows = rect->height * rect->depth;
    unsigned char whole[MOST_PATTERN];
    for (size_t i = 0; i < sizeof whole; i += pattern_bytes)
        memcpy(whole + i, pattern, pattern_bytes);
    const struct op_arg args[] = {
        op_arg_span(call->views[0].buffer, true, &span),
        op_arg_u64(rect->dst.offset),
        op_arg_u64(rect->dst.pitch),
        op_arg_u64(rect->dst.slice),
        op_arg_value(whole, sizeof whole),
        op_arg_u64(rect->width),
        op_arg_u64(rect->height),
        op_arg_u64(rows),
        op_arg_u64(piece_of(call)),
    };
    return launch(call, &shapes, args, sizeof args / sizeof *args, rect->width, rows);
}

cls_status fill_by_kernel(cls_buffer dst, const struct rect_3d *rect, const void *pattern,
                          size_t pattern_bytes, cls_stream stream, bool blocking) {
    const cls_array to = bytes_of(dst, rect, &rect->dst);
    const cls_array *const views[] = {&to};
    struct op_call call;
    cls_status status = op_begin(&call, stream, views, 1, blocking);
    return status ? status
                  : op_end(&call, launch_fill(&call, rect, pattern, pattern_bytes), blocking);
}

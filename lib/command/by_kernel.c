/* SPDX-License-Identifier: MIT */
#include "command/by_kernel.h"

#include <string.h>

#include "command/op.h"

/* The work-items of a launch are a multiple of GROUP, so that a group divides them. For more bytes than the most, each
 * moves several, a stride of all items apart. */
enum { MOST_ITEMS = 1 << 20, GROUP = 256, MOST_PATTERN = 16 };

static cls_status launch(struct op_call *call, const struct op_kernel_spec *spec,
                         const struct op_arg *args, unsigned n_args, size_t bytes) {
    struct kernel *kernel;
    cls_status status = op_kernel(call, spec, &kernel);
    if (status)
        return status;
    call->copies = bytes;
    const size_t items = bytes < MOST_ITEMS ? (bytes + GROUP - 1) / GROUP * GROUP : MOST_ITEMS;
    return op_launch(call, kernel, args, n_args, items, 0);
}

/* --- rectangles --- */

static cls_array rect_bytes(cls_buffer buffer, size_t offset, size_t pitch, const cls_rect *rect) {
    return cls_array_at(buffer, CLS_U8, offset, (rect->height - 1) * pitch + rect->width);
}

static cls_status launch_rect(struct op_call *call, const cls_rect *rect) {
    static const struct op_kernel_spec spec = {"copy.cl", "copy_rect", "", "copy_rect"};
    const size_t bytes = rect->width * rect->height;
    const struct op_arg args[] = {
        op_arg_view(&call->views[0], false),
        op_arg_u64(rect->src_offset),
        op_arg_u64(rect->src_pitch),
        op_arg_view(&call->views[1], true),
        op_arg_u64(rect->dst_offset),
        op_arg_u64(rect->dst_pitch),
        op_arg_u64(rect->width),
        op_arg_u64(bytes),
    };
    return launch(call, &spec, args, sizeof args / sizeof *args, bytes);
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
    static const struct op_kernel_spec spec = {"copy.cl", "fill_bytes", "", "fill"};
    const struct op_view *view = &call->views[0];
    unsigned char whole[MOST_PATTERN] = {0};
    memcpy(whole, pattern, pattern_bytes);
    const struct op_arg args[] = {
        op_arg_view(view, true),   op_arg_u64(view->offset), op_arg_value(whole, sizeof whole),
        op_arg_u64(pattern_bytes), op_arg_u64(view->count),
    };
    return launch(call, &spec, args, sizeof args / sizeof *args, view->count);
}

cls_status fill_by_kernel(cls_buffer dst, size_t offset, size_t bytes, const void *pattern,
                          size_t pattern_bytes, cls_stream stream, bool blocking) {
    const cls_array to = cls_array_at(dst, CLS_U8, offset, bytes);
    const cls_array *const views[] = {&to};
    struct op_call call;
    cls_status status = op_begin(&call, stream, views, 1, blocking);
    return status ? status : op_end(&call, launch_fill(&call, pattern, pattern_bytes), blocking);
}

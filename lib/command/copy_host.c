/* SPDX-License-Identifier: MIT */
/* Copies from host memory to host memory, and fills of it, in the order of a stream. */
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "command/copy_call.h"
#include "command/rect.h"
#include "memory/staging.h"
#include "stream/touch.h"

static void set_rows(char *to, const struct rect_3d *rect) {
    for (size_t slice = 0; slice < rect->depth; slice++)
        for (size_t row = 0; row < rect->height; row++)
            memset(to + rect->dst.offset + slice * rect->dst.slice + row * rect->dst.pitch,
                   (int)rect->src.offset, rect->width);
}

static struct run_result run(struct stream *stream, struct command *command, cls_status so_far) {
    const struct host_copy_arguments *copy = &command->u.host_copy;
    (void)stream;
    (void)so_far;
    if (copy->from)
        staging_move(copy->to, copy->from, &copy->rect);
    else
        set_rows(copy->to, &copy->rect);
    return (struct run_result){.status = CLS_SUCCESS};
}

static void touch(struct touches *touches, const struct device *device,
                  const struct command *command, const struct launch_args *args) {
    const struct host_copy_arguments *copy = &command->u.host_copy;
    const struct byte_span to = byte_span_of(&copy->rect, &copy->rect.dst),
                           from = byte_span_of(&copy->rect, &copy->rect.src);
    (void)device;
    (void)args;
    touches_add_host(touches, copy->to, &to, true);
    if (copy->from)
        touches_add_host(touches, copy->from, &from, false);
}

static const struct command_type type_host_copy = {.kind = CLS_COMMAND_HOST,
                                                   .capture = CAPTURE_HOST_COPY,
                                                   .label = "copy_h2h",
                                                   .run = run,
                                                   .copies_host = true,
                                                   .touch = touch,
                                                   .after_completion = true};
static const struct command_type type_host_copy_rect = {.kind = CLS_COMMAND_HOST,
                                                        .capture = CAPTURE_HOST_COPY,
                                                        .label = "copy_rect_h2h",
                                                        .run = run,
                                                        .copies_host = true,
                                                        .touch = touch,
                                                        .after_completion = true};
static const struct command_type type_host_fill = {.kind = CLS_COMMAND_HOST,
                                                   .capture = CAPTURE_HOST_COPY,
                                                   .label = "fill_host",
                                                   .run = run,
                                                   .copies_host = true,
                                                   .touch = touch,
                                                   .after_completion = true};

/* Empties a rectangle that is copied onto itself. */
static cls_status check(const void *dst, const void *src, struct rect_3d *rect) {
    cls_status status = copy_check_host(dst, rect_end(rect, &rect->dst));
    if (!status)
        status = copy_check_host(src, rect_end(rect, &rect->src));
    struct rect_3d placed = *rect;
    placed.dst.offset += (uintptr_t)dst;
    placed.src.offset += (uintptr_t)src;
    if (!status && rect_is_onto_itself(&placed))
        rect->depth = 0;
    else if (!status && rect_overlaps(&placed))
        status = error_set(CLS_ERROR_OVERLAP, "source and destination overlap in host memory");
    return status;
}

/* An empty rectangle has the depth 0. */
static cls_status h2h(const struct command_type *type, void *dst, const void *src,
                      struct rect_3d *rect, cls_stream handle, bool blocking) {
    struct copy_call t = {.stream = NULL};
    cls_status status = rect->depth ? check(dst, src, rect) : CLS_SUCCESS;
    if (!status)
        status = stream_get(handle, NULL, &t.stream);
    if (status || !rect->depth)
        return copy_call_end(&t, status);
    command_init(&t.command, type, NULL);
    t.command.u.host_copy = (struct host_copy_arguments){dst, src, *rect};
    return copy_call_submit(&t, blocking);
}

static cls_status h2h_1d(void *dst, const void *src, size_t bytes, cls_stream stream,
                         bool blocking) {
    struct rect_3d rect = rect_1d(0, 0, bytes);
    rect.depth = bytes != 0;
    return h2h(&type_host_copy, dst, src, &rect, stream, blocking);
}

static cls_status h2h_rect(void *dst, const void *src, const cls_rect *given, cls_stream stream,
                           bool blocking) {
    struct rect_3d rect;
    cls_status status = rect_check_given(given);
    if (!status)
        status = rect_read(given, SIZE_MAX, SIZE_MAX, &rect);
    return status ? status : h2h(&type_host_copy_rect, dst, src, &rect, stream, blocking);
}

cls_status host_fill(void *dst, const struct rect_3d *rows, unsigned char byte, cls_stream handle,
                     bool blocking) {
    struct copy_call t = {.stream = NULL};
    cls_status status = stream_get(handle, NULL, &t.stream);
    if (status)
        return status;
    command_init(&t.command, &type_host_fill, NULL);
    t.command.u.host_copy = (struct host_copy_arguments){dst, NULL, *rows};
    t.command.u.host_copy.rect.src.offset = byte;
    return copy_call_submit(&t, blocking);
}

cls_status cls_copy_h2h_async(void *dst, const void *src, size_t bytes, cls_stream stream) {
    return h2h_1d(dst, src, bytes, stream, false);
}

cls_status cls_copy_h2h(void *dst, const void *src, size_t bytes, cls_stream stream) {
    return h2h_1d(dst, src, bytes, stream, true);
}

cls_status cls_copy_rect_h2h_async(void *dst, const void *src, const cls_rect *rect,
                                   cls_stream stream) {
    return h2h_rect(dst, src, rect, stream, false);
}

cls_status cls_copy_rect_h2h(void *dst, const void *src, const cls_rect *rect, cls_stream stream) {
    return h2h_rect(dst, src, rect, stream, true);
}

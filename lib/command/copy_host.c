/* SPDX-License-Identifier: MIT */
/* Copies from host memory to host memory, in the order of a stream. */
#include "base/error.h"
#include "base/mover.h"
#include "command/copy_call.h"
#include "stream/touch.h"

static struct run_result run(struct stream *stream, struct command *command, cls_status so_far) {
    const struct host_copy_arguments *copy = &command->u.host_copy;
    (void)stream;
    (void)so_far;
    move_rows(&(struct rows){.to = copy->to,
                             .from = copy->from,
                             .to_pitch = copy->bytes,
                             .from_pitch = copy->bytes,
                             .width = copy->bytes,
                             .height = 1});
    return (struct run_result){.status = CLS_SUCCESS};
}

static void touch(struct touches *touches, const struct device *device,
                  const struct command *command, const struct launch_args *args) {
    const struct host_copy_arguments *copy = &command->u.host_copy;
    const struct byte_span span = byte_span_1d(0, copy->bytes);
    (void)device;
    (void)args;
    touches_add_host(touches, copy->to, &span, true);
    touches_add_host(touches, copy->from, &span, false);
}

static const struct command_type type_host_copy = {.kind = CLS_COMMAND_HOST,
                                                   .label = "copy_h2h",
                                                   .run = run,
                                                   .copies_host = true,
                                                   .touch = touch,
                                                   .after_completion = true};

static cls_status check(const void *dst, const void *src, size_t bytes) {
    const uintptr_t to = (uintptr_t)dst, from = (uintptr_t)src;
    cls_status status = copy_check_host(dst, bytes);
    if (!status)
        status = copy_check_host(src, bytes);
    if (!status && bytes && (to > from ? to - from : from - to) < bytes)
        status = error_set(CLS_ERROR_OVERLAP, "source and destination overlap in host memory");
    return status;
}

static cls_status h2h(void *dst, const void *src, size_t bytes, cls_stream handle, bool blocking) {
    struct copy_call t = {.stream = NULL};
    cls_status status = check(dst, src, bytes);
    if (!status)
        status = stream_get(handle, NULL, &t.stream);
    if (status || !bytes)
        return copy_call_end(&t, status);
    command_init(&t.command, &type_host_copy, NULL);
    t.command.u.host_copy = (struct host_copy_arguments){dst, src, bytes};
    return copy_call_submit(&t, blocking);
}

cls_status cls_copy_h2h_async(void *dst, const void *src, size_t bytes, cls_stream stream) {
    return h2h(dst, src, bytes, stream, false);
}

cls_status cls_copy_h2h(void *dst, const void *src, size_t bytes, cls_stream stream) {
    return h2h(dst, src, bytes, stream, true);
}

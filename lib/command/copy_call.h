/* SPDX-License-Identifier: MIT */
/*
 * The steps common to all copies, fills and prefetches: a call looks up its stream and buffers, checks its ranges,
 * fills in a command and submits it; the blocking form then waits for its position.
 *
 *     cls_status status = copy_call_begin(&t, ...);
 *     ... checks; on failure: return copy_call_end(&t, status)
 *     return copy_call_submit(&t, blocking);
 */
#ifndef CLSTREAM_COMMAND_COPY_CALL_H
#define CLSTREAM_COMMAND_COPY_CALL_H

#include "memory/buffer.h"
#include "stream/stream.h"

/* A call in the making: the stream, and one or two buffers whose references move into the command. */
struct copy_call {
    struct stream *stream;
    struct buffer *to, *from;
    bool may_cross; /* from one context to another */
    struct command command;
};

/* Looks up the handles (NULL: none of that role) and checks that they are of one context. On failure nothing is held. */
cls_status copy_call_begin(struct copy_call *call, cls_stream stream, const cls_buffer *to,
                           const cls_buffer *from);

/* The same of buffers that the caller has, whose references it takes over (NULL: none of that role). */
cls_status copy_call_begin_with(struct copy_call *call, cls_stream stream, struct buffer *to,
                                struct buffer *from);

/* The same of buffers of two contexts perhaps, and a stream of one of them. */
cls_status copy_call_begin_crossing(struct copy_call *call, cls_stream stream, const cls_buffer *to,
                                    const cls_buffer *from);

/* The same for a prefetch of one buffer, whether the host or the device owns it (memory/svm_owner.h). */
cls_status copy_call_begin_moving(struct copy_call *call, cls_stream stream, cls_buffer buffer);

/* The same on a stream that the caller keeps: ends with copy_call_submit_entered or copy_call_drop. */
cls_status copy_call_begin_on(struct copy_call *call, struct stream *stream, const cls_buffer *to,
                              const cls_buffer *from);
void copy_call_drop(struct copy_call *call);

/* Submits with the stream entered (stream/stream.h), and leaves it; nothing is held any more. */
cls_status copy_call_submit_entered(struct copy_call *call, uint64_t *position);

/* Does all of cls_copy_h2d_async (`to_device`) or cls_copy_d2h_async, of at least one byte, but the submission: every
 * error of the arguments is reported here (command/copy.c). */
cls_status copy_call_prepare(struct copy_call *call, struct stream *stream, bool to_device,
                             cls_buffer buffer, size_t offset, void *host, size_t bytes);

/* cls_copy_d2h_async from a buffer that the caller keeps, whether or not it has a handle. */
cls_status copy_call_read_kept(struct stream *stream, struct buffer *src, size_t offset, void *dst,
                               size_t bytes);

/* The buffers of a copy as commands of the context's cl_context use them: a cl_mem each, borrowed, and where the buffer
 * begins in it. False: they cannot use both. */
struct copy_ends {
    struct copy_end {
        cl_mem memory;
        size_t origin;
    } to, from;
};
bool copy_reach(struct context *context, const struct buffer *to, const struct buffer *from,
                struct copy_ends *out);

/* The same for contiguous bytes, which the driver must be trusted with besides (command/copy.c). */
bool copy_is_direct(struct context *context, const struct buffer *to, const struct buffer *from,
                    struct copy_ends *out);

/* CLS_ERROR_OVERLAP, with `what` overlaps, if both sides are of one memory and share a byte. `*same`: they are the same
 * bytes, which is no error and no work. */
cls_status copy_call_check_overlap(const struct copy_call *call, const struct rect_3d *rect,
                                   const char *what, bool *same);

/* Releases what is held; returns `status`. */
cls_status copy_call_end(struct copy_call *call, cls_status status);

/* Submits the command, which takes the buffers' references; the call then holds the stream only. */
cls_status copy_call_hand_in(struct copy_call *call, uint64_t *position);

/* Submits the command, waits for it if the call blocks, and ends the call. */
cls_status copy_call_submit(struct copy_call *call, bool blocking);

/* Whether a copy goes through pinned chunks: pageable memory, on a device whose driver would block in the
 * caller, and more than the driver takes along with the command. */
bool copy_call_is_staged(const struct copy_call *call, bool to_device, const void *host,
                         size_t bytes);

/* CLS_ERROR_OUT_OF_RANGE unless the bytes lie within the buffer. */
cls_status copy_check_range(const struct buffer *buffer, size_t offset, size_t bytes);

/* CLS_ERROR_INVALID_VALUE for null memory, CLS_ERROR_OUT_OF_RANGE past the end of memory. */
cls_status copy_check_host(const void *host, size_t bytes);

/* Sets `height` rows of host memory to a byte, in the order of the stream (command/copy_host.c). No extent is 0. */
cls_status host_fill(void *dst, const struct rect_3d *rows, unsigned char byte, cls_stream stream,
                     bool blocking);

extern const struct command_type type_read;

#endif

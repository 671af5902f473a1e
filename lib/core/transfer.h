/* SPDX-License-Identifier: MIT */
/*
 * What the copies, fills and prefetches share: a call looks up its stream and buffers, checks its ranges,
 * fills in a command and submits it; the blocking form then waits for its position.
 *
 *     cls_status status = transfer_begin(&t, ...);
 *     ... checks; on failure: return transfer_end(&t, status)
 *     return transfer_submit(&t, blocking);
 */
#ifndef CLSTREAM_CORE_TRANSFER_H
#define CLSTREAM_CORE_TRANSFER_H

#include "core/buffer.h"
#include "core/stream.h"

/* A call in the making: the stream, and one or two buffers whose references move into the command. */
struct transfer {
    struct stream *stream;
    struct buffer *to, *from;
    struct command command;
};

/* Looks up the handles that are asked for (NULL: none) and checks that they go together. On failure
 * nothing is held. */
cls_status transfer_begin(struct transfer *transfer, cls_stream stream, const cls_buffer *to,
                          const cls_buffer *from);

/* The same for one buffer that is only moved: whoever's turn it is to use it. */
cls_status transfer_begin_moving(struct transfer *transfer, cls_stream stream, cls_buffer buffer);

/* Releases what is held; returns `status`. */
cls_status transfer_end(struct transfer *transfer, cls_status status);

/* Submits the command, waits for it where the call blocks, and ends the transfer. */
cls_status transfer_submit(struct transfer *transfer, bool blocking);

/* Whether a copy goes through pinned chunks: pageable memory, on a device whose driver would block in the
 * caller, and more than the driver takes along with the command. */
bool transfer_is_staged(const struct transfer *transfer, bool to_device, const void *host,
                        size_t bytes);

/* CLS_ERROR_OUT_OF_RANGE unless the bytes lie within the buffer. */
cls_status transfer_check_range(const struct buffer *buffer, size_t offset, size_t bytes);

/* CLS_ERROR_INVALID_VALUE for null memory, CLS_ERROR_OUT_OF_RANGE past the end of memory. */
cls_status transfer_check_host(const void *host, size_t bytes);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Copies between buffers of two contexts, which no driver's command can name together. A worker moves the bytes in chunks
 * of pinned memory: the download of one chunk overlaps the uploads of those before it. The stream's own side runs on its
 * queue, which is idle then; the other context lends a queue that no stream uses.
 */
#include "memory/peer.h"

#include "base/error.h"
#include "memory/buffer.h"
#include "memory/staging.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "stream/touch.h"

enum { DEPTH = 4 };

/* One of the two contexts. */
struct peer_side {
    struct transfer_queue on;
    bool lent; /* else it is the stream's own queue */
    bool hurt;
};

struct peer_piece {
    struct staging_chunk *chunk;
    struct rect_3d rect;
    cl_event down, up; /* `up` NULL: it is not on its way up yet */
};

struct transfer {
    struct peer_side from, to;
    const struct command *command;
    const struct peer_arguments *copy; /* the command's */
    struct cut cut;
    struct peer_piece pieces[DEPTH]; /* a ring, oldest at `first` */
    unsigned first, count;
    unsigned up; /* of them, how many are on their way up */
    struct run_result *result;
};

static struct peer_piece *piece_at(struct transfer *transfer, unsigned i) {
    return &transfer->pieces[(transfer->first + i) % DEPTH];
}

/* The first failure is the command's. The loss of a context is its own stream's to report. */
static void note(struct transfer *transfer, struct peer_side *side, cls_status status,
                 cl_int code) {
    struct run_result *result = transfer->result;
    if (!status || result->status)
        return;
    result->status =
        status == CLS_ERROR_CONTEXT_LOST && side->lent ? CLS_ERROR_COMMAND_FAILED : status;
    result->code = code;
}

/* Waits for a part of the transfer; whether it went well. */
static bool finish(struct transfer *transfer, struct peer_side *side, cl_event event,
                   struct staging_chunk *chunk) {
    const cl_int state = staging_finish(&side->on, event, &transfer->command->refs, chunk);
    if (state < 0) {
        note(transfer, side, stream_event_status(state), state);
        side->hurt = true;
    }
    return state >= 0;
}

static cls_status start_down(struct transfer *transfer, const struct rect_3d *rect) {
    struct peer_side *side = &transfer->from;
    struct peer_piece *piece = piece_at(transfer, transfer->count);
    *piece = (struct peer_piece){.rect = *rect};
    cls_status status = staging_take(side->on.context, &piece->chunk);
    if (status)
        return status;
    status = staging_read(&side->on, transfer->copy->from->memory, rect, piece->chunk,
                          (struct wait_list){0, NULL}, &piece->down);
    if (status) {
        staging_give(piece->chunk);
        return status;
    }
    staging_flush(&side->on);
    transfer->count++;
    return CLS_SUCCESS;
}

/* Sends the oldest piece that is not on its way up yet, once it is down. Of a failed copy nothing more goes up. */
static void start_up(struct transfer *transfer) {
    struct peer_side *side = &transfer->to;
    struct peer_piece *piece = piece_at(transfer, transfer->up++);
    if (!finish(transfer, &transfer->from, piece->down, piece->chunk) || transfer->result->status)
        return;
    cls_status status = staging_write(&side->on, transfer->copy->to->memory, &piece->rect,
                                      piece->chunk, (struct wait_list){0, NULL}, &piece->up);
    note(transfer, side, status, cls_last_error_code());
    if (!status)
        staging_flush(&side->on);
}

static void end_oldest(struct transfer *transfer) {
    struct peer_piece *piece = piece_at(transfer, 0);
    if (!transfer->up)
        start_up(transfer);
    if (piece->up)
        finish(transfer, &transfer->to, piece->up, piece->chunk);
    staging_give(piece->chunk);
    transfer->first = (transfer->first + 1) % DEPTH;
    transfer->count--;
    transfer->up--;
}

static void move_all(struct transfer *transfer) {
    struct rect_3d rect;
    while (!transfer->result->status && cut_next(&transfer->cut, &rect)) {
        if (transfer->count == DEPTH)
            end_oldest(transfer);
        if (transfer->result->status)
            break;
        cls_status status = start_down(transfer, &rect);
        note(transfer, &transfer->from, status, cls_last_error_code());
        if (transfer->count - transfer->up > 1)
            start_up(transfer);
    }
    while (transfer->count)
        end_oldest(transfer);
}

static cls_status open_side(struct peer_side *side, struct stream *stream,
                            struct context *context) {
    *side = (struct peer_side){.on.context = context};
    if (context == stream->context) {
        side->on.queue = stream_queue(stream);
        return CLS_SUCCESS;
    }
    cls_status status = context_lend_queue(context, &side->on.queue);
    side->lent = !status;
    return status;
}

static void close_side(struct peer_side *side) {
    if (side->lent)
        context_take_back_queue(side->on.context, side->on.queue, side->hurt);
}

static struct run_result run(struct stream *stream, struct command *command, cls_status so_far) {
    const struct peer_arguments *copy = &command->u.peer;
    struct run_result result = {.status = CLS_SUCCESS};
    struct transfer transfer = {
        .command = command, .copy = copy, .cut = cut_begin(&copy->rect), .result = &result};
    (void)so_far;
    cut_for(&transfer.cut, copy->from->context, &copy->rect.src);
    cut_for(&transfer.cut, copy->to->context, &copy->rect.dst);
    result.status = open_side(&transfer.from, stream, copy->from->context);
    if (!result.status) {
        result.status = open_side(&transfer.to, stream, copy->to->context);
        if (!result.status)
            move_all(&transfer);
        else
            result.code = cls_last_error_code();
        close_side(&transfer.to);
        close_side(&transfer.from);
    } else {
        result.code = cls_last_error_code();
    }
    result.hurt =
        (transfer.from.hurt && !transfer.from.lent) || (transfer.to.hurt && !transfer.to.lent);
    return result;
}

static void touch(struct touches *touches, const struct device *device,
                  const struct command *command, const struct launch_args *args) {
    const struct peer_arguments *copy = &command->u.peer;
    const struct byte_span from = byte_span_of(&copy->rect, &copy->rect.src),
                           to = byte_span_of(&copy->rect, &copy->rect.dst);
    (void)device;
    (void)args;
    touches_add_buffer(touches, copy->to->context->device, copy->to->memory, &to, true, false);
    touches_add_buffer(touches, copy->from->context->device, copy->from->memory, &from, false,
                       false);
}

const struct command_type type_peer_copy_rect = {.kind = CLS_COMMAND_COPY_D2D,
                                                 .capture = CAPTURE_PEER,
                                                 .label = "copy_rect_d2d",
                                                 .run = run,
                                                 .touch = touch,
                                                 .after_completion = true};
const struct command_type type_peer_copy = {.kind = CLS_COMMAND_COPY_D2D,
                                            .capture = CAPTURE_PEER,
                                            .label = "copy_d2d",
                                            .run = run,
                                            .touch = touch,
                                            .after_completion = true};

/* SPDX-License-Identifier: MIT */
#include "memory/staging.h"

#include <stdlib.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/mover.h"
#include "driver/event.h"
#include "driver/memory.h"
#include "memory/buffer.h"
#include "memory/pinned_pool.h"
#include "stream/abandoned.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "stream/handover.h"
#include "stream/hooks.h"
#include "stream/touch.h"
#include "stream/waiter.h"

/* Chunks of 4 MiB reach the bus's speed; a copy keeps up to four in flight. */
enum { CHUNK_BYTES = STAGING_BYTES, DEPTH = 4 };

static const uint64_t LOOK_NS = 20 * 1000;

struct staging_chunk {
    struct pinned pinned;
    struct context *context; /* its owner; retained while it is abandoned */
    bool abandoned;          /* a transfer that was abandoned may use it */
};

cls_status staging_take(struct context *context, struct staging_chunk **out) {
    struct staging_chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk)
        return error_no_memory("for a staging chunk");
    chunk->context = context;
    cls_status status = pinned_take(context, CHUNK_BYTES, &chunk->pinned);
    if (status)
        free(chunk);
    else
        *out = chunk;
    return status;
}

static void give(struct staging_chunk *chunk) {
    pinned_give(chunk->context, &chunk->pinned);
    free(chunk);
}

static void give_abandoned(void *arg) {
    struct staging_chunk *chunk = arg;
    struct context *context = chunk->context;
    give(chunk);
    context_put(context);
}

void staging_give(struct staging_chunk *chunk) {
    if (!chunk->abandoned) {
        give(chunk);
        return;
    }
    object_retain(&chunk->context->object);
    if (!abandoned_defer(chunk->pinned.host, CHUNK_BYTES, give_abandoned, chunk))
        give_abandoned(chunk);
}

void staging_flush(struct transfer_queue *on) {
    on->unflushed = queue_flush(on->context->device, on->queue->cl) != CLS_SUCCESS;
}

/* Until the event is over. The driver's code when it does not tell. */
static cl_int await(struct transfer_queue *on, cl_event event, cl_int *state) {
    const struct device *device = on->context->device;
    struct waiter *waiter = NULL;
    cl_int code;
    while (!(code = event_ask(device, event, state)) && *state > 0) {
        if (on->unflushed)
            staging_flush(on);
        if (on->unflushed) /* a wait flushes too */
            event_verdict(device, 1, &event);
        if (!waiter) {
            waiter = waiter_get();
            if (waiter)
                event_hint(device, event, waiter_hint(waiter));
        }
        waiter_sleep(waiter, LOOK_NS);
    }
    waiter_put(waiter);
    return code;
}

cl_int transfer_finish(struct transfer_queue *on, cl_event event, const struct refs *refs,
                       void *host, bool *abandoned) {
    const struct device *device = on->context->device;
    cl_int state;
    const cl_int code = await(on, event, &state);
    if (!code || event_await_end(device, event)) {
        event_release(device, event);
    } else {
        abandon_transfer(on->context, on->queue, event, refs, host);
        *abandoned = true;
    }
    return code ? code : state;
}

cl_int staging_finish(struct transfer_queue *on, cl_event event, const struct refs *refs,
                      struct staging_chunk *chunk) {
    return transfer_finish(on, event, refs, chunk->pinned.host, &chunk->abandoned);
}

/* --- pieces: a copy cut to chunks, each a rectangle that lies packed in its chunk --- */

struct cut cut_begin(const struct rect_3d *rect) {
    return (struct cut){.rect = rect, .by_slices = !rect_is_cl(rect)};
}

void cut_for(struct cut *cut, const struct context *context, const struct rect_side *side) {
    if (caps_trusts(context->caps, TRUST_PADDED_ROWS))
        return;
    cut->by_rows |= side->pitch != cut->rect->width;
    cut->by_slices |= side->slice != cut->rect->width * cut->rect->height;
}

static void cut_extent(const struct cut *cut, struct rect_3d *piece) {
    const struct rect_3d *rect = cut->rect;
    const size_t rows = CHUNK_BYTES / rect->width, left = rect->height - cut->row;
    const size_t slices = rows / rect->height, behind = rect->depth - cut->slice;
    const size_t columns = rect->width - cut->column;
    const bool whole = !cut->row && !cut->by_rows && !cut->by_slices && slices;
    piece->width = columns < CHUNK_BYTES ? columns : CHUNK_BYTES;
    piece->height = !rows || cut->by_rows ? 1 : rows < left ? rows : left;
    piece->depth = !whole ? 1 : slices < behind ? slices : behind;
}

static size_t cut_offset(const struct cut *cut, const struct rect_side *side) {
    return side->offset + cut->slice * side->slice + cut->row * side->pitch + cut->column;
}

static void cut_advance(struct cut *cut, const struct rect_3d *piece) {
    cut->column += piece->width;
    if (cut->column < cut->rect->width)
        return;
    cut->column = 0;
    cut->row += piece->height;
    if (cut->row < cut->rect->height)
        return;
    cut->row = 0;
    cut->slice += piece->depth;
}

bool cut_next(struct cut *cut, struct rect_3d *piece) {
    if (cut->slice == cut->rect->depth)
        return false;
    *piece = *cut->rect;
    cut_extent(cut, piece);
    piece->dst.offset = cut_offset(cut, &cut->rect->dst);
    piece->src.offset = cut_offset(cut, &cut->rect->src);
    cut_advance(cut, piece);
    return true;
}

static struct rect_side packed(const struct rect_3d *piece) {
    return (struct rect_side){0, piece->width, piece->width * piece->height};
}

void staging_move(char *to, const char *from, const struct rect_3d *rect) {
    for (size_t slice = 0; slice < rect->depth; slice++)
        move_rows(&(struct row_copy){.to = to + rect->dst.offset + slice * rect->dst.slice,
                                     .from = from + rect->src.offset + slice * rect->src.slice,
                                     .to_pitch = rect->dst.pitch,
                                     .from_pitch = rect->src.pitch,
                                     .width = rect->width,
                                     .height = rect->height});
}

static void pack(char *chunk, const char *host, const struct rect_3d *piece) {
    struct rect_3d rect = *piece;
    rect.dst = packed(piece);
    staging_move(chunk, host, &rect);
}

static void unpack(char *host, const char *chunk, const struct rect_3d *piece) {
    struct rect_3d rect = *piece;
    rect.src = packed(piece);
    staging_move(host, chunk, &rect);
}

cls_status staging_write(const struct transfer_queue *on, cl_mem to, const struct rect_3d *piece,
                         const struct staging_chunk *chunk, struct wait_list waits,
                         cl_event *event) {
    struct rect_3d rect = *piece;
    const struct range_1d range = {rect.dst.offset, rect_bytes(piece)};
    rect.src = packed(piece);
    return rect_is_flat(&rect, &rect.dst)
               ? enqueue_write(on->context->device, on->queue->cl, to, range, chunk->pinned.host,
                               waits, event)
               : enqueue_write_rect(on->context->device, on->queue->cl, to, &rect,
                                    chunk->pinned.host, waits, event);
}

cls_status staging_read(const struct transfer_queue *on, cl_mem from, const struct rect_3d *piece,
                        const struct staging_chunk *chunk, struct wait_list waits,
                        cl_event *event) {
    struct rect_3d rect = *piece;
    const struct range_1d range = {rect.src.offset, rect_bytes(piece)};
    rect.dst = packed(piece);
    return rect_is_flat(&rect, &rect.src)
               ? enqueue_read(on->context->device, on->queue->cl, from, range, chunk->pinned.host,
                              waits, event)
               : enqueue_read_rect(on->context->device, on->queue->cl, from, &rect,
                                   chunk->pinned.host, waits, event);
}

/* --- the transfer of one command --- */

struct transfer_slot {
    struct staging_chunk *chunk;
    cl_event event;
    struct rect_3d piece;
};

struct staged {
    struct stream *stream;
    const struct device *device;
    const struct command *command;
    struct transfer_queue on;
    cl_mem memory;
    char *host;
    bool to_device;
    struct checksum packed;            /* under the race checker: of what an upload has read */
    struct transfer_slot slots[DEPTH]; /* a ring, oldest at `first` */
    unsigned first, count;
};

/* Transfers one piece between the buffer and its chunk, behind the piece before it. */
static cls_status enqueue_piece(struct staged *staged, struct transfer_slot *slot,
                                cl_event previous) {
    const struct wait_list waits = {previous ? 1 : 0, &previous};
    cls_status status = (staged->to_device ? staging_write : staging_read)(
        &staged->on, staged->memory, &slot->piece, slot->chunk, waits, &slot->event);
    if (!status)
        staging_flush(&staged->on);
    return status;
}

/* Ends the oldest slot: its data arrives, its chunk is spare again. */
static void end_oldest(struct staged *staged, struct run_result *result) {
    struct transfer_slot *slot = &staged->slots[staged->first];
    cl_int state = staging_finish(&staged->on, slot->event, &staged->command->refs, slot->chunk);
    if (state < 0 && !result->status) {
        result->status = stream_event_status(state);
        result->code = state;
        result->hurt = true;
    }
    if (!staged->to_device && !result->status)
        unpack(staged->host, slot->chunk->pinned.host, &slot->piece);
    staging_give(slot->chunk);
    staged->first = (staged->first + 1) % DEPTH;
    staged->count--;
}

static cls_status start_piece(struct staged *staged, const struct rect_3d *piece) {
    struct transfer_slot *slot = &staged->slots[(staged->first + staged->count) % DEPTH];
    cl_event previous = NULL;
    if (staged->on.queue->traits.out_of_order && staged->count)
        previous = staged->slots[(staged->first + staged->count - 1) % DEPTH].event;
    cls_status status = staging_take(staged->stream->context, &slot->chunk);
    if (status)
        return status;
    slot->piece = *piece;
    if (staged->to_device)
        pack(slot->chunk->pinned.host, staged->host, piece);
    if (staged->to_device && race_on())
        checksum_add(&staged->packed, slot->chunk->pinned.host, rect_bytes(piece));
    slot->event = NULL;
    status = enqueue_piece(staged, slot, previous);
    if (slot->event)
        staged->count++;
    else
        staging_give(slot->chunk);
    return status;
}

static struct run_result copy_call(struct staged *staged, const struct rect_3d *rect) {
    struct run_result result = {.status = CLS_SUCCESS};
    struct cut cut = cut_begin(rect);
    struct rect_3d piece;
    cut_for(&cut, staged->stream->context, staged->to_device ? &rect->dst : &rect->src);
    while (!result.status && cut_next(&cut, &piece)) {
        if (staged->count == DEPTH)
            end_oldest(staged, &result);
        if (result.status)
            break;
        result.status = start_piece(staged, &piece);
        if (result.status)
            result.code = cls_last_error_code();
    }
    if (!result.status && staged->to_device && race_on())
        hooks.race.was_read(staged->stream, staged->command->position,
                            checksum_value(&staged->packed));
    while (staged->count)
        end_oldest(staged, &result);
    return result;
}

static struct run_result run_staged(struct stream *stream, const struct command *command,
                                    cl_mem memory, void *host, bool to_device,
                                    const struct rect_3d *rect) {
    struct staged staged = {.stream = stream,
                            .device = stream->context->device,
                            .command = command,
                            .on = {.context = stream->context, .queue = stream_queue(stream)},
                            .memory = memory,
                            .host = host,
                            .to_device = to_device};
    return copy_call(&staged, rect);
}

static struct run_result staged_write(struct stream *stream, struct command *command,
                                      cls_status so_far) {
    const struct range_1d range = command->u.copy.range;
    const struct rect_3d rect = rect_1d(range.offset, 0, range.bytes);
    (void)so_far;
    return run_staged(stream, command, command->u.copy.to, command->u.copy.host, true, &rect);
}

static struct run_result staged_read(struct stream *stream, struct command *command,
                                     cls_status so_far) {
    const struct range_1d range = command->u.copy.range;
    const struct rect_3d rect = rect_1d(0, range.offset, range.bytes);
    (void)so_far;
    return run_staged(stream, command, command->u.copy.from, command->u.copy.host, false, &rect);
}

static struct run_result staged_write_rect(struct stream *stream, struct command *command,
                                           cls_status so_far) {
    (void)so_far;
    return run_staged(stream, command, command->u.rect.to, command->u.rect.host, true,
                      &command->u.rect.rect);
}

static struct run_result staged_read_rect(struct stream *stream, struct command *command,
                                          cls_status so_far) {
    (void)so_far;
    return run_staged(stream, command, command->u.rect.from, command->u.rect.host, false,
                      &command->u.rect.rect);
}

const struct command_type type_staged_write = {.kind = CLS_COMMAND_COPY_H2D,
                                               .capture = CAPTURE_COPY,
                                               .label = "copy_h2d",
                                               .run = staged_write,
                                               .touch = touch_copy,
                                               .after_completion = true};
const struct command_type type_staged_read = {.kind = CLS_COMMAND_COPY_D2H,
                                              .capture = CAPTURE_COPY,
                                              .label = "copy_d2h",
                                              .run = staged_read,
                                              .touch = touch_copy,
                                              .after_completion = true};
const struct command_type type_staged_write_rect = {.kind = CLS_COMMAND_COPY_H2D,
                                                    .capture = CAPTURE_RECT,
                                                    .label = "copy_rect_h2d",
                                                    .run = staged_write_rect,
                                                    .touch = touch_rect,
                                                    .after_completion = true};
const struct command_type type_staged_read_rect = {.kind = CLS_COMMAND_COPY_D2H,
                                                   .capture = CAPTURE_RECT,
                                                   .label = "copy_rect_d2h",
                                                   .run = staged_read_rect,
                                                   .touch = touch_rect,
                                                   .after_completion = true};

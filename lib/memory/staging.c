/* SPDX-License-Identifier: MIT */
#include "memory/staging.h"

#include <stdlib.h>

#include <utlist.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/mover.h"
#include "driver/event.h"
#include "driver/memory.h"
#include "memory/buffer.h"
#include "stream/abandoned.h"
#include "stream/context.h"
#include "stream/handover.h"
#include "stream/hooks.h"
#include "stream/stream.h"
#include "stream/touch.h"
#include "stream/waiter.h"

/* Chunks of 4 MiB reach the bus's speed; a copy keeps up to four in flight. */
enum { CHUNK_BYTES = STAGING_BYTES, DEPTH = 4, MAX_SPARE = 8 };

static const uint64_t LOOK_NS = 20 * 1000;

struct chunk {
    struct pinned pinned;
    struct context *context; /* whose it is; retained while it is abandoned */
    struct chunk *next;
    bool abandoned; /* a transfer that was abandoned may use it */
};

/* Spare chunks; under the context's lock. */
struct staging {
    struct chunk *spare;
    unsigned count;
};

static void release_chunk(struct chunk *chunk) {
    cl_command_queue queue;
    if (!context_host_queue(chunk->context, &queue))
        pinned_release(chunk->context->device, queue, &chunk->pinned);
    free(chunk);
}

void staging_free(struct staging *staging) {
    while (staging && staging->spare) {
        struct chunk *chunk = staging->spare;
        staging->spare = chunk->next;
        release_chunk(chunk);
    }
    free(staging);
}

static struct chunk *take_spare(struct context *context) {
    pthread_mutex_lock(&context->lock);
    struct staging *staging = context->staging;
    struct chunk *chunk = staging ? staging->spare : NULL;
    if (chunk) {
        staging->spare = chunk->next;
        staging->count--;
    }
    pthread_mutex_unlock(&context->lock);
    return chunk;
}

cls_status staging_take(struct context *context, struct chunk **out) {
    struct chunk *chunk = take_spare(context);
    if (chunk) {
        *out = chunk;
        return CLS_SUCCESS;
    }
    cl_command_queue queue;
    chunk = calloc(1, sizeof *chunk);
    if (!chunk)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a staging chunk");
    chunk->context = context;
    cls_status status = context_host_queue(context, &queue);
    if (!status)
        status = pinned_create(context->device, context->cl, queue, CHUNK_BYTES, 1, &chunk->pinned);
    if (status)
        free(chunk);
    else
        *out = chunk;
    return status;
}

void *staging_memory(const struct chunk *chunk) { return chunk->pinned.host; }

static void give(struct chunk *chunk) {
    struct context *context = chunk->context;
    pthread_mutex_lock(&context->lock);
    if (!context->staging)
        context->staging = calloc(1, sizeof *context->staging);
    struct staging *staging = context->staging;
    bool keep = staging && staging->count < MAX_SPARE;
    if (keep) {
        LL_PREPEND(staging->spare, chunk);
        staging->count++;
    }
    pthread_mutex_unlock(&context->lock);
    if (!keep)
        release_chunk(chunk);
}

static void give_abandoned(void *arg) {
    struct chunk *chunk = arg;
    struct context *context = chunk->context;
    chunk->abandoned = false;
    give(chunk);
    context_put(context);
}

void staging_give(struct chunk *chunk) {
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

cl_int staging_finish(struct transfer_queue *on, cl_event event, const struct refs *refs,
                      struct chunk *chunk) {
    const struct device *device = on->context->device;
    cl_int state;
    const cl_int code = await(on, event, &state);
    if (!code || event_await_end(device, event)) {
        event_release(device, event);
    } else {
        abandon_transfer(on->context, on->queue, event, refs, chunk->pinned.host);
        chunk->abandoned = true;
    }
    return code ? code : state;
}

/* --- pieces: a copy cut to chunks, each a rectangle that lies packed in its chunk --- */

struct cut {
    const struct rect_2d *rect;
    bool row_by_row;    /* the driver's rectangles are wrong: no piece is one */
    size_t row, column; /* of the next piece */
};

static bool next_piece(struct cut *cut, struct rect_2d *piece) {
    const struct rect_2d *rect = cut->rect;
    if (cut->row >= rect->height)
        return false;
    const bool one =
        rect->width > CHUNK_BYTES || (cut->row_by_row && rect->buffer_pitch != rect->width);
    size_t rows = one ? 1 : CHUNK_BYTES / rect->width;
    size_t left = rect->height - cut->row;
    *piece = *rect;
    piece->height = rows < left ? rows : left;
    piece->width = rect->width - cut->column;
    if (piece->width > CHUNK_BYTES)
        piece->width = CHUNK_BYTES;
    piece->buffer_offset += cut->row * rect->buffer_pitch + cut->column;
    piece->other_offset += cut->row * rect->other_pitch + cut->column;
    cut->column += piece->width;
    if (cut->column == rect->width) {
        cut->column = 0;
        cut->row += piece->height;
    }
    return true;
}

static void pack(char *chunk, const char *host, const struct rect_2d *piece) {
    move_rows(&(struct rows){.to = chunk,
                             .from = host + piece->other_offset,
                             .to_pitch = piece->width,
                             .from_pitch = piece->other_pitch,
                             .width = piece->width,
                             .height = piece->height});
}

static void unpack(char *host, const char *chunk, const struct rect_2d *piece) {
    move_rows(&(struct rows){.to = host + piece->other_offset,
                             .from = chunk,
                             .to_pitch = piece->other_pitch,
                             .from_pitch = piece->width,
                             .width = piece->width,
                             .height = piece->height});
}

/* --- the transfer of one command --- */

struct slot {
    struct chunk *chunk;
    cl_event event;
    struct rect_2d piece;
};

struct staged {
    struct stream *stream;
    const struct device *device;
    const struct command *command;
    struct transfer_queue on;
    cl_mem memory;
    char *host;
    bool to_device;
    struct checksum packed;   /* under the race checker: of what an upload has read */
    struct slot slots[DEPTH]; /* a ring, oldest at `first` */
    unsigned first, count;
};

/* Transfers one piece between the buffer and its chunk, behind the piece before it. */
static cls_status enqueue_piece(struct staged *staged, struct slot *slot, cl_event previous) {
    struct rect_2d rect = slot->piece;
    struct wait_list waits = {previous ? 1 : 0, &previous};
    char *chunk = slot->chunk->pinned.host;
    cl_command_queue queue = staged->on.queue->cl;
    rect.other_offset = 0;
    rect.other_pitch = rect.width;
    bool flat = rect.height == 1 || rect.buffer_pitch == rect.width;
    struct range_1d range = {rect.buffer_offset, rect.width * rect.height};
    cls_status status;
    if (staged->to_device)
        status = flat ? enqueue_write(staged->device, queue, staged->memory, range, chunk, waits,
                                      &slot->event)
                      : enqueue_write_rect(staged->device, queue, staged->memory, &rect, chunk,
                                           waits, &slot->event);
    else
        status = flat ? enqueue_read(staged->device, queue, staged->memory, range, chunk, waits,
                                     &slot->event)
                      : enqueue_read_rect(staged->device, queue, staged->memory, &rect, chunk,
                                          waits, &slot->event);
    if (!status)
        staging_flush(&staged->on);
    return status;
}

/* Ends the oldest slot: its data arrives, its chunk is spare again. */
static void end_oldest(struct staged *staged, struct run_result *result) {
    struct slot *slot = &staged->slots[staged->first];
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

static cls_status start_piece(struct staged *staged, const struct rect_2d *piece) {
    struct slot *slot = &staged->slots[(staged->first + staged->count) % DEPTH];
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
        checksum_add(&staged->packed, slot->chunk->pinned.host, piece->width * piece->height);
    slot->event = NULL;
    status = enqueue_piece(staged, slot, previous);
    if (slot->event)
        staged->count++;
    else
        staging_give(slot->chunk);
    return status;
}

static struct run_result copy_call(struct staged *staged, const struct rect_2d *rect) {
    struct run_result result = {.status = CLS_SUCCESS};
    struct cut cut = {.rect = rect,
                      .row_by_row = !caps_trusts(staged->stream->context->caps, TRUST_PADDED_ROWS)};
    struct rect_2d piece;
    while (!result.status && next_piece(&cut, &piece)) {
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
                                    const struct rect_2d *rect) {
    struct staged staged = {.stream = stream,
                            .device = stream->context->device,
                            .command = command,
                            .on.context = stream->context,
                            .memory = memory,
                            .host = host,
                            .to_device = to_device};
    pthread_mutex_lock(&stream->lock);
    staged.on.queue = stream->queue;
    pthread_mutex_unlock(&stream->lock);
    return copy_call(&staged, rect);
}

static struct rect_2d as_rect(struct range_1d range) {
    return (struct rect_2d){range.bytes, 1, range.offset, range.bytes, 0, range.bytes};
}

static struct run_result staged_write(struct stream *stream, struct command *command,
                                      cls_status so_far) {
    struct rect_2d rect = as_rect(command->u.copy.range);
    (void)so_far;
    return run_staged(stream, command, command->u.copy.to, command->u.copy.host, true, &rect);
}

static struct run_result staged_read(struct stream *stream, struct command *command,
                                     cls_status so_far) {
    struct rect_2d rect = as_rect(command->u.copy.range);
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
                                               .label = "copy_h2d",
                                               .run = staged_write,
                                               .touch = touch_copy,
                                               .after_completion = true};
const struct command_type type_staged_read = {.kind = CLS_COMMAND_COPY_D2H,
                                              .label = "copy_d2h",
                                              .run = staged_read,
                                              .touch = touch_copy,
                                              .after_completion = true};
const struct command_type type_staged_write_rect = {.kind = CLS_COMMAND_COPY_H2D,
                                                    .label = "copy_rect_h2d",
                                                    .run = staged_write_rect,
                                                    .touch = touch_rect,
                                                    .after_completion = true};
const struct command_type type_staged_read_rect = {.kind = CLS_COMMAND_COPY_D2H,
                                                   .label = "copy_rect_d2h",
                                                   .run = staged_read_rect,
                                                   .touch = touch_rect,
                                                   .after_completion = true};

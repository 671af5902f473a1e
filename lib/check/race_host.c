/* SPDX-License-Identifier: MIT */
#include "check/race_host.h"

#include <stdlib.h>

#include <utlist.h>

#include "base/checksum.h"
#include "check/race_report.h"
#include "memory/buffer.h"
#include "stream/command.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "system/pages.h"

enum host_kind { UPLOAD = RACE_UPLOADS, DOWNLOAD = RACE_DOWNLOADS, USER_CODE = RACE_USER_CODE };

/* Uploads are summed up at each function that they are behind, so that only so many are compared at a time. Where more
 * than MOST_LOOKED_AT functions are pending, an upload is taken to be behind one. */
enum { MOST_UPLOADS = 64, MOST_LOOKED_AT = 1000 };
static const size_t MOST_BYTES = (size_t)256 << 20;

/* A pending command that reads host memory, or may write it. */
struct race_pending {
    struct race_pending *prev, *next;   /* of its kind in its stream, by position */
    struct race_pending *older, *newer; /* of its kind in all streams */
    struct race_stream *by;             /* held */
    uint64_t position;
    enum host_kind kind;
    const char *label;
    struct byte_span span; /* of a copy */
    uint64_t sum;          /* of an upload's memory */
    bool staged;           /* reports itself when it has read the memory */
    bool followed;         /* an upload whose order was known when it was submitted */
    bool
        possible; /* it waits for the program, which may have made the change before it lets it go on */
    bool running; /* user code that has begun */
};

static struct host_list {
    struct race_pending *first;
    size_t count, bytes;
} all[RACE_PENDING_KINDS];

static struct race_pending
    *running; /* user code; the list of older and newer is this one meanwhile */
static bool waits_outside;

void race_host_waits_outside(void) { waits_outside = true; }

static void drop(struct race_pending *one) {
    struct race_stream *by = one->by;
    struct host_list *list = &all[one->kind];
    DL_DELETE(by->pending[one->kind], one);
    if (one->running)
        DL_DELETE2(running, one, older, newer);
    else
        DL_DELETE2(list->first, one, older, newer);
    list->count--;
    list->bytes -= byte_span_bytes(&one->span);
    free(one);
    race_hold(by, -1);
}

static struct race_pending *add(struct race_stream *by, const struct race_pending *values) {
    struct race_pending *one = malloc(sizeof *one);
    if (!one) {
        race_count_forgotten();
        return NULL;
    }
    struct host_list *list = &all[values->kind];
    *one = *values;
    one->by = by;
    race_hold(by, 1);
    DL_APPEND(by->pending[one->kind], one);
    DL_APPEND2(list->first, one, older, newer);
    list->count++;
    list->bytes += byte_span_bytes(&one->span);
    return one;
}

/* --- order --- */

static bool overlap(const struct race_pending *a, const struct race_pending *b) {
    return a->span.start < byte_span_end(&b->span) && b->span.start < byte_span_end(&a->span);
}

static bool comes_before(const struct race_stream *first, uint64_t first_position,
                         const struct race_stream *by, uint64_t position) {
    if (first == by)
        return first_position < position;
    const struct race_clock *clock = race_history_at(&by->history, position);
    return clock && race_clock_at(clock, first->id) >= first_position;
}

/* Whether the upload runs behind the user code, or may. */
static bool is_behind(const struct race_pending *upload, const struct race_pending *code) {
    return (!upload->followed && upload->by != code->by) ||
           comes_before(code->by, code->position, upload->by, upload->position);
}

/* Whether `writer` may have written the upload's memory in an order that is known. */
static bool may_write(const struct race_pending *writer, const struct race_pending *upload) {
    return writer->kind == DOWNLOAD ? overlap(writer, upload)
                                    : writer->running && is_behind(upload, writer);
}

static bool is_written_by(const struct race_pending *writers, const struct race_pending *upload) {
    const struct race_pending *one;
    DL_FOREACH2(writers, one, newer)
    if (may_write(one, upload))
        return true;
    return false;
}

static bool has_writer(const struct race_pending *upload) {
    return is_written_by(all[DOWNLOAD].first, upload) || is_written_by(running, upload);
}

/* --- sums --- */

/* Whether the memory is there at all: the checker reports what was freed too early, and does not crash on it. */
static bool is_mapped(const struct byte_span *span) {
    return pages_are_mapped(span->start, byte_span_end(span) - span->start);
}

static uint64_t sum_of(const struct byte_span *span) {
    struct checksum sum = {0};
    for (size_t slice = 0; slice < span->depth; slice++)
        for (size_t row = 0; row < span->height; row++) {
            const size_t at = span->start + slice * span->slice + row * span->pitch;
            checksum_add(&sum, (const void *)(uintptr_t)at, span->width);
        }
    return checksum_value(&sum);
}

static void report(const struct race_pending *upload, bool gone) {
    race_report_change(&(struct race_change){
        .copy = {.stream = upload->by->name, .label = upload->label, .position = upload->position},
        .possible = upload->possible,
        .gone = gone,
        .start = upload->span.start,
        .bytes = byte_span_bytes(&upload->span)});
}

/* Reports a change, once, and then drops the upload. */
static bool compare(struct race_pending *upload) {
    if (race_has_lost() || has_writer(upload))
        return true;
    const bool gone = !is_mapped(&upload->span);
    if (!gone && sum_of(&upload->span) == upload->sum)
        return true;
    report(upload, gone);
    drop(upload);
    return false;
}

static void compare_last(struct race_pending *upload) {
    if (compare(upload))
        drop(upload);
}

/* The writer has ended: sums up what it may have written. */
static void sum_anew(const struct race_pending *writer) {
    struct race_pending *one, *next;
    DL_FOREACH_SAFE2(all[UPLOAD].first, one, next, newer) {
        if (!may_write(writer, one))
            continue;
        if (is_mapped(&one->span))
            one->sum = sum_of(&one->span);
        else
            drop(one);
    }
}

/* --- a command's life --- */

static bool has_user_code_before(const struct race_pending *upload) {
    const struct race_pending *one, *own = upload->by->pending[USER_CODE];
    if (own || is_written_by(running, upload) || all[USER_CODE].count > MOST_LOOKED_AT)
        return true;
    DL_FOREACH2(all[USER_CODE].first, one, newer)
    if (is_behind(upload, one))
        return true;
    return false;
}

static void add_upload(struct race_stream *by, struct race_pending *values) {
    const struct host_list *list = &all[UPLOAD];
    const size_t bytes = byte_span_bytes(&values->span);
    if (list->count == MOST_UPLOADS || (list->count && list->bytes + bytes > MOST_BYTES) ||
        !is_mapped(&values->span) || host_is_buffer((const void *)(uintptr_t)values->span.start))
        return; /* commands write to memory that is a buffer too */
    values->sum = sum_of(&values->span);
    struct race_pending *upload = add(by, values);
    if (upload)
        upload->possible = waits_outside || !upload->followed || has_user_code_before(upload);
}

void race_host_overwrites(const struct byte_span *span) {
    const struct race_pending download = {.span = *span};
    struct race_pending *one, *next;
    DL_FOREACH_SAFE2(all[UPLOAD].first, one, next, newer)
    if (overlap(one, &download))
        compare_last(one);
}

static void add_spanned(struct race_stream *by, struct race_pending values, enum host_kind kind,
                        const struct byte_span *span) {
    values.kind = kind;
    values.span = *span;
    if (kind == DOWNLOAD)
        add(by, &values);
    else
        add_upload(by, &values);
}

void race_host_submitted(struct race_stream *by, const struct stream *stream,
                         const struct command *command, const struct touches *host) {
    const struct command_type *type = command->type;
    const struct race_pending values = {.position = command->position,
                                        .label = command_label(command),
                                        .kind = USER_CODE,
                                        .staged = type->run && !type->copies_host,
                                        .followed = by->followed >= command->position};
    if (race_has_lost())
        return;
    if (type->user_code)
        add(by, &values);
    /* The program may ask a queue of its own whether the copy is done. A graph may write its uploads' memory itself. */
    const bool sums =
        type->kind != CLS_COMMAND_GRAPH && (!stream->queue || !stream->queue->adopted);
    for (size_t i = 0; i < host->count; i++)
        if (host->items[i].write)
            add_spanned(by, values, DOWNLOAD, &host->items[i].span);
    for (size_t i = 0; i < host->count && sums; i++)
        if (!host->items[i].write)
            add_spanned(by, values, UPLOAD, &host->items[i].span);
}

static struct race_pending *find(struct race_pending *list, uint64_t position) {
    struct race_pending *one;
    DL_FOREACH(list, one)
    if (one->position >= position)
        return one->position == position ? one : NULL;
    return NULL;
}

static void begin(struct race_pending *code) {
    DL_DELETE2(all[USER_CODE].first, code, older, newer);
    DL_APPEND2(running, code, older, newer);
    code->running = true;
}

/* Uploads that the user code comes after have been read by now, and it may use their memory. Those that come after it
 * have had no writer since they were summed up. */
void race_host_enter(const struct race_stream *by, uint64_t position) {
    struct race_pending *code = find(by->pending[USER_CODE], position), *one, *next;
    if (!code)
        return;
    DL_FOREACH_SAFE2(all[UPLOAD].first, one, next, newer) {
        if (comes_before(one->by, one->position, by, position))
            compare_last(one);
        else if (is_behind(one, code))
            compare(one);
    }
    if (!code->running) /* by an earlier part of the command */
        begin(code);
}

void race_host_was_read(struct race_stream *by, uint64_t position, uint64_t sum) {
    struct race_pending *upload = find(by->pending[UPLOAD], position);
    if (!upload)
        return;
    if (!race_has_lost() && sum != upload->sum && !has_writer(upload))
        report(upload, false);
    drop(upload);
}

static void retire(struct race_pending *one, const struct stream *stream) {
    if (one->kind != UPLOAD)
        sum_anew(one);
    if (one->kind == UPLOAD && !one->staged && !stream_failure_at(stream, one->position))
        compare_last(one);
    else
        drop(one);
}

/* By position, because a download may be the last writer of an upload behind it. */
void race_host_retired(struct race_stream *by, const struct stream *stream, uint64_t position) {
    race_hold(by, 1);
    for (;;) {
        struct race_pending *oldest = NULL;
        for (int kind = 0; kind < RACE_PENDING_KINDS; kind++) {
            struct race_pending *one = by->pending[kind];
            if (one && one->position <= (oldest ? oldest->position : position))
                oldest = one;
        }
        if (!oldest)
            break;
        retire(oldest, stream);
    }
    race_hold(by, -1);
}

/* --- forgetting --- */

void race_host_forget(size_t start, size_t end) {
    const struct race_pending bytes = {.span = byte_span_1d(start, end - start)};
    struct race_pending *one, *next;
    for (int kind = 0; kind < USER_CODE && start < end; kind++) {
        DL_FOREACH_SAFE2(all[kind].first, one, next, newer)
        if (overlap(one, &bytes))
            drop(one);
    }
}

void race_host_forget_stream(struct race_stream *by) {
    for (int kind = 0; kind < RACE_PENDING_KINDS; kind++)
        while (by->pending[kind])
            drop(by->pending[kind]);
}

void race_host_forget_all(void) {
    while (all[UPLOAD].first)
        drop(all[UPLOAD].first);
}

/* SPDX-License-Identifier: MIT */
/* The reports as text. */
#include <stdio.h>
#include <stdlib.h>

#include "trace/export.h"

/* Of the pairs of streams those are listed that overlapped or could have, up to so many. */
enum { MAX_PAIRS = 64 };

static const int kinds_of_work[] = {
    CLS_COMMAND_KERNEL, CLS_COMMAND_COPY_H2D, CLS_COMMAND_COPY_D2H, CLS_COMMAND_COPY_D2D,
    CLS_COMMAND_FILL,   CLS_COMMAND_MIGRATE,  CLS_COMMAND_FOREIGN};
enum { KINDS_OF_WORK = sizeof kinds_of_work / sizeof *kinds_of_work };

/* A field of `width` columns, to the right. */
static void put_right(struct text *text, int width, const struct text *field) {
    text->failed = text->failed || field->failed;
    text_printf(text, "%*s", width, field->bytes ? field->bytes : "");
}

static void put_span_right(struct text *text, int width, uint64_t ns) {
    struct text field = {0};
    put_span(&field, ns);
    put_right(text, width, &field);
    free(field.bytes);
}

static void put_bytes_right(struct text *text, int width, uint64_t bytes) {
    struct text field = {0};
    put_bytes(&field, bytes);
    put_right(text, width, &field);
    free(field.bytes);
}

static void put_holds(struct text *text, const uint64_t held[CLS_HOLDS]) {
    for (int hold = 1; hold < CLS_HOLDS; hold++) {
        text_printf(text, "%s%s ", hold > 1 ? ", " : "", cls_hold_name((cls_hold)hold));
        put_span(text, held[hold]);
    }
    text_printf(text, "\n");
}

static void put_summary(struct text *text, const cls_profile_summary *summary) {
    text_printf(text, "%zu records of %zu streams over ", summary->records, summary->streams);
    put_span(text, summary->end_ns - summary->begin_ns);
    text_printf(text, "; %llu dropped, %llu commands failed\n",
                (unsigned long long)summary->dropped, (unsigned long long)summary->failed);
    text_printf(text, "work ");
    put_span(text, summary->work_ns);
    text_printf(text, " in ");
    put_span(text, summary->busy_ns);
    text_printf(text, ": ");
    text_fixed(text, summary->concurrency, 2);
    text_printf(text, " commands at once of ");
    text_fixed(text, summary->possible_concurrency, 2);
    text_printf(text, " possible; the longest chain takes ");
    put_span(text, summary->critical_ns);
    text_printf(text, "\nmemory at most ");
    put_bytes(text, summary->memory_peak);
    text_printf(text, "\nheld back by: ");
    put_holds(text, summary->held_ns);
}

static void put_operations(struct text *text, const struct operations *operations) {
    text_printf(text, "  %-28s %-9s %8s %10s %10s %10s %10s %10s\n", "operation", "kind", "count",
                "total", "mean", "p50", "p99", "bytes");
    for (size_t i = 0; i < operations->count; i++) {
        const cls_profile_operation *operation = &operations->items[i];
        text_printf(text, "  ");
        put_line(text, operation->label, 28, true);
        text_printf(text, " %-9s %8llu ", cls_command_kind_name(operation->kind),
                    (unsigned long long)operation->count);
        put_span_right(text, 10, operation->total_ns);
        put_span_right(text, 11, (uint64_t)operation->mean_ns);
        put_span_right(text, 11, operation->p50_ns);
        put_span_right(text, 11, operation->p99_ns);
        put_bytes_right(text, 11, operation->bytes);
        text_printf(text, "\n");
    }
}

static void put_total(struct text *text, const char *name, const cls_profile_total *total) {
    if (!total->count)
        return;
    text_printf(text, ", %llu %s", (unsigned long long)total->count, name);
    if (total->bytes) {
        text_printf(text, " (");
        put_bytes(text, total->bytes);
        text_printf(text, ")");
    }
}

static void put_stream(struct text *text, const struct profile *profile, size_t s) {
    const cls_profile_stream *stream = &profile->streams[s];
    text_printf(text, "\nstream %llu '", (unsigned long long)stream->number);
    put_line(text, stream->name, sizeof stream->name, false);
    text_printf(text, "' on device %zu: %llu commands", stream->device,
                (unsigned long long)stream->commands);
    for (int kind = 0; kind < CLS_COMMAND_KINDS; kind++)
        put_total(text, cls_command_kind_name((cls_command_kind)kind), &stream->kinds[kind]);
    text_printf(text, "\n  busy ");
    put_span(text, stream->busy_ns);
    text_printf(text, " of ");
    put_span(text, stream->end_ns - stream->begin_ns);
    text_printf(text, ", queued to end ");
    put_span(text, (uint64_t)stream->latency_ns);
    text_printf(text, " on average, memory at most ");
    put_bytes(text, stream->memory_peak);
    text_printf(text, "\n  held back by: ");
    put_holds(text, stream->held_ns);
    put_operations(text, &profile->operations[s]);
}

/* Nothing for a pair that neither overlapped nor could have. */
static bool put_overlap(struct text *text, const struct profile *profile, const char *a,
                        const char *b, const struct group *of_a, const struct group *of_b) {
    cls_profile_overlap overlap;
    if (group_overlap(profile, of_a, of_b, &overlap)) {
        text->failed = true;
        return false;
    }
    if (!overlap.possible_ns)
        return false;
    text_printf(text, "  ");
    put_line(text, a, 24, true);
    text_printf(text, " ");
    put_line(text, b, 24, true);
    text_printf(text, " ");
    put_span_right(text, 10, overlap.overlap_ns);
    put_span_right(text, 11, overlap.possible_ns);
    text_printf(text, " %9.0f%%\n", 100 * overlap.achieved);
    return true;
}

static void put_overlap_title(struct text *text, const char *what) {
    text_printf(text, "\n  %-24s %-24s %10s %10s %10s\n", what, "with", "overlap", "possible",
                "achieved");
}

static void put_kind_overlaps(struct text *text, const struct profile *profile) {
    put_overlap_title(text, "kind");
    for (int i = 0; i < KINDS_OF_WORK; i++)
        for (int j = i; j < KINDS_OF_WORK; j++) {
            const struct group a = {NO_INDEX, kinds_of_work[i]}, b = {NO_INDEX, kinds_of_work[j]};
            bool there =
                profile->summary.kinds[a.kind].count && profile->summary.kinds[b.kind].count;
            if (there)
                put_overlap(text, profile, cls_command_kind_name((cls_command_kind)a.kind),
                            cls_command_kind_name((cls_command_kind)b.kind), &a, &b);
        }
}

static void put_stream_overlaps(struct text *text, const struct profile *profile) {
    size_t left = pairs_compared(profile);
    unsigned pairs = 0;
    put_overlap_title(text, "stream");
    for (uint32_t i = 0; i < profile->n_streams; i++)
        for (uint32_t j = i + 1; j < profile->n_streams && pairs < MAX_PAIRS && left; j++, left--) {
            const struct group a = {i, -1}, b = {j, -1};
            pairs += put_overlap(text, profile, profile->streams[i].name, profile->streams[j].name,
                                 &a, &b);
        }
    if (pairs == MAX_PAIRS || !left)
        text_printf(text, "  (the first %u pairs)\n", pairs);
}

void export_text(struct text *text, const struct profile *profile) {
    put_summary(text, &profile->summary);
    text_printf(text, "\nall streams\n");
    put_operations(text, &profile->operations[profile->n_streams]);
    put_kind_overlaps(text, profile);
    put_stream_overlaps(text, profile);
    for (size_t s = 0; s < profile->n_streams; s++)
        put_stream(text, profile, s);
}

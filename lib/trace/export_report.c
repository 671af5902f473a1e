/* SPDX-License-Identifier: MIT */
/* Writes the reports of a profile as JSON. Times are microseconds. */
#include "trace/export.h"
#include "trace/json.h"

/* Pairs of streams that are listed: the first that overlapped or could have. */
enum { MAX_PAIRS = 200 };

/* A ratio with three decimals. */
static void put_ratio(struct text *text, const char *name, double ratio) {
    put_named_us(text, name, (uint64_t)(ratio * 1000 + 0.5));
}

static void put_held(struct text *text, const uint64_t held[CLS_HOLDS]) {
    put_begin(text, "held", '[');
    for (int hold = 0; hold < CLS_HOLDS; hold++)
        put_us(text, held[hold]);
    put_end(text, ']');
}

/* Of each kind: commands, bytes. */
static void put_kinds(struct text *text, const cls_profile_total kinds[CLS_COMMAND_KINDS]) {
    put_begin(text, "kinds", '[');
    for (int kind = 0; kind < CLS_COMMAND_KINDS; kind++) {
        put_begin(text, NULL, '[');
        put_number(text, kinds[kind].count);
        put_number(text, kinds[kind].bytes);
        put_end(text, ']');
    }
    put_end(text, ']');
}

static void put_summary(struct text *text, const cls_profile_summary *summary) {
    put_begin(text, "summary", '{');
    put_named_number(text, "records", summary->records);
    put_named_number(text, "dropped", summary->dropped);
    put_named_number(text, "failed", summary->failed);
    put_named_number(text, "memory_peak", summary->memory_peak);
    put_named_us(text, "span", summary->end_ns - summary->begin_ns);
    put_named_us(text, "work", summary->work_ns);
    put_named_us(text, "busy", summary->busy_ns);
    put_named_us(text, "critical", summary->critical_ns);
    put_ratio(text, "concurrency", summary->concurrency);
    put_ratio(text, "possible_concurrency", summary->possible_concurrency);
    put_kinds(text, summary->kinds);
    put_held(text, summary->held_ns);
    put_end(text, '}');
}

static void put_operations(struct text *text, const struct operations *operations) {
    put_begin(text, "operations", '[');
    for (size_t i = 0; i < operations->count; i++) {
        const cls_profile_operation *operation = &operations->items[i];
        put_begin(text, NULL, '{');
        put_named_string(text, "label", operation->label);
        put_named_number(text, "kind", operation->kind);
        put_named_number(text, "count", operation->count);
        put_named_number(text, "bytes", operation->bytes);
        put_named_us(text, "total", operation->total_ns);
        put_named_us(text, "mean", (uint64_t)operation->mean_ns);
        put_named_us(text, "p50", operation->p50_ns);
        put_named_us(text, "p99", operation->p99_ns);
        if (operation->small_groups)
            put_named_number(text, "small_groups", operation->small_groups);
        put_end(text, '}');
    }
    put_end(text, ']');
}

static void put_stream(struct text *text, const cls_profile_stream *stream,
                       const struct operations *operations) {
    put_begin(text, NULL, '{');
    put_named_number(text, "number", stream->number);
    put_named_string(text, "name", stream->name);
    put_named_number(text, "device", stream->device);
    put_named_number(text, "commands", stream->commands);
    put_named_number(text, "memory_peak", stream->memory_peak);
    put_named_us(text, "busy", stream->busy_ns);
    put_named_us(text, "span", stream->end_ns - stream->begin_ns);
    put_named_us(text, "latency", (uint64_t)stream->latency_ns);
    put_kinds(text, stream->kinds);
    put_held(text, stream->held_ns);
    put_operations(text, operations);
    put_end(text, '}');
}

/* Whether the two overlapped or could have; only such pairs are written. */
static bool put_overlap(struct text *text, const struct profile *profile,
                        const struct record_group *a, const struct record_group *b,
                        const char *name_a, const char *name_b) {
    cls_profile_overlap overlap;
    if (group_overlap(profile, a, b, &overlap)) {
        text->failed = true;
        return false;
    }
    if (!overlap.possible_ns)
        return false;
    put_begin(text, NULL, '{');
    put_named_string(text, "a", name_a);
    put_named_string(text, "b", name_b);
    put_named_us(text, "overlap", overlap.overlap_ns);
    put_named_us(text, "possible", overlap.possible_ns);
    put_end(text, '}');
    return true;
}

static bool has_work(const struct profile *profile, int kind) {
    return is_work_kind((cls_command_kind)kind) && profile->summary.kinds[kind].count;
}

static void put_kind_overlaps(struct text *text, const struct profile *profile) {
    put_begin(text, "kind_overlaps", '[');
    for (int a = 0; a < CLS_COMMAND_KINDS; a++)
        for (int b = a; has_work(profile, a) && b < CLS_COMMAND_KINDS; b++)
            if (has_work(profile, b))
                put_overlap(text, profile, &(struct record_group){NO_INDEX, a},
                            &(struct record_group){NO_INDEX, b},
                            cls_command_kind_name((cls_command_kind)a),
                            cls_command_kind_name((cls_command_kind)b));
    put_end(text, ']');
}

static void put_stream_overlaps(struct text *text, const struct profile *profile) {
    size_t left = pairs_compared(profile);
    unsigned pairs = 0;
    put_begin(text, "overlaps", '[');
    for (uint32_t a = 0; a < profile->n_streams; a++)
        for (uint32_t b = a + 1; b < profile->n_streams && pairs < MAX_PAIRS && left; b++, left--)
            pairs += put_overlap(text, profile, &(struct record_group){a, -1},
                                 &(struct record_group){b, -1}, profile->streams[a].name,
                                 profile->streams[b].name);
    put_end(text, ']');
    put_named_number(text, "all_overlaps", pairs < MAX_PAIRS && left);
}

void put_report(struct text *text, const struct profile *profile) {
    put_summary(text, &profile->summary);
    put_begin(text, "streams", '[');
    for (size_t s = 0; s < profile->n_streams; s++)
        put_stream(text, &profile->streams[s], &profile->operations[s]);
    put_end(text, ']');
    put_operations(text, &profile->operations[profile->n_streams]);
    put_kind_overlaps(text, profile);
    put_stream_overlaps(text, profile);
}

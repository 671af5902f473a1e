/* SPDX-License-Identifier: MIT */
/* The page of lib/trace/timeline.html with the profile's data in it. Times are microseconds. */
#include <string.h>

#include "trace/export.h"
#include "trace/layout.h"

/* Embedded by the build. */
extern const char timeline_html[];

/* Of the pairs of streams, the first that overlapped or could have. */
enum { MAX_PAIRS = 200 };

static const char place_of_data[] = "/*DATA*/null";

static void put_comma(struct text *text) {
    char last = text->length ? text->bytes[text->length - 1] : '[';
    if (last != '[' && last != '{')
        text_append(text, ",", 1);
}

static void put_number(struct text *text, const char *name, uint64_t number) {
    put_comma(text);
    text_printf(text, "\"%s\":%llu", name, (unsigned long long)number);
}

static void put_time(struct text *text, const char *name, uint64_t ns) {
    put_comma(text);
    text_printf(text, "\"%s\":", name);
    put_us(text, ns);
}

static void put_string(struct text *text, const char *name, const char *string) {
    put_comma(text);
    text_printf(text, "\"%s\":", name);
    put_json_string(text, string);
}

/* A ratio with three decimals and a point, whatever the locale. */
static void put_ratio(struct text *text, const char *name, double ratio) {
    put_time(text, name, (uint64_t)(ratio * 1000 + 0.5));
}

static void put_held(struct text *text, const uint64_t held[CLS_HOLDS]) {
    put_comma(text);
    text_printf(text, "\"held\":[");
    for (int hold = 0; hold < CLS_HOLDS; hold++) {
        put_comma(text);
        put_us(text, held[hold]);
    }
    text_append(text, "]", 1);
}

static void put_summary(struct text *text, const cls_profile_summary *summary) {
    text_printf(text, "\"summary\":{");
    put_number(text, "records", summary->records);
    put_number(text, "dropped", summary->dropped);
    put_number(text, "failed", summary->failed);
    put_number(text, "memory_peak", summary->memory_peak);
    put_time(text, "span", summary->end_ns - summary->begin_ns);
    put_time(text, "busy", summary->busy_ns);
    put_time(text, "critical", summary->critical_ns);
    put_ratio(text, "concurrency", summary->concurrency);
    put_ratio(text, "possible_concurrency", summary->possible_concurrency);
    put_held(text, summary->held_ns);
    text_append(text, "}", 1);
}

static void put_streams(struct text *text, const struct profile *profile) {
    text_printf(text, ",\n\"streams\":[");
    for (size_t s = 0; s < profile->n_streams; s++) {
        const cls_profile_stream *stream = &profile->streams[s];
        put_comma(text);
        text_append(text, "{", 1);
        put_string(text, "name", stream->name);
        put_number(text, "commands", stream->commands);
        put_number(text, "memory_peak", stream->memory_peak);
        put_time(text, "busy", stream->busy_ns);
        put_time(text, "span", stream->end_ns - stream->begin_ns);
        put_time(text, "latency", (uint64_t)stream->latency_ns);
        put_held(text, stream->held_ns);
        text_append(text, "}", 1);
    }
    text_append(text, "]", 1);
}

static void put_operations(struct text *text, const struct operations *operations) {
    text_printf(text, ",\n\"operations\":[");
    for (size_t i = 0; i < operations->count; i++) {
        const cls_profile_operation *operation = &operations->items[i];
        put_comma(text);
        text_append(text, "{", 1);
        put_string(text, "label", operation->label);
        put_number(text, "kind", operation->kind);
        put_number(text, "count", operation->count);
        put_number(text, "bytes", operation->bytes);
        put_time(text, "total", operation->total_ns);
        put_time(text, "mean", (uint64_t)operation->mean_ns);
        put_time(text, "p50", operation->p50_ns);
        put_time(text, "p99", operation->p99_ns);
        text_append(text, "}", 1);
    }
    text_append(text, "]", 1);
}

static bool put_overlap(struct text *text, const struct profile *profile, uint32_t a, uint32_t b) {
    cls_profile_overlap overlap;
    if (group_overlap(profile, &(struct group){a, -1}, &(struct group){b, -1}, &overlap)) {
        text->failed = true;
        return false;
    }
    if (!overlap.possible_ns)
        return false;
    put_comma(text);
    text_append(text, "{", 1);
    put_string(text, "a", profile->streams[a].name);
    put_string(text, "b", profile->streams[b].name);
    put_time(text, "overlap", overlap.overlap_ns);
    put_time(text, "possible", overlap.possible_ns);
    text_append(text, "}", 1);
    return true;
}

static void put_overlaps(struct text *text, const struct profile *profile) {
    size_t left = pairs_compared(profile);
    unsigned pairs = 0;
    text_printf(text, ",\n\"overlaps\":[");
    for (uint32_t a = 0; a < profile->n_streams; a++)
        for (uint32_t b = a + 1; b < profile->n_streams && pairs < MAX_PAIRS && left; b++, left--)
            pairs += put_overlap(text, profile, a, b);
    text_append(text, "]", 1);
}

static void put_names(struct text *text) {
    text_printf(text, ",\n\"kinds\":[");
    for (int kind = 0; kind < CLS_COMMAND_KINDS; kind++) {
        put_comma(text);
        put_json_string(text, cls_command_kind_name((cls_command_kind)kind));
    }
    text_printf(text, "],\"holds\":[");
    for (int hold = 0; hold < CLS_HOLDS; hold++) {
        put_comma(text);
        put_json_string(text, cls_hold_name((cls_hold)hold));
    }
    text_append(text, "]", 1);
}

static void put_lanes(struct text *text, const struct layout *lanes) {
    text_printf(text, ",\n\"lanes\":[");
    for (size_t i = 0; i < lanes->count; i++) {
        put_comma(text);
        text_append(text, "{", 1);
        put_string(text, "name", lanes->items[i].name);
        put_number(text, "rows", lanes->items[i].rows);
        text_append(text, "}", 1);
    }
    text_append(text, "]", 1);
}

static void put_waits(struct text *text, const struct profile *profile, uint32_t i) {
    text_printf(text, ",[");
    for (unsigned k = 0; is_command(&profile->records[i]) && k < CLS_PROFILE_DEPENDENCIES; k++)
        if (profile->links[i].waits[k] != NO_INDEX) {
            put_comma(text);
            text_printf(text, "%u", (unsigned)profile->links[i].waits[k]);
        }
    text_append(text, "]", 1);
}

/* The fields in the order that the page names. */
static void put_record(struct text *text, const struct profile *profile, const struct layout *lanes,
                       uint32_t i) {
    const cls_profile_record *record = &profile->records[i];
    uint64_t begin = profile->summary.begin_ns;
    text_printf(text, "%s[%u,%u,", i ? ",\n" : "", (unsigned)lanes->places[i].lane,
                (unsigned)lanes->places[i].row);
    put_us(text, record->start_ns - begin);
    text_append(text, ",", 1);
    put_us(text, duration(record));
    text_printf(text, ",%d,", is_command(record) ? (int)record->kind : -1);
    put_json_string(text, record->label);
    text_append(text, ",", 1);
    put_us(text, record->queued_ns - begin);
    text_printf(text, ",%llu,%d,", (unsigned long long)record->bytes, (int)record->hold);
    put_us(text, record->held_ns);
    text_append(text, ",", 1);
    put_json_string(text, record->status ? cls_status_string(record->status) : "");
    put_waits(text, profile, i);
    text_append(text, "]", 1);
}

static void put_data(struct text *text, const struct profile *profile, const struct layout *lanes) {
    text_append(text, "{", 1);
    put_summary(text, &profile->summary);
    put_streams(text, profile);
    put_operations(text, &profile->operations[profile->n_streams]);
    put_overlaps(text, profile);
    put_names(text);
    put_lanes(text, lanes);
    text_printf(text, ",\n\"records\":[");
    for (uint32_t i = 0; i < profile->count; i++)
        put_record(text, profile, lanes, i);
    text_append(text, "]}", 2);
}

void export_html(struct text *text, const struct profile *profile) {
    struct layout lanes;
    const char *place = strstr(timeline_html, place_of_data);
    if (layout_make(&lanes, profile)) {
        text_append(text, timeline_html, (size_t)(place - timeline_html));
        put_data(text, profile, &lanes);
        place += strlen(place_of_data);
        text_append(text, place, strlen(place));
    } else {
        text->failed = true;
    }
    layout_free(&lanes);
}

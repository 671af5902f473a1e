/* SPDX-License-Identifier: MIT */
/* The page of lib/trace/timeline.html with the profile's data in it. Times are microseconds. */
#include <string.h>

#include "trace/export.h"
#include "trace/json.h"
#include "trace/layout.h"

/* Embedded by the build. */
extern const char timeline_html[];

static const char place_of_data[] = "/*DATA*/null";

static void put_names(struct text *text) {
    put_begin(text, "kinds", '[');
    for (int kind = 0; kind < CLS_COMMAND_KINDS; kind++)
        put_string(text, cls_command_kind_name((cls_command_kind)kind));
    put_end(text, ']');
    put_begin(text, "holds", '[');
    for (int hold = 0; hold < CLS_HOLDS; hold++)
        put_string(text, cls_hold_name((cls_hold)hold));
    put_end(text, ']');
}

/* The host's lanes have no device. */
static void put_lanes(struct text *text, const struct profile *profile,
                      const struct trace_layout *lanes) {
    put_begin(text, "lanes", '[');
    for (size_t i = 0; i < lanes->count; i++) {
        const uint32_t stream = lanes->items[i].stream;
        put_begin(text, NULL, '{');
        put_named_string(text, "name", lanes->items[i].name);
        if (stream != NO_INDEX)
            put_named_number(text, "device", profile->streams[stream].device);
        put_named_number(text, "rows", lanes->items[i].rows);
        put_end(text, '}');
    }
    put_end(text, ']');
}

static void put_waits(struct text *text, const struct profile *profile, uint32_t i) {
    put_begin(text, NULL, '[');
    for (unsigned k = 0; is_command(&profile->records[i]) && k < CLS_PROFILE_DEPENDENCIES; k++)
        if (profile->links[i].waits[k] != NO_INDEX)
            put_number(text, profile->links[i].waits[k]);
    put_end(text, ']');
}

/* The fields in the order that the page names. */
static void put_record(struct text *text, const struct profile *profile,
                       const struct trace_layout *lanes, uint32_t i) {
    const cls_profile_record *record = &profile->records[i];
    uint64_t begin = profile->summary.begin_ns;
    put_comma(text);
    text_printf(text, "\n[%u,%u", (unsigned)lanes->places[i].lane, (unsigned)lanes->places[i].row);
    put_us(text, record->start_ns - begin);
    put_us(text, duration(record));
    text_printf(text, ",%d", is_command(record) ? (int)record->kind : -1);
    put_string(text, record->label);
    put_us(text, record->queued_ns - begin);
    put_number(text, record->bytes);
    put_number(text, record->hold);
    put_us(text, record->held_ns);
    put_string(text, record->status ? cls_status_string(record->status) : "");
    put_waits(text, profile, i);
    if (profile->links[i].cause != NO_INDEX)
        put_number(text, profile->links[i].cause);
    put_end(text, ']');
}

static void put_data(struct text *text, const struct profile *profile,
                     const struct trace_layout *lanes) {
    text_append(text, "{", 1);
    put_report(text, profile);
    put_names(text);
    put_lanes(text, profile, lanes);
    put_begin(text, "records", '[');
    for (uint32_t i = 0; i < profile->count; i++)
        put_record(text, profile, lanes, i);
    text_append(text, "]}", 2);
}

void export_html(struct text *text, const struct profile *profile) {
    struct trace_layout lanes;
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

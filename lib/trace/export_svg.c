/* SPDX-License-Identifier: MIT */
/*
 * A picture of the timeline, readable on dark and light pages, that needs no other file: a lane a stream,
 * arrows for dependencies, and for each command its facts when the pointer rests on it. What is too narrow
 * to be seen is drawn together with its neighbours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/export.h"
#include "trace/layout.h"

enum { WIDTH = 1200, LEFT = 150, RIGHT = 20, TOP = 74, ROW = 22, GAP = 10, BOTTOM = 34 };
enum { PLOT = WIDTH - LEFT - RIGHT, MAX_ARROWS = 2000, CHARACTER = 7 };

/* Pixels below which a command is not told from its neighbour. */
static const double NARROW = 0.75;

static const char style[] =
    "svg{--bg:#fff;--fg:#1f2328;--dim:#656d76;--grid:#e3e7eb;--lane:#f5f7f9;--line:#57606a;"
    "background:var(--bg);font:12px system-ui,sans-serif}"
    "@media(prefers-color-scheme:dark){svg{--bg:#0d1117;--fg:#e6edf3;--dim:#8d96a0;--grid:#21262d;"
    "--lane:#151b23;--line:#9da7b1}}"
    "text{fill:var(--fg)}.d{fill:var(--dim)}.t{font-size:15px;font-weight:600}"
    ".l{fill:var(--lane)}.g{stroke:var(--grid)}.a{fill:none;stroke:var(--line);stroke-width:1.2}"
    ".in{fill:#fff;font-size:11px;pointer-events:none}"
    ".k:hover{stroke:var(--fg);stroke-width:1.5}"
    ".k0{fill:#2f6fdb}.k1{fill:#1a8a5a}.k2{fill:#b8620a}.k3{fill:#7a52c7}.k4{fill:#0e8686}"
    ".k5{fill:#64748b}.k6{fill:#8b96a5}.k7{fill:#c02670}.k8{fill:#9d3a8f}.k9{fill:#5b5bd6}"
    ".r{fill:#7c8798}.x{fill:#d1242f}"
    ".h1{fill:#d1242f}.h2{fill:#9a6700}.h3{fill:#8250df}.h4{fill:#bf3989}.h5{fill:#9aa4b0}";

struct picture {
    struct text *text;
    const struct profile *profile;
    struct layout lanes;
    unsigned *tops; /* y of each lane */
    unsigned height;
};

/* A coordinate with two decimals and a point, whatever the locale. */
static void put_px(struct text *text, const char *name, double value) {
    long hundredths = (long)(value * 100 + 0.5);
    text_printf(text, " %s=\"%ld.%02ld\"", name, hundredths / 100, hundredths % 100);
}

static double x_of(const struct picture *picture, uint64_t ns) {
    const cls_profile_summary *summary = &picture->profile->summary;
    uint64_t span = summary->end_ns - summary->begin_ns;
    return LEFT + (span ? (double)(ns - summary->begin_ns) * PLOT / (double)span : 0);
}

static unsigned y_of(const struct picture *picture, uint32_t i) {
    const struct place *place = &picture->lanes.places[i];
    return picture->tops[place->lane] + place->row * ROW;
}

/* --- the frame --- */

static bool lay_out(struct picture *picture) {
    unsigned y = TOP;
    picture->tops = malloc((picture->lanes.count + 1) * sizeof *picture->tops);
    if (!picture->tops)
        return false;
    for (size_t i = 0; i < picture->lanes.count; i++) {
        picture->tops[i] = y;
        y += picture->lanes.items[i].rows * ROW + GAP;
    }
    picture->height = y + BOTTOM;
    return true;
}

static void put_title(const struct picture *picture) {
    struct text *text = picture->text;
    const cls_profile_summary *summary = &picture->profile->summary;
    text_printf(text, "<text class=\"t\" x=\"12\" y=\"24\">%zu commands of %zu streams in ",
                picture->profile->n_commands, summary->streams);
    put_span(text, summary->end_ns - summary->begin_ns);
    text_printf(text, "</text><text class=\"d\" x=\"12\" y=\"43\">");
    text_fixed(text, summary->concurrency, 2);
    text_printf(text, " at once of ");
    text_fixed(text, summary->possible_concurrency, 2);
    text_printf(text, " possible; busy ");
    put_span(text, summary->busy_ns);
    text_printf(text, ", longest chain ");
    put_span(text, summary->critical_ns);
    if (summary->dropped)
        text_printf(text, "; %llu records dropped", (unsigned long long)summary->dropped);
    text_printf(text, "</text>\n");
}

static void put_key(struct text *text, int *x, const char *class, const char *name) {
    text_printf(text,
                "<rect class=\"%s\" x=\"%d\" y=\"52\" width=\"10\" height=\"10\" rx=\"2\"/>"
                "<text class=\"d\" x=\"%d\" y=\"61\">%s</text>",
                class, *x, *x + 14, name);
    *x += 26 + CHARACTER * (int)strlen(name);
}

/* What of the colours is there. */
static void put_legend(const struct picture *picture) {
    const cls_profile_summary *summary = &picture->profile->summary;
    char class[16];
    int x = 12;
    for (int kind = 0; kind < CLS_COMMAND_KINDS; kind++) {
        snprintf(class, sizeof class, "k%d", kind);
        if (summary->kinds[kind].count)
            put_key(picture->text, &x, class, cls_command_kind_name((cls_command_kind)kind));
    }
    if (summary->failed)
        put_key(picture->text, &x, "x", "failed");
    text_printf(picture->text, "<text class=\"d\" x=\"%d\" y=\"61\">held back by:</text>", x);
    x += 90;
    for (int hold = 1; hold < CLS_HOLDS; hold++) {
        snprintf(class, sizeof class, "h%d", hold);
        if (summary->held_ns[hold])
            put_key(picture->text, &x, class, cls_hold_name((cls_hold)hold));
    }
    text_printf(picture->text, "\n");
}

/* A step of 1, 2 or 5 times a power of ten that gives 5 to 12 ticks. */
static uint64_t tick_step(uint64_t span) {
    static const unsigned factors[] = {2, 5, 10};
    uint64_t unit = 1;
    for (;; unit *= 10) {
        if (span / unit <= 12)
            return unit;
        for (int i = 0; i < 2; i++)
            if (span / (unit * factors[i]) <= 12)
                return unit * factors[i];
    }
}

static void put_axis(const struct picture *picture) {
    const cls_profile_summary *summary = &picture->profile->summary;
    struct text *text = picture->text;
    uint64_t span = summary->end_ns - summary->begin_ns, step = tick_step(span);
    for (uint64_t at = 0, left = span;; at += step, left -= step) {
        double x = x_of(picture, summary->begin_ns + at);
        text_printf(text, "<line class=\"g\" y1=\"%d\" y2=\"%d\"", TOP - 4,
                    (int)picture->height - BOTTOM);
        put_px(text, "x1", x);
        put_px(text, "x2", x);
        text_printf(text, "/><text class=\"d\" text-anchor=\"middle\" y=\"%d\"",
                    (int)picture->height - BOTTOM + 16);
        put_px(text, "x", x);
        text_append(text, ">", 1);
        put_span(text, at);
        text_printf(text, "</text>");
        if (left < step)
            break;
    }
    text_printf(text, "\n");
}

static void put_lanes(const struct picture *picture) {
    for (size_t i = 0; i < picture->lanes.count; i++) {
        const struct lane *lane = &picture->lanes.items[i];
        text_printf(picture->text,
                    "<rect class=\"l\" x=\"%d\" y=\"%u\" width=\"%d\" height=\"%u\"/>"
                    "<text x=\"12\" y=\"%u\">",
                    LEFT, picture->tops[i] - 2, PLOT, lane->rows * ROW + 4, picture->tops[i] + 15);
        char name[LABEL_BYTES + 2];
        const size_t shown = utf8_prefix(lane->name, 20);
        snprintf(name, sizeof name, "%.*s%s", (int)shown, lane->name,
                 lane->name[shown] ? ".." : "");
        put_xml(picture->text, name);
        text_printf(picture->text, "</text>\n");
    }
}

/* --- commands --- */

/* Records of one place that are drawn as one. */
struct run {
    uint32_t first; /* index of a record */
    size_t count;
    uint64_t start, end;
    uint64_t busy;
};

static void put_facts(struct text *text, const struct profile *profile, uint32_t i) {
    const cls_profile_record *record = &profile->records[i];
    put_xml(text, record->label);
    text_printf(text, "\n");
    put_span(text, duration(record));
    text_printf(text, " from ");
    put_span(text, record->start_ns - profile->summary.begin_ns);
    if (record->bytes) {
        text_printf(text, "\n");
        put_bytes(text, record->bytes);
        if (duration(record)) {
            text_printf(text, ", ");
            text_rounded(text, (double)record->bytes / (double)duration(record), 3);
            text_printf(text, " GB/s");
        }
    }
    if (!is_command(record))
        return;
    text_printf(text, "\n%s, position %llu, queued ", cls_command_kind_name(record->kind),
                (unsigned long long)record->position);
    put_span(text, record->start_ns - record->queued_ns);
    text_printf(text, " before");
    if (record->hold) {
        text_printf(text, "\nheld back ");
        put_span(text, record->held_ns);
        text_printf(text, ", by %s most", cls_hold_name(record->hold));
    }
    if (record->status)
        text_printf(text, "\n%s", cls_status_string(record->status));
}

static void put_class(struct text *text, const cls_profile_record *record) {
    if (!is_command(record))
        text_printf(text, "k r");
    else if (record->status)
        text_printf(text, "k x");
    else
        text_printf(text, "k k%d", (int)record->kind);
}

static void put_run(const struct picture *picture, const struct run *run) {
    struct text *text = picture->text;
    const cls_profile_record *record = &picture->profile->records[run->first];
    double x = x_of(picture, run->start), width = x_of(picture, run->end) - x;
    unsigned y = y_of(picture, run->first);
    text_printf(text, "<rect y=\"%u\" height=\"%d\" rx=\"2\" class=\"", y, ROW - 4);
    put_class(text, record);
    text_printf(text, "\"");
    put_px(text, "x", x);
    put_px(text, "width", width < NARROW ? NARROW : width);
    text_printf(text, "><title>");
    if (run->count > 1) {
        text_printf(text, "%zu commands, at work for ", run->count);
        put_span(text, run->busy);
        text_printf(text, "\nthe first: ");
    }
    put_facts(text, picture->profile, run->first);
    text_printf(text, "</title></rect>");
    if (run->count == 1 && width > CHARACTER * (double)strlen(record->label) + 6) {
        text_printf(text, "<text class=\"in\" y=\"%u\"", y + 13);
        put_px(text, "x", x + 4);
        text_append(text, ">", 1);
        put_xml(text, record->label);
        text_printf(text, "</text>");
    }
    text_printf(text, "\n");
}

static bool is_narrow(const struct picture *picture, uint32_t i) {
    const cls_profile_record *record = &picture->profile->records[i];
    return x_of(picture, record->end_ns) - x_of(picture, record->start_ns) < NARROW;
}

/* Whether a record is drawn with the run before it: all of it is too narrow to be seen by itself. */
static bool joins(const struct picture *picture, const struct run *run, uint32_t i) {
    const cls_profile_record *record = &picture->profile->records[i];
    const struct place *a = &picture->lanes.places[run->first], *b = &picture->lanes.places[i];
    return run->count && a->lane == b->lane && a->row == b->row && !record->status &&
           is_narrow(picture, i) && is_narrow(picture, run->first) &&
           record->start_ns >= run->start &&
           x_of(picture, record->start_ns) - x_of(picture, run->end) < NARROW;
}

static void add_to_runs(const struct picture *picture, struct run *run, uint32_t i) {
    const cls_profile_record *record = &picture->profile->records[i];
    if (joins(picture, run, i)) {
        run->count++;
        run->busy += duration(record);
        if (record->end_ns > run->end)
            run->end = record->end_ns;
        return;
    }
    if (run->count)
        put_run(picture, run);
    *run = (struct run){i, 1, record->start_ns, record->end_ns, duration(record)};
}

static void put_records(const struct picture *picture) {
    struct run run = {.count = 0};
    for (uint32_t i = 0; i < picture->profile->count; i++)
        if (!is_command(&picture->profile->records[i]))
            add_to_runs(picture, &run, i);
    for (size_t k = 0; k < picture->profile->n_commands; k++)
        add_to_runs(picture, &run, picture->profile->commands[k]);
    if (run.count)
        put_run(picture, &run);
}

/* A thin bar before a command: how long it was held back, and by what. */
static void put_holds(const struct picture *picture) {
    struct text *text = picture->text;
    for (uint32_t i = 0; i < picture->profile->count; i++) {
        const cls_profile_record *record = &picture->profile->records[i];
        double end = x_of(picture, record->start_ns);
        double start = record->hold ? x_of(picture, record->start_ns - record->held_ns) : end;
        if (end - start < 1)
            continue;
        text_printf(text, "<rect class=\"h%d\" y=\"%u\" height=\"3\"", (int)record->hold,
                    y_of(picture, i) + ROW - 4);
        put_px(text, "x", start);
        put_px(text, "width", end - start);
        text_printf(text, "><title>");
        put_xml(text, record->label);
        text_printf(text, " held back ");
        put_span(text, record->held_ns);
        text_printf(text, ", by %s most</title></rect>\n", cls_hold_name(record->hold));
    }
}

/* --- arrows --- */

static void put_arrow(const struct picture *picture, uint32_t from, uint32_t to) {
    const struct profile *profile = picture->profile;
    char path[128];
    double x1 = x_of(picture, profile->records[from].end_ns);
    double x2 = x_of(picture, profile->records[to].start_ns);
    unsigned y1 = y_of(picture, from) + ROW / 2 - 2, y2 = y_of(picture, to) + ROW / 2 - 2;
    int bend = (int)((x2 - x1) / 2) + 12;
    snprintf(path, sizeof path, "M%d,%uC%d,%u %d,%u %d,%u", (int)x1, y1, (int)x1 + bend, y1,
             (int)x2 - bend, y2, (int)x2, y2);
    text_printf(picture->text, "<path class=\"a\" marker-end=\"url(#tip)\" d=\"%s\"/>\n", path);
}

static void put_arrows(const struct picture *picture) {
    const struct profile *profile = picture->profile;
    unsigned drawn = 0;
    for (uint32_t i = 0; i < profile->count; i++)
        for (unsigned k = 0; is_command(&profile->records[i]) && k < CLS_PROFILE_DEPENDENCIES; k++)
            if (profile->links[i].waits[k] != NO_INDEX && drawn++ < MAX_ARROWS)
                put_arrow(picture, profile->links[i].waits[k], i);
}

static void draw(const struct picture *picture) {
    text_printf(picture->text,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
                "height=\"%u\" role=\"img\">\n<title>clStream profile</title><style>%s</style>\n"
                "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
                "markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">"
                "<path d=\"M0,0L8,4L0,8z\" style=\"fill:var(--line)\"/></marker></defs>\n",
                WIDTH, picture->height, WIDTH, picture->height, style);
    put_title(picture);
    put_legend(picture);
    put_lanes(picture);
    put_axis(picture);
    put_holds(picture);
    put_records(picture);
    put_arrows(picture);
    text_printf(picture->text, "</svg>\n");
}

void export_svg(struct text *text, const struct profile *profile) {
    struct picture picture = {.text = text, .profile = profile};
    if (layout_make(&picture.lanes, profile) && lay_out(&picture))
        draw(&picture);
    else
        text->failed = true;
    layout_free(&picture.lanes);
    free(picture.tops);
}

/* SPDX-License-Identifier: MIT */
/*
 * A picture of a trace, readable on dark and light pages, that needs no other file: a lane a stream, arrows for
 * dependencies, and for each command its facts when the pointer rests on it. What is too narrow to be seen is drawn
 * together with its neighbours.
 */
#include <stdlib.h>
#include <string.h>

#include <clstream/profiler.h>

#include "json_trace.h"
#include "size.h"
#include "xml.h"

enum { WIDTH = 1200, LEFT = 150, RIGHT = 20, TOP = 74, ROW = 22, GAP = 10, BOTTOM = 34 };
enum { PLOT = WIDTH - LEFT - RIGHT, MAX_ARROWS = 2000, CHARACTER = 7, NAME = 20 };

/* Pixels below which a command is not told from its neighbour. */
static const double NARROW = 0.75;

/* The colours are those of lib/trace/timeline.html; what is written on light ones is black. */
static const char style[] =
    "svg{--bg:#fff;--fg:#1f2328;--dim:#59636e;--grid:#e3e7eb;--lane:#f5f7f9;--line:#57606a;"
    "--k0:#0072b2;--k1:#04a170;--k2:#d07b00;--k3:#496400;--k4:#5789ff;--k5:#a25173;--k9:#1f2328;"
    "--r:#838ca4;--x:#d12f3f;background:var(--bg);font:12px system-ui,sans-serif}"
    "text{fill:var(--fg)}.d{fill:var(--dim)}.t{font-size:15px;font-weight:600}"
    ".l{fill:var(--lane)}.g{stroke:var(--grid)}.a{fill:none;stroke:var(--line);stroke-width:1.2}"
    ".in{fill:#fff;font-size:11px;pointer-events:none}"
    ".k:hover{stroke:var(--fg);stroke-width:1.5}"
    ".k0{fill:var(--k0)}.k1{fill:var(--k1)}.k2{fill:var(--k2)}.k3{fill:var(--k3)}.k4{fill:var(--k4)}"
    ".k5{fill:var(--k5)}.k9{fill:var(--k9)}.k6,.k7,.k8,.r{fill:var(--r)}.x{fill:var(--x)}"
    ".v{fill-opacity:.12;stroke:var(--x)}.v+.in{fill:var(--fg)}"
    ".h1{fill:var(--x)}.h2{fill:var(--k2)}.h3{fill:var(--k4)}.h4{fill:var(--k3)}.h5{fill:var(--r)}"
    ".k1+.in,.k2+.in,.k4+.in,.k6+.in,.k7+.in,.k8+.in,.r+.in{fill:#000}"
    "@media(prefers-color-scheme:dark){svg{--bg:#0d1117;--fg:#e6edf3;--dim:#8d96a0;--grid:#21262d;"
    "--lane:#151b23;--line:#9da7b1;--k0:#4b52e6;--k1:#098d62;--k2:#cb9a0c;--k3:#ffef59;--k4:#69c9ff;"
    "--k5:#8d7f9b;--k9:#e6edf3;--r:#9cb1a6;--x:#bf3806}.k3+.in,.k5+.in,.k9+.in{fill:#000}}";

/* A picture in the making. */
struct picture {
    FILE *file;
    const struct trace *trace;
    const json_t *summary;
    unsigned height;
};

static double x_of(const struct picture *picture, uint64_t ns) {
    return LEFT + (picture->trace->span ? (double)ns * PLOT / (double)picture->trace->span : 0);
}

static unsigned y_of(const struct trace_record *record) {
    return record->lane->top + record->row * ROW;
}

static void put_span(FILE *file, uint64_t ns) {
    char text[SIZE_TEXT];
    fputs(span_format(ns, text), file);
}

static uint64_t duration(const struct trace_record *record) { return record->end - record->start; }

/* --- what records are --- */

static int kind_of(const struct trace_record *record) {
    const char *name = trace_string(record->event, "cat");
    int kind = 0;
    while (kind < CLS_COMMAND_KINDS &&
           strcmp(name, cls_command_kind_name((cls_command_kind)kind)) != 0)
        kind++;
    return kind;
}

/* CLS_HOLD_NONE where nothing held it back. */
static int hold_of(const struct trace_record *record) {
    const char *name = trace_string(record->args, "hold");
    int hold = CLS_HOLDS - 1;
    while (hold && strcmp(name, cls_hold_name((cls_hold)hold)) != 0)
        hold--;
    return hold;
}

/* --- the frame --- */

/* The height of all lanes. */
static unsigned lay_out(struct trace *trace) {
    unsigned y = TOP;
    for (size_t i = 0; i < trace->n_lanes; i++) {
        trace->lanes[i].top = y;
        y += trace->lanes[i].rows * ROW + GAP;
    }
    return y + BOTTOM;
}

static void put_title(const struct picture *picture) {
    FILE *file = picture->file;
    const json_t *summary = picture->summary;
    size_t commands = 0;
    for (size_t i = 0; i < picture->trace->n_records; i++)
        commands += trace_is_command(&picture->trace->records[i]);
    fprintf(file, "<text class=\"t\" x=\"12\" y=\"24\">%zu commands of %zu streams in ", commands,
            json_array_size(json_object_get(picture->trace->report, "streams")));
    put_span(file, picture->trace->span);
    fprintf(file, "</text><text class=\"d\" x=\"12\" y=\"43\">%.2f at once of %.2f possible; busy ",
            json_number_value(json_object_get(summary, "concurrency")),
            json_number_value(json_object_get(summary, "possible_concurrency")));
    put_span(file, trace_ns(summary, "busy"));
    fputs(", longest chain ", file);
    put_span(file, trace_ns(summary, "critical"));
    if (trace_number(summary, "dropped"))
        fprintf(file, "; %llu records dropped",
                (unsigned long long)trace_number(summary, "dropped"));
    fputs("</text>\n", file);
}

/* A coloured box with its name, of a class that is a letter and a number. */
static void put_key(FILE *file, int *x, const char *letter, int number, const char *name) {
    fprintf(file, "<rect class=\"%s", letter);
    if (number >= 0)
        fprintf(file, "%d", number);
    fprintf(file,
            "\" x=\"%d\" y=\"52\" width=\"10\" height=\"10\" rx=\"2\"/>"
            "<text class=\"d\" x=\"%d\" y=\"61\">%s</text>",
            *x, *x + 14, name);
    *x += 26 + CHARACTER * (int)strlen(name);
}

/* The colours that occur. */
static void put_legend(const struct picture *picture) {
    const json_t *kinds = json_object_get(picture->summary, "kinds");
    const json_t *held = json_object_get(picture->summary, "held");
    int x = 12;
    for (int kind = 0; kind < CLS_COMMAND_KINDS; kind++)
        if (json_integer_value(json_array_get(json_array_get(kinds, (size_t)kind), 0)))
            put_key(picture->file, &x, "k", kind, cls_command_kind_name((cls_command_kind)kind));
    if (trace_number(picture->summary, "failed"))
        put_key(picture->file, &x, "x", -1, "failed (hollow: because of another)");
    fprintf(picture->file, "<text class=\"d\" x=\"%d\" y=\"61\">held back by:</text>", x);
    x += 90;
    for (int hold = 1; hold < CLS_HOLDS; hold++)
        if (trace_ns_of(json_array_get(held, (size_t)hold)))
            put_key(picture->file, &x, "h", hold, cls_hold_name((cls_hold)hold));
    fputc('\n', picture->file);
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
    const int bottom = (int)picture->height - BOTTOM;
    const uint64_t step = tick_step(picture->trace->span);
    for (uint64_t at = 0, left = picture->trace->span;; at += step, left -= step) {
        const double x = x_of(picture, at);
        fprintf(picture->file,
                "<line class=\"g\" y1=\"%d\" y2=\"%d\" x1=\"%.2f\" x2=\"%.2f\"/>"
                "<text class=\"d\" text-anchor=\"middle\" y=\"%d\" x=\"%.2f\">",
                TOP - 4, bottom, x, x, bottom + 16, x);
        put_span(picture->file, at);
        fputs("</text>", picture->file);
        if (left < step)
            break;
    }
    fputc('\n', picture->file);
}

/* The bytes of the first characters of a name. */
static size_t prefix(const char *name, size_t characters) {
    size_t n = 0;
    for (; name[n] && characters; characters--)
        for (n++; ((unsigned char)name[n] & 0xc0) == 0x80; n++)
            continue;
    return n;
}

static void put_lane(const struct picture *picture, const struct trace_lane *lane) {
    const size_t shown = prefix(lane->name, NAME);
    char name[4 * NAME + 1];
    snprintf(name, sizeof name, "%.*s", (int)shown, lane->name);
    fprintf(picture->file,
            "<rect class=\"l\" x=\"%d\" y=\"%u\" width=\"%d\" height=\"%u\"/>"
            "<text x=\"12\" y=\"%u\">",
            LEFT, lane->top - 2, PLOT, lane->rows * ROW + 4, lane->top + 15);
    xml_put(picture->file, name, true);
    fprintf(picture->file, "%s</text>\n", lane->name[shown] ? ".." : "");
}

/* --- commands --- */

/* Records of one row that are drawn as one. */
struct run {
    const struct trace_record *first;
    size_t count;
    uint64_t start, end;
    uint64_t busy;
};

static void put_bytes(FILE *file, const struct trace_record *record) {
    const uint64_t bytes = trace_number(record->args, "bytes");
    char text[SIZE_TEXT];
    if (!bytes)
        return;
    fprintf(file, "\n%s", size_format(bytes, text));
    if (duration(record))
        fprintf(file, ", %.3g GB/s", (double)bytes / (double)duration(record));
}

static void put_held(FILE *file, const struct trace_record *record) {
    fputs("held back ", file);
    put_span(file, trace_ns(record->args, "held_us"));
    fprintf(file, ", by %s most", cls_hold_name((cls_hold)hold_of(record)));
}

static void put_facts(FILE *file, const struct trace_record *record) {
    xml_put(file, trace_string(record->event, "name"), true);
    fputc('\n', file);
    put_span(file, duration(record));
    fputs(" from ", file);
    put_span(file, record->start);
    put_bytes(file, record);
    if (!trace_is_command(record))
        return;
    fputc('\n', file);
    xml_put(file, trace_string(record->event, "cat"), true);
    fprintf(file, ", position %llu, queued ",
            (unsigned long long)trace_number(record->args, "position"));
    put_span(file, record->start - trace_ns(record->args, "queued_us"));
    fputs(" before", file);
    if (hold_of(record)) {
        fputc('\n', file);
        put_held(file, record);
    }
    if (trace_failure(record)) {
        fputc('\n', file);
        xml_put(file, trace_failure(record), true);
        if (trace_is_victim(record)) {
            const struct trace_command cause = trace_cause(record);
            fprintf(file, ", because of position %llu of stream %llu",
                    (unsigned long long)cause.position, (unsigned long long)cause.stream);
        } else if (trace_cause(record).stream) {
            fputs(", the first to fail", file);
        }
    }
}

static void put_class(FILE *file, const struct trace_record *record) {
    if (!trace_is_command(record))
        fputs("k r", file);
    else if (trace_failure(record))
        fputs(trace_is_victim(record) ? "k x v" : "k x", file);
    else
        fprintf(file, "k k%d", kind_of(record));
}

static void put_run(const struct picture *picture, const struct run *run) {
    FILE *file = picture->file;
    const char *label = trace_string(run->first->event, "name");
    const double x = x_of(picture, run->start), width = x_of(picture, run->end) - x;
    const unsigned y = y_of(run->first);
    fprintf(file, "<rect y=\"%u\" height=\"%d\" rx=\"2\" class=\"", y, ROW - 4);
    put_class(file, run->first);
    fprintf(file, "\" x=\"%.2f\" width=\"%.2f\"><title>", x, width < NARROW ? NARROW : width);
    if (run->count > 1) {
        fprintf(file, "%zu commands, at work for ", run->count);
        put_span(file, run->busy);
        fputs("\nthe first: ", file);
    }
    put_facts(file, run->first);
    fputs("</title></rect>", file);
    if (run->count == 1 && width > CHARACTER * (double)strlen(label) + 6) {
        fprintf(file, "<text class=\"in\" y=\"%u\" x=\"%.2f\">", y + 13, x + 4);
        xml_put(file, label, true);
        fputs("</text>", file);
    }
    fputc('\n', file);
}

static bool is_narrow(const struct picture *picture, const struct trace_record *record) {
    return x_of(picture, record->end) - x_of(picture, record->start) < NARROW;
}

/* Whether a record is drawn together with the run before it: both are too narrow to be seen alone. */
static bool joins(const struct picture *picture, const struct run *run,
                  const struct trace_record *record) {
    return run->count && run->first->lane == record->lane && run->first->row == record->row &&
           !trace_failure(record) && is_narrow(picture, record) && is_narrow(picture, run->first) &&
           x_of(picture, record->start) - x_of(picture, run->end) < NARROW;
}

static void put_records(const struct picture *picture) {
    struct run run = {.count = 0};
    for (size_t i = 0; i < picture->trace->n_records; i++) {
        const struct trace_record *record = &picture->trace->records[i];
        if (joins(picture, &run, record)) {
            run.count++;
            run.busy += duration(record);
            if (record->end > run.end)
                run.end = record->end;
            continue;
        }
        if (run.count)
            put_run(picture, &run);
        run = (struct run){record, 1, record->start, record->end, duration(record)};
    }
    if (run.count)
        put_run(picture, &run);
}

/* A thin bar before a command: how long it was held back, and by what. */
static void put_hold(const struct picture *picture, const struct trace_record *record) {
    const int hold = hold_of(record);
    const uint64_t held = trace_ns(record->args, "held_us");
    const double end = x_of(picture, record->start);
    const double start = hold && held <= record->start ? x_of(picture, record->start - held) : end;
    if (end - start < 1)
        return;
    fprintf(picture->file,
            "<rect class=\"h%d\" y=\"%u\" height=\"3\" x=\"%.2f\" width=\"%.2f\"><title>", hold,
            y_of(record) + ROW - 4, start, end - start);
    xml_put(picture->file, trace_string(record->event, "name"), true);
    fputc(' ', picture->file);
    put_held(picture->file, record);
    fputs("</title></rect>\n", picture->file);
}

static void put_arrow(const struct picture *picture, const struct trace_arrow *arrow) {
    const int x1 = (int)x_of(picture, arrow->start), x2 = (int)x_of(picture, arrow->end);
    const unsigned y1 = arrow->from->top + ROW / 2 - 2;
    const unsigned y2 = arrow->to->top + ROW / 2 - 2;
    const int bend = (x2 - x1) / 2 + 12;
    fprintf(picture->file,
            "<path class=\"a\" marker-end=\"url(#tip)\" d=\"M%d,%uC%d,%u %d,%u %d,%u\"/>\n", x1, y1,
            x1 + bend, y1, x2 - bend, y2, x2, y2);
}

static void draw(const struct picture *picture) {
    const struct trace *trace = picture->trace;
    fprintf(picture->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" width=\"%d\" "
            "height=\"%u\" role=\"img\">\n<title>clStream profile</title><style>%s</style>\n"
            "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
            "markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">"
            "<path d=\"M0,0L8,4L0,8z\" style=\"fill:var(--line)\"/></marker></defs>\n",
            WIDTH, picture->height, WIDTH, picture->height, style);
    put_title(picture);
    put_legend(picture);
    for (size_t i = 0; i < trace->n_lanes; i++)
        put_lane(picture, &trace->lanes[i]);
    put_axis(picture);
    for (size_t i = 0; i < trace->n_records; i++)
        put_hold(picture, &trace->records[i]);
    put_records(picture);
    for (size_t i = 0; i < trace->n_arrows && i < MAX_ARROWS; i++)
        put_arrow(picture, &trace->arrows[i]);
    fputs("</svg>\n", picture->file);
}

static int by_lane(const void *left, const void *right) {
    const struct trace_record *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

void trace_put_svg(FILE *file, struct trace *trace) {
    qsort(trace->records, trace->n_records, sizeof *trace->records, by_lane);
    draw(&(struct picture){file, trace, json_object_get(trace->report, "summary"), lay_out(trace)});
}

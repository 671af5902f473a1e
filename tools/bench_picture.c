/* SPDX-License-Identifier: MIT */
/*
 * Results of `clstream bench` as bars: a group a row. The rows of a section whose units measure the same thing share a
 * panel, and an axis, which is logarithmic where the values lie far apart.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "xml.h"

enum { WIDTH = 860, LEFT = 220, BARS = 480, BAR = 13, SPACE = 7, TITLE = 48, TOP = 18 };

/* The largest ratio of two values on a linear axis, which begins at 0. */
static const double LINEAR = 30;

/* The colours are those of lib/trace/timeline.html. */
static const char style[] =
    "svg{--bg:#fff;--fg:#1f2328;--dim:#59636e;--lane:#f5f7f9;--k0:#0072b2;--k1:#04a170;--k2:#d07b00;"
    "--k3:#496400;--k4:#5789ff;--k5:#a25173;background:var(--bg);font:12.5px system-ui,sans-serif}"
    "@media(prefers-color-scheme:dark){svg{--bg:#0d1117;--fg:#e6edf3;--dim:#8d96a0;--lane:#151b23;"
    "--k0:#4b52e6;--k1:#098d62;--k2:#cb9a0c;--k3:#ffef59;--k4:#69c9ff;--k5:#8d7f9b}}"
    "text{fill:var(--fg)}.d{fill:var(--dim);font-size:11.5px}.s{font-weight:600;font-size:14px}"
    ".r{fill:var(--lane)}.g{stroke:var(--dim);stroke-opacity:.35}.b0{fill:var(--k0)}.b1{fill:var(--k2)}.b2{fill:var(--k1)}.b3{fill:var(--k5)}"
    ".b4{fill:var(--k4)}.b5{fill:var(--k3)}";

static bool share_panel(const struct bench_row *a, const struct bench_row *b) {
    return strcmp(a->section, b->section) == 0 && strcmp(bench_unit(a), bench_unit(b)) == 0;
}

static bool is_first_of_panel(const struct bench_result *result, unsigned i) {
    for (unsigned k = 0; k < i; k++)
        if (share_panel(&result->rows[k], &result->rows[i]))
            return false;
    return true;
}

/* From `low` to `high`; `low` is 0 where the axis is linear, and else both are powers of ten. */
struct axis {
    double low, high;
};

static struct axis axis_of(const struct bench_result *results, unsigned n,
                           const struct bench_row *row) {
    double least = INFINITY, most = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < results[i].n; k++) {
            const double value = bench_value(&results[i].rows[k]);
            if (!share_panel(&results[i].rows[k], row) || !(value > 0) || isinf(value))
                continue;
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
    if (most <= LINEAR * least)
        return (struct axis){0, most > 0 ? most : 1};
    return (struct axis){pow(10, floor(log10(least))), pow(10, ceil(log10(most)))};
}

/* Pixels from the begin of the axis. */
static int length_of(const struct axis *axis, double value) {
    if (!(value > axis->low))
        return 0;
    if (value >= axis->high)
        return BARS;
    return (int)(BARS * (axis->low > 0 ? log(value / axis->low) / log(axis->high / axis->low)
                                       : value / axis->high));
}

static int put_row(FILE *file, const struct bench_result *results, unsigned n,
                   const struct bench_row *row, const struct axis *axis, int y) {
    fprintf(file, "<text x=\"20\" y=\"%d\">", y + BAR - 2);
    xml_put(file, row->name, false);
    fprintf(file, "</text>\n");
    for (unsigned i = 0; i < n; i++, y += BAR + 2) {
        const struct bench_row *bar = bench_find(&results[i], row);
        if (!bar)
            continue;
        const int length = share_panel(bar, row) ? length_of(axis, bench_value(bar)) : 0;
        fprintf(file,
                "<rect class=\"r\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>"
                "<rect class=\"b%u\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>"
                "<text class=\"d\" x=\"%d\" y=\"%d\">%.3g ",
                LEFT, y, BARS, BAR, i, LEFT, y, length ? length : 1, BAR, LEFT + BARS + 10,
                y + BAR - 2, bar->value);
        xml_put(file, bar->unit, false);
        fprintf(file, "</text>\n");
    }
    return y + SPACE;
}

static int put_devices(FILE *file, const struct bench_result *results, unsigned n) {
    int y = TOP;
    for (unsigned i = 0; i < n; i++, y += 20) {
        fprintf(file,
                "<rect class=\"b%u\" x=\"20\" y=\"%d\" width=\"11\" height=\"11\" rx=\"2\"/>"
                "<text x=\"38\" y=\"%d\">",
                i, y, y + 10);
        xml_put(file, results[i].name, false);
        fprintf(file, " <tspan class=\"d\">");
        xml_put(file, results[i].platform, false);
        fprintf(file, ", ");
        xml_put(file, results[i].driver, false);
        fprintf(file, "</tspan></text>\n");
    }
    return y;
}

/* What is longer and better is said once a panel. */
static void put_title(FILE *file, const struct bench_row *row, const struct axis *axis, int y) {
    fprintf(file, "<text class=\"s\" x=\"20\" y=\"%d\">", y + TITLE - 28);
    xml_put(file, row->section, false);
    fprintf(file, " <tspan class=\"d\">%s is better%s</tspan></text>\n",
            row->more_is_better ? "longer" : "shorter",
            axis->low > 0 ? "; the axis is logarithmic" : "");
}

static void put_tick(FILE *file, const struct axis *axis, double at, const char *unit, int top,
                     int bottom) {
    static const char *const names[] = {"ns", "us", "ms", "s"};
    const int x = LEFT + length_of(axis, at);
    unsigned i = 0;
    for (; strcmp(unit, "ns") == 0 && at >= 1000 && i < 3; i++)
        at /= 1000;
    fprintf(file,
            "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>"
            "<text class=\"d\" text-anchor=\"middle\" x=\"%d\" y=\"%d\">%.3g ",
            x, x, top - 3, bottom, x, top - 6, at);
    xml_put(file, i ? names[i] : unit, false);
    fprintf(file, "</text>\n");
}

/* Powers of ten, at most about eight of them; of a linear axis 0, a half and the whole. */
static void put_ticks(FILE *file, const struct axis *axis, const struct bench_row *row, int top,
                      int bottom) {
    const char *unit = bench_unit(row);
    if (axis->low <= 0) {
        for (int i = 0; i <= 2; i++)
            put_tick(file, axis, axis->high * i / 2, unit, top, bottom);
        return;
    }
    const int powers = (int)lround(log10(axis->high / axis->low)), step = 1 + powers / 9;
    for (int power = 0; power <= powers; power += step)
        put_tick(file, axis, axis->low * pow(10, power), unit, top, bottom);
}

static int put_panel(FILE *file, const struct bench_result *results, unsigned n, unsigned first,
                     int y) {
    const struct bench_row *row = &results[0].rows[first];
    const struct axis axis = axis_of(results, n, row);
    put_title(file, row, &axis, y);
    const int top = y + TITLE;
    y = top;
    for (unsigned i = first; i < results[0].n; i++)
        if (share_panel(&results[0].rows[i], row))
            y = put_row(file, results, n, &results[0].rows[i], &axis, y);
    put_ticks(file, &axis, row, top, y - SPACE);
    return y;
}

static void draw(FILE *file, const struct bench_result *results, unsigned n) {
    int y = put_devices(file, results, n);
    for (unsigned i = 0; i < results[0].n; i++)
        if (is_first_of_panel(&results[0], i))
            y = put_panel(file, results, n, i, y);
}

static int height_of(const struct bench_result *results, unsigned n) {
    int panels = 0;
    for (unsigned i = 0; i < results[0].n; i++)
        panels += is_first_of_panel(&results[0], i);
    return TOP + 20 * (int)n + TITLE * panels + (int)results[0].n * ((BAR + 2) * (int)n + SPACE) +
           TOP;
}

void bench_picture(FILE *file, const struct bench_result *results, unsigned n) {
    const int height = height_of(results, n);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\">\n<title>clstream bench</title><style>%s</style>\n",
            WIDTH, height, WIDTH, height, style);
    draw(file, results, n);
    fprintf(file, "</svg>\n");
}

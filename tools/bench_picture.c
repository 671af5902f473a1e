/* SPDX-License-Identifier: MIT */
/* Results of `clstream bench` as bars: a group a row, the longest of a unit within a section as the measure. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "xml.h"

enum { WIDTH = 860, LEFT = 220, BARS = 480, BAR = 13, SPACE = 7, TITLE = 30, TOP = 18 };

/* The colours are those of lib/trace/timeline.html. */
static const char style[] =
    "svg{--bg:#fff;--fg:#1f2328;--dim:#59636e;--lane:#f5f7f9;--k0:#0072b2;--k1:#04a170;--k2:#d07b00;"
    "--k3:#496400;--k4:#5789ff;--k5:#a25173;background:var(--bg);font:12.5px system-ui,sans-serif}"
    "@media(prefers-color-scheme:dark){svg{--bg:#0d1117;--fg:#e6edf3;--dim:#8d96a0;--lane:#151b23;"
    "--k0:#4b52e6;--k1:#098d62;--k2:#cb9a0c;--k3:#ffef59;--k4:#69c9ff;--k5:#8d7f9b}}"
    "text{fill:var(--fg)}.d{fill:var(--dim);font-size:11.5px}.s{font-weight:600;font-size:14px}"
    ".r{fill:var(--lane)}.b0{fill:var(--k0)}.b1{fill:var(--k2)}.b2{fill:var(--k1)}.b3{fill:var(--k5)}"
    ".b4{fill:var(--k4)}.b5{fill:var(--k3)}";

/* The largest value of a row's section and unit, over all results. */
static double scale_of(const struct bench_result *results, unsigned n,
                       const struct bench_row *row) {
    double most = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < results[i].n; k++) {
            const struct bench_row *other = &results[i].rows[k];
            if (strcmp(other->section, row->section) == 0 && strcmp(other->unit, row->unit) == 0 &&
                other->value > most)
                most = other->value;
        }
    return most > 0 ? most : 1;
}

static int put_row(FILE *file, const struct bench_result *results, unsigned n,
                   const struct bench_row *row, int y) {
    const double scale = scale_of(results, n, row);
    fprintf(file, "<text x=\"20\" y=\"%d\">", y + BAR - 2);
    xml_put(file, row->name, false);
    fprintf(file, "</text>\n");
    for (unsigned i = 0; i < n; i++, y += BAR + 2) {
        const struct bench_row *bar = bench_find(&results[i], row);
        if (!bar)
            continue;
        fprintf(file,
                "<rect class=\"r\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\"/>"
                "<rect class=\"b%u\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"2\"/>"
                "<text class=\"d\" x=\"%d\" y=\"%d\">%.3g ",
                LEFT, y, BARS, BAR, i, LEFT, y, 1 + (int)(bar->value / scale * (BARS - 1)), BAR,
                LEFT + BARS + 10, y + BAR - 2, bar->value);
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

/* Whether more or less is better is said once a section. */
static int put_section(FILE *file, const struct bench_row *row, int y) {
    fprintf(file, "<text class=\"s\" x=\"20\" y=\"%d\">", y + TITLE - 10);
    xml_put(file, row->section, false);
    fprintf(file, " <tspan class=\"d\">%s is better</tspan></text>\n",
            row->more_is_better ? "longer" : "shorter");
    return y + TITLE;
}

static int draw(FILE *file, const struct bench_result *results, unsigned n) {
    const char *section = "";
    int y = put_devices(file, results, n);
    for (unsigned i = 0; i < results[0].n; i++) {
        const struct bench_row *row = &results[0].rows[i];
        if (strcmp(section, row->section) != 0)
            y = put_section(file, row, y);
        section = row->section;
        y = put_row(file, results, n, row, y);
    }
    return y;
}

static int height_of(const struct bench_result *results, unsigned n) {
    int sections = 0;
    for (unsigned i = 0; i < results[0].n; i++)
        sections += !i || strcmp(results[0].rows[i].section, results[0].rows[i - 1].section) != 0;
    return TOP + 20 * (int)n + TITLE * sections + (int)results[0].n * ((BAR + 2) * (int)n + SPACE) +
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

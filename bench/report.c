/* SPDX-License-Identifier: MIT */
/* Prints rows as a table and as JSON, and counts missed bars. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "report.h"

#ifdef HAVE_JANSSON
#include <jansson.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "rig.h"
#include "support.h"

static const double FEW_CORES = 1.5;
static const char *program;
static FILE *json;
static unsigned missed;
static bool quick;

/* --- JSON: an object a line --- */

#ifdef HAVE_JANSSON
static void put_line(json_t *object) {
    if (json_dumpf(object, json, JSON_REAL_PRECISION(6)))
        die("a row that is no JSON");
    fputc('\n', json);
    fflush(json);
    json_decref(object);
}

/* NULL, which leaves the key out, where `there` is false. */
static json_t *number(bool there, double value) { return there ? json_real(value) : NULL; }
static json_t *pair(bool there, double a, double b) {
    return there ? json_pack("[f, f]", a, b) : NULL;
}

static void put_header(const char *date, const cls_device_info *info) {
    put_line(json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "bench", program, "date", date, "platform",
                       info->platform, "device", info->name, "driver", info->driver_version,
                       "quick", quick));
}

static void put_row(const struct row *row, bool pass) {
    const bool raw = row->rival, bar = row->bar != 0;
    const struct spread *ours = &row->ours, *theirs = &row->theirs, *ratio = &row->ratio;
    put_line(json_pack(
        "{s:s, s:s, s:s, s:f, s:o*, s:o*, s:o*, s:o*, s:o*, s:s*, s:o*, s:o*, s:o*, s:o*, s:i, s:o*, "
        "s:o*, s:s*, s:o*, s:s*}",
        "bench", program, "name", row->name, "unit", row->unit, "clstream", ours->median,
        "clstream_quartiles", pair(true, ours->low, ours->high), "clstream_range",
        pair(true, ours->least, ours->most), "raw", number(raw, theirs->median), "raw_quartiles",
        pair(raw, theirs->low, theirs->high), "raw_range", pair(raw, theirs->least, theirs->most),
        "raw_way", row->rival, "ratio", number(raw, ratio->median), "ratio_quartiles",
        pair(raw, ratio->low, ratio->high), "ratio_range", pair(raw, ratio->least, ratio->most),
        "good_rounds_ratio", number(raw, row->good_ratio), "rounds", (int)row->rounds,
        "two_threads", number(row->cores != 0, row->cores), "bar", number(bar, row->bar), "bar_is",
        !bar                ? NULL
        : row->bar_is_upper ? "at most"
                            : "at least",
        "pass", bar ? json_boolean(pass) : NULL, "excuse", row->excuse));
}
#else
static void put_header(const char *date, const cls_device_info *info) { (void)date, (void)info; }
static void put_row(const struct row *row, bool pass) { (void)row, (void)pass; }
#endif

/* --- the table --- */

void report_open(const char *name, const char *path, bool is_quick) {
    program = name;
    quick = is_quick;
#ifndef HAVE_JANSSON
    if (path)
        fprintf(stderr, "%s is not written: built without jansson\n", path);
    path = NULL;
#endif
    if (path && !(json = fopen(path, "a")))
        die("%s: cannot be written", path);
}

static void print_date(char date[32]) {
    const time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(date, 32, "%Y-%m-%d %H:%M UTC", &utc);
}

void report_header(const struct rig *rig) {
    const cls_device_info *info = &rig->info;
    char date[32];
    print_date(date);
    printf("# %s, %s%s\n# %s: %s, driver %s\n", program, date, quick ? ", quick" : "",
           info->platform, info->name, info->driver_version);
    if (json)
        put_header(date, info);
}

void bench_section(const char *title) {
    printf("\n%-44s %10s %10s %-4s %6s %13s %8s\n", title, "clstream", "raw", "", "ratio",
           "quartiles", "bar");
}

void bench_note(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("    ", stdout);
    vprintf(format, args);
    fputc('\n', stdout);
    va_end(args);
}

bool row_passes(const struct row *row) {
    const double value = row->rival ? row->ratio.median : row->ours.median;
    if (row->bar == 0)
        return true;
    return row->bar_is_upper ? value <= row->bar : value >= row->bar;
}

static void table_row(const struct row *row, bool pass) {
    printf("%-44s %10.4g ", row->name, row->ours.median);
    if (row->rival)
        printf("%10.4g %-4s %6.3f %6.3f-%-6.3f", row->theirs.median, row->unit, row->ratio.median,
               row->ratio.low, row->ratio.high);
    else
        printf("%10s %-4s %6s %6.3g-%-6.3g", "", row->unit, "", row->ours.low, row->ours.high);
    if (row->bar != 0)
        printf(" %s%5.3g %s", row->bar_is_upper ? "<=" : ">=", row->bar,
               row->excuse ? "excused"
               : pass      ? "ok"
                           : "MISSED");
    if (row->rival)
        printf("%s  [%s]", row->bar != 0 ? "" : "         ", row->rival);
    if (row->cores != 0 && row->cores < FEW_CORES)
        printf("  (two threads: %.2f)", row->cores);
    printf("%s%s\n", row->excuse ? "  " : "", row->excuse ? row->excuse : "");
    fflush(stdout);
}

bool report_row(const struct row *row) {
    const bool pass = row_passes(row);
    const bool good = pass || row->excuse;
    missed += !good;
    table_row(row, pass);
    if (json)
        put_row(row, pass);
    return good;
}

int bench_end(void) {
    if (missed)
        printf("\n# %s: %u bar%s missed\n", program, missed, missed == 1 ? "" : "s");
    else
        printf("\n# %s: every bar met\n", program);
    if (json && fclose(json))
        die("the JSON file cannot be written");
    return missed ? 1 : 0;
}

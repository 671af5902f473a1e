/* SPDX-License-Identifier: MIT */
/* Prints rows as a table and as JSON, and counts missed bars. */
#include "report.h"

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

void report_open(const char *name, const char *path, bool is_quick) {
    program = name;
    quick = is_quick;
    if (path && !(json = fopen(path, "a")))
        die("%s: cannot be written", path);
}

static void json_string(const char *key, const char *text) {
    fprintf(json, "\"%s\": ", key);
    if (!text) {
        fputs("null", json);
        return;
    }
    fputc('"', json);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', json);
        if ((unsigned char)*text >= ' ')
            fputc(*text, json);
    }
    fputc('"', json);
}

static void json_spread(const char *key, const struct spread *spread) {
    fprintf(json, ", \"%s\": %.6g, \"%s_quartiles\": [%.6g, %.6g], \"%s_range\": [%.6g, %.6g]", key,
            spread->median, key, spread->low, spread->high, key, spread->least, spread->most);
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
    if (!json)
        return;
    fputs("{", json);
    json_string("bench", program);
    fputs(", ", json);
    json_string("date", date);
    fputs(", ", json);
    json_string("platform", info->platform);
    fputs(", ", json);
    json_string("device", info->name);
    fputs(", ", json);
    json_string("driver", info->driver_version);
    fprintf(json, ", \"quick\": %s}\n", quick ? "true" : "false");
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

static void json_row(const struct row *row, bool pass) {
    fputs("{", json);
    json_string("bench", program);
    fputs(", ", json);
    json_string("name", row->name);
    fputs(", ", json);
    json_string("unit", row->unit);
    json_spread("clstream", &row->ours);
    if (row->rival) {
        json_spread("raw", &row->theirs);
        fputs(", ", json);
        json_string("raw_way", row->rival);
        json_spread("ratio", &row->ratio);
        fprintf(json, ", \"good_rounds_ratio\": %.6g", row->good_ratio);
    }
    fprintf(json, ", \"rounds\": %u", row->rounds);
    if (row->cores != 0)
        fprintf(json, ", \"two_threads\": %.3g", row->cores);
    if (row->bar != 0)
        fprintf(json, ", \"bar\": %g, \"bar_is\": \"%s\", \"pass\": %s", row->bar,
                row->bar_is_upper ? "at most" : "at least", pass ? "true" : "false");
    if (row->excuse) {
        fputs(", ", json);
        json_string("excuse", row->excuse);
    }
    fputs("}\n", json);
    fflush(json);
}

bool report_row(const struct row *row) {
    const bool pass = row_passes(row);
    const bool good = pass || row->excuse;
    missed += !good;
    table_row(row, pass);
    if (json)
        json_row(row, pass);
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

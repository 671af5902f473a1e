/* SPDX-License-Identifier: MIT */
/* Results of `clstream bench` as JSON, and back. */
#include "json.h"

#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "json_text.h"

bool json_print_bench(const struct bench_result *result) {
    json_t *rows = json_array();
    for (unsigned i = 0; i < result->n; i++) {
        const struct bench_row *row = &result->rows[i];
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:s, s:b, s:f}", "section", row->section,
                                        "name", row->name, "unit", row->unit, "more_is_better",
                                        row->more_is_better, "value", row->value));
    }
    return json_print(json_pack("{s:o, s:o, s:o, s:o}", "device", json_text(result->name),
                                "platform", json_text(result->platform), "driver",
                                json_text(result->driver), "rows", rows));
}

/* A terminal would obey control characters of somebody else's file. */
static void copy_text(char *to, size_t room, const char *from) {
    snprintf(to, room, "%s", from);
    for (; *to; to++)
        if ((unsigned char)*to < ' ' || *to == 0x7f)
            *to = '?';
}

static bool read_row(json_t *item, struct bench_row *row, struct failure *failure) {
    const char *section, *name, *unit;
    int more;
    double value;
    json_error_t error;
    if (json_unpack_ex(item, &error, 0, "{s:s, s:s, s:s, s:b, s:F}", "section", &section, "name",
                       &name, "unit", &unit, "more_is_better", &more, "value", &value))
        return fail(failure, "a row: %s", error.text);
    row->more_is_better = more;
    row->value = value;
    copy_text(row->section, sizeof row->section, section);
    copy_text(row->name, sizeof row->name, name);
    copy_text(row->unit, sizeof row->unit, unit);
    return true;
}

static bool read_result(json_t *top, struct bench_result *result, struct failure *failure) {
    const char *name, *platform, *driver;
    json_t *rows, *item;
    json_error_t error;
    size_t i;
    if (json_unpack_ex(top, &error, 0, "{s:s, s:s, s:s, s:o}", "device", &name, "platform",
                       &platform, "driver", &driver, "rows", &rows))
        return fail(failure, "%s", error.text);
    copy_text(result->name, sizeof result->name, name);
    copy_text(result->platform, sizeof result->platform, platform);
    copy_text(result->driver, sizeof result->driver, driver);
    if (!json_is_array(rows) || json_array_size(rows) == 0 || json_array_size(rows) > BENCH_ROWS)
        return fail(failure, "no array of 1 to %d rows", BENCH_ROWS);
    result->n = 0;
    json_array_foreach(rows, i,
                       item) if (!read_row(item, &result->rows[result->n++], failure)) return false;
    return true;
}

bool json_read_bench(const char *path, struct bench_result *result, struct failure *failure) {
    struct failure inner = {.set = false};
    json_t *top = json_read(path, failure);
    if (!top)
        return false;
    const bool good = read_result(top, result, &inner);
    json_decref(top);
    return good ||
           fail(failure, "%s is no result of clstream bench: %s", json_file_name(path), inner.text);
}

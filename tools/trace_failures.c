/* SPDX-License-Identifier: MIT */
/* Which commands of a trace failed by themselves, and which because of those. */
#include <stdlib.h>
#include <string.h>

#include <clstream/status.h>

#include "json_trace.h"

static const size_t LISTED = 10;

/* A command that failed, and the one that failed first. */
struct failed {
    const struct trace_record *record;
    struct trace_command cause;
};

struct trace_command trace_cause(const struct trace_record *record) {
    const json_t *pair = json_object_get(record->args, "failed_by");
    return (struct trace_command){(uint64_t)json_integer_value(json_array_get(pair, 0)),
                                  (uint64_t)json_integer_value(json_array_get(pair, 1))};
}

const char *trace_failure(const struct trace_record *record) {
    const char *status = trace_string(record->args, "status");
    return *status && strcmp(status, cls_status_string(CLS_SUCCESS)) != 0 ? status : NULL;
}

/* Whether it is its own cause. */
static bool failed_first(const struct trace_record *record) {
    const struct trace_command cause = trace_cause(record);
    return cause.stream == record->lane->place.thread &&
           cause.position == trace_number(record->args, "position");
}

bool trace_is_victim(const struct trace_record *record) {
    return trace_cause(record).stream && !failed_first(record);
}

/* By cause, the cause itself first, and then as they were sorted. */
static int by_cause(const void *left, const void *right) {
    const struct failed *a = left, *b = right;
    if (a->cause.stream != b->cause.stream)
        return a->cause.stream < b->cause.stream ? -1 : 1;
    if (a->cause.position != b->cause.position)
        return a->cause.position < b->cause.position ? -1 : 1;
    if (failed_first(a->record) != failed_first(b->record))
        return failed_first(a->record) ? -1 : 1;
    return a->record < b->record ? -1 : a->record > b->record;
}

static void put_command(FILE *file, const struct trace_record *record) {
    fputc('\'', file);
    trace_put_name(file, trace_string(record->event, "name"));
    fprintf(file, "', position %llu of stream '",
            (unsigned long long)trace_number(record->args, "position"));
    trace_put_name(file, record->lane->name);
    fputc('\'', file);
}

/* The commands of one cause, which is the first of them if it has a record. */
static void put_group(FILE *file, const struct failed *group, size_t count) {
    const bool recorded = failed_first(group->record);
    const size_t others = count - recorded;
    fprintf(file, "  %s: ", trace_string(group->record->args, "status"));
    if (recorded)
        put_command(file, group->record);
    else if (group->cause.stream)
        fprintf(file, "position %llu of stream %llu, which has no record",
                (unsigned long long)group->cause.position, (unsigned long long)group->cause.stream);
    else
        fputs("no command failed first", file);
    if (others)
        fprintf(file, "; %zu %scommand%s failed%s:", others, recorded ? "other " : "",
                others == 1 ? "" : "s", group->cause.stream ? " or did not run because of it" : "");
    fputc('\n', file);
    for (size_t i = recorded; i < count && i < LISTED + recorded; i++) {
        fputs("    ", file);
        put_command(file, group[i].record);
        fputc('\n', file);
    }
    if (others > LISTED)
        fprintf(file, "    and %zu more\n", others - LISTED);
}

static void put_groups(FILE *file, struct failed *failed, size_t count) {
    qsort(failed, count, sizeof *failed, by_cause);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count &&
                               failed[next].cause.stream == failed[first].cause.stream &&
                               failed[next].cause.position == failed[first].cause.position;)
            next++;
        put_group(file, &failed[first], next - first);
    }
}

void trace_put_failures(FILE *file, const struct trace *trace) {
    struct failed *failed = calloc(trace->n_records + 1, sizeof *failed);
    size_t count = 0;
    for (size_t i = 0; failed && i < trace->n_records; i++) {
        const struct trace_record *record = &trace->records[i];
        if (trace_is_command(record) && trace_failure(record))
            failed[count++] = (struct failed){record, trace_cause(record)};
    }
    if (count)
        fputs("\nfailures\n", file);
    if (count)
        put_groups(file, failed, count);
    free(failed);
}

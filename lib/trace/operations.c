/* SPDX-License-Identifier: MIT */
/* Statistics of commands of one label and kind, with percentiles. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/profile.h"

static int by_operation(const void *left, const void *right) {
    const cls_profile_record *a = *(const cls_profile_record *const *)left;
    const cls_profile_record *b = *(const cls_profile_record *const *)right;
    int order = strcmp(a->label, b->label);
    if (order || a->kind != b->kind)
        return order ? order : (a->kind < b->kind ? -1 : 1);
    return (duration(a) > duration(b)) - (duration(a) < duration(b));
}

static int by_time(const void *left, const void *right) {
    const cls_profile_operation *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->label, b->label);
}

/* Nearest rank: the shortest of n sorted durations that `percent` of them do not exceed. */
static uint64_t percentile(const cls_profile_record **sorted, size_t n, unsigned percent) {
    size_t rank = (n * percent + 99) / 100;
    return duration(sorted[rank ? rank - 1 : 0]);
}

static cls_profile_operation operation_of(const cls_profile_record **sorted, size_t n) {
    cls_profile_operation operation = CLS_PROFILE_OPERATION_INIT;
    memcpy(operation.label, sorted[0]->label, sizeof operation.label);
    operation.kind = sorted[0]->kind;
    operation.count = n;
    for (size_t i = 0; i < n; i++) {
        operation.bytes += sorted[i]->bytes;
        operation.total_ns += duration(sorted[i]);
        operation.small_groups += sorted[i]->small_groups != 0;
    }
    operation.mean_ns = (double)operation.total_ns / (double)n;
    operation.min_ns = duration(sorted[0]);
    operation.max_ns = duration(sorted[n - 1]);
    operation.p50_ns = percentile(sorted, n, 50);
    operation.p99_ns = percentile(sorted, n, 99);
    return operation;
}

/* The end of the run of one operation that begins at `first`. */
static size_t run_end(const cls_profile_record **sorted, size_t first, size_t n) {
    size_t end = first + 1;
    while (end < n && sorted[end]->kind == sorted[first]->kind &&
           strcmp(sorted[end]->label, sorted[first]->label) == 0)
        end++;
    return end;
}

static bool group(const cls_profile_record **found, size_t n, struct operations *out) {
    size_t count = 0;
    qsort(found, n, sizeof *found, by_operation);
    for (size_t i = 0; i < n; i = run_end(found, i, n))
        count++;
    out->items = malloc((count + 1) * sizeof *out->items);
    if (!out->items)
        return false;
    for (size_t i = 0, end; i < n; i = end) {
        end = run_end(found, i, n);
        out->items[out->count++] = operation_of(found + i, end - i);
    }
    qsort(out->items, out->count, sizeof *out->items, by_time);
    return true;
}

cls_status count_operations(struct profile *profile) {
    const cls_profile_record **found = malloc((profile->count + 1) * sizeof(void *));
    profile->operations = calloc(profile->n_streams + 1, sizeof *profile->operations);
    bool made = found && profile->operations;
    size_t all = 0, k = 0;
    for (size_t s = 0; made && s < profile->n_streams; s++) {
        size_t n = 0;
        for (; k < profile->n_commands; k++) {
            uint32_t i = profile->commands[k];
            if (profile->links[i].stream != s)
                break;
            if (!profile->records[i].status)
                found[n++] = &profile->records[i];
        }
        made = group(found, n, &profile->operations[s]);
    }
    for (size_t i = 0; made && i < profile->count; i++)
        if (is_command(&profile->records[i]) && !profile->records[i].status)
            found[all++] = &profile->records[i];
    made = made && group(found, all, &profile->operations[profile->n_streams]);
    free(found);
    return made ? CLS_SUCCESS : error_no_memory("for a profile");
}

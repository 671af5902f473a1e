/* SPDX-License-Identifier: MIT */
#include "trace/lineup.h"

#include <stdlib.h>

/* qsort passes no context: entries carry their keys. */
struct lineup_entry {
    uint64_t first, second;
    uint32_t index;
};

static int by_keys(const void *left, const void *right) {
    const struct lineup_entry *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->second != b->second)
        return a->second < b->second ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Takes over the entries. */
static bool sort_into(struct lineup *lineup, struct lineup_entry *entries, size_t n) {
    lineup->items = malloc((n + 1) * sizeof *lineup->items);
    lineup->count = lineup->items ? n : 0;
    if (lineup->items)
        qsort(entries, n, sizeof *entries, by_keys);
    for (size_t i = 0; i < lineup->count; i++)
        lineup->items[i] = entries[i].index;
    free(entries);
    return lineup->items;
}

bool lineup_by_place(struct lineup *lineup, const cls_profile_record *records, size_t count) {
    struct lineup_entry *entries = malloc((count + 1) * sizeof *entries);
    size_t n = 0;
    for (uint32_t i = 0; entries && i < count; i++)
        if (is_command(&records[i]))
            entries[n++] = (struct lineup_entry){records[i].stream, records[i].position, i};
    return entries && sort_into(lineup, entries, n);
}

bool lineup_by_submission(struct lineup *lineup, const cls_profile_record *records,
                          const struct lineup *from) {
    struct lineup_entry *entries = malloc((from->count + 1) * sizeof *entries);
    for (size_t i = 0; entries && i < from->count; i++) {
        const cls_profile_record *record = &records[from->items[i]];
        entries[i] = (struct lineup_entry){record->queued_ns, record->position, from->items[i]};
    }
    return entries && sort_into(lineup, entries, from->count);
}

uint32_t lineup_find(const struct lineup *lineup, const cls_profile_record *records,
                     uint64_t stream, uint64_t position) {
    size_t low = 0, high = lineup->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const cls_profile_record *at = &records[lineup->items[middle]];
        if (at->stream > stream || (at->stream == stream && at->position > position))
            high = middle;
        else
            low = middle + 1;
    }
    if (!low || records[lineup->items[low - 1]].stream != stream)
        return NO_INDEX;
    return lineup->items[low - 1];
}

/* SPDX-License-Identifier: MIT */
/* How long groups of commands ran at once; clstream/profiler.h has the formulas. */
#include <stdlib.h>

#include "base/error.h"
#include "trace/profile.h"

/* About a second, at 20 ns a record and pair. */
static const size_t MAX_RECORDS_OF_PAIRS = 50000000;

size_t pairs_compared(const struct profile *profile) {
    return MAX_RECORDS_OF_PAIRS / (profile->count + 1) + 1;
}

static bool is_in(const struct profile *profile, size_t i, const struct record_group *group) {
    const cls_profile_record *record = &profile->records[i];
    return is_work(record) &&
           (group->stream == NO_INDEX || group->stream == profile->links[i].stream) &&
           (group->kind < 0 || (cls_command_kind)group->kind == record->kind);
}

static bool is_in_either(const struct profile *profile, size_t i, const struct record_group *a,
                         const struct record_group *b) {
    return is_in(profile, i, a) || is_in(profile, i, b);
}

/* Records are sorted by start, so a union needs no more than its end so far. */
uint64_t group_busy(const struct profile *profile, const struct record_group *a,
                    const struct record_group *b) {
    uint64_t busy = 0, until = 0;
    for (size_t i = 0; i < profile->count; i++) {
        const cls_profile_record *record = &profile->records[i];
        if (!is_in_either(profile, i, a, b) || record->end_ns <= until)
            continue;
        busy += record->end_ns - (record->start_ns > until ? record->start_ns : until);
        until = record->end_ns;
    }
    return busy;
}

uint64_t group_sum(const struct profile *profile, const struct record_group *group) {
    uint64_t sum = 0;
    for (size_t i = 0; i < profile->count; i++)
        if (is_in(profile, i, group))
            sum += duration(&profile->records[i]);
    return sum;
}

static uint64_t longest_before(const struct link *link, const uint64_t *chain) {
    uint64_t longest = link->previous == NO_INDEX ? 0 : chain[link->previous];
    for (unsigned k = 0; k < CLS_PROFILE_DEPENDENCIES; k++)
        if (link->waits[k] != NO_INDEX && chain[link->waits[k]] > longest)
            longest = chain[link->waits[k]];
    return longest;
}

cls_status group_chain(const struct profile *profile, const struct record_group *a,
                       const struct record_group *b, uint64_t *ns) {
    uint64_t longest = 0, *chain = calloc(profile->count + 1, sizeof *chain);
    if (!chain)
        return error_no_memory("to follow the dependencies");
    for (size_t k = 0; k < profile->n_commands; k++) {
        uint32_t i = profile->order[k];
        uint64_t own = is_in_either(profile, i, a, b) ? duration(&profile->records[i]) : 0;
        chain[i] = own + longest_before(&profile->links[i], chain);
        if (chain[i] > longest)
            longest = chain[i];
    }
    free(chain);
    *ns = longest;
    return CLS_SUCCESS;
}

static bool same_group(const struct record_group *a, const struct record_group *b) {
    return a->stream == b->stream && a->kind == b->kind;
}

static uint64_t min3(uint64_t a, uint64_t b, uint64_t c) {
    uint64_t least = a < b ? a : b;
    return least < c ? least : c;
}

cls_status group_overlap(const struct profile *profile, const struct record_group *a,
                         const struct record_group *b, cls_profile_overlap *out) {
    uint64_t chain, possible;
    cls_status status = group_chain(profile, a, b, &chain);
    if (status)
        return status;
    bool same = same_group(a, b);
    uint64_t in_a = same ? group_sum(profile, a) : group_busy(profile, a, a);
    uint64_t in_b = same ? in_a : group_busy(profile, b, b);
    uint64_t both = same ? in_a : in_a + in_b;
    uint64_t overlap = both - group_busy(profile, a, b);
    possible = both > chain ? min3(in_a, in_b, both - chain) : 0;
    if (possible < overlap)
        possible = overlap;
    out->busy_ns[0] = in_a;
    out->busy_ns[1] = in_b;
    out->overlap_ns = overlap;
    out->possible_ns = possible;
    out->achieved = possible ? (double)overlap / (double)possible : 1;
    return CLS_SUCCESS;
}

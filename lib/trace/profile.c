/* SPDX-License-Identifier: MIT */
#include "trace/profile.h"

#include <stdlib.h>

#include "base/error.h"

static const struct record_group all = {NO_INDEX, -1};

static void add_total(cls_profile_total *total, const cls_profile_record *record) {
    total->count++;
    total->bytes += record->bytes;
    total->total_ns += duration(record);
}

static void count_command(cls_profile_stream *stream, cls_profile_summary *summary,
                          const cls_profile_record *record) {
    stream->commands++;
    if (record->status) {
        stream->failed++;
        summary->failed++;
    } else {
        add_total(&stream->kinds[record->kind], record);
        add_total(&summary->kinds[record->kind], record);
    }
    if (!stream->begin_ns || record->start_ns < stream->begin_ns)
        stream->begin_ns = record->start_ns;
    if (record->end_ns > stream->end_ns)
        stream->end_ns = record->end_ns;
    if (record->memory > stream->memory_peak)
        stream->memory_peak = record->memory;
    if (record->memory > summary->memory_peak)
        summary->memory_peak = record->memory;
    /* The sum, until all are counted. */
    stream->latency_ns += (double)(record->end_ns - record->queued_ns);
}

/* Records come by start, so that a stream's union needs no more than its end so far. */
static void count_busy(cls_profile_stream *stream, uint64_t *until,
                       const cls_profile_record *record) {
    if (!is_work(record) || record->end_ns <= *until)
        return;
    stream->busy_ns += record->end_ns - (record->start_ns > *until ? record->start_ns : *until);
    *until = record->end_ns;
}

static cls_status count_records(struct profile *profile) {
    cls_profile_summary *summary = &profile->summary;
    uint64_t *until = calloc(profile->n_streams + 1, sizeof *until);
    if (!until)
        return error_no_memory("for a profile");
    summary->records = profile->count;
    summary->streams = profile->n_streams;
    for (size_t i = 0; i < profile->count; i++) {
        const cls_profile_record *record = &profile->records[i];
        if (!i || record->queued_ns < summary->begin_ns)
            summary->begin_ns = record->queued_ns;
        if (record->end_ns > summary->end_ns)
            summary->end_ns = record->end_ns;
        if (!is_command(record))
            continue;
        uint32_t s = profile->links[i].stream;
        count_command(&profile->streams[s], summary, record);
        count_busy(&profile->streams[s], &until[s], record);
    }
    for (size_t s = 0; s < profile->n_streams; s++)
        profile->streams[s].latency_ns /= (double)profile->streams[s].commands;
    free(until);
    return CLS_SUCCESS;
}

static double ratio(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0; }

static cls_status find_concurrency(struct profile *profile) {
    cls_profile_summary *summary = &profile->summary;
    cls_status status = group_chain(profile, &all, &all, &summary->critical_ns);
    if (status)
        return status;
    summary->work_ns = group_sum(profile, &all);
    summary->busy_ns = group_busy(profile, &all, &all);
    summary->concurrency = ratio(summary->work_ns, summary->busy_ns);
    summary->possible_concurrency = ratio(summary->work_ns, summary->critical_ns);
    return CLS_SUCCESS;
}

cls_status profile_build(struct profile *profile, const struct evidence *evidence) {
    profile->summary = (cls_profile_summary)CLS_PROFILE_SUMMARY_INIT;
    profile->summary.dropped = evidence->dropped;
    cls_status status = map_records(profile, evidence);
    if (!status)
        status = link_records(profile, evidence);
    if (!status)
        status = count_records(profile);
    if (!status)
        status = find_holds(profile);
    if (!status)
        status = find_concurrency(profile);
    return status ? status : count_operations(profile);
}

void profile_free(struct profile *profile) {
    for (size_t i = 0; profile->operations && i <= profile->n_streams; i++)
        free(profile->operations[i].items);
    free(profile->operations);
    free(profile->streams);
    free(profile->order);
    free(profile->commands);
    free(profile->links);
    free(profile->records);
}

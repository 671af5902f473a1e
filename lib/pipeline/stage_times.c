/* SPDX-License-Identifier: MIT */
/*
 * Times of stages, measured by timed events around each run of a stage, relative to one base event. The
 * events of TIMED_ROUNDS iterations are in use at most. Their times are read when somebody needs them; an
 * iteration that would need the events of one that is not done yet is not timed.
 */
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "pipeline/pipeline.h"
#include "pipeline/stages.h"

bool times_mark(struct pipeline *pipeline, cls_event *event, cls_stream stream) {
    const cls_event_config timed = {.size = sizeof timed, .timed = 1};
    if (!*event && pipeline_event(pipeline->context, &timed, "a pipeline", event))
        return false;
    return !cls_event_record(*event, stream);
}

/* Before the first round. The unions store parts of the last TIMED_ROUNDS rounds and of the one that is
 * added: when a round is submitted, the one TIMED_ROUNDS before it is done, and everything up to its end can
 * be folded. */
static bool prepare(struct pipeline *pipeline) {
    const unsigned room = (TIMED_ROUNDS + 1) * pipeline->n_stages;
    pthread_mutex_lock(&pipeline->lock);
    const bool reserved = interval_union_reserve(&pipeline->worked, room) &&
                          interval_union_reserve(&pipeline->unknown, room);
    pthread_mutex_unlock(&pipeline->lock);
    return reserved &&
           times_mark(pipeline, &pipeline->base, pipeline->stages[pipeline->order[0]]->stream);
}

int times_begin(struct pipeline *pipeline) {
    if (!pipeline->timed || (!pipeline->timed_to && !prepare(pipeline)))
        return -1;
    pthread_mutex_lock(&pipeline->lock);
    if (pipeline->timed_to - pipeline->timed_from == TIMED_ROUNDS)
        times_harvest(pipeline);
    const bool room = pipeline->timed_to - pipeline->timed_from < TIMED_ROUNDS;
    pthread_mutex_unlock(&pipeline->lock);
    return room ? (int)(pipeline->timed_to % TIMED_ROUNDS) : -1;
}

void times_end(struct pipeline *pipeline, int round) {
    if (round < 0)
        return;
    pthread_mutex_lock(&pipeline->lock);
    pipeline->numbers[round] = pipeline->iterations;
    pipeline->timed_to++;
    pthread_mutex_unlock(&pipeline->lock);
}

/* The intervals of a round, in the order of the stages; CLS_NOT_READY, or an error, when one is not done
 * or failed. */
static cls_status read_round(const struct pipeline *pipeline, unsigned round,
                             struct interval *intervals) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < pipeline->n_stages && !status; i++) {
        const struct span *span = &pipeline->stages[i]->spans[round];
        status = cls_event_elapsed(pipeline->base, span->start, &intervals[i].start);
        if (!status)
            status = cls_event_elapsed(pipeline->base, span->end, &intervals[i].end);
    }
    return status;
}

/* Independent stages start in any order. */
static double earliest(const struct interval *intervals, unsigned n) {
    double start = intervals[0].start;
    for (unsigned i = 1; i < n; i++)
        start = intervals[i].start < start ? intervals[i].start : start;
    return start;
}

/* `next`: the iteration before was timed too. Otherwise it is unknown when the stage worked since its last
 * timed run. */
static void add_to_stage(struct pipeline *pipeline, struct stage *stage, struct interval run,
                         bool next) {
    const struct interval since = {stage->runs ? stage->last_end : run.start, run.start};
    if (run.end > run.start)
        stage->busy += run.end - run.start;
    if (next && since.end > since.start)
        stage->waited += since.end - since.start;
    if (!next)
        interval_union_add(&pipeline->unknown, since);
    interval_union_add(&pipeline->unknown, run);
    interval_union_add(&pipeline->worked, run);
    stage->last_end = run.end;
    stage->runs++;
}

static void begin_first(struct pipeline *pipeline, const struct interval *intervals,
                        uint64_t number) {
    const double start = earliest(intervals, pipeline->n_stages);
    pipeline->first_start = pipeline->last_end = start;
    pipeline->first_number = number;
    interval_union_begin(&pipeline->worked, start);
    interval_union_begin(&pipeline->unknown, start);
}

/* No later run of a stage, and no time between, begins before its last end. */
static void fold_times(struct pipeline *pipeline) {
    double least = pipeline->stages[0]->last_end;
    for (unsigned i = 1; i < pipeline->n_stages; i++)
        if (pipeline->stages[i]->last_end < least)
            least = pipeline->stages[i]->last_end;
    interval_union_fold(&pipeline->worked, least);
    interval_union_fold(&pipeline->unknown, least);
}

static void add_round(struct pipeline *pipeline, const struct interval *intervals,
                      uint64_t number) {
    const bool next = !pipeline->rounds || number == pipeline->last_number + 1;
    if (!pipeline->rounds++)
        begin_first(pipeline, intervals, number);
    pipeline->last_number = number;
    for (unsigned i = 0; i < pipeline->n_stages; i++) {
        add_to_stage(pipeline, pipeline->stages[i], intervals[i], next);
        if (intervals[i].end > pipeline->last_end)
            pipeline->last_end = intervals[i].end;
    }
    fold_times(pipeline);
}

void times_harvest(struct pipeline *pipeline) {
    struct interval intervals[CLS_PIPELINE_MAX_STAGES];
    for (; pipeline->timed_from < pipeline->timed_to; pipeline->timed_from++) {
        const unsigned round = (unsigned)(pipeline->timed_from % TIMED_ROUNDS);
        const cls_status status = read_round(pipeline, round, intervals);
        if (status == CLS_NOT_READY)
            break;
        if (!status)
            add_round(pipeline, intervals, pipeline->numbers[round]);
    }
}

void times_forget(struct pipeline *pipeline) {
    pipeline->timed_from = pipeline->timed_to = pipeline->rounds = 0;
    for (unsigned i = 0; i < pipeline->n_stages; i++) {
        struct stage *stage = pipeline->stages[i];
        stage->runs = 0;
        stage->busy = stage->waited = stage->last_end = 0;
    }
}

/* --- for the caller --- */

static const struct stage *busiest(const struct pipeline *pipeline) {
    const struct stage *most = pipeline->stages[0];
    for (unsigned i = 1; i < pipeline->n_stages; i++)
        if (pipeline->stages[i]->busy > most->busy)
            most = pipeline->stages[i];
    return most;
}

static void summarize(const struct pipeline *pipeline, cls_pipeline_statistics *out) {
    const double span = pipeline->last_end - pipeline->first_start;
    const double worked = interval_union_length(&pipeline->worked);
    const double known = span - (interval_union_length(&pipeline->unknown) - worked);
    *out = (cls_pipeline_statistics)CLS_PIPELINE_STATISTICS_INIT;
    out->iterations = pipeline->iterations;
    out->timed = pipeline->rounds;
    if (!pipeline->rounds || span <= 0)
        return;
    out->average_ms = span / (double)(pipeline->last_number - pipeline->first_number + 1);
    out->per_second = 1e3 / out->average_ms;
    out->utilisation = worked < known ? worked / known : 1;
    memcpy(out->bottleneck, busiest(pipeline)->name, sizeof out->bottleneck);
}

cls_status cls_pipeline_get_statistics(cls_pipeline handle, cls_pipeline_statistics *out) {
    cls_pipeline_statistics now;
    struct pipeline *pipeline;
    cls_status status = SIZED_CHECK(cls_pipeline_statistics, out);
    if (!status)
        status = pipeline_get(handle, &pipeline);
    if (status)
        return status;
    pthread_mutex_lock(&pipeline->lock);
    times_harvest(pipeline);
    summarize(pipeline, &now);
    SIZED_OUT(cls_pipeline_statistics, out, &now);
    pthread_mutex_unlock(&pipeline->lock);
    return pipeline_put(pipeline, CLS_SUCCESS);
}

static void summarize_stage(const struct stage *stage, cls_stage_statistics *out) {
    *out = (cls_stage_statistics)CLS_STAGE_STATISTICS_INIT;
    out->runs = stage->runs;
    out->busy_ms = stage->busy;
    out->wait_ms = stage->waited;
    out->average_ms = stage->runs ? stage->busy / (double)stage->runs : 0;
}

cls_status cls_pipeline_get_stage_statistics(cls_pipeline handle, const char *name,
                                             cls_stage_statistics *out) {
    cls_stage_statistics now;
    struct pipeline *pipeline;
    if (!name)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pipeline_get_stage_statistics: a null name");
    cls_status status = SIZED_CHECK(cls_stage_statistics, out);
    if (!status)
        status = pipeline_get(handle, &pipeline);
    if (status)
        return status;
    pthread_mutex_lock(&pipeline->lock);
    times_harvest(pipeline);
    const int found = pipeline_find_stage(pipeline, name);
    if (found < 0)
        status = error_set(CLS_ERROR_NOT_FOUND, "the pipeline has no stage '%s'", name);
    if (!status) {
        summarize_stage(pipeline->stages[found], &now);
        SIZED_OUT(cls_stage_statistics, out, &now);
    }
    pthread_mutex_unlock(&pipeline->lock);
    return pipeline_put(pipeline, status);
}

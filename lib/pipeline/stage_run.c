/* SPDX-License-Identifier: MIT */
/* Submits iterations. The lock is not held while a stage's function runs; `executing` keeps other threads
 * from the copies and the times meanwhile. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "pipeline/internals.h"
#include "pipeline/pipeline.h"
#include "pipeline/stages.h"

/* --- order between stages --- */

/* Later work of the stream runs behind the accesses of a set of stages. */
static cls_status wait_for(const struct copy *copy, uint32_t stages, cls_stream stream) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < CLS_PIPELINE_MAX_STAGES && !status; i++)
        if (stages & UINT32_C(1) << i)
            status = cls_stream_wait_event(stream, copy->event[i]);
    return status;
}

/* Records the stage's access to a copy. A stage has one event per copy, recorded again by its next access. */
static cls_status note(const struct pipeline *pipeline, struct copy *copy, unsigned stage,
                       bool writes) {
    const uint32_t bit = UINT32_C(1) << stage;
    cls_status status = CLS_SUCCESS;
    if (!copy->event[stage])
        status = pipeline_event(pipeline->context, NULL, "a pipeline", &copy->event[stage]);
    if (!status)
        status = cls_event_record(copy->event[stage], pipeline->stages[stage]->stream);
    if (status)
        return status;
    copy->writer = writes ? bit : copy->writer;
    copy->users = writes ? bit : copy->users | bit;
    return CLS_SUCCESS;
}

/* --- one stage --- */

static struct copy *input_copy(const struct pipeline *pipeline, unsigned buffer) {
    const struct stage_buffer *b = pipeline->buffers[buffer];
    const unsigned now = (unsigned)(pipeline->iterations % b->n_copies);
    const bool last = b->kind == CLS_PIPELINE_FEEDBACK;
    return &b->copies[last ? (now + b->n_copies - 1) % b->n_copies : now];
}

static struct copy *output_copy(const struct pipeline *pipeline, unsigned buffer) {
    const struct stage_buffer *b = pipeline->buffers[buffer];
    return &b->copies[pipeline->iterations % b->n_copies];
}

struct access {
    struct copy *inputs[MOST_STAGE_BUFFERS], *outputs[MOST_STAGE_BUFFERS];
    cls_buffer in[MOST_STAGE_BUFFERS], out[MOST_STAGE_BUFFERS];
};

static cls_status wait_for_all(const struct pipeline *pipeline, const struct stage *stage,
                               struct access *access) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < stage->n_inputs && !status; i++) {
        access->inputs[i] = input_copy(pipeline, stage->inputs[i]);
        access->in[i] = access->inputs[i]->buffer;
        status = wait_for(access->inputs[i], access->inputs[i]->writer, stage->stream);
    }
    for (unsigned i = 0; i < stage->n_outputs && !status; i++) {
        access->outputs[i] = output_copy(pipeline, stage->outputs[i]);
        access->out[i] = access->outputs[i]->buffer;
        status = wait_for(access->outputs[i], access->outputs[i]->users, stage->stream);
    }
    return status;
}

static cls_status note_all(const struct pipeline *pipeline, unsigned index,
                           const struct access *access) {
    const struct stage *stage = pipeline->stages[index];
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < stage->n_inputs && !status; i++)
        status = note(pipeline, access->inputs[i], index, false);
    for (unsigned i = 0; i < stage->n_outputs && !status; i++)
        status = note(pipeline, access->outputs[i], index, true);
    return status;
}

static cls_status launch(const struct stage *stage, const struct access *access) {
    cls_arg args[3 * MOST_STAGE_BUFFERS];
    unsigned n = 0;
    for (unsigned i = 0; i < stage->n_inputs; i++)
        args[n++] = cls_arg_buffer(access->in[i]);
    for (unsigned i = 0; i < stage->n_outputs; i++)
        args[n++] = cls_arg_buffer(access->out[i]);
    for (unsigned i = 0; i < stage->n_args; i++)
        args[n++] = stage->args[i];
    return cls_kernel_launch_async(stage->kernel, &stage->launch, args, n, stage->stream);
}

static cls_status call(const struct pipeline *pipeline, const struct stage *stage,
                       const struct access *access) {
    const cls_stage_run run = {.stream = stage->stream,
                               .iteration = pipeline->iterations,
                               .inputs = access->in,
                               .outputs = access->out,
                               .n_inputs = stage->n_inputs,
                               .n_outputs = stage->n_outputs,
                               .launch = stage->launch};
    if (!stage->fn)
        return launch(stage, access);
    char whose[sizeof stage->name + 8];
    const unsigned long before = error_count();
    const cls_status status = stage->fn(&run, stage->arg);
    if (!status)
        return CLS_SUCCESS;
    snprintf(whose, sizeof whose, "stage '%s'", stage->name);
    return pipeline_returned(status, before, whose);
}

static cls_status run_stage(struct pipeline *pipeline, unsigned index, int *round) {
    struct stage *stage = pipeline->stages[index];
    struct access access;
    cls_status status = wait_for_all(pipeline, stage, &access);
    if (status)
        return status;
    struct span *span = *round >= 0 ? &stage->spans[*round] : NULL;
    if (span && !times_mark(pipeline, &span->start, stage->stream))
        *round = -1;
    status = call(pipeline, stage, &access);
    if (span && *round >= 0 && (status || !times_mark(pipeline, &span->end, stage->stream)))
        *round = -1;
    /* Also after a failure: the function may have submitted work that later stages must wait for. */
    cls_status noted = note_all(pipeline, index, &access);
    status = status ? status : noted;
    return !status && pipeline->in_place ? cls_stream_synchronize(stage->stream) : status;
}

/* --- an iteration --- */

static cls_status check_idle(const struct pipeline *pipeline) {
    if (!pipeline->executing)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_STATE,
                     "another thread is submitting iteration %llu of the pipeline, or resets it",
                     (unsigned long long)pipeline->iterations);
}

/* Before any stage has submitted something. */
static cls_status check_streams(const struct pipeline *pipeline) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < pipeline->n_stages && !status; i++)
        status = pipeline_check_users_stream(pipeline->stages[i]->stream, pipeline->context,
                                             "a pipeline");
    return status;
}

static cls_status begin(struct pipeline *pipeline) {
    cls_status status = check_idle(pipeline);
    if (!status && !pipeline->n_stages)
        status = error_set(CLS_ERROR_INVALID_STATE, "the pipeline has no stages to execute");
    if (!status)
        status = check_streams(pipeline);
    if (status)
        return status;
    if (!pipeline->ordered)
        status = pipeline_check_order(pipeline, pipeline->order);
    if (status)
        return status;
    pipeline->ordered = pipeline->executing = true;
    return CLS_SUCCESS;
}

static cls_status iterate(struct pipeline *pipeline) {
    int round = times_begin(pipeline);
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < pipeline->n_stages && !status; i++)
        status = run_stage(pipeline, pipeline->order[i], &round);
    if (!status)
        times_end(pipeline, round);
    return status;
}

cls_status cls_pipeline_execute_iteration(cls_pipeline handle) {
    struct pipeline *pipeline;
    cls_status status = pipeline_get(handle, &pipeline);
    if (status)
        return status;
    if (pipeline->in_place)
        status = pipeline_may_block();
    if (status)
        return pipeline_put(pipeline, status);
    pthread_mutex_lock(&pipeline->lock);
    status = begin(pipeline);
    pthread_mutex_unlock(&pipeline->lock);
    if (status)
        return pipeline_put(pipeline, status);
    status = iterate(pipeline);
    pthread_mutex_lock(&pipeline->lock);
    pipeline->executing = false;
    pipeline->iterations++;
    pthread_mutex_unlock(&pipeline->lock);
    return pipeline_put(pipeline, status);
}

/* --- all of them --- */

static cls_status synchronize(struct pipeline *pipeline) {
    cls_stream streams[CLS_PIPELINE_MAX_STAGES];
    cls_status first = CLS_SUCCESS;
    pthread_mutex_lock(&pipeline->lock);
    const unsigned n = pipeline->n_stages;
    for (unsigned i = 0; i < n; i++)
        streams[i] = pipeline->stages[i]->stream;
    pthread_mutex_unlock(&pipeline->lock);
    for (unsigned i = 0; i < n; i++) {
        const cls_status status = cls_stream_synchronize(streams[i]);
        first = first ? first : status;
    }
    return first;
}

cls_status cls_pipeline_synchronize(cls_pipeline handle) {
    struct pipeline *pipeline;
    cls_status status = pipeline_may_block();
    if (!status)
        status = pipeline_get(handle, &pipeline);
    return status ? status : pipeline_put(pipeline, synchronize(pipeline));
}

/* After a synchronization: later iterations need not wait for earlier ones. */
static void forget_accesses(struct pipeline *pipeline) {
    for (unsigned i = 0; i < pipeline->n_buffers; i++)
        for (unsigned k = 0; k < pipeline->buffers[i]->n_copies; k++)
            pipeline->buffers[i]->copies[k].writer = pipeline->buffers[i]->copies[k].users = 0;
}

/* Keeps iterations and new stages out by `executing`, not by the lock: host functions that still run may use the
 * pipeline. */
static cls_status begin_reset(struct pipeline *pipeline) {
    cls_status status = check_idle(pipeline);
    if (!status)
        pipeline->executing = true;
    return status;
}

static cls_status reset_streams(const struct pipeline *pipeline) {
    cls_status first = CLS_SUCCESS;
    for (unsigned i = 0; i < pipeline->n_stages; i++) {
        const struct stage *stage = pipeline->stages[i];
        const cls_status status =
            stage->owns_stream ? cls_stream_reset(stage->stream) : CLS_SUCCESS;
        first = first ? first : status;
    }
    return first;
}

static void end_reset(struct pipeline *pipeline) {
    forget_accesses(pipeline);
    times_forget(pipeline);
    pipeline->iterations = 0;
    pipeline->executing = false;
}

static cls_status reset(struct pipeline *pipeline) {
    pthread_mutex_lock(&pipeline->lock);
    cls_status status = begin_reset(pipeline);
    pthread_mutex_unlock(&pipeline->lock);
    if (status)
        return status;
    synchronize(pipeline);
    status = reset_streams(pipeline);
    pthread_mutex_lock(&pipeline->lock);
    end_reset(pipeline);
    pthread_mutex_unlock(&pipeline->lock);
    return status;
}

cls_status cls_pipeline_reset(cls_pipeline handle) {
    struct pipeline *pipeline;
    cls_status status = pipeline_may_block();
    if (!status)
        status = pipeline_get(handle, &pipeline);
    return status ? status : pipeline_put(pipeline, reset(pipeline));
}

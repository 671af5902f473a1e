/* SPDX-License-Identifier: MIT */
/* Pipelines as objects: create and destroy, add buffers and stages. */
#include "pipeline/stages.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/buffer.h>

#include "base/error.h"
#include "base/process.h"
#include "base/sized.h"
#include "pipeline/internals.h"
#include "pipeline/pipeline.h"

static void free_buffer(struct stage_buffer *buffer) {
    for (unsigned i = 0; buffer->copies && i < buffer->n_copies; i++) {
        struct copy *copy = &buffer->copies[i];
        if (buffer->owned && copy->buffer)
            buffer_destroy_owned(copy->buffer);
        for (unsigned k = 0; k < CLS_PIPELINE_MAX_STAGES; k++)
            if (copy->event[k])
                cls_event_destroy(copy->event[k]);
    }
    free(buffer->copies);
    free(buffer);
}

static void free_stage(struct stage *stage) {
    for (unsigned i = 0; i < TIMED_ROUNDS; i++) {
        if (stage->spans[i].start)
            cls_event_destroy(stage->spans[i].start);
        if (stage->spans[i].end)
            cls_event_destroy(stage->spans[i].end);
    }
    if (stage->owns_stream)
        stream_destroy_owned(stage->stream);
    free((void *)(uintptr_t)stage->launch.reaches);
    free(stage);
}

static void pipeline_finalize(struct object *object) {
    struct pipeline *pipeline = (struct pipeline *)(void *)object;
    for (unsigned i = 0; i < pipeline->n_stages; i++)
        free_stage(pipeline->stages[i]);
    for (unsigned i = 0; i < pipeline->n_buffers; i++)
        free_buffer(pipeline->buffers[i]);
    interval_union_free(&pipeline->worked);
    interval_union_free(&pipeline->unknown);
    if (pipeline->base)
        cls_event_destroy(pipeline->base);
    if (pipeline->alive)
        cls_event_destroy(pipeline->alive);
    pthread_mutex_destroy(&pipeline->lock);
}

struct object_pool pipeline_pool =
    OBJECT_POOL(19, sizeof(struct pipeline), "pipeline", pipeline_finalize);

cls_status pipeline_get(cls_pipeline handle, struct pipeline **out) {
    struct pipeline *pipeline = object_acquire(&pipeline_pool, handle);
    if (!pipeline)
        return object_invalid(&pipeline_pool, handle);
    cls_status status = cls_event_query(pipeline->alive);
    if (status)
        object_release(&pipeline->object);
    else
        *out = pipeline;
    return status;
}

cls_status pipeline_put(struct pipeline *pipeline, cls_status status) {
    object_release(&pipeline->object);
    return status;
}

static cls_status create(cls_context context, const cls_pipeline_config *given, bool in_place,
                         cls_pipeline *out) {
    cls_pipeline_config config = CLS_PIPELINE_CONFIG_INIT;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pipeline_create: out is null");
    cls_status status = SIZED_IN(cls_pipeline_config, &config, given);
    if (!status)
        status = process_enter();
    if (status)
        return status;
    if (config.depth > CLS_PIPELINE_MAX_DEPTH)
        return error_set(CLS_ERROR_INVALID_VALUE, "a pipeline's depth is at most %d, not %u",
                         CLS_PIPELINE_MAX_DEPTH, config.depth);
    struct pipeline *pipeline = object_create(&pipeline_pool);
    if (!pipeline || pthread_mutex_init(&pipeline->lock, NULL)) {
        if (pipeline)
            object_abandon(&pipeline->object);
        return object_none(&pipeline_pool, "a pipeline");
    }
    pipeline->depth = config.depth ? config.depth : 2;
    pipeline->timed = !config.untimed;
    pipeline->in_place = in_place;
    cls_stream ignored;
    status = pipeline_context(context, &pipeline->context, &ignored);
    if (!status)
        status = pipeline_event(pipeline->context, NULL, "a pipeline", &pipeline->alive);
    if (status)
        return pipeline_put(pipeline, status);
    *out = object_handle(&pipeline->object);
    return CLS_SUCCESS;
}

cls_status cls_pipeline_create(cls_context context, const cls_pipeline_config *config,
                               cls_pipeline *out) {
    return create(context, config, false, out);
}

cls_status pipeline_create_in_place(cls_context context, const cls_pipeline_config *config,
                                    cls_pipeline *out) {
    return create(context, config, true, out);
}

cls_status cls_pipeline_destroy(cls_pipeline handle) {
    return object_destroy(&pipeline_pool, handle) ? CLS_SUCCESS
                                                  : object_invalid(&pipeline_pool, handle);
}

int pipeline_find_stage(const struct pipeline *pipeline, const char *name) {
    for (unsigned i = 0; i < pipeline->n_stages; i++)
        if (!strcmp(pipeline->stages[i]->name, name))
            return (int)i;
    return -1;
}

int pipeline_find_buffer(const struct pipeline *pipeline, const char *name) {
    for (unsigned i = 0; i < pipeline->n_buffers; i++)
        if (!strcmp(pipeline->buffers[i]->name, name))
            return (int)i;
    return -1;
}

static cls_status check_name(const char *call, const char *name) {
    if (!name || !*name)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: the name is %s", call,
                         name ? "empty" : "null");
    if (strnlen(name, NAME_BYTES) == NAME_BYTES)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: a name has at most %d bytes: '%.*s...'",
                         call, NAME_BYTES - 1, NAME_BYTES - 1, name);
    return CLS_SUCCESS;
}

/* Under the lock: the pipeline may still be built. */
static cls_status check_building(const struct pipeline *pipeline) {
    if (pipeline->iterations || pipeline->executing)
        return error_set(CLS_ERROR_INVALID_STATE, "the pipeline has already executed an iteration");
    return CLS_SUCCESS;
}

/* --- buffers --- */

static cls_status make_copies(struct pipeline *pipeline, struct stage_buffer *buffer, size_t bytes,
                              cls_buffer given) {
    cls_status status = CLS_SUCCESS;
    buffer->owned = !given;
    buffer->copies = calloc(given ? 1 : pipeline->depth, sizeof *buffer->copies);
    if (!buffer->copies)
        return error_no_memory("for a pipeline's buffer");
    buffer->n_copies = given ? 1 : pipeline->depth;
    for (unsigned i = 0; i < buffer->n_copies && !status; i++) {
        buffer->copies[i].buffer = given;
        if (!given)
            status = buffer_create_owned(pipeline->context, bytes, "a pipeline",
                                         &buffer->copies[i].buffer);
    }
    return status;
}

static cls_status add_buffer(struct pipeline *pipeline, const char *name, size_t bytes,
                             cls_buffer given, cls_pipeline_buffer_kind kind) {
    cls_status status = check_building(pipeline);
    if (status)
        return status;
    if (pipeline_find_buffer(pipeline, name) >= 0)
        return error_set(CLS_ERROR_INVALID_VALUE, "the pipeline already has a buffer '%s'", name);
    if (pipeline->n_buffers == CLS_PIPELINE_MAX_BUFFERS)
        return error_set(CLS_ERROR_LIMIT, "a pipeline has at most %u buffers", pipeline->n_buffers);
    struct stage_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return error_no_memory("for a pipeline's buffer");
    strcpy(buffer->name, name);
    buffer->kind = kind;
    status = make_copies(pipeline, buffer, bytes, given);
    if (status)
        free_buffer(buffer);
    else
        pipeline->buffers[pipeline->n_buffers++] = buffer;
    return status;
}

cls_status cls_pipeline_add_buffer(cls_pipeline handle, const char *name, size_t bytes,
                                   cls_buffer buffer, cls_pipeline_buffer_kind kind) {
    struct pipeline *pipeline;
    size_t size;
    cls_status status = check_name("cls_pipeline_add_buffer", name);
    if (status)
        return status;
    if ((int)kind < CLS_PIPELINE_INTERNAL || kind > CLS_PIPELINE_FEEDBACK)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pipeline_add_buffer: no such kind, %d",
                         (int)kind);
    if (!buffer && !bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pipeline_add_buffer: a buffer of 0 bytes");
    status = pipeline_get(handle, &pipeline);
    if (status)
        return status;
    if (buffer)
        status = cls_buffer_get_size(buffer, &size);
    if (!status) {
        pthread_mutex_lock(&pipeline->lock);
        status = add_buffer(pipeline, name, bytes, buffer, kind);
        pthread_mutex_unlock(&pipeline->lock);
    }
    return pipeline_put(pipeline, status);
}

cls_status cls_pipeline_get_buffer(cls_pipeline handle, const char *name, uint64_t iteration,
                                   cls_buffer *out) {
    struct pipeline *pipeline;
    if (!name || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pipeline_get_buffer: a null pointer");
    cls_status status = pipeline_get(handle, &pipeline);
    if (status)
        return status;
    pthread_mutex_lock(&pipeline->lock);
    const int i = pipeline_find_buffer(pipeline, name);
    if (i < 0)
        status = error_set(CLS_ERROR_NOT_FOUND, "the pipeline has no buffer '%s'", name);
    else
        *out = pipeline->buffers[i]->copies[iteration % pipeline->buffers[i]->n_copies].buffer;
    pthread_mutex_unlock(&pipeline->lock);
    return pipeline_put(pipeline, status);
}

/* --- stages --- */

static cls_status find_buffers(const struct pipeline *pipeline, const char *const *names,
                               unsigned n, unsigned *out) {
    for (unsigned i = 0; i < n; i++) {
        const int found = names[i] ? pipeline_find_buffer(pipeline, names[i]) : -1;
        if (found < 0)
            return error_set(CLS_ERROR_NOT_FOUND, "the pipeline has no buffer '%s'",
                             names[i] ? names[i] : "(null)");
        out[i] = (unsigned)found;
    }
    return CLS_SUCCESS;
}

/* The stage is launched later than the caller's list lasts. */
static cls_status copy_launch(struct stage *stage, const cls_launch *given) {
    const size_t bytes = given->n_reaches * sizeof *given->reaches;
    stage->launch = *given;
    stage->launch.reaches = NULL;
    if (!given->n_reaches)
        return CLS_SUCCESS;
    if (!given->reaches)
        return error_set(CLS_ERROR_INVALID_VALUE, "stage '%s': the list of %u buffers is null",
                         stage->name, given->n_reaches);
    cls_arg *reaches = malloc(bytes);
    if (!reaches)
        return error_no_memory("for a stage");
    memcpy(reaches, given->reaches, bytes);
    stage->launch.reaches = reaches;
    return CLS_SUCCESS;
}

static cls_status fill_stage(struct pipeline *pipeline, struct stage *stage,
                             const cls_stage *given) {
    strcpy(stage->name, given->name);
    stage->n_inputs = given->n_inputs;
    stage->n_outputs = given->n_outputs;
    stage->n_args = given->n_args;
    stage->fn = given->fn;
    stage->arg = given->arg;
    stage->kernel = given->kernel;
    if (given->n_args)
        memcpy(stage->args, given->args, given->n_args * sizeof *given->args);
    cls_status status = copy_launch(stage, &given->launch);
    if (!status)
        status = find_buffers(pipeline, given->inputs, given->n_inputs, stage->inputs);
    if (!status)
        status = find_buffers(pipeline, given->outputs, given->n_outputs, stage->outputs);
    if (status)
        return status;
    stage->stream = given->stream;
    if (given->stream)
        return pipeline_check_stream(given->stream, pipeline->context);
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.name = stage->name;
    config.timing = pipeline->timed;
    status =
        stream_create_owned(pipeline->context, &config, "a stage of a pipeline", &stage->stream);
    stage->owns_stream = !status;
    return status;
}

static cls_status add_stage(struct pipeline *pipeline, const cls_stage *given) {
    cls_status status = check_building(pipeline);
    if (status)
        return status;
    if (pipeline_find_stage(pipeline, given->name) >= 0)
        return error_set(CLS_ERROR_INVALID_VALUE, "the pipeline already has a stage '%s'",
                         given->name);
    if (pipeline->n_stages == CLS_PIPELINE_MAX_STAGES)
        return error_set(CLS_ERROR_LIMIT, "a pipeline has at most %u stages", pipeline->n_stages);
    struct stage *stage = calloc(1, sizeof *stage);
    if (!stage)
        return error_no_memory("for a stage");
    status = fill_stage(pipeline, stage, given);
    if (status) {
        free_stage(stage);
        return status;
    }
    pipeline->order[pipeline->n_stages] = pipeline->n_stages;
    pipeline->stages[pipeline->n_stages++] = stage;
    pipeline->ordered = false;
    return CLS_SUCCESS;
}

static cls_status check_list(const char *what, const void *list, unsigned n) {
    if (!list && n)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pipeline_add_stage: %s is null", what);
    if (n > MOST_STAGE_BUFFERS)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "cls_pipeline_add_stage: %s has %u entries, more than %d", what, n,
                         MOST_STAGE_BUFFERS);
    return CLS_SUCCESS;
}

static cls_status check_stage(const cls_stage *stage) {
    cls_status status = check_name("cls_pipeline_add_stage", stage->name);
    if (!status && !stage->fn && !stage->kernel)
        status = error_set(CLS_ERROR_INVALID_VALUE,
                           "cls_pipeline_add_stage: '%s' has neither fn nor kernel", stage->name);
    if (!status)
        status = check_list("inputs", stage->inputs, stage->n_inputs);
    if (!status)
        status = check_list("outputs", stage->outputs, stage->n_outputs);
    return status ? status : check_list("args", stage->args, stage->n_args);
}

cls_status cls_pipeline_add_stage(cls_pipeline handle, const cls_stage *given) {
    cls_stage stage = CLS_STAGE_INIT;
    struct pipeline *pipeline;
    cls_status status = SIZED_IN(cls_stage, &stage, given);
    if (!status)
        status = check_stage(&stage);
    if (!status)
        status = pipeline_get(handle, &pipeline);
    if (status)
        return status;
    pthread_mutex_lock(&pipeline->lock);
    status = add_stage(pipeline, &stage);
    pthread_mutex_unlock(&pipeline->lock);
    return pipeline_put(pipeline, status);
}

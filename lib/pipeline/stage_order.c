/* SPDX-License-Identifier: MIT */
/* Checks the order of stages: a stage may read only what an earlier stage of the iteration has written, or
 * feedback that is still that of the iteration before. */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "pipeline/stages.h"

#include <stdlib.h>

static bool writes(const struct stage *stage, unsigned buffer) {
    for (unsigned i = 0; i < stage->n_outputs; i++)
        if (stage->outputs[i] == buffer)
            return true;
    return false;
}

static bool is_written(const struct pipeline *pipeline, uint32_t stages, unsigned buffer) {
    for (unsigned i = 0; i < pipeline->n_stages; i++)
        if (stages >> i & 1 && writes(pipeline->stages[i], buffer))
            return true;
    return false;
}

/* Whether all internal buffers that a stage reads are written by a stage in `behind`. */
static bool can_run(const struct pipeline *pipeline, const struct stage *stage, uint32_t behind) {
    for (unsigned i = 0; i < stage->n_inputs; i++)
        if (pipeline->buffers[stage->inputs[i]]->kind == CLS_PIPELINE_INTERNAL &&
            !is_written(pipeline, behind, stage->inputs[i]))
            return false;
    return true;
}

/* The stages that can run in some order. Several may work on one buffer in place, each behind another. A
 * cycle is among the other stages. */
static uint32_t that_can_run(const struct pipeline *pipeline) {
    uint32_t able = 0, before;
    do {
        before = able;
        for (unsigned i = 0; i < pipeline->n_stages; i++)
            if (can_run(pipeline, pipeline->stages[i], able))
                able |= UINT32_C(1) << i;
    } while (able != before);
    return able;
}

/* Whether `reader` needs `writer` before it in the same iteration; what stages in `able` write needs no other
 * writer. */
static bool needs(const struct pipeline *pipeline, unsigned reader, unsigned writer,
                  uint32_t able) {
    const struct stage *stage = pipeline->stages[reader];
    for (unsigned i = 0; i < stage->n_inputs; i++)
        if (pipeline->buffers[stage->inputs[i]]->kind == CLS_PIPELINE_INTERNAL &&
            !is_written(pipeline, able, stage->inputs[i]) &&
            writes(pipeline->stages[writer], stage->inputs[i]))
            return true;
    return false;
}

/* Depth-first search from the end of the path of `length` stages; true: the path is a cycle now. */
static bool find_cycle(const struct pipeline *pipeline, uint32_t able, unsigned *path,
                       unsigned *length, uint32_t *seen) {
    const unsigned at = path[*length - 1];
    for (unsigned next = 0; next < pipeline->n_stages; next++) {
        if (!needs(pipeline, at, next, able) || (next == at))
            continue;
        for (unsigned i = 0; i < *length; i++)
            if (path[i] == next) {
                memmove(path, path + i, (*length - i) * sizeof *path);
                *length -= i;
                return true;
            }
        if (*seen & UINT32_C(1) << next)
            continue;
        *seen |= UINT32_C(1) << next;
        path[(*length)++] = next;
        if (find_cycle(pipeline, able, path, length, seen))
            return true;
        --*length;
    }
    return false;
}

static cls_status report_cycle(const struct pipeline *pipeline, const unsigned *path,
                               unsigned length) {
    struct text text = {0};
    for (unsigned i = 0; i < length; i++)
        text_printf(&text, "'%s' reads what ", pipeline->stages[path[i]]->name);
    cls_status status = error_set(CLS_ERROR_DEADLOCK, "a cycle of stages: %s'%s' writes",
                                  text.failed ? "" : text.bytes, pipeline->stages[path[0]]->name);
    free(text.bytes);
    return status;
}

static cls_status check_cycles(const struct pipeline *pipeline) {
    const uint32_t able = that_can_run(pipeline);
    uint32_t seen = 0;
    for (unsigned i = 0; i < pipeline->n_stages; i++) {
        unsigned path[CLS_PIPELINE_MAX_STAGES + 1] = {i}, length = 1;
        if (find_cycle(pipeline, able, path, &length, &seen))
            return report_cycle(pipeline, path, length);
    }
    return CLS_SUCCESS;
}

/* The last stage before a place of the order that writes a buffer, or NULL. */
static const struct stage *writer_before(const struct pipeline *pipeline, const unsigned *order,
                                         unsigned place, unsigned buffer) {
    while (place-- > 0)
        if (writes(pipeline->stages[order[place]], buffer))
            return pipeline->stages[order[place]];
    return NULL;
}

/* Checks one input: internal buffers have a writer earlier in the iteration, and feedback is not overwritten
 * by one. */
static cls_status check_input(const struct stage *stage, const struct stage_buffer *buffer,
                              const struct stage *writer) {
    if (buffer->kind == CLS_PIPELINE_INTERNAL && !writer)
        return error_set(CLS_ERROR_INVALID_STATE,
                         "stage '%s' reads '%s', which no earlier stage writes and which "
                         "is neither external nor feedback",
                         stage->name, buffer->name);
    if (buffer->kind == CLS_PIPELINE_FEEDBACK && writer && buffer->n_copies == 1)
        return error_set(CLS_ERROR_INVALID_STATE,
                         "stage '%s' reads '%s' of the iteration before, and '%s' has written to "
                         "its only copy by then",
                         stage->name, buffer->name, writer->name);
    return CLS_SUCCESS;
}

cls_status pipeline_check_order(const struct pipeline *pipeline, const unsigned *order) {
    cls_status status = check_cycles(pipeline);
    for (unsigned place = 0; place < pipeline->n_stages && !status; place++) {
        const struct stage *stage = pipeline->stages[order[place]];
        for (unsigned i = 0; i < stage->n_inputs && !status; i++)
            status = check_input(stage, pipeline->buffers[stage->inputs[i]],
                                 writer_before(pipeline, order, place, stage->inputs[i]));
    }
    return status;
}

static cls_status take_order(const struct pipeline *pipeline, const char *const *names,
                             unsigned *order) {
    uint32_t seen = 0;
    for (unsigned i = 0; i < pipeline->n_stages; i++) {
        const int found = names[i] ? pipeline_find_stage(pipeline, names[i]) : -1;
        if (found < 0)
            return error_set(CLS_ERROR_NOT_FOUND, "the pipeline has no stage '%s'",
                             names[i] ? names[i] : "(null)");
        if (seen & UINT32_C(1) << found)
            return error_set(CLS_ERROR_INVALID_VALUE, "stage '%s' is named twice", names[i]);
        seen |= UINT32_C(1) << found;
        order[i] = (unsigned)found;
    }
    return CLS_SUCCESS;
}

static cls_status set_order(struct pipeline *pipeline, const char *const *names, unsigned n) {
    unsigned order[CLS_PIPELINE_MAX_STAGES];
    if (pipeline->iterations || pipeline->executing)
        return error_set(CLS_ERROR_INVALID_STATE, "the pipeline has already executed an iteration");
    if (n != pipeline->n_stages)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "cls_pipeline_set_order: %u names for the pipeline's %u stages", n,
                         pipeline->n_stages);
    cls_status status = take_order(pipeline, names, order);
    if (!status)
        status = pipeline_check_order(pipeline, order);
    if (status)
        return status;
    memcpy(pipeline->order, order, n * sizeof *order);
    pipeline->ordered = true;
    return CLS_SUCCESS;
}

cls_status cls_pipeline_set_order(cls_pipeline handle, const char *const *names, unsigned n) {
    struct pipeline *pipeline;
    if (!names)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pipeline_set_order: names is null");
    cls_status status = pipeline_get(handle, &pipeline);
    if (status)
        return status;
    pthread_mutex_lock(&pipeline->lock);
    status = set_order(pipeline, names, n);
    pthread_mutex_unlock(&pipeline->lock);
    return pipeline_put(pipeline, status);
}

/* SPDX-License-Identifier: MIT */
/* cls_pipeline_run: calls a list of functions for each of successive inputs, each on its own stream. */
#include <stdio.h>

#include <clstream/event.h>
#include <clstream/pipeline.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "pipeline/internals.h"
#include "pipeline/pipeline.h"

static cls_status check_steps(const cls_step *steps, unsigned n_steps) {
    if (!steps || !n_steps)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_pipeline_run: %s",
                         steps ? "no steps" : "steps is null");
    for (unsigned i = 0; i < n_steps; i++)
        if (!steps[i].fn)
            return error_set(CLS_ERROR_INVALID_VALUE, "cls_pipeline_run: step %u has no function",
                             i);
    return CLS_SUCCESS;
}

static cls_status context_of(cls_stream stream, cls_context *out) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    cls_status status = cls_stream_get_info(stream, &info);
    if (!status)
        *out = info.context;
    return status;
}

/* Later work of `to` runs behind the work of `from`. They may be of different contexts; the event is of
 * `from`'s. */
static cls_status hand_over(cls_stream from, cls_stream to) {
    cls_context context;
    cls_event event;
    cls_status status = context_of(from, &context);
    if (!status)
        status = pipeline_event(context, NULL, "a pipeline", &event);
    if (status)
        return status;
    status = cls_event_record(event, from);
    if (!status)
        status = cls_stream_wait_event(to, event);
    cls_event_destroy(event);
    return status;
}

static cls_status call(const cls_step *steps, unsigned i, uint64_t input) {
    char whose[64];
    const unsigned long before = error_count();
    const cls_status status = steps[i].fn(steps[i].stream, input, steps[i].arg);
    if (!status)
        return CLS_SUCCESS;
    snprintf(whose, sizeof whose, "step %u, for input %llu,", i, (unsigned long long)input);
    return pipeline_returned(status, before, whose);
}

static cls_status submit(const cls_step *steps, unsigned n_steps, uint64_t input) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < n_steps && !status; i++) {
        if (i && steps[i].stream != steps[i - 1].stream)
            status = hand_over(steps[i - 1].stream, steps[i].stream);
        if (!status)
            status = call(steps, i, input);
    }
    return status;
}

cls_status cls_pipeline_run_async(const cls_step *steps, unsigned n_steps, uint64_t n_inputs) {
    cls_status status = check_steps(steps, n_steps);
    for (uint64_t input = 0; input < n_inputs && !status; input++)
        status = submit(steps, n_steps, input);
    return status;
}

/* Also waits for what was submitted before a function failed. */
cls_status cls_pipeline_run(const cls_step *steps, unsigned n_steps, uint64_t n_inputs) {
    cls_status first = pipeline_may_block();
    if (first)
        return first;
    first = check_steps(steps, n_steps);
    if (first)
        return first;
    first = cls_pipeline_run_async(steps, n_steps, n_inputs);
    for (unsigned i = 0; i < n_steps; i++) {
        const cls_status status = cls_stream_synchronize(steps[i].stream);
        first = first ? first : status;
    }
    return first;
}

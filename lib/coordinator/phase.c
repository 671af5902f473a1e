/* SPDX-License-Identifier: MIT */
/* Phases on the calling thread, and dependencies applied without a phase: apply and barrier. */
#include "coordinator/phase.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "coordinator/internals.h"

cls_status phase_begin(struct coordinator *coordinator, cls_phase_fn fn, void *arg,
                       struct phase *out) {
    struct phase phase = {.fn = fn, .arg = arg};
    if (!fn)
        return error_set(CLS_ERROR_INVALID_VALUE, "a phase without a function");
    cls_status status = plan_take(coordinator, PLAN_ORDERED, &phase.plan);
    if (status)
        return status;
    phase.parts = calloc(phase.plan.count + 1, sizeof *phase.parts);
    if (!phase.parts) {
        plan_drop(&phase.plan);
        return error_no_memory("for a phase");
    }
    *out = phase;
    return CLS_SUCCESS;
}

bool phase_may_call(const struct phase *phase, size_t i) {
    const struct planned *planned = &phase->plan.streams[i];
    for (size_t j = 0; j < planned->n_prerequisites; j++)
        if (phase->parts[planned->prerequisites[j]] == PART_FAILED)
            return false;
    return true;
}

/* A part fails where its stream is poisoned by now, whatever its function returned. */
static cls_status finish_call(struct planned *planned) {
    const struct failure *failure = stream_poison(planned->stream);
    if (failure)
        return failure_report(planned->stream, failure);
    return planned->awaited ? plan_mark(planned) : CLS_SUCCESS;
}

cls_status phase_call(struct phase *phase, size_t i, bool *has_detail) {
    struct planned *planned = &phase->plan.streams[i];
    unsigned long before = error_count();
    cls_status status = plan_wait(&phase->plan, planned);
    if (!status)
        status = phase->fn(planned->handle, planned->index, phase->arg);
    if (!status)
        status = finish_call(planned);
    *has_detail = status && error_count() != before;
    return status;
}

void phase_finish(struct phase *phase, size_t i, cls_status status, bool has_detail) {
    const struct planned *planned = &phase->plan.streams[i];
    phase->parts[i] = status ? PART_FAILED : PART_DONE;
    if (!status || phase->status)
        return;
    phase->status = status;
    phase->code = has_detail ? cls_last_error_code() : 0;
    phase->detail = strdup(has_detail ? cls_last_error_detail() : cls_status_string(status));
    phase->failed = planned->handle;
    memcpy(phase->name, planned->stream->name, sizeof phase->name);
}

void phase_drop(struct phase *phase) {
    free(phase->detail);
    free(phase->parts);
    plan_drop(&phase->plan);
}

cls_status phase_end(struct coordinator *coordinator, struct phase *phase) {
    cls_status status = phase->status;
    pthread_mutex_lock(&coordinator->lock);
    coordinator->failed = phase->failed;
    pthread_mutex_unlock(&coordinator->lock);
    if (status)
        error_set_code(status, phase->code, "stream '%s': %s", phase->name,
                       phase->detail ? phase->detail : cls_status_string(status));
    phase_drop(phase);
    return status;
}

/* --- on one thread --- */

static void run_all(struct phase *phase) {
    for (size_t i = 0; i < phase->plan.count; i++) {
        bool has_detail = false;
        if (!phase_may_call(phase, i)) {
            phase->parts[i] = PART_FAILED;
            continue;
        }
        cls_status status = phase_call(phase, i, &has_detail);
        phase_finish(phase, i, status, has_detail);
    }
}

cls_status cls_coordinator_run(cls_coordinator handle, cls_phase_fn fn, void *arg) {
    struct coordinator *coordinator;
    struct phase phase;
    cls_status status = coordinator_get(handle, &coordinator);
    if (status)
        return status;
    status = phase_begin(coordinator, fn, arg, &phase);
    if (!status) {
        run_all(&phase);
        status = phase_end(coordinator, &phase);
    }
    coordinator_put(coordinator);
    return status;
}

cls_status cls_coordinator_get_failed(cls_coordinator handle, cls_stream *stream) {
    struct coordinator *coordinator;
    if (!stream)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_coordinator_get_failed: stream is null");
    cls_status status = coordinator_enter(handle, &coordinator);
    if (status)
        return status;
    if (coordinator->failed)
        *stream = coordinator->failed;
    else
        status = error_set(CLS_ERROR_NOT_FOUND, "the last phase of '%s' did not fail",
                           coordinator->name);
    return coordinator_leave(coordinator, status);
}

/* --- dependencies without a phase --- */

static cls_status apply(struct plan *plan) {
    cls_status status = CLS_SUCCESS;
    for (size_t i = 0; i < plan->count && !status; i++) {
        status = plan_wait(plan, &plan->streams[i]);
        if (!status && plan->streams[i].awaited)
            status = plan_mark(&plan->streams[i]);
    }
    return status;
}

/* The first stream waits for all others, and then they for it. */
static cls_status barrier(struct plan *plan) {
    cls_status status = CLS_SUCCESS;
    struct planned *first = plan->streams;
    for (size_t i = 1; i < plan->count && !status; i++) {
        status = plan_mark(&plan->streams[i]);
        if (!status)
            status =
                stream_wait_for(first->stream, plan->streams[i].stream, plan->streams[i].position);
    }
    if (!status && plan->count)
        status = plan_mark(first);
    for (size_t i = 1; i < plan->count && !status; i++)
        status = stream_wait_for(plan->streams[i].stream, first->stream, first->position);
    return status;
}

static cls_status with_plan(cls_coordinator handle, enum plan_for what,
                            cls_status (*fn)(struct plan *plan)) {
    struct coordinator *coordinator;
    struct plan plan;
    cls_status status = coordinator_get(handle, &coordinator);
    if (status)
        return status;
    status = plan_take(coordinator, what, &plan);
    if (!status) {
        status = fn(&plan);
        plan_drop(&plan);
    }
    coordinator_put(coordinator);
    return status;
}

cls_status cls_coordinator_apply(cls_coordinator coordinator) {
    return with_plan(coordinator, PLAN_ORDERED, apply);
}

cls_status cls_coordinator_barrier(cls_coordinator coordinator) {
    return with_plan(coordinator, PLAN_ANY, barrier);
}

/* SPDX-License-Identifier: MIT */
/* Managed contexts: one context with an async coordinator, and triple-buffered steps (upload, compute,
 * download) on it. */
#include <clstream/managed_context.h>

#include <pthread.h>

#include <clstream/buffer.h>
#include <clstream/context.h>
#include <clstream/event.h>
#include <clstream/stream.h>

#include <utlist.h>

#include "base/error.h"
#include "base/handle.h"
#include "base/process.h"
#include "base/sized.h"
#include "pipeline/async.h"
#include "pipeline/pipeline.h"
#include "system/clocks.h"

enum { TIMED_STEPS = 8, STAGES = 3 };

enum edge { BEGIN, END, EDGES };

/* A timed step: events before and behind each stage's work in its stream. */
struct timed_step {
    uint64_t step;
    enum { MARKING, MARKED, SPOILT } state;
    cls_event marks[STAGES][EDGES];
};

/* A step that is being submitted; on the stack of its thread. */
struct active_step {
    cls_triple_buffer slots;
    struct active_step *next;
};

struct managed {
    struct object object;
    cls_context context;
    cls_stream default_stream;
    cls_event alive; /* never recorded; a query fails once the context is destroyed */
    cls_async_coordinator coordinator; /* NULL: everything runs in place */
    cls_stream streams[STAGES];
    pthread_mutex_t lock; /* guards what follows */
    uint64_t steps;
    unsigned submitting;           /* steps that are being submitted to streams */
    uint64_t timed_from, timed_to; /* timed steps whose times are to be read */
    struct timed_step timed[TIMED_STEPS];
    cls_event base;
    bool has_base; /* `base` was recorded, and is not known to have failed */
    struct active_step *active;
    bool measured; /* `times` are of a step on streams; steps in place return their own */
    uint64_t measured_step;
    double times[STAGES];
};

static void managed_finalize(struct object *object) {
    struct managed *managed = (struct managed *)(void *)object;
    for (int i = 0; i < TIMED_STEPS; i++)
        for (int k = 0; k < STAGES * EDGES; k++)
            if (managed->timed[i].marks[k / EDGES][k % EDGES])
                cls_event_destroy(managed->timed[i].marks[k / EDGES][k % EDGES]);
    if (managed->base)
        cls_event_destroy(managed->base);
    if (managed->alive)
        cls_event_destroy(managed->alive);
    if (managed->coordinator)
        cls_async_coordinator_destroy(managed->coordinator);
    if (managed->context)
        cls_context_destroy(managed->context);
    pthread_mutex_destroy(&managed->lock);
}

static struct object_pool managed_pool =
    OBJECT_POOL(21, sizeof(struct managed), "managed context", managed_finalize);

static cls_status managed_get(cls_managed_context handle, struct managed **out) {
    struct managed *managed = object_acquire(&managed_pool, handle);
    if (!managed)
        return object_invalid(&managed_pool, handle);
    cls_status status = cls_event_query(managed->alive);
    if (status)
        object_release(&managed->object);
    else
        *out = managed;
    return status;
}

static cls_status managed_put(struct managed *managed, cls_status status) {
    object_release(&managed->object);
    return status;
}

/* --- life --- */

static cls_status managed_open(struct managed *managed, const char *device, bool with_streams) {
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    config.device = device;
    cls_status status = cls_context_create(&config, &managed->context);
    if (!status)
        status = cls_context_default_stream(managed->context, &managed->default_stream);
    if (!status)
        status = pipeline_event(managed->context, NULL, "a managed context", &managed->alive);
    if (!status && with_streams)
        status = cls_async_coordinator_create(managed->context, NULL, &managed->coordinator);
    object_note_librarys(managed->context);
    object_note_librarys(managed->coordinator);
    for (int kind = 0; kind < STAGES && !status && with_streams; kind++)
        status = cls_async_coordinator_get_stream(managed->coordinator, (cls_op_kind)kind,
                                                  &managed->streams[kind]);
    return status;
}

cls_status cls_managed_context_create(const char *device, int with_streams,
                                      cls_managed_context *out) {
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_managed_context_create: out is null");
    cls_status status = process_enter();
    if (status)
        return status;
    struct managed *managed = object_create(&managed_pool);
    if (!managed || pthread_mutex_init(&managed->lock, NULL)) {
        if (managed)
            object_abandon(&managed->object);
        return object_none(&managed_pool, "a managed context");
    }
    status = managed_open(managed, device, with_streams != 0);
    if (status)
        return managed_put(managed, status);
    *out = object_handle(&managed->object);
    return CLS_SUCCESS;
}

cls_status cls_managed_context_destroy(cls_managed_context handle) {
    return object_destroy(&managed_pool, handle) ? CLS_SUCCESS
                                                 : object_invalid(&managed_pool, handle);
}

/* --- its objects --- */

cls_status cls_managed_context_get_context(cls_managed_context handle, cls_context *out) {
    struct managed *managed;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_managed_context_get_context: out is null");
    cls_status status = managed_get(handle, &managed);
    if (status)
        return status;
    *out = managed->context;
    return managed_put(managed, CLS_SUCCESS);
}

cls_status cls_managed_context_get_coordinator(cls_managed_context handle,
                                               cls_async_coordinator *out) {
    struct managed *managed;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "cls_managed_context_get_coordinator: out is null");
    cls_status status = managed_get(handle, &managed);
    if (status)
        return status;
    if (!managed->coordinator)
        return managed_put(managed, error_set(CLS_ERROR_INVALID_STATE,
                                              "the managed context was created without streams"));
    *out = managed->coordinator;
    return managed_put(managed, CLS_SUCCESS);
}

cls_status cls_managed_context_make_triple_buffer(cls_managed_context handle, size_t bytes,
                                                  const cls_triple_buffer_config *config,
                                                  cls_triple_buffer *out) {
    struct managed *managed;
    cls_status status = managed_get(handle, &managed);
    if (status)
        return status;
    status = cls_triple_buffer_create(managed->context, bytes, config, out);
    if (!status)
        object_note_call(*out, "cls_managed_context_make_triple_buffer");
    return managed_put(managed, status);
}

cls_status cls_managed_context_make_pipeline(cls_managed_context handle,
                                             const cls_pipeline_config *config, cls_pipeline *out) {
    struct managed *managed;
    cls_status status = managed_get(handle, &managed);
    if (status)
        return status;
    status = managed->coordinator ? cls_pipeline_create(managed->context, config, out)
                                  : pipeline_create_in_place(managed->context, config, out);
    if (!status)
        object_note_call(*out, "cls_managed_context_make_pipeline");
    return managed_put(managed, status);
}

/* --- times of steps --- */

static void report_times(cls_step_telemetry *out, uint64_t step, const double times[STAGES]) {
    out->measured = true;
    out->measured_step = step;
    out->upload_ms = times[CLS_OP_UPLOAD];
    out->compute_ms = times[CLS_OP_COMPUTE];
    out->download_ms = times[CLS_OP_DOWNLOAD];
}

/* --- times of steps on streams; under the lock --- */

static double later(double a, double b) { return a > b ? a : b; }

/* A stage's time begins when both the stage before it and the earlier work of its stream have ended. Times of
 * different queues are not exact relative to each other, so a very short stage may come out below 0. */
static void take_times(struct managed *managed, const struct timed_step *timed,
                       const double ms[STAGES][EDGES]) {
    for (int i = 0; i < STAGES; i++)
        managed->times[i] =
            later(0, ms[i][END] - later(ms[i][BEGIN], i ? ms[i - 1][END] : ms[i][BEGIN]));
    managed->measured = true;
    managed->measured_step = timed->step;
}

static void read_times(struct managed *managed) {
    for (; managed->timed_from < managed->timed_to; managed->timed_from++) {
        const struct timed_step *timed = &managed->timed[managed->timed_from % TIMED_STEPS];
        double ms[STAGES][EDGES];
        cls_status status = timed->state == MARKING  ? CLS_NOT_READY
                            : timed->state == SPOILT ? CLS_ERROR_NOT_TIMED
                                                     : CLS_SUCCESS;
        for (int i = 0; i < STAGES * EDGES && !status; i++)
            status = cls_event_elapsed(managed->base, timed->marks[i / EDGES][i % EDGES],
                                       &ms[i / EDGES][i % EDGES]);
        if (status == CLS_NOT_READY)
            return;
        if (!status)
            take_times(managed, timed, ms);
        else if (timed->state == MARKED)
            managed->has_base = false;
    }
}

static bool mark(struct managed *managed, cls_event *event, cls_stream stream) {
    const cls_event_config config = {.size = sizeof config, .timed = 1};
    if (!*event && pipeline_event(managed->context, &config, "a managed context", event))
        return false;
    return !cls_event_record(*event, stream);
}

/* The events for this step, or NULL: the step is not to be timed, all are in use, or another step is being
 * submitted, whose work would be measured too. */
static struct timed_step *begin_times(struct managed *managed, const cls_buffered_step *step) {
    const cls_stream first = managed->streams[CLS_OP_UPLOAD];
    struct timed_step *timed = &managed->timed[managed->timed_to % TIMED_STEPS];
    if (!step->timed || managed->submitting ||
        managed->timed_to - managed->timed_from == TIMED_STEPS)
        return NULL;
    managed->has_base = managed->has_base || mark(managed, &managed->base, first);
    if (!managed->has_base)
        return NULL;
    timed->step = managed->steps;
    timed->state = MARKING;
    managed->timed_to++;
    return timed;
}

/* --- steps on streams; without the lock, because a step calls the user's function --- */

static void mark_stage(struct managed *managed, struct timed_step *timed, cls_op_kind kind,
                       enum edge edge, bool *spoilt) {
    if (timed && !*spoilt)
        *spoilt = !mark(managed, &timed->marks[kind][edge], managed->streams[kind]);
}

static cls_status submit_step(struct managed *managed, const cls_buffered_step *step,
                              struct timed_step *timed, bool *spoilt, cls_step_telemetry *out) {
    const cls_place place = cls_place_slots(step->slots);
    cls_compute compute = *step->compute;
    compute.slots = step->slots;
    mark_stage(managed, timed, CLS_OP_UPLOAD, BEGIN, spoilt);
    cls_status status = cls_async_coordinator_queue_upload(
        managed->coordinator, step->in, step->in_bytes, place, NULL, 0, &out->upload);
    mark_stage(managed, timed, CLS_OP_UPLOAD, END, spoilt);
    mark_stage(managed, timed, CLS_OP_COMPUTE, BEGIN, spoilt);
    if (!status)
        status = cls_async_coordinator_queue_compute(managed->coordinator, &compute, NULL, 0,
                                                     &out->compute);
    mark_stage(managed, timed, CLS_OP_COMPUTE, END, spoilt);
    mark_stage(managed, timed, CLS_OP_DOWNLOAD, BEGIN, spoilt);
    if (!status)
        status = cls_async_coordinator_queue_download(managed->coordinator, place, step->out,
                                                      step->out_bytes, NULL, 0, &out->download);
    mark_stage(managed, timed, CLS_OP_DOWNLOAD, END, spoilt);
    return status;
}

static cls_status step_on_streams(struct managed *managed, const cls_buffered_step *step,
                                  cls_step_telemetry *out) {
    bool spoilt = false;
    pthread_mutex_lock(&managed->lock);
    read_times(managed);
    struct timed_step *timed = begin_times(managed, step);
    out->step = managed->steps++;
    managed->submitting++;
    pthread_mutex_unlock(&managed->lock);
    cls_status status = submit_step(managed, step, timed, &spoilt, out);
    if (status) /* otherwise the next step would find the slot in use */
        ring_close_only(step->slots, managed->streams[CLS_OP_COMPUTE],
                        managed->streams[CLS_OP_DOWNLOAD]);
    pthread_mutex_lock(&managed->lock);
    managed->submitting--;
    spoilt = spoilt || managed->steps != out->step + 1; /* another step began meanwhile */
    if (timed)
        timed->state = status || spoilt ? SPOILT : MARKED;
    if (managed->measured)
        report_times(out, managed->measured_step, managed->times);
    pthread_mutex_unlock(&managed->lock);
    return status;
}

/* --- steps in place --- */

static double ms_since(uint64_t start) { return (double)(clock_now_ns() - start) / 1e6; }

static cls_status compute_in_place(const cls_compute *compute, const cls_slot *slot,
                                   cls_stream stream) {
    cls_arg args[MOST_COMPUTE_ARGS + 1];
    unsigned n = 0;
    if (compute->fn) {
        const unsigned long before = error_count();
        return pipeline_returned(compute->fn(stream, slot, compute->arg), before,
                                 "the function of a compute");
    }
    args[n++] = cls_arg_buffer(slot->buffer);
    for (unsigned i = 0; i < compute->n_args; i++)
        args[n++] = compute->args[i];
    return cls_kernel_launch_async(compute->kernel, compute->launch, args, n, stream);
}

/* Every stage on the default stream and waited for, so that the host can time it. */
static cls_status run_in_place(struct managed *managed, const cls_buffered_step *step,
                               cls_slot *slot, double times[STAGES]) {
    const cls_stream stream = managed->default_stream;
    uint64_t start = clock_now_ns();
    cls_status status = cls_copy_h2d(slot->buffer, 0, step->in, step->in_bytes, stream);
    times[CLS_OP_UPLOAD] = ms_since(start);
    start = clock_now_ns();
    if (!status)
        status = cls_triple_buffer_process_slot(step->slots, stream, slot);
    if (!status)
        status = compute_in_place(step->compute, slot, stream);
    if (!status)
        status = cls_stream_synchronize(stream);
    times[CLS_OP_COMPUTE] = ms_since(start);
    start = clock_now_ns();
    if (!status)
        status = cls_triple_buffer_download_slot(step->slots, stream, slot);
    if (!status)
        status = cls_copy_d2h(step->out, slot->buffer, 0, step->out_bytes, stream);
    times[CLS_OP_DOWNLOAD] = ms_since(start);
    return status ? status : cls_triple_buffer_advance(step->slots);
}

static cls_status step_in_place(struct managed *managed, const cls_buffered_step *step,
                                cls_step_telemetry *out) {
    cls_slot slot;
    double times[STAGES] = {0};
    cls_status status = pipeline_may_block();
    if (!status)
        status = cls_triple_buffer_upload_slot(step->slots, managed->default_stream, &slot);
    if (status == CLS_NOT_READY)
        status = error_set(CLS_ERROR_INVALID_STATE, "the triple buffer has no slot to upload to");
    if (status)
        return status;
    status = run_in_place(managed, step, &slot, times);
    if (status) {
        ring_close_only(step->slots, managed->default_stream, managed->default_stream);
        return status;
    }
    pthread_mutex_lock(&managed->lock);
    out->step = managed->steps++;
    pthread_mutex_unlock(&managed->lock);
    report_times(out, out->step, times);
    return CLS_SUCCESS;
}

static cls_status check_bytes(const cls_buffered_step *step) {
    size_t bytes;
    cls_status status = cls_triple_buffer_get_size(step->slots, &bytes);
    if (!status && (step->in_bytes > bytes || step->out_bytes > bytes))
        status = error_set(CLS_ERROR_OUT_OF_RANGE, "a step of %zu and %zu bytes in slots of %zu",
                           step->in_bytes, step->out_bytes, bytes);
    return status;
}

/* Steps leave their slots free, so a slot in use was taken by somebody else. */
static cls_status check_slots(const cls_buffered_step *step) {
    cls_slot_state states[CLS_TRIPLE_BUFFER_MAX_SLOTS] = {CLS_SLOT_FREE};
    cls_status status =
        cls_triple_buffer_get_states(step->slots, states, CLS_TRIPLE_BUFFER_MAX_SLOTS);
    for (unsigned i = 0; i < CLS_TRIPLE_BUFFER_MAX_SLOTS && !status; i++)
        if (states[i] != CLS_SLOT_FREE)
            status = error_set(CLS_ERROR_INVALID_STATE,
                               "slot %u of the triple buffer is in use beside the steps", i);
    return status;
}

/* Slots pass through the stages in order, so two steps that submit to one ring at once would get each other's
 * slots. */
static cls_status begin_step(struct managed *managed, struct active_step *mine) {
    bool taken = false;
    pthread_mutex_lock(&managed->lock);
    for (const struct active_step *one = managed->active; one; one = one->next)
        taken = taken || one->slots == mine->slots;
    if (!taken)
        LL_PREPEND(managed->active, mine);
    pthread_mutex_unlock(&managed->lock);
    return taken ? error_set(CLS_ERROR_INVALID_STATE,
                             "another step with this triple buffer is being submitted")
                 : CLS_SUCCESS;
}

static void end_step(struct managed *managed, const struct active_step *mine) {
    pthread_mutex_lock(&managed->lock);
    LL_DELETE(managed->active, mine);
    pthread_mutex_unlock(&managed->lock);
}

static cls_status run_step(struct managed *managed, const cls_buffered_step *step,
                           cls_step_telemetry *out) {
    struct active_step mine = {.slots = step->slots};
    cls_status status = check_bytes(step);
    if (!status)
        status = begin_step(managed, &mine);
    if (status)
        return status;
    status = check_slots(step);
    if (!status)
        status = managed->coordinator ? step_on_streams(managed, step, out)
                                      : step_in_place(managed, step, out);
    end_step(managed, &mine);
    return status;
}

static cls_status take_step(const cls_buffered_step *given, cls_buffered_step *step,
                            cls_compute *compute) {
    cls_status status = SIZED_IN(cls_buffered_step, step, given);
    if (!status && (!step->in || !step->in_bytes || !step->out || !step->out_bytes))
        status = error_set(CLS_ERROR_INVALID_VALUE, "a step that is null or incomplete");
    if (!status)
        status = async_take_compute(step->compute, compute);
    step->compute = compute;
    return status;
}

cls_status cls_managed_context_triple_buffered_step(cls_managed_context handle,
                                                    const cls_buffered_step *given,
                                                    cls_step_telemetry *out) {
    struct managed *managed;
    cls_compute compute;
    cls_buffered_step step = CLS_BUFFERED_STEP_INIT;
    cls_step_telemetry found = CLS_STEP_TELEMETRY_INIT;
    const uint64_t start = clock_now_ns();
    cls_status status = SIZED_CHECK(cls_step_telemetry, out);
    if (!status)
        status = take_step(given, &step, &compute);
    if (!status)
        status = managed_get(handle, &managed);
    if (status)
        return status;
    status = run_step(managed, &step, &found);
    if (!status) {
        found.submit_ms = ms_since(start);
        SIZED_OUT(cls_step_telemetry, out, &found);
    }
    return managed_put(managed, status);
}

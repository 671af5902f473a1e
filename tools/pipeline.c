/* SPDX-License-Identifier: MIT */
#include "pipeline.h"

#include <pthread.h>
#include <stdlib.h>

#include <clstream/buffer.h>
#include <clstream/event.h>
#include <clstream/stream.h>

#include "slot.h"

/*
 * Chunk k uses slot k % n_slots. The three counters say how far each party has come, and
 * written <= submitted <= filled <= written + n_slots.
 */
struct pipeline {
    const struct pipeline_job *job;
    struct pipeline_result *result;
    uint64_t chunks;
    unsigned n_slots;
    unsigned n_streams;
    struct slot *slots;
    cls_stream streams[PIPELINE_MAX_STREAMS];
    cls_event origin; /* what the marks are measured from */
    double until
        [MARKS]; /* milliseconds after origin: the stage before the mark is counted up to here */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t moved;
    uint64_t filled;
    uint64_t submitted;
    uint64_t written;
    struct failure *failure; /* once set everybody stops */
};

/* ---- Progress of the three parties */

static void advance(struct pipeline *pipeline, uint64_t *counter) {
    pthread_mutex_lock(&pipeline->mutex);
    ++*counter;
    pthread_cond_broadcast(&pipeline->moved);
    pthread_mutex_unlock(&pipeline->mutex);
}

/* Waits until `*counter` is above `past`; false when something failed. */
static bool await(struct pipeline *pipeline, const uint64_t *counter, uint64_t past) {
    pthread_mutex_lock(&pipeline->mutex);
    while (*counter <= past && !pipeline->failure->set)
        pthread_cond_wait(&pipeline->moved, &pipeline->mutex);
    const bool go_on = !pipeline->failure->set;
    pthread_mutex_unlock(&pipeline->mutex);
    return go_on;
}

static void stop(struct pipeline *pipeline, const struct failure *reason) {
    pthread_mutex_lock(&pipeline->mutex);
    fail(pipeline->failure, "%s", reason->text);
    pthread_cond_broadcast(&pipeline->moved);
    pthread_mutex_unlock(&pipeline->mutex);
}

static uint64_t first_of(const struct pipeline *pipeline, uint64_t chunk) {
    return chunk * pipeline->job->program->capacity;
}

static size_t count_of(const struct pipeline *pipeline, uint64_t chunk) {
    const uint64_t left = pipeline->job->input->array.count - first_of(pipeline, chunk);
    const size_t capacity = pipeline->job->program->capacity;
    return left < capacity ? (size_t)left : capacity;
}

static struct slot *slot_of(struct pipeline *pipeline, uint64_t chunk) {
    return &pipeline->slots[chunk % pipeline->n_slots];
}

static void account(struct pipeline *pipeline, enum pipeline_stage stage, double seconds,
                    uint64_t bytes) {
    pipeline->result->busy[stage] += seconds;
    pipeline->result->bytes[stage] += bytes;
}

/* ---- Read: a thread */

static void *read_chunks(void *arg) {
    struct pipeline *pipeline = arg;
    const struct input *input = pipeline->job->input;
    const size_t size = cls_dtype_size(input->array.dtype);
    struct failure failure = {.set = false};

    for (uint64_t chunk = 0; chunk < pipeline->chunks; chunk++) {
        const size_t count = count_of(pipeline, chunk);
        if (chunk >= pipeline->n_slots &&
            !await(pipeline, &pipeline->written, chunk - pipeline->n_slots))
            return NULL;
        const double start = clock_seconds();
        if (!input_read(input, first_of(pipeline, chunk), count, slot_of(pipeline, chunk)->host_in,
                        &failure)) {
            stop(pipeline, &failure);
            return NULL;
        }
        account(pipeline, PIPELINE_READ, clock_seconds() - start, count * size);
        advance(pipeline, &pipeline->filled);
    }
    return NULL;
}

/* ---- Submit: the calling thread */

/* The slot is free: its last chunk has been written, so nothing on the device uses it any more. */
static bool submit_chunk(struct pipeline *pipeline, uint64_t chunk, struct failure *failure) {
    return slot_launch(slot_of(pipeline, chunk), pipeline->job->program, count_of(pipeline, chunk),
                       pipeline->streams[chunk % pipeline->n_streams], failure);
}

static void submit_chunks(struct pipeline *pipeline) {
    struct failure failure = {.set = false};
    for (uint64_t chunk = 0; chunk < pipeline->chunks; chunk++) {
        if (!await(pipeline, &pipeline->filled, chunk))
            return;
        if (!submit_chunk(pipeline, chunk, &failure)) {
            stop(pipeline, &failure);
            return;
        }
        advance(pipeline, &pipeline->submitted);
    }
}

/* ---- Write: a thread */

static bool time_marks(struct pipeline *pipeline, const struct slot *slot, double *ms,
                       struct failure *failure) {
    for (unsigned i = 0; i < MARKS; i++) {
        const cls_status status = cls_event_elapsed(pipeline->origin, slot->marks[i], &ms[i]);
        if (status != CLS_SUCCESS)
            return fail_status(failure, status, "cannot time a chunk");
    }
    return true;
}

/* The seconds of the stage that ends with a mark. Chunks that are in it side by side count once: only what lies past the
 * time already counted. */
static double stage_seconds(struct pipeline *pipeline, const double *ms, enum mark end) {
    double *until = &pipeline->until[end];
    const double start = ms[end - 1] > *until ? ms[end - 1] : *until;
    if (ms[end] <= start)
        return 0;
    *until = ms[end];
    return 1e-3 * (ms[end] - start);
}

static bool account_device(struct pipeline *pipeline, const struct slot *slot, size_t count,
                           struct failure *failure) {
    const struct plan *plan = pipeline->job->program->plan;
    const uint64_t in = count * cls_dtype_size(plan->from), out = count * cls_dtype_size(plan->to);
    double ms[MARKS];
    if (!time_marks(pipeline, slot, ms, failure))
        return false;
    account(pipeline, PIPELINE_UPLOAD, stage_seconds(pipeline, ms, MARK_UPLOADED), in);
    account(pipeline, PIPELINE_COMPUTE, stage_seconds(pipeline, ms, MARK_COMPUTED), in + out);
    account(pipeline, PIPELINE_DOWNLOAD, stage_seconds(pipeline, ms, MARK_DOWNLOADED), out);
    return true;
}

static bool write_chunk(struct pipeline *pipeline, uint64_t chunk, struct failure *failure) {
    const struct output *output = pipeline->job->output;
    struct slot *slot = slot_of(pipeline, chunk);
    const size_t count = count_of(pipeline, chunk);
    const cls_status status = cls_event_synchronize(slot->marks[MARK_DOWNLOADED]);
    if (status != CLS_SUCCESS)
        return fail_status(failure, status, "the device");
    if (!account_device(pipeline, slot, count, failure))
        return false;
    const double start = clock_seconds();
    if (!output_write(output, first_of(pipeline, chunk), count, slot->host_out, failure))
        return false;
    account(pipeline, PIPELINE_WRITE, clock_seconds() - start,
            count * cls_dtype_size(output->array.dtype));
    return true;
}

static void *write_chunks(void *arg) {
    struct pipeline *pipeline = arg;
    const size_t size = cls_dtype_size(pipeline->job->input->array.dtype);
    struct failure failure = {.set = false};

    for (uint64_t chunk = 0; chunk < pipeline->chunks; chunk++) {
        if (!await(pipeline, &pipeline->submitted, chunk))
            return NULL;
        if (!write_chunk(pipeline, chunk, &failure)) {
            stop(pipeline, &failure);
            return NULL;
        }
        progress_update(pipeline->job->progress, first_of(pipeline, chunk + 1) * size);
        advance(pipeline, &pipeline->written);
    }
    return NULL;
}

/* ---- Setting up and taking down */

static bool create_streams(struct pipeline *pipeline, struct failure *failure) {
    const cls_context context = pipeline->job->program->context;
    cls_event_config timed = CLS_EVENT_CONFIG_INIT;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_status status = CLS_SUCCESS;
    timed.timed = 1;
    config.name = "chunks";
    config.timing = 1;
    for (unsigned i = 0; i < pipeline->n_streams && status == CLS_SUCCESS; i++)
        status = cls_stream_create(context, &config, &pipeline->streams[i]);
    if (status == CLS_SUCCESS)
        status = cls_event_create(context, &timed, &pipeline->origin);
    return status == CLS_SUCCESS || fail_status(failure, status, "cannot create a stream");
}

static bool create_slots(struct pipeline *pipeline, struct failure *failure) {
    struct slot *slots = calloc(pipeline->n_slots, sizeof *slots);
    if (!slots)
        return fail(failure, "out of memory");
    pipeline->slots = slots;
    for (unsigned i = 0; i < pipeline->n_slots; i++)
        if (!slot_create(&slots[i], pipeline->job->program, failure))
            return false;
    return true;
}

/* One element through the plan builds every kernel, so that the run measures work and no
 * compiler. */
static bool warm_up(struct pipeline *pipeline, struct failure *failure) {
    static const unsigned char zero;
    const struct program *program = pipeline->job->program;
    struct slot *slot = &pipeline->slots[0];
    const cls_stream stream = pipeline->streams[0];
    cls_status status =
        cls_fill_async(slot->device[0], 0, cls_dtype_size(program->plan->from), &zero, 1, stream);
    if (status != CLS_SUCCESS)
        return fail_status(failure, status, "cannot start");
    if (!chunk_submit(&slot->chunk, program, slot->device, 1, stream, failure))
        return false;
    status = cls_stream_synchronize(stream);
    if (status == CLS_SUCCESS)
        status = cls_event_record(pipeline->origin, stream);
    return status == CLS_SUCCESS || fail_status(failure, status, "cannot start");
}

static void drain_and_destroy(cls_stream stream) {
    if (!stream)
        return;
    cls_stream_synchronize(stream); /* its outcome is known already, or no longer matters */
    cls_stream_destroy(stream);
}

static void tear_down(struct pipeline *pipeline) {
    for (unsigned i = 0; i < pipeline->n_streams; i++)
        drain_and_destroy(pipeline->streams[i]);
    for (unsigned i = 0; pipeline->slots && i < pipeline->n_slots; i++)
        slot_destroy(&pipeline->slots[i]);
    free(pipeline->slots);
    if (pipeline->origin)
        cls_event_destroy(pipeline->origin);
    pthread_cond_destroy(&pipeline->moved);
    pthread_mutex_destroy(&pipeline->mutex);
}

/* Starts the two threads, submits, and joins them. */
static void run_threads(struct pipeline *pipeline) {
    struct failure failure = {.set = false};
    pthread_t reader, writer;
    if (pthread_create(&reader, NULL, read_chunks, pipeline) != 0) {
        fail(pipeline->failure, "cannot create a thread");
        return;
    }
    if (pthread_create(&writer, NULL, write_chunks, pipeline) != 0) {
        fail(&failure, "cannot create a thread");
        stop(pipeline, &failure);
    } else {
        submit_chunks(pipeline);
        pthread_join(writer, NULL);
    }
    pthread_join(reader, NULL);
}

unsigned pipeline_slots(unsigned streams, uint64_t chunks) {
    const unsigned slots = streams + PIPELINE_SPARE_SLOTS;
    return chunks < slots ? (unsigned)chunks : slots;
}

bool pipeline_run(const struct pipeline_job *job, struct pipeline_result *result,
                  struct failure *failure) {
    const uint64_t count = job->input->array.count, capacity = job->program->capacity;
    const double begun = clock_seconds();
    struct pipeline pipeline = {.job = job, .result = result, .failure = failure};

    *result = (struct pipeline_result){.chunks = (count + capacity - 1) / capacity};
    if (result->chunks == 0)
        return true;
    pipeline.chunks = result->chunks;
    pipeline.n_slots = result->slots = pipeline_slots(job->streams, result->chunks);
    pipeline.n_streams = job->streams;
    pthread_mutex_init(&pipeline.mutex, NULL);
    pthread_cond_init(&pipeline.moved, NULL);
    if (create_streams(&pipeline, failure) && create_slots(&pipeline, failure) &&
        warm_up(&pipeline, failure)) {
        const double start = clock_seconds();
        result->setup_seconds = start - begun;
        progress_start(job->progress);
        run_threads(&pipeline);
        result->seconds = clock_seconds() - start;
    }
    tear_down(&pipeline);
    return !failure->set;
}

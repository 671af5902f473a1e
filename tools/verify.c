/* SPDX-License-Identifier: MIT */
#include "verify.h"

#include <pthread.h>
#include <stdlib.h>

#include <clstream/buffer.h>
#include <clstream/stream.h>

#include "platform.h"
#include "reference_step.h"

enum { MAX_WORKERS = 5 }; /* each holds about as much as a slot of the run */

struct verification {
    const struct program *program;
    const struct constants *constants;
    const struct input *input;
    const struct output *output;
    struct progress *progress;
    uint64_t chunks;

    pthread_mutex_t mutex; /* guards what follows */
    uint64_t next;         /* chunk to take */
    uint64_t done;
    struct verify_result *result;
    struct failure *failure;
};

/* What one thread works with: three host arrays for `capacity` elements of any type on the way. */
struct worker {
    struct verification *shared;
    cls_stream stream;
    cls_buffer device[2];
    void *before;   /* what a step reads */
    void *after;    /* what the device makes of it */
    void *expected; /* what the reference makes of it */
    float *bounds;  /* what it allows */
    struct verify_step steps[EXPRESSION_MAX_STAGES];
};

static bool take_chunk(struct verification *shared, uint64_t *chunk) {
    pthread_mutex_lock(&shared->mutex);
    const bool taken = shared->next < shared->chunks && !shared->failure->set;
    if (taken)
        *chunk = shared->next++;
    pthread_mutex_unlock(&shared->mutex);
    return taken;
}

static void report(struct verification *shared, const struct failure *failure) {
    pthread_mutex_lock(&shared->mutex);
    fail(shared->failure, "%s", failure->text);
    pthread_mutex_unlock(&shared->mutex);
}

static bool step_differs(const struct worker *worker, unsigned i, uint64_t first, size_t at,
                         struct failure *failure) {
    const struct plan_step *step = &worker->shared->program->plan->steps[i];
    const size_t skip = at * cls_dtype_size(step->to);
    char in[ELEMENT_TEXT], got[ELEMENT_TEXT], wanted[ELEMENT_TEXT];
    const struct comparison one =
        compare_arrays(step->to, (char *)worker->after + skip, (char *)worker->expected + skip,
                       worker->bounds + at, 1);
    return fail(failure,
                "verification failed: '%s' in column %zu, element %llu: of %s the device makes %s, "
                "the reference %s (%.4g ULP apart, allowed %.4g)",
                step->stage->operation->name, step->stage->at + 1, (unsigned long long)(first + at),
                element_format(step->from, worker->before, at, in),
                element_format(step->to, worker->after, at, got),
                element_format(step->to, worker->expected, at, wanted), one.worst,
                (double)worker->bounds[at]);
}

/* Runs step `i` on the device and leaves its result in `after`. */
static bool run_step(struct worker *worker, unsigned i, size_t count, struct failure *failure) {
    const struct program *program = worker->shared->program;
    const struct plan_step *step = &program->plan->steps[i];
    if (!program_submit_step(program, worker->shared->constants, i, worker->device, count,
                             worker->stream, failure))
        return false;
    const cls_status status = cls_copy_d2h(worker->after, worker->device[step->target], 0,
                                           count * cls_dtype_size(step->to), worker->stream);
    return status == CLS_SUCCESS || fail_status(failure, status, step->stage->operation->name);
}

static bool is_exact(const float *bounds, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bounds[i] > 0)
            return false;
    return true;
}

static void merge_step(struct verify_step *into, const struct verify_step *from) {
    into->exact = into->exact && from->exact;
    if (from->worst > into->worst)
        into->worst = from->worst;
    if (from->of_bound > into->of_bound)
        into->of_bound = from->of_bound;
}

static bool check_step(struct worker *worker, unsigned i, uint64_t first, size_t count,
                       struct failure *failure) {
    const struct plan *plan = worker->shared->program->plan;
    const struct plan_step *step = &plan->steps[i];
    if (!run_step(worker, i, count, failure))
        return false;
    if (!step_reference(plan, i, worker->before, worker->expected, worker->bounds, count))
        return fail(failure, "no host reference for '%s'", step->stage->operation->name);
    const struct comparison found =
        compare_arrays(step->to, worker->after, worker->expected, worker->bounds, count);
    if (!found.within)
        return step_differs(worker, i, first, found.at, failure);
    merge_step(&worker->steps[i],
               &(struct verify_step){is_exact(worker->bounds, count), found.worst, found.of_bound});
    void *spare = worker->before;
    worker->before = worker->after;
    worker->after = spare;
    return true;
}

/* `before` holds what the device makes of the chunk. */
static bool check_file(struct worker *worker, uint64_t first, size_t count,
                       struct failure *failure) {
    const cls_dtype dtype = worker->shared->program->plan->to;
    char in_file[ELEMENT_TEXT], on_device[ELEMENT_TEXT];
    if (!output_read(worker->shared->output, first, count, worker->expected, failure))
        return false;
    const struct comparison found =
        compare_arrays(dtype, worker->expected, worker->before, NULL, count);
    if (found.within)
        return true;
    return fail(failure,
                "verification failed: element %llu was written as %s, but the device makes %s",
                (unsigned long long)(first + found.at),
                element_format(dtype, worker->expected, found.at, in_file),
                element_format(dtype, worker->before, found.at, on_device));
}

static bool check_chunk(struct worker *worker, uint64_t chunk, struct failure *failure) {
    const struct verification *shared = worker->shared;
    const struct plan *plan = shared->program->plan;
    const uint64_t first = chunk * shared->program->capacity;
    const uint64_t left = shared->input->array.count - first;
    const size_t count =
        left < shared->program->capacity ? (size_t)left : shared->program->capacity;
    if (!input_read(shared->input, first, count, worker->before, failure))
        return false;
    const cls_status status = cls_copy_h2d(worker->device[0], 0, worker->before,
                                           count * cls_dtype_size(plan->from), worker->stream);
    if (status != CLS_SUCCESS)
        return fail_status(failure, status, "upload");
    for (unsigned i = 0; i < plan->n_steps; i++)
        if (!check_step(worker, i, first, count, failure))
            return false;
    return check_file(worker, first, count, failure);
}

static bool open_worker(struct worker *worker, struct failure *failure) {
    const struct program *program = worker->shared->program;
    const size_t bytes = program->capacity * program->plan->widest;
    cls_status status = cls_stream_create(program->context, NULL, &worker->stream);
    for (unsigned i = 0; i < program->plan->n_buffers && status == CLS_SUCCESS; i++)
        status = cls_buffer_create(program->context, bytes, &worker->device[i]);
    worker->before = malloc(bytes);
    worker->after = malloc(bytes);
    worker->expected = malloc(bytes);
    worker->bounds = malloc(program->capacity * sizeof *worker->bounds);
    if (status != CLS_SUCCESS)
        return fail_status(failure, status, "cannot verify");
    return (worker->before && worker->after && worker->expected && worker->bounds) ||
           fail(failure, "cannot verify: out of memory");
}

static void close_worker(struct worker *worker) {
    if (worker->stream)
        cls_stream_destroy(worker->stream);
    for (unsigned i = 0; i < 2; i++)
        if (worker->device[i])
            cls_buffer_destroy(worker->device[i]);
    free(worker->before);
    free(worker->after);
    free(worker->expected);
    free(worker->bounds);
}

static void merge(const struct worker *worker) {
    struct verification *shared = worker->shared;
    pthread_mutex_lock(&shared->mutex);
    for (unsigned i = 0; i < shared->program->plan->n_steps; i++)
        merge_step(&shared->result->steps[i], &worker->steps[i]);
    pthread_mutex_unlock(&shared->mutex);
}

static void *work(void *arg) {
    struct worker worker = {.shared = arg};
    struct verification *shared = arg;
    struct failure failure = {.set = false};
    uint64_t chunk;

    for (unsigned i = 0; i < EXPRESSION_MAX_STAGES; i++)
        worker.steps[i].exact = true;
    bool good = open_worker(&worker, &failure);
    while (good && take_chunk(shared, &chunk)) {
        good = check_chunk(&worker, chunk, &failure);
        pthread_mutex_lock(&shared->mutex);
        progress_update(shared->progress, ++shared->done * shared->program->capacity *
                                              cls_dtype_size(shared->program->plan->from));
        pthread_mutex_unlock(&shared->mutex);
    }
    if (!good)
        report(shared, &failure);
    merge(&worker);
    close_worker(&worker);
    return NULL;
}

static unsigned workers_for(uint64_t chunks) {
    const unsigned processors = platform_processors();
    const unsigned n = processors > MAX_WORKERS ? MAX_WORKERS : processors;
    return chunks < n ? (unsigned)chunks : n;
}

/* The calling thread works too, so a thread that cannot be made costs only time. */
static void run_workers(struct verification *shared) {
    pthread_t threads[MAX_WORKERS];
    unsigned n = 0;
    for (unsigned i = 1; i < workers_for(shared->chunks); i++)
        if (pthread_create(&threads[n], NULL, work, shared) == 0)
            n++;
    work(shared);
    while (n > 0)
        pthread_join(threads[--n], NULL);
}

bool verify_run(const struct program *program, const struct input *input,
                const struct output *output, struct progress *progress,
                struct verify_result *result, struct failure *failure) {
    const double start = clock_seconds();
    struct constants constants;
    struct verification shared = {.program = program,
                                  .constants = &constants,
                                  .input = input,
                                  .output = output,
                                  .progress = progress,
                                  .result = result,
                                  .failure = failure};
    shared.chunks = (input->array.count + program->capacity - 1) / program->capacity;
    *result = (struct verify_result){.seconds = 0};
    for (unsigned i = 0; i < program->plan->n_steps; i++)
        result->steps[i].exact = true;
    if (!constants_create(&constants, program, failure))
        return false;
    pthread_mutex_init(&shared.mutex, NULL);
    if (shared.chunks > 0)
        run_workers(&shared);
    pthread_mutex_destroy(&shared.mutex);
    constants_destroy(&constants);
    result->seconds = clock_seconds() - start;
    return !failure->set;
}

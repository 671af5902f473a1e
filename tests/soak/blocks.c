/* SPDX-License-Identifier: MIT */
/* Acts on what is built on streams: timelines, coordinators and their tasks, batches, pipelines. */
#include <stdio.h>

#include "work_state.h"

/* --- timelines --- */

/* Has the lane wait for what the other holds now. Half of the waits come before their signals. */
static bool come_after(struct work *work, struct lane *lane, struct lane *other) {
    const uint64_t value = ++other->signalled;
    const bool early = draw(work, 2);
    if (early && !WELL(cls_stream_wait_timeline(lane->stream, other->timeline, value)))
        return false;
    return WELL(cls_stream_signal_timeline(other->stream, other->timeline, value)) &&
           (early || WELL(cls_stream_wait_timeline(lane->stream, other->timeline, value)));
}

bool take_by_timeline(struct work *work, struct lane *lane) {
    struct lane *from = &work->lanes[draw(work, LANES)];
    if (from == lane)
        return true;
    lane->value = from->value;
    return come_after(work, lane, from) &&
           WELL(cls_copy_d2d_async(lane->array, 0, from->array, 0, BYTES, lane->stream)) &&
           come_after(work, from, lane);
}

/* Work that the host lets go. */
bool hold_back(struct work *work, struct lane *lane) {
    const uint64_t value = ++work->opened;
    return WELL(cls_stream_wait_timeline(lane->stream, work->gate, value)) && fill(work, lane) &&
           WELL(cls_timeline_signal(work->gate, value));
}

bool renew_timeline(struct work *work, struct lane *lane) {
    cls_timeline old = lane->timeline;
    (void)work;
    return WELL(cls_timeline_create(NULL, &lane->timeline)) && WELL(cls_timeline_destroy(old));
}

/* --- coordinators --- */

bool join_set(struct work *work, struct lane *lane) {
    struct lane *first = work->lanes, *last = first + LANES - 1;
    return WELL(cls_coordinator_add_stream(work->set, lane->stream, NULL)) &&
           (lane == first ||
            WELL(cls_coordinator_add_dependency(work->set, lane->stream, lane[-1].stream))) &&
           (lane == last ||
            WELL(cls_coordinator_add_dependency(work->set, lane[1].stream, lane->stream)));
}

bool leave_set(struct work *work, cls_stream stream) {
    return WELL(cls_coordinator_remove_stream(work->set, stream));
}

static struct lane *lane_of(struct work *work, cls_stream stream) {
    struct lane *lane = work->lanes;
    while (lane->stream != stream)
        lane++;
    return lane;
}

/* Takes the array of the lane before over and changes it. */
static cls_status pass_on(cls_stream stream, size_t index, void *arg) {
    struct work *work = arg;
    struct lane *lane = lane_of(work, stream), *before = lane - 1;
    (void)index;
    if (lane != work->lanes) {
        cls_status status =
            cls_copy_d2d_async(lane->array, 0, before->array, 0, BYTES, lane->stream);
        if (status)
            return status;
        lane->value = before->value;
    }
    return add_by_kernel_on(work, lane, stream) ? CLS_SUCCESS : CLS_ERROR_INVALID_STATE;
}

bool run_phase(struct work *work, struct lane *lane) {
    (void)lane;
    return WELL(cls_coordinator_run(work->set, pass_on, work)) &&
           WELL(cls_coordinator_barrier(work->set));
}

/* Tasks on whatever stream: the first lane's array is changed, and the next two take it over. */
static cls_status change(cls_stream stream, void *arg) {
    struct work *work = arg;
    return add_by_kernel_on(work, &work->lanes[0], stream) ? CLS_SUCCESS : CLS_ERROR_INVALID_STATE;
}

static cls_status take(cls_stream stream, const struct lane *from, struct lane *to) {
    to->value = from->value;
    return cls_copy_d2d_async(to->array, 0, from->array, 0, BYTES, stream);
}

static cls_status take_first(cls_stream stream, void *arg) {
    struct work *work = arg;
    return take(stream, &work->lanes[0], &work->lanes[1]);
}

static cls_status take_second(cls_stream stream, void *arg) {
    struct work *work = arg;
    return take(stream, &work->lanes[0], &work->lanes[2]);
}

bool run_tasks(struct work *work, struct lane *lane) {
    (void)lane;
    return WELL(cls_coordinator_barrier(work->set)) && WELL(cls_task_graph_run(work->errand)) &&
           WELL(cls_coordinator_barrier(work->set)) &&
           (draw(work, 16) || WELL(cls_task_graph_wait(work->errand, UINT64_MAX)));
}

static bool make_set(struct work *work) {
    static const cls_task_fn takers[] = {take_first, take_second};
    const uint32_t prerequisite = 0;
    cls_task task = CLS_TASK_INIT;
    bool good = WELL(cls_coordinator_create(NULL, &work->set));
    for (unsigned i = 0; i < LANES && good; i++)
        good = WELL(cls_coordinator_add_stream(work->set, work->lanes[i].stream, NULL)) &&
               (!i || WELL(cls_coordinator_add_dependency(work->set, work->lanes[i].stream,
                                                          work->lanes[i - 1].stream)));
    task.fn = change;
    task.arg = work;
    good = good && WELL(cls_task_graph_create(work->set, &work->errand)) &&
           WELL(cls_task_graph_add(work->errand, &task, NULL));
    task.prerequisites = &prerequisite;
    task.n_prerequisites = 1;
    for (unsigned i = 0; i < 2 && good; i++) {
        task.fn = takers[i];
        good = WELL(cls_task_graph_add(work->errand, &task, NULL));
    }
    return good;
}

bool renew_set(struct work *work, struct lane *lane) {
    (void)lane;
    return WELL(cls_task_graph_destroy(work->errand)) && WELL(cls_coordinator_destroy(work->set)) &&
           make_set(work);
}

/* --- batches --- */

/* 3 x + what is uploaded, by way of a minimum, so that there are two kernels and an arena. */
static bool make_batch(struct work *work) {
    static const uint32_t nothing[WORDS];
    const struct lane *lane = &work->lanes[0];
    cls_value tripled, sum, least;
    return WELL(cls_batch_create(work->context, NULL, &work->batch)) &&
           WELL(cls_batch_array(work->batch, cls_array_of(lane->array, CLS_U32, WORDS),
                                &work->batch_array)) &&
           WELL(cls_batch_upload(work->batch, nothing, CLS_U32, WORDS, &work->batch_upload)) &&
           WELL(cls_batch_scale(work->batch, work->batch_array, 3, &tripled)) &&
           WELL(cls_batch_add(work->batch, tripled, work->batch_upload, &sum)) &&
           WELL(cls_batch_reduce(work->batch, CLS_REDUCE_MIN, sum, &least)) &&
           WELL(cls_batch_binary(work->batch, CLS_BINARY_MAX, sum, least, &work->batch_result));
}

/* From the lane's array to its other one, which takes the array's place. */
bool run_batch(struct work *work, struct lane *lane) {
    const uint32_t add = draw(work, 100);
    const cls_array from = cls_array_of(lane->array, CLS_U32, WORDS);
    const cls_array to = cls_array_of(lane->other, CLS_U32, WORDS);
    const uint32_t *words = words_to_upload(lane, add);
    if (!WELL(cls_batch_bind_array(work->batch, work->batch_array, from)) ||
        !WELL(cls_batch_bind_upload(work->batch, work->batch_upload, words)) ||
        !WELL(cls_batch_store(work->batch, work->batch_result, to)) ||
        !WELL(cls_batch_execute_async(work->batch, lane->stream)))
        return false;
    lane->value = lane->value * 3 + add;
    lane->other = from.buffer;
    lane->array = to.buffer;
    return true;
}

bool renew_batch(struct work *work, struct lane *lane) {
    (void)lane;
    return WELL(cls_batch_destroy(work->batch)) && make_batch(work);
}

/* --- pipelines --- */

enum { MOST_ITERATIONS = 256 };

static cls_status feed(const cls_stage_run *run, void *arg) {
    const struct work *work = arg;
    return cls_fill_async(run->outputs[0], 0, BYTES, &work->fed, 4, run->stream);
}

static cls_status convert(const cls_stage_run *run, void *arg) {
    const cls_array in = cls_array_of(run->inputs[0], CLS_U32, WORDS);
    const cls_array out = cls_array_of(run->outputs[0], CLS_U32, WORDS);
    (void)arg;
    return cls_unary_param_async(CLS_UNARY_ADD_SCALAR, in, out, 1, run->stream);
}

static cls_status add_up(const cls_stage_run *run, void *arg) {
    const cls_array in = cls_array_of(run->inputs[0], CLS_U32, WORDS);
    const cls_array total = cls_array_of(run->outputs[0], CLS_U32, WORDS);
    (void)arg;
    return cls_binary_async(CLS_BINARY_ADD, in, total, total, run->stream);
}

static bool make_pipeline(struct work *work) {
    static const char *const names[] = {"fed", "converted", "total"};
    static const struct {
        const char *name;
        cls_stage_fn fn;
        unsigned first_input, n_inputs, output;
    } stages[] = {
        {"feed", feed, 0, 0, 0}, {"convert", convert, 0, 1, 1}, {"add up", add_up, 1, 2, 2}};
    const bool created = WELL(cls_pipeline_create(work->context, NULL, &work->pipeline));
    bool good = created;
    for (unsigned i = 0; i < 3 && good; i++)
        good = WELL(
            cls_pipeline_add_buffer(work->pipeline, names[i], BYTES, i == 2 ? work->total : NULL,
                                    i == 2 ? CLS_PIPELINE_EXTERNAL : CLS_PIPELINE_INTERNAL));
    for (unsigned i = 0; i < 3 && good; i++) {
        cls_stage stage = CLS_STAGE_INIT;
        stage.name = stages[i].name;
        stage.inputs = names + stages[i].first_input;
        stage.n_inputs = stages[i].n_inputs;
        stage.outputs = names + stages[i].output;
        stage.n_outputs = 1;
        stage.fn = stages[i].fn;
        stage.arg = work;
        good = WELL(cls_pipeline_add_stage(work->pipeline, &stage));
    }
    return good;
}

bool check_pipeline(struct work *work) {
    uint32_t words[WORDS];
    cls_pipeline_statistics statistics = CLS_PIPELINE_STATISTICS_INIT;
    work->iterations = 0;
    if (!WELL(cls_pipeline_synchronize(work->pipeline)) ||
        !WELL(cls_pipeline_get_statistics(work->pipeline, &statistics)) ||
        !WELL(cls_copy_d2h(words, work->total, 0, BYTES, work->timed)))
        return false;
    if (words[0] == work->total_due && words[WORDS - 1] == work->total_due)
        return true;
    fprintf(stderr, "a pipeline added up %u where %u is due\n", words[0], work->total_due);
    return false;
}

bool run_pipeline(struct work *work, struct lane *lane) {
    (void)lane;
    work->fed = draw(work, 1000);
    work->total_due += work->fed + 1;
    return WELL(cls_pipeline_execute_iteration(work->pipeline)) &&
           (++work->iterations < MOST_ITERATIONS || check_pipeline(work));
}

/* The next one adds to the same buffer, on another stream. */
bool renew_pipeline(struct work *work, struct lane *lane) {
    (void)lane;
    return check_pipeline(work) && WELL(cls_pipeline_destroy(work->pipeline)) &&
           make_pipeline(work);
}

/* --- all of it --- */

bool blocks_init(struct work *work) {
    const uint32_t zero = 0;
    return WELL(cls_timeline_create(NULL, &work->gate)) && make_set(work) && make_batch(work) &&
           WELL(cls_buffer_create(work->context, BYTES, &work->total)) &&
           WELL(cls_fill(work->total, 0, BYTES, &zero, 4, work->timed)) && make_pipeline(work);
}

void blocks_free(struct work *work) {
    cls_pipeline_destroy(work->pipeline);
    cls_buffer_destroy(work->total);
    cls_batch_destroy(work->batch);
    cls_task_graph_destroy(work->errand);
    cls_coordinator_destroy(work->set);
    cls_timeline_destroy(work->gate);
}

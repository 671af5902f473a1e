/* SPDX-License-Identifier: MIT */
#include "graph/worker_run.h"

#include <stdlib.h>

#include "base/error.h"
#include "graph/touch.h"
#include "system/clocks.h"

/* A launch that a worker runs. */
struct progress {
    struct graph_exec *exec;
    struct graph_run *run;
    struct stream *lanes[PLAN_LANES]; /* retained */
    uint64_t ends[PLAN_LANES];        /* the last position of each */
    uint64_t *positions;              /* of the nodes, as in the plan */
    uint64_t *times; /* likewise, while ranges are recorded: when submitted, then when done; NULL */
};

/* --- streams of the lanes --- */

static cls_status make_stream(struct graph_exec *exec, unsigned lane) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.order = exec->holds & HOLDS_LIBRARY_CALL ? CLS_ORDER_IN_ORDER : CLS_ORDER_AUTO;
    config.name = exec->name;
    config.timing = (exec->holds & HOLDS_RECORD) != 0;
    return stream_new_owned(exec->context, &config, "a graph", &exec->streams[lane]);
}

/* What user code of the nodes does is the launch's, for the race checker; position 0: no more. */
static void set_launch(const struct progress *progress, uint64_t position) {
    for (unsigned lane = 0; lane < PLAN_LANES && race_on(); lane++)
        if (progress->lanes[lane])
            hooks.race.part_of(progress->lanes[lane], position ? progress->run->stream : NULL,
                               position);
}

/* The stream of a lane, well, whatever became of the launch before. */
static cls_status open_lane(struct progress *progress, unsigned lane) {
    struct graph_exec *exec = progress->exec;
    cls_status status = exec->streams[lane] ? CLS_SUCCESS : make_stream(exec, lane);
    if (status)
        return status;
    object_retain(&exec->streams[lane]->object);
    progress->lanes[lane] = exec->streams[lane];
    return stream_poison(progress->lanes[lane]) ? stream_reset(progress->lanes[lane]) : CLS_SUCCESS;
}

static cls_status open_lanes(struct progress *progress) {
    const struct context *context = progress->exec->context;
    cls_status status = atomic_load(&context->lost_by) ? context_gone(context) : CLS_SUCCESS;
    for (unsigned lane = 0; lane < progress->exec->plan.n_lanes && !status; lane++)
        status = open_lane(progress, lane);
    return status;
}

static void close_lanes(struct progress *progress) {
    for (unsigned lane = 0; lane < PLAN_LANES; lane++)
        if (progress->lanes[lane])
            stream_put(progress->lanes[lane]);
}

/* --- nodes --- */

/* The node keeps its instance and what its library call uses. The race checker knows the launch as a whole. */
static void set_type(struct exec_node *node) {
    node->type = command_must_compile(&node->command) ? type_library : *node->command.type;
    node->type.discard = NULL;
    node->type.own = NULL;
    node->type.touch = NULL;
}

/* A command of its own for a node; of one that is left out, a mark. It keeps the launch, and with it the graph. */
static cls_status make_command(struct progress *progress, struct exec_node *node,
                               struct command *out) {
    const struct command *from = &node->command;
    const bool is_marker = node->disabled || from->type == &type_marker;
    set_type(node);
    command_init(out, is_marker ? &type_marker : &node->type, command_label(from));
    if (!node->disabled) {
        out->bytes = from->bytes;
        out->u = from->u;
    }
    object_retain(&progress->run->object);
    command_keep(out, &progress->run->object); /* there is room */
    if (node->disabled || from->type != &type_launch_in_two)
        return CLS_SUCCESS;
    cls_status status = launch_rest_keep(from->u.launch.kernel, out);
    if (status)
        command_drop(out);
    return status;
}

/* Has the lane wait for what the node comes after on other lanes. */
static cls_status wait_for_deps(struct progress *progress, unsigned i) {
    const struct planned_node *planned = &progress->exec->plan.nodes[i];
    const unsigned *deps = planned_deps(progress->exec, i);
    struct stream *lane = progress->lanes[planned->lane];
    cls_status status = CLS_SUCCESS;
    for (unsigned d = 0; d < planned->n_deps && !status; d++) {
        struct stream *other = progress->lanes[progress->exec->plan.nodes[deps[d]].lane];
        if (other != lane)
            status = stream_wait_for(lane, other, progress->positions[deps[d]]);
    }
    return status;
}

static cls_status submit_node(struct progress *progress, unsigned i) {
    struct exec_node *node = &progress->exec->nodes.items[i];
    const unsigned lane = progress->exec->plan.nodes[i].lane;
    struct command command;
    if (progress->times)
        progress->times[i] = clock_now_ns();
    cls_status status = wait_for_deps(progress, i);
    if (!status)
        status = make_command(progress, node, &command);
    if (!status)
        status = stream_submit(progress->lanes[lane], &command, &progress->positions[i]);
    if (!progress->positions[i])
        return status;
    /* It was taken: what has become of it meanwhile (CLSTREAM_LAUNCH_BLOCKING) the lane tells at its end. */
    progress->ends[lane] = progress->positions[i];
    return CLS_SUCCESS;
}

/* --- ranges --- */

/* Times are taken while somebody profiles nodes that have ranges. */
static void prepare_ranges(struct progress *progress) {
    const struct exec_plan *plan = &progress->exec->plan;
    const struct observer *watcher = observer();
    bool any = false;
    for (unsigned i = 0; i < plan->n_nodes && watcher && !any; i++)
        any = graph_body_ranges(progress->run->version->body, i) != NULL;
    if (!any)
        return;
    progress->times = calloc(plan->n_nodes, sizeof *progress->times);
    if (!progress->times)
        watcher->missed();
}

/* Waits for a submitted node; returns when it could begin. */
static uint64_t await_node(struct progress *progress, unsigned i) {
    const struct planned_node *planned = &progress->exec->plan.nodes[i];
    uint64_t start = progress->times[i];
    for (unsigned d = 0; d < planned->n_deps; d++) {
        const uint64_t done = progress->times[planned_deps(progress->exec, i)[d]];
        start = done > start ? done : start;
    }
    stream_await(progress->lanes[planned->lane], progress->positions[i], WAIT_FOREVER);
    progress->times[i] = clock_now_ns();
    return start;
}

/* Waits for the nodes one by one, and records the ranges in which they were captured. */
static void record_ranges(struct progress *progress) {
    struct spans spans = {.count = 0};
    for (unsigned i = 0; i < progress->exec->plan.n_nodes; i++) {
        if (!progress->positions[i])
            continue;
        const uint64_t start = await_node(progress, i);
        spans_cover(&spans, graph_body_ranges(progress->run->version->body, i), start,
                    progress->times[i]);
    }
    spans_record(&spans);
}

/* --- a launch --- */

/* Waits for all lanes; returns a failure of one of them, or NULL. */
static const struct failure *await_lanes(struct progress *progress) {
    const struct failure *failure = NULL;
    for (unsigned lane = 0; lane < progress->exec->plan.n_lanes; lane++) {
        struct stream *stream = progress->lanes[lane];
        if (!stream || !progress->ends[lane])
            continue;
        stream_await(stream, progress->ends[lane], WAIT_FOREVER);
        if (!failure)
            failure = stream_failure_at(stream, progress->ends[lane]);
    }
    return failure;
}

/* Stops at a node that is refused. */
static cls_status submit_all(struct progress *progress, const char **refused) {
    struct graph_run *run = progress->run;
    cls_status status = CLS_SUCCESS;
    while (run->handed < run->exec->plan.n_nodes && !status) {
        status = submit_node(progress, run->handed);
        if (!status)
            run->handed++;
        else
            *refused = command_label(&run->exec->nodes.items[run->handed].command);
    }
    return status;
}

static cls_status begin(struct progress *progress) {
    const size_t room = (size_t)progress->exec->plan.n_nodes + 1;
    progress->positions = calloc(room, sizeof *progress->positions);
    if (!progress->positions)
        return error_no_memory("for a launch of a graph");
    cls_status status = graph_run_begin(progress->run);
    return status ? status : open_lanes(progress);
}

static void run_nodes(struct progress *progress, struct stream *stream, struct command *command) {
    const char *refused = command_label(command);
    cls_status status = begin(progress);
    set_launch(progress, command->position);
    if (!status) {
        prepare_ranges(progress);
        status = submit_all(progress, &refused);
    }
    const int code = status ? cls_last_error_code() : 0;
    if (progress->times)
        record_ranges(progress);
    const struct failure *failure = await_lanes(progress);
    set_launch(progress, 0);
    pthread_mutex_lock(&stream->lock);
    if (failure)
        stream_fail_by_locked(stream, command->position, failure);
    else if (status)
        stream_fail_locked(stream, command->position, stream_poison_status(status), code, refused);
    pthread_mutex_unlock(&stream->lock);
}

/* Calls the callbacks among the nodes that were not submitted: a callback is called whatever becomes of its launch. */
static void call_callbacks(struct stream *stream, struct command *command) {
    struct graph_run *run = command->u.graph.run;
    const struct failure *failure = stream_failure_at(stream, command->position);
    while (run->handed < run->exec->plan.n_nodes) {
        const struct body_node *node = &run->version->nodes[run->handed++];
        struct command callback = node->node->command;
        callback.position = command->position;
        if (callback.type->when_failed && !node->disabled)
            callback.type->run(stream, &callback, failure ? failure->status : CLS_SUCCESS);
    }
}

static struct run_result run(struct stream *stream, struct command *command, cls_status so_far) {
    struct graph_run *run = command->u.graph.run;
    struct progress progress = {.exec = run->exec, .run = run};
    const bool skipped = so_far || engine_is_down();
    if (!skipped)
        run_nodes(&progress, stream, command);
    close_lanes(&progress);
    free(progress.positions);
    free(progress.times);
    call_callbacks(stream, command);
    return (struct run_result){.status = CLS_SUCCESS, .skipped = skipped};
}

const struct command_type type_graph_run = {.kind = CLS_COMMAND_GRAPH,
                                            .label = "graph",
                                            .run = run,
                                            .touch = graph_touch,
                                            .after_completion = true};
const struct command_type type_graph_run_user = {.kind = CLS_COMMAND_GRAPH,
                                                 .label = "graph",
                                                 .run = run,
                                                 .touch = graph_touch,
                                                 .after_completion = true,
                                                 .user_code = true};
const struct command_type type_graph_run_calling = {.kind = CLS_COMMAND_GRAPH,
                                                    .label = "graph",
                                                    .run = run,
                                                    .touch = graph_touch,
                                                    .after_completion = true,
                                                    .when_failed = true,
                                                    .resumes = true,
                                                    .user_code = true};

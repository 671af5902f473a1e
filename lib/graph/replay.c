/* SPDX-License-Identifier: MIT */
#include "graph/replay.h"

#include <stdlib.h>

#include "base/error.h"
#include "driver/event.h"
#include "driver/queue.h"

/* A launch that is being handed over. */
struct replay {
    struct graph_exec *exec;
    struct graph_run *run;
    struct target target;
    struct wait_list outside; /* what the launch waits for */
    cl_event entered;         /* of the work before the launch, for lanes on queues of their own */
    bool unflushed
        [PLAN_LANES]; /* in order: the lane's queue has commands that others do not see yet */
    cl_event *waits;  /* of the node at hand */
    cl_event *event;  /* the launch's */
    bool handed_over; /* some node */
};

static struct target lane_target(const struct replay *replay, unsigned lane) {
    struct target target = replay->target;
    if (target.in_order && lane)
        target.queue = replay->exec->queues[lane]->cl;
    return target;
}

/* Has the driver start what is on the lane's queue, for others to wait for it. */
static void flush(struct replay *replay, unsigned lane) {
    if (!replay->unflushed[lane] || replay->exec->context->caps->unflushed_runs)
        return;
    queue_flush(replay->target.device, lane_target(replay, lane).queue);
    replay->unflushed[lane] = false;
}

/* --- lanes on queues of their own --- */

static cls_status find_queues(struct graph_exec *exec, int priority) {
    const struct queue_traits traits = {.out_of_order = false, .priority = priority};
    cls_status status = CLS_SUCCESS;
    const bool hurt = atomic_exchange(&exec->hurt, false);
    for (unsigned lane = 1; lane < exec->plan.n_lanes && !status; lane++) {
        struct queue **queue = &exec->queues[lane];
        if (*queue && hurt) {
            queue_bury(exec->context, *queue);
            *queue = NULL;
        }
        if (!*queue)
            status = queue_acquire(exec->context, &traits, queue);
    }
    return status;
}

/* The other lanes' first nodes wait for what the stream's queue holds. */
static cls_status enter_lanes(struct replay *replay) {
    if (!replay->target.in_order || replay->exec->plan.n_lanes < 2)
        return CLS_SUCCESS;
    cls_status status = find_queues(replay->exec, replay->run->stream->queue->traits.priority);
    if (status || mutant(MUTANT_GRAPH_ENTER))
        return status;
    status = enqueue_marker(replay->target.device, replay->target.queue, replay->outside,
                            &replay->entered);
    if (status)
        return status;
    replay->run->events[replay->exec->plan.n_nodes] = replay->entered;
    replay->outside = (struct wait_list){0, NULL};
    replay->unflushed[0] = true;
    flush(replay, 0);
    return CLS_SUCCESS;
}

/* --- nodes --- */

/* What node `i` waits for by events. */
static struct wait_list waits_of(struct replay *replay, unsigned i) {
    const struct planned *planned = &replay->exec->plan.nodes[i];
    const unsigned *deps = planned_deps(replay->exec, i);
    struct wait_list waits = {0, replay->waits};
    if (!planned->n_deps && replay->entered && planned->lane)
        return (struct wait_list){1, &replay->entered};
    if (!planned->n_deps)
        return replay->outside;
    for (unsigned d = 0; d < planned->n_deps; d++) {
        const unsigned lane = replay->exec->plan.nodes[deps[d]].lane;
        if (replay->target.in_order && lane == planned->lane)
            continue;
        if (mutant(MUTANT_GRAPH_EDGE))
            continue;
        if (replay->target.in_order)
            flush(replay, lane);
        replay->waits[waits.count++] = replay->run->events[deps[d]];
    }
    return waits;
}

/* Whether somebody waits for the node by its event: on an out-of-order queue each successor does. */
static bool needs_event(const struct replay *replay, unsigned i) {
    const struct planned *planned = &replay->exec->plan.nodes[i];
    if (!replay->target.in_order)
        return true;
    if (!planned->n_successors)
        return planned->lane != 0 || replay->exec->plan.n_sinks == 1;
    return planned->crosses;
}

/* A launch that is cut in two keeps an event of its own. */
static cls_status enqueue_cut(struct replay *replay, const struct node *node, struct target target,
                              struct wait_list waits, cl_event *event) {
    struct command command = node->command;
    command.refs = (struct refs){.count = 0};
    cls_status status = launch_rest_keep(command.u.launch.kernel, &command);
    if (!status)
        status = refs_keep(&replay->run->kept, command.refs.here[0]);
    if (status)
        refs_release(&command.refs);
    return status ? status : command.type->enqueue(target, &command, waits, event);
}

/* Events of launches that another launch waits for can go, where the driver keeps what it needs of them. */
static void forget_waited(struct replay *replay, unsigned i) {
    const struct planned *planned = &replay->exec->plan.nodes[i];
    const unsigned *deps = planned_deps(replay->exec, i);
    if (replay->target.in_order || planned->n_deps != 1 ||
        !replay->exec->body->nodes[i].is_launch || !replay->exec->body->nodes[deps[0]].is_launch ||
        replay->exec->plan.nodes[deps[0]].n_successors != 1 ||
        !replay->exec->context->caps->chain_shares)
        return;
    event_release(replay->target.device, replay->run->events[deps[0]]);
    replay->run->events[deps[0]] = NULL;
}

/* A node that is left out passes on what it would wait for. */
COLD static cls_status enqueue_nothing(const struct replay *replay, struct target target,
                                       struct wait_list waits, cl_event *event) {
    if (!event && !waits.count)
        return CLS_SUCCESS;
    return enqueue_marker(replay->target.device, target.queue, waits, event);
}

static cls_status enqueue_one(struct replay *replay, const struct exec_node *node,
                              struct target target, struct wait_list waits, cl_event *event) {
    const struct command *command = &node->node.command;
    if (RARELY(node->disabled))
        return enqueue_nothing(replay, target, waits, event);
    if (RARELY(command->type == &type_launch_in_two))
        return enqueue_cut(replay, &node->node, target, waits, event);
    return command->type->enqueue(target, command, waits, event);
}

static cls_status enqueue_node(struct replay *replay, unsigned i) {
    const struct exec_node *node = &replay->exec->body->nodes[i];
    const unsigned lane = replay->exec->plan.nodes[i].lane;
    const struct target target = lane_target(replay, lane);
    const bool last = !replay->exec->plan.nodes[i].n_successors && replay->exec->plan.n_sinks == 1;
    const struct wait_list waits = waits_of(replay, i);
    cl_event *event = NULL;
    if (last && (lane == 0 || !target.in_order))
        event = replay->event;
    else if (needs_event(replay, i))
        event = &replay->run->events[i];
    cls_status status = enqueue_one(replay, node, target, waits, event);
    if (RARELY(status))
        return status;
    replay->unflushed[lane] = true;
    replay->handed_over = true;
    forget_waited(replay, i);
    return CLS_SUCCESS;
}

/* --- the end --- */

/* The launch's event: behind all nodes that others do not wait for. */
static cls_status leave(struct replay *replay) {
    const struct exec_plan *plan = &replay->exec->plan;
    struct wait_list ends = {0, replay->waits};
    for (unsigned lane = 1; replay->target.in_order && lane < plan->n_lanes; lane++)
        flush(replay, lane);
    if (*replay->event)
        return CLS_SUCCESS;
    for (unsigned i = 0; i < plan->n_nodes && !mutant(MUTANT_GRAPH_LEAVE); i++)
        if (!plan->nodes[i].n_successors && replay->run->events[i])
            replay->waits[ends.count++] = replay->run->events[i];
    if (!plan->n_nodes)
        ends = replay->outside;
    return enqueue_marker(replay->target.device, replay->target.queue, ends, replay->event);
}

/* An event behind all that was handed over of a launch of which a node was refused. */
static cls_status leave_early(struct replay *replay, unsigned count) {
    struct wait_list ends = {0, replay->waits};
    const struct exec_plan *plan = &replay->exec->plan;
    for (unsigned i = 0; i < count && !replay->target.in_order; i++)
        if (replay->run->events[i])
            replay->waits[ends.count++] = replay->run->events[i];
    for (unsigned lane = 1; replay->target.in_order && lane < plan->n_lanes; lane++) {
        cl_event *event = &replay->run->events[plan->n_nodes + lane];
        const struct target target = lane_target(replay, lane);
        cls_status status =
            enqueue_marker(target.device, target.queue, (struct wait_list){0, NULL}, event);
        if (status)
            return status;
        queue_flush(target.device, target.queue);
        replay->waits[ends.count++] = *event;
    }
    return enqueue_marker(replay->target.device, replay->target.queue, ends, replay->event);
}

/* A node was refused when others were with the driver: the launch is a command that failed, by the node's name. */
COLD static cls_status fail_at(struct replay *replay, const struct command *command, unsigned i,
                               cls_status status) {
    struct detail held;
    const int code = cls_last_error_code();
    const char *label = command_label(&replay->exec->body->nodes[i].node.command);
    if (!i)
        return status;
    error_save(&held);
    cls_status left = leave_early(replay, i);
    error_restore(&held, CLS_SUCCESS);
    atomic_store(&replay->exec->hurt, true);
    stream_note_hurt(replay->run->stream);
    stream_fail_locked(replay->run->stream, command->position, stream_poison_status(status), code,
                       label);
    return left;
}

/* What was handed over has no event: its end cannot be known. */
COLD static void abandon(const struct replay *replay, const struct command *command) {
    struct command whole = *command;
    object_retain(&replay->run->object);
    whole.refs = (struct refs){.count = 1, .here = {&replay->run->object}};
    abandon_command(replay->exec->context, replay->run->stream->queue, &whole);
}

/* Room for an event a node, for that of entering, and for one a lane of leave_early. */
static cls_status make_room(struct replay *replay) {
    const size_t room = (size_t)replay->exec->plan.n_nodes + 1 + PLAN_LANES;
    replay->run->n_events = (unsigned)room;
    replay->run->events = calloc(room, sizeof(cl_event));
    replay->waits = malloc(room * sizeof(cl_event));
    return replay->run->events && replay->waits
               ? CLS_SUCCESS
               : error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a launch of a graph");
}

static cls_status hand_over(struct replay *replay, const struct command *command) {
    cls_status status = graph_exec_begin(replay->exec, replay->run);
    if (!status)
        status = make_room(replay);
    unsigned i = 0;
    if (!status)
        status = enter_lanes(replay);
    if (status)
        return status;
    for (; i < replay->exec->plan.n_nodes && !status; i++)
        status = enqueue_node(replay, i);
    return RARELY(status) ? fail_at(replay, command, i - 1, status) : leave(replay);
}

static cls_status enqueue(struct target target, const struct command *command,
                          struct wait_list waits, cl_event *event) {
    struct graph_run *run = command->u.graph.run;
    struct replay replay = {
        .exec = run->exec, .run = run, .target = target, .outside = waits, .event = event};
    *event = NULL;
    pthread_mutex_lock(&run->exec->lock);
    cls_status status = hand_over(&replay, command);
    pthread_mutex_unlock(&run->exec->lock);
    free(replay.waits);
    if (RARELY(status) && replay.handed_over)
        abandon(&replay, command);
    return status;
}

const struct command_type type_graph_replay = {.kind = CLS_COMMAND_GRAPH,
                                               .label = "graph",
                                               .enqueue = enqueue,
                                               .touch = graph_touch,
                                               .discard = graph_discard};

/* SPDX-License-Identifier: MIT */
#include "graph/replay.h"

#include <stdlib.h>

#include "base/cache_line.h"
#include "base/error.h"
#include "driver/event.h"
#include "driver/queue.h"
#include "driver/quirk.h"
#include "graph/touch.h"

enum {
    AHEAD = 2, /* nodes, from one that is handed over to one that is fetched into the cache */
    MORE_FLUSHES = 8
};

/* A node that the driver refused when it had others. */
struct refusal {
    cls_status status; /* CLS_SUCCESS: there is none */
    int code;
    const char *label;
};

/* A launch that is being handed over. */
struct replay {
    struct graph_exec *exec;
    struct graph_run *run;
    struct target target;
    struct wait_list outside; /* what the launch waits for */
    bool unflushed
        [PLAN_LANES]; /* in order: the lane's queue has commands that others do not see yet */
    cl_event *waits;  /* of the node at hand */
    cl_event *event;  /* the launch's; NULL: the stream's in-order queue tells of its end */
    bool handed_over; /* some node */
    bool on_stream;   /* all nodes go to the stream's out-of-order queue */
    bool chained;     /* each node waits for the event of the one before it in its lane */
    unsigned newest[PLAN_LANES]; /* chained: the node handed over last in the lane, plus one */
    struct refusal refusal;
};

/* Whether the lane has a queue of the graph's: all but the first one of a launch on an in-order queue. */
static bool is_own(const struct replay *replay, unsigned lane) {
    return !replay->on_stream && (lane || !replay->target.in_order);
}

static struct target lane_target(const struct replay *replay, unsigned lane) {
    cl_command_queue queue =
        is_own(replay, lane) ? replay->exec->queues[lane]->cl : replay->target.queue;
    return (struct target){replay->target.device, queue, !replay->on_stream};
}

/* Again where the first try failed: nobody else flushes the queues of a graph. */
COLD static cls_status flush_again(const struct replay *replay, unsigned lane) {
    struct detail held;
    cls_status status = CLS_ERROR_DRIVER;
    error_save(&held);
    for (int i = 0; i < MORE_FLUSHES && status; i++)
        status = queue_flush(replay->target.device, lane_target(replay, lane).queue);
    return error_restore(&held, status);
}

/* Has the driver start what is on the lane's queue, for others to wait for it. */
static cls_status flush(struct replay *replay, unsigned lane) {
    if (!replay->unflushed[lane] || !replay->exec->context->caps->flushes)
        return CLS_SUCCESS;
    cls_status status = queue_flush(replay->target.device, lane_target(replay, lane).queue);
    if (RARELY(status))
        status = flush_again(replay, lane);
    replay->unflushed[lane] = status != CLS_SUCCESS;
    return status;
}

/* --- lanes on queues of their own --- */

static cls_status find_queues(struct replay *replay) {
    struct graph_exec *exec = replay->exec;
    const struct queue_traits traits = {.out_of_order = false,
                                        .profiled = exec->holds & HOLDS_RECORD,
                                        .priority = replay->run->stream->queue->traits.priority};
    cls_status status = CLS_SUCCESS;
    const bool hurt = atomic_exchange(&exec->hurt, false);
    for (unsigned lane = 0; lane < exec->plan.n_lanes && !status; lane++) {
        struct queue **queue = &exec->queues[lane];
        if (*queue && hurt) {
            queue_bury(exec->context, *queue);
            *queue = NULL;
        }
        if (!*queue && is_own(replay, lane))
            status = queue_acquire(exec->context, &traits, queue);
    }
    return status;
}

/* What comes before the launch on an in-order queue has no event: the other lanes' first nodes wait for a marker. */
static cls_status enter_lanes(struct replay *replay) {
    cls_status status = find_queues(replay);
    if (status || !replay->target.in_order || replay->exec->plan.n_lanes < 2)
        return status;
    cl_event *entered = &replay->run->events[replay->exec->plan.n_nodes];
    status = enqueue_marker(replay->target.device, replay->target.queue, replay->outside, entered);
    if (status)
        return status;
    replay->outside = (struct wait_list){1, entered};
    replay->unflushed[0] = true;
    return flush(replay, 0);
}

/* --- nodes --- */

/* What a lane's first node waits for. */
static struct wait_list first_waits(const struct replay *replay, unsigned lane) {
    const bool ordered = !is_own(replay, lane) && replay->exec->plan.n_lanes > 1; /* by the queue */
    return ordered ? (struct wait_list){0, NULL} : replay->outside;
}

/* The events that node `i` waits for: of nodes of other lanes, of the node before it in a chain, or of the work before
 * the launch. */
static struct wait_list waits_of(struct replay *replay, unsigned i) {
    const struct planned_node *planned = &replay->exec->plan.nodes[i];
    const unsigned *deps = planned_deps(replay->exec, i);
    const unsigned before = replay->newest[planned->lane];
    struct wait_list waits = {0, replay->waits};
    if (!planned->n_deps && !before)
        return first_waits(replay, planned->lane);
    if (before)
        replay->waits[waits.count++] = replay->run->events[before - 1];
    for (unsigned d = 0; d < planned->n_deps; d++) {
        const unsigned lane = replay->exec->plan.nodes[deps[d]].lane;
        if (lane == planned->lane)
            continue;
        replay->waits[waits.count++] = replay->run->events[deps[d]];
    }
    return waits;
}

/* The lanes that node `i` waits for. */
static cls_status flush_deps(struct replay *replay, unsigned i) {
    const struct planned_node *planned = &replay->exec->plan.nodes[i];
    cls_status status = CLS_SUCCESS;
    for (unsigned d = 0; d < planned->n_deps && !status; d++) {
        const unsigned lane = replay->exec->plan.nodes[planned_deps(replay->exec, i)[d]].lane;
        if (lane != planned->lane)
            status = flush(replay, lane);
    }
    return status;
}

static bool is_record(const struct replay *replay, unsigned i) {
    return RARELY(replay->exec->holds & HOLDS_RECORD) &&
           command_is_record(&replay->exec->nodes.items[i].command);
}

/* Whether the node ends last, and its event can be the launch's. For a stream with an in-order queue that of a node on
 * another queue cannot: the work after the launch, which the queue orders, would not wait for it. */
static bool is_end_of_all(const struct replay *replay, unsigned i) {
    const struct exec_plan *plan = &replay->exec->plan;
    if (replay->chained && plan->n_lanes == 1)
        return i + 1 == plan->n_nodes;
    return !plan->nodes[i].n_successors && plan->n_sinks == 1 &&
           (!plan->nodes[i].lane || !replay->target.in_order);
}

/* Where the node's event goes: to the launch, to nodes of other lanes, to the end of the launch, to the event that it
 * records, or to the next node of a chain. NULL: there is none. */
static cl_event *event_of(const struct replay *replay, unsigned i) {
    const struct planned_node *planned = &replay->exec->plan.nodes[i];
    const bool is_own_end = !planned->n_successors && is_own(replay, planned->lane);
    if (is_end_of_all(replay, i) && !is_record(replay, i))
        return replay->event;
    return replay->chained || planned->crosses || is_own_end || is_record(replay, i)
               ? &replay->run->events[i]
               : NULL;
}

/* The node is its lane's newest, and the event of the one before has served unless another lane waits for it. Intel's
 * runtime enqueues faster with the memory of a released event than with more of it. */
static void note_newest(struct replay *replay, unsigned i) {
    const struct planned_node *nodes = replay->exec->plan.nodes;
    unsigned *newest = &replay->newest[nodes[i].lane];
    if (*newest && replay->exec->context->caps->chain_shares && !nodes[*newest - 1].crosses &&
        !is_record(replay, *newest - 1)) {
        cl_event *event = &replay->run->events[*newest - 1];
        event_release(replay->target.device, *event);
        *event = NULL;
    }
    *newest = i + 1;
}

/* A launch that is cut in two keeps an event of its own. */
static cls_status enqueue_cut(struct replay *replay, const struct command *whole,
                              struct target target, struct wait_list waits, cl_event *event) {
    struct command command = *whole;
    cls_status status = launch_rest_keep(command.u.launch.kernel, &command);
    if (!status)
        status = refs_keep(&replay->run->kept, command.refs.here[0]);
    if (status)
        refs_release(&command.refs);
    return status ? status : command.type->enqueue(target, &command, waits, event);
}

/* A node that is left out passes on what it would wait for. */
COLD static cls_status enqueue_nothing(const struct replay *replay, struct target target,
                                       struct wait_list waits, cl_event *event) {
    if (!event && !waits.count)
        return CLS_SUCCESS;
    if (replay->chained && waits.count == 1 && event_retain(target.device, waits.events[0])) {
        *event = waits.events[0];
        return CLS_SUCCESS;
    }
    return enqueue_marker(replay->target.device, target.queue, waits, event);
}

static cls_status enqueue_one(struct replay *replay, const struct exec_node *node,
                              struct target target, struct wait_list waits, cl_event *event) {
    const struct command *command = &node->command;
    if (RARELY(node->disabled))
        return enqueue_nothing(replay, target, waits, event);
    if (RARELY(command->type == &type_launch_in_two))
        return enqueue_cut(replay, command, target, waits, event);
    return command->type->enqueue(target, command, waits, event);
}

/* The lines of a node that handing it over reads: its type, and a launch's kernel and shape. */
PREFETCHES void fetch(const struct replay *replay, unsigned i) {
    const struct command *command = &replay->exec->nodes.items[i].command;
    if (i >= replay->exec->plan.n_nodes)
        return;
    prefetch_line(command, 0);
    prefetch_line(&command->u, 0);
    prefetch_line(&command->u, 1);
}

static cls_status enqueue_node(struct replay *replay, unsigned i) {
    const unsigned lane = replay->exec->plan.nodes[i].lane;
    fetch(replay, i + AHEAD);
    cls_status status = replay->exec->plan.n_lanes > 1 ? flush_deps(replay, i) : CLS_SUCCESS;
    if (RARELY(status))
        return status;
    status = enqueue_one(replay, &replay->exec->nodes.items[i], lane_target(replay, lane),
                         waits_of(replay, i), event_of(replay, i));
    if (RARELY(status))
        return status;
    replay->unflushed[lane] = replay->handed_over = true;
    if (replay->chained)
        note_newest(replay, i);
    return CLS_SUCCESS;
}

/* --- the end --- */

static cls_status flush_lanes(struct replay *replay) {
    cls_status status = CLS_SUCCESS;
    for (unsigned lane = 0; lane < replay->exec->plan.n_lanes && !status; lane++)
        if (is_own(replay, lane))
            status = flush(replay, lane);
    return status;
}

/* The launch's event, where no node has it: behind the ends of all lanes that are not on its queue. */
static cls_status leave(struct replay *replay) {
    const struct exec_plan *plan = &replay->exec->plan;
    struct wait_list ends = {0, replay->waits};
    cls_status status = flush_lanes(replay);
    if (status || (replay->event && *replay->event))
        return status;
    for (unsigned i = 0; i < plan->n_nodes; i++)
        if (!plan->nodes[i].n_successors && replay->run->events[i])
            replay->waits[ends.count++] = replay->run->events[i];
    if (!plan->n_nodes)
        ends = replay->outside;
    if (!replay->event && !ends.count)
        return CLS_SUCCESS;
    return enqueue_marker(replay->target.device, replay->target.queue, ends, replay->event);
}

/* An event behind all that was handed over of a launch of which a node was refused. */
static cls_status leave_early(struct replay *replay) {
    struct wait_list ends = {0, replay->waits};
    const struct exec_plan *plan = &replay->exec->plan;
    cls_status status = CLS_SUCCESS;
    for (unsigned lane = 0; lane < plan->n_lanes && !status; lane++) {
        cl_event *event = &replay->run->events[plan->n_nodes + 1 + lane];
        if (!is_own(replay, lane))
            continue;
        status = enqueue_marker(replay->target.device, lane_target(replay, lane).queue,
                                (struct wait_list){0, NULL}, event);
        replay->unflushed[lane] = true; /* the marker, wherever other nodes were flushed before */
        replay->waits[ends.count++] = *event;
    }
    if (!status)
        status = flush_lanes(replay);
    return status
               ? status
               : enqueue_marker(replay->target.device, replay->target.queue, ends, replay->event);
}

/* A node was refused when others, or some of it, were with the driver: the launch is a command that failed, by the
 * node's name (end_locked). */
COLD static cls_status refuse(struct replay *replay, unsigned i, cls_status status) {
    const struct command *refused = &replay->exec->nodes.items[i].command;
    if (!i && !refused->type->in_parts)
        return status;
    replay->refusal = (struct refusal){stream_poison_status(status), cls_last_error_code(),
                                       command_label(refused)};
    atomic_store(&replay->exec->hurt, true);
    return leave_early(replay);
}

/* What was handed over has no event, or may never be started: its end cannot be known. */
COLD static void abandon(const struct replay *replay, const struct command *command) {
    struct command whole = *command;
    if (replay->event) {
        replay->run->events[replay->run->n_events - 1] = *replay->event;
        *replay->event = NULL;
    }
    atomic_store(&replay->exec->hurt, true);
    object_retain(&replay->run->object);
    whole.refs = (struct refs){.count = 1, .here = {&replay->run->object}};
    abandon_command(replay->exec->context, replay->run->stream->queue, &whole);
}

/* Room for an event a node, for that of entering, for one a lane of leave_early, and for that of an abandoned launch. */
static cls_status make_room(struct replay *replay) {
    const size_t room = (size_t)replay->exec->plan.n_nodes + 2 + PLAN_LANES;
    replay->run->n_events = (unsigned)room;
    replay->run->events = calloc(room, sizeof(cl_event));
    replay->waits = malloc(room * sizeof(cl_event));
    return replay->run->events && replay->waits ? CLS_SUCCESS
                                                : error_no_memory("for a launch of a graph");
}

/* Only this thread is at work on the graph's nodes and queues: no later launch begins before. */
static cls_status hand_over_nodes(struct replay *replay) {
    unsigned i = 0;
    cls_status status = enter_lanes(replay);
    if (status)
        return status;
    for (; i < replay->exec->plan.n_nodes && !status; i++)
        status = enqueue_node(replay, i);
    return RARELY(status) ? refuse(replay, i - 1, status) : leave(replay);
}

static cls_status hand_over(struct replay *replay) {
    cls_status status = graph_run_begin(replay->run);
    if (!status)
        status = make_room(replay);
    if (!status)
        status = hand_over_nodes(replay);
    free(replay->waits);
    return status;
}

/* Under the stream's lock: reports the refusal of a node, and abandons a launch whose end cannot be known. */
static void end_locked(const struct replay *replay, const struct command *command,
                       cls_status status) {
    const struct refusal *refusal = &replay->refusal;
    if (RARELY(refusal->status)) {
        stream_note_hurt(replay->run->stream);
        stream_fail_locked(replay->run->stream, command->position, refusal->status, refusal->code,
                           refusal->label);
    }
    if (RARELY(status) && replay->handed_over)
        abandon(replay, command);
}

static struct replay replay_of(const struct command *command, cl_event *event) {
    struct graph_run *run = command->u.graph.run;
    return (struct replay){.exec = run->exec, .run = run, .event = event};
}

/* Under the stream's lock. One lane goes to an out-of-order queue as it is, but for libraries, which need queues in order,
 * and for records, since a mark on an out-of-order queue may wait for all that it holds. Where an in-order queue runs what
 * follows a failed node, the nodes wait for each other's events on the graph's queues too, which takes that driver less
 * time than on one out of order. The graph's queues wait for the work before the launch. */
static void aim(struct replay *replay, struct target target, struct wait_list waits) {
    const bool lies = target.device->quirks & QUIRK_STATUS_LIES;
    replay->target = target;
    replay->outside = waits;
    replay->on_stream = !target.in_order && replay->exec->plan.n_lanes == 1 && !lies &&
                        !(replay->exec->holds & (HOLDS_LIBRARY_CALL | HOLDS_RECORD));
    replay->chained = replay->on_stream || lies;
    if (!target.in_order && !replay->on_stream && waits.count)
        stream_flush_locked(replay->run->stream);
}

static cls_status enqueue(struct target target, const struct command *command,
                          struct wait_list waits, cl_event *event) {
    struct replay replay = replay_of(command, event);
    aim(&replay, target, waits);
    if (event)
        *event = NULL;
    cls_status status = hand_over(&replay);
    end_locked(&replay, command, status);
    return status;
}

/* --- in the background --- */

/* Keeps the event of the work before the launch, which may retire while the nodes are handed over, among what the launch
 * waits for. */
static cls_status keep_tail(struct stream *stream, struct command *command) {
    if (!handover_tail(stream, stream->queue))
        return CLS_SUCCESS;
    const struct dep tail = {.event_ref = flight_event_ref(stream, flight_last(&stream->flights))};
    if (!tail.event_ref)
        return error_no_memory("for a wait list");
    cls_status status = deps_add(&command->deps, &tail);
    if (status)
        dep_release(&tail);
    return status;
}

/* Under the lock. The stream keeps its queue while the launch is at the FIFO's head. The commands on it get an event
 * now: a marker among the nodes would fail with a node that fails. */
static cls_status enter_queue(struct stream *stream, struct command *command, struct replay *replay,
                              cl_event **events) {
    cls_status status = handover_choose_queue(stream, command);
    if (!status)
        status = handover_cover(stream);
    if (!status)
        status = keep_tail(stream, command);
    if (status)
        return status;
    const struct dep *items = deps_items(&command->deps);
    cl_uint count = 0;
    *events = malloc((command->deps.count + 1) * sizeof **events);
    if (!*events)
        return error_no_memory("for a wait list");
    for (unsigned i = 0; i < command->deps.count; i++)
        if (items[i].event_ref)
            (*events)[count++] = items[i].event_ref->event;
    aim(replay,
        (struct target){stream->context->device, stream->queue->cl,
                        !stream->queue->traits.out_of_order},
        (struct wait_list){count, *events});
    return CLS_SUCCESS;
}

static struct run_result run(struct stream *stream, struct command *command, cls_status so_far) {
    struct run_result result = {.event = NULL};
    struct replay replay = replay_of(command, &result.event);
    cl_event *events = NULL;
    (void)so_far;
    pthread_mutex_lock(&stream->lock);
    result.status = enter_queue(stream, command, &replay, &events);
    pthread_mutex_unlock(&stream->lock);
    if (!result.status)
        result.status = hand_over(&replay);
    result.code = result.status ? cls_last_error_code() : 0;
    pthread_mutex_lock(&stream->lock);
    end_locked(&replay, command, result.status);
    pthread_mutex_unlock(&stream->lock);
    free(events);
    return result;
}

const struct command_type type_graph_replay = {
    .kind = CLS_COMMAND_GRAPH, .label = "graph", .enqueue = enqueue, .touch = graph_touch};
const struct command_type type_graph_replay_timed = {.kind = CLS_COMMAND_GRAPH,
                                                     .label = "graph",
                                                     .enqueue = enqueue,
                                                     .timed = true,
                                                     .touch = graph_touch};
const struct command_type type_graph_background = {
    .kind = CLS_COMMAND_GRAPH, .label = "graph", .run = run, .touch = graph_touch};
const struct command_type type_graph_background_timed = {
    .kind = CLS_COMMAND_GRAPH, .label = "graph", .run = run, .timed = true, .touch = graph_touch};

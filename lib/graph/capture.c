/* SPDX-License-Identifier: MIT */
#include "graph/capture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/sized.h"
#include "graph/exec.h"
#include "graph/graph.h"
#include "graph/memory.h"
#include "graph/node.h"

enum state { ACTIVE, INVALID, ENDED };

/* A set of nodes. */
struct frontier {
    unsigned *nodes;
    unsigned count, room;
};

struct member {
    struct stream *stream; /* retained */
    struct frontier frontier;
};

/* An executable graph that was launched in the capture, and the last nodes of its newest copy there. */
struct launched {
    cls_graph_exec exec; /* compared only */
    struct frontier ends;
};

struct capture {
    struct object object;
    struct context *context; /* retained */
    struct stream *origin;   /* a member; compared only */
    char name[64];
    uint64_t since;       /* of ranges, those that are pushed later are recorded */
    pthread_mutex_t lock; /* guards what follows; a leaf */
    enum state state;
    _Atomic bool over; /* it is ENDED */
    char reason[256];  /* why it is INVALID */
    struct node *nodes;
    unsigned n_nodes, nodes_room;
    struct member *members; /* the origin first */
    unsigned n_members, members_room;
    struct launched *launched;
    unsigned n_launched, launched_room;
};

static void capture_finalize(struct object *object) {
    struct capture *capture = (struct capture *)(void *)object;
    nodes_drop(capture->nodes, capture->n_nodes);
    free(capture->members);
    for (unsigned i = 0; i < capture->n_launched; i++)
        free(capture->launched[i].ends.nodes);
    free(capture->launched);
    pthread_mutex_destroy(&capture->lock);
    context_put(capture->context);
}

static struct object_pool capture_pool =
    OBJECT_POOL(30, sizeof(struct capture), "capture", capture_finalize);

static cls_status no_memory(const struct capture *capture) {
    return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for capture '%s'", capture->name);
}

/* --- becoming invalid --- */

/* Under the capture's lock. The first reason counts. */
static void invalidate(struct capture *capture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void invalidate(struct capture *capture, const char *format, ...) {
    va_list args;
    if (capture->state != ACTIVE)
        return;
    capture->state = INVALID;
    va_start(args, format);
    vsnprintf(capture->reason, sizeof capture->reason, format, args);
    va_end(args);
}

/* Under the capture's lock: the status of a capture that records no more. */
static cls_status refusal(const struct capture *capture) {
    return error_set(CLS_ERROR_INVALID_STATE, "capture '%s' %s", capture->name,
                     capture->state == ENDED ? "has ended" : capture->reason);
}

cls_status capture_refuse(struct stream *stream, const char *call) {
    struct capture *capture = stream->capture;
    pthread_mutex_lock(&capture->lock);
    invalidate(capture, "is invalid: stream '%s' was captured, and the capture allows no %s",
               stream->name, call);
    cls_status status = refusal(capture);
    pthread_mutex_unlock(&capture->lock);
    return status;
}

cls_status capture_refuse_event(struct object *object, const char *call) {
    struct capture *capture = (struct capture *)(void *)object;
    pthread_mutex_lock(&capture->lock);
    invalidate(capture, "is invalid: it allows no %s", call);
    cls_status status = refusal(capture);
    pthread_mutex_unlock(&capture->lock);
    return status;
}

/* --- recording --- */

/* Under the capture's lock. */
static struct member *member_of(struct capture *capture, const struct stream *stream) {
    for (unsigned i = 0; i < capture->n_members; i++)
        if (capture->members[i].stream == stream)
            return &capture->members[i];
    return NULL;
}

static bool frontier_add(struct frontier *frontier, unsigned node) {
    for (unsigned i = 0; i < frontier->count; i++)
        if (frontier->nodes[i] == node)
            return true;
    if (!ARRAY_ROOM(frontier->nodes, frontier->count, frontier->room, 4))
        return false;
    frontier->nodes[frontier->count++] = node;
    return true;
}

static bool frontier_join(struct frontier *frontier, const struct frontier *other) {
    bool good = true;
    for (unsigned i = 0; i < other->count && good; i++)
        good = frontier_add(frontier, other->nodes[i]);
    return good;
}

/* Under the capture's lock: the node becomes the newest one, and the member's frontier. Takes the node over on
 * success. */
static cls_status append(struct capture *capture, struct member *member, struct node *node) {
    struct frontier *frontier = &member->frontier;
    if (!ARRAY_ROOM(capture->nodes, capture->n_nodes, capture->nodes_room, 32) ||
        !ARRAY_ROOM(frontier->nodes, frontier->count, frontier->room, 4))
        return no_memory(capture);
    cls_status status = node_set_deps(node, frontier->nodes, frontier->count);
    if (status)
        return status;
    frontier->nodes[0] = capture->n_nodes;
    frontier->count = 1;
    capture->nodes[capture->n_nodes++] = *node;
    return CLS_SUCCESS;
}

/* The same with the ranges that are open. */
static cls_status append_in_ranges(struct capture *capture, struct member *member,
                                   struct node *node) {
    cls_status status = node_ranges_open(capture->since, &node->ranges);
    return status ? status : append(capture, member, node);
}

/* A marker without an event is a prefetch that has nothing to do. What hands memory over (managed.h) does so when it is
 * submitted, which a launch cannot repeat. */
static bool may_take(const struct command *command) {
    if (command->type == &type_marker)
        return !command->u.marker.event;
    if (command->type->capture == CAPTURE_MIGRATE)
        return !command->u.migrate.by_turns;
    return command->type->capture != CAPTURE_REFUSED;
}

static cls_status take(struct capture *capture, struct stream *stream, struct command *command,
                       const struct launch_args *args) {
    struct member *member = member_of(capture, stream);
    struct node node;
    if (capture->state != ACTIVE || !member)
        return refusal(capture);
    if (!may_take(command)) {
        invalidate(capture, "is invalid: a %s cannot be captured", command_label(command));
        return error_set(CLS_ERROR_UNSUPPORTED, "capture '%s': a %s cannot be captured",
                         capture->name, command_label(command));
    }
    cls_status status = node_take(&node, stream, command, args);
    if (status)
        return status;
    status = append_in_ranges(capture, member, &node);
    if (status) {
        *command = node.command;
        node.command.type = NULL;
        node_drop(&node);
    }
    return status;
}

cls_status capture_submit(struct stream *stream, struct command *command,
                          const struct launch_args *args, uint64_t *position) {
    struct capture *capture = stream->capture;
    pthread_mutex_lock(&capture->lock);
    cls_status status = take(capture, stream, command, args);
    pthread_mutex_unlock(&capture->lock);
    pthread_mutex_unlock(&stream->lock);
    if (status)
        command_drop(command);
    else if (position)
        *position = POSITION_CAPTURED;
    return status;
}

/* --- launches of graphs --- */

/* The node refers to what was captured, and perhaps uses what was bound in its place. */
static cls_status keep(struct node *node, struct object *object) {
    if (!object)
        return CLS_SUCCESS;
    object_retain(object);
    cls_status status = refs_keep(&node->command.refs, object);
    if (status)
        object_release(object);
    return status;
}

static cls_status keep_current(struct node *node, const struct graph_body *body) {
    cls_status status = body->arena ? keep(node, &body->arena->object) : CLS_SUCCESS;
    for (unsigned s = 0; s < body->n_slots && !status; s++) {
        const struct slot *slot = &body->slots[s];
        for (unsigned p = 0; p <= slot->n_parts && slot->current && !status; p++)
            status = keep(node, p < slot->n_parts ? (struct object *)slot->parts[p]
                                                  : &slot->current->object);
    }
    return status;
}

/* Under the capture's lock: the copy of node `i`, whose graph begins at node `first` of the capture. */
static cls_status append_copy(struct capture *capture, const struct member *member,
                              const struct graph_exec *exec, unsigned i, unsigned first,
                              const struct node_ranges *open) {
    const struct planned *planned = &exec->plan.nodes[i];
    const struct exec_node *from = &exec->body->nodes[i];
    struct node node = {.n_args = 0};
    unsigned deps[PLAN_LANES];
    if (!ARRAY_ROOM(capture->nodes, capture->n_nodes, capture->nodes_room, 32))
        return no_memory(capture);
    cls_status status = from->disabled ? CLS_SUCCESS : node_copy(&node, &from->node);
    free(node.deps);
    free(node.ranges);
    node.deps = NULL;
    node.ranges = NULL;
    for (unsigned d = 0; d < planned->n_deps; d++)
        deps[d] = first + planned_deps(exec, i)[d];
    if (!status && !from->disabled)
        status = keep_current(&node, exec->body);
    if (!status)
        status = node_ranges_join(open, from->node.ranges, &node.ranges);
    if (!status)
        status = planned->n_deps || mutant(MUTANT_CAPTURE_GRAPH)
                     ? node_set_deps(&node, deps, planned->n_deps)
                     : node_set_deps(&node, member->frontier.nodes, member->frontier.count);
    if (status)
        node_drop(&node);
    else
        capture->nodes[capture->n_nodes++] = node;
    return status;
}

/* Under the capture's lock; NULL without memory. */
static struct launched *launched_of(struct capture *capture, cls_graph_exec exec) {
    for (unsigned i = 0; i < capture->n_launched; i++)
        if (capture->launched[i].exec == exec)
            return &capture->launched[i];
    if (!ARRAY_ROOM(capture->launched, capture->n_launched, capture->launched_room, 4))
        return NULL;
    capture->launched[capture->n_launched] = (struct launched){.exec = exec};
    return &capture->launched[capture->n_launched++];
}

/* Under the capture's lock: the copy is the member's frontier afterwards. */
static cls_status append_copies(struct capture *capture, struct member *member,
                                const struct graph_exec *exec) {
    const unsigned first = capture->n_nodes;
    struct node_ranges *open;
    cls_status status = node_ranges_open(capture->since, &open);
    for (unsigned i = 0; i < exec->plan.n_nodes && !status; i++)
        status = append_copy(capture, member, exec, i, first, open);
    free(open);
    member->frontier.count = 0;
    for (unsigned i = 0; i < exec->plan.n_nodes && !status; i++)
        if (!exec->plan.nodes[i].n_successors && !frontier_add(&member->frontier, first + i))
            status = no_memory(capture);
    return status;
}

/* Under the capture's lock. Copies of one executable graph use the same memory, so they keep their order, as
 * launches do. */
static cls_status append_graph(struct capture *capture, struct member *member,
                               const struct graph_exec *exec) {
    if (!exec->plan.n_nodes)
        return CLS_SUCCESS;
    struct launched *launched = launched_of(capture, object_handle(&exec->object));
    cls_status status = launched && frontier_join(&member->frontier, &launched->ends)
                            ? append_copies(capture, member, exec)
                            : no_memory(capture);
    if (!status) {
        launched->ends.count = 0;
        if (!frontier_join(&launched->ends, &member->frontier))
            status = no_memory(capture);
    }
    if (status)
        invalidate(capture, "is invalid: there was no memory for graph '%s'", exec->name);
    return status;
}

cls_status capture_graph(struct stream *stream, const struct graph_exec *exec) {
    struct capture *capture = stream->capture;
    pthread_mutex_lock(&capture->lock);
    struct member *member = member_of(capture, stream);
    cls_status status =
        capture->state == ACTIVE && member ? append_graph(capture, member, exec) : refusal(capture);
    pthread_mutex_unlock(&capture->lock);
    return status;
}

/* --- events --- */

/* Under the capture's lock: the one node that the member's next comes behind. */
static cls_status single_node(struct capture *capture, struct member *member, unsigned *out) {
    struct node empty = {.n_args = 0};
    cls_status status = CLS_SUCCESS;
    if (member->frontier.count != 1)
        status = append(capture, member, &empty);
    if (!status)
        *out = member->frontier.nodes[0];
    return status;
}

/* Under the capture's lock: a node that records a timed event. */
static cls_status record_node(struct capture *capture, struct member *member, struct event *event,
                              unsigned *out) {
    struct node node = {.n_args = 0};
    command_init(&node.command, &type_marker, "event record");
    node.command.u.marker.event = event;
    object_retain(&event->object);
    command_keep(&node.command, &event->object); /* there is room */
    cls_status status = append_in_ranges(capture, member, &node);
    if (status)
        node_drop(&node);
    else
        *out = member->frontier.nodes[0];
    return status;
}

cls_status capture_record(struct stream *stream, struct event *event, struct captured_record *out) {
    unsigned node;
    struct capture *capture = stream->capture;
    pthread_mutex_lock(&capture->lock);
    struct member *member = member_of(capture, stream);
    cls_status status = CLS_SUCCESS;
    if (capture->state != ACTIVE || !member)
        status = refusal(capture);
    else if (event && event->timed)
        status = record_node(capture, member, event, &node);
    else
        status = single_node(capture, member, &node);
    pthread_mutex_unlock(&capture->lock);
    if (status)
        return status;
    object_retain(&capture->object);
    *out = (struct captured_record){&capture->object, node};
    return CLS_SUCCESS;
}

bool capture_is_over(const struct object *object) {
    return atomic_load(&((const struct capture *)(const void *)object)->over);
}

/* Under the locks of both: the stream becomes one of the capture's. */
static cls_status join(struct capture *capture, struct stream *stream) {
    if (!ARRAY_ROOM(capture->members, capture->n_members, capture->members_room, 4))
        return no_memory(capture);
    object_retain(&stream->object);
    object_retain(&capture->object);
    capture->members[capture->n_members++] = (struct member){.stream = stream};
    stream->capture = capture;
    stream->capturing = true;
    return CLS_SUCCESS;
}

const char capture_owner[] = "an executable graph";

static bool is_default(const struct stream *stream) {
    struct context *context = stream->context;
    pthread_mutex_lock(&context->lock);
    const bool is = context->default_stream == stream;
    pthread_mutex_unlock(&context->lock);
    return is;
}

/* Under the stream's lock. */
static cls_status check_may_join(const struct context *context, const struct stream *stream) {
    const struct failure *poison = stream_poison(stream);
    if (poison)
        return failure_report(stream, poison);
    if (stream->context != context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "stream '%s' is of another context",
                         stream->name);
    if (stream->owner && stream->owner != capture_owner && !is_default(stream))
        return error_set(CLS_ERROR_UNSUPPORTED, "stream '%s' belongs to %s and cannot be captured",
                         stream->name, stream->owner);
    if (stream->legacy_role != LEGACY_NONE)
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "stream '%s' is part of the legacy order and cannot be captured",
                         stream->name);
    return CLS_SUCCESS;
}

/* Under the locks of both. */
static cls_status come_after(struct capture *capture, struct stream *stream, unsigned node) {
    cls_status status = CLS_SUCCESS;
    if (capture->state != ACTIVE)
        return refusal(capture);
    if (!stream->capturing)
        status = check_may_join(capture->context, stream);
    if (!status && !stream->capturing)
        status = join(capture, stream);
    if (!status && !mutant(MUTANT_CAPTURE_WAIT) &&
        !frontier_add(&member_of(capture, stream)->frontier, node))
        status = no_memory(capture);
    return status;
}

cls_status capture_wait(cls_stream handle, struct object *object, unsigned node) {
    struct capture *capture = (struct capture *)(void *)object;
    struct stream *stream;
    cls_status status = stream_get(handle, capture->context, &stream);
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    if (stream->capturing && stream->capture != capture) {
        status = capture_refuse(stream, "wait for an event of another capture");
    } else {
        pthread_mutex_lock(&capture->lock);
        status = come_after(capture, stream, node);
        pthread_mutex_unlock(&capture->lock);
    }
    pthread_mutex_unlock(&stream->lock);
    stream_put(stream);
    return status;
}

/* --- the beginning and the end --- */

static struct capture *capture_new(struct stream *stream, const char *name) {
    enum { UNNAMED = 256 }; /* names are kept for good */
    static _Atomic unsigned numbers;
    struct capture *capture = object_create(&capture_pool);
    if (!capture)
        return NULL;
    pthread_mutex_init(&capture->lock, NULL);
    object_retain(&stream->context->object);
    capture->context = stream->context;
    capture->origin = stream;
    capture->since = ranges_newest();
    if (name)
        snprintf(capture->name, sizeof capture->name, "%s", name);
    else
        snprintf(capture->name, sizeof capture->name, "graph %u",
                 atomic_fetch_add(&numbers, 1) % UNNAMED + 1);
    return capture;
}

/* Under the stream's lock. */
static cls_status begin(struct stream *stream, struct capture *capture) {
    if (stream->capturing)
        return error_set(CLS_ERROR_INVALID_STATE, "stream '%s' is captured by '%s' already",
                         stream->name, stream->capture->name);
    cls_status status = check_may_join(stream->context, stream);
    if (status)
        return status;
    pthread_mutex_lock(&capture->lock);
    status = join(capture, stream);
    pthread_mutex_unlock(&capture->lock);
    return status;
}

cls_status cls_stream_begin_capture(cls_stream handle, const char *name) {
    struct stream *stream;
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    struct capture *capture = capture_new(stream, name);
    status = capture ? CLS_SUCCESS : error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a capture");
    if (!status) {
        pthread_mutex_lock(&stream->lock);
        status = begin(stream, capture);
        pthread_mutex_unlock(&stream->lock);
        object_release(&capture->object);
    }
    stream_put(stream);
    return status;
}

/* Nodes that the origin's frontier is, or comes after. */
static void mark_joined(const struct capture *capture, bool *joined) {
    const struct frontier *frontier = &capture->members[0].frontier;
    for (unsigned i = 0; i < frontier->count; i++)
        joined[frontier->nodes[i]] = true;
    for (unsigned i = capture->n_nodes; i-- > 0;)
        for (unsigned d = 0; joined[i] && d < capture->nodes[i].n_deps; d++)
            joined[capture->nodes[i].deps[d]] = true;
}

/* Under the lock: whether all that the other streams hold comes before the origin's frontier. */
static cls_status check_joined(struct capture *capture) {
    bool *joined = calloc(capture->n_nodes + 1, sizeof *joined);
    if (!joined)
        return no_memory(capture);
    mark_joined(capture, joined);
    for (unsigned m = 1; m < capture->n_members; m++) {
        const struct frontier *frontier = &capture->members[m].frontier;
        for (unsigned i = 0; i < frontier->count; i++)
            if (!joined[frontier->nodes[i]])
                invalidate(capture, "is invalid: stream '%s' was not joined",
                           capture->members[m].stream->name);
    }
    free(joined);
    return capture->state == ACTIVE ? CLS_SUCCESS : refusal(capture);
}

/* What is left of a capture that has ended. */
struct remains {
    struct node *nodes;
    unsigned n_nodes;
    struct member *members;
    unsigned n_members;
};

/* Under the lock. */
static struct remains take_remains(struct capture *capture) {
    const struct remains remains = {capture->nodes, capture->n_nodes, capture->members,
                                    capture->n_members};
    capture->state = ENDED;
    atomic_store(&capture->over, true);
    capture->nodes = NULL;
    capture->members = NULL;
    capture->n_nodes = capture->nodes_room = capture->n_members = capture->members_room = 0;
    return remains;
}

/* Without locks: the streams are ordinary ones again. */
static void release_members(struct capture *capture, struct remains *remains) {
    for (unsigned i = 0; i < remains->n_members; i++) {
        struct stream *stream = remains->members[i].stream;
        pthread_mutex_lock(&stream->lock);
        const bool is_ours = stream->capture == capture;
        if (is_ours) {
            stream->capture = NULL;
            stream->capturing = false;
        }
        pthread_mutex_unlock(&stream->lock);
        if (is_ours)
            object_release(&capture->object);
        free(remains->members[i].frontier.nodes);
        stream_put(stream);
    }
    free(remains->members);
}

/* The stream's capture, retained, if it began there. */
static struct capture *capture_begun_on(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    struct capture *capture = stream->capturing ? stream->capture : NULL;
    if (capture && capture->origin != stream)
        capture = NULL;
    if (capture)
        object_retain(&capture->object);
    pthread_mutex_unlock(&stream->lock);
    return capture;
}

static cls_status end(struct capture *capture, struct command_graph **out) {
    pthread_mutex_lock(&capture->lock);
    cls_status status = capture->state == ACTIVE ? check_joined(capture) : refusal(capture);
    const bool ends = capture->state != ENDED;
    struct remains remains = {.n_nodes = 0};
    if (ends)
        remains = take_remains(capture);
    pthread_mutex_unlock(&capture->lock);
    if (!status) {
        graph_memory_give_back(object_handle(&capture->object), remains.nodes, remains.n_nodes);
        status =
            command_graph_new(capture->context, capture->name, remains.nodes, remains.n_nodes, out);
    }
    if (status)
        nodes_drop(remains.nodes, remains.n_nodes);
    release_members(capture, &remains);
    return status;
}

cls_status cls_stream_end_capture(cls_stream handle, cls_graph *out) {
    struct command_graph *graph;
    struct stream *stream;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_stream_end_capture: out is null");
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    struct capture *capture = capture_begun_on(stream);
    if (capture) {
        status = end(capture, &graph);
        object_release(&capture->object);
    } else {
        status =
            error_set(CLS_ERROR_INVALID_STATE, "no capture began on stream '%s'", stream->name);
    }
    if (!status)
        *out = object_handle(&graph->object);
    stream_put(stream);
    return status;
}

/* A stream that goes takes its capture's validity along, and the capture where it began there. */
void capture_leave(struct stream *stream) {
    struct command_graph *graph;
    struct detail held;
    struct capture *capture = capture_begun_on(stream);
    if (capture) {
        error_save(&held);
        capture_refuse_event(&capture->object, "reset or destruction of its stream");
        end(capture, &graph);
        error_restore(&held, CLS_SUCCESS);
        object_release(&capture->object);
        return;
    }
    error_save(&held);
    pthread_mutex_lock(&stream->lock);
    if (stream->capturing)
        capture_refuse(stream, "reset or destruction");
    pthread_mutex_unlock(&stream->lock);
    error_restore(&held, CLS_SUCCESS);
}

static void describe(struct stream *stream, cls_capture_info *info) {
    struct capture *capture = stream->capture;
    if (!stream->capturing)
        return;
    pthread_mutex_lock(&capture->lock);
    info->state = capture->state == ACTIVE ? CLS_CAPTURE_ACTIVE : CLS_CAPTURE_INVALID;
    info->is_origin = capture->origin == stream;
    for (unsigned i = 0; i < capture->n_nodes; i++)
        info->nodes += !node_is_empty(&capture->nodes[i]);
    info->streams = capture->n_members;
    memcpy(info->name, capture->name, sizeof info->name);
    pthread_mutex_unlock(&capture->lock);
}

cls_status cls_stream_get_capture(cls_stream handle, cls_capture_info *info) {
    cls_capture_info now = CLS_CAPTURE_INFO_INIT;
    struct stream *stream;
    cls_status status = SIZED_CHECK(cls_capture_info, info);
    if (!status)
        status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    pthread_mutex_lock(&stream->lock);
    describe(stream, &now);
    pthread_mutex_unlock(&stream->lock);
    SIZED_OUT(cls_capture_info, info, &now);
    stream_put(stream);
    return CLS_SUCCESS;
}

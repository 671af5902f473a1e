/* SPDX-License-Identifier: MIT */
/* Dependencies and sets of them: what they wait for, whether that is over, and its failure. */
#include "stream/dep.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "driver/event.h"
#include "stream/event_ref.h"
#include "stream/failure.h"
#include "stream/gate.h"

void dep_release(const struct dep *dep) {
    if (dep->event_ref)
        event_ref_drop(dep->event_ref);
    if (dep->stream)
        object_release(&dep->stream->object);
    if (dep->gate)
        object_release(&dep->gate->object);
}

void dep_take_work(struct dep *dep, const struct dep *work) {
    dep->stream = work->stream;
    dep->position = work->position;
    dep->event_ref = work->event_ref;
}

bool dep_is_over(const struct dep *dep) {
    if (dep->stream)
        return atomic_load(&dep->stream->retired) >= dep->position;
    if (dep->gate)
        return dep->gate->type->is_over(dep->gate, dep->value) || dep_failure(dep);
    return dep_event_outcome(dep) <= 0;
}

bool dep_outlives(struct dep *dep) {
    if (dep_is_over(dep))
        return false;
    if (dep_failure(dep))
        dep->order_only = true;
    return true;
}

struct dep dep_to_ask(const struct dep *dep) {
    struct dep copy = {.stream = dep->stream, .position = dep->position};
    if (copy.stream) {
        object_retain(&copy.stream->object);
    } else if (dep->gate) {
        copy = *dep;
        object_retain(&copy.gate->object);
    } else {
        event_ref_hold(copy.event_ref = dep->event_ref);
    }
    return copy;
}

/* The entry for the stream, or else for the gate. One that is known to have failed is kept as it is: what comes
 * after a reset of its source goes beside it, and does not take its place before the failure is inherited. */
static struct dep *same_source(struct deps *deps, const struct dep *dep) {
    struct dep *items = deps_items(deps);
    for (unsigned i = 0; (dep->stream || dep->gate) && i < deps->count; i++)
        if (items[i].stream == dep->stream && items[i].gate == dep->gate &&
            items[i].order_only == dep->order_only && !dep_failure(&items[i]))
            return &items[i];
    return NULL;
}

uint64_t deps_position_of(struct deps *deps, const struct stream *stream) {
    const struct dep *items = deps_items(deps);
    uint64_t position = 0;
    for (unsigned i = 0; i < deps->count; i++)
        if (items[i].stream == stream && items[i].position > position)
            position = items[i].position;
    return position;
}

/* Room for one more. */
static bool reserve(struct deps *deps) {
    unsigned limit = deps->capacity ? deps->capacity : DEPS_INLINE;
    if (deps->count < limit)
        return true;
    struct dep *old = deps->capacity ? deps->u.heap : NULL;
    struct dep *grown = realloc(old, 2 * limit * sizeof *grown);
    if (!grown)
        return false;
    if (!old)
        memcpy(grown, deps->u.here, sizeof deps->u.here);
    deps->u.heap = grown;
    deps->capacity = 2 * limit;
    return true;
}

cls_status deps_add_other(struct deps *deps, const struct dep *dep) {
    if (!reserve(deps))
        return error_no_memory("for a wait");
    deps_items(deps)[deps->count++] = *dep;
    return CLS_SUCCESS;
}

/* Of one source, whose positions and values rise together. */
static bool is_covered(const struct dep *dep, const struct dep *known) {
    if (known->position != dep->position)
        return known->position > dep->position;
    return (!dep->gate || known->value >= dep->value) && (known->event_ref || !dep->event_ref);
}

cls_status deps_add(struct deps *deps, const struct dep *dep) {
    struct dep *known = same_source(deps, dep);
    if (known) {
        bool covered = is_covered(dep, known);
        struct dep out = covered ? *dep : *known;
        const bool still = out.gate && !covered && !dep_is_over(known);
        if (!covered)
            *known = *dep;
        if (still) /* a failure of what was waited for before is one of both */
            known->since = out.since;
        dep_release(&out);
        return CLS_SUCCESS;
    }
    return deps_add_other(deps, dep);
}

const struct failure *dep_failure(const struct dep *dep) {
    if (dep->order_only)
        return NULL;
    const struct failure *failure =
        dep->stream ? stream_failure_at(dep->stream, dep->position) : NULL;
    if (failure || !dep->gate)
        return failure;
    dep->gate->type->is_over(dep->gate, dep->value); /* applies the signals that have retired */
    return gate_failure_since(dep->gate, dep->value, dep->since);
}

cl_int dep_event_outcome(const struct dep *dep) {
    const cl_int state = event_outcome(dep->event_ref->device, dep->event_ref->event);
    return state < 0 && dep->order_only ? CL_COMPLETE : state;
}

const struct failure *deps_first_failure(struct deps *deps) {
    struct dep *items = deps_items(deps);
    for (unsigned i = 0; i < deps->count; i++) {
        const struct failure *failure = dep_failure(&items[i]);
        if (failure)
            return failure;
    }
    return NULL;
}

void deps_drop_events(struct deps *deps) {
    struct dep *items = deps_items(deps);
    for (unsigned i = 0; i < deps->count; i++) {
        if (items[i].event_ref)
            event_ref_drop(items[i].event_ref);
        items[i].event_ref = NULL;
    }
}

void deps_clear(struct deps *deps) {
    struct dep *items = deps_items(deps);
    for (unsigned i = 0; i < deps->count; i++)
        dep_release(&items[i]);
    if (deps->capacity)
        free(deps->u.heap);
    deps_forget(deps);
}

void deps_remove(struct deps *deps, unsigned i) {
    struct dep *items = deps_items(deps);
    dep_release(&items[i]);
    items[i] = items[--deps->count];
    if (!deps->count)
        deps_clear(deps); /* an empty set has no array */
}

bool deps_are_over(struct deps *deps) {
    struct dep *items = deps_items(deps);
    for (unsigned i = 0; i < deps->count; i++)
        if (!dep_is_over(&items[i]))
            return false;
    return true;
}

struct stream *deps_unretired(struct deps *deps) {
    struct dep *items = deps_items(deps);
    for (unsigned i = 0; i < deps->count; i++)
        if (items[i].stream && atomic_load(&items[i].stream->retired) < items[i].position)
            return items[i].stream;
    return NULL;
}

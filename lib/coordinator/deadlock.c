/* SPDX-License-Identifier: MIT */
/* Collects the streams that a call leads to into a stall, and refuses the call where it would never end. */
#include "coordinator/deadlock.h"

#include <stdlib.h>

#include "base/error.h"
#include "coordinator/deadlock_text.h"
#include "coordinator/internals.h"
#include "coordinator/timeline.h"

/* One search. The call that is checked takes part as a stream of its own, with one item. */
struct deadlock_search {
    struct stall stall;
    struct stream *caller;
    const struct dep *dep; /* of the wait that is checked; NULL: a signal is */
    uint32_t call;
    uint32_t visited; /* the stream whose queue is being visited */
    bool no_memory;
};

static uint32_t number_of(struct deadlock_search *search, struct stream *stream) {
    bool made;
    uint32_t number = stall_stream(&search->stall, stream, &made);
    if (made) {
        object_retain(&stream->object);
        search->stall.streams[number].known = stream->firm_until;
    }
    return number;
}

/* NULL: the gate is no timeline, and anybody may open it. */
static struct timeline *timeline_of(const struct dep *dep) {
    const bool is_timeline = dep->gate && dep->gate->object.pool == &timeline_pool;
    return is_timeline ? (struct timeline *)(void *)dep->gate : NULL;
}

/* The position of the signaller behind which the timeline reaches the value. False when there is nothing to
 * wait for in a stream: the value is reached, anybody may signal it, or the wait ends with a failure. */
static bool awaited_position(struct timeline *timeline, uint64_t value, uint64_t *position) {
    if (!timeline->signaller)
        return false;
    pthread_mutex_lock(&timeline->lock);
    timeline_update(timeline);
    bool over = timeline->value >= value || gate_failure(&timeline->gate, value);
    const struct signal_queue *queue = signal_queues_find(&timeline->queues, timeline->signaller);
    const struct queued_signal *signal = queue ? signal_queue_reaching(queue, value) : NULL;
    *position = signal ? signal->position : UINT64_MAX;
    pthread_mutex_unlock(&timeline->lock);
    return !over && (signal || !atomic_load(&timeline->destroyed));
}

/* What a dependency needs; false when it is met, or sure to be. */
static bool need_of(struct deadlock_search *search, const struct dep *dep,
                    struct stall_need *need) {
    struct stream *stream = dep->stream;
    *need = (struct stall_need){.position = dep->position};
    if (stream && atomic_load(&stream->retired) >= dep->position)
        return false;
    if (!stream && dep->gate) {
        struct timeline *timeline = timeline_of(dep);
        if (!timeline || dep_failure(dep) ||
            !awaited_position(timeline, dep->value, &need->position))
            return false;
        stream = timeline->signaller;
        need->tag = timeline;
        need->value = dep->value;
        need->user_code = true;
    }
    if (!stream || need->position <= stream->firm_until)
        return false;
    need->stream = number_of(search, stream);
    search->no_memory = search->no_memory || need->stream == STALL_NONE;
    return !search->no_memory;
}

static void add_needs(struct deadlock_search *search, const struct dep *items, unsigned n) {
    struct stall_need need;
    for (unsigned i = 0; i < n && !search->no_memory; i++) {
        if (!need_of(search, &items[i], &need))
            continue;
        search->no_memory = !stall_add_need(&search->stall, need);
        if (!search->no_memory && need.tag)
            object_retain(&items[i].gate->object);
    }
}

static bool visit(const struct queued *queued, void *arg) {
    struct deadlock_search *search = arg;
    struct stall_stream *stream = &search->stall.streams[search->visited];
    bool user_code = queued->command && queued->command->type->user_code;
    if (queued->position <= ((const struct stream *)stream->key)->firm_until)
        stream->user_code_known = stream->user_code_known || user_code;
    if (queued->position <= stream->known)
        return true;
    if (queued->position > stream->wanted || search->no_memory)
        return false;
    if (!queued->deps->count && !user_code)
        return true;
    search->no_memory =
        !stall_add_item(&search->stall, search->visited, queued->position, user_code,
                        queued->command ? command_label(queued->command) : NULL);
    if (!search->no_memory)
        add_needs(search, deps_items(queued->deps), queued->deps->count);
    return true;
}

/* Appends the checked wait behind all that the caller has queued. */
static void add_call(struct deadlock_search *search, uint32_t stream) {
    search->no_memory =
        search->no_memory || !stall_add_item(&search->stall, stream, STALL_LATER, false, NULL);
    if (!search->no_memory)
        add_needs(search, search->dep, 1);
}

static void visit_stream(struct deadlock_search *search, uint32_t number) {
    struct stream *stream = search->stall.streams[number].key;
    uint64_t wanted = search->stall.streams[number].wanted;
    search->visited = number;
    if (!stream_poison(stream)) /* a poisoned stream drops its queue */
        fifo_visit(stream, visit, search);
    if (stream == search->caller && search->dep && wanted == UINT64_MAX)
        add_call(search, number);
    search->stall.streams[number].known = wanted;
}

/* Adds the call as a stream: the wait itself, or all that comes before the signal. */
static void begin(struct deadlock_search *search, uint64_t position) {
    bool made;
    search->call = stall_stream(&search->stall, search, &made);
    search->no_memory = search->call == STALL_NONE;
    if (search->dep) {
        add_call(search, search->call);
        return;
    }
    uint32_t caller = search->no_memory ? STALL_NONE : number_of(search, search->caller);
    const struct stall_need need = {.stream = caller, .position = position};
    search->no_memory = caller == STALL_NONE ||
                        !stall_add_item(&search->stall, search->call, STALL_LATER, false, NULL) ||
                        !stall_add_need(&search->stall, need);
}

static void end(struct deadlock_search *search) {
    for (uint32_t i = 0; i < search->stall.n_streams; i++)
        if (i != search->call)
            stream_put(search->stall.streams[i].key);
    for (uint32_t i = 0; i < search->stall.n_needs; i++)
        if (search->stall.needs[i].tag)
            timeline_put(search->stall.needs[i].tag);
    stall_free(&search->stall);
}

/* Notes a wait that was allowed, so that the next check sees whether its signal is queued. `user_code`: it
 * was allowed because user code may still signal it. */
static void note_wait(struct timeline *timeline, uint64_t value, bool user_code) {
    pthread_mutex_lock(&timeline->lock);
    if (user_code && value > timeline->max_user_wait)
        timeline->max_user_wait = value;
    if (value > timeline->awaited)
        timeline->awaited = value;
    timeline_note_waits(timeline);
    pthread_mutex_unlock(&timeline->lock);
}

/* After a call was allowed: notes the waits that only user code can end, and up to where each stream is sure
 * to get whatever is called next. The latter is not searched again. */
static void note_allowed(struct deadlock_search *search) {
    for (uint32_t i = 0; i < search->stall.n_needs; i++) {
        const struct stall_need *need = &search->stall.needs[i];
        if (need->needs_user_code)
            note_wait(need->tag, need->value, true);
    }
    stall_solve_firmly(&search->stall);
    for (uint32_t i = 0; i < search->stall.n_streams; i++) {
        struct stream *stream = search->stall.streams[i].key;
        uint64_t position = i == search->call ? 0 : stall_firm_position(&search->stall, i);
        if (position)
            stream->firm_until = position;
    }
}

/* Adds all the streams that the call leads to, and solves the stall. */
static void explore(struct deadlock_search *search, uint64_t position) {
    uint32_t next;
    begin(search, position);
    while (!search->no_memory && (next = stall_next_wanted(&search->stall)) != STALL_NONE)
        visit_stream(search, next);
    if (!search->no_memory)
        stall_solve(&search->stall);
}

static cls_status check_call(struct stream *caller, const struct dep *dep) {
    struct deadlock_search search = {.caller = caller, .dep = dep};
    cls_status status = CLS_SUCCESS;
    explore(&search, UINT64_MAX);
    if (search.no_memory) {
        status = error_no_memory("to look for a deadlock");
    } else {
        if (stall_unmet(&search.stall, search.call))
            status = deadlock_report(&search.stall, search.call, caller);
        else
            note_allowed(&search);
    }
    end(&search);
    return status;
}

bool deadlock_is_hopeless(struct stream *stream, uint64_t position) {
    struct deadlock_search search = {.caller = stream};
    if (!timeline_any_relaxed())
        return false;
    wait_check_lock();
    explore(&search, position);
    bool hopeless = !search.no_memory && stall_unmet(&search.stall, search.call);
    end(&search);
    wait_check_unlock();
    return hopeless;
}

/* --- when to check --- */

static cls_status check_wait(struct stream *stream, const struct dep *dep) {
    struct timeline *timeline = timeline_of(dep);
    bool needed = timeline_any_unsignalled() || timeline_any_relaxed();
    if (timeline && timeline->signaller && !needed) {
        pthread_mutex_lock(&timeline->lock);
        needed = timeline_is_unsignalled(timeline, dep->value);
        pthread_mutex_unlock(&timeline->lock);
    }
    cls_status status = needed ? check_call(stream, dep) : CLS_SUCCESS;
    if (!status && timeline && timeline->signaller)
        note_wait(timeline, dep->value, false);
    return status;
}

cls_status deadlock_check_signal(struct stream *stream) {
    if (!timeline_any_relaxed())
        return CLS_SUCCESS;
    wait_check_lock();
    cls_status status = check_call(stream, NULL);
    wait_check_unlock();
    return status;
}

void deadlock_enable(void) { wait_check_install(check_wait); }

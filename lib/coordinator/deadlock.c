/* SPDX-License-Identifier: MIT */
#include "coordinator/deadlock.h"

#include <stdlib.h>

#include "base/error.h"
#include "check/queued.h"
#include "coordinator/deadlock_text.h"
#include "coordinator/timeline.h"
#include "stream/stream.h"
#include "stream/wait_check.h"

/* Timelines that owe a signal: somebody waits for a value that nobody has queued. */
static _Atomic long owing;

/* Those that are not yet where a wait wants them that was allowed for the sake of user code. That may have
 * ended without a signal: only then can there be a stream that waits for ever. */
static _Atomic long lenient;

/* One look at the streams. The call asked about is a stream of its own, with one item. */
struct inquiry {
    struct stall stall;
    struct stream *caller;
    const struct dep *dep; /* that the caller would take on; NULL: a signal */
    uint32_t call;
    uint32_t visited; /* the stream whose queue is being visited */
    bool no_memory;
};

static uint32_t number_of(struct inquiry *inquiry, struct stream *stream) {
    bool made;
    uint32_t number = stall_stream(&inquiry->stall, stream, &made);
    if (made) {
        object_retain(&stream->object);
        inquiry->stall.streams[number].known = stream->firm_until;
    }
    return number;
}

/* The position of its signaller that meets a wait for a timeline; false when it is met, or may be by
 * anybody, or ends as a failure. */
static bool awaited_position(struct timeline *timeline, uint64_t value, uint64_t *position) {
    if (!timeline->signaller)
        return false;
    pthread_mutex_lock(&timeline->lock);
    timeline_settle(timeline);
    bool over = timeline->value >= value || gate_failure(&timeline->gate, value);
    const struct signal_queue *queue = signal_queues_find(&timeline->queues, timeline->signaller);
    const struct queued_signal *signal = queue ? signal_queue_reaching(queue, value) : NULL;
    *position = signal ? signal->position : UINT64_MAX;
    pthread_mutex_unlock(&timeline->lock);
    return !over && (signal || !atomic_load(&timeline->destroyed));
}

/* What a dependency needs; false when nothing that could be missing. */
static bool need_of(struct inquiry *inquiry, const struct dep *dep, struct stall_need *need) {
    struct stream *stream = dep->stream;
    *need = (struct stall_need){.position = dep->position, .value = dep->position};
    if (stream && atomic_load(&stream->retired) >= dep->position)
        return false;
    if (dep->gate) {
        struct timeline *timeline = (struct timeline *)(void *)dep->gate;
        if (dep_failure(dep) || !awaited_position(timeline, dep->position, &need->position))
            return false;
        stream = timeline->signaller;
        need->tag = timeline;
        need->user_code = true;
    }
    if (!stream || need->position <= stream->firm_until)
        return false;
    need->stream = number_of(inquiry, stream);
    inquiry->no_memory = inquiry->no_memory || need->stream == STALL_NONE;
    return !inquiry->no_memory;
}

static void add_needs(struct inquiry *inquiry, const struct dep *items, unsigned n) {
    struct stall_need need;
    for (unsigned i = 0; i < n && !inquiry->no_memory; i++) {
        if (!need_of(inquiry, &items[i], &need))
            continue;
        inquiry->no_memory = !stall_add_need(&inquiry->stall, need);
        if (!inquiry->no_memory && items[i].gate)
            object_retain(&items[i].gate->object);
    }
}

static bool visit(const struct queued *queued, void *arg) {
    struct inquiry *inquiry = arg;
    struct stall_stream *stream = &inquiry->stall.streams[inquiry->visited];
    bool user_code = queued_runs_user_code(queued);
    if (queued->position <= ((const struct stream *)stream->key)->firm_until)
        stream->user_code_known = stream->user_code_known || user_code;
    if (queued->position <= stream->known)
        return true;
    if (queued->position > stream->wanted || inquiry->no_memory)
        return false;
    if (!queued->deps->count && !user_code)
        return true;
    inquiry->no_memory =
        !stall_add_item(&inquiry->stall, inquiry->visited, queued->position, user_code,
                        queued->command ? command_label(queued->command) : NULL);
    if (!inquiry->no_memory)
        add_needs(inquiry, deps_items(queued->deps), queued->deps->count);
    return true;
}

/* Behind all that the caller has queued. */
static void add_call(struct inquiry *inquiry, uint32_t stream) {
    inquiry->no_memory =
        inquiry->no_memory || !stall_add_item(&inquiry->stall, stream, STALL_LATER, false, NULL);
    if (!inquiry->no_memory)
        add_needs(inquiry, inquiry->dep, 1);
}

static void visit_stream(struct inquiry *inquiry, uint32_t number) {
    struct stream *stream = inquiry->stall.streams[number].key;
    uint64_t wanted = inquiry->stall.streams[number].wanted;
    inquiry->visited = number;
    if (!stream_poison(stream)) /* which drops what it has */
        queued_visit(stream, visit, inquiry);
    if (stream == inquiry->caller && inquiry->dep && wanted == UINT64_MAX)
        add_call(inquiry, number);
    inquiry->stall.streams[number].known = wanted;
}

/* The call as a stream: the wait itself, or what stands before the signal. */
static void begin(struct inquiry *inquiry, uint64_t position) {
    bool made;
    inquiry->call = stall_stream(&inquiry->stall, inquiry, &made);
    inquiry->no_memory = inquiry->call == STALL_NONE;
    if (inquiry->dep) {
        add_call(inquiry, inquiry->call);
        return;
    }
    uint32_t caller = inquiry->no_memory ? STALL_NONE : number_of(inquiry, inquiry->caller);
    const struct stall_need need = {.stream = caller, .position = position};
    inquiry->no_memory =
        caller == STALL_NONE ||
        !stall_add_item(&inquiry->stall, inquiry->call, STALL_LATER, false, NULL) ||
        !stall_add_need(&inquiry->stall, need);
}

static void end(struct inquiry *inquiry) {
    for (uint32_t i = 0; i < inquiry->stall.n_streams; i++)
        if (i != inquiry->call)
            stream_put(inquiry->stall.streams[i].key);
    for (uint32_t i = 0; i < inquiry->stall.n_needs; i++)
        if (inquiry->stall.needs[i].tag)
            timeline_put(inquiry->stall.needs[i].tag);
    stall_free(&inquiry->stall);
}

static void indulge(struct timeline *timeline, uint64_t value) {
    pthread_mutex_lock(&timeline->lock);
    if (value > timeline->indulged)
        timeline->indulged = value;
    if (value > timeline->awaited)
        timeline->awaited = value;
    deadlock_note_owed(timeline);
    pthread_mutex_unlock(&timeline->lock);
}

/* Notes what user code was counted on for, and the waits that are seen to be over some day whatever is
 * called next: those need not be looked at again. */
static void note_verdict(struct inquiry *inquiry) {
    for (uint32_t i = 0; i < inquiry->stall.n_needs; i++) {
        const struct stall_need *need = &inquiry->stall.needs[i];
        if (need->lenient)
            indulge(need->tag, need->value);
    }
    stall_solve_firmly(&inquiry->stall);
    for (uint32_t i = 0; i < inquiry->stall.n_streams; i++) {
        struct stream *stream = inquiry->stall.streams[i].key;
        uint64_t position = i == inquiry->call ? 0 : stall_firm_position(&inquiry->stall, i);
        if (position)
            stream->firm_until = position;
    }
}

/* Looks at all the streams that the call leads to. */
static void look(struct inquiry *inquiry, uint64_t position) {
    uint32_t next;
    begin(inquiry, position);
    while (!inquiry->no_memory && (next = stall_next_wanted(&inquiry->stall)) != STALL_NONE)
        visit_stream(inquiry, next);
    if (!inquiry->no_memory)
        stall_solve(&inquiry->stall);
}

static cls_status inquire(struct stream *caller, const struct dep *dep) {
    struct inquiry inquiry = {.caller = caller, .dep = dep};
    cls_status status = CLS_SUCCESS;
    look(&inquiry, UINT64_MAX);
    if (inquiry.no_memory) {
        status = error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory to look for a deadlock");
    } else {
        if (stall_unmet(&inquiry.stall, inquiry.call))
            status = deadlock_report(&inquiry.stall, inquiry.call, caller);
        else
            note_verdict(&inquiry);
    }
    end(&inquiry);
    return status;
}

bool deadlock_is_hopeless(struct stream *stream, uint64_t position) {
    struct inquiry inquiry = {.caller = stream};
    if (!atomic_load(&lenient))
        return false;
    wait_check_lock();
    look(&inquiry, position);
    bool hopeless = !inquiry.no_memory && stall_unmet(&inquiry.stall, inquiry.call);
    end(&inquiry);
    wait_check_unlock();
    return hopeless;
}

/* --- when to look --- */

static bool is_owed(struct timeline *timeline, uint64_t value) {
    const struct signal_queue *queue = signal_queues_find(&timeline->queues, timeline->signaller);
    return value > timeline->value && !(queue && signal_queue_reaching(queue, value));
}

static void set_flag(bool *flag, bool now, _Atomic long *count) {
    if (now != *flag)
        atomic_fetch_add(count, now ? 1 : -1);
    *flag = now;
}

void deadlock_note_owed(struct timeline *timeline) {
    if (!timeline->signaller)
        return;
    set_flag(&timeline->owes, is_owed(timeline, timeline->awaited), &owing);
    set_flag(&timeline->lenient, timeline->value < timeline->indulged, &lenient);
}

void deadlock_forget(struct timeline *timeline) {
    set_flag(&timeline->owes, false, &owing);
    set_flag(&timeline->lenient, false, &lenient);
}

/* Takes note of a wait that is allowed, so that the next check sees what it owes. */
static void note_wait(struct timeline *timeline, uint64_t value) {
    pthread_mutex_lock(&timeline->lock);
    if (value > timeline->awaited)
        timeline->awaited = value;
    deadlock_note_owed(timeline);
    pthread_mutex_unlock(&timeline->lock);
}

static cls_status check_wait(struct stream *stream, const struct dep *dep) {
    struct timeline *timeline = (struct timeline *)(void *)dep->gate;
    bool look = atomic_load(&owing) || atomic_load(&lenient);
    if (timeline && timeline->signaller && !look) {
        pthread_mutex_lock(&timeline->lock);
        look = is_owed(timeline, dep->position);
        pthread_mutex_unlock(&timeline->lock);
    }
    cls_status status = look ? inquire(stream, dep) : CLS_SUCCESS;
    if (!status && timeline && timeline->signaller)
        note_wait(timeline, dep->position);
    return status;
}

cls_status deadlock_check_signal(struct stream *stream) {
    if (!atomic_load(&lenient))
        return CLS_SUCCESS;
    wait_check_lock();
    cls_status status = inquire(stream, NULL);
    wait_check_unlock();
    return status;
}

void deadlock_watch(void) { wait_check_install(check_wait); }

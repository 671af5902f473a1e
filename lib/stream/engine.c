/* SPDX-License-Identifier: MIT */
/* The engine's thread: its list of streams, what it does for each, and how long it sleeps. */
#include "stream/engine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "driver/event.h"
#include "driver/memory.h"
#include "stream/abandoned.h"
#include "stream/context.h"
#include "stream/flush.h"
#include "stream/handover.h"
#include "stream/hooks.h"
#include "stream/later.h"
#include "stream/wait.h"
#include "stream/waiter.h"
#include "system/clocks.h"
#include "system/threads.h"

static const uint64_t TICK_NS = 400 * 1000;           /* while something is unflushed or deferred */
static const uint64_t SOON_NS = 20 * 1000;            /* while a FIFO waits for a device's work */
static const uint64_t LONG_NS = 10 * 1000 * 1000;     /* while all is flushed and pending */
static const uint64_t ENDLESS_NS = 10 * CLOCK_SECOND; /* nothing is watched: only a kick ends it */
enum {
    SOON_SHARE = 128, /* of the time that the FIFO has waited so far, when that is more */
    IDLE_TICKS = 50,  /* ticks from the last work to sleeping without end */
    IDLE_VISITS = 25  /* visits to an idle stream until it is let go */
};

static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static bool running, stop;
static pthread_t thread;
static struct stream *arrivals; /* watched since the last tick */

ASKED _Atomic bool engine_down;
static _Atomic bool kicked;
static _Atomic bool sleeps_long;
static _Atomic(struct waiter *) wake;

void engine_kick(void) {
    if (atomic_exchange(&kicked, true))
        return;
    struct waiter *waiter = atomic_load(&wake);
    if (waiter)
        waiter_wake(waiter);
}

static void kick_hint(void *unused) {
    (void)unused;
    engine_kick();
}

const struct hint engine_hint = {kick_hint, NULL};

void engine_rouse(void) {
    if (atomic_load_explicit(&sleeps_long, memory_order_relaxed))
        engine_kick();
}

void engine_watch(struct stream *stream) {
    stream->watched = true;
    object_retain(&stream->object);
    pthread_mutex_lock(&engine_lock);
    stream->watch_next = arrivals;
    arrivals = stream;
    pthread_mutex_unlock(&engine_lock);
    engine_rouse();
}

bool engine_ticks_for(const struct stream *stream) {
    return stream->events.mode == EVENTS_SPARSE || stream->context->caps->flushes;
}

/* --- the thread --- */

enum need { NEED_NOTHING, NEED_LONG, NEED_TICK, NEED_SOON };

/* What a round of visits found. */
struct round {
    enum need need; /* the most urgent one */
    bool ticking;   /* engine_ticks_for a stream */
    bool moved;     /* something was flushed, or has retired */
};

/* Whether commands came in since the last visit: more may come, and should not have to wake this thread. `*busy`: and none
 * of them was deferred and no memory is owed, so that the submitter, who polls, should not have to wait for the lock. */
static bool has_news(struct stream *stream, bool *busy) {
    *busy = true;
    if (pthread_mutex_trylock(&stream->lock))
        return true;
    bool news = stream->submitted != stream->visited_at;
    *busy = news && fifo_is_empty(&stream->fifo) && !hooks.memory.is_owed(stream);
    stream->visited_at = stream->submitted;
    pthread_mutex_unlock(&stream->lock);
    return news;
}

/* Flushes, and gives the newest command an event unless more are coming. True when there was something to flush. */
static bool tend(struct stream *stream, bool busy) {
    pthread_mutex_lock(&stream->lock);
    bool fresh = stream->unflushed_from != 0;
    stream_flush_locked(stream);
    struct flight *last = flight_last(&stream->flights);
    if (last && !last->event && !fresh && !busy)
        handover_cover(stream);
    pthread_mutex_unlock(&stream->lock);
    return fresh;
}

/* NEED_NOTHING when the stream is idle and was so at the last visit. */
static enum need visit(struct stream *stream, bool urgent, struct round *round) {
    bool busy, news = has_news(stream, &busy);
    if (busy && !urgent && stream->context->caps->unflushed_progresses)
        return engine_ticks_for(stream) ? NEED_TICK : NEED_LONG;
    const uint64_t retired = atomic_load(&stream->retired);
    stream_poll(stream);
    bool fresh = tend(stream, busy);
    round->moved = round->moved || fresh || atomic_load(&stream->retired) != retired;
    stream_drive(stream);
    hooks.memory.shed(stream);
    pthread_mutex_lock(&stream->lock);
    bool pending =
        stream->flights.count || !fifo_is_empty(&stream->fifo) || hooks.memory.is_owed(stream);
    bool deferred = fifo_needs_driving(&stream->fifo);
    pthread_mutex_unlock(&stream->lock);
    if (deferred && !device_uses_host_cores(stream->context->device))
        return NEED_SOON;
    /* A long sleep would be cut short by the next command. */
    if (fresh || deferred || (news && engine_ticks_for(stream)))
        return NEED_TICK;
    return pending ? NEED_LONG : NEED_NOTHING;
}

/* Whether the stream is still idle: the caller takes it off the list and drops its reference. A destroyed one, on which
 * nobody can ask for memory any more, stays until the memory that it has freed is anybody's. */
static bool let_go(struct stream *stream) {
    if (atomic_load(&stream->destroyed))
        hooks.memory.return_held(stream);
    pthread_mutex_lock(&stream->lock);
    bool holds = hooks.memory.is_owed(stream) ||
                 (atomic_load(&stream->destroyed) && hooks.memory.is_held(stream));
    bool idle =
        !stream->flights.count && fifo_is_empty(&stream->fifo) && !stream->unflushed_from && !holds;
    if (idle) {
        hooks.forget_kernels(stream);
        handover_release_queues(stream);
        stream->watched = false;
    }
    pthread_mutex_unlock(&stream->lock);
    return idle;
}

static struct stream *take_arrivals(struct stream *list) {
    pthread_mutex_lock(&engine_lock);
    struct stream *first = arrivals;
    arrivals = NULL;
    pthread_mutex_unlock(&engine_lock);
    while (first) {
        struct stream *next = first->watch_next;
        first->watch_next = list;
        list = first;
        first = next;
    }
    return list;
}

/* A stream that is used now and then stays on the list; a destroyed one goes as soon as it is idle. */
static bool may_go(struct stream *stream, enum need need) {
    stream->idle_visits = need == NEED_NOTHING ? stream->idle_visits + 1 : 0;
    if (need != NEED_NOTHING)
        return false;
    return stream->idle_visits > IDLE_VISITS || atomic_load(&stream->destroyed);
}

/* Visits all, and lets idle streams go. */
static struct stream *visit_all(struct stream *list, bool urgent, struct round *round) {
    struct stream **link = &list;
    *round = (struct round){.need = NEED_NOTHING};
    while (*link) {
        struct stream *stream = *link;
        enum need one = visit(stream, urgent, round);
        if (one > round->need)
            round->need = one;
        round->ticking = round->ticking || engine_ticks_for(stream);
        struct stream *next = stream->watch_next;
        if (may_go(stream, one) && let_go(stream)) {
            *link = next;
            object_release(&stream->object);
        } else {
            link = &stream->watch_next;
        }
    }
    return list;
}

static bool stopping(void) {
    pthread_mutex_lock(&engine_lock);
    bool now = stop;
    pthread_mutex_unlock(&engine_lock);
    return now;
}

/* Whether nothing came in since the visits. A submission that this does not see sees `sleeps_long`, which was set before:
 * both are ordered by the stream's or the engine's lock. */
static bool is_quiet(struct stream *list) {
    bool quiet = true;
    for (; list && quiet; list = list->watch_next) {
        pthread_mutex_lock(&list->lock);
        quiet = !list->unflushed_from && !fifo_needs_driving(&list->fifo);
        pthread_mutex_unlock(&list->lock);
    }
    pthread_mutex_lock(&engine_lock);
    quiet = quiet && !arrivals && !stop;
    pthread_mutex_unlock(&engine_lock);
    return quiet;
}

/* While a FIFO waits for a device's work the ticks are short, and grow with the time since something `moved`, in `*since`. */
static uint64_t tick_of(const struct round *round, uint64_t *since) {
    const uint64_t now = clock_now_ns();
    if (round->moved || round->need != NEED_SOON)
        *since = now;
    const uint64_t share = (now - *since) / SOON_SHARE;
    if (round->need != NEED_SOON || share > TICK_NS)
        return TICK_NS;
    return share < SOON_NS ? SOON_NS : share;
}

/* Sleeps for a tick (0: until a kick), of at most `most_ns`; not at all after a kick that came since `kicked` was cleared. */
static void rest(struct waiter *waiter, struct stream *list, uint64_t tick_ns, uint64_t most_ns) {
    uint64_t long_ns = list ? LONG_NS : ENDLESS_NS;
    if (long_ns > most_ns)
        long_ns = most_ns;
    atomic_store(&sleeps_long, !tick_ns);
    if (!atomic_load(&kicked) && (tick_ns || is_quiet(list)))
        waiter_sleep(waiter, tick_ns ? tick_ns : long_ns);
    atomic_store(&sleeps_long, false);
}

/* Of two times, of which 0 means never. */
static uint64_t sooner(uint64_t a, uint64_t b) { return a && (!b || a < b) ? a : b; }

static void *serve(void *arg) {
    struct waiter *waiter = arg;
    struct stream *list = NULL;
    uint64_t since = 0;
    unsigned idle = 0;
    system_thread_wake_on_time();
    while (!stopping()) {
        struct round round;
        bool urgent = atomic_exchange(&kicked, false);
        list = take_arrivals(list);
        list = visit_all(list, urgent, &round);
        idle = round.need == NEED_NOTHING ? idle + 1 : 0;
        bool often = round.need >= NEED_TICK ||
                     (round.need == NEED_NOTHING && round.ticking && idle <= IDLE_TICKS);
        uint64_t tick_ns = tick_of(&round, &since);
        const uint64_t most_ns = sooner(abandoned_reclaim(), later_attempt());
        shared_collect();
        rest(waiter, list, often ? tick_ns : 0, most_ns ? most_ns : ENDLESS_NS);
    }
    while (list) {
        struct stream *next = list->watch_next;
        object_release(&list->object);
        list = next;
    }
    return NULL;
}

cls_status engine_start(void) {
    cls_status status = CLS_SUCCESS;
    if (engine_is_down())
        return error_set(CLS_ERROR_SHUTDOWN, "the process is exiting");
    pthread_mutex_lock(&engine_lock);
    if (!running) {
        struct waiter *waiter = waiter_get();
        int error = waiter ? thread_start(&thread, "cls-engine", serve, waiter) : 0;
        running = waiter && !error;
        if (running)
            atomic_store(&wake, waiter);
        else
            status = error_set(CLS_ERROR_OUT_OF_MEMORY, "no thread for the engine: %s",
                               waiter ? strerror(error) : "no memory");
        if (!running)
            waiter_put(waiter);
    }
    pthread_mutex_unlock(&engine_lock);
    return status;
}

void engine_close(void) { atomic_store(&engine_down, true); }

void engine_stop(void) {
    pthread_mutex_lock(&engine_lock);
    bool join = running;
    stop = true;
    running = false;
    pthread_mutex_unlock(&engine_lock);
    if (!join)
        return;
    atomic_store(&kicked, false);
    engine_kick();
    pthread_join(thread, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Commands in flight: the ring of what the driver holds of one stream, oldest first. A flight's event stays
 * retained until it is retired, and flights retire in order: on PoCL 3.1 releasing the event of an inner
 * command of a chain whose first one fails aborts the process. Where commands have no events
 * of their own, or launches in a chain share the last one's, a flight is a span of them, as long as nothing
 * sets one apart.
 */
#ifndef CLSTREAM_STREAM_FLIGHT_H
#define CLSTREAM_STREAM_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include <clstream/stream.h>

#include "base/cache_line.h"
#include "stream/command.h"
#include "stream/dep.h"
#include "stream/event_ref.h"

struct stream;
struct queue;

/* In the order in which it is looked at: what is asked about each, what is kept of each, and what has a command wait.
 * An operation finds little of the library in a cache that the driver has used meanwhile. */
struct flight {
    /* The event's, once others have come to hold it too. First, since the last of them may come to free the
     * flight's memory. */
    struct event_ref event_ref;
    bool event_shared;
    bool well : 1;      /* known to be done without a failure of its own */
    bool chained : 1;   /* the driver has it wait for the flight before it */
    uint8_t event_need; /* an enum event_need, of its last command */
    uint8_t kind;       /* a cls_command_kind */
    cl_int lost;    /* negative: nothing can be known of it and the flights before it any more */
    cl_event event; /* NULL: covered by the next flight that has one, on the same in-order queue */
    uint64_t position; /* of the last command */
    struct queue *queue;
    struct flight *next; /* of the spare ones */

    uint64_t first;              /* the first command's position; deps are that one's */
    const char *label;           /* of the commands, if all have the same */
    struct trace_record *record; /* NULL: nobody observes it */
    struct event *timed;         /* to be told the end time; NULL mostly; kept alive by refs */
    const void *host; /* the host memory that a copy uses, which has no references; NULL: none */
    struct refs refs;
    uint64_t timed_serial;

    _Alignas(CACHE_LINE) struct deps deps;
};

/* A ring that grows up to the stream's bound. All functions are called under the stream's lock. */
struct flights {
    struct flight **ring;
    struct flight *newest; /* NULL: there is none */
    struct flight *spare;  /* what retired last is taken again first: it is in the cache */
    unsigned capacity;     /* a power of two, or 0 */
    unsigned first;
    unsigned count;
    unsigned commands; /* in all flights */
    unsigned poll_at;  /* look for completions when there are so many commands */
    /* Such a look found a batch done, and ended at the outcome of another stream's work. */
    bool unsettled;
    /* When the driver was first asked in vain about the oldest event; 0: it was not. */
    uint64_t mute_since;
    uint64_t stuck_since; /* when a failed stream's oldest flight was first seen unstarted */
};

static inline struct flight *flight_at(const struct flights *flights, unsigned i) {
    return flights->ring[(flights->first + i) & (flights->capacity - 1)];
}

/* The newest flight, or NULL. */
static inline struct flight *flight_last(const struct flights *flights) { return flights->newest; }

/* Somebody may ask for the flight's last position: its event stays its own. */
static inline void flight_need_event(struct flight *flight) {
    if (flight->event_need == EVENT_NOT_NEEDED)
        flight->event_need = EVENT_NEEDED;
}

/* Whether a look for completions comes before the next command is handed over. */
static inline bool flights_look_is_due(const struct flights *flights, unsigned limit) {
    return flights->commands >= flights->poll_at || flights->commands >= limit;
}

/* What the newest flight can lend to a command that is handed over under this hold of the lock; NULL where it
 * may retire before that, or there is none. */
static inline const struct refs *flights_lender(const struct flights *flights, unsigned limit) {
    const struct flight *last = flight_last(flights);
    return last && !flights_look_is_due(flights, limit) ? &last->refs : NULL;
}

/* Makes room for one more, without passing `limit` commands. */
enum flight_room { FLIGHT_ROOM, FLIGHT_FULL, FLIGHT_NO_MEMORY };
enum flight_room flights_reserve(struct flights *flights, unsigned limit);

/* Appends after flights_reserve; cannot fail. Takes over the command's refs and what the newest flight lends it, and
 * `deps`. */
struct flight *flights_push(struct flights *flights, struct command *command, struct deps *deps);

/* Lets the newest flight go on to a command that waits for nothing but the one before it; its event, if it has one,
 * is left to the caller. False, and nothing done, when it would hold too many references. */
bool flights_extend(struct flights *flights, struct command *command);

/* The flight whose event covers a position, or NULL when no later flight has an event. */
struct flight *flights_covering(const struct flights *flights, uint64_t position);

/* Retires what is done, oldest first. When the oldest is done but for the outcome of another stream's
 * work, that stream is returned, retained, to be polled without this lock. */
struct stream *flights_poll(struct stream *stream);

/* The same for a submitter in passing, of the older half only, once that is done: what a driver's threads are at work
 * on is among the newer, and who asks of it, or gives it back just then, is in their way. */
struct stream *flights_trim(struct stream *stream);

/* The same without asking any driver: retires what was found to be done before. */
struct stream *flights_settle(struct stream *stream);

/* The event of a flight that has one, held for the caller. */
struct event_ref *flight_event_ref(const struct stream *stream, struct flight *flight);

void flights_free(struct flights *flights);

#endif

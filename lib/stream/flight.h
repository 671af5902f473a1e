/* SPDX-License-Identifier: MIT */
/*
 * Commands in flight: a ring of what the driver holds of one stream, oldest first. Flights retire in order, and each keeps
 * its event retained until then: on PoCL 3.1, releasing the event of an inner command of a chain whose first one fails
 * aborts the process. A flight is one command, or several in a row of which only the last has an event
 * (stream/event_policy.h). Flights without an event end with the next one that has: these are a span.
 *
 * Everything here is read and written under the stream's lock, but for what event_ref.h says of event_ref.
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

/* Written once by handover.c or worker_commands.c, unless the member says otherwise. The order is that of use: what polls
 * read, what is kept until it retires, what it waits for. The driver has used the cache meanwhile, so each line costs. */
struct flight {
    /* Set up when a second holder of the event comes (flight_event_ref). First: the last holder may free the flight. */
    struct event_ref event_ref;
    bool event_shared; /* event_ref is set up, and `event` belongs to it */
    bool chained;      /* the driver has it wait for the flight before it */
    uint8_t
        event_need; /* an enum event_need, of its last command; raised by whoever may ask for that */
    uint8_t kind;   /* a cls_command_kind */
    /* What is known of its end, by polls and waits. Positive: nothing yet; CL_COMPLETE: done, and no driver is asked
     * again; negative: lost, nothing more can be known of it and of its span. */
    cl_int outcome;
    cl_event
        event; /* NULL: it ends with the next flight that has one, on the same in-order queue */
    uint64_t position; /* of the last command */
    struct queue *queue;
    struct flight *next; /* in the list of spare ones */

    uint64_t first;              /* the first command's position; deps are that one's */
    const char *label;           /* of the commands, if all have the same */
    struct trace_record *record; /* NULL: nobody observes it */
    struct event *timed;         /* gets the end time; mostly NULL; kept alive by refs */
    const void *host;            /* the host memory that a copy uses; NULL: none */
    struct refs refs;
    uint64_t timed_serial;

    _Alignas(CACHE_LINE) struct deps deps;
};

/* A ring that grows up to max_in_flight. All functions are called under the stream's lock. */
struct flights {
    struct flight **ring;
    struct flight *newest; /* NULL: there is none */
    struct flight *spare;  /* a list, the last retired first: it is in the cache */
    unsigned capacity;     /* a power of two, or 0 */
    unsigned first;
    unsigned count;
    unsigned commands; /* in all flights */
    unsigned poll_at;  /* a submitter polls when there are so many commands */
    bool
        retire_due; /* set by flights_trim, cleared by the submission that it was part of: flights known
                          to be done wait for other streams' work to retire */
    uint64_t
        mute_since; /* since when the driver does not answer about the oldest event; 0: it does */
    uint64_t
        stuck_since; /* when a failed stream's oldest flight was first seen unstarted; 0: never */
};

static inline struct flight *flight_at(const struct flights *flights, unsigned i) {
    return flights->ring[(flights->first + i) & (flights->capacity - 1)];
}

static inline bool flight_is_done(const struct flight *flight) {
    return flight->outcome == CL_COMPLETE;
}

static inline bool flight_is_lost(const struct flight *flight) { return flight->outcome < 0; }

/* The newest flight, or NULL. */
static inline struct flight *flight_last(const struct flights *flights) { return flights->newest; }

/* Somebody may ask for the flight's last position: its event stays its own. */
static inline void flight_need_event(struct flight *flight) {
    if (flight->event_need == EVENT_NOT_NEEDED)
        flight->event_need = EVENT_NEEDED;
}

/* Whether completions are polled before the next command is handed over. */
static inline bool flights_poll_is_due(const struct flights *flights, unsigned limit) {
    return flights->commands >= flights->poll_at || flights->commands >= limit;
}

/* The references that a command can borrow from the newest flight, if it is handed over before the lock is dropped. NULL:
 * there is no flight, or it may retire before that. */
static inline const struct refs *flights_lender(const struct flights *flights, unsigned limit) {
    const struct flight *last = flight_last(flights);
    return last && !flights_poll_is_due(flights, limit) ? &last->refs : NULL;
}

enum flight_room {
    FLIGHT_ROOM,
    FLIGHT_FULL,
    FLIGHT_NO_MEMORY,
    FLIGHT_POISONED /* handover_room only */
};

/* Makes room for one more, without passing `limit` commands. */
enum flight_room flights_reserve(struct flights *flights, unsigned limit);

/* Appends, after flights_reserve; cannot fail. Takes over the command's references, those that it borrows from the newest
 * flight, and `deps`. */
struct flight *flights_push(struct flights *flights, struct command *command, struct deps *deps);

/* Adds a command, which waits for nothing but the one before it, to the newest flight. The caller replaces the flight's
 * event, if it has one. False, and nothing is done, when the flight would hold too many references. */
bool flights_extend(struct flights *flights, struct command *command);

/* The flight whose event covers a position, or NULL when no later flight has an event. */
struct flight *flights_covering(const struct flights *flights, uint64_t position);

/* Asks the driver, and retires what is done, oldest first. Where the oldest is done but depends on work of another stream
 * that has not retired, that stream is returned, retained: it is to be polled first, without this lock. */
struct stream *flights_poll(struct stream *stream);

/* Called by a submitter: retires only the older half, once all of that is done, because asking about newer events contends
 * with the driver's threads. */
struct stream *flights_trim(struct stream *stream);

/* Retires what is known to be done, without asking the driver. */
struct stream *flights_retire_known(struct stream *stream);

/* The event of a flight that has one, held for the caller. */
struct event_ref *flight_event_ref(const struct stream *stream, struct flight *flight);

void flights_free(struct flights *flights);

#endif

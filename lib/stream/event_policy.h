/* SPDX-License-Identifier: MIT */
/*
 * Which commands get an event of the driver's. An event costs 6 us on an H200, so a stream does without where its device
 * allows: an in-order queue tells of a command by the event of any later one, and launches in a row on an out-of-order
 * queue, each waiting for the one before it, by that of the last. What somebody may ask for by itself keeps an event.
 */
#ifndef CLSTREAM_STREAM_EVENT_POLICY_H
#define CLSTREAM_STREAM_EVENT_POLICY_H

#include <stdbool.h>

#include "stream/flight.h"

struct context;
struct stream;

enum event_mode {
    EVENTS_EACH, /* each command gets an event, and keeps it */
    EVENTS_SPARSE, /* in-order queue: a kernel, foreign call or graph gets one only every `interval` commands, or where
                      the host is likely to wait for it */
    EVENTS_SHARED /* out-of-order queue: a launch gives its event up for that of the launch behind it */
};

/* Under the stream's lock. The first three are constant from stream_new on. */
struct event_policy {
    enum event_mode mode;
    /* Many flights are asked about at once (flight_state.h), as asking is dear, or the driver tells of failures only when
     * waited for. */
    bool asks_in_batches;
    unsigned interval;    /* commands from event to event at most */
    unsigned since_event; /* commands handed over since the newest event */
    unsigned since_ask; /* commands handed over since the newest was last waited for, or recorded */
    unsigned ask_gap;   /* since_ask at that time: the host is likely to wait after as many again */
};

void event_policy_init(struct event_policy *policy, const struct context *context,
                       bool out_of_order, unsigned max_in_flight);

/* Whether the next command, of that kind, gets an event; `profiled`: its queue is. */
static inline bool event_policy_wants(const struct event_policy *policy, cls_command_kind kind,
                                      bool profiled) {
    const bool may_go_without =
        kind == CLS_COMMAND_KERNEL || kind == CLS_COMMAND_FOREIGN || kind == CLS_COMMAND_GRAPH;
    if (policy->mode != EVENTS_SPARSE || profiled || !may_go_without)
        return true;
    return policy->since_ask + 1 == policy->ask_gap || policy->since_event + 1 >= policy->interval;
}

/* Whether the newest flight gives its event up for that of a launch which the driver has wait for it. One that waits for
 * other streams keeps its event, which tells when it has started. */
static inline bool event_policy_gives_up(const struct event_policy *policy,
                                         const struct flight *newest, bool profiled) {
    const uint64_t launches = newest->position - newest->first + 1;
    return policy->mode == EVENTS_SHARED && newest->event_need == EVENT_NOT_NEEDED &&
           !newest->event_shared && !flight_is_done(newest) && !newest->deps.count &&
           newest->kind == CLS_COMMAND_KERNEL && !profiled && launches < policy->interval;
}

/* A command was handed over, with an event or without. */
static inline void event_policy_count(struct event_policy *policy, bool with_event) {
    policy->since_ask++;
    policy->since_event = with_event ? 0 : policy->since_event + 1;
}

/* The newest command was given an event afterwards. */
static inline void event_policy_note_event(struct event_policy *policy) { policy->since_event = 0; }

/* Somebody waits for the newest command. */
static inline void event_policy_note_ask(struct event_policy *policy) {
    if (!policy->since_ask)
        return;
    policy->ask_gap = policy->since_ask;
    policy->since_ask = 0;
}

/* A cls_event is recorded behind the stream's newest command. */
void event_policy_note_record(struct stream *stream);

/* Commands in flight from one look for completions by a submitter to the next. */
unsigned event_policy_poll_step(const struct event_policy *policy);

#endif

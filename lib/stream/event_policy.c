/* SPDX-License-Identifier: MIT */
/* The events that a stream's device and options allow it to do without, and records, which need one. */
#include "stream/event_policy.h"

#include "driver/quirk.h"
#include "stream/context.h"
#include "stream/stream.h"

/* PoCL answers in 16 ns, NVIDIA takes 140 to 360. */
static const double DEAR_QUERY_NS = 60;

enum {
    /* One event in 256 launches instead of one in 64 saves 78 ns a launch on an H200. */
    MAX_INTERVAL = 256,
    MAX_INTERVAL_SHARED = 16,
    /* A wait for room is a wait for an event: at least so many of them are among max_in_flight commands. */
    LEAST_EVENTS = 4,
    LEAST_EVENTS_SHARED = 8,
    POLL_STEP = 32,
    POLL_STEP_BATCHES = 64,
    POLL_STEP_SPARSE = 256
};

static unsigned choose_interval(bool out_of_order, unsigned max_in_flight) {
    const unsigned most = out_of_order ? MAX_INTERVAL_SHARED : MAX_INTERVAL;
    const unsigned part = max_in_flight / (out_of_order ? LEAST_EVENTS_SHARED : LEAST_EVENTS);
    return part < most ? part : most;
}

static enum event_mode choose_mode(const struct caps *caps, bool out_of_order) {
    if (out_of_order)
        return caps->chain_shares ? EVENTS_SHARED : EVENTS_EACH;
    return caps->event_less ? EVENTS_SPARSE : EVENTS_EACH;
}

void event_policy_init(struct event_policy *policy, const struct context *context,
                       bool out_of_order, unsigned max_in_flight) {
    policy->mode = choose_mode(context->caps, out_of_order);
    policy->asks_in_batches = (context->device->quirks & QUIRK_STATUS_LIES) ||
                              context->caps->event_query_ns > DEAR_QUERY_NS;
    policy->interval = choose_interval(out_of_order, max_in_flight);
}

void event_policy_note_record(struct stream *stream) {
    struct command *queued = fifo_tail(&stream->fifo);
    struct flight *newest = flight_last(&stream->flights);
    if (queued) {
        queued->event_need = EVENT_RECORDED;
        return;
    }
    event_policy_note_ask(&stream->events);
    if (newest)
        newest->event_need = EVENT_RECORDED;
}

unsigned event_policy_poll_step(const struct event_policy *policy) {
    if (policy->mode == EVENTS_SPARSE)
        return POLL_STEP_SPARSE;
    return policy->asks_in_batches ? POLL_STEP_BATCHES : POLL_STEP;
}

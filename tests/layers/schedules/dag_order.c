/* SPDX-License-Identifier: MIT */
/* What is known to come before what, and the records and waits that make it so. */
#include <stdio.h>

#include "dag_state.h"

uint32_t dag_number(struct dag *dag, uint32_t below) {
    dag->random ^= dag->random << 13;
    dag->random ^= dag->random >> 7;
    dag->random ^= dag->random << 17;
    return (uint32_t)(dag->random >> 16) % below;
}

bool dag_ok(struct dag *dag, cls_status status, const char *what) {
    if (status == CLS_SUCCESS || dag->result->failed)
        return status == CLS_SUCCESS;
    dag->result->failed = true;
    snprintf(dag->result->what, sizeof dag->result->what, "%s: %s (%s)", what,
             cls_status_string(status), cls_last_error_detail());
    return false;
}

static void join(struct clock *to, const struct clock *from) {
    for (unsigned i = 0; i < DAG_STREAMS; i++)
        if (from->of[i] > to->of[i])
            to->of[i] = from->of[i];
}

static void signal(struct dag *dag, unsigned stream, uint64_t value) {
    dag_ok(dag, cls_stream_signal_timeline(dag->streams[stream], dag->timelines[stream], value),
           "signal_timeline");
}

static void wait_for_value(struct dag *dag, unsigned stream, unsigned of, uint64_t value) {
    dag_ok(dag, cls_stream_wait_timeline(dag->streams[stream], dag->timelines[of], value),
           "wait_timeline");
}

void dag_pay(struct dag *dag, unsigned stream) {
    uint64_t value = dag->owed[stream];
    dag->owed[stream] = 0;
    if (value)
        signal(dag, stream, value);
}

void dag_start(struct dag *dag) {
    if (dag->started < dag->starting)
        dag_ok(dag, cls_timeline_signal(dag->starts, dag->starting), "signal");
    dag->started = dag->starting;
}

void dag_wait_to_start(struct dag *dag, unsigned stream) {
    dag->starting = dag->started + 1;
    dag_pay(dag, stream);
    dag_ok(dag, cls_stream_wait_timeline(dag->streams[stream], dag->starts, dag->starting),
           "wait for the host");
}

/* With the event, or with a value of the stream's timeline in its place. */
void dag_record(struct dag *dag, unsigned event, unsigned stream) {
    uint64_t value = dag_number(dag, 4) ? 0 : ++dag->values[stream];
    dag_pay(dag, stream);
    if (value)
        signal(dag, stream, value);
    else
        dag_ok(dag, cls_event_record(dag->events[event], dag->streams[stream]), "record");
    dag->records[event] = (struct record){true, stream, value, dag->clocks[stream]};
}

void dag_wait_for(struct dag *dag, unsigned stream, unsigned event, bool for_real) {
    const struct record *record = &dag->records[event];
    dag_pay(dag, stream);
    dag->result->waits++;
    if (!for_real)
        dag->result->left_out++;
    else if (record->value)
        wait_for_value(dag, stream, record->stream, record->value);
    else
        dag_ok(dag, cls_stream_wait_event(dag->streams[stream], dag->events[event]), "wait_event");
    join(&dag->clocks[stream], &dag->records[event].clock);
}

/* An event whose latest record already covers the position, or a new record. */
static unsigned covering(struct dag *dag, unsigned stream, uint32_t position) {
    unsigned first = dag_number(dag, EVENTS);
    for (unsigned i = 0; i < EVENTS && dag_number(dag, 2); i++) {
        unsigned event = (first + i) % EVENTS;
        const struct record *known = &dag->records[event];
        if (known->recorded && known->clock.of[stream] >= position)
            return event;
    }
    dag_record(dag, first, stream);
    return first;
}

/* Hands a wait on through another stream: it waits and records, and submits nothing in between. */
static unsigned relay(struct dag *dag, unsigned waiter, unsigned event) {
    unsigned stream = dag_number(dag, dag->plan->streams), next = dag_number(dag, EVENTS);
    if (stream == waiter)
        return event;
    dag_wait_for(dag, stream, event, true);
    dag_record(dag, next, stream);
    return next;
}

/* The wait first, and the signal that it is for when the other stream is given more, at the latest: until
 * then it stands for what comes before it now. */
static void wait_early(struct dag *dag, unsigned stream, unsigned other, bool for_real) {
    dag->result->waits++;
    if (!dag->owed[other])
        dag->owed[other] = ++dag->values[other];
    if (for_real)
        wait_for_value(dag, stream, other, dag->owed[other]);
    else
        dag->result->left_out++;
    join(&dag->clocks[stream], &dag->clocks[other]);
}

/* Whether what is left out does not come before that. */
static bool is_for_real(const struct dag *dag, const struct clock *clock) {
    const struct left_out *left_out = &dag->left_out;
    return !left_out->now || clock->of[left_out->stream] < left_out->position;
}

static void come_after(struct dag *dag, unsigned stream, unsigned other, uint32_t position) {
    if (dag->clocks[stream].of[other] >= position)
        return;
    bool early = dag_number(dag, 8) == 0;
    unsigned event = early ? 0 : covering(dag, other, position);
    if (!early && dag_number(dag, 8) == 0)
        event = relay(dag, stream, event);
    if (++dag->needed == dag->plan->planted)
        dag->left_out = (struct left_out){true, other, position};
    if (early)
        wait_early(dag, stream, other, is_for_real(dag, &dag->clocks[other]));
    else
        dag_wait_for(dag, stream, event, is_for_real(dag, &dag->records[event].clock));
}

void dag_before_read(struct dag *dag, unsigned stream, unsigned cell) {
    come_after(dag, stream, dag->cells[cell].writer, dag->cells[cell].written);
}

void dag_before_write(struct dag *dag, unsigned stream, unsigned cell) {
    dag_before_read(dag, stream, cell);
    for (unsigned i = 0; i < dag->plan->streams; i++)
        come_after(dag, stream, i, dag->cells[cell].read[i]);
}

/* The position that the stream's next command gets. */
static uint32_t here(struct dag *dag, unsigned stream) {
    return dag->clocks[stream].of[stream] + 1;
}

void dag_has_read(struct dag *dag, unsigned stream, unsigned cell) {
    dag->cells[cell].read[stream] = here(dag, stream);
}

void dag_has_written(struct dag *dag, unsigned stream, unsigned cell) {
    dag->cells[cell].writer = stream;
    dag->cells[cell].written = here(dag, stream);
}

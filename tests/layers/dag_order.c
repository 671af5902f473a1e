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

/* With the event, or with a value of the stream's timeline in its place. */
void dag_record(struct dag *dag, unsigned event, unsigned stream) {
    uint64_t value = dag_number(dag, 4) ? 0 : ++dag->values[stream];
    if (value)
        signal(dag, stream, value);
    else
        dag_ok(dag, cls_event_record(dag->events[event], dag->streams[stream]), "record");
    dag->records[event] = (struct record){true, stream, value, dag->clocks[stream]};
}

void dag_wait_for(struct dag *dag, unsigned stream, unsigned event, bool for_real) {
    const struct record *record = &dag->records[event];
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

/* The wait first, and then the signal that it is for. */
static void wait_early(struct dag *dag, unsigned stream, unsigned other) {
    uint64_t value = ++dag->values[other];
    dag->result->waits++;
    wait_for_value(dag, stream, other, value);
    signal(dag, other, value);
    join(&dag->clocks[stream], &dag->clocks[other]);
}

static void come_after(struct dag *dag, unsigned stream, unsigned other, uint32_t position) {
    if (dag->clocks[stream].of[other] >= position)
        return;
    if (!dag->plan->planted && dag_number(dag, 8) == 0 && !dag->plan->no_early) {
        wait_early(dag, stream, other);
        return;
    }
    unsigned event = covering(dag, other, position);
    if (dag_number(dag, 8) == 0)
        event = relay(dag, stream, event);
    if (++dag->needed == dag->plan->planted)
        dag->left_out = (struct left_out){true, other, position};
    const struct left_out *left_out = &dag->left_out;
    dag_wait_for(dag, stream, event,
                 !left_out->now ||
                     dag->records[event].clock.of[left_out->stream] < left_out->position);
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

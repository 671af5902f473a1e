/* SPDX-License-Identifier: MIT */
/* What a launch costs: without events, with one each, and chained through them. */
#include "driver/probe.h"

#include <stdlib.h>

#include "base/clock.h"

enum { RING = 16, REPEATS = 7, MIN_BATCH = 4, MAX_BATCH = 128, QUERIES = 32 };

#define BATCH_NS 400000.0

enum style { PLAIN, EVENT_EACH, CHAINED, STYLES };

/* The latest events of a batch; the oldest goes when its place is needed. */
struct ring {
    cl_event events[RING];
    unsigned used;
};

static void ring_put(struct ring *ring, cl_event event) {
    cl_event *place = &ring->events[ring->used++ % RING];
    if (*place)
        clReleaseEvent(*place);
    *place = event;
}

static cl_event ring_last(const struct ring *ring) {
    return ring->used ? ring->events[(ring->used - 1) % RING] : NULL;
}

static void ring_clear(struct ring *ring) {
    for (unsigned i = 0; i < RING; i++)
        if (ring->events[i])
            clReleaseEvent(ring->events[i]);
}

static bool fill(struct probe *probe, cl_command_queue queue, enum style style, unsigned n,
                 struct ring *ring) {
    for (unsigned i = 0; i < n; i++) {
        cl_event event = NULL;
        cl_event last = ring_last(ring);
        bool wants_event = style != PLAIN || i == n - 1;
        if (!probe_enqueue(probe, queue, 0, 0, style == CHAINED && last ? &last : NULL,
                           wants_event ? &event : NULL))
            return false;
        if (wants_event)
            ring_put(ring, event);
    }
    return true;
}

/* Per launch, from the first enqueue until all is done; 0 when something failed. */
static double time_batch(struct probe *probe, enum style style, unsigned n) {
    cl_command_queue queue = style == CHAINED ? probe->out_of_order : probe->queues[0];
    struct ring ring = {{NULL}, 0};
    uint64_t start = clock_now_ns();
    bool well = fill(probe, queue, style, n, &ring);
    cl_event last = ring_last(&ring);
    if (last)
        clRetainEvent(last);
    well = probe_finish(probe, queue, last) && well;
    double ns = (double)(clock_now_ns() - start) / n;
    if (!probe->stuck)
        ring_clear(&ring);
    return well ? ns : 0;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double at_rank(double *values, unsigned rank) {
    qsort(values, REPEATS, sizeof *values, ascending);
    return values[rank];
}

static unsigned batch_for(double ns) {
    double n = ns > 0 ? BATCH_NS / ns : MIN_BATCH;
    return n < MIN_BATCH ? MIN_BATCH : n > MAX_BATCH ? MAX_BATCH : (unsigned)n;
}

/* The styles take turns, so that a change of the machine's speed meets all of them. */
static void probe_styles(struct probe *probe, struct caps *caps) {
    double ns[STYLES][REPEATS];
    double ratio[REPEATS], chain[REPEATS];
    enum style styles = caps->out_of_order ? STYLES : CHAINED;
    unsigned n = batch_for(time_batch(probe, PLAIN, MIN_BATCH));
    for (unsigned r = 0; r < REPEATS; r++) {
        for (enum style s = PLAIN; s < styles; s++)
            ns[s][r] = time_batch(probe, s, n);
        double cheaper = ns[PLAIN][r] < ns[EVENT_EACH][r] ? ns[PLAIN][r] : ns[EVENT_EACH][r];
        ratio[r] = ns[PLAIN][r] > 0 ? ns[EVENT_EACH][r] / ns[PLAIN][r] : 1;
        chain[r] = caps->out_of_order && cheaper > 0 ? ns[CHAINED][r] / cheaper : 1;
    }
    caps->launch_in_order_ns = at_rank(ns[PLAIN], REPEATS / 2);
    caps->launch_in_order_event_ns = at_rank(ns[EVENT_EACH], REPEATS / 2);
    caps->launch_out_of_order_ns = caps->out_of_order ? at_rank(ns[CHAINED], REPEATS / 2) : 0;
    caps->event_cost_ratio = at_rank(ratio, REPEATS / 2);
    caps->event_cost_ratio_low = at_rank(ratio, REPEATS / 4);
    caps->chain_cost_ratio = at_rank(chain, REPEATS / 2);
    caps->chain_cost_ratio_low = at_rank(chain, REPEATS / 4);
}

/* Both on a queue that has nothing to do. */
static void probe_calls(struct probe *probe, struct caps *caps) {
    cl_event event = NULL;
    cl_int state;
    if (!probe_enqueue(probe, probe->queues[0], 0, 0, NULL, &event))
        return;
    clRetainEvent(event);
    if (!probe_finish(probe, probe->queues[0], event))
        return;
    uint64_t start = clock_now_ns();
    for (unsigned i = 0; i < QUERIES; i++)
        clFlush(probe->queues[0]);
    uint64_t middle = clock_now_ns();
    for (unsigned i = 0; i < QUERIES; i++)
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    caps->flush_ns = (double)(middle - start) / QUERIES;
    caps->event_query_ns = (double)(clock_now_ns() - middle) / QUERIES;
    clReleaseEvent(event);
}

void probe_launches(struct probe *probe, struct caps *caps) {
    probe_styles(probe, caps);
    probe_calls(probe, caps);
}

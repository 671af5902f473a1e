/* SPDX-License-Identifier: MIT */
/* What a launch costs: without events, with one each, and chained through them. */
#include "driver/probe.h"

#include "base/clock.h"

enum { RING = 16, ROUNDS = 10, MIN_BATCH = 4, MAX_BATCH = 128, QUERIES = 32 };

#define BATCH_NS 1e6

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

static unsigned batch_for(double ns) {
    double n = ns > 0 ? BATCH_NS / ns : MIN_BATCH;
    return n < MIN_BATCH ? MIN_BATCH : n > MAX_BATCH ? MAX_BATCH : (unsigned)n;
}

static double lesser(double a, double b) { return a < b ? a : b; }

/* Rounds in which one way cost more than the other: both took place in the same moments. */
struct ways {
    double least[STYLES]; /* 0: it never went well */
    unsigned event_dearer, chain_dearer;
};

static void time_round(struct probe *probe, enum style styles, unsigned n, struct ways *ways) {
    double ns[STYLES] = {0};
    for (enum style s = PLAIN; s < styles; s++) {
        ns[s] = time_batch(probe, s, n);
        if (ns[s] > 0 && (ways->least[s] == 0 || ns[s] < ways->least[s]))
            ways->least[s] = ns[s];
    }
    ways->event_dearer += ns[EVENT_EACH] > ns[PLAIN];
    ways->chain_dearer += ns[CHAINED] > lesser(ns[PLAIN], ns[EVENT_EACH]);
}

/* The least times, since whatever else the machine does only ever adds. On a machine so busy that it adds to
 * every batch, they are chance, and so is which of two is the lesser: dearer is what nearly always was. */
static double cost_ratio(double least, double against, unsigned dearer) {
    double ratio = least > 0 && against > 0 ? least / against : 1;
    return ratio > 1 && dearer < ROUNDS - 1 ? 1 : ratio;
}

/* The styles take turns, so that a change of the machine's speed meets all of them. The first round warms
 * up. */
static void probe_styles(struct probe *probe, struct caps *caps) {
    struct ways warm_up = {{0}, 0, 0}, ways = {{0}, 0, 0};
    enum style styles = caps->out_of_order ? STYLES : CHAINED;
    unsigned n = batch_for(time_batch(probe, PLAIN, MIN_BATCH));
    time_round(probe, styles, n, &warm_up);
    for (unsigned r = 0; r < ROUNDS; r++)
        time_round(probe, styles, n, &ways);
    const double *least = ways.least;
    caps->launch_in_order_ns = least[PLAIN];
    caps->launch_in_order_event_ns = least[EVENT_EACH];
    caps->launch_out_of_order_ns = least[CHAINED];
    caps->event_cost_ratio = cost_ratio(least[EVENT_EACH], least[PLAIN], ways.event_dearer);
    caps->chain_cost_ratio =
        cost_ratio(least[CHAINED], lesser(least[PLAIN], least[EVENT_EACH]), ways.chain_dearer);
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

/* SPDX-License-Identifier: MIT */
/* What a launch costs: without events, with one each, and chained through them. */
#include "driver/probe.h"

#include "driver/paired.h"
#include "system/clocks.h"

enum { RING = 16, ROUNDS = 40, TRIES = 3, MIN_BATCH = 4, MAX_BATCH = 128, CALLS = 32 };

#define BATCH_NS 1e6

enum style { PLAIN, EVENT_EACH, CHAINED, STYLES };

/* The latest events of a batch; the oldest is released when its place is needed. */
struct event_ring {
    cl_event events[RING];
    unsigned used;
};

static void ring_put(struct event_ring *ring, cl_event event) {
    cl_event *place = &ring->events[ring->used++ % RING];
    if (*place)
        clReleaseEvent(*place);
    *place = event;
}

static cl_event ring_last(const struct event_ring *ring) {
    return ring->used ? ring->events[(ring->used - 1) % RING] : NULL;
}

static void ring_clear(struct event_ring *ring) {
    for (unsigned i = 0; i < RING; i++)
        if (ring->events[i])
            clReleaseEvent(ring->events[i]);
}

static bool fill(struct probe *probe, cl_command_queue queue, enum style style, unsigned n,
                 struct event_ring *ring) {
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
    struct event_ring ring = {{NULL}, 0};
    uint64_t start = clock_now_ns();
    bool well = fill(probe, queue, style, n, &ring);
    well = probe_wait(probe, queue, ring_last(&ring)) && well;
    double ns = (double)(clock_now_ns() - start) / n;
    if (!probe->stuck)
        ring_clear(&ring);
    return well ? ns : 0;
}

/* Keeps the shortest time, as disturbances only add. 0 stands for no time yet. */
static void set_least(double *least, double ns) {
    if (ns > 0 && (*least == 0 || ns < *least))
        *least = ns;
}

/* Launches in a batch, which take about a millisecond, from the shortest of a few: after one that was disturbed, batches would be so small
 * that the wait at the end dominates. */
static unsigned batch_size(struct probe *probe) {
    double least = 0;
    for (int i = 0; i < TRIES; i++)
        set_least(&least, time_batch(probe, PLAIN, MIN_BATCH));
    const double n = least > 0 ? BATCH_NS / least : MIN_BATCH;
    return n < MIN_BATCH ? MIN_BATCH : n > MAX_BATCH ? MAX_BATCH : (unsigned)n;
}

static double lesser(double a, double b) { return a < b ? a : b; }

/* The ratios of two ways, of those rounds in which both went well. */
struct ratios {
    double of[ROUNDS];
    size_t used;
};

struct ways {
    double least[STYLES]; /* 0: it never went well */
    struct ratios event, chain;
};

static void add_ratio(struct ratios *ratios, double ns, double against) {
    if (ns > 0 && against > 0)
        ratios->of[ratios->used++] = ns / against;
}

static void time_round(struct probe *probe, enum style styles, unsigned n, struct ways *ways) {
    double ns[STYLES] = {0};
    for (enum style s = PLAIN; s < styles; s++) {
        ns[s] = time_batch(probe, s, n);
        set_least(&ways->least[s], ns[s]);
    }
    add_ratio(&ways->event, ns[EVENT_EACH], ns[PLAIN]);
    add_ratio(&ways->chain, ns[CHAINED], lesser(ns[PLAIN], ns[EVENT_EACH]));
}

/* The styles take turns, so that a change of the machine's speed affects all of them. batch_size has warmed up. */
static void probe_styles(struct probe *probe, struct caps *caps) {
    struct ways ways = {{0}, {{0}, 0}, {{0}, 0}};
    enum style styles = caps->out_of_order ? STYLES : CHAINED;
    unsigned n = batch_size(probe);
    for (unsigned r = 0; r < ROUNDS; r++)
        time_round(probe, styles, n, &ways);
    /* The few rounds before a device hung are no measurement. */
    if (probe->stuck)
        ways.event.used = ways.chain.used = 0;
    struct paired event = paired_judge(ways.event.of, ways.event.used, CAPS_DEAR);
    struct paired chain = paired_judge(ways.chain.of, ways.chain.used, CAPS_DEAR);
    caps->launch_in_order_ns = ways.least[PLAIN];
    caps->launch_in_order_event_ns = ways.least[EVENT_EACH];
    caps->launch_out_of_order_ns = ways.least[CHAINED];
    caps->event_cost_ratio = event.ratio;
    caps->chain_cost_ratio = chain.ratio;
    caps->rounds_agreed = event.agreed && chain.agreed;
}

/* What flushing an idle queue costs, and asking for the state of a complete event. */
static void time_calls(cl_command_queue queue, cl_event event, struct caps *caps) {
    cl_int state;
    uint64_t start = clock_now_ns();
    for (unsigned i = 0; i < CALLS; i++)
        clFlush(queue);
    uint64_t middle = clock_now_ns();
    for (unsigned i = 0; i < CALLS; i++)
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    set_least(&caps->flush_ns, (double)(middle - start) / CALLS);
    set_least(&caps->event_query_ns, (double)(clock_now_ns() - middle) / CALLS);
}

static void probe_calls(struct probe *probe, struct caps *caps) {
    cl_event event = NULL;
    if (!probe_enqueue(probe, probe->queues[0], 0, 0, NULL, &event))
        return;
    caps->flush_ns = caps->event_query_ns = 0;
    if (probe_wait(probe, probe->queues[0], event))
        for (int i = 0; i < TRIES; i++)
            time_calls(probe->queues[0], event, caps);
    if (!probe->stuck)
        clReleaseEvent(event);
}

void probe_launches(struct probe *probe, struct caps *caps) {
    probe_styles(probe, caps);
    probe_calls(probe, caps);
}

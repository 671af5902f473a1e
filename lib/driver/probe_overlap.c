/* SPDX-License-Identifier: MIT */
/* Whether two kernels of one work-item each run at the same time: on two queues, and on one out-of-order queue. */
#include "driver/probe.h"

#include "system/clocks.h"

/* Two kernels that overlap take the time of one, two in a row that of two: the limit lies between. */
#define OVERLAP 1.5

/* One kernel on each of the queues (`second` may be NULL: only one kernel), in ns; a huge time when
 * something failed, so that it is never the shortest. */
static double time_kernels(struct probe *probe, cl_command_queue first, cl_command_queue second) {
    cl_command_queue queues[PROBE_KERNELS] = {first, second};
    cl_event events[PROBE_KERNELS] = {NULL, NULL};
    unsigned n = second ? 2 : 1;
    bool well = true;
    uint64_t start = clock_now_ns();
    for (unsigned i = 0; i < n; i++)
        well = probe_enqueue(probe, queues[i], i, probe->rounds, NULL, &events[i]) && well;
    for (unsigned i = 0; i < n; i++)
        clFlush(queues[i]);
    for (unsigned i = 0; i < n; i++)
        well = probe_finish(probe, queues[i], events[i]) && well;
    return well ? (double)(clock_now_ns() - start) : 1e18;
}

/* A single try proves little: the machine may be busy, or the scheduler may put both on one core, as some do every
 * other time. Several tries count together, all against the shortest time of one kernel. */
struct tries {
    double both[PROBE_TRIES];
    unsigned made;
};

static unsigned overlapping(const struct tries *tries, double one) {
    unsigned count = 0;
    for (unsigned i = 0; i < tries->made; i++)
        count += tries->both[i] < OVERLAP * one;
    return count;
}

static void add_try(struct probe *probe, struct tries *tries, cl_command_queue first,
                    cl_command_queue second) {
    tries->both[tries->made++] = time_kernels(probe, first, second);
}

/* A queue's first command may set the queue up. */
static void warm_up(struct probe *probe) {
    cl_command_queue queues[] = {probe->queues[0], probe->queues[1], probe->out_of_order};
    for (unsigned i = 0; i < sizeof queues / sizeof *queues; i++) {
        cl_event event = NULL;
        if (queues[i] && probe_enqueue(probe, queues[i], 0, 0, NULL, &event))
            probe_finish(probe, queues[i], event);
    }
}

bool probe_is_serial(unsigned on_queues, unsigned on_unordered, unsigned tries) {
    return tries == PROBE_TRIES && on_unordered == 0 && 4 * on_queues >= 3 * tries;
}

/* One overlap shows that they can. That they cannot takes more tries; where nothing overlaps at all, half of
 * them will do, as the device may have a single place to run anything. */
static bool is_known(const struct caps *caps, unsigned on_queues, unsigned on_unordered,
                     unsigned tries) {
    const bool all = on_queues && (on_unordered || !caps->out_of_order);
    const bool none = !on_queues && !on_unordered;
    return (all && tries > 1) || (none && tries >= PROBE_TRIES / 2);
}

void probe_kernel_overlap(struct probe *probe, struct caps *caps) {
    struct tries queues = {.made = 0}, unordered = {.made = 0};
    double one = 1e18;
    unsigned on_queues = 0, on_unordered = 0;
    warm_up(probe);
    for (unsigned i = 0; i < PROBE_TRIES && !probe->stuck; i++) {
        double again = time_kernels(probe, probe->queues[0], NULL);
        one = again < one ? again : one;
        add_try(probe, &queues, probe->queues[0], probe->queues[1]);
        if (caps->out_of_order)
            add_try(probe, &unordered, probe->out_of_order, probe->out_of_order);
        on_queues = overlapping(&queues, one);
        on_unordered = overlapping(&unordered, one);
        if (is_known(caps, on_queues, on_unordered, i + 1))
            break;
    }
    caps->queues_concurrent = on_queues > 0;
    caps->out_of_order_concurrent = on_unordered > 0;
    caps->out_of_order_serial =
        caps->out_of_order && probe_is_serial(on_queues, on_unordered, unordered.made);
}

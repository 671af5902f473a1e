/* SPDX-License-Identifier: MIT */
/*
 * Assigns regions to lanes, that is to streams. A region continues the lane whose last region it reads from.
 * Any other region opens a new lane if it is large enough to be worth a hop between streams, or else goes to
 * the lane with the fewest steps.
 */
#include "batch/plan.h"

enum { WORTH_A_LANE = 32768 /* elements */ };

struct lanes {
    unsigned count;
    unsigned limit;
    unsigned tail[BATCH_STREAMS]; /* the last step of each */
    unsigned load[BATCH_STREAMS]; /* steps */
};

/* A lane whose last step the region reads from, or the number of lanes. */
static unsigned lane_to_continue(const struct batch_plan *plan, const struct region *region,
                                 const struct lanes *lanes) {
    for (unsigned i = 0; i < region->inputs.count; i++) {
        const uint32_t from = plan->regions.of_node[region->inputs.at[i]];
        if (from != NO_NODE && lanes->tail[plan->steps[from].lane] == from)
            return plan->steps[from].lane;
    }
    return lanes->count;
}

static unsigned idlest(const struct lanes *lanes) {
    unsigned best = 0;
    for (unsigned i = 1; i < lanes->count; i++)
        if (lanes->load[i] < lanes->load[best])
            best = i;
    return best;
}

/* Whether all that a region reads comes from its own lane, or exists before the execution. */
static bool is_alone(const struct batch *batch, const struct batch_plan *plan, unsigned step) {
    const struct region *region = &plan->regions.at[step];
    for (unsigned i = 0; i < region->inputs.count; i++) {
        const uint32_t node = region->inputs.at[i], from = plan->regions.of_node[node];
        if (from == NO_NODE ? batch->nodes[node].kind == NODE_UPLOAD
                            : plan->steps[from].lane != plan->steps[step].lane)
            return false;
    }
    return true;
}

void plan_lanes(struct batch *batch, struct batch_plan *plan) {
    struct lanes lanes = {.limit = batch->max_streams};
    for (unsigned i = 0; i < plan->regions.count; i++) {
        const struct region *region = &plan->regions.at[i];
        unsigned lane = lane_to_continue(plan, region, &lanes);
        if (lane == lanes.count) {
            const bool opens =
                lanes.count == 0 || (lanes.count < lanes.limit && region->count >= WORTH_A_LANE);
            lane = opens ? lanes.count++ : idlest(&lanes);
        }
        lanes.tail[lane] = i;
        lanes.load[lane]++;
        plan->steps[i].lane = lane;
        plan->steps[i].alone = is_alone(batch, plan, i);
    }
    plan->n_lanes = lanes.count ? lanes.count : 1;
}

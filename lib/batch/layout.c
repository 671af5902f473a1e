/* SPDX-License-Identifier: MIT */
/*
 * Places the intermediate values in the arena, by liveness: a value is alive from the region that writes it
 * to the last one that reads it. Regions of different lanes run concurrently, so two values may share bytes
 * only if one is written by a region that depends on every reader of the other.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "batch/arena.h"
#include "batch/plan.h"

/* The intermediate values: nodes, then the partial results of reductions. */
struct batch_layout {
    unsigned n_regions;
    unsigned n_values;
    struct arena_value *values;
    size_t **targets; /* where each value's offset goes */
    bool *before;     /* [a * n_regions + b]: region b depends on region a */
    bool *freed;      /* [value * n_regions + r]: region r depends on every reader of the value */
};

static size_t rounded(size_t bytes) {
    return (bytes + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
}

/* Regions are ordered by level, so the rows of what a region reads from are complete. */
static void find_dependencies(struct batch_layout *layout, const struct batch_plan *plan) {
    const size_t n = layout->n_regions;
    for (unsigned r = 0; r < n; r++) {
        const struct node_list *inputs = &plan->regions.at[r].inputs;
        for (unsigned i = 0; i < inputs->count; i++) {
            const uint32_t from = plan->regions.of_node[inputs->at[i]];
            if (from == NO_NODE)
                continue;
            layout->before[from * n + r] = true;
            for (unsigned a = 0; a < from; a++)
                layout->before[a * n + r] =
                    layout->before[a * n + r] || layout->before[a * n + from];
        }
    }
}

static unsigned add_value(struct batch_layout *layout, size_t bytes, unsigned region,
                          size_t *target) {
    const unsigned value = layout->n_values++;
    layout->values[value] = (struct arena_value){rounded(bytes), 0, region, region};
    layout->targets[value] = target;
    return value;
}

static void add_reader(struct batch_layout *layout, unsigned value, unsigned region, bool first) {
    const size_t n = layout->n_regions;
    if (region > layout->values[value].last)
        layout->values[value].last = region;
    for (unsigned r = 0; r < n; r++)
        layout->freed[value * n + r] =
            layout->before[region * n + r] && (first || layout->freed[value * n + r]);
}

static bool reads(const struct region *region, uint32_t node) {
    for (unsigned i = 0; i < region->inputs.count; i++)
        if (region->inputs.at[i] == node)
            return true;
    return false;
}

static void add_node(struct batch_layout *layout, struct batch_plan *plan,
                     const struct batch_node *nodes, uint32_t node) {
    const uint32_t region = plan->regions.of_node[node];
    unsigned value = layout->n_values;
    bool first = true;
    for (unsigned r = region + 1; r < layout->n_regions; r++) {
        if (!reads(&plan->regions.at[r], node))
            continue;
        if (first)
            add_value(layout, node_bytes(&nodes[node]), region, &plan->offsets[node]);
        add_reader(layout, value, r, first);
        first = false;
    }
}

static void add_partials(struct batch_layout *layout, struct batch_plan *plan, unsigned region) {
    struct plan_step *step = &plan->steps[region];
    if (!step->finish)
        return;
    const unsigned value =
        add_value(layout, step->cut.groups * REDUCTION_PARTIAL_BYTES, region, &step->partials);
    add_reader(layout, value, region, true);
}

static bool apart(const void *context, unsigned a, unsigned b) {
    const struct batch_layout *layout = context;
    const size_t n = layout->n_regions;
    return !layout->freed[a * n + layout->values[b].first] &&
           !layout->freed[b * n + layout->values[a].first];
}

static cls_status place(struct batch_layout *layout, struct batch *batch, struct batch_plan *plan) {
    find_dependencies(layout, plan);
    for (unsigned r = 0; r < layout->n_regions; r++) {
        const struct region *region = &plan->regions.at[r];
        for (uint32_t i = 0; i < region->outputs.count; i++)
            if (!node_is_result(&batch->nodes[region->outputs.at[i]]))
                add_node(layout, plan, batch->nodes, region->outputs.at[i]);
        const uint32_t last = region->call != NO_NODE ? region->call : region->reduction;
        if (last != NO_NODE && !node_is_result(&batch->nodes[last]))
            add_node(layout, plan, batch->nodes, last);
        add_partials(layout, plan, r);
    }
    plan->arena_least = arena_least(layout->values, layout->n_values, layout->n_regions);
    cls_status status = arena_place(layout->values, layout->n_values, plan->arena_least, apart,
                                    layout, &plan->arena_bytes);
    for (unsigned i = 0; i < layout->n_values && !status; i++)
        *layout->targets[i] = layout->values[i].offset;
    return status;
}

cls_status plan_layout(struct batch *batch, struct batch_plan *plan) {
    const size_t n = plan->regions.count;
    size_t most = 2 * n + 1; /* every region's last node and its partials, and the outputs */
    for (size_t i = 0; i < n; i++)
        most += plan->regions.at[i].outputs.count;
    struct batch_layout layout = {.n_regions = plan->regions.count,
                                  .values = calloc(most, sizeof *layout.values),
                                  .targets = calloc(most, sizeof *layout.targets),
                                  .before = calloc(n * n + 1, sizeof *layout.before),
                                  .freed = calloc(most * n + 1, sizeof *layout.freed)};
    const bool room = layout.values && layout.targets && layout.before && layout.freed;
    cls_status status = room ? place(&layout, batch, plan) : error_no_memory("to plan a batch");
    free(layout.freed);
    free(layout.before);
    free(layout.targets);
    free(layout.values);
    return status;
}

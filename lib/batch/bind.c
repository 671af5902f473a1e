/* SPDX-License-Identifier: MIT */
/*
 * The bindings of a plan, which stay the same from one execution to the next: the arguments of every launch,
 * and one object that retains the buffers among them as long as commands use them. Only the arena's buffer
 * differs in every execution.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "batch/internals.h"
#include "batch/places.h"
#include "batch/plan.h"

/* Retained by each command of an execution. */
struct keeper {
    struct object object;
    unsigned count;
    struct buffer **buffers; /* retained */
};

static void keeper_finalize(struct object *object) {
    struct keeper *keeper = (struct keeper *)(void *)object;
    for (unsigned i = 0; i < keeper->count; i++)
        buffer_put(keeper->buffers[i]);
    free(keeper->buffers);
}

static struct object_pool keeper_pool =
    OBJECT_POOL(26, sizeof(struct keeper), "batch's buffers", keeper_finalize);

/* ---- arguments */

enum { MAX_ARGS = REGION_ARGUMENT_BYTES / 8 + 8 };

struct arguments {
    unsigned count;
    struct op_arg at[MAX_ARGS];
};

static void add(struct arguments *to, struct op_arg arg) {
    arg.fresh = arg.kind == OP_ARG_BUFFER && !arg.u.part.buffer;
    to->at[to->count++] = arg;
}

/* Adds the buffer and the offset of a value. The argument names only the bytes of the value, because lanes
 * share the arena. */
static void add_place(struct arguments *to, const struct batch *batch, uint32_t index,
                      bool writes) {
    const struct batch_node *node = &batch->nodes[index];
    const struct array_place place = place_of(batch, index);
    const size_t size = cls_dtype_size(node->dtype);
    add(to, op_arg_part(place.buffer, writes, place.offset * size, node->count * size));
    add(to, op_arg_u64(place.offset));
}

static void add_partials(struct arguments *to, const struct plan_step *step, bool writes) {
    const size_t bytes = step->cut.groups * REDUCTION_PARTIAL_BYTES;
    add(to, op_arg_part(NULL, writes, step->partials, bytes));
    add(to, op_arg_u64(step->partials));
}

/* The number of elements in turn (a row), or in a run (a column), and what its division multiplies by, or what a draw is
 * compared with and gives: see cl/map.cl. A vector has at least one element where the region has. */
static struct op_arg broadcast_arg(const struct batch *batch, uint32_t index) {
    const struct batch_node *at = &batch->nodes[index];
    if (at->of.map.broadcast == BROADCAST_DRAW)
        return op_arg_pair(at->of.map.threshold, at->of.map.factor);
    const size_t vector = batch->nodes[at->inputs[BROADCAST_INPUT]].count;
    const size_t period =
        at->of.map.broadcast == BROADCAST_ROW || !vector ? vector : at->count / vector;
    const uint64_t divisor = period ? period : 1;
    return op_arg_pair(divisor, UINT64_MAX / divisor);
}

/* The parameters that all kernels of a region begin with (batch/generate.h); there is room for them. */
static void add_region(struct arguments *to, const struct batch *batch,
                       const struct region *region) {
    for (unsigned i = 0; i < region->inputs.count; i++)
        add_place(to, batch, region->inputs.at[i], false);
    for (unsigned i = 0; i < region->constants.count; i++) {
        const struct batch_node *node = &batch->nodes[region->constants.at[i]];
        add(to, op_arg_value(node->element.bytes, cls_dtype_size(node->dtype)));
    }
    for (unsigned i = 0; i < region->broadcasts.count; i++)
        add(to, broadcast_arg(batch, region->broadcasts.at[i]));
    for (unsigned i = 0; i < region->outputs.count; i++)
        add_place(to, batch, region->outputs.at[i], true);
}

/* ---- launches */

static cls_status add_launch(struct plan_step *step, struct kernel *kernel,
                             const struct arguments *arguments, size_t groups, size_t local) {
    struct op_repeat *launch = &step->launches[step->n_launches];
    const size_t bytes = arguments->count * sizeof *launch->args;
    struct op_arg *args = malloc(bytes);
    if (!args)
        return error_no_memory("for the arguments of a batch");
    memcpy(args, arguments->at, bytes);
    *launch = (struct op_repeat){.kernel = kernel,
                                 .args = args,
                                 .n_args = arguments->count,
                                 .global = groups * local,
                                 .local = local};
    for (unsigned i = 0; i < arguments->count; i++)
        launch->n_fresh += args[i].fresh;
    step->n_launches++;
    return CLS_SUCCESS;
}

static cls_status bind_map(struct plan_step *step, const struct region *region,
                           struct arguments *arguments) {
    const struct region_shape *shape = &step->shape;
    const size_t most = step->kernel->max_line, local = most < shape->local ? most : shape->local;
    const size_t per_group = local * shape->vector * shape->batch * shape->steps;
    const size_t groups = region->count / per_group + (region->count % per_group != 0);
    add(arguments, op_arg_u64(region->count));
    return groups ? add_launch(step, step->kernel, arguments, groups, local) : CLS_SUCCESS;
}

static cls_status bind_finish(const struct batch *batch, struct plan_step *step,
                              const struct region *region) {
    const struct reduction_cut *cut = &step->cut;
    const uint32_t n_partials = (uint32_t)cut->groups;
    struct arguments arguments = {.count = 0};
    add_partials(&arguments, step, false);
    add(&arguments, op_arg_value(&n_partials, sizeof n_partials));
    add_place(&arguments, batch, region->reduction, true);
    add(&arguments, op_arg_local(cut->finish_local * REDUCTION_PARTIAL_BYTES));
    add(&arguments, op_arg_u64(region->count));
    return add_launch(step, step->finish, &arguments, 1, cut->finish_local);
}

static cls_status bind_reduction(const struct batch *batch, struct plan_step *step,
                                 const struct region *region, struct arguments *arguments) {
    const struct reduction_cut *cut = &step->cut;
    add_partials(arguments, step, true);
    add(arguments, op_arg_local(cut->local * REDUCTION_PARTIAL_BYTES));
    add(arguments, op_arg_u64(region->count));
    add(arguments, op_arg_value(&cut->steps, sizeof cut->steps));
    cls_status status = add_launch(step, step->kernel, arguments, cut->groups, cut->local);
    return status ? status : bind_finish(batch, step, region);
}

static cls_status bind_step(const struct batch *batch, struct plan_step *step,
                            const struct region *region) {
    struct arguments arguments;
    if (region->call != NO_NODE)
        return CLS_SUCCESS;
    arguments.count = 0;
    add_region(&arguments, batch, region);
    return step->finish ? bind_reduction(batch, step, region, &arguments)
                        : bind_map(step, region, &arguments);
}

/* ---- the plan */

static unsigned count_args(const struct batch_plan *plan) {
    unsigned count = 0;
    for (unsigned i = 0; i < plan->regions.count; i++)
        for (unsigned k = 0; k < plan->steps[i].n_launches; k++)
            count += plan->steps[i].launches[k].n_args;
    return count;
}

static void keep(struct keeper *keeper, struct op_repeat *launch) {
    launch->keeper = &keeper->object;
    for (unsigned i = 0; i < launch->n_args; i++) {
        const struct op_arg *arg = &launch->args[i];
        if (arg->kind != OP_ARG_BUFFER || arg->fresh)
            continue;
        object_retain(&arg->u.part.buffer->object);
        keeper->buffers[keeper->count++] = arg->u.part.buffer;
    }
}

static cls_status keep_all(struct batch_plan *plan) {
    struct keeper *keeper = object_create(&keeper_pool);
    if (!keeper)
        return object_none(&keeper_pool, "a prepared batch");
    keeper->buffers = malloc((count_args(plan) + 1) * sizeof *keeper->buffers);
    if (!keeper->buffers) {
        object_abandon(&keeper->object);
        return error_no_memory("for the arguments of a batch");
    }
    for (unsigned i = 0; i < plan->regions.count; i++)
        for (unsigned k = 0; k < plan->steps[i].n_launches; k++)
            keep(keeper, &plan->steps[i].launches[k]);
    plan->keeper = &keeper->object;
    return CLS_SUCCESS;
}

cls_status plan_bind(struct batch *batch) {
    struct batch_plan *plan = batch->plan;
    cls_status status = CLS_SUCCESS;
    if (plan->keeper)
        return CLS_SUCCESS;
    for (unsigned i = 0; i < plan->regions.count && !status; i++)
        status = bind_step(batch, &plan->steps[i], &plan->regions.at[i]);
    if (!status)
        status = keep_all(plan);
    plan->may_lose = places_may_lose(batch);
    if (status)
        plan_unbind(plan);
    return status;
}

void plan_unbind(struct batch_plan *plan) {
    for (unsigned i = 0; plan->steps && i < plan->regions.count; i++) {
        struct plan_step *step = &plan->steps[i];
        for (unsigned k = 0; k < step->n_launches; k++)
            free(step->launches[k].args);
        step->n_launches = 0;
    }
    if (plan->keeper)
        object_release(plan->keeper);
    plan->keeper = NULL;
}

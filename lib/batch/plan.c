/* SPDX-License-Identifier: MIT */
/* Makes the plan of a batch: regions, their kernels, and memory for uploads and results. */
#include "batch/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "batch/internals.h"
#include "driver/source.h"

enum { WIDEST_ACCESS = 16, LABEL = 64 };

void plan_free(struct batch_plan *plan) {
    plan_unbind(plan);
    for (unsigned i = 0; plan->steps && i < plan->regions.count; i++) {
        struct plan_step *step = &plan->steps[i];
        free(step->source);
        if (step->kernel)
            object_release(&step->kernel->object);
        if (step->finish)
            object_release(&step->finish->object);
    }
    free(plan->steps);
    free(plan->offsets);
    free(plan->uploads);
    regions_free(&plan->regions);
    free(plan);
}

/* ---- kernels */

static bool is_aligned(const struct batch_node *node) {
    const bool own = !node->place.buffer || (node->kind != NODE_ARRAY && !node->stored);
    return own || node->place.offset * cls_dtype_size(node->dtype) % WIDEST_ACCESS == 0;
}

static bool all_aligned(const struct batch *batch, const struct region *region) {
    for (unsigned i = 0; i < region->inputs.count; i++)
        if (!is_aligned(&batch->nodes[region->inputs.at[i]]))
            return false;
    for (unsigned i = 0; i < region->outputs.count; i++)
        if (!is_aligned(&batch->nodes[region->outputs.at[i]]))
            return false;
    return true;
}

static cls_status build_kernels(struct batch *batch, const struct region *region,
                                struct plan_step *step, const char *text) {
    char label[LABEL] = "", finish_label[LABEL + 16];
    generate_label(batch->nodes, region, label, sizeof label);
    const bool reduces = region->reduction != NO_NODE;
    const struct op_kernel_spec spec = {"fused.cl", reduces ? "reduce_part" : "fused", "-w", label};
    cls_status status = op_kernel_generate(batch->context, text, &spec, &step->kernel);
    if (status || !reduces)
        return status;
    snprintf(finish_label, sizeof finish_label, "%s (finish)", label);
    const struct op_kernel_spec finish = {"fused.cl", "reduce_finish", "-w", finish_label};
    return op_kernel_generate(batch->context, text, &finish, &step->finish);
}

static void cut_reduction(const struct batch *batch, const struct region *region,
                          struct plan_step *step) {
    const struct reduction_size size = {
        .count = region->count,
        .vector = step->shape.vector,
        .local = step->shape.local,
        .part_limit = step->kernel->max_line,
        .finish_limit = step->finish->max_line,
        .alone = !caps_trusts(batch->context->caps, TRUST_LOCAL_ARGUMENTS),
        .in_turn = step->shape.shape != SHAPE_RUNS};
    step->cut = reduction_cut_of(batch->context->device, &size);
}

static void describe_product(const struct node_product *sizes, struct text *text) {
    text_printf(text, "/* cls_gemm: %zu x %zu by %zu x %zu */\n", sizes->rows, sizes->inner,
                sizes->inner, sizes->columns);
}

static void describe_rows(const struct batch_node *node, struct text *text) {
    const struct node_matrix *matrix = &node->of.matrix;
    const char *call = node->kind == NODE_ROWS ? ""
                       : matrix->by_column     ? "reduce_columns: "
                                               : "reduce_rows: ";
    text_printf(text, "/* cls_%s%s: %zu x %zu */\n", call, node->row->name, matrix->rows,
                matrix->columns);
}

/* A region that is a single call has no kernel of its own. */
static cls_status make_call(const struct batch_node *call, struct plan_step *step) {
    struct text text = {0};
    if (call->kind == NODE_PRODUCT)
        describe_product(&call->of.product, &text);
    else if (call->kind == NODE_TAKE)
        text_printf(&text, "/* %llu counters of a generator */\n",
                    (unsigned long long)call->of.take.counters);
    else
        describe_rows(call, &text);
    step->source = text.bytes;
    return text.failed ? error_no_memory("to plan a batch") : CLS_SUCCESS;
}

static cls_status make_step(struct batch *batch, const struct region *region,
                            struct plan_step *step) {
    const struct op_call device = {
        .context = batch->context, .device = batch->context->device, .caps = batch->context->caps};
    struct text readable = {0}, text = {0};
    if (region->call != NO_NODE)
        return make_call(&batch->nodes[region->call], step);
    step->shape = region_shape_of(batch->nodes, region, &device, all_aligned(batch, region));
    generate_region(batch->nodes, region, &step->shape, &readable);
    cls_status status = readable.failed ? error_no_memory("to plan a batch")
                                        : source_expand(readable.bytes, "fused.cl", &text);
    if (!status)
        status = build_kernels(batch, region, step, text.bytes);
    if (!status && region->reduction != NO_NODE)
        cut_reduction(batch, region, step);
    free(text.bytes);
    step->source = readable.bytes;
    return status;
}

/* ---- memory */

/* A buffer for an upload or a result; it stays with the node. */
static cls_status store_node(struct batch *batch, struct batch_plan *plan,
                             struct batch_node *node) {
    if (node->stored)
        return CLS_SUCCESS;
    plan->storage_bytes += node_bytes(node);
    if (node->place.buffer)
        return CLS_SUCCESS;
    node->place.offset = 0;
    return buffer_allocate(batch->context, node_bytes(node), &node->place.buffer);
}

static cls_status store_all(struct batch *batch, struct batch_plan *plan) {
    cls_status status = CLS_SUCCESS;
    for (uint32_t i = 0; i < batch->n_nodes && !status; i++) {
        struct batch_node *node = &batch->nodes[i];
        if (node_is_result(node) || (node->kind == NODE_UPLOAD && node->users))
            status = store_node(batch, plan, node);
    }
    return status;
}

/* ---- the plan */

/* A reduction of no elements has a result, and so its two kernels, all the same. */
static unsigned kernels_of(const struct batch_node *nodes, const struct region *region) {
    if (region->call != NO_NODE)
        return nodes[region->call].count != 0;
    return region->reduction != NO_NODE ? 2 : region->count != 0;
}

static cls_status fill(struct batch *batch, struct batch_plan *plan) {
    cls_status status = regions_make(batch->nodes, batch->n_nodes, &plan->regions);
    if (status)
        return status;
    const size_t n_nodes = batch->n_nodes + 1u, n_regions = plan->regions.count + 1u;
    plan->steps = calloc(n_regions, sizeof *plan->steps);
    plan->offsets = malloc(n_nodes * sizeof *plan->offsets);
    plan->uploads = calloc(n_nodes, sizeof *plan->uploads);
    if (!plan->steps || !plan->offsets || !plan->uploads)
        return error_no_memory("to plan a batch");
    memset(plan->offsets, 0xff, n_nodes * sizeof *plan->offsets);
    for (unsigned i = 0; i < plan->regions.count && !status; i++) {
        status = make_step(batch, &plan->regions.at[i], &plan->steps[i]);
        plan->n_kernels += kernels_of(batch->nodes, &plan->regions.at[i]);
    }
    if (!status)
        status = plan_layout(batch, plan);
    if (status)
        return status;
    plan_lanes(batch, plan);
    return store_all(batch, plan);
}

cls_status plan_prepare(struct batch *batch) {
    if (batch->plan)
        return CLS_SUCCESS;
    struct batch_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return error_no_memory("to plan a batch");
    cls_status status = fill(batch, plan);
    if (status) {
        plan_free(plan);
        return status;
    }
    batch->plan = plan;
    return CLS_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
/* Where values lie, overlaps of arrays, and arrays that the host owns or has freed. */
#include "batch/places.h"

#include "base/error.h"
#include "batch/internals.h"
#include "batch/plan.h"

struct array_place place_of(const struct batch *batch, uint32_t node) {
    const struct batch_node *at = &batch->nodes[node];
    const size_t offset = batch->plan->offsets[node];
    if (offset == SIZE_MAX)
        return at->place;
    return (struct array_place){.buffer = batch->arena,
                                .offset = offset / cls_dtype_size(at->dtype)};
}

/* ---- overlaps */

/* The bytes of a node that lies in an array of the caller's. */
struct array_extent {
    const struct buffer *buffer;
    size_t from, to; /* in its memory */
    size_t element;
};

static struct array_extent extent_of(const struct batch_node *node) {
    const size_t size = cls_dtype_size(node->dtype),
                 from = node->place.buffer->origin + node->place.offset * size;
    return (struct array_extent){node->place.buffer, from, from + node->count * size, size};
}

static bool is_callers(const struct batch_node *node) {
    return node->kind == NODE_ARRAY || node->stored;
}

static bool overlap(const struct array_extent *a, const struct array_extent *b) {
    const bool bytes = a->from < a->to && b->from < b->to;
    return bytes && buffer_is_same_memory(a->buffer, b->buffer) && a->from < b->to &&
           b->from < a->to;
}

static bool same(const struct array_extent *a, const struct array_extent *b) {
    return a->from == b->from && a->to == b->to && a->element == b->element;
}

static bool read_only_by(const struct batch_plan *plan, uint32_t input, uint32_t region) {
    for (unsigned r = 0; r < plan->regions.count; r++)
        for (unsigned i = 0; i < plan->regions.at[r].inputs.count; i++)
            if (plan->regions.at[r].inputs.at[i] == input && r != region)
                return false;
    return true;
}

static cls_status check_pair(const struct batch *batch, uint32_t result, uint32_t other) {
    const struct batch_node *a = &batch->nodes[result], *b = &batch->nodes[other];
    const struct array_extent x = extent_of(a), y = extent_of(b);
    if (!overlap(&x, &y))
        return CLS_SUCCESS;
    if (b->kind == NODE_ARRAY && a->kind == NODE_MAP && same(&x, &y) &&
        read_only_by(batch->plan, other, batch->plan->regions.of_node[result]))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OVERLAP, "%s: its result's array overlaps %s", a->row->name,
                     b->kind == NODE_ARRAY ? "an input that is read elsewhere"
                                           : "another result's");
}

cls_status places_check_overlaps(const struct batch *batch) {
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        if (!batch->nodes[i].stored)
            continue;
        for (uint32_t k = 0; k < batch->n_nodes; k++) {
            if (k == i || !is_callers(&batch->nodes[k]))
                continue;
            cls_status status = check_pair(batch, i, k);
            if (status)
                return status;
        }
    }
    return CLS_SUCCESS;
}

/* ---- what may become of arrays of the caller's between executions */

static bool is_used(const struct batch_node *node) {
    return node->stored || (node->kind == NODE_ARRAY && node->users);
}

bool places_may_lose(const struct batch *batch) {
    for (uint32_t i = 0; i < batch->n_nodes; i++) {
        const struct batch_node *node = &batch->nodes[i];
        if (is_used(node) && (node->place.buffer->svm_owner || node->place.buffer->block))
            return true;
    }
    return false;
}

cls_status place_check(const struct array_place *place) {
    if (object_generation(&place->buffer->object) != place->life)
        return error_set(CLS_ERROR_INVALID_HANDLE,
                         "the stream-ordered memory of an array was freed");
    return buffer_check(place->buffer);
}

cls_status places_check(const struct batch *batch) {
    cls_status status = CLS_SUCCESS;
    for (uint32_t i = 0; i < batch->n_nodes && !status; i++)
        if (is_used(&batch->nodes[i]))
            status = place_check(&batch->nodes[i].place);
    return status;
}

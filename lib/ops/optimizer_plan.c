/* SPDX-License-Identifier: MIT */
/*
 * How the list of an optimizer's parameters is divided. Kernels have arguments for a number of arrays; so the parameters
 * of a type that are not empty go by as many to a launch. What does not change between steps is in a table in device
 * memory, by which a work-group finds its array; parameters and gradients are arguments, so that every command keeps what it
 * uses and the race checker sees it.
 */
#include <stdlib.h>

#include "base/error.h"
#include "memory/buffer.h"
#include "ops/optimizer.h"
#include "ops/reduction_cut.h"
#include "ops/spec.h"

enum {
    SUM_GROUPS = 2048, /* at most of a launch that adds up squares; more than a GPU has at once */
    PADDING = 64       /* bytes: vectors of moments and master weights are whole */
};

/* Types with master weights come first, so that a place is the same among these and among the moments. */
static const cls_dtype types[] = {CLS_F16, CLS_BF16, CLS_F32, CLS_F64};
enum { N_TYPES = sizeof types / sizeof *types };

static size_t real_size(cls_dtype dtype) {
    return dtype == CLS_F64 ? sizeof(double) : sizeof(float);
}

static size_t padded(size_t count, cls_dtype dtype) {
    return divide_up(count * real_size(dtype), PADDING) * PADDING;
}

/* --- launches --- */

static void begin_launch(struct optimizer *optimizer, cls_dtype dtype) {
    optimizer->launches[optimizer->n_launches++] =
        (struct optimizer_launch){.dtype = dtype,
                                  .first = optimizer->n_used,
                                  .start = optimizer->first.bytes,
                                  .is_aligned = true};
}

static void add_to_launch(struct optimizer *optimizer, size_t index, size_t chunk) {
    struct optimizer_launch *launch = &optimizer->launches[optimizer->n_launches - 1];
    const struct op_view *parameter = &optimizer->parameters[index];
    const size_t bytes = padded(parameter->count, parameter->dtype);
    optimizer->order[optimizer->n_used++] = index;
    optimizer->places[index] = optimizer->first.bytes;
    optimizer->first.bytes += bytes;
    launch->bytes += bytes;
    launch->count++;
    launch->chunks += divide_up(parameter->count, chunk);
    launch->is_aligned = launch->is_aligned && parameter->address % 16 == 0;
}

static void add_type(struct optimizer *optimizer, cls_dtype dtype, size_t chunk) {
    size_t of_type = 0;
    for (size_t i = 0; i < optimizer->n; i++) {
        const struct op_view *parameter = &optimizer->parameters[i];
        if (parameter->dtype != dtype || !parameter->count)
            continue;
        if (of_type++ % OPTIMIZER_SLOTS == 0)
            begin_launch(optimizer, dtype);
        add_to_launch(optimizer, i, chunk);
    }
}

static void add_sums(struct optimizer *optimizer) {
    for (size_t i = 0; i < optimizer->n_launches; i++) {
        struct optimizer_launch *launch = &optimizer->launches[i];
        size_t *partials = launch->dtype == CLS_F64 ? &optimizer->twofolds : &optimizer->singles;
        launch->each = divide_up(launch->chunks, SUM_GROUPS);
        launch->groups = divide_up(launch->chunks, launch->each);
        launch->first_partial = *partials;
        *partials += launch->groups;
    }
    for (size_t i = 0; i < optimizer->n_launches; i++)
        if (optimizer->launches[i].dtype != CLS_F64)
            optimizer->launches[i].first_partial += 2 * optimizer->twofolds;
}

/* --- memory --- */

static void size_memory(struct optimizer *optimizer, size_t master_bytes) {
    const cls_optimizer_config *config = &optimizer->config;
    const bool is_adamw = config->kind == CLS_ADAMW;
    optimizer->master.bytes = master_bytes;
    optimizer->second.bytes = is_adamw ? optimizer->first.bytes : 0;
    if (!is_adamw && config->momentum == 0)
        optimizer->first.bytes = 0;
    optimizer->table.bytes = optimizer->n_used * 4 * sizeof(uint64_t);
    if (config->max_norm > 0)
        optimizer->partials.bytes = (optimizer->singles + 2 * optimizer->twofolds) * 8;
}

/* On devices with addresses of 32 bits moments may be more than there is, which are wider than their parameters. */
static cls_status check_moments(const struct optimizer *optimizer) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < optimizer->n; i++)
        bytes += (uint64_t)optimizer->parameters[i].count * sizeof(double) + PADDING;
    return bytes <= SIZE_MAX ? CLS_SUCCESS
                             : error_set(CLS_ERROR_OUT_OF_DEVICE_MEMORY,
                                         "an optimizer's moments pass all memory");
}

cls_status optimizer_plan(struct optimizer *optimizer, const struct device *device) {
    const size_t chunk = spec_optimizer_chunk(op_takes_runs(device)), n = optimizer->n;
    size_t master_bytes = 0;
    const cls_status status = check_moments(optimizer);
    if (status)
        return status;
    optimizer->order = calloc(n, sizeof *optimizer->order);
    optimizer->places = calloc(n, sizeof *optimizer->places);
    optimizer->launches = calloc(n, sizeof *optimizer->launches);
    if (!optimizer->order || !optimizer->places || !optimizer->launches)
        return error_no_memory("for an optimizer of %zu parameters", n);
    for (unsigned i = 0; i < N_TYPES; i++) {
        add_type(optimizer, types[i], chunk);
        if (types[i] == CLS_BF16)
            master_bytes = optimizer->first.bytes;
    }
    add_sums(optimizer);
    size_memory(optimizer, master_bytes);
    return CLS_SUCCESS;
}

void optimizer_table(const struct optimizer *optimizer, uint64_t (*rows)[4],
                     const struct device *device) {
    const size_t chunk = spec_optimizer_chunk(op_takes_runs(device));
    for (size_t i = 0; i < optimizer->n_launches; i++) {
        const struct optimizer_launch *launch = &optimizer->launches[i];
        size_t chunks = 0;
        for (size_t k = launch->first; k < launch->first + launch->count; k++) {
            const size_t index = optimizer->order[k];
            const struct op_view *parameter = &optimizer->parameters[index];
            rows[k][0] = chunks;
            rows[k][1] = parameter->count;
            rows[k][2] = parameter->offset;
            rows[k][3] = optimizer->places[index] / real_size(parameter->dtype);
            chunks += divide_up(parameter->count, chunk);
        }
    }
}

/* --- overlaps --- */

struct optimizer_extent optimizer_extent_of(const struct op_view *view) {
    const struct buffer *buffer = view->buffer;
    const uintptr_t memory = buffer->share ? (uintptr_t)buffer->share : (uintptr_t)buffer->memory;
    return (struct optimizer_extent){memory, op_view_start(view), op_view_end(view)};
}

static int compare_extents(const void *a, const void *b) {
    const struct optimizer_extent *x = a, *y = b;
    if (x->memory != y->memory)
        return x->memory < y->memory ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

cls_status optimizer_sort_extents(struct optimizer *optimizer) {
    struct optimizer_extent *extents = optimizer->extents;
    qsort(extents, optimizer->n_extents, sizeof *extents, compare_extents);
    for (size_t i = 1; i < optimizer->n_extents; i++)
        if (extents[i - 1].memory == extents[i].memory && extents[i - 1].end > extents[i].start)
            return error_set(CLS_ERROR_OVERLAP, "two parameters of an optimizer overlap");
    return CLS_SUCCESS;
}

/* Of extents that do not overlap only the last one that begins before the view's end can reach into it. */
bool optimizer_overlaps(const struct optimizer *optimizer, const struct op_view *view) {
    const struct optimizer_extent own = optimizer_extent_of(view);
    const struct optimizer_extent end = {own.memory, own.end, 0};
    size_t low = 0, high = optimizer->n_extents;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_extents(&optimizer->extents[middle], &end) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct optimizer_extent *before = low ? &optimizer->extents[low - 1] : NULL;
    return view->count && before && before->memory == own.memory && before->end > own.start;
}

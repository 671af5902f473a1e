/* SPDX-License-Identifier: MIT */
#include "ops/spec_histogram.h"

#include <stdio.h>

#include "base/types.h"
#include "ops/spec_slot.h"

enum {
    RUN_WIDTH = 16,
    GROUP = 512,
    LOAD_BYTES = 16,
    ITEM_BYTES = 64,          /* that an item has under way: 64 KiB of a unit with 1,024 items, */
    ITEM_BYTES_COUNTED = 128, /* where each byte is a counter, and nothing else is kept, */
    ITEM_BYTES_EDGES = 32,    /* and where the search takes longer than the load */
    TEAMS_GROUP = 512,
    BOUNDS_GROUP = 128,
    BYTES = 256
};

static const char *const rule_options[BIN_RULES] = {
    [BINS_BY_SCALE] = "-DBY_SCALE",
    [BINS_BY_WORDS] = "-DBY_WORDS",
    [BINS_BY_LONGS] = "-DBY_LONGS",
    [BINS_BY_EDGES] = "-DBY_EDGES",
};

unsigned spec_histogram_bytes(const struct histogram_kind *kind) {
    return cls_dtype_size(kind->dtype) == 1 && kind->way != COUNT_TOGETHER ? BYTES : 0;
}

static void shape_histogram(struct spec *spec, const struct histogram_kind *kind, size_t size) {
    const unsigned bytes = spec_histogram_bytes(kind)    ? ITEM_BYTES_COUNTED
                           : kind->rule == BINS_BY_EDGES ? ITEM_BYTES_EDGES
                                                         : ITEM_BYTES;
    spec->local = kind->way == COUNT_BY_RUNS ? 1 : GROUP;
    spec->vector = kind->way == COUNT_BY_RUNS ? RUN_WIDTH : (unsigned)(LOAD_BYTES / size);
    spec->batch = kind->way == COUNT_BY_RUNS ? 1 : bytes / LOAD_BYTES;
}

static struct spec *histogram_spec_new(const struct histogram_kind *kind, bool aligned) {
    const struct type_row *type = type_row(kind->dtype);
    const bool runs = kind->way == COUNT_BY_RUNS, edges = kind->rule == BINS_BY_EDGES;
    struct spec *spec = spec_new(runs ? "histogram_runs.cl" : "histogram.cl", "histogram");
    char order[64] = "";
    if (!spec)
        return NULL;
    shape_histogram(spec, kind, type->size);
    if (edges)
        snprintf(order, sizeof order, " -DKEY=%s%s%s", type->bits,
                 type->size == 8 ? " -DLONG_KEYS" : "", spec_order_of(type));
    snprintf(spec->label, sizeof spec->label, "histogram_%s", type->name);
    snprintf(spec->options, sizeof spec->options, "-w %s -DA=%s%s -DW=%u -DBATCH=%u -D%s%s%s%s",
             rule_options[kind->rule], edges ? type->bits : type->opencl, order, spec->vector,
             spec->batch,
             shape_macros[runs      ? SHAPE_RUNS
                          : aligned ? SHAPE_ALIGNED
                                    : SHAPE_ANYWHERE],
             spec_histogram_bytes(kind) ? " -DOF_BYTES" : "",
             kind->way == COUNT_TOGETHER ? " -DTOGETHER" : "",
             kind->dtype == CLS_F64 && !edges ? " -DDOUBLES" : "");
    return spec;
}

cls_status spec_of_histogram(const struct histogram_kind *kind, bool aligned,
                             const struct spec **found) {
    static spec_slot slots[TYPES][BIN_RULES][COUNT_WAYS][2];
    spec_slot *at = &slots[type_row(kind->dtype)->index][kind->rule][kind->way][aligned];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS : spec_publish(at, histogram_spec_new(kind, aligned), found);
}

static struct spec *add_counts_spec_new(bool teams) {
    struct spec *spec = spec_new("add_counts.cl", "add_counts");
    if (!spec)
        return NULL;
    spec->local = TEAMS_GROUP;
    snprintf(spec->label, sizeof spec->label, "add_counts");
    snprintf(spec->options, sizeof spec->options, "%s", teams ? "-DTEAMS" : "");
    return spec;
}

cls_status spec_of_add_counts(bool teams, const struct spec **found) {
    static spec_slot slots[2];
    spec_slot *at = &slots[teams];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS : spec_publish(at, add_counts_spec_new(teams), found);
}

static struct spec *bounds_spec_new(const struct type_row *type, bool upper) {
    struct spec *spec = spec_new("bounds.cl", "bounds");
    if (!spec)
        return NULL;
    spec->local = BOUNDS_GROUP;
    snprintf(spec->label, sizeof spec->label, "%s_bound_%s", upper ? "upper" : "lower", type->name);
    snprintf(spec->options, sizeof spec->options, "-DKEY=%s%s%s%s", type->bits,
             type->size == 8 ? " -DLONG_KEYS" : "", spec_order_of(type), upper ? " -DUPPER" : "");
    return spec;
}

cls_status spec_of_bounds(cls_dtype dtype, bool upper, const struct spec **found) {
    static spec_slot slots[TYPES][2];
    const struct type_row *type = type_row(dtype);
    spec_slot *at = &slots[type->index][upper];
    *found = atomic_load(at);
    return *found ? CLS_SUCCESS : spec_publish(at, bounds_spec_new(type, upper), found);
}

/* SPDX-License-Identifier: MIT */
#include "random_graph.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "last_op.h"

enum family { UPLOAD, ARRAY, CONSTANT, UNARY, PARAM, BINARY, WHERE, CAST, REDUCE, DOT };

/* A value of the graph, and what the batch made of it. */
struct value {
    enum family family;
    int op;
    cls_dtype dtype;
    size_t count;
    bool scalar;
    bool taken; /* by another operation */
    bool kept;
    unsigned inputs[3], n_inputs;
    double param;
    void *data;      /* inputs: the elements; else: what single operations make, step by step */
    cls_array array; /* of ARRAY */
    cls_value id;
};

struct graph {
    cls_batch batch;
    uint64_t random;      /* for the structure */
    uint64_t data_random; /* for what flows through it */
    unsigned structure, data;
    size_t count;
    unsigned n_values;
    struct value values[GRAPH_MAX_VALUES];
};

static unsigned next_below(uint64_t *state, unsigned limit) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ (z >> 31)) % limit);
}

static unsigned below(struct graph *graph, unsigned limit) {
    return next_below(&graph->random, limit);
}

static cls_dtype any_type(struct graph *graph) {
    for (;;) {
        const cls_dtype type = all_types[below(graph, TYPES)];
        if (type != CLS_F64 || device_has_f64())
            return type;
    }
}

static struct value *append(struct graph *graph, struct value value) {
    struct value *at = &graph->values[graph->n_values++];
    *at = value;
    return at;
}

static void *allocate(size_t count, cls_dtype type) {
    void *data = calloc(count + 1, cls_dtype_size(type));
    assert_non_null(data);
    return data;
}

/* ---- recording */

/* Special values are rare in small arrays that begin with zeros: take them from anywhere. */
static void *values_for(struct graph *graph, cls_dtype type, size_t count) {
    const size_t size = cls_dtype_size(type), all = hard_count(type) + count + 64;
    unsigned char *pool = hard_values(type, all, graph->data + graph->n_values);
    unsigned char *data = allocate(count, type);
    for (size_t i = 0; i < count; i++)
        memcpy(data + i * size, pool + next_below(&graph->data_random, (unsigned)all) * size, size);
    free(pool);
    return data;
}

static void add_array(struct graph *graph) {
    const cls_dtype type = any_type(graph);
    const bool on_device = below(graph, 2);
    struct value *value = append(
        graph,
        (struct value){.family = on_device ? ARRAY : UPLOAD, .dtype = type, .count = graph->count});
    value->data = values_for(graph, type, graph->count);
    if (on_device) {
        value->array = view_make(type, below(graph, 5), graph->count, value->data);
        OK(cls_batch_array(graph->batch, value->array, &value->id));
    } else {
        OK(cls_batch_upload(graph->batch, value->data, type, graph->count, &value->id));
    }
}

static void add_constant(struct graph *graph) {
    const cls_dtype type = any_type(graph);
    struct value *value = append(
        graph, (struct value){.family = CONSTANT, .dtype = type, .count = 1, .scalar = true});
    value->data = values_for(graph, type, 1);
    OK(cls_batch_scalar(graph->batch, type, value->data, &value->id));
}

/* Any value that the filter takes, or the number of values. Later ones are likelier, which makes
 * chains. */
static unsigned pick(struct graph *graph, bool (*fits)(cls_dtype, cls_dtype), cls_dtype type) {
    for (unsigned tries = 0; tries < 24; tries++) {
        const unsigned n = graph->n_values;
        const unsigned i = below(graph, 3) ? n - 1 - below(graph, n < 4 ? n : 4) : below(graph, n);
        if (fits(graph->values[i].dtype, type))
            return i;
    }
    return graph->n_values;
}

static bool fits_any(cls_dtype dtype, cls_dtype type) {
    (void)dtype;
    (void)type;
    return true;
}

static bool fits_same(cls_dtype dtype, cls_dtype type) { return dtype == type; }

static bool fits_condition(cls_dtype dtype, cls_dtype type) {
    (void)type;
    return dtype == CLS_U8 || dtype == CLS_I32 || dtype == CLS_I64;
}

/* The number of operands, and how many operations a family has. */
static const struct {
    unsigned inputs;
    int first, last;
} families[] = {
    [UNARY] = {1, CLS_UNARY_COPY, LAST_UNARY},
    [PARAM] = {1, CLS_UNARY_ELU, LAST_UNARY_PARAM},
    [BINARY] = {2, CLS_BINARY_ADD, LAST_BINARY},
    [WHERE] = {3, 0, 0},
    [CAST] = {1, 0, 0},
    [REDUCE] = {1, CLS_REDUCE_SUM, LAST_REDUCE},
    [DOT] = {2, 0, 0},
};

static bool pick_inputs(struct graph *graph, struct value *value) {
    const enum family family = value->family;
    unsigned *in = value->inputs;
    value->n_inputs = families[family].inputs;
    in[0] = pick(graph, family == WHERE ? fits_condition : fits_any, CLS_F32);
    if (in[0] == graph->n_values)
        return false;
    if (value->n_inputs > 1)
        in[1] = pick(graph, family == WHERE ? fits_any : fits_same, graph->values[in[0]].dtype);
    if (value->n_inputs > 1 && in[1] == graph->n_values)
        return false;
    if (value->n_inputs > 2)
        in[2] = pick(graph, fits_same, graph->values[in[1]].dtype);
    return value->n_inputs < 3 || in[2] < graph->n_values;
}

static cls_status record(struct graph *graph, struct value *value) {
    cls_value in[3] = {0, 0, 0};
    for (unsigned i = 0; i < value->n_inputs; i++)
        in[i] = graph->values[value->inputs[i]].id;
    switch (value->family) {
    case UNARY:
        return cls_batch_unary(graph->batch, (cls_unary_op)value->op, in[0], &value->id);
    case PARAM:
        return cls_batch_unary_param(graph->batch, (cls_unary_param_op)value->op, in[0],
                                     value->param, &value->id);
    case BINARY:
        return cls_batch_binary(graph->batch, (cls_binary_op)value->op, in[0], in[1], &value->id);
    case WHERE:
        return cls_batch_where(graph->batch, in[0], in[1], in[2], &value->id);
    case CAST:
        return cls_batch_cast(graph->batch, in[0], value->dtype, &value->id);
    case REDUCE:
        return cls_batch_reduce(graph->batch, (cls_reduce_op)value->op, in[0], &value->id);
    default:
        return cls_batch_dot(graph->batch, in[0], in[1], &value->id);
    }
}

static enum family any_family(struct graph *graph) {
    static const enum family often[] = {UNARY,  UNARY,  UNARY, PARAM, PARAM, BINARY,
                                        BINARY, BINARY, WHERE, CAST,  CAST,  REDUCE};
    const unsigned i = below(graph, 40);
    return i == 39 ? DOT : often[i % (sizeof often / sizeof often[0])];
}

/* Drivers have other functions for other widths of vectors, each within the bound. */
static bool is_exact(const struct graph *graph, const struct value *value) {
    const cls_dtype type = graph->values[value->inputs[0]].dtype;
    return value->family == UNARY ? reference_unary_bound((cls_unary_op)value->op, type, 1) == 0
           : value->family == PARAM
               ? reference_unary_param_bound((cls_unary_param_op)value->op, type) == 0
           : value->family == BINARY
               ? reference_binary_bound((cls_binary_op)value->op, type, 1) == 0
               : true;
}

/* False: the picked types have no such operation. */
static bool add_operation(struct graph *graph, bool exact) {
    static const double params[] = {0, 1, -1, 2, 0.5, -0.25, 3, 255, 1e10};
    struct value value = {.family = any_family(graph)};
    cls_value_info info = CLS_VALUE_INFO_INIT;
    const int first = families[value.family].first, last = families[value.family].last;
    value.op = first + (int)below(graph, (unsigned)(last - first) + 1);
    value.param = params[below(graph, sizeof params / sizeof params[0])];
    value.dtype = value.family == CAST ? any_type(graph) : CLS_F32;
    if (!pick_inputs(graph, &value) || (exact && !is_exact(graph, &value)))
        return false;
    const cls_status status = record(graph, &value);
    if (status == CLS_ERROR_TYPE_MISMATCH || status == CLS_ERROR_UNSUPPORTED)
        return false;
    OK(status);
    OK(cls_batch_get_value(graph->batch, value.id, &info));
    value.dtype = info.dtype;
    value.count = info.count;
    value.scalar = info.is_scalar;
    /* Reductions are read whatever takes them: their float results may differ in the last place,
     * and what follows is computed of what the batch made. */
    value.kept = value.family == REDUCE || value.family == DOT || below(graph, 8) == 0;
    if (value.kept)
        OK(cls_batch_keep(graph->batch, value.id));
    for (unsigned i = 0; i < value.n_inputs; i++)
        graph->values[value.inputs[i]].taken = true;
    append(graph, value);
    return true;
}

static void record_graph(struct graph *graph, const struct graph_style *style) {
    const unsigned arrays = 1 + below(graph, 4), constants = below(graph, 3);
    const unsigned span = style->max_operations - style->min_operations + 1;
    const unsigned operations = style->min_operations + below(graph, span);
    for (unsigned i = 0; i < arrays; i++)
        add_array(graph);
    for (unsigned i = 0; i < constants; i++)
        add_constant(graph);
    for (unsigned done = 0, tries = 0; done < operations && tries < 200; tries++)
        done += add_operation(graph, style->exact);
}

/* ---- one operation at a time */

/* An operand of `count` elements; a scalar is repeated. */
static void *spread(const struct value *value, size_t count) {
    const size_t size = cls_dtype_size(value->dtype);
    unsigned char *data = allocate(count, value->dtype);
    for (size_t i = 0; i < count; i++)
        memcpy(data + i * size, (const unsigned char *)value->data + (value->scalar ? 0 : i) * size,
               size);
    return data;
}

/* The work's elements: what the operands that are no scalars have. */
static size_t work_count(const struct graph *graph, const struct value *value) {
    size_t count = 1;
    for (unsigned i = 0; i < value->n_inputs; i++)
        if (!graph->values[value->inputs[i]].scalar)
            count = graph->values[value->inputs[i]].count;
    return count;
}

static void run_single(const struct value *value, const cls_array *in, cls_array out) {
    switch (value->family) {
    case UNARY:
        OK(cls_unary((cls_unary_op)value->op, in[0], out, NULL));
        break;
    case PARAM:
        OK(cls_unary_param((cls_unary_param_op)value->op, in[0], out, value->param, NULL));
        break;
    case BINARY:
        OK(cls_binary((cls_binary_op)value->op, in[0], in[1], out, NULL));
        break;
    case WHERE:
        OK(cls_where(in[0], in[1], in[2], out, NULL));
        break;
    case CAST:
        OK(cls_cast(in[0], out, NULL));
        break;
    case REDUCE:
        OK(cls_reduce_async((cls_reduce_op)value->op, in[0], out, NULL));
        break;
    default:
        OK(cls_dot_async(in[0], in[1], out, NULL));
        break;
    }
}

static double element_as_double(cls_dtype type, const void *data, size_t i) {
    double x = 0;
    reference_cast(type, CLS_F64, (const unsigned char *)data + i * cls_dtype_size(type), &x, 1);
    return x;
}

static void same_bounds(double bound, double *bounds, size_t count) {
    for (size_t i = 0; i < count; i++)
        bounds[i] = bound;
}

/* The host's result and the bounds of the device's. */
static bool run_on_host(const struct value *value, cls_dtype type, void *const *in, void *out,
                        double *bounds, size_t count) {
    uint64_t param = 0;
    same_bounds(0, bounds, count);
    switch (value->family) {
    case UNARY:
        for (size_t i = 0; i < count; i++)
            bounds[i] = reference_unary_bound((cls_unary_op)value->op, type,
                                              element_as_double(type, in[0], i));
        return reference_unary((cls_unary_op)value->op, type, in[0], out, count);
    case PARAM:
        same_bounds(reference_unary_param_bound((cls_unary_param_op)value->op, type), bounds,
                    count);
        return reference_cast(CLS_F64, type, &value->param, &param, 1) &&
               reference_unary_param((cls_unary_param_op)value->op, type, in[0], &param, out,
                                     count);
    case BINARY:
        for (size_t i = 0; i < count; i++)
            bounds[i] = reference_binary_bound((cls_binary_op)value->op, type,
                                               element_as_double(type, in[0], i));
        return reference_binary((cls_binary_op)value->op, type, in[0], in[1], out, count);
    case WHERE:
        return reference_where(type, value->dtype, in[0], in[1], in[2], out, count);
    default:
        return reference_cast(type, value->dtype, in[0], out, count);
    }
}

static void name_of(const struct graph *graph, const struct value *value, const char *what,
                    char name[160]) {
    const char *op = value->family == UNARY ? cls_unary_op_name((cls_unary_op)value->op)
                     : value->family == PARAM
                         ? cls_unary_param_op_name((cls_unary_param_op)value->op)
                     : value->family == BINARY ? cls_binary_op_name((cls_binary_op)value->op)
                     : value->family == REDUCE ? cls_reduce_op_name((cls_reduce_op)value->op)
                     : value->family == WHERE  ? "where"
                     : value->family == CAST   ? "cast"
                                               : "dot";
    snprintf(name, 160, "graph %u with data %u, value %u, %s of %s to %s, %s", graph->structure,
             graph->data, (unsigned)(value - graph->values), op,
             cls_dtype_name(graph->values[value->inputs[0]].dtype), cls_dtype_name(value->dtype),
             what);
}

/* Whether partial sums can go beyond the range: then the result is that of an order, or not finite. */
static bool may_overflow(const struct value *value, cls_dtype type, void *const *in, size_t count) {
    const double most = type == CLS_F32 ? FLT_MAX : DBL_MAX;
    long double magnitude = 0;
    if (!is_float(type) ||
        (value->family == REDUCE && value->op != CLS_REDUCE_SUM && value->op != CLS_REDUCE_MEAN))
        return false;
    for (size_t i = 0; i < count; i++) {
        long double x = element_as_double(type, in[0], i);
        if (value->family == DOT)
            x *= element_as_double(type, in[1], i);
        if (isfinite(x))
            magnitude += fabsl(x);
    }
    return magnitude > (long double)most;
}

/* Both are reductions of the same bytes, each within the stated bounds of the exact one. */
static void check_reduction(const struct graph *graph, const struct value *value, void *const *in,
                            size_t count, const void *fused, const void *single) {
    const cls_dtype type = graph->values[value->inputs[0]].dtype;
    double exact = 0, slack = 0;
    uint64_t result = 0;
    char name[160];
    const bool known =
        value->family == DOT
            ? reference_dot(type, in[0], in[1], count, &result, &slack)
            : reference_reduce((cls_reduce_op)value->op, type, in[0], count, &result, &slack);
    if (!known)
        fail_msg("graph %u: no reference for a reduction", graph->structure);
    exact = element_as_double(value->dtype, &result, 0);
    const double got[2] = {element_as_double(value->dtype, fused, 0),
                           element_as_double(value->dtype, single, 0)};
    /* As tests/device/test_reduce.c: ULPs of the result, and the slack of the summation. */
    const double bound = value->family == DOT ? 4 : value->op == CLS_REDUCE_MEAN ? 8 : 2;
    name_of(graph, value, "fused against single", name);
    for (int i = 0; i < 2; i++) {
        const double apart = got[i] > exact ? got[i] - exact : exact - got[i];
        if (got[i] == got[i] && apart <= slack)
            continue;
        if (!isfinite(got[i]) && may_overflow(value, type, in, count))
            continue;
        check_array(name, value->dtype, i ? single : fused, &result,
                    is_float(value->dtype) ? &bound : NULL, 1, type, NULL);
    }
}

static void check_map(const struct graph *graph, const struct value *value, void *const *in,
                      const void *single, size_t count) {
    const cls_dtype type = graph->values[value->inputs[0]].dtype;
    void *host = allocate(count, value->dtype);
    double *bounds = calloc(count + 1, sizeof *bounds);
    char name[160];
    assert_non_null(bounds);
    name_of(graph, value, "single against the host", name);
    if (!run_on_host(value, type, in, host, bounds, count))
        fail_msg("%s: no reference", name);
    check_array(name, value->dtype, single, host, bounds, count, type, in[0]);
    free(bounds);
    free(host);
}

/* Runs a value's operation by itself, on what its operands came to, and compares it with the host's
 * result and with the batch's, where the batch has it. */
static void check_value(struct graph *graph, struct value *value, struct graph_totals *totals) {
    const size_t count = work_count(graph, value), n = value->n_inputs;
    const bool reduces = value->family == REDUCE || value->family == DOT;
    void *in[3] = {NULL, NULL, NULL}, *fused = NULL;
    cls_array views[3];
    for (unsigned i = 0; i < n; i++) {
        const struct value *operand = &graph->values[value->inputs[i]];
        in[i] = spread(operand, count);
        views[i] = view_make(operand->dtype, 0, count, in[i]);
    }
    cls_array out = view_make(value->dtype, 0, value->count, NULL);
    run_single(value, views, out);
    void *single = view_take(out);
    if (value->kept || !value->taken) {
        char name[160];
        fused = allocate(value->count, value->dtype);
        OK(cls_batch_read(graph->batch, value->id, fused));
        name_of(graph, value, "fused against single", name);
        if (!reduces)
            check_array(name, value->dtype, fused, single, NULL, value->count, value->dtype, in[0]);
        totals->elements += value->count;
    }
    if (reduces)
        check_reduction(graph, value, in, count, fused, single);
    else
        check_map(graph, value, in, single, count);
    value->data = reduces ? fused : single;
    free(reduces ? single : fused);
    for (unsigned i = 0; i < n; i++) {
        view_destroy(views[i]);
        free(in[i]);
    }
}

/* ---- a graph */

static bool is_operation(const struct value *value) { return value->family > CONSTANT; }

static void destroy(struct graph *graph) {
    for (unsigned i = 0; i < graph->n_values; i++) {
        if (graph->values[i].family == ARRAY)
            view_destroy(graph->values[i].array);
        free(graph->values[i].data);
    }
    OK(cls_batch_destroy(graph->batch));
    free(graph);
}

void graph_check(unsigned structure, unsigned data, const struct graph_style *style,
                 struct graph_totals *totals) {
    cls_batch_statistics facts = CLS_BATCH_STATISTICS_INIT;
    struct graph *graph = calloc(1, sizeof *graph);
    assert_non_null(graph);
    graph->structure = structure;
    graph->data = data;
    graph->random = structure * UINT64_C(0x2545f4914f6cdd1d) + 1;
    graph->data_random = data * UINT64_C(0x2545f4914f6cdd1d) + 2;
    graph->count = 1 + next_below(&graph->data_random, (unsigned)style->max_count);
    OK(cls_batch_create(NULL, NULL, &graph->batch));
    record_graph(graph, style);
    OK(cls_batch_execute(graph->batch, NULL));
    for (unsigned i = 0; i < graph->n_values; i++) {
        struct value *value = &graph->values[i];
        if (!is_operation(value))
            continue;
        check_value(graph, value, totals);
        totals->operations++;
        totals->reductions += value->family >= REDUCE;
    }
    OK(cls_batch_get_statistics(graph->batch, &facts));
    totals->graphs++;
    totals->regions += (unsigned)facts.regions;
    totals->fused += facts.regions < facts.operations;
    destroy(graph);
}

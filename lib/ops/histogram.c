/* SPDX-License-Identifier: MIT */
/* Histograms (clstream/histogram.h), by the kernels of cl/histogram.cl, cl/histogram_runs.cl and cl/add_counts.cl. */
#include <clstream/histogram.h>

#include "base/error.h"
#include "base/types.h"
#include "driver/caps.h"
#include "driver/quirk.h"
#include "ops/even_bins.h"
#include "ops/look_back.h"
#include "ops/reduction_cut.h"
#include "ops/spec_histogram.h"

enum {
    IN,
    COUNTS,
    FIRST_OPTIONAL,
    RUNS_PER_UNIT = 4, /* items of a CPU's unit, so that other work does not delay a call much */
    LEAST_RUN = 4096,  /* elements of such an item */
    RUN_SETS = 4,      /* of counters of such an item, SETS of cl/histogram_runs.cl, */
    MOST_BINS_IN_SETS = 1024, /* where they stay in its first cache */
    ITEMS_PER_UNIT =
        1024, /* of a GPU: with 64 registers and 32 KiB of local memory for 512 all are resident */
    MOST_COPIES = 32, /* of counters: banks of local memory */
    COPIES_BYTES = 32 << 10,
    MOST_LOCAL_BYTES = 46 << 10, /* all devices of NVIDIA's have 48 KiB */
    SHORT_LOOP = 60000           /* steps, where a driver stops counting at 65,535 */
};

/* Elements that are counted in one word, at most: far less than it holds. */
#define PART_ELEMENTS ((size_t)1 << 31)

struct histogram_call {
    const char *name;
    const cls_array *arrays[4];
    unsigned n_arrays;
    unsigned edges, length; /* by their numbers; 0: none */
    const void *lower, *upper;
    struct histogram_kind kind;
    uint64_t how[4]; /* of cl/bins.cl */
    struct op_call call;
};

/* How a launch is cut, and what it leaves for add_counts. */
struct histogram_cut {
    size_t groups, local;
    size_t run;                        /* elements of an item that counts by itself */
    size_t parts, words;               /* and words of a part */
    size_t groups_of_part;             /* that count together */
    uint32_t copies;                   /* of each counter: in local memory, or of an item */
    size_t counter_bytes, ranks_bytes; /* in local memory */
};

/* --- checks --- */

static cls_status histogram_check_types(const struct histogram_call *histogram) {
    const struct op_view *views = histogram->call.views;
    if (views[COUNTS].dtype != CLS_I64)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: counts of %s", histogram->name,
                         cls_dtype_name(views[COUNTS].dtype));
    if (histogram->edges && views[histogram->edges].dtype != views[IN].dtype)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: edges of %s for elements of %s",
                         histogram->name, cls_dtype_name(views[histogram->edges].dtype),
                         cls_dtype_name(views[IN].dtype));
    return CLS_SUCCESS;
}

static cls_status histogram_check_sizes(const struct histogram_call *histogram) {
    const struct op_view *views = histogram->call.views;
    const size_t bins = views[COUNTS].count;
    if (!bins)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: no bins", histogram->name);
    if (bins >= INT32_MAX)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%s: %zu bins", histogram->name, bins);
    if (histogram->edges && views[histogram->edges].count != bins + 1)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: %zu edges for %zu bins", histogram->name,
                         views[histogram->edges].count, bins);
    return CLS_SUCCESS;
}

static cls_status histogram_check(const struct histogram_call *histogram) {
    const struct op_call *call = &histogram->call;
    cls_status status = histogram_check_types(histogram);
    if (!status)
        status = histogram_check_sizes(histogram);
    if (!status && histogram->length)
        status = op_check_length(call, histogram->name, histogram->length);
    for (unsigned view = 0; view < call->n_views && !status; view++)
        if (view != COUNTS)
            status = op_check_overlap(call, COUNTS, view, false);
    if (!status && !histogram->edges)
        status = op_check_dtype(call, call->views[IN].dtype);
    if (!status && !histogram->edges && type_row(call->views[IN].dtype)->is_float &&
        !caps_trusts(call->caps, TRUST_ROUNDING))
        status = trust_refuse(call->device, TRUST_ROUNDING);
    return status;
}

/* --- the cut --- */

/* Local memory of so many copies of each counter. */
static size_t local_bytes(const struct histogram_call *histogram, size_t copies,
                          struct histogram_cut *cut) {
    const size_t bins = histogram->call.views[COUNTS].count;
    const size_t bytes = spec_histogram_bytes(&histogram->kind);
    cut->counter_bytes = sizeof(uint32_t) * (bytes ? bytes * copies + bins : bins * copies);
    cut->ranks_bytes =
        histogram->edges ? (bins + 1) * cls_dtype_size(histogram->kind.dtype) : sizeof(uint64_t);
    return cut->counter_bytes + cut->ranks_bytes;
}

/* As many copies of counters as there is room for; none: they do not fit into local memory. */
static void cut_local_memory(const struct histogram_call *histogram, struct histogram_cut *cut) {
    const size_t device = (size_t)histogram->call.device->info.local_memory;
    const size_t most = lesser(MOST_LOCAL_BYTES, device - lesser(device, 1024));
    uint32_t copies = MOST_COPIES;
    while (copies > 0 && (local_bytes(histogram, copies, cut) > most ||
                          (copies > 1 && cut->counter_bytes > COPIES_BYTES + 4096)))
        copies /= 2;
    cut->copies = copies;
}

static enum count_way histogram_way(struct histogram_call *histogram, struct histogram_cut *cut) {
    const struct op_call *call = &histogram->call;
    if (op_takes_runs(call->device) && !(call->device->quirks & QUIRK_SHORT_LOOPS))
        return COUNT_BY_RUNS;
    histogram->kind.way = COUNT_BY_GROUPS;
    cut_local_memory(histogram, cut);
    return cut->copies && caps_trusts(call->caps, TRUST_LOCAL_ARGUMENTS) &&
                   device_max_line(call->device) >= COUNT_COLUMNS
               ? COUNT_BY_GROUPS
               : COUNT_TOGETHER;
}

/* An item's counters take no longer to clear and to add up than its elements to count. */
static void histogram_cut_runs(const struct histogram_call *histogram, struct histogram_cut *cut) {
    const size_t count = histogram->call.views[IN].count,
                 bins = histogram->call.views[COUNTS].count;
    const size_t items = RUNS_PER_UNIT * reduction_units(histogram->call.device);
    const size_t least = bins > LEAST_RUN ? bins : LEAST_RUN;
    cut->local = 1;
    cut->run = clamp(divide_up(count, items), least, PART_ELEMENTS);
    cut->groups = count ? divide_up(count, cut->run) : 1;
    cut->copies =
        bins <= MOST_BINS_IN_SETS && !spec_histogram_bytes(&histogram->kind) ? RUN_SETS : 1;
    cut->parts = cut->groups * cut->copies;
    cut->words = bins + 1;
    cut->groups_of_part = 1;
}

/* Rows of elements that a group takes, at most. */
static size_t most_rows(const struct histogram_call *histogram, const struct spec *spec) {
    const size_t bins = histogram->call.views[COUNTS].count;
    size_t steps = 2, most;
    for (size_t left = histogram->edges ? bins : 0; left > 0; left /= 2)
        steps++;
    most = SHORT_LOOP / (steps * spec->vector * spec->batch);
    return histogram->call.device->quirks & QUIRK_SHORT_LOOPS ? (most ? most : 1) : SIZE_MAX;
}

static void histogram_cut_groups(const struct histogram_call *histogram, const struct spec *spec,
                                 struct kernel *kernel, struct histogram_cut *cut) {
    const struct op_call *call = &histogram->call;
    const size_t count = call->views[IN].count, units = reduction_units(call->device);
    cut->local = power_of_two_below(lesser(op_max_group(call, kernel), spec->local));
    const size_t row = cut->local * spec->vector * spec->batch;
    const size_t rows = count ? divide_up(count, row) : 1;
    const size_t most = lesser(most_rows(histogram, spec), PART_ELEMENTS / row);
    cut->groups = clamp(divide_up(rows, most), 1, rows);
    cut->groups = clamp(divide_up(units * ITEMS_PER_UNIT, cut->local), cut->groups, rows);
    cut->groups_of_part = 1;
    if (histogram->kind.way == COUNT_TOGETHER)
        cut->groups_of_part = PART_ELEMENTS / row / divide_up(rows, cut->groups);
    cut->parts = divide_up(cut->groups, cut->groups_of_part);
    cut->words = call->views[COUNTS].count;
    cut->run = 0;
}

/* --- the launches --- */

static cls_status histogram_count_launch(struct histogram_call *histogram,
                                         const struct histogram_cut *cut, struct kernel *kernel,
                                         struct buffer *scratch, size_t bytes) {
    const struct op_view *views = histogram->call.views;
    const unsigned edges = histogram->edges, length = histogram->length;
    const uint64_t places[] = {views[IN].offset, edges ? views[edges].offset : 0,
                               length ? views[length].offset : UINT64_MAX, views[IN].count};
    const uint32_t shape[] = {(uint32_t)views[COUNTS].count, cut->copies,
                              (uint32_t)lesser(cut->groups_of_part, UINT32_MAX), 0};
    struct op_arg args[OP_MAX_ARGS];
    unsigned n = 0;
    args[n++] = op_arg_view(&views[IN], false);
    args[n++] = op_arg_view(&views[edges ? edges : IN], false);
    args[n++] = op_arg_view(&views[length ? length : IN], false);
    args[n++] = op_arg_part(scratch, true, 0, bytes);
    args[n++] = op_arg_value(places, sizeof places);
    args[n++] = op_arg_value(shape, sizeof shape);
    args[n++] = op_arg_value(histogram->how, sizeof histogram->how);
    if (histogram->kind.way == COUNT_BY_RUNS)
        args[n++] = op_arg_u64(cut->run);
    if (histogram->kind.way == COUNT_BY_GROUPS) {
        args[n++] = op_arg_local(cut->counter_bytes);
        args[n++] = op_arg_local(cut->ranks_bytes);
    }
    return op_launch(&histogram->call, kernel, args, n, cut->groups * cut->local, cut->local);
}

static cls_status histogram_add_launch(struct histogram_call *histogram,
                                       const struct histogram_cut *cut, struct buffer *scratch,
                                       size_t bytes) {
    struct op_call *call = &histogram->call;
    const struct op_view *counts = &call->views[COUNTS];
    const bool teams = histogram->kind.way == COUNT_BY_GROUPS;
    const uint64_t shape[] = {counts->offset, counts->count, cut->parts, cut->words};
    const struct spec *spec;
    struct kernel *kernel;
    cls_status status = spec_of_add_counts(teams, &spec);
    if (!status)
        status = op_kernel(call, &spec->kernel, &kernel);
    if (status)
        return status;
    const size_t local = power_of_two_below(lesser(op_max_group(call, kernel), spec->local));
    const size_t groups = divide_up(counts->count, teams ? COUNT_COLUMNS : local);
    const struct op_arg args[] = {op_arg_part(scratch, false, 0, bytes), op_arg_view(counts, true),
                                  op_arg_value(shape, sizeof shape),
                                  op_arg_local(local * sizeof(uint64_t))};
    return op_launch(call, kernel, args, teams ? 4 : 3, groups * local, local);
}

static cls_status histogram_plan(struct histogram_call *histogram, struct histogram_cut *cut,
                                 struct kernel **kernel) {
    const struct spec *spec;
    histogram->kind.way = histogram_way(histogram, cut);
    cls_status status =
        spec_of_histogram(&histogram->kind, histogram->call.views[IN].address % 16 == 0, &spec);
    if (!status)
        status = op_kernel(&histogram->call, &spec->kernel, kernel);
    if (status)
        return status;
    if (histogram->kind.way == COUNT_BY_RUNS)
        histogram_cut_runs(histogram, cut);
    else
        histogram_cut_groups(histogram, spec, *kernel, cut);
    return CLS_SUCCESS;
}

static cls_status histogram_submit(struct histogram_call *histogram) {
    struct histogram_cut cut = {0};
    struct kernel *kernel;
    struct buffer *scratch;
    size_t words;
    cls_status status = histogram_plan(histogram, &cut, &kernel);
    if (status)
        return status;
    if (__builtin_mul_overflow(cut.parts, cut.words, &words) || words > SIZE_MAX / sizeof(uint32_t))
        return error_no_memory("for the counts of a histogram");
    const size_t bytes = words * sizeof(uint32_t);
    status = op_scratch(&histogram->call, bytes, &scratch);
    if (!status && histogram->kind.way == COUNT_TOGETHER)
        status = look_back_clear(&histogram->call, scratch, words);
    if (!status)
        status = histogram_count_launch(histogram, &cut, kernel, scratch, bytes);
    return status ? status : histogram_add_launch(histogram, &cut, scratch, bytes);
}

/* --- calls --- */

static cls_status histogram_run(struct histogram_call *histogram, const cls_array *length,
                                cls_stream stream, bool blocking) {
    if (length->buffer) {
        histogram->length = histogram->n_arrays;
        histogram->arrays[histogram->n_arrays++] = length;
    }
    cls_status status =
        op_begin(&histogram->call, stream, histogram->arrays, histogram->n_arrays, blocking);
    if (status)
        return status;
    const struct op_view *views = histogram->call.views;
    histogram->kind.dtype = views[IN].dtype;
    histogram->kind.rule = BINS_BY_EDGES;
    status = histogram_check(histogram);
    if (!status && !histogram->edges)
        status = even_bins(histogram->name, views[IN].dtype, histogram->lower, histogram->upper,
                           (uint32_t)views[COUNTS].count, &histogram->kind.rule, histogram->how);
    if (!status)
        status = histogram_submit(histogram);
    return op_end(&histogram->call, status, blocking);
}

static cls_status histogram_even(const cls_array *in, const void *lower, const void *upper,
                                 const cls_array *counts, const cls_array *length,
                                 cls_stream stream, bool blocking) {
    struct histogram_call histogram = {.name = "histogram_even",
                                       .arrays = {in, counts},
                                       .n_arrays = FIRST_OPTIONAL,
                                       .lower = lower,
                                       .upper = upper};
    if (!lower || !upper)
        return error_set(CLS_ERROR_INVALID_VALUE, "histogram_even: a bound is NULL");
    return histogram_run(&histogram, length, stream, blocking);
}

static cls_status histogram_range(const cls_array *in, const cls_array *edges,
                                  const cls_array *counts, const cls_array *length,
                                  cls_stream stream, bool blocking) {
    struct histogram_call histogram = {.name = "histogram_range",
                                       .arrays = {in, counts, edges},
                                       .n_arrays = FIRST_OPTIONAL + 1,
                                       .edges = FIRST_OPTIONAL};
    return histogram_run(&histogram, length, stream, blocking);
}

cls_status cls_histogram_even(cls_array in, const void *lower, const void *upper, cls_array counts,
                              cls_array length, cls_stream stream) {
    return histogram_even(&in, lower, upper, &counts, &length, stream, true);
}

cls_status cls_histogram_even_async(cls_array in, const void *lower, const void *upper,
                                    cls_array counts, cls_array length, cls_stream stream) {
    return histogram_even(&in, lower, upper, &counts, &length, stream, false);
}

cls_status cls_histogram_range(cls_array in, cls_array edges, cls_array counts, cls_array length,
                               cls_stream stream) {
    return histogram_range(&in, &edges, &counts, &length, stream, true);
}

cls_status cls_histogram_range_async(cls_array in, cls_array edges, cls_array counts,
                                     cls_array length, cls_stream stream) {
    return histogram_range(&in, &edges, &counts, &length, stream, false);
}

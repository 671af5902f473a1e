/* SPDX-License-Identifier: MIT */
/* Selection of elements (clstream/select.h), by the kernels of cl/select.cl. */
#include <clstream/select.h>

#include "base/error.h"
#include "base/types.h"
#include "driver/caps.h"
#include "ops/reduction_cut.h"
#include "ops/scan.h"
#include "ops/spec_select.h"

enum { IN, OUT, COUNT, FIRST_OPTIONAL, LENGTHS_GROUP = 128, CPU_LENGTHS_GROUP = 4096 };

/* A call. Its views are the elements, the output, the count, and what else there is, each by its number: 0 for none. */
struct select_call {
    const char *name;
    struct select_kind kind;
    const cls_array *arrays[OP_MAX_VIEWS];
    unsigned n_arrays;
    unsigned flags, beside, out_beside, length;
    const void *value;
    cls_scan_op op; /* of a reduction by key */
    struct op_call call;
};

static unsigned add_view(struct select_call *select, const cls_array *array) {
    select->arrays[select->n_arrays] = array;
    return select->n_arrays++;
}

/* --- checks --- */

static cls_status select_check_output(const struct select_call *select, unsigned out, unsigned in) {
    const struct op_view *views = select->call.views;
    if (views[out].dtype == views[in].dtype)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: an output of %s for an input of %s",
                     select->name, cls_dtype_name(views[out].dtype),
                     cls_dtype_name(views[in].dtype));
}

static cls_status check_i64(const struct select_call *select, unsigned view, const char *what) {
    const cls_dtype dtype = select->call.views[view].dtype;
    return dtype == CLS_I64 ? CLS_SUCCESS
                            : error_set(CLS_ERROR_TYPE_MISMATCH, "%s: %s of %s", select->name, what,
                                        cls_dtype_name(dtype));
}

static cls_status select_check_types(const struct select_call *select) {
    const struct op_view *views = select->call.views;
    cls_status status = select_check_output(select, OUT, IN);
    if (!status)
        status = check_i64(select, COUNT, "a count");
    if (!status && select->flags && views[select->flags].dtype != CLS_U8)
        status = error_set(CLS_ERROR_TYPE_MISMATCH, "%s: flags of %s", select->name,
                           cls_dtype_name(views[select->flags].dtype));
    if (!status && select->beside)
        status = select_check_output(select, select->out_beside, select->beside);
    if (!status && select->kind.beside == BESIDE_NUMBERS)
        status = check_i64(select, select->out_beside, "lengths");
    return status;
}

static cls_status select_check_equal(const struct select_call *select, unsigned a, unsigned b,
                                     const char *what) {
    const struct op_view *views = select->call.views;
    if (!a || views[a].count == views[b].count)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: %zu %s for %zu", select->name, views[a].count,
                     what, views[b].count);
}

static cls_status select_check_sizes(const struct select_call *select) {
    const struct op_view *views = select->call.views;
    cls_status status = select_check_equal(select, select->flags, IN, "flags");
    if (!status)
        status = select_check_equal(select, select->beside, IN, "values");
    if (!status)
        status = select_check_equal(select, select->out_beside, OUT, "elements of an output");
    if (!status && views[COUNT].count != 1)
        status = error_set(CLS_ERROR_SIZE_MISMATCH, "%s: a count of %zu elements", select->name,
                           views[COUNT].count);
    if (!status && select->kind.partition && views[OUT].count < views[IN].count)
        status = error_set(CLS_ERROR_SIZE_MISMATCH, "%s: an output of %zu elements for %zu",
                           select->name, views[OUT].count, views[IN].count);
    if (!status && select->length)
        status = op_check_length(&select->call, select->name, select->length);
    return status;
}

static cls_status select_check_overlap(const struct select_call *select) {
    const unsigned outputs[] = {OUT, COUNT, select->out_beside};
    for (unsigned i = 0; i < sizeof outputs / sizeof *outputs; i++)
        for (unsigned k = 0; outputs[i] && k < select->n_arrays; k++) {
            const cls_status status = k == outputs[i]
                                          ? CLS_SUCCESS
                                          : op_check_overlap(&select->call, outputs[i], k, false);
            if (status)
                return status;
        }
    return CLS_SUCCESS;
}

static cls_status select_check(const struct select_call *select) {
    const struct op_call *call = &select->call;
    cls_status status = select_check_types(select);
    if (!status)
        status = select_check_sizes(select);
    if (!status)
        status = select_check_overlap(select);
    if (!status && select->kind.by >= SELECT_BY_VALUE)
        status = op_check_dtype(call, call->views[IN].dtype);
    if (!status && select->op)
        status = op_check_dtype(call, call->views[select->beside].dtype);
    if (!status && select->op && type_row(call->views[select->beside].dtype)->is_float &&
        !caps_trusts(call->caps, TRUST_ROUNDING))
        status = trust_refuse(call->device, TRUST_ROUNDING);
    return status;
}

/* --- the launches --- */

/* The kernel and how it is cut; and the temporary memory, of which `beyond` are results on the way. */
struct select_plan {
    struct kernel *kernel;
    struct look_back cut;
    size_t words, beyond;
    struct buffer *scratch;
};

static cls_status select_plan(struct select_call *select, struct select_plan *plan) {
    struct op_call *call = &select->call;
    const struct spec *spec;
    const bool aligned = call->views[IN].address % 16 == 0;
    select->kind.dtype = call->views[IN].dtype;
    select->kind.wide = call->views[IN].count > UINT32_MAX;
    cls_status status = spec_of_select(&select->kind, look_back_shape(call, aligned),
                                       look_back_is_lean(call), &spec);
    if (!status)
        status = op_kernel(call, &spec->kernel, &plan->kernel);
    if (status)
        return status;
    plan->cut = look_back_cut(call, spec, plan->kernel, call->views[IN].count);
    plan->words = look_back_words(&plan->cut, spec_select_part(&select->kind));
    return CLS_SUCCESS;
}

/* An array of a call, or one in temporary memory, in elements of `size` bytes. */
struct select_place {
    struct op_arg arg;
    uint64_t at;
};

static struct select_place select_place_of(const struct select_call *select, unsigned view,
                                           bool writes) {
    const struct op_view *of = &select->call.views[view];
    return (struct select_place){op_arg_view(of, writes), of->offset};
}

static struct select_place select_place_beyond(const struct select_call *select,
                                               const struct select_plan *plan, size_t size,
                                               bool writes) {
    const size_t count = select->call.views[IN].count;
    return (struct select_place){op_arg_part(plan->scratch, writes, plan->beyond, count * size),
                                 plan->beyond / size};
}

static cls_status select_launch(struct select_call *select, const struct select_plan *plan,
                                struct select_place beside, struct select_place out_beside) {
    const struct op_view *views = select->call.views;
    static const uint64_t no_value;
    const struct select_place places[] = {select_place_of(select, IN, false),
                                          select_place_of(select, OUT, true),
                                          select_place_of(select, select->flags, false),
                                          beside,
                                          out_beside,
                                          select_place_of(select, COUNT, true),
                                          select_place_of(select, select->length, false)};
    enum { PLACES = sizeof places / sizeof *places };
    const uint64_t shape[] = {views[IN].count, plan->cut.tile, views[OUT].count, 0};
    const uint32_t is_reversed = plan->cut.is_reversed;
    uint64_t at[8] = {0};
    struct op_arg args[OP_MAX_ARGS];
    unsigned n = 0;
    cls_status status = look_back_clear(&select->call, plan->scratch, plan->words);
    if (status)
        return status;
    for (; n < PLACES; n++) {
        args[n] = places[n].arg;
        at[n] = places[n].at;
    }
    if (!select->length)
        at[PLACES - 1] = UINT64_MAX;
    args[n++] = op_arg_part(plan->scratch, true, 0, plan->words * sizeof(uint32_t));
    args[n++] = op_arg_value(at, sizeof at);
    args[n++] = op_arg_value(shape, sizeof shape);
    args[n++] =
        op_arg_value(select->value ? select->value : &no_value, cls_dtype_size(views[IN].dtype));
    args[n++] = op_arg_value(&is_reversed, sizeof is_reversed);
    return look_back_launch(&select->call, &plan->cut, plan->kernel, args, n);
}

/* Without anything beside the elements. */
static cls_status select_alone(struct select_call *select, struct select_plan *plan) {
    const struct select_place none = select_place_of(select, IN, false);
    cls_status status =
        look_back_room(&select->call, plan->words, 0, &plan->scratch, &plan->beyond);
    return status ? status : select_launch(select, plan, none, none);
}

static cls_status run_lengths_launch(struct select_call *select, const struct select_plan *plan) {
    const struct op_view *views = select->call.views, *lengths = &views[select->out_beside];
    const size_t most = lesser(lengths->count, views[IN].count);
    const struct select_place ends = select_place_beyond(select, plan, sizeof(uint64_t), false);
    const uint64_t places[] = {ends.at, views[COUNT].offset, lengths->offset, most};
    const struct op_arg args[] = {ends.arg, op_arg_view(&views[COUNT], false),
                                  op_arg_view(lengths, true), op_arg_value(places, sizeof places)};
    const struct spec *spec;
    struct kernel *kernel;
    if (!most)
        return CLS_SUCCESS;
    cls_status status = spec_of_run_lengths(&spec);
    if (!status)
        status = op_kernel(&select->call, &spec->kernel, &kernel);
    if (status)
        return status;
    const size_t wanted = op_takes_runs(select->call.device) ? CPU_LENGTHS_GROUP : LENGTHS_GROUP;
    const size_t local = power_of_two_below(lesser(op_max_group(&select->call, kernel), wanted));
    return op_launch(&select->call, kernel, args, 4, divide_up(most, local) * local, local);
}

static cls_status select_with_lengths(struct select_call *select, struct select_plan *plan) {
    const size_t bytes = select->call.views[IN].count * sizeof(uint64_t);
    cls_status status =
        look_back_room(&select->call, plan->words, bytes, &plan->scratch, &plan->beyond);
    if (!status)
        status = select_launch(select, plan, select_place_of(select, IN, false),
                               select_place_beyond(select, plan, sizeof(uint64_t), true));
    return status ? status : run_lengths_launch(select, plan);
}

static cls_status scan_values(struct select_call *select, const struct scan_plan *scan,
                              const struct select_plan *plan, size_t size) {
    const struct select_place places[SCAN_ARRAYS] = {
        select_place_of(select, select->beside, false),
        select_place_beyond(select, plan, size, true), select_place_of(select, IN, false),
        select_place_of(select, select->length, false)};
    struct scan_arrays arrays;
    for (unsigned i = 0; i < SCAN_ARRAYS; i++) {
        arrays.args[i] = places[i].arg;
        arrays.places[i] = places[i].at;
    }
    if (!select->length)
        arrays.places[SCAN_ARRAYS - 1] = UINT64_MAX;
    return scan_launch(&select->call, scan, &arrays, plan->scratch, 0, false);
}

/* Of each run the last of its scanned values. */
static cls_status select_reduced(struct select_call *select, struct select_plan *plan) {
    const struct op_view *keys = &select->call.views[IN], *values = keys + select->beside;
    const size_t size = cls_dtype_size(values->dtype);
    const struct scan_kind kind = {select->op, values->dtype, values->dtype,
                                   scan_heads_of_keys(keys->dtype)};
    struct scan_plan scan;
    cls_status status =
        scan_plan(&select->call, &kind, values->address % 16 == 0, keys->count, &scan);
    if (!status)
        status = look_back_room(&select->call, plan->words > scan.words ? plan->words : scan.words,
                                keys->count * size, &plan->scratch, &plan->beyond);
    if (!status && keys->count)
        status = scan_values(select, &scan, plan, size);
    return status ? status
                  : select_launch(select, plan, select_place_beyond(select, plan, size, false),
                                  select_place_of(select, select->out_beside, true));
}

/* --- calls --- */

static cls_status select_run(struct select_call *select, cls_array length, cls_stream stream,
                             bool blocking) {
    struct select_plan plan;
    if (length.buffer)
        select->length = add_view(select, &length);
    cls_status status = op_begin(&select->call, stream, select->arrays, select->n_arrays, blocking);
    if (status)
        return status;
    status = select_check(select);
    if (!status && select->beside)
        select->kind.beside = beside_of(select->call.views[select->beside].dtype);
    if (!status)
        status = select_plan(select, &plan);
    if (!status)
        status = select->op                              ? select_reduced(select, &plan)
                 : select->kind.beside == BESIDE_NUMBERS ? select_with_lengths(select, &plan)
                                                         : select_alone(select, &plan);
    return op_end(&select->call, status, blocking);
}

static struct select_call select_of(const char *name, enum selection by, const cls_array *in,
                                    const cls_array *out, const cls_array *count) {
    return (struct select_call){
        .name = name, .kind = {.by = by}, .arrays = {in, out, count}, .n_arrays = FIRST_OPTIONAL};
}

static cls_status by_flags(const char *name, bool partition, cls_array in, cls_array flags,
                           cls_array out, cls_array count, cls_array length, cls_stream stream,
                           bool blocking) {
    struct select_call select = select_of(name, SELECT_BY_FLAGS, &in, &out, &count);
    select.kind.partition = partition;
    select.flags = add_view(&select, &flags);
    return select_run(&select, length, stream, blocking);
}

static cls_status compact_by_value(cls_array in, cls_comparison comparison, const void *value,
                                   cls_array out, cls_array count, cls_array length,
                                   cls_stream stream, bool blocking) {
    if (comparison < CLS_LESS || comparison > CLS_NOT_EQUAL)
        return error_set(CLS_ERROR_INVALID_VALUE, "compact_if: an unknown comparison, %d",
                         (int)comparison);
    if (!value)
        return error_set(CLS_ERROR_INVALID_VALUE, "compact_if: no value");
    struct select_call select =
        select_of("compact_if", selection_of(comparison), &in, &out, &count);
    select.value = value;
    return select_run(&select, length, stream, blocking);
}

static cls_status unique(cls_array in, cls_array out, cls_array count, cls_array length,
                         cls_stream stream, bool blocking) {
    struct select_call select = select_of("unique", SELECT_BY_HEADS, &in, &out, &count);
    return select_run(&select, length, stream, blocking);
}

static cls_status run_length_encode(cls_array in, cls_array out, cls_array lengths, cls_array count,
                                    cls_array length, cls_stream stream, bool blocking) {
    struct select_call select = select_of("run_length_encode", SELECT_BY_ENDS, &in, &out, &count);
    select.kind.beside = BESIDE_NUMBERS;
    select.out_beside = add_view(&select, &lengths);
    return select_run(&select, length, stream, blocking);
}

static cls_status reduce_by_key(cls_scan_op op, cls_array keys, cls_array values,
                                cls_array keys_out, cls_array values_out, cls_array count,
                                cls_array length, cls_stream stream, bool blocking) {
    if (op < CLS_SCAN_SUM || op > CLS_SCAN_MAX)
        return error_set(CLS_ERROR_INVALID_VALUE, "reduce_by_key: an unknown operation, %d",
                         (int)op);
    struct select_call select =
        select_of("reduce_by_key", SELECT_BY_ENDS, &keys, &keys_out, &count);
    select.op = op;
    select.beside = add_view(&select, &values);
    select.out_beside = add_view(&select, &values_out);
    return select_run(&select, length, stream, blocking);
}

cls_status cls_compact(cls_array in, cls_array flags, cls_array out, cls_array count,
                       cls_array length, cls_stream stream) {
    return by_flags("compact", false, in, flags, out, count, length, stream, true);
}

cls_status cls_compact_async(cls_array in, cls_array flags, cls_array out, cls_array count,
                             cls_array length, cls_stream stream) {
    return by_flags("compact", false, in, flags, out, count, length, stream, false);
}

cls_status cls_compact_if(cls_array in, cls_comparison comparison, const void *value, cls_array out,
                          cls_array count, cls_array length, cls_stream stream) {
    return compact_by_value(in, comparison, value, out, count, length, stream, true);
}

cls_status cls_compact_if_async(cls_array in, cls_comparison comparison, const void *value,
                                cls_array out, cls_array count, cls_array length,
                                cls_stream stream) {
    return compact_by_value(in, comparison, value, out, count, length, stream, false);
}

cls_status cls_partition(cls_array in, cls_array flags, cls_array out, cls_array count,
                         cls_array length, cls_stream stream) {
    return by_flags("partition", true, in, flags, out, count, length, stream, true);
}

cls_status cls_partition_async(cls_array in, cls_array flags, cls_array out, cls_array count,
                               cls_array length, cls_stream stream) {
    return by_flags("partition", true, in, flags, out, count, length, stream, false);
}

cls_status cls_unique(cls_array in, cls_array out, cls_array count, cls_array length,
                      cls_stream stream) {
    return unique(in, out, count, length, stream, true);
}

cls_status cls_unique_async(cls_array in, cls_array out, cls_array count, cls_array length,
                            cls_stream stream) {
    return unique(in, out, count, length, stream, false);
}

cls_status cls_run_length_encode(cls_array in, cls_array out, cls_array lengths, cls_array count,
                                 cls_array length, cls_stream stream) {
    return run_length_encode(in, out, lengths, count, length, stream, true);
}

cls_status cls_run_length_encode_async(cls_array in, cls_array out, cls_array lengths,
                                       cls_array count, cls_array length, cls_stream stream) {
    return run_length_encode(in, out, lengths, count, length, stream, false);
}

cls_status cls_reduce_by_key(cls_scan_op op, cls_array keys, cls_array values, cls_array keys_out,
                             cls_array values_out, cls_array count, cls_array length,
                             cls_stream stream) {
    return reduce_by_key(op, keys, values, keys_out, values_out, count, length, stream, true);
}

cls_status cls_reduce_by_key_async(cls_scan_op op, cls_array keys, cls_array values,
                                   cls_array keys_out, cls_array values_out, cls_array count,
                                   cls_array length, cls_stream stream) {
    return reduce_by_key(op, keys, values, keys_out, values_out, count, length, stream, false);
}

/* SPDX-License-Identifier: MIT */
/* Binary search (clstream/bounds.h), by the kernel of cl/bounds.cl. */
#include <clstream/bounds.h>

#include "base/error.h"
#include "driver/quirk.h"
#include "ops/reduction_cut.h"
#include "ops/spec_histogram.h"

enum {
    SORTED,
    VALUES,
    POSITIONS,
    LENGTH,
    RUNS_PER_UNIT = 4, /* items of a CPU's unit, so that other work does not delay a call much */
    LEAST_RUN = 256    /* values of such an item: microseconds of work */
};

static cls_status bounds_check(const struct op_call *call, const char *name, bool has_length) {
    const struct op_view *views = call->views;
    cls_status status = CLS_SUCCESS;
    if (views[VALUES].dtype != views[SORTED].dtype)
        status =
            error_set(CLS_ERROR_TYPE_MISMATCH, "%s: values of %s among elements of %s", name,
                      cls_dtype_name(views[VALUES].dtype), cls_dtype_name(views[SORTED].dtype));
    else if (views[POSITIONS].dtype != CLS_I64)
        status = error_set(CLS_ERROR_TYPE_MISMATCH, "%s: positions of %s", name,
                           cls_dtype_name(views[POSITIONS].dtype));
    else if (views[POSITIONS].count != views[VALUES].count)
        status = error_set(CLS_ERROR_SIZE_MISMATCH, "%s: %zu positions for %zu values", name,
                           views[POSITIONS].count, views[VALUES].count);
    if (!status && has_length)
        status = op_check_length(call, name, LENGTH);
    for (unsigned view = 0; view < call->n_views && !status; view++)
        if (view != POSITIONS)
            status = op_check_overlap(call, POSITIONS, view, false);
    return status;
}

static cls_status bounds_launch(struct op_call *call, bool upper, bool has_length) {
    const struct op_view *views = call->views;
    const size_t count = views[VALUES].count;
    const bool runs = op_takes_runs(call->device) && !(call->device->quirks & QUIRK_SHORT_LOOPS);
    const struct spec *spec;
    struct kernel *kernel;
    cls_status status = spec_of_bounds(views[SORTED].dtype, upper, &spec);
    if (!status)
        status = op_kernel(call, &spec->kernel, &kernel);
    if (status)
        return status;
    size_t run = 1, local = 1;
    if (runs) {
        run = divide_up(count, RUNS_PER_UNIT * reduction_units(call->device));
        run = run < LEAST_RUN ? LEAST_RUN : run;
    } else {
        local = power_of_two_below(lesser(op_max_group(call, kernel), spec->local));
    }
    const uint64_t places[] = {views[SORTED].offset, views[VALUES].offset, views[POSITIONS].offset,
                               has_length ? views[LENGTH].offset : UINT64_MAX};
    const struct op_arg args[] = {op_arg_view(&views[SORTED], false),
                                  op_arg_view(&views[VALUES], false),
                                  op_arg_view(&views[POSITIONS], true),
                                  op_arg_view(&views[has_length ? LENGTH : SORTED], false),
                                  op_arg_value(places, sizeof places),
                                  op_arg_pair(views[SORTED].count, count),
                                  op_arg_u64(run)};
    return op_launch(call, kernel, args, sizeof args / sizeof *args,
                     divide_up(divide_up(count, run), local) * local, local);
}

static cls_status bounds_call(const char *name, bool upper, const cls_array *sorted,
                              const cls_array *values, const cls_array *positions,
                              const cls_array *length, cls_stream stream, bool blocking) {
    const cls_array *const arrays[] = {sorted, values, positions, length};
    const bool has_length = length->buffer != NULL;
    struct op_call call;
    cls_status status = op_begin(&call, stream, arrays, has_length ? 4 : 3, blocking);
    if (status)
        return status;
    status = bounds_check(&call, name, has_length);
    if (!status)
        status = call.views[VALUES].count ? bounds_launch(&call, upper, has_length)
                                          : op_check_stream(&call);
    return op_end(&call, status, blocking);
}

cls_status cls_lower_bound(cls_array sorted, cls_array values, cls_array positions,
                           cls_array length, cls_stream stream) {
    return bounds_call("lower_bound", false, &sorted, &values, &positions, &length, stream, true);
}

cls_status cls_lower_bound_async(cls_array sorted, cls_array values, cls_array positions,
                                 cls_array length, cls_stream stream) {
    return bounds_call("lower_bound", false, &sorted, &values, &positions, &length, stream, false);
}

cls_status cls_upper_bound(cls_array sorted, cls_array values, cls_array positions,
                           cls_array length, cls_stream stream) {
    return bounds_call("upper_bound", true, &sorted, &values, &positions, &length, stream, true);
}

cls_status cls_upper_bound_async(cls_array sorted, cls_array values, cls_array positions,
                                 cls_array length, cls_stream stream) {
    return bounds_call("upper_bound", true, &sorted, &values, &positions, &length, stream, false);
}

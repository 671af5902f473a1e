/* SPDX-License-Identifier: MIT */
/* Draws of random numbers: the functions of clstream/random.h that write arrays. */
#include <float.h>
#include <string.h>

#include "base/error.h"
#include "base/narrow.h"
#include "base/types.h"
#include "ops/map.h"
#include "ops/random.h"
#include "stream/blocking.h"
#include "stream/context.h"

enum { MAX_PARAMETERS = 3 };

/* A draw in progress. The call's views are the state, the input and the mask of dropout, and the output. */
struct draw_work {
    struct random *random;
    struct op_call call;
    enum draw which;
    struct op_arg parameters[MAX_PARAMETERS];
    unsigned n_parameters;
};

static const struct op_view *draw_output(const struct draw_work *work) {
    return &work->call.views[work->call.n_views - 1];
}

static bool is_dropout(enum draw which) {
    return which == DRAW_DROPOUT || which == DRAW_DROPOUT_MASK;
}

/* --- parameters --- */

static void draw_parameter(struct draw_work *work, struct op_arg arg) {
    work->parameters[work->n_parameters++] = arg;
}

/* A number as the kernels calculate with it. */
static void add_real(struct draw_work *work, double value) {
    const float narrow = (float)value;
    if (draw_output(work)->dtype == CLS_F64)
        draw_parameter(work, op_arg_value(&value, sizeof value));
    else
        draw_parameter(work, op_arg_value(&narrow, sizeof narrow));
}

static bool is_finite(double value) { return value - value == 0; }

static double element_value(cls_dtype dtype, uint64_t bits) {
    float f32;
    double f64;
    const uint32_t low = (uint32_t)bits;
    memcpy(&f32, &low, sizeof f32);
    memcpy(&f64, &bits, sizeof f64);
    return dtype == CLS_F64   ? f64
           : dtype == CLS_F32 ? (double)f32
           : dtype == CLS_F16 ? wide_of_f16((uint16_t)bits)
                              : wide_of_bf16((uint16_t)bits);
}

static uint64_t element_bits(cls_dtype dtype, double value) {
    const struct op_parameter element = parameter_of_double(dtype, value);
    uint64_t f64;
    uint32_t f32;
    uint16_t narrow;
    memcpy(&f64, element.bytes, sizeof f64);
    memcpy(&f32, element.bytes, sizeof f32);
    memcpy(&narrow, element.bytes, sizeof narrow);
    return dtype == CLS_F64 ? f64 : dtype == CLS_F32 ? f32 : narrow;
}

static double rounded_to(cls_dtype dtype, double value) {
    return element_value(dtype, element_bits(dtype, value));
}

/* The largest number below one of the type. Below 0 it is a normal one: devices take others for 0. */
static double number_below(cls_dtype dtype, double value) {
    const double least = dtype == CLS_F64   ? -DBL_MIN
                         : dtype == CLS_F16 ? -0x1p-14
                                            : -(double)FLT_MIN;
    const uint64_t bits = element_bits(dtype, value);
    return value == 0 ? least : element_value(dtype, value < 0 ? bits + 1 : bits - 1);
}

static cls_status add_range(struct draw_work *work, double low, double high) {
    const cls_dtype dtype = draw_output(work)->dtype;
    const double from = rounded_to(dtype, low), to = rounded_to(dtype, high);
    const double span = dtype == CLS_F64 ? to - from : (double)((float)to - (float)from);
    if (!(from < to) || !is_finite(from) || !is_finite(to) || !is_finite(span))
        return error_set(CLS_ERROR_INVALID_VALUE, "uniform: [%g, %g) is no range of %s", low, high,
                         cls_dtype_name(dtype));
    const double last = number_below(dtype, to);
    add_real(work, from);
    add_real(work, span);
    add_real(work, last > from ? last : from);
    return CLS_SUCCESS;
}

static cls_status add_moments(struct draw_work *work, double mean, double deviation) {
    const bool is_wide = draw_output(work)->dtype == CLS_F64;
    if (!is_finite(is_wide ? mean : (double)(float)mean) ||
        !is_finite(is_wide ? deviation : (double)(float)deviation) || deviation < 0)
        return error_set(CLS_ERROR_INVALID_VALUE, "normal: mean %g, deviation %g", mean, deviation);
    add_real(work, mean);
    add_real(work, deviation);
    return CLS_SUCCESS;
}

static cls_status add_threshold(struct draw_work *work, double probability) {
    uint64_t threshold;
    cls_status status = random_threshold(probability, &threshold);
    if (!status)
        draw_parameter(work, op_arg_u64(threshold));
    return status;
}

static cls_status add_limit(struct draw_work *work, uint64_t n) {
    const cls_dtype dtype = draw_output(work)->dtype;
    const uint64_t most = dtype == CLS_U8    ? UINT8_MAX
                          : dtype == CLS_I8  ? INT8_MAX
                          : dtype == CLS_I16 ? INT16_MAX
                          : dtype == CLS_U16 ? UINT16_MAX
                          : dtype == CLS_I32 ? INT32_MAX
                          : dtype == CLS_U32 ? UINT32_MAX
                                             : INT64_MAX;
    if (n == 0)
        return CLS_SUCCESS;
    if (n - 1 > most)
        return error_set(CLS_ERROR_INVALID_VALUE, "integers below %llu: the most of %s is %llu",
                         (unsigned long long)n, cls_dtype_name(dtype), (unsigned long long)most);
    work->which = DRAW_BELOW;
    draw_parameter(work, op_arg_u64(n));
    return CLS_SUCCESS;
}

/* --- checks --- */

static cls_status refuse_type(const char *draw, cls_dtype dtype) {
    return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: no draw of %s", draw, cls_dtype_name(dtype));
}

static cls_status check_reals(const struct draw_work *work, const char *draw) {
    const struct op_view *out = draw_output(work);
    const struct context *context = work->call.context;
    if (!type_row(out->dtype)->is_float)
        return refuse_type(draw, out->dtype);
    cls_status status = op_check_dtype(&work->call, out->dtype);
    if (!status && !is_dropout(work->which) && !caps_trusts(context->caps, TRUST_ROUNDING))
        status = trust_refuse(context->device, TRUST_ROUNDING);
    return status;
}

static cls_status check_dropout(const struct draw_work *work) {
    const struct op_call *call = &work->call;
    const unsigned out = call->n_views - 1;
    cls_status status = check_reals(work, "dropout");
    if (!status && call->views[1].dtype != call->views[out].dtype)
        status =
            error_set(CLS_ERROR_TYPE_MISMATCH, "dropout: in is %s and out %s",
                      cls_dtype_name(call->views[1].dtype), cls_dtype_name(call->views[out].dtype));
    if (!status && out == 3 && call->views[2].dtype != CLS_U8)
        status = error_set(CLS_ERROR_TYPE_MISMATCH, "dropout: the mask is %s, not u8",
                           cls_dtype_name(call->views[2].dtype));
    for (unsigned i = 1; i < out && !status; i++)
        if (call->views[i].count != call->views[out].count)
            status = error_set(CLS_ERROR_SIZE_MISMATCH, "dropout: arrays of %zu and %zu elements",
                               call->views[i].count, call->views[out].count);
    if (!status)
        status = op_check_overlap(call, 1, out, true);
    for (unsigned i = 1; i <= out && !status && out == 3; i += 2)
        status = op_check_overlap(call, i, 2, false);
    return status;
}

/* --- the launch --- */

static bool draw_is_aligned(const struct draw_work *work) {
    const struct op_call *call = &work->call;
    const unsigned vector = spec_draw_vector(work->which, draw_output(work)->dtype, SHAPE_ALIGNED);
    bool aligned = true;
    for (unsigned i = 1; i < call->n_views; i++)
        aligned = aligned && call->views[i].address %
                                     spec_alignment(vector, cls_dtype_size(call->views[i].dtype)) ==
                                 0;
    return aligned;
}

/* Runs are of eight counters at a time. A compiler without vectors repeats the code for each: rusticl's takes 200 s for
 * normal numbers then, instead of 5. */
static enum shape draw_shape_of(const struct draw_work *work) {
    const bool aligned = draw_is_aligned(work);
    const enum shape shape = map_shape_of(&work->call, aligned);
    if (shape != SHAPE_RUNS || work->call.device->vector_bytes >= 16)
        return shape;
    return aligned ? SHAPE_ALIGNED : SHAPE_ANYWHERE;
}

static unsigned draw_args(const struct draw_work *work, struct op_arg args[OP_MAX_ARGS]) {
    const struct op_call *call = &work->call;
    unsigned n = 0;
    args[n++] = op_arg_view(&call->views[0], false);
    for (unsigned i = 1; i < call->n_views; i++) {
        args[n++] = op_arg_view(&call->views[i], i > 1 || !is_dropout(work->which));
        args[n++] = op_arg_u64(call->views[i].offset);
    }
    args[n++] = op_arg_u64(draw_output(work)->count);
    for (unsigned i = 0; i < work->n_parameters; i++)
        args[n++] = work->parameters[i];
    return n;
}

static cls_status draw_launch(struct draw_work *work) {
    struct op_call *call = &work->call;
    const struct op_view *out = draw_output(work);
    const struct spec *spec = NULL;
    struct kernel *kernel = NULL;
    struct op_arg args[OP_MAX_ARGS];
    cls_status status = spec_of_draw(work->which, out->dtype, draw_shape_of(work), &spec);
    if (!status)
        status = op_kernel(call, &spec->kernel, &kernel);
    if (status)
        return status;
    const unsigned n_args = draw_args(work, args);
    size_t local = op_max_group(call, kernel);
    local = local < spec->local ? local : spec->local;
    const size_t per_group = local * spec->vector * spec->steps;
    const size_t groups = out->count / per_group + (out->count % per_group != 0);
    return op_launch(call, kernel, args, n_args, groups * local, local);
}

static cls_status draw(struct draw_work *work) {
    const struct op_view *out = draw_output(work);
    const unsigned per = spec_draw_per(work->which, out->dtype);
    if (!out->count)
        return CLS_SUCCESS;
    blocking_lock(&work->random->lock);
    cls_status status = draw_launch(work);
    if (!status)
        status = random_advance(&work->call, out->count / per + (out->count % per != 0));
    return blocking_unlock(&work->random->lock, status);
}

static cls_status draw_begin(struct draw_work *work, enum draw which, cls_random random,
                             const cls_array *out, cls_stream stream, bool blocking) {
    work->which = which;
    work->n_parameters = 0;
    return random_begin(random, &work->random, &work->call, stream, &out, 1, blocking);
}

static cls_status draw_end(struct draw_work *work, cls_status status, bool blocking) {
    if (!status)
        status = draw(work);
    return random_end(work->random, &work->call, status, blocking);
}

/* --- the functions --- */

static cls_status uniform(cls_random random, cls_array out, double low, double high,
                          cls_stream stream, bool blocking) {
    struct draw_work work;
    cls_status status = draw_begin(&work, DRAW_UNIFORM, random, &out, stream, blocking);
    if (status)
        return status;
    status = check_reals(&work, "uniform");
    if (!status)
        status = add_range(&work, low, high);
    return draw_end(&work, status, blocking);
}

cls_status cls_random_uniform(cls_random random, cls_array out, double low, double high,
                              cls_stream stream) {
    return uniform(random, out, low, high, stream, true);
}

cls_status cls_random_uniform_async(cls_random random, cls_array out, double low, double high,
                                    cls_stream stream) {
    return uniform(random, out, low, high, stream, false);
}

static cls_status normal(cls_random random, cls_array out, double mean, double deviation,
                         cls_stream stream, bool blocking) {
    struct draw_work work;
    cls_status status = draw_begin(&work, DRAW_NORMAL, random, &out, stream, blocking);
    if (status)
        return status;
    status = check_reals(&work, "normal");
    if (!status)
        status = add_moments(&work, mean, deviation);
    return draw_end(&work, status, blocking);
}

cls_status cls_random_normal(cls_random random, cls_array out, double mean, double deviation,
                             cls_stream stream) {
    return normal(random, out, mean, deviation, stream, true);
}

cls_status cls_random_normal_async(cls_random random, cls_array out, double mean, double deviation,
                                   cls_stream stream) {
    return normal(random, out, mean, deviation, stream, false);
}

static cls_status integers(cls_random random, cls_array out, uint64_t n, cls_stream stream,
                           bool blocking) {
    struct draw_work work;
    cls_status status = draw_begin(&work, DRAW_BITS, random, &out, stream, blocking);
    if (status)
        return status;
    if (type_row(out.dtype)->is_float)
        status = refuse_type("integers", out.dtype);
    else
        status = add_limit(&work, n);
    return draw_end(&work, status, blocking);
}

cls_status cls_random_integers(cls_random random, cls_array out, uint64_t n, cls_stream stream) {
    return integers(random, out, n, stream, true);
}

cls_status cls_random_integers_async(cls_random random, cls_array out, uint64_t n,
                                     cls_stream stream) {
    return integers(random, out, n, stream, false);
}

static cls_status bernoulli(cls_random random, cls_array out, double probability, cls_stream stream,
                            bool blocking) {
    struct draw_work work;
    cls_status status = draw_begin(&work, DRAW_BERNOULLI, random, &out, stream, blocking);
    if (status)
        return status;
    if (out.dtype != CLS_U8)
        status = refuse_type("bernoulli", out.dtype);
    else
        status = add_threshold(&work, probability);
    return draw_end(&work, status, blocking);
}

cls_status cls_random_bernoulli(cls_random random, cls_array out, double probability,
                                cls_stream stream) {
    return bernoulli(random, out, probability, stream, true);
}

cls_status cls_random_bernoulli_async(cls_random random, cls_array out, double probability,
                                      cls_stream stream) {
    return bernoulli(random, out, probability, stream, false);
}

static cls_status dropout(cls_random random, const cls_array *in, const cls_array *mask,
                          const cls_array *out, double probability, cls_stream stream,
                          bool blocking) {
    struct draw_work work = {.which = mask->buffer ? DRAW_DROPOUT_MASK : DRAW_DROPOUT};
    const cls_array *const views[] = {in, mask->buffer ? mask : out, out};
    cls_status status = random_begin(random, &work.random, &work.call, stream, views,
                                     mask->buffer ? 3 : 2, blocking);
    if (status)
        return status;
    status = check_dropout(&work);
    if (!status)
        status = add_threshold(&work, probability);
    if (!status)
        add_real(&work, random_dropout_factor(probability));
    return draw_end(&work, status, blocking);
}

cls_status cls_dropout(cls_random random, cls_array in, cls_array mask, cls_array out,
                       double probability, cls_stream stream) {
    return dropout(random, &in, &mask, &out, probability, stream, true);
}

cls_status cls_dropout_async(cls_random random, cls_array in, cls_array mask, cls_array out,
                             double probability, cls_stream stream) {
    return dropout(random, &in, &mask, &out, probability, stream, false);
}

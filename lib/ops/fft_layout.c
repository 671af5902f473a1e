/* SPDX-License-Identifier: MIT */
/* The options of plans, and where the numbers of signals and spectra lie. */
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "ops/fft.h"

static cls_status check_shape(const cls_fft_config *config) {
    if (config->dims < 1 || config->dims > 3)
        return error_set(CLS_ERROR_INVALID_VALUE, "an FFT plan has 1 to 3 dimensions, not %u",
                         config->dims);
    for (unsigned i = 0; i < config->dims; i++)
        if (!config->lengths[i])
            return error_set(CLS_ERROR_INVALID_VALUE, "an FFT plan of length 0 in dimension %u", i);
    if (!config->batches)
        return error_set(CLS_ERROR_INVALID_VALUE, "an FFT plan of 0 batches");
    return CLS_SUCCESS;
}

static cls_status fft_check_kind(const cls_fft_config *config) {
    if (config->kind != CLS_FFT_COMPLEX && config->kind != CLS_FFT_REAL)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_fft_kind", (int)config->kind);
    if (config->directions < CLS_FFT_FORWARD || config->directions > CLS_FFT_BOTH)
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_fft_direction",
                         (int)config->directions);
    if (!cls_dtype_size(config->dtype))
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_dtype", (int)config->dtype);
    if (config->dtype == CLS_F16 || config->dtype == CLS_BF16)
        return error_set(CLS_ERROR_UNSUPPORTED, "VkFFT has no %s on OpenCL",
                         cls_dtype_name(config->dtype));
    if (config->dtype != CLS_F32 && config->dtype != CLS_F64)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "an FFT plan of %s",
                         cls_dtype_name(config->dtype));
    return CLS_SUCCESS;
}

/* A stride of 0 is that of dense numbers; a given one must step over `least`. */
static cls_status take_stride(const char *side, const char *what, size_t least, size_t *stride) {
    if (!*stride)
        *stride = least;
    if (*stride >= least)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_VALUE, "an FFT plan's %s: a %s of %zu steps over %zu", side,
                     what, *stride, least);
}

/* The most elements of a side: VkFFT's indices have 32 bits. */
static cls_status too_many(void) {
    return error_set(CLS_ERROR_OUT_OF_RANGE, "an FFT plan of more than 2^32 elements");
}

/* Counts elements from the first to the last. The caller's strides are given in the order of its lengths. */
static cls_status fft_lay_out(const cls_fft_config *config, const char *name,
                              cls_fft_layout *layout, struct fft_side *side) {
    const unsigned dims = config->dims;
    size_t extent = side->lengths[0]; /* numbers */
    cls_status status = CLS_SUCCESS;
    if (layout->strides[dims - 1] > 1)
        return error_set(CLS_ERROR_INVALID_VALUE, "an FFT plan's %s: the last stride is %zu, not 1",
                         name, layout->strides[dims - 1]);
    layout->strides[dims - 1] = 1;
    for (unsigned i = 1; i < dims && !status; i++) {
        size_t *stride = &layout->strides[dims - 1 - i], reach;
        status = take_stride(name, "stride", extent, stride);
        side->strides[i - 1] = *stride;
        if (!status && (__builtin_mul_overflow(side->lengths[i] - 1, *stride, &reach) ||
                        __builtin_add_overflow(reach, extent, &extent)))
            status = too_many();
    }
    if (status)
        return status;
    /* The next transform may begin right behind the last gap. */
    side->extent = extent * side->pair;
    status = take_stride(name, "distance", extent, &layout->distance);
    side->strides[2] = layout->distance;
    size_t reach;
    if (__builtin_mul_overflow(config->batches - 1, layout->distance, &reach) ||
        __builtin_add_overflow(reach, extent, &extent) || extent > UINT32_MAX / side->pair)
        return status ? status : too_many();
    side->count = extent * side->pair;
    return status;
}

static void set_lengths(const cls_fft_config *config, struct fft_plan *plan) {
    for (unsigned s = 0; s < FFT_SIDES; s++) {
        struct fft_side *side = &plan->sides[s];
        side->pair = s == FFT_SPECTRUM || config->kind == CLS_FFT_COMPLEX ? 2 : 1;
        for (unsigned i = 0; i < 3; i++)
            side->lengths[i] = i < config->dims ? config->lengths[config->dims - 1 - i] : 1;
    }
    if (config->kind == CLS_FFT_REAL)
        plan->sides[FFT_SPECTRUM].lengths[0] = plan->sides[FFT_SIGNAL].lengths[0] / 2 + 1;
}

cls_status fft_read_config(const cls_fft_config *given, struct fft_plan *plan) {
    cls_fft_config *config = &plan->config;
    *config = (cls_fft_config)CLS_FFT_CONFIG_INIT;
    cls_status status = SIZED_IN(cls_fft_config, config, given);
    if (!status)
        status = check_shape(config);
    if (!status)
        status = fft_check_kind(config);
    if (status)
        return status;
    config->size = sizeof *config;
    set_lengths(config, plan);
    status = fft_lay_out(config, "signal", &config->signal, &plan->sides[FFT_SIGNAL]);
    return status ? status
                  : fft_lay_out(config, "spectrum", &config->spectrum, &plan->sides[FFT_SPECTRUM]);
}

struct byte_span fft_span(const struct fft_plan *plan, const struct fft_side *side, size_t offset) {
    const size_t element = cls_dtype_size(plan->config.dtype), number = element * side->pair;
    const size_t row = side->lengths[0] * number, batches = plan->config.batches;
    const size_t strides[3] = {side->strides[0] * number, side->strides[1] * number,
                               side->strides[2] * number};
    struct byte_span span = {offset * element, row, strides[2], batches, row, 1};
    if (plan->config.dims == 1)
        return span;
    span = (struct byte_span){offset * element, row,        strides[0],
                              side->lengths[1], strides[2], batches};
    if (plan->config.dims == 2)
        return span;
    if (side->strides[1] == side->strides[0] * side->lengths[1]) {
        span.height *= side->lengths[2];
    } else { /* with what is between the rows of a plane */
        span.width += (side->lengths[1] - 1) * strides[0];
        span.pitch = strides[1];
        span.height = side->lengths[2];
    }
    return span;
}

size_t fft_place_of(const struct fft_side *side, const size_t index[3], size_t batch) {
    return (index[0] + index[1] * side->strides[0] + index[2] * side->strides[1] +
            batch * side->strides[2]) *
           side->pair;
}

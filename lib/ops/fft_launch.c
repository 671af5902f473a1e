/* SPDX-License-Identifier: MIT */
/* The launches of a plan on the arrays of a call, and what those must be. */
#include "ops/fft.h"

#include <string.h>

#include "base/error.h"
#include "memory/buffer.h"
#include "stream/command.h"
#include "stream/context.h"

enum { SCRATCH_ALIGN = 256 };

static size_t aligned(size_t bytes) {
    return (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
}

static const struct fft_side *fft_side_of(const struct fft_plan *plan, cls_fft_direction direction,
                                          unsigned view) {
    const bool is_signal = (view == 0) == (direction == CLS_FFT_FORWARD);
    return &plan->sides[is_signal ? FFT_SIGNAL : FFT_SPECTRUM];
}

static const struct fft_way *fft_way_of(const struct fft_plan *plan, cls_fft_direction direction) {
    return &plan->ways[direction == CLS_FFT_FORWARD ? FFT_FORWARD : FFT_INVERSE];
}

/* --- checks --- */

static const char *fft_side_name(const struct fft_plan *plan, const struct fft_side *side) {
    return side == &plan->sides[FFT_SIGNAL] ? "signal" : "spectrum";
}

static cls_status check_view(const struct fft_plan *plan, const struct op_view *view,
                             const struct fft_side *side) {
    if (view->buffer->context != plan->context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "fft: the plan is of another context");
    if (view->dtype != plan->config.dtype)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "fft: a %s of %s for a plan of %s",
                         fft_side_name(plan, side), cls_dtype_name(view->dtype),
                         cls_dtype_name(plan->config.dtype));
    if (view->count != side->count)
        return error_set(CLS_ERROR_SIZE_MISMATCH,
                         "fft: a %s of %zu elements; that of the plan has %zu",
                         fft_side_name(plan, side), view->count, side->count);
    return CLS_SUCCESS;
}

static cls_status fft_check_place(const struct fft_plan *plan, const struct op_view *view,
                                  const struct fft_side *side) {
    if (view->offset % 2)
        return error_set(CLS_ERROR_INVALID_VALUE, "fft: a %s that begins at the odd element %zu",
                         fft_side_name(plan, side), view->offset);
    if ((uint64_t)view->offset + side->count > (uint64_t)UINT32_MAX + 1)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "fft: a %s that ends beyond element 2^32",
                         fft_side_name(plan, side));
    return CLS_SUCCESS;
}

/* Whether each row of one side begins where that of the other does. */
static bool fit_in_place(const struct fft_plan *plan) {
    const struct fft_side *a = &plan->sides[FFT_SIGNAL], *b = &plan->sides[FFT_SPECTRUM];
    const size_t counts[3] = {plan->config.dims > 1 ? a->lengths[1] : 1,
                              plan->config.dims > 2 ? a->lengths[2] : 1, plan->config.batches};
    bool fit = true;
    for (unsigned i = 0; i < 3; i++)
        fit = fit && (counts[i] == 1 || a->strides[i] * a->pair == b->strides[i] * b->pair);
    return fit;
}

static cls_status fft_check_overlap(const struct fft_plan *plan, cls_fft_direction direction,
                                    const struct op_call *call) {
    const struct op_view *in = &call->views[0], *out = &call->views[1];
    const struct byte_span spans[] = {fft_span(plan, fft_side_of(plan, direction, 0), in->offset),
                                      fft_span(plan, fft_side_of(plan, direction, 1), out->offset)};
    if (!buffer_spans_overlap(in->buffer, spans[0], out->buffer, spans[1]) ||
        (op_view_start(in) == op_view_start(out) && fit_in_place(plan)))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_OVERLAP, "fft: input and output overlap without being the same, row "
                                        "by row");
}

static cls_status check_direction(const struct fft_plan *plan, cls_fft_direction direction) {
    if (direction != CLS_FFT_FORWARD && direction != CLS_FFT_INVERSE)
        return error_set(CLS_ERROR_INVALID_VALUE, "fft: %d is no direction of a transform",
                         (int)direction);
    if (!fft_way_of(plan, direction)->recipe)
        return error_set(CLS_ERROR_INVALID_VALUE, "fft: the plan has no %s transform",
                         direction == CLS_FFT_FORWARD ? "forward" : "inverse");
    return CLS_SUCCESS;
}

/* --- launches --- */

/* Where memory of a place begins in its buffer, in bytes. */
static size_t start_of(const struct fft_way *way, const struct op_call *call,
                       enum fft_place place) {
    const enum fft_place beside = way->recipe->beside_input,
                         first = beside == FFT_TEMPORARY ? FFT_TEMPORARY : FFT_WORK;
    const size_t start = beside == FFT_PLACES ? 0 : call->views[FFT_INPUT].address;
    if (place == first)
        return start;
    if (place == FFT_WORK || place == FFT_TEMPORARY)
        return aligned(start + way->scratch_bytes[first - FFT_WORK]);
    return place == FFT_INPUT || place == FFT_OUTPUT ? call->views[place == FFT_OUTPUT].address : 0;
}

static struct op_arg memory_arg(const struct fft_way *way, const struct fft_memory *memory,
                                const struct byte_span *spans, bool writes,
                                const struct op_call *call) {
    const size_t start = start_of(way, call, memory->place);
    if (memory->place == FFT_TABLE)
        return op_arg_part(way->tables[memory->number].buffer, writes, 0, memory->bytes);
    if (memory->place == FFT_WORK || memory->place == FFT_TEMPORARY)
        return op_arg_part(call->scratch, writes, start, memory->bytes);
    return op_arg_span(call->views[memory->place].buffer, writes, &spans[memory->place]);
}

/* The pair of integers by which a launch knows where its first two arguments' memory begins. */
static struct op_arg pair_arg(const struct fft_way *way, const struct fft_step *step,
                              const struct op_call *call) {
    unsigned char bytes[FFT_VALUE];
    for (unsigned i = 0; i < FFT_SIDES; i++) {
        const struct fft_memory *memory = step->args[i].memory;
        const uint64_t wide =
            step->units[i] ? start_of(way, call, memory->place) / step->units[i] : 0;
        const uint32_t narrow = (uint32_t)wide;
        if (step->word == sizeof wide)
            memcpy(bytes + i * sizeof wide, &wide, sizeof wide);
        else
            memcpy(bytes + i * sizeof narrow, &narrow, sizeof narrow);
    }
    return op_arg_value(bytes, FFT_SIDES * step->word);
}

static cls_status fft_launch_step(const struct fft_way *way, const struct fft_step *step,
                                  const struct byte_span *spans, struct op_call *call) {
    struct op_arg args[FFT_ARGS];
    for (unsigned i = 0; i < step->n_args; i++) {
        const struct fft_argument *arg = &step->args[i];
        if (arg->memory)
            args[i] = memory_arg(way, arg->memory, spans, i == 1, call);
        else if (step->word)
            args[i] = pair_arg(way, step, call);
        else
            args[i] = op_arg_value(arg->bytes, arg->size);
    }
    struct launch_shape shape = {.dims = 3, .has_local = true, .items = 1};
    for (unsigned i = 0; i < 3; i++) {
        shape.global[i] = step->global[i];
        shape.local[i] = step->local[i];
        shape.items *= step->global[i];
    }
    return op_launch_grid(call, way->kernels[step->kernel->number], args, step->n_args, &shape);
}

cls_status fft_prepare(const struct fft_way *way, const struct fft_step *step,
                       struct op_call *call) {
    return fft_launch_step(way, step, NULL, call);
}

static cls_status fft_submit(const struct fft_plan *plan, cls_fft_direction direction,
                             struct op_call *call) {
    const struct fft_way *way = fft_way_of(plan, direction);
    const struct byte_span spans[] = {
        fft_span(plan, fft_side_of(plan, direction, 0), call->views[0].offset),
        fft_span(plan, fft_side_of(plan, direction, 1), call->views[1].offset)};
    size_t bytes = 0;
    for (unsigned i = 0; i < 2; i++) {
        const size_t end =
            start_of(way, call, (enum fft_place)(FFT_WORK + i)) + way->scratch_bytes[i];
        bytes = way->scratch_bytes[i] && end > bytes ? end : bytes;
    }
    struct buffer *scratch;
    cls_status status = bytes ? op_scratch(call, bytes, &scratch) : CLS_SUCCESS;
    for (const struct fft_step *step = way->recipe->steps; step && !status; step = step->next)
        if (!step->prepares)
            status = fft_launch_step(way, step, spans, call);
    return status;
}

cls_status fft_transform(const struct fft_plan *plan, const cls_array *const views[2],
                         cls_fft_direction direction, cls_stream stream, bool blocking) {
    struct op_call call;
    cls_status status = context_check(plan->context);
    if (!status)
        status = check_direction(plan, direction);
    if (!status)
        status = op_begin(&call, stream, views, 2, blocking);
    if (status)
        return status;
    for (unsigned i = 0; i < 2 && !status; i++)
        status = check_view(plan, &call.views[i], fft_side_of(plan, direction, i));
    if (!status)
        status = fft_check_overlap(plan, direction, &call);
    for (unsigned i = 0; i < 2 && !status; i++)
        status = fft_check_place(plan, &call.views[i], fft_side_of(plan, direction, i));
    if (!status)
        status = fft_submit(plan, direction, &call);
    return op_end(&call, status, blocking);
}

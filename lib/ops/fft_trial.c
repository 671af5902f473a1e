/* SPDX-License-Identifier: MIT */
/*
 * The trial of a plan. Input is 0 but for a few impulses in each transform, so that an output is a sum of as many terms and
 * cheap to find, while every step of the transform has to be right for it. Outputs are compared in a few windows of a
 * row each, of the first transform, the last one and others.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/buffer.h>

#include "base/error.h"
#include "memory/buffer.h"
#include "ops/fft.h"
#include "stream/context.h"

enum { IMPULSES = 4, WINDOWS = 16, WINDOW = 256, MOST_LOG = 28, IN_AT = 6, OUT_AT = 10 };

struct impulse {
    size_t index[3];
    double re, im;
};

struct fft_trial {
    const struct fft_plan *plan;
    const struct fft_side *in, *out;
    bool inverse;
    uint64_t seed;
    cls_buffer memory[2];
    struct impulse
        impulses[IMPULSES]; /* of the transform at hand: a function of the seed and its number */
    double most;            /* the sum of their sizes */
};

/* From 0 to below n. */
static size_t fft_draw(uint64_t *state, size_t n) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)((*state >> 33) % n);
}

/* Of half a spectrum, an impulse stands for its mirror image too; those that are their own, or whose image is in memory as
 * well, are left out, but for the first number of all. */
static void draw_impulses(struct fft_trial *trial, size_t batch) {
    uint64_t state = trial->seed + batch * 7919;
    const struct fft_side *signal = &trial->plan->sides[FFT_SIGNAL];
    const bool half = trial->inverse && trial->plan->config.kind == CLS_FFT_REAL;
    const size_t inner = half ? (signal->lengths[0] - 1) / 2 : trial->in->lengths[0];
    trial->most = 0;
    for (unsigned i = 0; i < IMPULSES; i++) {
        struct impulse *p = &trial->impulses[i];
        const bool first = half && (!i || !inner);
        for (unsigned d = 0; d < 3; d++)
            p->index[d] = first ? 0 : fft_draw(&state, trial->in->lengths[d]);
        if (half && !first)
            p->index[0] = 1 + fft_draw(&state, inner);
        p->re = first && i ? 0 : (double)fft_draw(&state, 16) / 8 - 1;
        p->im = trial->in->pair == 1 || first ? 0 : (double)fft_draw(&state, 16) / 8 - 1;
        trial->most += fabs(p->re) + fabs(p->im);
    }
}

static void trial_put(const struct fft_trial *trial, unsigned char *bytes, double re, double im) {
    const double wide[2] = {re, im};
    const float narrow[2] = {(float)re, (float)im};
    const bool f64 = trial->plan->config.dtype == CLS_F64;
    memcpy(bytes, f64 ? (const void *)wide : narrow, (f64 ? sizeof(double) : sizeof(float)) * 2);
}

static double trial_get(const struct fft_trial *trial, const unsigned char *bytes) {
    double wide;
    float narrow;
    if (trial->plan->config.dtype == CLS_F64) {
        memcpy(&wide, bytes, sizeof wide);
        return wide;
    }
    memcpy(&narrow, bytes, sizeof narrow);
    return narrow;
}

/* Impulses at one place add up. */
static cls_status write_batch(struct fft_trial *trial, size_t batch) {
    const size_t element = cls_dtype_size(trial->plan->config.dtype);
    cls_status status = CLS_SUCCESS;
    draw_impulses(trial, batch);
    for (unsigned i = 0; i < IMPULSES && !status; i++) {
        const struct impulse *p = &trial->impulses[i];
        unsigned char bytes[2 * sizeof(double)];
        double re = 0, im = 0;
        for (unsigned j = 0; j < IMPULSES; j++)
            if (!memcmp(p->index, trial->impulses[j].index, sizeof p->index)) {
                re += trial->impulses[j].re;
                im += trial->impulses[j].im;
            }
        trial_put(trial, bytes, re, im);
        status = cls_copy_h2d(trial->memory[0],
                              (IN_AT + fft_place_of(trial->in, p->index, batch)) * element, bytes,
                              element * trial->in->pair, NULL);
    }
    return status;
}

/* The output at `index`, which the impulses give. */
static void expected(const struct fft_trial *trial, const size_t index[3], double out[2]) {
    const struct fft_side *signal = &trial->plan->sides[FFT_SIGNAL];
    const bool real = trial->out->pair == 1;
    double scale = 1;
    out[0] = out[1] = 0;
    for (unsigned i = 0; i < IMPULSES; i++) {
        const struct impulse *p = &trial->impulses[i];
        double turns = 0;
        for (unsigned d = 0; d < 3; d++) {
            const uint64_t n = signal->lengths[d];
            turns += (double)((uint64_t)p->index[d] * index[d] % n) / (double)n;
        }
        const double angle = (trial->inverse ? 2 : -2) * 3.14159265358979323846 * turns;
        const double c = cos(angle), s = sin(angle), image = real && p->index[0] ? 2 : 1;
        out[0] += image * (p->re * c - p->im * s);
        out[1] += p->re * s + p->im * c;
    }
    for (unsigned d = 0; d < 3 && trial->inverse && trial->plan->config.normalize; d++)
        scale /= (double)signal->lengths[d];
    out[0] *= scale;
    out[1] *= scale;
}

/* The bound of the contract, as it is for one number: as loose as a wrong result is not. */
static bool is_near(const struct fft_trial *trial, const double want[2], const double got[2]) {
    const struct fft_side *signal = &trial->plan->sides[FFT_SIGNAL];
    const double eps = trial->plan->config.dtype == CLS_F64 ? 0x1p-53 : 0x1p-24;
    double n = 1, scale = 1;
    for (unsigned d = 0; d < 3; d++)
        n *= (double)signal->lengths[d];
    if (trial->inverse && trial->plan->config.normalize)
        scale = 1 / n;
    const double bound = 64 * eps * log2(2 * n) * (2 * trial->most + 1) * scale;
    return fabs(want[0] - got[0]) <= bound &&
           (trial->out->pair == 1 || fabs(want[1] - got[1]) <= bound);
}

static cls_status compare_window(const struct fft_trial *trial, uint64_t *state, size_t batch,
                                 bool *is_right) {
    const size_t element = cls_dtype_size(trial->plan->config.dtype),
                 number = element * trial->out->pair, row = trial->out->lengths[0];
    unsigned char bytes[WINDOW * 2 * sizeof(double)];
    const size_t count = row < WINDOW ? row : WINDOW;
    size_t index[3] = {fft_draw(state, row - count + 1), fft_draw(state, trial->out->lengths[1]),
                       fft_draw(state, trial->out->lengths[2])};
    cls_status status = cls_copy_d2h(bytes, trial->memory[1],
                                     (OUT_AT + fft_place_of(trial->out, index, batch)) * element,
                                     count * number, NULL);
    for (size_t i = 0; i < count && !status && *is_right; i++) {
        double want[2], got[2] = {trial_get(trial, bytes + i * number), 0};
        if (trial->out->pair == 2)
            got[1] = trial_get(trial, bytes + i * number + element);
        expected(trial, index, want);
        *is_right = is_near(trial, want, got);
        index[0]++;
    }
    return status;
}

/* The transforms that are looked at: the first, the last, and others. */
static size_t batch_of(const struct fft_trial *trial, unsigned i) {
    const size_t batches = trial->plan->config.batches;
    uint64_t state = trial->seed + i;
    return i % 4 == 0 ? 0 : i % 4 == 1 ? batches - 1 : fft_draw(&state, batches);
}

static cls_status fft_trial_run(struct fft_trial *trial, cls_fft_direction direction,
                                bool *is_right) {
    const cls_dtype dtype = trial->plan->config.dtype;
    const cls_array in = cls_array_at(trial->memory[0], dtype, IN_AT, trial->in->count),
                    out = cls_array_at(trial->memory[1], dtype, OUT_AT, trial->out->count);
    const cls_array *const views[] = {&in, &out};
    const uint32_t zero = 0;
    uint64_t state = trial->seed;
    cls_status status = cls_fill_async(
        trial->memory[0], 0, (IN_AT + in.count) * cls_dtype_size(dtype), &zero, sizeof zero, NULL);
    for (unsigned i = 0; i < WINDOWS && !status; i++)
        status = write_batch(trial, batch_of(trial, i));
    if (!status)
        status = fft_transform(trial->plan, views, direction, NULL, true);
    for (unsigned i = 0; i < WINDOWS && !status && *is_right; i++) {
        draw_impulses(trial, batch_of(trial, i));
        status = compare_window(trial, &state, batch_of(trial, i), is_right);
    }
    return status;
}

cls_status fft_try(const struct fft_plan *plan, cls_context context, cls_fft_direction direction) {
    const size_t element = cls_dtype_size(plan->config.dtype);
    struct fft_trial trial = {.plan = plan, .inverse = direction == CLS_FFT_INVERSE, .seed = 1};
    bool is_right = true;
    trial.in = &plan->sides[trial.inverse ? FFT_SPECTRUM : FFT_SIGNAL];
    trial.out = &plan->sides[trial.inverse ? FFT_SIGNAL : FFT_SPECTRUM];
    if ((trial.in->count + trial.out->count) * element > (size_t)1 << MOST_LOG)
        return CLS_SUCCESS;
    cls_status status = buffer_create_owned(context, (IN_AT + trial.in->count) * element,
                                            "the trial of an FFT plan", &trial.memory[0]);
    if (!status) {
        status = buffer_create_owned(context, (OUT_AT + trial.out->count) * element,
                                     "the trial of an FFT plan", &trial.memory[1]);
        if (!status) {
            status = fft_trial_run(&trial, direction, &is_right);
            buffer_destroy_owned(trial.memory[1]);
        }
        buffer_destroy_owned(trial.memory[0]);
    }
    if (!status && !is_right)
        status = error_set(CLS_ERROR_UNSUPPORTED,
                           "VkFFT's %s transform of this shape was tried on this device and was "
                           "wrong",
                           trial.inverse ? "inverse" : "forward");
    return status;
}

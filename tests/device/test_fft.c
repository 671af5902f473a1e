/* SPDX-License-Identifier: MIT */
/*
 * Transforms against sums of doubles on the host: complex and real, one to three dimensions, batches, layouts with gaps, in
 * place, both directions, lengths of every kind of factor; long ones by what must hold of them.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"
#include "arrays.h"

static const double pi = 3.14159265358979323846;

struct shape {
    cls_fft_kind kind;
    cls_dtype dtype;
    unsigned dims;
    size_t lengths[3], batches, gap; /* numbers between rows, planes and transforms */
    size_t offset;
    bool normalize, in_place;
};

/* --- the host's numbers: complex, dense, of a batch --- */

static size_t total(const struct shape *shape) {
    size_t n = 1;
    for (unsigned i = 0; i < shape->dims; i++)
        n *= shape->lengths[i];
    return n;
}

static double draw(void) {
    static unsigned state = 99991;
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / (1 << 23) - 1;
}

/* A sum of n terms for each of n results, along lines of numbers `step` apart. */
static void transform_line(double *x, size_t n, size_t step, double sign, double *temporary) {
    for (size_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (size_t j = 0; j < n; j++) {
            const double angle = sign * 2 * pi * (double)(j * k % n) / (double)n;
            const double c = cos(angle), s = sin(angle), *a = x + 2 * j * step;
            re += a[0] * c - a[1] * s;
            im += a[0] * s + a[1] * c;
        }
        temporary[2 * k] = re;
        temporary[2 * k + 1] = im;
    }
    for (size_t k = 0; k < n; k++)
        memcpy(x + 2 * k * step, temporary + 2 * k, 2 * sizeof *x);
}

static void transform(const struct shape *shape, double *x, double sign) {
    const size_t n = total(shape);
    double *temporary = calloc(2 * n, sizeof *x);
    assert_non_null(temporary);
    for (size_t b = 0; b < shape->batches; b++) {
        size_t step = 1;
        for (unsigned i = shape->dims; i-- > 0;) {
            const size_t length = shape->lengths[i];
            for (size_t at = 0; at < n; at++)
                if (at / step % length == 0)
                    transform_line(x + 2 * (b * n + at), length, step, sign, temporary);
            step *= length;
        }
    }
    free(temporary);
}

static double *random_signal(const struct shape *shape) {
    const size_t n = total(shape) * shape->batches;
    double *made = calloc(2 * n, sizeof *made);
    assert_non_null(made);
    for (size_t i = 0; i < n; i++) {
        made[2 * i] = (double)(float)draw();
        made[2 * i + 1] = shape->kind == CLS_FFT_REAL ? 0 : (double)(float)draw();
    }
    return made;
}

/* --- the device's memory --- */

/* Elements of both sides, at these strides in numbers. */
struct side {
    bool real;
    size_t row, strides[4]; /* as the shape's dimensions, then the distance */
};

static struct side side_of(const struct shape *shape, bool spectrum, cls_fft_layout *layout) {
    const size_t last = shape->lengths[shape->dims - 1];
    struct side side = {.real = shape->kind == CLS_FFT_REAL && !spectrum};
    size_t reach;
    side.row = shape->kind == CLS_FFT_REAL && spectrum ? last / 2 + 1 : last;
    reach = side.row;
    if (side.real && shape->in_place) /* as long as a row of the spectrum */
        reach = 2 * (last / 2 + 1);
    side.strides[shape->dims - 1] = 1;
    const size_t gap = side.real ? 2 * shape->gap : shape->gap;
    for (unsigned i = shape->dims - 1; i-- > 0;) {
        side.strides[i] = reach + gap;
        reach = side.strides[i] * shape->lengths[i];
    }
    side.strides[3] = reach + gap;
    for (unsigned i = 0; i < shape->dims; i++)
        layout->strides[i] = shape->gap || shape->in_place ? side.strides[i] : 0;
    layout->distance = shape->gap || shape->in_place ? side.strides[3] : 0;
    return side;
}

/* Where number `i` of the dense, whole array lies; SIZE_MAX: the half that is not in memory. */
static size_t place(const struct shape *shape, const struct side *side, size_t i) {
    const size_t n = total(shape);
    size_t at = i / n * side->strides[3], rest = i % n;
    for (unsigned d = shape->dims; d-- > 0;) {
        const size_t index = rest % shape->lengths[d];
        if (d == shape->dims - 1 && index >= side->row)
            return SIZE_MAX;
        at += index * side->strides[d];
        rest /= shape->lengths[d];
    }
    return side->real ? at : 2 * at;
}

static void put(cls_dtype dtype, void *to, size_t i, double value) {
    if (dtype == CLS_F64)
        ((double *)to)[i] = value;
    else
        ((float *)to)[i] = (float)value;
}

static double get(cls_dtype dtype, const void *from, size_t i) {
    return dtype == CLS_F64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

enum { FILLER = 77 };

static void *scatter(const struct shape *shape, const struct side *side, size_t count,
                     const double *x) {
    void *made = calloc(count, cls_dtype_size(shape->dtype));
    assert_non_null(made);
    for (size_t i = 0; i < count; i++)
        put(shape->dtype, made, i, FILLER);
    for (size_t i = 0; x && i < total(shape) * shape->batches; i++) {
        const size_t at = place(shape, side, i);
        if (at == SIZE_MAX)
            continue;
        put(shape->dtype, made, at, x[2 * i]);
        if (!side->real)
            put(shape->dtype, made, at + 1, x[2 * i + 1]);
    }
    return made;
}

/* Whether a prime factor is too large for VkFFT's own steps. */
static bool has_large_factor(const struct shape *shape) {
    bool found = false;
    for (unsigned d = 0; d < shape->dims; d++) {
        size_t n = shape->lengths[d];
        for (size_t p = 2; p <= 13; p++)
            while (n % p == 0)
                n /= p;
        found = found || n > 1;
    }
    return found;
}

/* VkFFT's kernels for f32 do on these vendors' GPUs. */
static bool uses_own_sine(void) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t device;
    OK(cls_context_get_device(NULL, &device));
    OK(cls_device_get_info(device, &info));
    return strstr(info.vendor, "NVIDIA") || strstr(info.vendor, "Advanced Micro Devices");
}

static double bound_of(const struct shape *shape) {
    const double eps = shape->dtype == CLS_F64 ? 0x1p-53 : 0x1p-24;
    return (has_large_factor(shape) || (shape->dtype == CLS_F32 && uses_own_sine()) ? 24 : 8) *
           eps * log2(2 * (double)total(shape));
}

/* In the norm; what lies between the numbers stays. */
static void compare(const struct shape *shape, const struct side *side, size_t count,
                    const double *want, const void *got, const char *what) {
    double error = 0, size = 0;
    size_t numbers = 0;
    for (size_t i = 0; i < total(shape) * shape->batches; i++) {
        const size_t at = place(shape, side, i);
        if (at == SIZE_MAX)
            continue;
        for (unsigned p = 0; p < (side->real ? 1 : 2u); p++) {
            const double difference = get(shape->dtype, got, at + p) - want[2 * i + p];
            error += difference * difference;
            size += want[2 * i + p] * want[2 * i + p];
            numbers++;
        }
    }
    if (!(sqrt(error) <= bound_of(shape) * sqrt(size)))
        fail_msg(
            "%s, %s, of %u dimensions, %zu x %zu x %zu, %zu batches, gaps of %zu%s: an error of "
            "%g, not %g",
            what, shape->kind == CLS_FFT_REAL ? "real" : "complex", shape->dims, shape->lengths[0],
            shape->lengths[1], shape->lengths[2], shape->batches, shape->gap,
            shape->in_place ? ", in place" : "", sqrt(error / size), bound_of(shape));
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        kept += get(shape->dtype, got, i) == FILLER;
    if (!shape->in_place)
        assert_true(kept + numbers >= count);
}

/* Random shapes may be some that VkFFT refuses, or computes wrongly, which the trial finds. */
static bool may_be_refused;
static unsigned refused;

static cls_fft_plan plan_of(const struct shape *shape, struct side sides[2], size_t counts[2]) {
    cls_fft_config config = CLS_FFT_CONFIG_INIT;
    cls_fft_plan_info info = CLS_FFT_PLAN_INFO_INIT;
    cls_fft_plan plan;
    config.kind = shape->kind;
    config.dtype = shape->dtype;
    config.dims = shape->dims;
    memcpy(config.lengths, shape->lengths, sizeof config.lengths);
    config.batches = shape->batches;
    config.normalize = shape->normalize;
    sides[0] = side_of(shape, false, &config.signal);
    sides[1] = side_of(shape, true, &config.spectrum);
    const cls_status status = cls_fft_plan_create(NULL, &config, &plan);
    if (status == CLS_ERROR_UNSUPPORTED && may_be_refused)
        return NULL;
    OK(status);
    OK(cls_fft_plan_get_info(plan, &info));
    assert_true(info.kind == shape->kind && info.dtype == shape->dtype &&
                info.normalize == shape->normalize);
    assert_true(info.dims == shape->dims && info.batches == shape->batches &&
                info.directions == CLS_FFT_BOTH);
    for (unsigned i = 0; i < shape->dims; i++) {
        assert_int_equal(info.lengths[i], shape->lengths[i]);
        assert_int_equal(info.signal.strides[i], sides[0].strides[i]);
        assert_int_equal(info.spectrum.strides[i], sides[1].strides[i]);
    }
    assert_int_equal(info.spectrum.distance, sides[1].strides[3]);
    counts[0] = info.signal_count;
    counts[1] = info.spectrum_count;
    assert_true(info.launches[0] >= 1 && info.launches[1] >= 1);
    return plan;
}

static cls_array part_of(cls_array view, size_t count) {
    view.count = count;
    return view;
}

/* From `x` to `want`; direction 0 is forward. */
static void check_direction(const struct shape *shape, cls_fft_plan plan,
                            const struct side sides[2], const size_t counts[2], int direction,
                            const double *x, const double *want) {
    const struct side *in = &sides[direction], *out = &sides[!direction];
    const size_t most = counts[0] > counts[1] ? counts[0] : counts[1];
    const size_t n_in = shape->in_place ? most : counts[direction],
                 n_out = shape->in_place ? most : counts[!direction];
    void *bytes = scatter(shape, in, n_in, x), *blank = scatter(shape, out, n_out, NULL);
    cls_array from = view_make(shape->dtype, shape->offset, n_in, bytes), to = from;
    if (!shape->in_place)
        to = view_make(shape->dtype, 2 * shape->offset, n_out, blank);
    OK((direction ? cls_fft_async : cls_fft)(plan, part_of(from, counts[direction]),
                                             part_of(to, counts[!direction]),
                                             direction ? CLS_FFT_INVERSE : CLS_FFT_FORWARD, NULL));
    OK(cls_stream_synchronize(NULL));
    void *got = view_take(to);
    compare(shape, out, n_out, want, got, direction ? "an inverse transform" : "a transform");
    free(got);
    if (!shape->in_place) {
        got = view_take(from);
        assert_memory_equal(got, bytes, n_in * cls_dtype_size(shape->dtype));
        free(got);
    }
    free(bytes);
    free(blank);
}

static void check_shape(const struct shape *shape) {
    struct side sides[2];
    size_t counts[2];
    cls_fft_plan plan = plan_of(shape, sides, counts);
    const size_t n = total(shape) * shape->batches;
    if (!plan) {
        refused++;
        return;
    }
    double *signal = random_signal(shape), *spectrum = calloc(2 * n, sizeof *spectrum);
    assert_non_null(spectrum);
    memcpy(spectrum, signal, 2 * n * sizeof *spectrum);
    transform(shape, spectrum, -1);
    check_direction(shape, plan, sides, counts, 0, signal, spectrum);
    if (!shape->normalize)
        for (size_t i = 0; i < 2 * n; i++)
            signal[i] *= (double)total(shape);
    check_direction(shape, plan, sides, counts, 1, spectrum, signal);
    free(signal);
    free(spectrum);
    OK(cls_fft_plan_destroy(plan));
}

/* The first ones; the others take the driver's compiler long and are left to long runs. */
enum { SHORT = 6 };

static const struct shape shapes[] = {
    {CLS_FFT_COMPLEX, CLS_F32, 1, {1001, 1, 1}, 3, 2, 2, true, false},
    {CLS_FFT_COMPLEX, CLS_F64, 1, {34, 1, 1}, 2, 0, 4, true, true},
    {CLS_FFT_COMPLEX, CLS_F64, 2, {12, 10, 1}, 2, 3, 2, false, false},
    {CLS_FFT_REAL, CLS_F32, 1, {100, 1, 1}, 4, 0, 2, true, false},
    {CLS_FFT_REAL, CLS_F32, 1, {45, 1, 1}, 3, 0, 0, false, true},
    {CLS_FFT_REAL, CLS_F32, 2, {9, 16, 1}, 3, 1, 2, true, false},
    {CLS_FFT_COMPLEX, CLS_F32, 1, {64, 1, 1}, 5, 0, 2, false, false},
    {CLS_FFT_COMPLEX, CLS_F64, 1, {97, 1, 1}, 2, 0, 4, true, true},
    {CLS_FFT_COMPLEX, CLS_F32, 3, {4, 6, 14}, 2, 0, 0, true, true},
    {CLS_FFT_REAL, CLS_F64, 1, {51, 1, 1}, 1, 1, 6, true, false},
    {CLS_FFT_REAL, CLS_F64, 3, {5, 4, 6}, 2, 0, 2, false, true}};

static void shapes_are_right(void **state) {
    const cls_dtype dtype = *(const cls_dtype *)*state;
    NEED_TYPE(dtype);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].dtype == dtype && (i < SHORT || effort_is_long()))
            check_shape(&shapes[i]);
}

/* Shapes of every kind, of lengths that are multiples of small primes, primes, or neither. */
static struct shape random_shape(void) {
    struct shape shape = {.kind = draw() < 0 ? CLS_FFT_REAL : CLS_FFT_COMPLEX,
                          .dtype = draw() < 0 && device_has_f64() ? CLS_F64 : CLS_F32,
                          .dims = 1 + (unsigned)((draw() + 1) * 1.49),
                          .lengths = {1, 1, 1},
                          .batches = 1 + (size_t)((draw() + 1) * 2.5),
                          .gap = draw() < 0 ? 0 : 2,
                          .offset = 2 * (size_t)((draw() + 1) * 4),
                          .normalize = draw() < 0,
                          .in_place = draw() < -0.3};
    const double most = shape.dims == 1 ? 1500 : shape.dims == 2 ? 40 : 12;
    for (unsigned d = 0; d < shape.dims; d++)
        shape.lengths[d] = 2 + (size_t)((draw() + 1) / 2 * most);
    /* Odd ones of real signals have to fit into local memory. */
    size_t *last = &shape.lengths[shape.dims - 1];
    if (shape.kind == CLS_FFT_REAL && *last > 500)
        *last &= ~(size_t)1;
    return shape;
}

static void random_shapes(void **state) {
    const int count = effort_is_long() ? 40 : 1;
    (void)state;
    may_be_refused = true;
    for (int i = 0; i < count; i++) {
        const struct shape shape = random_shape();
        check_shape(&shape);
    }
    may_be_refused = false;
    assert_true(refused <= (unsigned)count / 10);
}

/* --- long transforms: one frequency, and back again --- */

static void check_long(size_t n, cls_fft_kind kind) {
    const struct shape shape = {kind, CLS_F32, 1, {n, 1, 1}, 1, 0, 0, true, false};
    const size_t frequency = n / 3 + 1;
    const bool real = kind == CLS_FFT_REAL;
    struct side sides[2];
    size_t counts[2];
    cls_fft_plan plan = plan_of(&shape, sides, counts);
    float *signal = calloc(counts[0], sizeof *signal);
    assert_non_null(signal);
    for (size_t j = 0; j < n; j++) {
        const double angle = 2 * pi * (double)((uint64_t)j * frequency % n) / (double)n;
        signal[real ? j : 2 * j] = (float)cos(angle);
        if (!real)
            signal[2 * j + 1] = (float)sin(angle);
    }
    cls_array in = view_make(CLS_F32, 0, counts[0], signal),
              middle = view_make(CLS_F32, 0, counts[1], NULL),
              back = view_make(CLS_F32, 0, counts[0], NULL);
    OK(cls_fft_async(plan, in, middle, CLS_FFT_FORWARD, NULL));
    OK(cls_fft(plan, middle, back, CLS_FFT_INVERSE, NULL));
    float *spectrum = view_take(middle), *got = view_take(back);
    double error = 0, size = 0;
    for (size_t k = 0; k < counts[1] / 2; k++) {
        const double re = k == frequency ? (double)n / (real ? 2 : 1) : 0;
        error += pow((double)spectrum[2 * k] - re, 2) + pow((double)spectrum[2 * k + 1], 2);
        size += re * re;
    }
    assert_true(sqrt(error) <= bound_of(&shape) * sqrt(size));
    error = size = 0;
    for (size_t j = 0; j < counts[0]; j++) {
        error += pow((double)got[j] - (double)signal[j], 2);
        size += pow((double)signal[j], 2);
    }
    assert_true(sqrt(error) <= 2 * bound_of(&shape) * sqrt(size));
    free(signal);
    free(spectrum);
    free(got);
    view_destroy(in);
    OK(cls_fft_plan_destroy(plan));
}

static void long_transforms(void **state) {
    (void)state;
    if (device_is_oclgrind())
        SKIP_BECAUSE("an interpreter takes too long");
    check_long(1 << 16, CLS_FFT_REAL);
    if (!effort_is_long())
        return;
    check_long(1 << 17, CLS_FFT_COMPLEX);
    check_long(10007, CLS_FFT_COMPLEX);
    check_long(1 << 22, CLS_FFT_COMPLEX);
    check_long(1 << 20, CLS_FFT_REAL);
    check_long(99991, CLS_FFT_COMPLEX);
    check_long(360360, CLS_FFT_REAL);
}

/* --- streams, graphs --- */

static const struct shape small = {CLS_FFT_COMPLEX, CLS_F32, 1, {1024, 1, 1}, 2, 0, 0, true, false};

struct user {
    cls_fft_plan plan;
    const float *signal, *spectrum;
    size_t count;
    bool is_right;
};

/* Transforms of a signal and of its sum with itself by turns, there and back. */
static void *use_plan(void *arg) {
    struct user *user = arg;
    cls_stream stream;
    cls_buffer buffer;
    float *got = calloc(user->count, sizeof *got);
    const size_t bytes = user->count * sizeof *got;
    cls_status status = cls_stream_create(NULL, NULL, &stream);
    if (!status)
        status = cls_buffer_create(NULL, 2 * bytes, &buffer);
    user->is_right = got && !status;
    for (int i = 0; i < 20 && user->is_right; i++) {
        const cls_array in = cls_array_of(buffer, CLS_F32, user->count),
                        out = cls_array_at(buffer, CLS_F32, user->count, user->count);
        status = cls_copy_h2d_async(buffer, 0, user->signal, bytes, stream);
        if (!status)
            status = cls_fft_async(user->plan, in, out, CLS_FFT_FORWARD, stream);
        if (!status)
            status = cls_copy_d2h_async(got, buffer, bytes, bytes, stream);
        if (!status)
            status = cls_stream_synchronize(stream);
        user->is_right = !status && !memcmp(got, user->spectrum, bytes);
    }
    free(got);
    cls_buffer_destroy(buffer);
    cls_stream_destroy(stream);
    return NULL;
}

static void two_threads(void **state) {
    struct side sides[2];
    size_t counts[2];
    pthread_t threads[2];
    struct user users[2];
    float *signals[2], *spectra[2];
    (void)state;
    cls_fft_plan plan = plan_of(&small, sides, counts);
    for (int t = 0; t < 2; t++) {
        signals[t] = calloc(counts[0], sizeof *signals[t]);
        assert_non_null(signals[t]);
        for (size_t i = 0; i < counts[0]; i++)
            signals[t][i] = (float)draw();
        cls_array in = view_make(CLS_F32, 0, counts[0], signals[t]),
                  out = view_make(CLS_F32, 0, counts[1], NULL);
        OK(cls_fft(plan, in, out, CLS_FFT_FORWARD, NULL));
        spectra[t] = view_take(out);
        view_destroy(in);
        users[t] = (struct user){plan, signals[t], spectra[t], counts[0], false};
    }
    for (int t = 0; t < 2; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, use_plan, &users[t]), 0);
    for (int t = 0; t < 2; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_true(users[t].is_right);
        free(signals[t]);
        free(spectra[t]);
    }
    OK(cls_fft_plan_destroy(plan));
}

/* A captured transform takes what its buffers hold at each launch, and needs no plan any more. */
static void captured(void **state) {
    static const struct shape shape = {CLS_FFT_REAL, CLS_F32, 2, {9, 16, 1}, 3, 1, 2, true, false};
    struct side sides[2];
    size_t counts[2];
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    (void)state;
    cls_fft_plan plan = plan_of(&shape, sides, counts);
    double *signal = random_signal(&shape);
    float *bytes = scatter(&shape, &sides[0], counts[0], signal);
    cls_array in = view_make(CLS_F32, 0, counts[0], bytes),
              middle = view_make(CLS_F32, 2, counts[1], NULL),
              back = view_make(CLS_F32, 4, counts[0], NULL);
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "transforms"));
    OK(cls_fft_async(plan, in, middle, CLS_FFT_FORWARD, stream));
    OK(cls_fft_async(plan, middle, back, CLS_FFT_INVERSE, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_fft_plan_destroy(plan));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int i = 0; i < 2; i++) {
        OK(cls_unary_param(CLS_UNARY_SCALE, in, in, 2, stream));
        OK(cls_graph_launch(exec, stream));
    }
    OK(cls_stream_synchronize(stream));
    for (size_t i = 0; i < 2 * total(&shape) * shape.batches; i++)
        signal[i] *= 4;
    float *got = view_take(back);
    compare(&shape, &sides[0], 0, signal, got, "a graph's transform");
    free(got);
    free(bytes);
    free(signal);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    view_destroy(in);
    view_destroy(middle);
}

/* --- refusals --- */

static void wrong_configs(void **state) {
    cls_fft_plan plan = NULL;
    cls_fft_config config = CLS_FFT_CONFIG_INIT;
    (void)state;
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_fft_plan_create(NULL, &config, &plan));
    expect_detail("VkFFT");
    config.lengths[0] = 0;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_fft_plan_create(NULL, &config, &plan));
    config.lengths[0] = 8;
    config.signal.strides[0] = 2;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_fft_plan_create(NULL, &config, &plan));
    expect_detail("stride");
    config.signal.strides[0] = 1;
    config.dtype = CLS_F16;
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_fft_plan_create(NULL, &config, &plan));
    config.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_fft_plan_create(NULL, &config, &plan));
    config.dtype = CLS_F32;
    config.signal.distance = 7;
    config.batches = 2;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_fft_plan_create(NULL, &config, &plan));
    expect_detail("distance");
    config.signal.distance = (size_t)1 << 40;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_fft_plan_create(NULL, &config, &plan));
    config.signal.distance = 0;
    config.dims = 4;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_fft_plan_create(NULL, &config, &plan));
    assert_null(plan);
}

static void wrong_calls(void **state) {
    cls_fft_config config = CLS_FFT_CONFIG_INIT;
    cls_fft_plan plan;
    (void)state;
    config.lengths[0] = 1024;
    config.directions = CLS_FFT_FORWARD;
    OK(cls_fft_plan_create(NULL, &config, &plan));
    const cls_array all = view_make(CLS_F32, 0, 2052, NULL), in = part_of(all, 2048),
                    out = view_make(CLS_F32, 0, 2048, NULL);
    cls_array other = in;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_fft(plan, in, out, CLS_FFT_INVERSE, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_fft(plan, in, out, CLS_FFT_BOTH, NULL));
    other.count = 2046;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_fft(plan, other, out, CLS_FFT_FORWARD, NULL));
    other = cls_array_at(in.buffer, CLS_F32, in.offset + 1, 2048);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_fft(plan, other, out, CLS_FFT_FORWARD, NULL));
    other = cls_array_at(in.buffer, CLS_F32, in.offset + 2, 2048);
    EXPECT(CLS_ERROR_OVERLAP, cls_fft(plan, in, other, CLS_FFT_FORWARD, NULL));
    other = in;
    other.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_fft(plan, in, other, CLS_FFT_FORWARD, NULL));
    OK(cls_fft_plan_destroy(plan));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_fft(plan, in, out, CLS_FFT_FORWARD, NULL));
    view_destroy(in);
    view_destroy(out);
}

static void no_vkfft(void **state) {
    const cls_fft_config config = CLS_FFT_CONFIG_INIT;
    cls_fft_plan plan;
    (void)state;
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_fft_plan_create(NULL, &config, &plan));
    SKIP_BECAUSE("this library was built without VkFFT");
}

int main(void) {
    static cls_dtype types[] = {CLS_F32, CLS_F64};
    const struct CMUnitTest none[] = {cmocka_unit_test(no_vkfft)},
                            tests[] = {
                                {"shapes of f32", shapes_are_right, NULL, NULL, &types[0]},
                                {"shapes of f64", shapes_are_right, NULL, NULL, &types[1]},
                                cmocka_unit_test(random_shapes),
                                cmocka_unit_test(long_transforms),
                                cmocka_unit_test(two_threads),
                                cmocka_unit_test(captured),
                                cmocka_unit_test(wrong_configs),
                                cmocka_unit_test(wrong_calls),
                            };
    prepare_tests();
    if (!cls_fft_available())
        return cmocka_run_group_tests(none, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

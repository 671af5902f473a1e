/* SPDX-License-Identifier: MIT */
#include "arrays.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"

enum { GUARD = 64, GUARD_BYTE = 0xa5 };

const cls_dtype all_types[TYPES] = {
#define TYPE(id, name, c_type, opencl, value, bits, size, kind) CLS_##id,
#include "base/types.def"
#undef TYPE
};

bool is_float(cls_dtype type) { return reference_is_float(type); }

bool is_narrow(cls_dtype type) { return type == CLS_F16 || type == CLS_BF16; }

/* Whether the device's arithmetic is that of f32 with as small numbers. */
static bool flushes_as_f32(cls_dtype type) { return type == CLS_F32 || type == CLS_BF16; }

/* Below it a device may give 0, or with a bound on relative errors anything. f16 is calculated in f32, which is far from
 * its end there. */
static double least_normal(cls_dtype type) {
    return type == CLS_F64 ? DBL_MIN : type == CLS_F16 ? 0 : (double)FLT_MIN;
}

/* Oclgrind 21.10 takes a true element of an optimised comparison for 255, so its compiler is not to
 * optimise. */
void prepare_tests(void) {
    setenv("OCLGRIND_BUILD_OPTIONS", "-cl-opt-disable", 0);
    if (getenv("TEST_FILTER"))
        cmocka_set_test_filter(getenv("TEST_FILTER"));
}

bool pair_is_chosen(int op, cls_dtype type) {
    return effort_is_long() || type == CLS_F32 || (op + (int)type) % (TYPES - 1) == 0;
}

static bool is_of_few_bits(cls_dtype type) { return type != CLS_U8 && cls_dtype_size(type) <= 2; }

bool cast_is_chosen(cls_dtype from, cls_dtype to) {
    return effort_is_long() || from == CLS_F32 || to == CLS_F32 ||
           (!is_of_few_bits(from) && !is_of_few_bits(to));
}

static cls_device_info device_info(void) {
    size_t index = 0;
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    OK(cls_context_get_device(NULL, &index));
    OK(cls_device_get_info(index, &info));
    return info;
}

bool device_has_f64(void) { return device_info().has_fp64 != 0; }

size_t device_core_count(void) { return device_info().compute_units; }

bool device_is_oclgrind(void) {
    const cls_device_info info = device_info();
    return strstr(info.platform, "Oclgrind") != NULL;
}

bool device_flushes(void) {
    static int known = -1;
    if (known < 0) {
        const float least[1] = {FLT_TRUE_MIN};
        cls_array view = view_make(CLS_F32, 0, 1, least);
        OK(cls_unary_param(CLS_UNARY_SCALE, view, view, 1024, NULL));
        float *result = view_take(view);
        known = result[0] == 0;
        free(result);
    }
    return known == 1;
}

/* Above the middle of two f32, by less than f64 can tell: rounded twice it goes down, to the even one. */
static bool rounds_i64_twice(void) {
    const int64_t in[1] = {(INT64_C(1) << 60) + (INT64_C(1) << 36) + 1};
    const char source[] = "__kernel void once(__global const long *x, __global float *y) {\n"
                          "    y[0] = convert_float(x[0]);\n"
                          "}\n";
    const cls_array from = view_make(CLS_I64, 0, 1, in), to = view_make(CLS_F32, 0, 1, NULL);
    const cls_arg args[] = {cls_arg_buffer(from.buffer), cls_arg_buffer(to.buffer)};
    const cls_launch shape = cls_launch_1d(1);
    cls_program program;
    cls_kernel kernel;
    OK(cls_program_from_source(NULL, source, "once.cl", NULL, &program));
    OK(cls_kernel_create(program, "once", &kernel));
    OK(cls_kernel_launch_async(kernel, &shape, args, 2, NULL));
    float *result = view_take(to);
    const bool twice = result[0] == ldexpf(1, 60);
    free(result);
    OK(cls_kernel_destroy(kernel));
    OK(cls_program_destroy(program));
    OK(cls_buffer_destroy(from.buffer));
    return twice;
}

bool device_rounds_i64_twice(void) {
    static int known = -1;
    if (known < 0)
        known = rounds_i64_twice();
    return known == 1;
}

/* ---- values */

/* clang-format off */
static const double hard_floats[] = {
    0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, 0.25, -0.75, 1e-3, -1e-3, 1e-10,
    1e10, 0.49999997, 0.49999999999999994, -0.49999997, 0.99999994, -0.99999994, 8388607.5,
    -8388607.5, 4503599627370495.5, NAN, -NAN, INFINITY, -INFINITY,
    /* the integer types' limits */
    254.5, 255, 255.5, 256, -0.9, 2147483520, 2147483647, 2147483647.5, 2147483648.0,
    2147483904.0, -2147483648.0, -2147483648.5, -2147483649.0, -2147483904.0, 4294967040.0,
    4294967295.0, 4294967295.5, 4294967296.0, 9223371487098961920.0, 9223372036854774784.0,
    9223372036854775808.0, -9223372036854775808.0, -9223372036854777856.0,
    -9223373136366403584.0, 1e19, -1e19, 1e30, -1e30,
    /* what f32 holds and what is between: ties and overflow of f64 to f32 */
    FLT_MAX, -FLT_MAX, FLT_MIN, -FLT_MIN, FLT_TRUE_MIN, 1e-40, -1e-40, 3.4028235677973362e38,
    3.4028235677973366e38, 3.5e38, -3.5e38, 16777217.0, 16777219.0, 1.00000005960464477539,
    1.0000000596046450, 7.006492321624085e-46, 7.1e-46, 1.05e-45, 1e300, -1e300, 1e-300, 5e-324,
    DBL_MAX, DBL_MIN,
    /* the ends of f16, ties of f16 and of bf16, and what two roundings would take for one */
    65504, 65519.99, 65519.999999999993, 65520, -65520, 65536, 0x1p-14, 0x1.ffcp-15, 0x1p-24, 0x1p-25,
    0x1.0000000000001p-25, 0x1.8p-24, -0x1.8p-24, 0x1.ffcp-25, 2049, 2051, -2049, 0x1.002p0,
    0x1.0020000000001p0, 0x1.001ffffffffffp0, 0x1.006p0, 0x1.0060000000001p0, 0x1.005ffffffffffp0,
    257, 259, 0x1.01p0, 0x1.0100000000001p0, 0x1.00fffffffffffp0, 0x1.03p0, 0x1.0300000000001p0,
    0x1.02fffffffffffp0, 0x1.ffp127, 0x1.fefffffffffffp127, 0x1p-133, 0x1p-134, 0x1.8p-133,
    0x1.0000000000001p-134, 0x1.0000000000001p-133, 0x1.7ffffffffffffp-133, 0x1.fdp-127,
    /* where the functions turn */
    3.14159265358979, -3.14159265358979, 1.5707963267948966, 6.283185307179586, 100, -100,
    1000.5, 1e6, 1e20, 88.7, 88.8, -87.3, -88, -103.9, 709.7, 709.8, -708, -745, 5, -5, 9, -9,
    13, -13, -14, 20, -20, 38, -38, 0.7, -0.7, 1.00001, 0.99999,
};
/* clang-format on */

/* Every integer type's limits and neighbours, and numbers half way between two floats. */
/* clang-format off */
static const int64_t hard_ints[] = {
    0, 1, -1, 2, -2, 3, 7, -7, 100, 127, 128, 129, -127, -128, 254, 255, 256, -255, -256, 32767,
    32768, 65535, 65536, 16777215, 16777216, 16777217, 16777218, 16777219, 33554433, 33554434,
    33554435, 33554437, 33554438, -16777217, -16777219, INT32_MAX - 1, INT32_MAX,
    INT64_C(2147483648), INT64_C(2147483649), INT32_MIN, INT32_MIN + INT64_C(1), INT32_MIN -
    INT64_C(1), UINT32_MAX - 1, UINT32_MAX, INT64_C(4294967296), INT64_C(4294967297),
    2147483583, 2147483584, 2147483585, 2147483520, 2147483456, 4294967167, 4294967168,
    4294967169, INT64_C(1099511693312), INT64_C(1099511693313), INT64_C(9007199254740991),
    INT64_C(9007199254740992), INT64_C(9007199254740993), INT64_C(9007199254740995),
    -INT64_C(9007199254740993), INT64_C(9007199791611905), INT64_C(9007199791611904),
    INT64_C(4611686018427387903), INT64_MAX, INT64_MAX - 1, INT64_MAX - 511, INT64_MAX - 512,
    INT64_MAX - 513, INT64_MIN, INT64_MIN + 1, INT64_C(9223371761976868863),
    INT64_C(9223371761976868864), INT64_C(9223371761976868865),
    /* about the ends and ties of f16 and bf16, some of which a rounding to f32 would take them for */
    257, 259, -257, 2047, 2048, 2049, 2051, -2049, 4097, 4098, 4100, 65503, 65504, 65519, 65520,
    65521, -65519, -65520, 16842751, 16842752, 16842753, 16973823, 16973824, 16973825, 1082130431,
    1082130432, 1082130433, -1082130433, INT64_C(2155872255), INT64_C(2155872256),
    INT64_C(2155872257), INT64_C(4629700416936869887), INT64_C(4629700416936869888),
    INT64_C(4629700416936869889), -INT64_C(4629700416936869889), INT64_C(4647714815446351871),
    INT64_C(4647714815446351873),
};
/* clang-format on */

size_t hard_count(cls_dtype type) {
    return is_float(type) ? sizeof hard_floats / sizeof hard_floats[0]
                          : sizeof hard_ints / sizeof hard_ints[0];
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* In turn: any bits at all, and numbers of everyday size. */
static double random_float(cls_dtype type, uint64_t *state, size_t i) {
    static const double spans[] = {0, 1, 10, 100, 3e9};
    const uint64_t bits = next_random(state);
    const double span = spans[i % 5];
    if (span > 0)
        return ((double)(bits >> 11) * 0x1p-52 - 1) * span;
    double wide;
    float narrow;
    const uint32_t low = (uint32_t)bits;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &low, sizeof narrow);
    return type != CLS_F64 ? (double)narrow : wide;
}

static bool is_tiny(cls_dtype type, double x) { return x != 0 && fabs(x) < least_normal(type); }

static void put(cls_dtype type, void *array, size_t i, double x) {
    reference_cast(CLS_F64, type, &x, (unsigned char *)array + i * cls_dtype_size(type), 1);
}

void *hard_values(cls_dtype type, size_t count, unsigned seed) {
    const size_t size = cls_dtype_size(type), n_hard = hard_count(type);
    const bool no_tiny = flushes_as_f32(type) && device_flushes();
    unsigned char *array = malloc(count * size + 1);
    uint64_t state = seed;
    assert_non_null(array);
    for (size_t i = 0; i < count; i++) {
        if (is_float(type)) {
            double x = i < n_hard ? hard_floats[i] : random_float(type, &state, i);
            put(type, array, i, x);
            if (no_tiny && is_tiny(type, reference_float(type, array, i)))
                put(type, array, i, 0);
        } else {
            const uint64_t bits = next_random(&state) >> (i % 8 * 8);
            const int64_t x = i < n_hard ? hard_ints[i] : (int64_t)bits;
            memcpy(array + i * size, &x, size); /* the low bytes of a little-endian number */
        }
    }
    return array;
}

void tame(cls_dtype type, void *array, size_t count, double limit) {
    for (size_t i = 0; is_float(type) && i < count; i++) {
        if (!(fabs(reference_float(type, array, i)) <= limit))
            put(type, array, i, (double)(i % 17) - 8);
    }
}

/* ---- views */

cls_array view_make(cls_dtype type, size_t offset, size_t count, const void *from) {
    const size_t size = cls_dtype_size(type), bytes = (offset + count + GUARD) * size;
    unsigned char *all = malloc(bytes);
    assert_non_null(all);
    memset(all, GUARD_BYTE, bytes);
    if (from)
        memcpy(all + offset * size, from, count * size);
    cls_buffer buffer = NULL;
    OK(cls_buffer_from_host(NULL, all, bytes, &buffer));
    free(all);
    return cls_array_at(buffer, type, offset, count);
}

void *view_read(cls_array view) {
    const size_t size = cls_dtype_size(view.dtype);
    const size_t first = view.offset * size, end = first + view.count * size;
    const size_t bytes = end + GUARD * size;
    unsigned char *all = malloc(bytes);
    assert_non_null(all);
    OK(cls_buffer_to_host(view.buffer, all, bytes));
    for (size_t i = 0; i < bytes; i++)
        if ((i < first || i >= end) && all[i] != GUARD_BYTE)
            fail_msg("byte %zu of a buffer, outside of bytes %zu to %zu, was written", i, first,
                     end);
    memmove(all, all + first, end - first);
    return all;
}

void view_destroy(cls_array view) { OK(cls_buffer_destroy(view.buffer)); }

void *view_take(cls_array view) {
    void *data = view_read(view);
    view_destroy(view);
    return data;
}

/* ---- comparison */

static double value_at(cls_dtype type, const void *array, size_t i) {
    double x = 0;
    reference_cast(type, CLS_F64, (const unsigned char *)array + i * cls_dtype_size(type), &x, 1);
    return x;
}

/* Floats of one sign are ordered as their bits; this puts both signs on one line. */
static int64_t place_of(cls_dtype type, const void *array, size_t i) {
    int64_t bits;
    if (cls_dtype_size(type) == 2) {
        int16_t narrowest;
        memcpy(&narrowest, (const unsigned char *)array + i * 2, sizeof narrowest);
        bits = narrowest;
        return bits < 0 ? INT16_MIN - bits : bits;
    }
    if (type == CLS_F32) {
        int32_t narrow;
        memcpy(&narrow, (const unsigned char *)array + i * 4, sizeof narrow);
        bits = narrow;
        return bits < 0 ? INT32_MIN - bits : bits;
    }
    memcpy(&bits, (const unsigned char *)array + i * 8, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

static bool same_bytes(cls_dtype type, const void *a, const void *b, size_t i) {
    const size_t size = cls_dtype_size(type);
    return memcmp((const unsigned char *)a + i * size, (const unsigned char *)b + i * size, size) ==
           0;
}

/* An infinite bound stands for a multiple of the smallest normal number: x times it, with |x|
 * below 40 where the tail of the normal distribution is not all zeros. */
static bool close_enough(cls_dtype type, const void *got, const void *expected, size_t i,
                         double bound) {
    if (same_bytes(type, got, expected, i))
        return true;
    if (!is_float(type))
        return false;
    const double x = value_at(type, got, i), y = value_at(type, expected, i);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    if (x == 0 && y == 0)
        return false; /* of unlike signs */
    if (bound > 0 && fabs(x - y) <= least_normal(type) * (isinf(bound) ? 40 : 1))
        return true;
    if (x == 0 && is_tiny(type, y))
        return flushes_as_f32(type) && device_flushes();
    const int64_t a = place_of(type, got, i), b = place_of(type, expected, i);
    const uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    return bound > 0 && !isinf(bound) && (double)apart <= bound;
}

static void print_value(cls_dtype type, const void *array, size_t i, char text[64]) {
    if (is_float(type)) {
        snprintf(text, 64, "%.17g (%a)", value_at(type, array, i), value_at(type, array, i));
        return;
    }
    int64_t x = 0;
    reference_cast(type, CLS_I64, (const unsigned char *)array + i * cls_dtype_size(type), &x, 1);
    snprintf(text, 64, "%" PRId64, x);
}

void check_array(const char *what, cls_dtype type, const void *got, const void *expected,
                 const double *bounds, size_t count, cls_dtype input_type, const void *inputs) {
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const double bound = bounds ? bounds[i] : 0;
        if (close_enough(type, got, expected, i, bound))
            continue;
        if (wrong++ < 5) {
            char in[64] = "?", out[64], wanted[64];
            if (inputs)
                print_value(input_type, inputs, i, in);
            print_value(type, got, i, out);
            print_value(type, expected, i, wanted);
            print_error("%s: element %zu: of %s the device makes %s, not %s, bound %g ULP\n", what,
                        i, in, out, wanted, bound);
        }
    }
    if (wrong)
        fail_msg("%s: %zu of %zu elements are wrong", what, wrong, count);
}

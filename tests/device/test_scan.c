/* SPDX-License-Identifier: MIT */
/*
 * Scans, against sums in turn on the host: every type and operation, segments of all kinds, sizes around those of tiles,
 * in place, a length on the device, the same bits each time, and tiles that begin with the last one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/effort.h"
#include "arrays.h"

static const char *const op_names[] = {[CLS_SCAN_SUM] = "sum",
                                       [CLS_SCAN_PRODUCT] = "product",
                                       [CLS_SCAN_MIN] = "min",
                                       [CLS_SCAN_MAX] = "max"};

/* A scan to be checked. */
struct scan {
    cls_scan_op op;
    cls_dtype in, out, key;
    cls_scan_segments segments;
    int exclusive;
    size_t count, offset, segment;
    bool in_place;
    long long length; /* -1: none */
};

static unsigned draw(unsigned n) {
    static unsigned state = 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return n ? state % n : state;
}

/* --- on the host --- */

/* An element, or what some come to: an integer in two's complement, or a float with the sum of magnitudes. */
struct number {
    uint64_t whole;
    long double real, size;
    size_t terms;
};

static uint64_t integer_at(cls_dtype type, const void *array, size_t i) {
    const unsigned char *at = (const unsigned char *)array + i * cls_dtype_size(type);
    switch (type) {
    case CLS_U8:
        return *at;
    case CLS_I8:
        return (uint64_t) * (const int8_t *)at;
    case CLS_U16:
        return *(const uint16_t *)at;
    case CLS_I16:
        return (uint64_t) * (const int16_t *)at;
    case CLS_U32:
        return *(const uint32_t *)at;
    case CLS_I32:
        return (uint64_t) * (const int32_t *)at;
    case CLS_I64:
        return *(const uint64_t *)at;
    case CLS_F32:
    case CLS_F64:
    case CLS_F16:
    case CLS_BF16:
        break;
    }
    return 0;
}

/* As the value of the results' type. */
static uint64_t integer_as(cls_dtype type, uint64_t value) { return integer_at(type, &value, 0); }

static struct number number_at(const struct scan *scan, const void *array, size_t i) {
    struct number made = {.terms = 1};
    if (is_float(scan->in)) {
        double value;
        reference_cast(scan->in, CLS_F64, (const char *)array + i * cls_dtype_size(scan->in),
                       &value, 1);
        made.real = (long double)value;
        made.size = fabsl(made.real);
    } else {
        made.whole = integer_as(scan->out, integer_at(scan->in, array, i));
    }
    return made;
}

static bool is_less(cls_dtype type, uint64_t a, uint64_t b) {
    return type == CLS_U8 || type == CLS_U16 || type == CLS_U32 ? a < b : (int64_t)a < (int64_t)b;
}

static struct number join(const struct scan *scan, struct number a, struct number b) {
    struct number both = {.terms = a.terms + b.terms, .size = a.size + b.size};
    switch (scan->op) {
    case CLS_SCAN_SUM:
        both.real = a.real + b.real;
        both.whole = a.whole + b.whole;
        break;
    case CLS_SCAN_PRODUCT:
        both.real = a.real * b.real;
        both.whole = a.whole * b.whole;
        both.size = fabsl(both.real);
        break;
    case CLS_SCAN_MIN:
        both.real = isnan(a.real) || a.real < b.real ? a.real : b.real;
        both.whole = is_less(scan->out, a.whole, b.whole) ? a.whole : b.whole;
        both.size = 0;
        break;
    case CLS_SCAN_MAX:
        both.real = isnan(a.real) || a.real > b.real ? a.real : b.real;
        both.whole = is_less(scan->out, b.whole, a.whole) ? a.whole : b.whole;
        both.size = 0;
        break;
    }
    both.whole = integer_as(scan->out, both.whole);
    return both;
}

static struct number none(const struct scan *scan) {
    const size_t bits = cls_dtype_size(scan->out) * 8;
    const bool is_unsigned = scan->out == CLS_U8 || scan->out == CLS_U16 || scan->out == CLS_U32;
    const uint64_t most = UINT64_MAX >> (64 - bits + !is_unsigned);
    switch (scan->op) {
    case CLS_SCAN_SUM:
        break;
    case CLS_SCAN_PRODUCT:
        return (struct number){.whole = 1, .real = 1, .size = 1};
    case CLS_SCAN_MIN:
        return (struct number){.whole = most, .real = (long double)INFINITY};
    case CLS_SCAN_MAX:
        return (struct number){.whole = is_unsigned ? 0 : ~most, .real = -(long double)INFINITY};
    }
    return (struct number){0};
}

static bool begins_segment(const struct scan *scan, const unsigned char *heads, size_t i) {
    const size_t size = cls_dtype_size(scan->key);
    switch (scan->segments) {
    case CLS_SCAN_WHOLE:
        return false;
    case CLS_SCAN_FLAGS:
        return heads[i] != 0;
    case CLS_SCAN_KEYS:
        return i > 0 && memcmp(heads + i * size, heads + (i - 1) * size, size) != 0;
    case CLS_SCAN_LENGTH:
        return i % scan->segment == 0;
    }
    return false;
}

/* --- comparison --- */

static double ulp_of(cls_dtype type, double value) {
    const double unit = type == CLS_F16 ? 0x1p-11 : type == CLS_BF16 ? 0x1p-8 : 0;
    return unit * fabs(value) + (type == CLS_F16 ? 0x1p-24 : 0);
}

static void expect_float(const struct scan *scan, const void *got, size_t i, struct number wanted) {
    double value, target = (double)wanted.real;
    const double u = scan->out == CLS_F64 ? 0x1p-53 : 0x1p-24;
    const double bound =
        (double)(wanted.terms + 1) * u * (double)wanted.size + ulp_of(scan->out, target);
    reference_cast(scan->out, CLS_F64, (const char *)got + i * cls_dtype_size(scan->out), &value,
                   1);
    if (isnan(target) ? isnan(value) : target == value || fabs(value - target) <= bound)
        return;
    fail_msg("scan_%s of %s, %zu elements: [%zu] is %.17g, not %.17g", op_names[scan->op],
             cls_dtype_name(scan->in), scan->count, i, value, target);
}

static void expect_number(const struct scan *scan, const void *got, size_t i,
                          struct number wanted) {
    if (is_float(scan->out)) {
        expect_float(scan, got, i, wanted);
        return;
    }
    const uint64_t value = integer_at(scan->out, got, i);
    if (value != wanted.whole)
        fail_msg("scan_%s of %s in %s, %zu elements, segments %d: [%zu] is %lld, not %lld",
                 op_names[scan->op], cls_dtype_name(scan->in), cls_dtype_name(scan->out),
                 scan->count, (int)scan->segments, i, (long long)value, (long long)wanted.whole);
}

static void compare(const struct scan *scan, const void *in, const unsigned char *heads,
                    const unsigned char *before, const unsigned char *got) {
    struct number all = none(scan);
    const size_t size = cls_dtype_size(scan->out);
    size_t i = 0;
    for (; i < scan->count && (scan->length < 0 || i < (size_t)scan->length); i++) {
        if (begins_segment(scan, heads, i))
            all = none(scan);
        const struct number with = join(scan, all, number_at(scan, in, i));
        expect_number(scan, got, i, scan->exclusive ? all : with);
        all = with;
    }
    if (i < scan->count)
        assert_memory_equal(before + i * size, got + i * size, (scan->count - i) * size);
}

/* --- on the device --- */

static void *draw_elements(const struct scan *scan) {
    void *made = hard_values(scan->in, scan->count + 1, draw(0));
    if (!is_float(scan->in) || scan->op == CLS_SCAN_MIN || scan->op == CLS_SCAN_MAX)
        return made;
    for (size_t i = 0; i < scan->count; i++) {
        const double value = scan->op == CLS_SCAN_PRODUCT ? 1 + ((int)draw(2001) - 1000) / 50000.0
                                                          : ((int)draw(2001) - 1000) / 64.0;
        reference_cast(CLS_F64, scan->in, &value, (char *)made + i * cls_dtype_size(scan->in), 1);
    }
    return made;
}

/* Runs of few and of many elements. */
static unsigned char *draw_heads(const struct scan *scan) {
    const size_t size = cls_dtype_size(scan->key);
    unsigned char *made = calloc(scan->count + 1, size);
    assert_non_null(made);
    size_t left = 0;
    for (size_t i = 0; i < scan->count; i++) {
        if (scan->segments == CLS_SCAN_FLAGS) {
            made[i] = (unsigned char)(draw(left ? 5000 : 9) == 0 ? 1 + draw(255) : 0);
            left = draw(1000) ? left : !left;
            continue;
        }
        if (!left)
            left = draw(20) ? draw(7) + 1 : draw(9000) + 1;
        else
            memcpy(made + i * size, made + (i - 1) * size, size);
        if (i && !--left)
            made[i * size + draw((unsigned)size)] ^= (unsigned char)(1 + draw(255));
    }
    return made;
}

static cls_array make_output(const struct scan *scan, cls_array in, unsigned char **before) {
    *before = NULL;
    if (scan->in_place)
        return in;
    const cls_array out = view_make(scan->out, scan->offset, scan->count, NULL);
    *before = view_read(out);
    return out;
}

static void check_scan(const struct scan *scan) {
    unsigned char *elements = draw_elements(scan), *heads = draw_heads(scan), *before;
    cls_scan_config config = CLS_SCAN_CONFIG_INIT;
    cls_array in = view_make(scan->in, scan->offset, scan->count, elements), flags = {0},
              length = {0};
    cls_array out = make_output(scan, in, &before);
    config.exclusive = scan->exclusive;
    config.segments = scan->segments;
    config.segment = scan->segment;
    if (scan->segments == CLS_SCAN_FLAGS || scan->segments == CLS_SCAN_KEYS)
        config.heads = flags = view_make(scan->key, scan->offset, scan->count, heads);
    if (scan->length >= 0)
        config.length = length = view_make(CLS_I64, 1, 1, &scan->length);
    OK(cls_scan(scan->op, in, out, &config, NULL));
    unsigned char *got = view_take(out);
    compare(scan, elements, heads, scan->in_place ? elements : before, got);
    free(got);
    if (!scan->in_place)
        view_destroy(in);
    if (flags.buffer)
        view_destroy(flags);
    if (length.buffer)
        view_destroy(length);
    free(before);
    free(heads);
    free(elements);
}

static const size_t sizes[] = {1,    2,    7,    8,    31,   255,   1024,
                               4095, 4096, 4097, 8192, 8193, 50001, 300007};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void of_sizes(struct scan scan) {
    for (size_t i = 0; i < SIZES; i++) {
        if (device_is_oclgrind() && sizes[i] > 9000)
            break;
        scan.count = sizes[i];
        scan.exclusive = (int)draw(2);
        scan.offset = draw(3) ? draw(4) : 0;
        scan.in_place = scan.in == scan.out && draw(2);
        scan.length = draw(4) ? -1 : (long long)draw((unsigned)scan.count + 3) - 1;
        scan.length = scan.length == -1 && draw(3) == 0 ? 0 : scan.length;
        check_scan(&scan);
    }
}

/* The driver's compiler takes most of the time: unless the effort is long, f32 is scanned by all and others by one. */
static bool is_chosen(cls_scan_op op, cls_dtype type) {
    return effort_is_long() || type == CLS_F32 || ((int)op + (int)type) % CLS_SCAN_MAX == 0;
}

static void one_type(void **state) {
    const cls_dtype type = *(const cls_dtype *)*state;
    NEED_TYPE(type);
    NEED_ROUNDING(type);
    for (cls_scan_op op = CLS_SCAN_SUM; op <= CLS_SCAN_MAX; op++)
        if (is_chosen(op, type))
            of_sizes((struct scan){.op = op, .in = type, .out = type, .key = CLS_U8});
}

static void into_other_integers(void **state) {
    (void)state;
    static const cls_dtype pairs[][2] = {{CLS_U8, CLS_I64}, {CLS_U8, CLS_U32},  {CLS_I8, CLS_I32},
                                         {CLS_I64, CLS_U8}, {CLS_U16, CLS_U32}, {CLS_I32, CLS_I64}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i += effort_is_long() ? 1 : 2)
        of_sizes((struct scan){
            .op = CLS_SCAN_SUM, .in = pairs[i][0], .out = pairs[i][1], .key = CLS_U8});
}

static void in_segments(void **state) {
    (void)state;
    static const cls_dtype keys[] = {CLS_U8, CLS_I16, CLS_F32, CLS_I64};
    static const size_t lengths[] = {1, 3, 16, 1000, 4096, 70000};
    for (int type = 0; type < 2; type++) {
        struct scan scan = {.op = type ? CLS_SCAN_SUM : CLS_SCAN_MAX,
                            .in = type ? CLS_I32 : CLS_F32,
                            .segments = CLS_SCAN_FLAGS,
                            .key = CLS_U8};
        if (is_float(scan.in) && trust_fault(NULL, "rounding"))
            continue;
        scan.out = scan.in;
        of_sizes(scan);
        scan.segments = CLS_SCAN_KEYS;
        for (size_t i = 0; i < 4; i++) {
            scan.key = keys[i];
            if (effort_is_long() || i % 2 == (size_t)type)
                of_sizes(scan);
        }
        scan.segments = CLS_SCAN_LENGTH;
        for (size_t i = 0; i < 6; i++) {
            scan.segment = lengths[i];
            of_sizes(scan);
        }
    }
}

static void sums_of_f64_in_segments(void **state) {
    (void)state;
    NEED_TYPE(CLS_F64);
    NEED_ROUNDING(CLS_F64);
    of_sizes((struct scan){.op = CLS_SCAN_SUM,
                           .in = CLS_F64,
                           .out = CLS_F64,
                           .segments = CLS_SCAN_KEYS,
                           .key = CLS_U32});
}

/* Whatever runs beside it, and at other offsets: a float's sums are rounded in one order. */
static void same_bits(void **state) {
    (void)state;
    enum { COUNT = 400000, TURNS = 12 };
    NEED_ROUNDING(CLS_F32);
    if (device_is_oclgrind())
        SKIP_BECAUSE("scans of this size take minutes in an interpreter");
    const struct scan scan = {.op = CLS_SCAN_SUM, .in = CLS_F32, .out = CLS_F32, .count = COUNT};
    float *elements = draw_elements(&scan), *first = NULL;
    for (size_t i = 0; i < COUNT; i++)
        elements[i] *= (float)(1 + draw(1000)) / 997;
    for (size_t turn = 0; turn < TURNS; turn++) {
        cls_array in = view_make(CLS_F32, turn % 5, COUNT, elements),
                  out = view_make(CLS_F32, turn % 3, COUNT, NULL);
        OK(cls_scan(CLS_SCAN_SUM, in, out, NULL, NULL));
        float *got = view_take(out);
        if (!first)
            first = got;
        else
            assert_memory_equal(first, got, COUNT * sizeof *got);
        if (got != first)
            free(got);
        view_destroy(in);
    }
    free(first);
    free(elements);
}

static void nan_and_infinity(void **state) {
    (void)state;
    NEED_ROUNDING(CLS_F32);
    float x[300], *got;
    for (size_t i = 0; i < 300; i++)
        x[i] = (float)i;
    x[100] = INFINITY;
    x[200] = -INFINITY;
    for (cls_scan_op op = CLS_SCAN_SUM; op <= CLS_SCAN_MAX; op++) {
        x[250] = op == CLS_SCAN_SUM ? 0 : NAN;
        cls_array in = view_make(CLS_F32, 0, 300, x);
        OK(cls_scan(op, in, in, NULL, NULL));
        got = view_take(in);
        assert_true(op == CLS_SCAN_PRODUCT ? isnan(got[100])
                                           : got[100] == (op == CLS_SCAN_MIN ? 0 : INFINITY));
        assert_true(op == CLS_SCAN_MIN   ? got[200] == -INFINITY
                    : op == CLS_SCAN_MAX ? got[200] == INFINITY
                                         : isnan(got[200]));
        for (size_t i = 250; i < 300; i++)
            assert_true(isnan(got[i]));
        free(got);
    }
}

static void captured(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    int32_t *elements = hard_values(CLS_I32, COUNT, 5), *got;
    cls_array in = view_make(CLS_I32, 0, COUNT, elements), out = view_make(CLS_I32, 0, COUNT, NULL);
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "scan"));
    OK(cls_scan_async(CLS_SCAN_SUM, in, out, NULL, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int turn = 0; turn < 3; turn++) {
        OK(cls_unary_param(CLS_UNARY_SCALE, in, in, 3, stream));
        OK(cls_graph_launch(exec, stream));
        OK(cls_stream_synchronize(stream));
        got = view_read(out);
        uint32_t sum = 0;
        for (size_t i = 0; i < COUNT; i++) {
            elements[i] = (int32_t)((uint32_t)elements[i] * 3);
            sum += (uint32_t)elements[i];
            if ((uint32_t)got[i] != sum)
                fail_msg("launch %d: [%zu] is %d, not %d", turn, i, got[i], (int)sum);
        }
        free(got);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    view_destroy(in);
    view_destroy(out);
    free(elements);
}

/* Streams that scan beside each other have states of their own. */
static void beside_each_other(void **state) {
    (void)state;
    enum { STREAMS = 3, TURNS = 40, MOST = 30000 };
    cls_stream streams[STREAMS];
    cls_array in[STREAMS], out[STREAMS];
    uint8_t *elements[STREAMS];
    const size_t most = device_is_oclgrind() ? 900 : MOST;
    for (size_t s = 0; s < STREAMS; s++) {
        OK(cls_stream_create(NULL, NULL, &streams[s]));
        elements[s] = hard_values(CLS_U8, most, (unsigned)s);
        in[s] = view_make(CLS_U8, s, most, elements[s]);
        out[s] = view_make(CLS_U32, s, most, NULL);
    }
    for (size_t turn = 0; turn < TURNS; turn++)
        for (size_t s = 0; s < STREAMS; s++) {
            cls_array part_in = in[s], part_out = out[s];
            part_in.count = part_out.count = turn + 1 == TURNS ? most : 1 + draw((unsigned)most);
            OK(cls_scan_async(CLS_SCAN_SUM, part_in, part_out, NULL, streams[s]));
        }
    for (size_t s = 0; s < STREAMS; s++) {
        OK(cls_stream_synchronize(streams[s]));
        uint32_t *got = view_take(out[s]), sum = 0;
        for (size_t i = 0; i < most; i++) {
            sum += elements[s][i];
            if (got[i] != sum)
                fail_msg("stream %zu: [%zu] is %u, not %u", s, i, got[i], sum);
        }
        free(got);
        view_destroy(in[s]);
        free(elements[s]);
        OK(cls_stream_destroy(streams[s]));
    }
}

static void refusals(void **state) {
    (void)state;
    cls_array a = view_make(CLS_F32, 0, 20, NULL), b = view_make(CLS_F32, 0, 20, NULL),
              flags = view_make(CLS_U8, 0, 20, NULL), length = view_make(CLS_I64, 0, 1, NULL);
    cls_scan_config config = CLS_SCAN_CONFIG_INIT;
    cls_array wrong = b;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_scan((cls_scan_op)0, a, b, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_scan((cls_scan_op)5, a, b, NULL, NULL));
    wrong.dtype = CLS_I32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_scan(CLS_SCAN_SUM, a, wrong, NULL, NULL));
    wrong = b;
    wrong.count = 19;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_scan(CLS_SCAN_SUM, a, wrong, NULL, NULL));
    wrong = a;
    wrong.offset++;
    wrong.count = 10;
    a.count = 10;
    EXPECT(CLS_ERROR_OVERLAP, cls_scan(CLS_SCAN_SUM, a, wrong, NULL, NULL));
    a.count = 20;
    config.segments = (cls_scan_segments)4;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_scan(CLS_SCAN_SUM, a, b, &config, NULL));
    config.segments = CLS_SCAN_LENGTH;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_scan(CLS_SCAN_SUM, a, b, &config, NULL));
    expect_detail("0 elements");
    config.segments = CLS_SCAN_FLAGS;
    config.heads = a;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_scan(CLS_SCAN_SUM, a, b, &config, NULL));
    config.heads = flags;
    config.heads.count = 3;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_scan(CLS_SCAN_SUM, a, b, &config, NULL));
    config.segments = CLS_SCAN_KEYS;
    config.heads = b;
    EXPECT(CLS_ERROR_OVERLAP, cls_scan(CLS_SCAN_SUM, a, b, &config, NULL));
    config = (cls_scan_config)CLS_SCAN_CONFIG_INIT;
    config.length = flags;
    EXPECT(CLS_ERROR_TYPE_MISMATCH, cls_scan(CLS_SCAN_SUM, a, b, &config, NULL));
    config.length = length;
    config.length.count = 0;
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_scan(CLS_SCAN_SUM, a, b, &config, NULL));
    view_destroy(a);
    view_destroy(b);
    view_destroy(flags);
    view_destroy(length);
}

int main(void) {
    struct CMUnitTest tests[TYPES + 9];
    size_t n = 0;
    for (size_t i = 0; i < TYPES; i++)
        tests[n++] = (struct CMUnitTest){cls_dtype_name(all_types[i]), one_type, NULL, NULL,
                                         (void *)&all_types[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(into_other_integers);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(in_segments);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(sums_of_f64_in_segments);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(same_bits);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(nan_and_infinity);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(captured);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(beside_each_other);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(refusals);
    prepare_tests();
    return _cmocka_run_group_tests("scan", tests, n, NULL, NULL);
}

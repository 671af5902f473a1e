/* SPDX-License-Identifier: MIT */
/* Device groups whose members reach each other's memory, beside those that do not: the same results, by another way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/device_group.h>
#include <clstream/mempool.h>
#include <clstream/share.h>
#include <clstream/unary.h>

#include "../support/alike.h"
#include "../support/effort.h"

enum { MOST = 8, WORDS = 3001, BYTES = WORDS * 8 }; /* of the largest type */

static const unsigned sizes[] = {2, 3, 4, 5, MOST};

static struct team {
    unsigned n;
    bool shared;
    cls_context contexts[MOST]; /* all of them, from the start to the end */
    cls_device_group group;
    cls_device_streams streams[MOST];
    cls_buffer buffers[MOST];
} team;

static unsigned char in[MOST][BYTES], out[MOST][BYTES];

static int setup_all(void **state) {
    if (alike_setup(state))
        return -1;
    for (unsigned d = 0; d < MOST; d++)
        team.contexts[d] = alike_context(d);
    return 0;
}

static int teardown_all(void **state) {
    for (unsigned d = 0; d < MOST; d++)
        OK(cls_context_destroy(team.contexts[d]));
    return rig_teardown(state);
}

/* Ordinary buffers then go through memory that the devices reach. */
static bool have_link(void) { return alike_memory.found.kind == CLS_SHARE_DIRECT_LINK; }

static bool is_direct(void) { return team.shared || have_link(); }

static cls_buffer make(cls_context context, bool shareable) {
    cls_buffer buffer = NULL;
    if (shareable)
        OK(cls_buffer_create_shareable(context, BYTES, &buffer));
    else
        OK(cls_buffer_create(context, BYTES, &buffer));
    return buffer;
}

static void open_team(unsigned n, bool shared) {
    cls_device_group_config config = CLS_DEVICE_GROUP_CONFIG_INIT;
    config.chunk_bytes = 4096;
    config.chunks = 3;
    team.n = n;
    team.shared = shared;
    for (unsigned d = 0; d < n; d++)
        team.buffers[d] = make(team.contexts[d], shared);
    OK(cls_device_group_create(team.contexts, n, &config, &team.group));
    for (unsigned d = 0; d < n; d++)
        OK(cls_device_group_get_streams(team.group, d, &team.streams[d]));
}

static void close_team(void) {
    OK(cls_device_group_destroy(team.group));
    for (unsigned d = 0; d < team.n; d++)
        OK(cls_buffer_destroy(team.buffers[d]));
}

static void on_every_team(void (*body)(void)) {
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int shared = 0; shared <= alike_memory.is_shared; shared++) {
            open_team(sizes[i], shared);
            body();
            close_team();
        }
}

static void fill_in(uint32_t seed) {
    uint32_t *words = (uint32_t *)(void *)in;
    for (size_t i = 0; i < sizeof in / 4; i++)
        words[i] = (uint32_t)(i + 1 + seed) * 2654435761u;
}

static void scatter(void) {
    OK(cls_device_group_scatter_async(team.group, in, BYTES, team.buffers));
}

static void gather(void) {
    OK(cls_device_group_gather_async(team.group, team.buffers, BYTES, out));
    OK(cls_device_group_synchronize(team.group));
}

static cls_device_group_statistics statistics(void) {
    cls_device_group_statistics got = CLS_DEVICE_GROUP_STATISTICS_INIT;
    OK(cls_device_group_get_statistics(team.group, &got));
    return got;
}

static void expect_copies(unsigned direct, unsigned pinned) {
    const cls_device_group_statistics got = statistics();
    assert_int_equal(got.direct_copies, direct);
    assert_int_equal(got.pinned_copies, pinned);
}

static cls_device_range range(unsigned device, cls_buffer buffer, size_t offset) {
    return (cls_device_range){device, buffer, offset};
}

/* --- copies --- */

/* From each member to the next, of an odd number of bytes at odd places. */
static void copy_round(void) {
    enum { FROM = 1003, TO = 11, ODD = 9001 };
    fill_in(0);
    scatter();
    for (unsigned d = 0; d < team.n; d++)
        OK(cls_device_group_copy_async(team.group,
                                       range((d + 1) % team.n, team.buffers[(d + 1) % team.n], TO),
                                       range(d, team.buffers[d], FROM), ODD));
    gather();
    for (unsigned d = 0; d < team.n; d++)
        memmove(in[(d + 1) % team.n] + TO, in[d] + FROM, ODD);
    assert_memory_equal(out, in, team.n * (size_t)BYTES);
    expect_copies(is_direct() ? team.n : 0, is_direct() ? 0 : team.n);
}

static void test_copies_arrive(void **state) {
    (void)state;
    on_every_team(copy_round);
}

/* Where one end is shareable, the other one's context reaches both. */
static void test_one_shareable_end_is_enough(void **state) {
    (void)state;
    SKIP_UNLESS_SHARED();
    for (unsigned from = 0; from < 2; from++) {
        open_team(2, false);
        const cls_buffer shared = make(team.contexts[0], true);
        const cls_device_range ends[2] = {range(0, shared, 4), range(1, team.buffers[1], 8)};
        fill_in(from);
        scatter();
        OK(cls_copy_h2d_async(shared, 0, in[0], BYTES, team.streams[0].compute));
        OK(cls_device_group_copy_async(team.group, ends[1 - from], ends[from], 4096));
        OK(cls_device_group_copy_async(team.group, range(0, team.buffers[0], 0),
                                       range(0, shared, 0), BYTES));
        gather();
        memcpy(in[1 - from] + (from ? 4 : 8), in[from] + (from ? 8 : 4), 4096);
        assert_memory_equal(out, in, 2 * (size_t)BYTES);
        expect_copies(1, 0); /* that within a device is none between two */
        OK(cls_buffer_destroy(shared));
        close_team();
    }
}

/* Both ends' compute streams hold the copy back, and wait for it. */
static void test_both_ends_wait(void **state) {
    (void)state;
    const uint32_t one = 1;
    SKIP_UNLESS_SHARED();
    for (unsigned late = 0; late < 2; late++) {
        struct gate gate;
        uint32_t got[2];
        gate_init(&gate);
        open_team(2, true);
        for (unsigned d = 0; d < 2; d++)
            OK(cls_fill(team.buffers[d], 0, BYTES, "", 1, NULL));
        OK(cls_stream_launch_host_async(team.streams[late].compute, gate_hold, &gate));
        for (unsigned d = 0; d < 2; d++)
            OK(cls_unary_param_async(
                CLS_UNARY_ADD_SCALAR, cls_array_of(team.buffers[d], CLS_U32, 8),
                cls_array_of(team.buffers[d], CLS_U32, 8), 5 + d, team.streams[d].compute));
        OK(cls_device_group_copy_async(team.group, range(1, team.buffers[1], 0),
                                       range(0, team.buffers[0], 0), 16));
        OK(cls_fill_async(team.buffers[0], 0, 32, &one, 4, team.streams[0].compute));
        OK(cls_unary_param_async(CLS_UNARY_ADD_SCALAR, cls_array_of(team.buffers[1], CLS_U32, 8),
                                 cls_array_of(team.buffers[1], CLS_U32, 8), 100,
                                 team.streams[1].compute));
        gate_await(&gate);
        nap_ms(20);
        for (unsigned d = 0; d < 2; d++)
            EXPECT(CLS_NOT_READY, cls_stream_query(team.streams[d].compute));
        gate_open(&gate);
        for (unsigned d = 0; d < 2; d++)
            OK(cls_copy_d2h(&got[d], team.buffers[d], 12, 4, team.streams[d].compute));
        assert_int_equal(got[0], 1);
        assert_int_equal(got[1], 105);
        close_team();
        gate_destroy(&gate);
    }
}

static void test_overlapping_ranges_of_one_memory_are_refused(void **state) {
    (void)state;
    cls_buffer view;
    SKIP_UNLESS_SHARED();
    open_team(2, true);
    OK(cls_buffer_open(team.contexts[1], team.buffers[0], &view));
    EXPECT(CLS_ERROR_OVERLAP, cls_device_group_copy_async(team.group, range(1, view, 4),
                                                          range(0, team.buffers[0], 0), 8));
    expect_copies(0, 0);
    OK(cls_buffer_destroy(view));
    close_team();
}

/* --- reductions --- */

static const cls_reduce_op ops[] = {CLS_REDUCE_SUM, CLS_REDUCE_MIN, CLS_REDUCE_MAX};

struct values {
    cls_reduce_op op;
    cls_dtype dtype;
    size_t first, count; /* elements */
};

/* The results of one type, in order: the sum wraps around; NaN wins, and the later of equal elements. */
#define COMBINE(name, type, wide)                                                            \
    static void name(cls_reduce_op op, void *to, const void *from, size_t i) {               \
        type *x = (type *)to + i;                                                            \
        const type y = ((const type *)from)[i];                                              \
        const bool beats = op == CLS_REDUCE_MIN ? *x < y : *x > y;                           \
        *x = op == CLS_REDUCE_SUM ? (type)((wide)*x + (wide)y) : beats || *x != *x ? *x : y; \
    }
COMBINE(combine_f32, float, float)
COMBINE(combine_f64, double, double)
COMBINE(combine_i32, int32_t, uint32_t)
COMBINE(combine_i64, int64_t, uint64_t)
COMBINE(combine_u8, uint8_t, unsigned)
COMBINE(combine_i8, int8_t, unsigned)
COMBINE(combine_i16, int16_t, unsigned)
COMBINE(combine_u16, uint16_t, unsigned)
COMBINE(combine_u32, uint32_t, uint32_t)

static void combine(cls_reduce_op op, cls_dtype dtype, void *to, const void *from, size_t i) {
    static void (*const kinds[])(cls_reduce_op, void *, const void *, size_t) = {
        [CLS_F32] = combine_f32, [CLS_F64] = combine_f64, [CLS_I32] = combine_i32,
        [CLS_I64] = combine_i64, [CLS_U8] = combine_u8,   [CLS_U32] = combine_u32,
        [CLS_I8] = combine_i8,   [CLS_I16] = combine_i16, [CLS_U16] = combine_u16};
    kinds[dtype](op, to, from, i);
}

/* Sums whose last bits tell the order in which they were added; of minima and maxima also NaN, zeros of both signs and
 * equal elements. */
static void fill_in_floats(const struct values *v) {
    static const double odd[] = {NAN, -0.0, 0.0, INFINITY, -INFINITY, 3};
    for (unsigned d = 0; d < MOST; d++)
        for (unsigned i = 0; i < WORDS; i++) {
            double value = (d % 2 ? -1e8 : 1e8) / (i + 1) + 0.1 * d;
            if (v->op != CLS_REDUCE_SUM && (i + d) % 5 == 0)
                value = odd[(i / 5 + 2 * d) % 6];
            if (v->dtype == CLS_F32)
                ((float *)(void *)in[d])[i] = (float)value;
            else
                ((double *)(void *)in[d])[i] = value;
        }
}

/* The reduction of all arrays, at the place of the first. */
static void combine_in_order(const struct values *v) {
    for (size_t i = v->first; i < v->first + v->count; i++)
        for (unsigned d = 1; d < team.n; d++)
            combine(v->op, v->dtype, in[0], in[d], i);
}

static void prepare(const struct values *v, cls_array *arrays) {
    fill_in(v->count > 1);
    if (v->dtype == CLS_F32 || v->dtype == CLS_F64)
        fill_in_floats(v);
    for (unsigned d = 0; d < team.n; d++)
        arrays[d] = cls_array_at(team.buffers[d], v->dtype, v->first, v->count);
    scatter();
}

static void reduce(const struct values *v) {
    const size_t size = cls_dtype_size(v->dtype);
    cls_array arrays[MOST];
    prepare(v, arrays);
    OK(cls_device_group_all_reduce_async(team.group, v->op, arrays));
    gather();
    combine_in_order(v);
    for (unsigned d = 1; d < team.n; d++)
        memcpy(in[d] + v->first * size, in[0] + v->first * size, v->count * size);
    assert_memory_equal(out, in, team.n * (size_t)BYTES);
}

/* Into memory of their own, or, `in_place`, each device's part of its array. The parts are of different sizes, some of
 * none. */
static void reduce_and_scatter(const struct values *v, bool in_place) {
    static unsigned char part[BYTES], before[MOST][BYTES];
    const size_t size = cls_dtype_size(v->dtype);
    size_t start = 0;
    cls_array arrays[MOST], results[MOST];
    cls_buffer own[MOST];
    prepare(v, arrays);
    memcpy(before, in, sizeof in);
    for (unsigned d = 0; d < team.n; d++) {
        const size_t left = v->count - start, share = left * (d % 3) / 3;
        const size_t count = d + 1 == team.n ? left : share;
        OK(cls_buffer_create(team.contexts[d], BYTES, &own[d]));
        results[d] = in_place ? cls_array_at(team.buffers[d], v->dtype, v->first + start, count)
                              : cls_array_at(own[d], v->dtype, d, count);
        start += count;
    }
    OK(cls_device_group_reduce_scatter_async(team.group, v->op, arrays, results));
    gather();
    combine_in_order(v);
    start = v->first * size;
    for (unsigned d = 0; d < team.n; d++) {
        const size_t bytes = results[d].count * size;
        if (bytes)
            OK(cls_copy_d2h(part, results[d].buffer, results[d].offset * size, bytes, NULL));
        assert_memory_equal(part, in[0] + start, bytes);
        if (in_place)
            memcpy(before[d] + start, in[0] + start, bytes);
        start += bytes;
        OK(cls_buffer_destroy(own[d]));
    }
    assert_memory_equal(out, before, team.n * (size_t)BYTES);
}

static bool has_f64(void) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t index;
    OK(cls_context_get_device(rig.context, &index));
    OK(cls_device_get_info(index, &info));
    return info.has_fp64 != 0;
}

/* All types and operations, a part of them with each number of devices, because each is a kernel of its own; few and odd
 * numbers of elements, from places that are aligned for vectors and others. */
static void for_all_kinds(unsigned stride, void (*body)(const struct values *v)) {
    static const cls_dtype types[] = {CLS_F32, CLS_F64, CLS_I32, CLS_I64, CLS_U8,
                                      CLS_U32, CLS_I8,  CLS_I16, CLS_U16};
    static const size_t cuts[][2] = {{0, 0}, {1, 1}, {0, 3}, {16, 63}, {0, 1001}, {3, WORDS - 64}};
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
        for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
            for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
                const struct values v = {ops[o], types[t], cuts[c][0], cuts[c][1]};
                if ((effort_is_long() || (o + t + team.n) % stride == 0) &&
                    (types[t] != CLS_F64 || has_f64()))
                    body(&v);
            }
}

static uint64_t done;

static void expect_reductions(void) {
    const cls_device_group_statistics got = statistics();
    assert_int_equal(got.direct_reductions, is_direct() ? done : 0);
    assert_int_equal(got.pinned_reductions, is_direct() ? 0 : done);
}

static void reduce_one(const struct values *v) {
    reduce(v);
    done += v->count > 0;
}

static void reduce_all_kinds(void) {
    done = 0;
    for_all_kinds(9, reduce_one);
    expect_reductions();
}

static void test_reductions_are_the_same_either_way(void **state) {
    (void)state;
    on_every_team(reduce_all_kinds);
}

static void scatter_one(const struct values *v) {
    reduce_and_scatter(v, v->count % 2);
    done += v->count > 0;
}

static void scatter_all_kinds(void) {
    const struct values v = {CLS_REDUCE_SUM, CLS_F32, 3, WORDS - 64};
    done = 0;
    for_all_kinds(9, scatter_one);
    for (unsigned i = 0; i < 2; i++, done++)
        reduce_and_scatter(&v, i);
    expect_reductions();
}

static void test_scattered_reductions_are_the_same_either_way(void **state) {
    (void)state;
    on_every_team(scatter_all_kinds);
}

/* Nothing to combine: the result is the array. */
static void test_a_group_of_one(void **state) {
    (void)state;
    const struct values v = {CLS_REDUCE_MAX, CLS_I32, 5, 100};
    open_team(1, false);
    reduce(&v);
    reduce_and_scatter(&v, false);
    reduce_and_scatter(&v, true);
    close_team();
}

static void test_refused_reductions(void **state) {
    (void)state;
    cls_array arrays[2], results[2];
    open_team(2, false);
    fill_in(0);
    scatter();
    for (unsigned d = 0; d < 2; d++) {
        arrays[d] = cls_array_of(team.buffers[d], CLS_I32, 64);
        results[d] = cls_array_at(team.buffers[d], CLS_I32, 100, 32);
    }
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_device_group_all_reduce_async(team.group, CLS_REDUCE_MEAN, arrays));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_device_group_reduce_scatter_async(team.group, (cls_reduce_op)0, arrays, results));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_device_group_reduce_scatter_async(team.group, CLS_REDUCE_MIN, arrays, NULL));
    results[1].count = 31;
    EXPECT(CLS_ERROR_SIZE_MISMATCH,
           cls_device_group_reduce_scatter_async(team.group, CLS_REDUCE_MIN, arrays, results));
    results[0].count = SIZE_MAX - 10;
    EXPECT(CLS_ERROR_OUT_OF_RANGE,
           cls_device_group_reduce_scatter_async(team.group, CLS_REDUCE_MIN, arrays, results));
    results[0].count = results[1].count = 32;
    results[1].dtype = CLS_F32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH,
           cls_device_group_reduce_scatter_async(team.group, CLS_REDUCE_MIN, arrays, results));
    results[1].dtype = CLS_I32;
    results[1].offset = 40; /* its part is elements 32 to 63 */
    EXPECT(CLS_ERROR_OVERLAP,
           cls_device_group_reduce_scatter_async(team.group, CLS_REDUCE_MIN, arrays, results));
    results[1].offset = WORDS * 2 - 31;
    EXPECT(CLS_ERROR_OUT_OF_RANGE,
           cls_device_group_reduce_scatter_async(team.group, CLS_REDUCE_MIN, arrays, results));
    gather();
    assert_memory_equal(out, in, 2 * (size_t)BYTES);
    close_team();
}

/* Two handles of one memory, which are not two arrays. */
static void test_arrays_that_overlap_are_refused(void **state) {
    (void)state;
    cls_buffer view;
    SKIP_UNLESS_SHARED();
    open_team(2, true);
    OK(cls_buffer_open(team.contexts[1], team.buffers[0], &view));
    cls_array arrays[2] = {cls_array_of(team.buffers[0], CLS_I32, 64),
                           cls_array_at(view, CLS_I32, 63, 64)};
    EXPECT(CLS_ERROR_OVERLAP,
           cls_device_group_all_reduce_async(team.group, CLS_REDUCE_SUM, arrays));
    arrays[1].offset = 64;
    OK(cls_device_group_all_reduce_async(team.group, CLS_REDUCE_SUM, arrays));
    OK(cls_device_group_synchronize(team.group));
    OK(cls_buffer_destroy(view));
    close_team();
}

/* Arrays of a shareable pool are parts of a block. */
static void test_arrays_of_pools_take_the_direct_way(void **state) {
    (void)state;
    const cls_mempool_config config = {.size = sizeof config, .shareable = 1};
    const struct values v = {CLS_REDUCE_SUM, CLS_F32, 1, 999};
    cls_mempool pools[3];
    SKIP_UNLESS_SHARED();
    open_team(3, true);
    for (unsigned d = 0; d < 3; d++) {
        OK(cls_buffer_destroy(team.buffers[d]));
        OK(cls_mempool_create(team.contexts[d], &config, &pools[d]));
        OK(cls_mempool_malloc_async(pools[d], team.streams[d].compute, BYTES, &team.buffers[d]));
    }
    reduce(&v);
    reduce_and_scatter(&v, true);
    assert_int_equal(statistics().direct_reductions, 2);
    for (unsigned d = 0; d < 3; d++)
        OK(cls_mempool_destroy(pools[d]));
    close_team();
}

/* One array that the others cannot reach sends all through pinned memory, or goes through memory that they reach. */
static void test_a_plain_array_among_shareable_ones(void **state) {
    (void)state;
    const struct values v = {CLS_REDUCE_SUM, CLS_F32, 1, 999};
    SKIP_UNLESS_SHARED();
    open_team(3, true);
    OK(cls_buffer_destroy(team.buffers[1]));
    team.buffers[1] = make(team.contexts[1], false);
    reduce(&v);
    reduce_and_scatter(&v, true);
    assert_int_equal(statistics().direct_reductions, have_link() ? 2 : 0);
    assert_int_equal(statistics().pinned_reductions, have_link() ? 0 : 2);
    close_team();
}

/* --- failures --- */

static void reset_all(void) {
    for (unsigned d = 0; d < team.n; d++) {
        OK(cls_stream_reset(team.streams[d].upload));
        OK(cls_stream_reset(team.streams[d].compute));
        OK(cls_stream_reset(team.streams[d].download));
    }
}

/* The results need what the member failed to make, so all members inherit its failure. */
static void fail_in(bool scattered) {
    const struct values v = {CLS_REDUCE_SUM, CLS_I32, 0, WORDS};
    cls_array arrays[MOST], results[MOST];
    struct gate gate;
    gate_init(&gate);
    for (unsigned d = 0; d < team.n; d++) {
        const size_t count = d + 1 < team.n ? 100 : WORDS - 100 * d;
        arrays[d] = cls_array_at(team.buffers[d], v.dtype, v.first, v.count);
        results[d] = cls_array_at(team.buffers[d], v.dtype, 100 * (size_t)d, count);
    }
    OK(cls_stream_launch_host_async(team.streams[1].compute, gate_hold, &gate));
    OK(rig_fail(team.streams[1].compute, "a member's work", CL_OUT_OF_RESOURCES));
    if (scattered)
        OK(cls_device_group_reduce_scatter_async(team.group, v.op, arrays, results));
    else
        OK(cls_device_group_all_reduce_async(team.group, v.op, arrays));
    gate_open(&gate);
    for (unsigned d = 0; d < team.n; d++) {
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(team.streams[d].compute));
        assert_non_null(strstr(cls_last_error_detail(), "a member's work"));
    }
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_device_group_synchronize(team.group));
    reset_all();
    reduce(&v);
    gate_destroy(&gate);
}

static void fail_one(void) {
    fail_in(false);
    fail_in(true);
}

static void test_a_member_that_fails(void **state) {
    (void)state;
    on_every_team(fail_one);
}

/* Work that is in flight keeps the memory. */
static void destroy_early(void) {
    struct gate gate;
    cls_array arrays[MOST];
    gate_init(&gate);
    fill_in(7);
    scatter();
    OK(cls_stream_launch_host_async(team.streams[0].compute, gate_hold, &gate));
    for (unsigned d = 0; d < team.n; d++)
        arrays[d] = cls_array_of(team.buffers[d], CLS_U32, WORDS);
    OK(cls_device_group_copy_async(team.group, range(1, team.buffers[1], 0),
                                   range(0, team.buffers[0], 0), BYTES));
    OK(cls_device_group_all_reduce_async(team.group, CLS_REDUCE_SUM, arrays));
    for (unsigned d = 0; d < team.n; d++) {
        OK(cls_buffer_destroy(team.buffers[d]));
        team.buffers[d] = make(team.contexts[d], team.shared);
    }
    gate_open(&gate);
    OK(cls_device_group_synchronize(team.group));
    gate_destroy(&gate);
}

static void test_buffers_destroyed_in_flight(void **state) {
    (void)state;
    on_every_team(destroy_early);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_arrive),
        cmocka_unit_test(test_one_shareable_end_is_enough),
        cmocka_unit_test(test_both_ends_wait),
        cmocka_unit_test(test_overlapping_ranges_of_one_memory_are_refused),
        cmocka_unit_test(test_reductions_are_the_same_either_way),
        cmocka_unit_test(test_scattered_reductions_are_the_same_either_way),
        cmocka_unit_test(test_a_group_of_one),
        cmocka_unit_test(test_refused_reductions),
        cmocka_unit_test(test_arrays_that_overlap_are_refused),
        cmocka_unit_test(test_arrays_of_pools_take_the_direct_way),
        cmocka_unit_test(test_a_plain_array_among_shareable_ones),
        cmocka_unit_test(test_a_member_that_fails),
        cmocka_unit_test(test_buffers_destroyed_in_flight),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}

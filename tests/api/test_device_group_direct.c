/* SPDX-License-Identifier: MIT */
/* Device groups whose members reach each other's memory, beside those that do not: the same results, by another way. */
#include <stdlib.h>
#include <string.h>

#include <clstream/device_group.h>
#include <clstream/share.h>
#include <clstream/unary.h>

#include "../support/rig.h"

enum { MOST = 5, WORDS = 3001, BYTES = WORDS * 8 }; /* of the largest type */

static const unsigned sizes[] = {2, 3, MOST};

static struct team {
    unsigned n;
    bool shared;
    cls_context contexts[MOST];
    cls_device_group group;
    cls_device_streams streams[MOST];
    cls_buffer buffers[MOST];
} team;

static unsigned char in[MOST][BYTES], out[MOST][BYTES];

static bool can_share(void) {
    cls_share_info info;
    return rig_shares_memory(&info);
}

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
    for (unsigned d = 0; d < n; d++) {
        OK(cls_context_create(NULL, &team.contexts[d]));
        team.buffers[d] = make(team.contexts[d], shared);
    }
    OK(cls_device_group_create(team.contexts, n, &config, &team.group));
    for (unsigned d = 0; d < n; d++)
        OK(cls_device_group_get_streams(team.group, d, &team.streams[d]));
}

static void close_team(void) {
    OK(cls_device_group_destroy(team.group));
    for (unsigned d = 0; d < team.n; d++) {
        OK(cls_buffer_destroy(team.buffers[d]));
        OK(cls_context_destroy(team.contexts[d]));
    }
}

static void on_every_team(void (*body)(void)) {
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int shared = 0; shared <= can_share(); shared++) {
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
    expect_copies(team.shared ? team.n : 0, team.shared ? 0 : team.n);
}

static void test_copies_arrive(void **state) {
    (void)state;
    on_every_team(copy_round);
}

/* Where one end is shareable, the other one's context reaches both. */
static void test_one_shareable_end_is_enough(void **state) {
    (void)state;
    if (!can_share())
        SKIP_BECAUSE("this device's memory cannot be shared");
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
    if (!can_share())
        SKIP_BECAUSE("this device's memory cannot be shared");
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
    if (!can_share())
        SKIP_BECAUSE("this device's memory cannot be shared");
    open_team(2, true);
    OK(cls_buffer_open(team.contexts[1], team.buffers[0], &view));
    EXPECT(CLS_ERROR_OVERLAP, cls_device_group_copy_async(team.group, range(1, view, 4),
                                                          range(0, team.buffers[0], 0), 8));
    expect_copies(0, 0);
    OK(cls_buffer_destroy(view));
    close_team();
}

/* --- sums --- */

struct values {
    cls_dtype dtype;
    size_t first, count; /* elements */
};

static void add(cls_dtype dtype, void *to, const void *from, size_t i) {
    switch (dtype) {
    case CLS_F32:
        ((float *)to)[i] += ((const float *)from)[i];
        break;
    case CLS_F64:
        ((double *)to)[i] += ((const double *)from)[i];
        break;
    case CLS_I32:
    case CLS_U32:
        ((uint32_t *)to)[i] += ((const uint32_t *)from)[i];
        break;
    case CLS_I64:
        ((uint64_t *)to)[i] += ((const uint64_t *)from)[i];
        break;
    case CLS_U8:
        ((uint8_t *)to)[i] = (uint8_t)(((uint8_t *)to)[i] + ((const uint8_t *)from)[i]);
        break;
    }
}

/* Sums whose last bits tell the order in which they were added. */
static void fill_in_floats(cls_dtype dtype) {
    for (unsigned d = 0; d < MOST; d++)
        for (unsigned i = 0; i < WORDS; i++) {
            const double value = (d % 2 ? -1e8 : 1e8) / (i + 1) + 0.1 * d;
            if (dtype == CLS_F32)
                ((float *)(void *)in[d])[i] = (float)value;
            else
                ((double *)(void *)in[d])[i] = value;
        }
}

static void sum_in_order(const struct values *v) {
    for (size_t i = v->first; i < v->first + v->count; i++)
        for (unsigned d = 1; d < team.n; d++)
            add(v->dtype, in[0], in[d], i);
    const size_t size = cls_dtype_size(v->dtype);
    for (unsigned d = 1; d < team.n; d++)
        memcpy(in[d] + v->first * size, in[0] + v->first * size, v->count * size);
}

static void reduce(const struct values *v) {
    cls_array arrays[MOST];
    fill_in(v->count > 1);
    if (v->dtype == CLS_F32 || v->dtype == CLS_F64)
        fill_in_floats(v->dtype);
    for (unsigned d = 0; d < team.n; d++)
        arrays[d] = cls_array_at(team.buffers[d], v->dtype, v->first, v->count);
    scatter();
    OK(cls_device_group_all_reduce_async(team.group, arrays));
    gather();
    sum_in_order(v);
    assert_memory_equal(out, in, team.n * (size_t)BYTES);
}

static bool has_f64(void) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t index;
    OK(cls_context_get_device(rig.context, &index));
    OK(cls_device_get_info(index, &info));
    return info.has_fp64 != 0;
}

/* All types; few and odd numbers of elements, from places that are aligned for vectors and others. */
static void reduce_all_kinds(void) {
    static const cls_dtype types[] = {CLS_F32, CLS_F64, CLS_I32, CLS_I64, CLS_U8, CLS_U32};
    static const size_t cuts[][2] = {{0, 0}, {1, 1}, {16, 63}, {0, 1001}, {3, WORDS - 64}};
    uint64_t done = 0;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
            const struct values v = {types[t], cuts[c][0], cuts[c][1]};
            if (types[t] == CLS_F64 && !has_f64())
                continue;
            reduce(&v);
            done += v.count > 0;
        }
    const cls_device_group_statistics got = statistics();
    assert_int_equal(got.direct_reductions, team.shared ? done : 0);
    assert_int_equal(got.pinned_reductions, team.shared ? 0 : done);
}

static void test_sums_are_the_same_either_way(void **state) {
    (void)state;
    on_every_team(reduce_all_kinds);
}

/* One array that the others cannot reach sends all through pinned memory. */
static void test_a_plain_array_among_shareable_ones(void **state) {
    (void)state;
    const struct values v = {CLS_F32, 1, 999};
    if (!can_share())
        SKIP_BECAUSE("this device's memory cannot be shared");
    open_team(3, true);
    OK(cls_buffer_destroy(team.buffers[1]));
    team.buffers[1] = make(team.contexts[1], false);
    reduce(&v);
    assert_int_equal(statistics().direct_reductions, 0);
    assert_int_equal(statistics().pinned_reductions, 1);
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

/* The sums need what the member failed to make, so all members inherit its failure. */
static void fail_one(void) {
    const struct values v = {CLS_I32, 0, WORDS};
    cls_array arrays[MOST];
    struct gate gate;
    gate_init(&gate);
    for (unsigned d = 0; d < team.n; d++)
        arrays[d] = cls_array_at(team.buffers[d], v.dtype, v.first, v.count);
    OK(cls_stream_launch_host_async(team.streams[1].compute, gate_hold, &gate));
    OK(rig_fail(team.streams[1].compute, "a member's work", CL_OUT_OF_RESOURCES));
    OK(cls_device_group_all_reduce_async(team.group, arrays));
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
    OK(cls_device_group_all_reduce_async(team.group, arrays));
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
        cmocka_unit_test(test_sums_are_the_same_either_way),
        cmocka_unit_test(test_a_plain_array_among_shareable_ones),
        cmocka_unit_test(test_a_member_that_fails),
        cmocka_unit_test(test_buffers_destroyed_in_flight),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

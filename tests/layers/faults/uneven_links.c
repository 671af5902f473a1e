/* SPDX-License-Identifier: MIT */
/*
 * Three devices of which the second and the third have no link to each other: a device and two parts of it (linked.h).
 * linked_device.sh runs it.
 */
#include "../../support/rig.h"

#include <string.h>

#include <clstream/device_group.h>
#include <clstream/share.h>

enum { DEVICES = 3, WORDS = 50000, BYTES = WORDS * 4 };

static struct team {
    cls_context contexts[DEVICES];
    cl_device_id parts[DEVICES - 1];
    cls_device_group group;
    cls_buffer buffers[DEVICES];
    uint32_t in[DEVICES][WORDS], out[DEVICES][WORDS];
} team;

static bool wrap_part(unsigned d) {
    cl_device_id *part = &team.parts[d - 1];
    cl_int code;
    cl_context cl = clCreateContext(NULL, 1, part, NULL, NULL, &code);
    return !code && !cls_context_wrap(cl, *part, &team.contexts[d]) && !clReleaseContext(cl);
}

static bool part_device(void) {
    const cl_device_partition_property one_each[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id device, parts[64];
    cl_uint n = 0;
    OK(cls_context_get_cl(rig.context, NULL, &device));
    if (clCreateSubDevices(device, one_each, 64, parts, &n) || n < DEVICES - 1)
        return false;
    memcpy(team.parts, parts, sizeof team.parts);
    return wrap_part(1) && wrap_part(2);
}

static int setup(void **state) {
    cls_device_group_config config = CLS_DEVICE_GROUP_CONFIG_INIT;
    config.chunk_bytes = 4096;
    if (rig_setup(state))
        return -1;
    OK(cls_context_create(NULL, &team.contexts[0]));
    if (!part_device())
        return 0;
    OK(cls_device_group_create(team.contexts, DEVICES, &config, &team.group));
    return 0;
}

static int teardown(void **state) {
    if (team.group)
        OK(cls_device_group_destroy(team.group));
    for (unsigned d = 0; d < DEVICES; d++)
        if (team.contexts[d])
            OK(cls_context_destroy(team.contexts[d]));
    return rig_teardown(state);
}

#define NEED_PARTS() \
    if (!team.group) \
    SKIP_BECAUSE("this device cannot be partitioned")

static bool have_link(unsigned a, unsigned b) { return a == b || a == 0 || b == 0; }

static void make_buffers(bool shareable) {
    for (unsigned d = 0; d < DEVICES; d++) {
        OK((shareable ? cls_buffer_create_shareable : cls_buffer_create)(team.contexts[d], BYTES,
                                                                         &team.buffers[d]));
        for (uint32_t i = 0; i < WORDS; i++)
            team.in[d][i] = (i + 1 + d) * 2654435761u;
        OK(cls_copy_h2d(team.buffers[d], 0, team.in[d], BYTES, NULL));
    }
}

static void read_all(void) {
    OK(cls_device_group_gather_async(team.group, team.buffers, BYTES, team.out));
    OK(cls_device_group_synchronize(team.group));
}

static void destroy_buffers(void) {
    for (unsigned d = 0; d < DEVICES; d++)
        OK(cls_buffer_destroy(team.buffers[d]));
}

static cls_device_group_statistics statistics(void) {
    cls_device_group_statistics now = CLS_DEVICE_GROUP_STATISTICS_INIT;
    OK(cls_device_group_get_statistics(team.group, &now));
    return now;
}

static void test_each_pair_is_told_of(void **state) {
    (void)state;
    NEED_PARTS();
    for (unsigned d = 0; d < DEVICES; d++)
        for (unsigned k = 0; k < DEVICES; k++) {
            cls_share_info info = CLS_SHARE_INFO_INIT;
            OK(cls_context_can_share(team.contexts[d], team.contexts[k], &info));
            assert_int_equal(info.kind, have_link(d, k) ? CLS_SHARE_DIRECT_LINK : CLS_SHARE_NONE);
            assert_int_equal(info.reason[0] != 0, !have_link(d, k));
        }
}

static void test_memory_is_opened_where_there_is_a_link(void **state) {
    cls_buffer views[DEVICES] = {NULL};
    (void)state;
    NEED_PARTS();
    make_buffers(true);
    OK(cls_buffer_open(team.contexts[0], team.buffers[1], &views[0]));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_buffer_open(team.contexts[2], team.buffers[1], &views[2]));
    assert_non_null(strstr(cls_last_error_detail(), "cannot be shared"));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_buffer_open(team.contexts[2], views[0], &views[2]));
    OK(cls_copy_d2h(team.out[0], views[0], 0, BYTES, NULL));
    assert_memory_equal(team.out[0], team.in[1], BYTES);
    OK(cls_buffer_destroy(views[0]));
    destroy_buffers();
}

/* Each device's words go to the next one, and then to the one before. */
static void copy_round(unsigned step) {
    for (unsigned d = 0; d < DEVICES; d++) {
        const unsigned to = (d + step) % DEVICES;
        OK(cls_device_group_copy_async(team.group, (cls_device_range){to, team.buffers[to], 4},
                                       (cls_device_range){d, team.buffers[d], 0}, BYTES - 4));
    }
    read_all();
    for (unsigned d = 0; d < DEVICES; d++)
        memmove(team.in[(d + step) % DEVICES] + 1, team.in[d], BYTES - 4);
    assert_memory_equal(team.out, team.in, sizeof team.in);
}

static void test_only_copies_without_a_link_are_pinned(void **state) {
    (void)state;
    NEED_PARTS();
    make_buffers(true);
    const cls_device_group_statistics before = statistics();
    copy_round(1);
    copy_round(2);
    const cls_device_group_statistics after = statistics();
    assert_int_equal(after.direct_copies - before.direct_copies, 4);
    assert_int_equal(after.pinned_copies - before.pinned_copies, 2);
    destroy_buffers();
}

static void reduce_all(void) {
    cls_array arrays[DEVICES];
    for (unsigned d = 0; d < DEVICES; d++)
        arrays[d] = cls_array_of(team.buffers[d], CLS_U32, WORDS);
    const cls_device_group_statistics before = statistics();
    OK(cls_device_group_all_reduce_async(team.group, CLS_REDUCE_SUM, arrays));
    read_all();
    const cls_device_group_statistics after = statistics();
    assert_int_equal(after.direct_reductions - before.direct_reductions, 0);
    assert_int_equal(after.pinned_reductions - before.pinned_reductions, 1);
    for (unsigned d = 0; d < DEVICES; d++)
        for (uint32_t i = 0; i < WORDS; i++)
            assert_int_equal(team.out[d][i], team.in[0][i] + team.in[1][i] + team.in[2][i]);
}

static void test_a_reduction_over_all_is_pinned(void **state) {
    (void)state;
    NEED_PARTS();
    for (int shareable = 0; shareable < 2; shareable++) {
        make_buffers(shareable);
        reduce_all();
        destroy_buffers();
    }
}

/* Those that have one reduce over it. */
static void test_a_group_of_linked_devices_reduces_directly(void **state) {
    cls_device_group_statistics got = CLS_DEVICE_GROUP_STATISTICS_INIT;
    cls_device_group pair;
    (void)state;
    NEED_PARTS();
    make_buffers(true);
    const cls_array arrays[] = {cls_array_of(team.buffers[0], CLS_U32, WORDS),
                                cls_array_of(team.buffers[1], CLS_U32, WORDS)};
    OK(cls_device_group_create(team.contexts, 2, NULL, &pair));
    OK(cls_device_group_all_reduce_async(pair, CLS_REDUCE_SUM, arrays));
    OK(cls_device_group_synchronize(pair));
    OK(cls_device_group_get_statistics(pair, &got));
    assert_int_equal(got.direct_reductions, 1);
    read_all();
    for (uint32_t i = 0; i < WORDS; i++)
        assert_int_equal(team.out[1][i], team.in[0][i] + team.in[1][i]);
    assert_memory_equal(team.out[2], team.in[2], BYTES);
    OK(cls_device_group_destroy(pair));
    destroy_buffers();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_pair_is_told_of),
        cmocka_unit_test(test_memory_is_opened_where_there_is_a_link),
        cmocka_unit_test(test_only_copies_without_a_link_are_pinned),
        cmocka_unit_test(test_a_reduction_over_all_is_pinned),
        cmocka_unit_test(test_a_group_of_linked_devices_reduces_directly),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

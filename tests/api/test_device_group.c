/* SPDX-License-Identifier: MIT */
/* Device groups: of two devices alike where there are, else of parts of one where it can be parted, else of two
 * contexts of it. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/binary.h>
#include <clstream/device_group.h>
#include <clstream/unary.h>

#include "../support/alike.h"

enum { DEVICES = 2, N = 5000, CHUNK = 4096, BYTES = N * 4 };

static struct pair {
    cls_context contexts[DEVICES];
    cl_context cl[DEVICES];
    cl_device_id parts[DEVICES];
    cls_device_group group;
    cls_device_streams streams[DEVICES];
    cls_buffer buffers[DEVICES];
} pair;

static bool part_device(void) {
    const cl_device_partition_property one_each[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id device, parts[64];
    cl_uint n = 0, most = 0;
    OK(cls_context_get_cl(rig.context, NULL, &device));
    /* Asked first: rusticl 22.3 crashes when it is to part what cannot be parted. */
    if (clGetDeviceInfo(device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, NULL) ||
        most < DEVICES)
        return false;
    if (clCreateSubDevices(device, one_each, 64, parts, &n) || n < DEVICES)
        return false;
    for (int d = 0; d < DEVICES; d++) {
        cl_int code;
        pair.parts[d] = parts[d];
        pair.cl[d] = clCreateContext(NULL, 1, &parts[d], NULL, NULL, &code);
        if (code || cls_context_wrap(pair.cl[d], parts[d], &pair.contexts[d]))
            return false;
    }
    return true;
}

static int setup(void **state) {
    cls_device_group_config config = CLS_DEVICE_GROUP_CONFIG_INIT;
    (void)state;
    if (alike_count() > 1 || !part_device())
        for (unsigned d = 0; d < DEVICES; d++)
            pair.contexts[d] = alike_context(d);
    config.chunk_bytes = CHUNK;
    config.chunks = 3;
    OK(cls_device_group_create(pair.contexts, DEVICES, &config, &pair.group));
    for (unsigned d = 0; d < DEVICES; d++) {
        OK(cls_device_group_get_streams(pair.group, d, &pair.streams[d]));
        OK(cls_buffer_create(pair.contexts[d], BYTES, &pair.buffers[d]));
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    OK(cls_device_group_destroy(pair.group));
    for (int d = 0; d < DEVICES; d++) {
        OK(cls_buffer_destroy(pair.buffers[d]));
        OK(cls_context_destroy(pair.contexts[d]));
    }
    return 0;
}

static cls_array array_of(int d) { return cls_array_of(pair.buffers[d], CLS_I32, N); }

static void fill(int32_t *values, int32_t first) {
    for (int i = 0; i < N; i++)
        values[i] = first + i;
}

/* Behind the work on either side, in several chunks of which the last is short, there and back again. */
static void copies_go_through_the_ring(void **state) {
    (void)state;
    static int32_t in[N], out[N];
    for (int round = 0; round < 6; round++) {
        const unsigned a = (unsigned)round % 2, b = 1 - a;
        fill(in, round * 100000);
        OK(cls_copy_h2d_async(pair.buffers[a], 0, in, BYTES, pair.streams[a].compute));
        OK(cls_unary_param_async(CLS_UNARY_SCALE, array_of((int)a), array_of((int)a), 3,
                                 pair.streams[a].compute));
        OK(cls_device_group_copy_async(pair.group, (cls_device_range){b, pair.buffers[b], 0},
                                       (cls_device_range){a, pair.buffers[a], 0}, BYTES));
        /* Must not reach what is still being copied. */
        OK(cls_unary_param_async(CLS_UNARY_SCALE, array_of((int)a), array_of((int)a), 0,
                                 pair.streams[a].compute));
        OK(cls_unary_param_async(CLS_UNARY_ADD_SCALAR, array_of((int)b), array_of((int)b), 1,
                                 pair.streams[b].compute));
        OK(cls_copy_d2h(out, pair.buffers[b], 0, BYTES, pair.streams[b].compute));
        for (int i = 0; i < N; i++)
            assert_int_equal(out[i], in[i] * 3 + 1);
    }
    OK(cls_device_group_synchronize(pair.group));
}

/* With the streams of the copy held back, whichever way it goes, neither side's later work runs. */
static void later_work_waits_for_the_copy(void **state) {
    (void)state;
    struct gate down, up;
    const int32_t one = 1;
    int32_t got[2] = {0, 0};
    gate_init(&down);
    gate_init(&up);
    OK(cls_fill(pair.buffers[0], 0, BYTES, &one, sizeof one, pair.streams[0].compute));
    OK(cls_stream_launch_host_async(pair.streams[0].download, gate_hold, &down));
    OK(cls_stream_launch_host_async(pair.streams[1].upload, gate_hold, &up));
    OK(cls_device_group_copy_async(pair.group, (cls_device_range){1, pair.buffers[1], 0},
                                   (cls_device_range){0, pair.buffers[0], 0}, BYTES));
    for (int d = 0; d < DEVICES; d++)
        OK(cls_unary_param_async(CLS_UNARY_ADD_SCALAR, array_of(d), array_of(d), d + 1,
                                 pair.streams[d].compute));
    gate_await(&down);
    gate_await(&up);
    nap_ms(20);
    for (int d = 0; d < DEVICES; d++)
        EXPECT(CLS_NOT_READY, cls_stream_query(pair.streams[d].compute));
    gate_open(&down);
    gate_open(&up);
    for (int d = 0; d < DEVICES; d++)
        OK(cls_copy_d2h(&got[d], pair.buffers[d], 0, sizeof got[d], pair.streams[d].compute));
    assert_int_equal(got[0], 2);
    assert_int_equal(got[1], 3);
    /* One of the two was not in the copy's way. */
    OK(cls_stream_synchronize(pair.streams[0].download));
    OK(cls_stream_synchronize(pair.streams[1].upload));
    gate_destroy(&down);
    gate_destroy(&up);
}

static void scatter_and_gather(void **state) {
    (void)state;
    static int32_t in[DEVICES][N], out[DEVICES][N];
    for (int d = 0; d < DEVICES; d++)
        fill(in[d], d * 50000);
    OK(cls_device_group_scatter_async(pair.group, in, BYTES, pair.buffers));
    for (int d = 0; d < DEVICES; d++)
        OK(cls_unary_param_async(CLS_UNARY_SCALE, array_of(d), array_of(d), d + 2,
                                 pair.streams[d].compute));
    OK(cls_device_group_gather_async(pair.group, pair.buffers, BYTES, out));
    for (int d = 0; d < DEVICES; d++)
        OK(cls_unary_param_async(CLS_UNARY_SCALE, array_of(d), array_of(d), 0,
                                 pair.streams[d].compute));
    OK(cls_device_group_synchronize(pair.group));
    for (int d = 0; d < DEVICES; d++)
        for (int i = 0; i < N; i++)
            assert_int_equal(out[d][i], in[d][i] * (d + 2));
}

static void all_reduce_sums_on_every_device(void **state) {
    (void)state;
    static int32_t in[DEVICES][N], out[DEVICES][N];
    for (int round = 0; round < 4; round++) {
        const cls_array arrays[DEVICES] = {array_of(0), array_of(1)};
        for (int d = 0; d < DEVICES; d++)
            fill(in[d], d * 7000 + round);
        OK(cls_device_group_scatter_async(pair.group, in, BYTES, pair.buffers));
        OK(cls_device_group_all_reduce_async(pair.group, CLS_REDUCE_SUM, arrays));
        OK(cls_device_group_gather_async(pair.group, pair.buffers, BYTES, out));
        OK(cls_device_group_synchronize(pair.group));
        for (int d = 0; d < DEVICES; d++)
            for (int i = 0; i < N; i++)
                assert_int_equal(out[d][i], in[0][i] + in[1][i]);
    }
}

/* Whatever the other devices are at. */
static void a_destroyed_context_is_told(void **state) {
    (void)state;
    cls_context contexts[DEVICES];
    cls_device_group group;
    cls_device_streams streams;
    struct gate gate;
    unsigned count = 7;
    gate_init(&gate);
    contexts[0] = alike_context(0);
    contexts[1] = alike_context(1);
    cls_buffer buffers[DEVICES];
    static int32_t in[DEVICES][N];
    for (int d = 0; d < DEVICES; d++)
        OK(cls_buffer_create(contexts[d], BYTES, &buffers[d]));
    OK(cls_device_group_create(contexts, DEVICES, NULL, &group));
    OK(cls_device_group_get_streams(group, 0, &streams));
    OK(cls_stream_launch_host_async(streams.upload, gate_hold, &gate));
    OK(cls_device_group_scatter_async(group, in, BYTES, buffers)); /* the first one is at work */
    OK(cls_context_destroy(contexts[1]));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_device_group_get_count(group, &count));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_device_group_get_streams(group, 1, &streams));
    gate_open(&gate);
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_device_group_get_count(group, &count));
    assert_int_equal(count, 7);
    OK(cls_device_group_destroy(group));
    OK(cls_context_destroy(contexts[0]));
    gate_destroy(&gate);
}

/* Three of one context: sums of floats in the order of the devices, so the same bits everywhere. */
static void all_reduce_gives_the_same_bits(void **state) {
    (void)state;
    enum { THREE = 3, FEW = 100 };
    cls_context contexts[THREE] = {rig.context, rig.context, rig.context};
    cls_device_group group;
    cls_buffer buffers[THREE];
    cls_array arrays[THREE];
    static float in[THREE][FEW], out[THREE][FEW];
    unsigned count = 0;
    OK(cls_device_group_create(contexts, THREE, NULL, &group));
    OK(cls_device_group_get_count(group, &count));
    assert_int_equal(count, THREE);
    for (int d = 0; d < THREE; d++) {
        OK(cls_buffer_create(rig.context, sizeof in[d], &buffers[d]));
        arrays[d] = cls_array_of(buffers[d], CLS_F32, FEW);
        for (int i = 0; i < FEW; i++)
            in[d][i] = 1e8f * (float)(d == 1 ? -1 : 1) / (float)(i + 1) + 0.1f * (float)d;
    }
    OK(cls_device_group_scatter_async(group, in, sizeof in[0], buffers));
    OK(cls_device_group_all_reduce_async(group, CLS_REDUCE_SUM, arrays));
    OK(cls_device_group_gather_async(group, buffers, sizeof out[0], out));
    OK(cls_device_group_synchronize(group));
    for (int d = 0; d < THREE; d++)
        for (int i = 0; i < FEW; i++) {
            const float first = in[0][i] + in[1][i];
            assert_true(out[d][i] == first + in[2][i]);
        }
    OK(cls_device_group_destroy(group));
    for (int d = 0; d < THREE; d++)
        OK(cls_buffer_destroy(buffers[d]));
}

/* --- failure and end --- */

static cls_status copy_over(int32_t first) {
    static int32_t in[N];
    fill(in, first);
    cls_status status = cls_copy_h2d(pair.buffers[0], 0, in, BYTES, pair.streams[0].compute);
    if (!status)
        status = cls_device_group_copy_async(pair.group, (cls_device_range){1, pair.buffers[1], 0},
                                             (cls_device_range){0, pair.buffers[0], 0}, BYTES);
    return status;
}

static void reset_all(void) {
    for (int d = 0; d < DEVICES; d++) {
        OK(cls_stream_reset(pair.streams[d].upload));
        OK(cls_stream_reset(pair.streams[d].compute));
        OK(cls_stream_reset(pair.streams[d].download));
    }
}

/* On the way down or up, with chunks of the ring still in the failed work. */
static void copies_go_on_after_a_failure_and_a_reset(void **state) {
    (void)state;
    static int32_t out[N];
    const cls_stream failing[] = {pair.streams[0].download, pair.streams[1].upload};
    for (int i = 0; i < 2; i++) {
        struct gate gate;
        gate_init(&gate);
        OK(cls_stream_launch_host_async(failing[i], gate_hold, &gate));
        OK(rig_fail(failing[i], "a way between devices", CL_OUT_OF_RESOURCES));
        OK(copy_over(1));
        gate_open(&gate);
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_device_group_synchronize(pair.group));
        reset_all();
        for (int round = 0; round < 2; round++) {
            OK(copy_over(10 * round));
            OK(cls_copy_d2h(out, pair.buffers[1], 0, BYTES, pair.streams[1].compute));
            for (int k = 0; k < N; k++)
                assert_int_equal(out[k], 10 * round + k);
        }
        gate_destroy(&gate);
        OK(cls_device_group_synchronize(pair.group));
    }
}

static _Atomic bool opened;
static sleeper destroyer;

static bool open_later(void *arg, unsigned i) {
    if (i) {
        sleeper_here(&destroyer);
        return cls_device_group_destroy(pair.group) == CLS_SUCCESS && atomic_load(&opened);
    }
    await_sleeper(&destroyer);
    atomic_store(&opened, true);
    gate_open(arg);
    return true;
}

/* The ring is read by uploads of another device than the one whose memory it is. */
static void destroying_waits_for_the_copies(void **state) {
    (void)state;
    cls_device_group_config config = CLS_DEVICE_GROUP_CONFIG_INIT;
    int32_t got;
    for (unsigned d = 0; d < DEVICES; d++) {
        const unsigned from = d, to = 1 - d;
        struct gate gate;
        gate_init(&gate);
        atomic_store(&opened, false);
        destroyer = 0;
        OK(cls_stream_launch_host_async(pair.streams[to].upload, gate_hold, &gate));
        OK(cls_fill(pair.buffers[from], 0, BYTES, &(int32_t){7}, sizeof(int32_t), NULL));
        OK(cls_device_group_copy_async(pair.group, (cls_device_range){to, pair.buffers[to], 0},
                                       (cls_device_range){from, pair.buffers[from], 0}, BYTES));
        assert_int_equal(team_run(2, open_later, &gate), 0);
        OK(cls_copy_d2h(&got, pair.buffers[to], BYTES - sizeof got, sizeof got, NULL));
        assert_int_equal(got, 7);
        gate_destroy(&gate);
        config.chunk_bytes = CHUNK;
        OK(cls_device_group_create(pair.contexts, DEVICES, &config, &pair.group));
        for (unsigned k = 0; k < DEVICES; k++)
            OK(cls_device_group_get_streams(pair.group, k, &pair.streams[k]));
    }
}

static struct { cls_status created, destroyed; } inside;

/* Leaves another group in its place. */
static void make_and_destroy(void *arg) {
    cls_device_group group = NULL;
    (void)arg;
    inside.created = cls_device_group_create(pair.contexts, DEVICES, NULL, &group);
    inside.destroyed = cls_device_group_destroy(pair.group);
    pair.group = group;
}

/* The copies of the one that is destroyed are still to come. */
static void groups_are_made_and_destroyed_in_a_host_function(void **state) {
    (void)state;
    struct gate gate;
    cls_stream stream;
    int32_t got = 0;
    gate_init(&gate);
    OK(cls_stream_create(pair.contexts[0], NULL, &stream));
    OK(cls_fill(pair.buffers[0], 0, BYTES, &(int32_t){7}, sizeof(int32_t), NULL));
    OK(cls_stream_launch_host_async(pair.streams[1].upload, gate_hold, &gate));
    OK(cls_device_group_copy_async(pair.group, (cls_device_range){1, pair.buffers[1], 0},
                                   (cls_device_range){0, pair.buffers[0], 0}, BYTES));
    OK(cls_stream_launch_host_async(stream, make_and_destroy, NULL));
    OK(cls_stream_synchronize(stream));
    OK(inside.created);
    OK(inside.destroyed);
    gate_open(&gate);
    for (unsigned d = 0; d < DEVICES; d++) {
        OK(cls_context_synchronize(pair.contexts[d]));
        OK(cls_device_group_get_streams(pair.group, d, &pair.streams[d]));
    }
    OK(cls_copy_d2h(&got, pair.buffers[1], BYTES - sizeof got, sizeof got, NULL));
    assert_int_equal(got, 7);
    OK(cls_stream_destroy(stream));
    gate_destroy(&gate);
}

static void bad_arguments(void **state) {
    (void)state;
    const cls_device_range here = {0, pair.buffers[0], 0}, there = {1, pair.buffers[1], 0};
    cls_device_range bad = there;
    cls_array arrays[DEVICES] = {array_of(0), array_of(1)};
    cls_device_streams streams;
    cls_device_group none;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_group_create(pair.contexts, 0, NULL, &none));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_device_group_get_streams(pair.group, 2, &streams));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_destroy(pair.streams[0].compute));
    bad.device = 2;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_device_group_copy_async(pair.group, bad, here, 4));
    bad = there, bad.offset = BYTES - 3;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_device_group_copy_async(pair.group, bad, here, 4));
    bad = there, bad.device = 0;
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_device_group_copy_async(pair.group, bad, here, 4));
    arrays[1].count--;
    EXPECT(CLS_ERROR_SIZE_MISMATCH,
           cls_device_group_all_reduce_async(pair.group, CLS_REDUCE_SUM, arrays));
    arrays[1] = array_of(1), arrays[1].dtype = CLS_U32;
    EXPECT(CLS_ERROR_TYPE_MISMATCH,
           cls_device_group_all_reduce_async(pair.group, CLS_REDUCE_SUM, arrays));
    OK(cls_device_group_synchronize(pair.group));
}

/* What is wrong with the last buffer is found before the first one is written, or the host's memory. */
static void refused_copies_leave_all_as_it_was(void **state) {
    (void)state;
    static int32_t in[DEVICES][N], zeros[DEVICES][N], out[DEVICES][N];
    cls_buffer wrong[DEVICES] = {pair.buffers[0], pair.buffers[0]}, small;
    fill(in[0], 1);
    fill(in[1], 2);
    OK(cls_device_group_scatter_async(pair.group, in, BYTES, pair.buffers));
    EXPECT(CLS_ERROR_WRONG_CONTEXT,
           cls_device_group_scatter_async(pair.group, zeros, BYTES, wrong));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_device_group_gather_async(pair.group, wrong, BYTES, out));
    OK(cls_buffer_create(pair.contexts[1], BYTES / 2, &small));
    wrong[1] = small;
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_device_group_scatter_async(pair.group, zeros, BYTES, wrong));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_device_group_gather_async(pair.group, wrong, BYTES, out));
    OK(cls_device_group_synchronize(pair.group));
    assert_memory_equal(out, zeros, sizeof out);
    OK(cls_device_group_gather_async(pair.group, pair.buffers, BYTES, out));
    OK(cls_device_group_synchronize(pair.group));
    assert_memory_equal(out, in, sizeof out);
    OK(cls_buffer_destroy(small));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_go_through_the_ring, setup, teardown),
        cmocka_unit_test_setup_teardown(later_work_waits_for_the_copy, setup, teardown),
        cmocka_unit_test_setup_teardown(scatter_and_gather, setup, teardown),
        cmocka_unit_test_setup_teardown(all_reduce_sums_on_every_device, setup, teardown),
        cmocka_unit_test(a_destroyed_context_is_told),
        cmocka_unit_test(all_reduce_gives_the_same_bits),
        cmocka_unit_test_setup_teardown(copies_go_on_after_a_failure_and_a_reset, setup, teardown),
        cmocka_unit_test_setup_teardown(destroying_waits_for_the_copies, setup, teardown),
        cmocka_unit_test_setup_teardown(groups_are_made_and_destroyed_in_a_host_function, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(bad_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(refused_copies_leave_all_as_it_was, setup, teardown),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

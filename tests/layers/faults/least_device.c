/* SPDX-License-Identifier: MIT */
/* A device with the least limits and kinds of queues that a driver may have: least.h plays it. */
#include "../../support/rig.h"

#include <string.h>

#include <clstream/batch.h>
#include <clstream/kernel.h>
#include <clstream/mempool.h>
#include <clstream/reduce.h>
#include <clstream/unary.h>

#include "../loading.h"
#include "controls.h"

enum { N = 10007, SLOTS = 100, SLOT_BYTES = 50000, STREAMS = 20, LINE = 16, DEPTH = 4 };

static const char source[] = "kernel void number(global uint *cells) {\n"
                             "    size_t i = get_global_id(0) + get_global_id(2);\n"
                             "    cells[i] = i;\n"
                             "}\n";

/* --- work-groups: a side of them is shorter than the kernel's limit for all of one --- */

static void test_operations_keep_to_the_sides_of_groups(void **state) {
    (void)state;
    static float in[N], out[N];
    cls_stream stream = rig_stream();
    cls_buffer from, to;
    float sum, wanted = 0;
    for (int i = 0; i < N; i++) {
        in[i] = (float)(i % 7 - 3);
        wanted += in[i];
    }
    OK(cls_buffer_create(rig.context, sizeof in, &from));
    OK(cls_buffer_create(rig.context, sizeof in, &to));
    OK(cls_copy_h2d(from, 0, in, sizeof in, stream));
    OK(cls_unary_async(CLS_UNARY_RELU, cls_array_of(from, CLS_F32, N), cls_array_of(to, CLS_F32, N),
                       stream));
    OK(cls_copy_d2h(out, to, 0, sizeof out, stream));
    for (int i = 0; i < N; i++)
        assert_true(out[i] == (in[i] > 0 ? in[i] : 0));
    OK(cls_reduce(CLS_REDUCE_SUM, cls_array_of(from, CLS_F32, N), &sum, stream));
    assert_true(sum == wanted);
    OK(cls_buffer_destroy(from));
    OK(cls_buffer_destroy(to));
    OK(cls_stream_destroy(stream));
}

static void test_batches_keep_to_the_sides_of_groups(void **state) {
    (void)state;
    static float in[N], out[N];
    cls_stream stream = rig_stream();
    cls_batch batch;
    cls_value x, y, total;
    float sum, wanted = 0;
    for (int i = 0; i < N; i++) {
        in[i] = (float)(i % 7 - 3);
        wanted += in[i] > 0 ? in[i] : 0;
    }
    OK(cls_batch_create(rig.context, NULL, &batch));
    OK(cls_batch_upload(batch, in, CLS_F32, N, &x));
    OK(cls_batch_relu(batch, x, &y));
    OK(cls_batch_keep(batch, y));
    OK(cls_batch_reduce(batch, CLS_REDUCE_SUM, y, &total));
    OK(cls_batch_execute(batch, stream));
    OK(cls_batch_read(batch, y, out));
    OK(cls_batch_read(batch, total, &sum));
    for (int i = 0; i < N; i++)
        assert_true(out[i] == (in[i] > 0 ? in[i] : 0));
    assert_true(sum == wanted);
    OK(cls_batch_destroy(batch));
    OK(cls_stream_destroy(stream));
}

/* Also where the driver would be asked later only. */
static void test_launches_with_longer_sides_are_refused(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(2 * LINE);
    cls_program program;
    cls_kernel number;
    const cls_arg args[] = {cls_arg_buffer(cells)};
    const cls_launch good[] = {{1, {2 * LINE, 1, 1}, {LINE, 0, 0}, {0, 0, 0}, NULL, 0},
                               {3, {1, 1, 2 * DEPTH}, {1, 1, DEPTH}, {0, 0, 0}, NULL, 0}};
    const cls_launch bad[] = {{1, {2 * LINE, 1, 1}, {2 * LINE, 0, 0}, {0, 0, 0}, NULL, 0},
                              {3, {1, 1, 2 * DEPTH}, {1, 1, 2 * DEPTH}, {0, 0, 0}, NULL, 0}};
    OK(cls_program_from_source(rig.context, source, "number.cl", NULL, &program));
    OK(cls_kernel_create(program, "number", &number));
    for (unsigned i = 0; i < 2; i++) {
        struct gate gate;
        gate_init(&gate);
        OK(cls_kernel_launch_async(number, &good[i], args, 1, stream));
        EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch_async(number, &bad[i], args, 1, stream));
        OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
        gate_await(&gate);
        EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch_async(number, &bad[i], args, 1, stream));
        gate_open(&gate);
        OK(cls_stream_synchronize(stream));
        gate_destroy(&gate);
    }
    OK(cls_kernel_destroy(number));
    OK(cls_program_destroy(program));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* --- memory --- */

static void test_pools_grow_by_blocks_that_the_device_allows(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer slots[SLOTS];
    for (unsigned i = 0; i < SLOTS; i++) {
        const uint32_t value = i;
        OK(cls_malloc_async(stream, SLOT_BYTES, &slots[i]));
        OK(cls_fill_async(slots[i], 0, SLOT_BYTES, &value, sizeof value, stream));
    }
    OK(cls_stream_synchronize(stream));
    for (unsigned i = 0; i < SLOTS; i++)
        assert_int_equal(rig_cell(slots[i], SLOT_BYTES / 4 - 1), i);
    for (unsigned i = 0; i < SLOTS; i++)
        OK(cls_free_async(slots[i], stream));
    OK(cls_stream_destroy(stream));
}

/* --- queues --- */

static void test_streams_share_what_queues_there_are(void **state) {
    (void)state;
    cls_stream streams[STREAMS];
    cls_buffer cells = rig_cells(STREAMS);
    for (uint32_t i = 0; i < STREAMS; i++) {
        streams[i] = rig_stream();
        OK(rig_set(streams[i], cells, i, i + 1, 0));
    }
    for (uint32_t i = 0; i < STREAMS; i++)
        OK(rig_step(streams[i], cells, i, 3, 1, 0));
    for (uint32_t i = 0; i < STREAMS; i++) {
        OK(cls_stream_synchronize(streams[i]));
        OK(cls_stream_destroy(streams[i]));
        assert_int_equal(rig_cell(cells, i), 3 * (i + 1) + 1);
    }
    OK(cls_buffer_destroy(cells));
}

static void test_events_are_timed(void **state) {
    (void)state;
    static const cls_event_config timed = {.size = sizeof timed, .timed = 1};
    if (rig_has_quirk("queue_release_hangs"))
        SKIP_BECAUSE("queues of this driver are given back too late for a device that has few");
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_event start, end;
    double ms = -1;
    OK(cls_event_create(rig.context, &timed, &start));
    OK(cls_event_create(rig.context, &timed, &end));
    OK(rig_set(stream, cells, 0, 1, 0));
    OK(cls_event_record(start, stream));
    OK(rig_step(stream, cells, 0, 3, 1, 5));
    OK(cls_event_record(end, stream));
    OK(cls_stream_synchronize(stream));
    OK(cls_event_elapsed(start, end, &ms));
    assert_true(ms > 0);
    assert_int_equal(rig_cell(cells, 0), 4);
    OK(cls_event_destroy(start));
    OK(cls_event_destroy(end));
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

/* Those that destroyed streams leave are given back for it, as soon as they are left. */
static void test_pinned_memory_finds_a_queue(void **state) {
    (void)state;
    cls_stream streams[STREAMS];
    cls_status status = CLS_ERROR_OUT_OF_DEVICE_MEMORY;
    void *memory = NULL;
    if (rig_has_quirk("queue_release_hangs"))
        SKIP_BECAUSE("queues of this driver are given back too late for a device that has few");
    for (unsigned i = 0; i < STREAMS; i++)
        streams[i] = rig_stream();
    for (unsigned i = 0; i < STREAMS; i++)
        OK(cls_stream_destroy(streams[i]));
    for (unsigned ms = 0; status == CLS_ERROR_OUT_OF_DEVICE_MEMORY && ms < 1000; ms++, nap_ms(1))
        status = cls_host_alloc(rig.context, 4096, &memory);
    OK(status);
    OK(cls_host_free(memory));
}

/* With the shape of operations that has wide groups, on any device. */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations_keep_to_the_sides_of_groups),
        cmocka_unit_test(test_batches_keep_to_the_sides_of_groups),
        cmocka_unit_test(test_launches_with_longer_sides_are_refused),
        cmocka_unit_test(test_pools_grow_by_blocks_that_the_device_allows),
        cmocka_unit_test(test_events_are_timed), /* while there is a queue left for it */
        cmocka_unit_test(test_streams_share_what_queues_there_are),
        cmocka_unit_test(test_pinned_memory_finds_a_queue),
    };
    (void)argc;
    setenv("CLS_FAULT_DEVICE", "least", 1);
    setenv("CLSTREAM_OP_SHAPE", "vectors", 1);
    setenv("CLSTREAM_CACHE", "off", 1); /* what is probed here is not the driver's */
    layer_start("fault_layer", argv);
    layer_controls("fault_layer", FAULT_CONTROLS);
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

/* SPDX-License-Identifier: MIT */
/* Work submitted to one stream takes effect in submission order, whatever its kinds. */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

/* A chain whose result depends on the order of every link. */
static uint32_t link_of(uint32_t value, uint32_t i) { return value * 3 + i; }

static void test_kernels_take_effect_in_order(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    uint32_t expected = 0;
    unsigned count = rig_scale(2000, 50);
    for (unsigned i = 0; i < count; i++) {
        OK(rig_step(stream, cells, 0, 3, i, i % 100 == 7 ? 1 : 0));
        expected = link_of(expected, i);
    }
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), expected);
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_a_long_kernel_comes_before_what_follows(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer from = rig_cells(4), to = rig_cells(4);
    const uint32_t nine = 9;
    uint32_t seen[4] = {0};
    OK(rig_set(stream, from, 2, 5, 40));
    OK(cls_copy_d2d_async(to, 0, from, 0, 16, stream));
    OK(cls_fill_async(from, 0, 16, &nine, 4, stream));
    OK(cls_copy_d2h_async(seen, to, 0, 16, stream));
    OK(cls_stream_synchronize(stream));
    assert_int_equal(seen[2], 5);
    assert_int_equal(rig_cell(from, 2), 9);
    OK(cls_buffer_destroy(from));
    OK(cls_buffer_destroy(to));
    OK(cls_stream_destroy(stream));
}

/* Two buffers, and what the host computes beside the device. */
struct mixture {
    cls_stream stream;
    cls_buffer a, b;
    uint32_t expected_a[8], expected_b[8];
    uint32_t sources[256], *source;
};

static void mix_one(struct mixture *m, unsigned kind, unsigned i) {
    uint32_t at = i % 8;
    switch (kind) {
    case 0:
        OK(rig_step(m->stream, m->a, at, 3, i, i % 16 == 0 ? 0.5 : 0));
        m->expected_a[at] = link_of(m->expected_a[at], i);
        break;
    case 1:
        OK(cls_copy_d2d_async(m->b, 0, m->a, 0, 32, m->stream));
        memcpy(m->expected_b, m->expected_a, 32);
        break;
    case 2:
        *m->source = i * 77;
        OK(cls_copy_h2d_async(m->a, 4 * at, m->source, 4, m->stream));
        m->expected_a[at] = *m->source++;
        break;
    case 3:
        OK(cls_fill_async(m->b, 4 * at, 4, &i, 4, m->stream));
        m->expected_b[at] = i;
        break;
    default:
        OK(rig_step(m->stream, m->b, at, 5, i, 0));
        m->expected_b[at] = m->expected_b[at] * 5 + i;
    }
}

static void test_copies_fills_and_kernels_mix_in_order(void **state) {
    (void)state;
    struct mixture m = {.stream = rig_stream(), .a = rig_cells(8), .b = rig_cells(8)};
    m.source = m.sources;
    srand(7);
    unsigned count = rig_scale(800, 100);
    for (unsigned i = 0; i < count && m.source < m.sources + 256; i++)
        mix_one(&m, (unsigned)rand() % 5, i);
    uint32_t a[8], b[8];
    OK(cls_copy_d2h_async(a, m.a, 0, 32, m.stream));
    OK(cls_copy_d2h_async(b, m.b, 0, 32, m.stream));
    OK(cls_stream_synchronize(m.stream));
    assert_memory_equal(a, m.expected_a, 32);
    assert_memory_equal(b, m.expected_b, 32);
    OK(cls_buffer_destroy(m.a));
    OK(cls_buffer_destroy(m.b));
    OK(cls_stream_destroy(m.stream));
}

/* --- what runs on the host takes its turn among the device's commands --- */

struct diary {
    uint32_t cell; /* where copies arrive */
    uint32_t seen[64];
    unsigned n;
};

static void note(void *arg) {
    struct diary *diary = arg;
    diary->seen[diary->n++] = diary->cell;
}

static void note_callback(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    if (!status)
        note(arg);
}

static cl_int note_foreign(cl_command_queue queue, void *arg) {
    (void)queue;
    *(unsigned *)arg += 1;
    return CL_SUCCESS;
}

static void test_host_work_takes_its_turn(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    struct diary diary = {0};
    unsigned foreign = 0;
    for (uint32_t i = 0; i < 32; i++) {
        OK(rig_step(stream, cells, 0, 1, 1, i % 8 == 0 ? 4 : 0));
        OK(cls_copy_d2h_async(&diary.cell, cells, 0, 4, stream));
        OK(i % 2 ? cls_stream_launch_host_async(stream, note, &diary)
                 : cls_stream_add_callback(stream, note_callback, &diary));
        if (i % 3 == 0)
            OK(cls_stream_foreign_async(stream, NULL, note_foreign, &foreign));
    }
    OK(cls_stream_synchronize(stream));
    assert_int_equal(diary.n, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(diary.seen[i], i + 1);
    assert_int_equal(foreign, 11);
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

/* Commands arrive while those before them, held until then, are being handed over. */
static void test_order_holds_while_held_work_drains(void **state) {
    (void)state;
    unsigned rounds = rig_scale(20, 4), count = rig_scale(300, 30);
    for (unsigned round = 0; round < rounds; round++) {
        cls_stream stream = rig_stream();
        cls_buffer cells = rig_cells(1);
        struct gate gate;
        uint32_t expected = 0;
        gate_init(&gate);
        OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
        for (unsigned i = 0; i < 2 * count; i++) {
            if (i == count)
                gate_open(&gate);
            OK(rig_step(stream, cells, 0, 3, i, 0));
            expected = link_of(expected, i);
        }
        OK(cls_stream_synchronize(stream));
        assert_int_equal(rig_cell(cells, 0), expected);
        OK(cls_buffer_destroy(cells));
        OK(cls_stream_destroy(stream));
        gate_destroy(&gate);
    }
}

static void test_order_holds_when_little_may_be_in_flight(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream;
    cls_buffer cells = rig_cells(1);
    uint32_t expected = 0;
    unsigned count = rig_scale(1000, 50);
    config.max_in_flight = 2;
    OK(cls_stream_create(rig.context, &config, &stream));
    for (unsigned i = 0; i < count; i++) {
        OK(rig_step(stream, cells, 0, 3, i, i % 200 == 0 ? 3 : 0));
        expected = link_of(expected, i);
    }
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), expected);
    cls_stream_counters counters = {.size = sizeof counters};
    OK(cls_stream_get_counters(stream, &counters));
    assert_int_equal(counters.submitted, count);
    assert_int_equal(counters.completed, count);
    assert_int_equal(counters.commands[CLS_COMMAND_KERNEL], count);
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_a_limit_on_held_work_is_a_status(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream;
    cls_buffer cells = rig_cells(1);
    struct gate gate;
    gate_init(&gate);
    config.fifo_limit = 4;
    OK(cls_stream_create(rig.context, &config, &stream));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    gate_await(&gate);
    unsigned taken = 0;
    cls_status status;
    while (taken < 100 && !(status = rig_step(stream, cells, 0, 1, 1, 0)))
        taken++;
    EXPECT(CLS_ERROR_LIMIT, status);
    assert_true(taken >= 3 && taken <= 4); /* the host function itself may count */
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), taken);
    OK(rig_step(stream, cells, 0, 1, 1, 0));
    OK(cls_stream_synchronize(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
    gate_destroy(&gate);
}

/* The wait, which no command has taken yet, would need one more to be waited for. */
static void test_a_full_stream_is_waited_for(void **state) {
    enum { A_WHILE = 20000000 };
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream, other = rig_stream();
    cls_event event;
    cls_buffer cells = rig_cells(1);
    struct gate gate, second;
    gate_init(&gate);
    gate_init(&second);
    config.fifo_limit = 4;
    OK(cls_stream_create(rig.context, &config, &stream));
    OK(cls_event_create(rig.context, NULL, &event));
    OK(cls_stream_launch_host_async(other, gate_hold, &second));
    OK(cls_event_record(event, other));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    gate_await(&gate);
    while (!rig_step(stream, cells, 0, 1, 1, 0))
        ;
    OK(cls_stream_wait_event(stream, event));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, A_WHILE));
    gate_open(&gate);
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, A_WHILE));
    gate_await(&second);
    gate_open(&second);
    OK(cls_stream_synchronize(stream));
    OK(cls_event_query(event));
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
    gate_destroy(&gate);
    gate_destroy(&second);
}

/* The stream changes over to a profiled queue between two commands. */
static void test_order_holds_when_timing_begins(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    cls_event event;
    uint32_t expected = 0;
    config.timed = 1;
    OK(cls_event_create(rig.context, &config, &event));
    for (unsigned i = 0; i < 60; i++) {
        OK(rig_step(stream, cells, 0, 3, i, i % 10 == 4 ? 3 : 0));
        expected = link_of(expected, i);
        if (i == 5 || i == 30)
            OK(cls_event_record(event, stream));
    }
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(cells, 0), expected);
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_take_effect_in_order),
        cmocka_unit_test(test_a_long_kernel_comes_before_what_follows),
        cmocka_unit_test(test_copies_fills_and_kernels_mix_in_order),
        cmocka_unit_test(test_host_work_takes_its_turn),
        cmocka_unit_test(test_order_holds_while_held_work_drains),
        cmocka_unit_test(test_order_holds_when_little_may_be_in_flight),
        cmocka_unit_test(test_a_limit_on_held_work_is_a_status),
        cmocka_unit_test(test_a_full_stream_is_waited_for),
        cmocka_unit_test(test_order_holds_when_timing_begins),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

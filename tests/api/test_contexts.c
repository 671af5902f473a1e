/* SPDX-License-Identifier: MIT */
/* Several contexts side by side, waits from one to another, and the default context. */
#include "../support/alike.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_two_contexts_work_side_by_side(void **state) {
    (void)state;
    enum { CONTEXTS = 3 };
    cls_context contexts[CONTEXTS];
    cls_stream streams[CONTEXTS];
    cls_buffer buffers[CONTEXTS];
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        contexts[i] = alike_context(i);
        OK(cls_stream_create(contexts[i], NULL, &streams[i]));
        OK(cls_buffer_create(contexts[i], 64, &buffers[i]));
        OK(cls_fill_async(buffers[i], 0, 64, &i, 4, streams[i]));
    }
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        uint32_t seen = 99;
        OK(cls_copy_d2h(&seen, buffers[i], 8, 4, streams[i]));
        assert_int_equal(seen, i);
        OK(cls_stream_destroy(streams[i]));
        OK(cls_buffer_destroy(buffers[i]));
        OK(cls_context_destroy(contexts[i]));
    }
}

/* Work here waits for work there, held by a gate or running, many times over and back. */
static void test_waits_cross_contexts(void **state) {
    (void)state;
    cls_context other;
    cls_stream here = rig_stream(), there;
    cls_buffer cells = rig_cells(1), copy;
    cls_event from_here = rig_event(), from_there;
    uint32_t carried = 0, expected = 0;
    unsigned rounds = rig_scale(50, 5);
    other = alike_context(1);
    OK(cls_stream_create(other, NULL, &there));
    OK(cls_event_create(other, NULL, &from_there));
    OK(cls_buffer_create(other, 4, &copy));
    for (unsigned i = 0; i < rounds; i++) {
        OK(rig_step(here, cells, 0, 3, i, i % 8 ? 0 : 5));
        OK(cls_copy_d2h_async(&carried, cells, 0, 4, here));
        OK(cls_event_record(from_here, here));
        OK(cls_stream_wait_event(there, from_here));
        OK(cls_copy_h2d_async(copy, 0, &carried, 4, there));
        OK(cls_copy_d2h_async(&carried, copy, 0, 4, there));
        OK(cls_event_record(from_there, there));
        OK(cls_stream_wait_event(here, from_there));
        OK(cls_copy_h2d_async(cells, 0, &carried, 4, here));
        expected = expected * 3 + i;
    }
    OK(cls_stream_synchronize(here));
    OK(cls_stream_synchronize(there));
    assert_int_equal(rig_cell(cells, 0), expected);
    OK(cls_stream_destroy(here));
    OK(cls_stream_destroy(there));
    OK(cls_event_destroy(from_here));
    OK(cls_event_destroy(from_there));
    OK(cls_buffer_destroy(cells));
    OK(cls_buffer_destroy(copy));
    OK(cls_context_destroy(other));
}

struct freeing {
    struct gate gate;
    void *memory;
    _Atomic bool opened;
    sleeper freer;
};

static bool free_while_copied(void *arg, unsigned i) {
    struct freeing *freeing = arg;
    if (i) {
        sleeper_here(&freeing->freer);
        return cls_host_free(freeing->memory) == CLS_SUCCESS && atomic_load(&freeing->opened);
    }
    await_sleeper(&freeing->freer);
    atomic_store(&freeing->opened, true);
    gate_open(&freeing->gate);
    return true;
}

/* A copy to a device of another context than the one that pinned the memory. */
static void test_pinned_memory_serves_all_contexts_until_they_are_done(void **state) {
    (void)state;
    enum { BYTES = 1 << 20 };
    struct freeing freeing = {.opened = false};
    static unsigned char seen[BYTES];
    cls_context other;
    cls_stream there;
    cls_buffer buffer;
    gate_init(&freeing.gate);
    other = alike_context(1);
    OK(cls_stream_create(other, NULL, &there));
    OK(cls_buffer_create(other, BYTES, &buffer));
    OK(cls_host_alloc(rig.context, BYTES, &freeing.memory));
    memset(freeing.memory, 42, BYTES);
    OK(cls_stream_launch_host_async(there, gate_hold, &freeing.gate));
    OK(cls_copy_h2d_async(buffer, 0, freeing.memory, BYTES, there));
    assert_int_equal(team_run(2, free_while_copied, &freeing), 0);
    OK(cls_copy_d2h(seen, buffer, 0, BYTES, there));
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(seen[i], 42);
    OK(cls_stream_destroy(there));
    OK(cls_buffer_destroy(buffer));
    OK(cls_context_destroy(other));
    gate_destroy(&freeing.gate);
}

static void test_failure_crosses_contexts_along_a_wait(void **state) {
    (void)state;
    cls_context other;
    cls_stream here = rig_stream(), there, beside;
    cls_event event = rig_event();
    cls_buffer buffer;
    struct gate gate;
    gate_init(&gate);
    other = alike_context(1);
    OK(cls_stream_create(other, NULL, &there));
    OK(cls_stream_create(other, NULL, &beside));
    OK(cls_buffer_create(other, 4, &buffer));
    OK(cls_stream_launch_host_async(here, gate_hold, &gate));
    OK(rig_fail(here, "over the border", -5));
    OK(cls_event_record(event, here));
    OK(cls_stream_wait_event(there, event));
    OK(cls_fill_async(buffer, 0, 4, "1234", 4, there));
    gate_open(&gate);
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(there));
    assert_non_null(strstr(cls_last_error_detail(), "over the border"));
    OK(cls_stream_synchronize(beside));
    OK(cls_stream_reset(there));
    OK(cls_fill(buffer, 0, 4, "1234", 4, there));
    OK(cls_stream_destroy(here));
    OK(cls_stream_destroy(there));
    OK(cls_stream_destroy(beside));
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(buffer));
    OK(cls_context_destroy(other));
    gate_destroy(&gate);
}

/* What waits outlives the context of what it waits for. */
static void test_a_wait_outlives_the_context_it_came_from(void **state) {
    (void)state;
    cls_context other;
    cls_stream here = rig_stream(), there;
    cls_event event;
    cls_buffer cells = rig_cells(1);
    struct gate gate;
    gate_init(&gate);
    other = alike_context(1);
    OK(cls_stream_create(other, NULL, &there));
    OK(cls_event_create(other, NULL, &event));
    OK(cls_stream_launch_host_async(there, gate_hold, &gate));
    OK(cls_event_record(event, there));
    OK(cls_stream_wait_event(here, event));
    OK(rig_set(here, cells, 0, 5, 0));
    OK(cls_context_destroy(other));
    OK(cls_stream_destroy(there));
    OK(cls_event_destroy(event));
    EXPECT(CLS_NOT_READY, cls_stream_query(here));
    gate_open(&gate);
    OK(cls_stream_synchronize(here));
    assert_int_equal(rig_cell(cells, 0), 5);
    OK(cls_stream_destroy(here));
    OK(cls_buffer_destroy(cells));
    gate_destroy(&gate);
}

static void test_all_objects_of_a_destroyed_context_say_so(void **state) {
    (void)state;
    cls_context context;
    cls_stream stream, fallback;
    cls_event event;
    cls_buffer buffer;
    cls_program program;
    cls_kernel kernel;
    cls_launch shape = cls_launch_1d(1);
    uint32_t word = 0;
    void *pinned;
    OK(cls_context_create(NULL, &context));
    OK(cls_stream_create(context, NULL, &stream));
    OK(cls_context_default_stream(context, &fallback));
    OK(cls_event_create(context, NULL, &event));
    OK(cls_buffer_create(context, 4, &buffer));
    OK(cls_host_alloc(context, 64, &pinned));
    OK(cls_program_from_source(context, "kernel void nothing(global int *x) {}", NULL, NULL,
                               &program));
    OK(cls_kernel_create(program, "nothing", &kernel));
    OK(cls_context_destroy(context));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_stream_query(stream));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_stream_synchronize(stream));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_stream_reset(stream));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_event_record(event, stream));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_event_synchronize(event));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_copy_h2d(buffer, 0, &word, 4, stream));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_copy_d2h(&word, buffer, 0, 4, NULL));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_kernel_launch(kernel, &shape, NULL, 0, stream));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_kernel_create(program, "nothing", &kernel));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_stream_query(fallback)); /* went with its context */
    OK(cls_host_free(pinned));
    OK(cls_kernel_destroy(kernel));
    OK(cls_program_destroy(program));
    OK(cls_stream_destroy(stream));
    OK(cls_event_destroy(event));
    OK(cls_buffer_destroy(buffer));
}

static void test_null_means_the_default_context_and_its_stream(void **state) {
    (void)state;
    cls_context first, second;
    cls_stream stream, again;
    cls_buffer buffer;
    cls_stream_info info = {.size = sizeof info};
    uint32_t value = 8, seen = 0;
    OK(cls_context_default(&first));
    OK(cls_context_default(&second));
    assert_ptr_equal(first, second);
    OK(cls_context_default_stream(NULL, &stream));
    OK(cls_context_default_stream(first, &again));
    assert_ptr_equal(stream, again);
    OK(cls_stream_get_info(NULL, &info));
    assert_ptr_equal(info.context, first);
    OK(cls_buffer_create(NULL, 4, &buffer));
    OK(cls_fill_async(buffer, 0, 4, &value, 4, NULL)); /* of the buffer's context */
    OK(cls_copy_d2h_async(&seen, buffer, 0, 4, stream));
    OK(cls_stream_synchronize(NULL));
    assert_int_equal(seen, 8);
    OK(cls_buffer_destroy(buffer));
    /* where another argument tells the context, its default stream is meant */
    cls_buffer cells = rig_cells(1);
    cls_event event = rig_event();
    OK(rig_set(NULL, cells, 0, 4, 5));
    OK(cls_event_record(event, NULL));
    OK(cls_event_synchronize(event));
    assert_int_equal(rig_cell(cells, 0), 4);
    OK(cls_buffer_destroy(cells));
    OK(cls_event_destroy(event));
}

static void test_a_context_may_choose_its_device(void **state) {
    (void)state;
    size_t index, count, chosen;
    char text[32];
    cls_context context;
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    OK(cls_context_get_device(rig.context, &index));
    OK(cls_device_count(&count));
    assert_true(index < count);
    snprintf(text, sizeof text, "%zu", index);
    config.device = text;
    OK(cls_context_create(&config, &context));
    OK(cls_context_get_device(context, &chosen));
    assert_int_equal(chosen, index);
    OK(cls_context_destroy(context));
}

static void test_streams_say_what_they_are(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream_info info = {.size = sizeof info};
    cls_stream stream, plain = rig_stream();
    char name[100];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    config.name = name;
    config.priority = -100;
    config.wait = CLS_WAIT_YIELD;
    config.timing = 1;
    config.max_in_flight = 77;
    config.fifo_limit = 88;
    OK(cls_stream_create(rig.context, &config, &stream));
    OK(cls_stream_get_info(stream, &info));
    name[63] = '\0';
    assert_string_equal(info.name, name);
    assert_ptr_equal(info.context, rig.context);
    assert_int_equal(info.wait, CLS_WAIT_YIELD);
    assert_true(info.timing);
    assert_int_equal(info.max_in_flight, 77);
    assert_int_equal(info.fifo_limit, 88);
    assert_int_equal(info.priority,
                     rig_has_capability("priorities") ? CLS_PRIORITY_HIGH : CLS_PRIORITY_NORMAL);
    assert_true(info.order == CLS_ORDER_IN_ORDER || info.order == CLS_ORDER_OUT_OF_ORDER);
    OK(cls_stream_get_info(plain, &info));
    assert_non_null(strstr(info.name, "stream "));
    assert_int_equal(info.timing, 0);
    assert_int_equal(info.max_in_flight, 1024);
    assert_int_equal(info.priority, CLS_PRIORITY_NORMAL);
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(plain));
}

/* All wait policies come to the same. */
static void test_wait_policies(void **state) {
    (void)state;
    cls_buffer cells = rig_cells(1);
    for (int wait = CLS_WAIT_AUTO; wait <= CLS_WAIT_BLOCK; wait++) {
        cls_stream_config config = CLS_STREAM_CONFIG_INIT;
        cls_stream stream;
        struct gate gate;
        gate_init(&gate);
        config.wait = (cls_wait_policy)wait;
        OK(cls_stream_create(rig.context, &config, &stream));
        OK(rig_set(stream, cells, 0, (uint32_t)wait, 10));
        OK(cls_stream_synchronize(stream));
        assert_int_equal(rig_cell(cells, 0), wait);
        OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
        EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(stream, 2000000));
        gate_open(&gate);
        OK(cls_stream_synchronize(stream));
        OK(cls_stream_destroy(stream));
        gate_destroy(&gate);
    }
    OK(cls_buffer_destroy(cells));
}

static void test_the_queue_order_asked_for_is_in_effect(void **state) {
    (void)state;
    static const char *const words[] = {
        [CLS_ORDER_IN_ORDER] = "in", [CLS_ORDER_OUT_OF_ORDER] = "out"};
    const char *forced = getenv("CLSTREAM_QUEUE_ORDER");
    for (int order = CLS_ORDER_OUT_OF_ORDER; order <= CLS_ORDER_IN_ORDER; order++) {
        cls_stream_config config = CLS_STREAM_CONFIG_INIT;
        cls_stream_info info = {.size = sizeof info};
        cls_stream stream = NULL;
        config.order = (cls_order)order;
        cls_status status = cls_stream_create(rig.context, &config, &stream);
        if (order == CLS_ORDER_OUT_OF_ORDER && !rig_has_capability("out_of_order") && !forced) {
            EXPECT(CLS_ERROR_UNSUPPORTED, status);
            assert_null(stream);
            continue;
        }
        OK(status);
        OK(cls_stream_get_info(stream, &info));
        if (forced) /* what the device can do */
            assert_string_equal(words[info.order],
                                rig_has_capability("out_of_order") ? forced : "in");
        else
            assert_int_equal(info.order, order);
        OK(cls_stream_destroy(stream));
    }
}

/* Also where the environment forces another one. */
static void test_an_unknown_queue_order_is_refused(void **state) {
    (void)state;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream = NULL;
    config.order = (cls_order)(CLS_ORDER_IN_ORDER + 1);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_stream_create(rig.context, &config, &stream));
    assert_null(stream);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_contexts_work_side_by_side),
        cmocka_unit_test(test_waits_cross_contexts),
        cmocka_unit_test(test_pinned_memory_serves_all_contexts_until_they_are_done),
        cmocka_unit_test(test_failure_crosses_contexts_along_a_wait),
        cmocka_unit_test(test_a_wait_outlives_the_context_it_came_from),
        cmocka_unit_test(test_all_objects_of_a_destroyed_context_say_so),
        cmocka_unit_test(test_null_means_the_default_context_and_its_stream),
        cmocka_unit_test(test_a_context_may_choose_its_device),
        cmocka_unit_test(test_streams_say_what_they_are),
        cmocka_unit_test(test_wait_policies),
        cmocka_unit_test(test_the_queue_order_asked_for_is_in_effect),
        cmocka_unit_test(test_an_unknown_queue_order_is_refused),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

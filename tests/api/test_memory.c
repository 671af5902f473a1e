/* SPDX-License-Identifier: MIT */
/* What is bounded: commands, events and streams without number leave the process's memory flat. */
#include "../support/rig.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

/* More than allocators and drivers keep to themselves, and a fraction of what a leak of 16 bytes each
 * would come to in a million commands. */
enum { SLACK = 8 << 20 };

/* What is free but scattered over the allocator's arenas does not count. */
static long resident(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    FILE *file = fopen("/proc/self/statm", "r");
    long whole = 0, pages = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &whole, &pages), 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void expect_flat(long before, const char *what) {
    long grown = resident() - before;
    /* A driver may take its time to end what was released; what has leaked stays. */
    for (int i = 0; i < 100 && grown > SLACK; i++) {
        nap_ms(20);
        grown = resident() - before;
    }
    if (grown > SLACK)
        fail_msg("%s left %ld KiB more behind", what, grown / 1024);
}

/* Synchronizes now and then: what a device slower than the host has not taken yet is held for it. */
static void launch_many(cls_stream stream, cls_buffer cells, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        OK(rig_step(stream, cells, 0, 1, 1, 0));
        if (i % 1000 == 999)
            OK(cls_stream_synchronize(stream));
    }
    OK(cls_stream_synchronize(stream));
}

static void test_a_million_commands(void **state) {
    (void)state;
    unsigned count = rig_scale(1000000, 5000), warm = count / 10;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    launch_many(stream, cells, warm);
    long before = resident();
    launch_many(stream, cells, count);
    expect_flat(before, "a million commands");
    assert_int_equal(rig_cell(cells, 0), warm + count);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

static void count_up(void *arg) { ++*(unsigned *)arg; }

/* Commands that go through the library's own queue. */
static void test_deferred_commands(void **state) {
    (void)state;
    unsigned rounds = rig_scale(100, 10), ran = 0;
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(1);
    long before = 0;
    for (unsigned round = 0; round < rounds; round++) {
        if (round == rounds / 5)
            before = resident();
        for (unsigned i = 0; i < 200; i++) {
            OK(cls_stream_launch_host_async(stream, count_up, &ran));
            OK(rig_step(stream, cells, 0, 1, 1, 0));
        }
        OK(cls_stream_synchronize(stream));
    }
    expect_flat(before, "deferred commands");
    assert_int_equal(ran, 200 * rounds);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
}

static void cycle_events(cls_stream stream, cls_stream other, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        cls_event event = rig_event();
        OK(cls_event_record(event, stream));
        OK(cls_stream_wait_event(other, event));
        OK(cls_event_destroy(event));
    }
}

static void test_a_hundred_thousand_events(void **state) {
    (void)state;
    cls_stream stream = rig_stream(), other = rig_stream();
    cls_buffer cells = rig_cells(1);
    OK(rig_set(stream, cells, 0, 1, 30));
    cycle_events(stream, other, 10000);
    long before = resident();
    OK(rig_set(stream, cells, 0, 1, 30));
    cycle_events(stream, other, 100000);
    OK(cls_stream_synchronize(other));
    expect_flat(before, "a hundred thousand events");
    OK(cls_stream_destroy(stream));
    OK(cls_stream_destroy(other));
    OK(cls_buffer_destroy(cells));
}

/* Two streams never use the same cell, until all are synchronized. */
enum { USED_EVERY = 16, SYNCED_EVERY = 1024, USED = SYNCED_EVERY / USED_EVERY };

static void cycle_streams(unsigned count, bool used, cls_buffer cells) {
    for (unsigned i = 0; i < count; i++) {
        cls_stream stream = rig_stream();
        if (used && i % USED_EVERY == 0)
            OK(rig_set(stream, cells, i / USED_EVERY % USED, i, 0));
        OK(cls_stream_destroy(stream));
        if (i % SYNCED_EVERY == SYNCED_EVERY - 1)
            OK(cls_context_synchronize(rig.context));
    }
    OK(cls_context_synchronize(rig.context));
}

static void test_a_hundred_thousand_streams(void **state) {
    (void)state;
    if (rig_has_quirk("released_queues_stay"))
        SKIP_BECAUSE("this driver's released queues leave memory behind");
    cls_buffer cells = rig_cells(USED);
    unsigned count = rig_scale(100000, 20000);
    cycle_streams(count / 10, true, cells);
    long before = resident();
    cycle_streams(count, true, cells);
    expect_flat(before, "a hundred thousand streams");
    OK(cls_buffer_destroy(cells));
}

static void cycle_buffers(cls_stream stream, unsigned count) {
    uint32_t word = 0;
    for (unsigned i = 0; i < count; i++) {
        cls_buffer buffer;
        OK(cls_buffer_create(rig.context, 4096, &buffer));
        OK(cls_copy_h2d_async(buffer, 0, &word, 4, stream));
        OK(cls_buffer_destroy(buffer));
    }
    OK(cls_stream_synchronize(stream));
}

static void test_buffers_copies_and_failures(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    unsigned count = rig_scale(20000, 1000);
    cycle_buffers(stream, count / 4);
    for (int i = 0; i < 50; i++) {
        OK(rig_fail(stream, "fails", -5));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
        OK(cls_stream_reset(stream));
    }
    long before = resident();
    cycle_buffers(stream, count);
    for (int i = 0; i < 500; i++) {
        OK(rig_fail(stream, "fails", -5));
        EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(stream));
        OK(cls_stream_reset(stream));
    }
    expect_flat(before, "buffers, copies and failures");
    OK(cls_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_million_commands),
        cmocka_unit_test(test_deferred_commands),
        cmocka_unit_test(test_a_hundred_thousand_events),
        cmocka_unit_test(test_a_hundred_thousand_streams),
        cmocka_unit_test(test_buffers_copies_and_failures),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

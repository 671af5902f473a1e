/* SPDX-License-Identifier: MIT */
/* CLSTREAM_CHECK=race: host memory that changes before an upload has read it. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "race_pairs.h"

#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

enum {
    WORDS = 1 << 15,
    SIZE = WORDS * 4
}; /* pageable copies of that size are staged where any are */

static struct {
    cls_buffer buffer;
    uint32_t *words; /* in pages of their own */
} big;

static int stores_setup(void **state) {
    const int failed = race_setup(state);
    if (failed)
        return failed;
    big.buffer = rig_cells(WORDS);
    big.words = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return big.words == MAP_FAILED;
}

static int stores_teardown(void **state) {
    OK(cls_buffer_destroy(big.buffer));
    munmap(big.words, SIZE);
    return race_teardown(state);
}

static void upload(void) { OK(cls_copy_h2d_async(big.buffer, 0, big.words, SIZE, w.a)); }

static void change(void *unused) {
    (void)unused;
    big.words[WORDS - 1]++;
}

static void synchronize(void) { OK(cls_stream_synchronize(w.a)); }

/* Behind work of the device, which on a busy machine may be over before the change: then with longer work. */
static void behind_a_kernel(bool clean) {
    for (double ms = 100; ms < 5000; ms *= 2) {
        OK(rig_step(w.a, w.y, 0, 1, 1, ms));
        upload();
        if (clean)
            synchronize();
        change(NULL);
        synchronize();
        if (clean || found().races)
            return;
    }
}

static void rows_behind_a_kernel(bool clean) {
    const cls_rect rect = {4, WORDS / 2, 0, 4, 4,
                           8, 0,         0, 0}; /* every other word, from the second on */
    for (double ms = 100; ms < 5000; ms *= 2) {
        OK(rig_step(w.a, w.y, 0, 1, 1, ms));
        OK(cls_copy_rect_h2d_async(big.buffer, big.words, &rect, w.a));
        big.words[clean ? WORDS - 2 : WORDS - 1]++;
        synchronize();
        if (clean || found().races)
            return;
    }
}

/* Behind a signal of the host, which may have made the change on purpose; that it declares. */
static void behind_a_signal(bool clean) {
    OK(cls_stream_wait_timeline(w.a, w.early, 1));
    upload();
    change(NULL);
    if (clean)
        OK(cls_check_host_access(big.words, SIZE, CLS_ACCESS_WRITE));
    OK(cls_timeline_signal(w.early, 1));
    synchronize();
}

/* What a host function changes that the upload waits for is meant to be uploaded. */
static void behind_a_host_function(bool clean) {
    OK(cls_stream_wait_timeline(w.a, w.early, 1));
    OK(cls_stream_launch_host_async(w.a, clean ? change : rig_do_nothing, NULL));
    upload();
    if (!clean)
        change(NULL);
    OK(cls_timeline_signal(w.early, 1));
    synchronize();
}

/* A download into the same memory may change it before the upload is seen to be done. */
static void before_a_download(bool clean) {
    OK(cls_stream_wait_timeline(w.a, w.early, 1));
    upload();
    if (!clean)
        change(NULL);
    OK(cls_copy_d2h_async(big.words, big.buffer, 0, SIZE, w.a));
    OK(cls_timeline_signal(w.early, 1));
    synchronize();
}

static void map_again(void *unused) {
    (void)unused;
    mmap(big.words, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void by_a_copy_on_the_host(bool clean) {
    uint32_t *copy = malloc(SIZE);
    assert_non_null(copy);
    OK(cls_stream_wait_timeline(w.a, w.early, 1));
    OK(cls_copy_h2h_async(copy, big.words, SIZE, w.a));
    if (!clean)
        change(NULL);
    OK(cls_timeline_signal(w.early, 1));
    synchronize();
    free(copy);
}

/* The driver would crash on memory that is gone; the host function brings it back before that. */
static void unmapped(bool clean) {
    OK(cls_stream_wait_timeline(w.a, w.early, 1));
    OK(cls_stream_launch_host_async(w.a, map_again, NULL));
    upload();
    if (!clean)
        assert_int_equal(munmap(big.words, SIZE), 0);
    OK(cls_timeline_signal(w.early, 1));
    synchronize();
}

/* --- no false alarm --- */

static void expect_nothing(void) {
    const cls_check_counts counts = found();
    assert_int_equal(counts.races + counts.possible, 0);
}

static void memory_that_goes_there_and_back(void **state) {
    (void)state;
    world_begin();
    for (int i = 0; i < 50; i++) {
        upload();
        OK(rig_step(w.a, big.buffer, WORDS - 1, 1, 1, 0));
        OK(cls_copy_d2h_async(big.words, big.buffer, 0, SIZE, w.a));
    }
    synchronize();
    expect_nothing();
    world_end();
}

static void a_host_function_behind_the_upload(void **state) {
    (void)state;
    world_begin();
    for (int i = 0; i < 50; i++) {
        upload();
        OK(cls_event_record(w.event, w.a));
        OK(cls_stream_wait_event(w.b, w.event));
        OK(cls_stream_launch_host_async(w.b, change, NULL));
        OK(cls_event_record(w.other, w.b));
        OK(cls_stream_wait_event(w.a, w.other));
    }
    synchronize();
    expect_nothing();
    world_end();
}

static void memory_that_a_copy_on_the_host_writes(void **state) {
    (void)state;
    uint32_t *source = calloc(WORDS, 4);
    assert_non_null(source);
    world_begin();
    for (uint32_t i = 0; i < 50; i++) {
        synchronize();
        source[WORDS / 2] = i;
        OK(rig_step(w.a, w.y, 0, 1, 1, 1));
        OK(cls_copy_h2h_async(big.words, source, SIZE, w.a));
        upload();
    }
    synchronize();
    expect_nothing();
    world_end();
    free(source);
}

static void an_event_of_the_driver_tells_the_program(void **state) {
    (void)state;
    cl_event done;
    world_begin();
    for (int i = 0; i < 50; i++) {
        upload();
        OK(cls_event_record(w.event, w.a));
        OK(cls_event_wait_cl(w.event, CLS_FOREVER, &done));
        assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
        assert_int_equal(clReleaseEvent(done), CL_SUCCESS);
        change(NULL);
    }
    synchronize();
    expect_nothing();
    world_end();
}

/* Commands write to the buffer, and so to the memory. */
static void pinned_memory_that_is_a_buffer(void **state) {
    (void)state;
    void *pinned;
    cls_buffer buffer;
    rig_need("mapped_memory");
    world_begin();
    OK(cls_host_alloc(rig.context, SIZE, &pinned));
    memset(pinned, 0, SIZE);
    OK(cls_host_buffer(pinned, &buffer));
    for (int i = 0; i < 20; i++) {
        OK(cls_prefetch_async(buffer, CLS_TO_DEVICE, w.a));
        OK(rig_step(w.a, buffer, 0, 1, 1, 1));
        OK(cls_prefetch_async(buffer, CLS_TO_HOST, w.a));
        OK(cls_copy_h2d_async(big.buffer, 0, pinned, SIZE, w.a));
    }
    synchronize();
    expect_nothing();
    OK(cls_host_free(pinned));
    world_end();
}

static void an_upload_that_failed_has_read_nothing(void **state) {
    (void)state;
    world_begin();
    OK(cls_stream_wait_timeline(w.a, w.early, 1));
    OK(rig_fail(w.a, "a failure", CL_OUT_OF_RESOURCES));
    upload();
    OK(cls_timeline_signal(w.early, 1));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(w.a));
    change(NULL);
    OK(cls_stream_reset(w.a));
    expect_nothing();
    world_end();
}

static const struct CMUnitTest tests[] = {
    PAIR("behind a kernel", behind_a_kernel, false,
         {"131072 bytes of host memory", "of stream 'first' ('copy_h2d')",
          "before the change, synchronize with 'first', or with an event recorded on it after"}),
    PAIR("rows behind a kernel", rows_behind_a_kernel, false, {"copy_rect_h2d"}),
    PAIR("behind a signal", behind_a_signal, true, {"were changed", "cls_check_host_access"}),
    PAIR("behind a host function", behind_a_host_function, true, {"were changed"}),
    PAIR("before a download", before_a_download, true, {"were changed"}),
    PAIR("by a copy on the host", by_a_copy_on_the_host, true, {"were changed", "('copy_h2h')"}),
    PAIR("unmapped", unmapped, true, {"were unmapped"}),
    cmocka_unit_test(memory_that_goes_there_and_back),
    cmocka_unit_test(a_host_function_behind_the_upload),
    cmocka_unit_test(memory_that_a_copy_on_the_host_writes),
    cmocka_unit_test(an_event_of_the_driver_tells_the_program),
    cmocka_unit_test(pinned_memory_that_is_a_buffer),
    cmocka_unit_test(an_upload_that_failed_has_read_nothing),
};

int main(void) { return cmocka_run_group_tests(tests, stores_setup, stores_teardown); }

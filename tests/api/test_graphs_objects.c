/* SPDX-License-Identifier: MIT */
/* Graphs: objects of the library that order work of a captured stream refuse to, and go on as before once it has ended. */
#include "../support/rig.h"

#include <string.h>

#include <clstream/graph.h>
#include <clstream/pipeline.h>
#include <clstream/prefetcher.h>
#include <clstream/triple_buffer.h>

enum { BYTES = 64, BATCHES = 6 };

static cls_stream captured, beside;
static cls_buffer cells;

static int begin(void **state) {
    (void)state;
    captured = rig_named("main");
    beside = rig_named("beside");
    cells = rig_cells(BYTES / 4);
    return 0;
}

static int end(void **state) {
    (void)state;
    OK(cls_stream_destroy(captured));
    OK(cls_stream_destroy(beside));
    OK(cls_buffer_destroy(cells));
    return 0;
}

static void begin_capture(void) {
    OK(cls_stream_begin_capture(captured, "step"));
    OK(rig_step(captured, cells, 0, 3, 1, 0));
}

/* The capture is invalid because of `owner`, and nobody else has joined it. */
static void end_refused(const char *owner) {
    cls_graph graph;
    cls_capture_info info = CLS_CAPTURE_INFO_INIT;
    expect_detail("use by");
    expect_detail(owner);
    OK(cls_stream_get_capture(beside, &info));
    assert_int_equal(info.state, CLS_CAPTURE_NONE);
    EXPECT(CLS_ERROR_INVALID_STATE, cls_stream_end_capture(captured, &graph));
    expect_detail(owner);
}

/* --- triple buffers --- */

static cls_triple_buffer make_ring(int async_reuse) {
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_triple_buffer ring;
    config.async_reuse = async_reuse;
    config.slots = 2;
    OK(cls_triple_buffer_create(rig.context, BYTES, &config, &ring));
    return ring;
}

/* Two rounds, on streams that are not captured. */
static void run_ring(cls_triple_buffer ring) {
    cls_slot slot;
    for (uint32_t round = 1; round <= 2; round++) {
        uint32_t seen = 0;
        OK(cls_triple_buffer_upload_slot(ring, captured, &slot));
        OK(cls_fill_async(slot.buffer, 0, BYTES, &round, sizeof round, captured));
        OK(cls_triple_buffer_process_slot(ring, beside, &slot));
        OK(cls_triple_buffer_download_slot(ring, captured, &slot));
        OK(cls_copy_d2h_async(&seen, slot.buffer, 0, sizeof seen, captured));
        OK(cls_triple_buffer_advance(ring));
        OK(cls_stream_synchronize(captured));
        assert_int_equal(seen, round);
    }
}

/* Also the slots that no stage has used yet, whose events were never recorded. */
static void test_slots_are_not_taken(void **state) {
    (void)state;
    for (int async_reuse = 0; async_reuse < 2; async_reuse++) {
        cls_triple_buffer ring = make_ring(async_reuse);
        cls_slot slot;
        begin_capture();
        EXPECT(CLS_ERROR_INVALID_STATE, cls_triple_buffer_upload_slot(ring, captured, &slot));
        end_refused("a triple buffer");
        OK(cls_triple_buffer_upload_slot(ring, beside, &slot));
        begin_capture();
        EXPECT(CLS_ERROR_INVALID_STATE, cls_triple_buffer_process_slot(ring, captured, &slot));
        end_refused("a triple buffer");
        OK(cls_triple_buffer_process_slot(ring, beside, &slot));
        begin_capture();
        EXPECT(CLS_ERROR_INVALID_STATE, cls_triple_buffer_download_slot(ring, captured, &slot));
        end_refused("a triple buffer");
        OK(cls_triple_buffer_download_slot(ring, beside, &slot));
        OK(cls_triple_buffer_advance(ring));
        run_ring(ring);
        OK(cls_triple_buffer_destroy(ring));
    }
}

/* A slot that was taken before the capture is handed on after it. */
static void test_slots_are_not_handed_on(void **state) {
    (void)state;
    cls_triple_buffer ring = make_ring(0);
    cls_slot slot;
    OK(cls_triple_buffer_upload_slot(ring, captured, &slot));
    begin_capture();
    EXPECT(CLS_ERROR_INVALID_STATE, cls_triple_buffer_submitted(ring, slot.index));
    EXPECT(CLS_ERROR_INVALID_STATE, cls_triple_buffer_process_slot(ring, beside, &slot));
    end_refused("a triple buffer");
    OK(cls_triple_buffer_process_slot(ring, beside, &slot));
    OK(cls_triple_buffer_download_slot(ring, beside, &slot));
    OK(cls_triple_buffer_advance(ring));
    run_ring(ring);
    OK(cls_triple_buffer_destroy(ring));
}

/* It waits for the work before the capture, and the capture is none of its business. */
static void test_a_reset_of_slots_leaves_the_capture(void **state) {
    (void)state;
    cls_triple_buffer ring = make_ring(0);
    cls_slot slot;
    OK(cls_triple_buffer_upload_slot(ring, captured, &slot));
    OK(rig_step(captured, cells, 1, 0, 9, 20));
    begin_capture();
    OK(cls_triple_buffer_reset(ring));
    assert_int_equal(rig_cell(cells, 1), 9);
    OK(cls_graph_exec_destroy(rig_end_capture(captured)));
    run_ring(ring);
    OK(cls_triple_buffer_destroy(ring));
}

/* --- prefetchers --- */

static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    (void)arg;
    memset(memory, (int)index + 1, capacity);
    *bytes = index < BATCHES ? capacity : 0;
    return CLS_SUCCESS;
}

/* Takes batches up to the end, from `first` on. */
static void fetch_rest(cls_prefetcher prefetcher, unsigned first) {
    cls_prefetched batch;
    for (unsigned i = first; i < BATCHES; i++) {
        unsigned char seen = 0;
        OK(cls_prefetcher_next(prefetcher, captured, &batch));
        OK(cls_copy_d2h(&seen, batch.buffer, BYTES - 1, 1, captured));
        assert_int_equal(seen, i + 1);
        OK(cls_prefetcher_release(prefetcher, &batch, captured));
    }
    OK(cls_prefetcher_next(prefetcher, captured, &batch));
    assert_int_equal(batch.bytes, 0);
}

static void test_batches_are_neither_taken_nor_given_back(void **state) {
    (void)state;
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher prefetcher;
    cls_prefetched batch, none;
    config.workers = 1;
    config.depth = 2;
    OK(cls_prefetcher_create(rig.context, BYTES, load, NULL, &config, &prefetcher));
    OK(cls_prefetcher_next(prefetcher, beside, &batch));
    begin_capture();
    EXPECT(CLS_ERROR_INVALID_STATE, cls_prefetcher_next(prefetcher, captured, &none));
    end_refused("a prefetcher");
    begin_capture();
    EXPECT(CLS_ERROR_INVALID_STATE, cls_prefetcher_try_next(prefetcher, captured, &none));
    end_refused("a prefetcher");
    begin_capture();
    EXPECT(CLS_ERROR_INVALID_STATE, cls_prefetcher_release(prefetcher, &batch, captured));
    end_refused("a prefetcher");
    OK(cls_prefetcher_release(prefetcher, &batch, captured));
    fetch_rest(prefetcher, 1);
    OK(cls_prefetcher_destroy(prefetcher));
}

/* --- pipelines --- */

static cls_status add_one(const cls_stage_run *run, void *arg) {
    ++*(unsigned *)arg;
    return cls_stream_launch_host_async(run->stream, rig_do_nothing, NULL);
}

/* No stage has begun then, though the first one's stream is the pipeline's. */
static void test_a_stage_on_a_captured_stream_stops_the_iteration(void **state) {
    (void)state;
    cls_stage stage = CLS_STAGE_INIT;
    cls_pipeline pipeline;
    unsigned runs = 0;
    stage.fn = add_one;
    stage.arg = &runs;
    OK(cls_pipeline_create(rig.context, NULL, &pipeline));
    stage.name = "own";
    OK(cls_pipeline_add_stage(pipeline, &stage));
    stage.name = "on a stream of the program's";
    stage.stream = captured;
    OK(cls_pipeline_add_stage(pipeline, &stage));
    begin_capture();
    EXPECT(CLS_ERROR_INVALID_STATE, cls_pipeline_execute_iteration(pipeline));
    end_refused("a pipeline");
    assert_int_equal(runs, 0);
    OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_synchronize(pipeline));
    assert_int_equal(runs, 2);
    OK(cls_pipeline_destroy(pipeline));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(slots_are_not_taken),
        TEST(slots_are_not_handed_on),
        TEST(a_reset_of_slots_leaves_the_capture),
        TEST(batches_are_neither_taken_nor_given_back),
        TEST(a_stage_on_a_captured_stream_stops_the_iteration),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

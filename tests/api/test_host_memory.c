/* SPDX-License-Identifier: MIT */
/* Host memory that programs use again with the blocks of the pipeline layer: it is free when their headers say so. */
#include <string.h>

#include <clstream/device_group.h>
#include <clstream/managed_context.h>
#include <clstream/pipeline.h>
#include <clstream/prefetcher.h>

#include "../support/rig.h"

enum { ROUNDS = 40, SLOTS = 3, SETS = SLOTS + 1, WORDS = 1024, BYTES = WORDS * 4 };

/* Host memory of one slot or one turn: what a host function reads, and the ends of copies. */
struct set {
    uint32_t tag, in[WORDS], out[WORDS];
};

static struct set sets[SETS];

/* What the host functions saw in tags. */
static struct {
    uint32_t tags[ROUNDS];
    unsigned n;
} seen;

static void read_late(void *tag) {
    nap_ms(1);
    if (seen.n < ROUNDS)
        seen.tags[seen.n++] = *(const uint32_t *)tag;
}

static void begin(void) {
    memset(sets, 0, sizeof sets);
    seen.n = 0;
}

static void expect_own_tags(void) {
    assert_int_equal(seen.n, ROUNDS);
    for (unsigned i = 0; i < ROUNDS; i++)
        assert_int_equal(seen.tags[i], i);
}

static void fill(struct set *set, uint32_t round) {
    set->tag = round;
    for (unsigned i = 0; i < WORDS; i++)
        set->in[i] = round;
}

/* The results of an earlier round have arrived. */
static void expect_result(const struct set *set, uint32_t round) {
    assert_int_equal(set->out[0], round);
    assert_int_equal(set->out[WORDS - 1], round);
}

static cls_triple_buffer ring_make(bool async_reuse) {
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_triple_buffer ring;
    config.slots = SLOTS;
    config.async_reuse = async_reuse;
    OK(cls_triple_buffer_create(rig.context, BYTES, &config, &ring));
    return ring;
}

/* --- triple buffers --- */

/* A round with the set of its slot; with an event, that one is waited for before the set is touched. */
static void ring_round(cls_triple_buffer ring, uint32_t round, const cls_stream streams[3],
                       const cls_event *done) {
    cls_slot slot;
    OK(cls_triple_buffer_upload_slot(ring, streams[0], &slot));
    struct set *set = &sets[slot.index];
    if (done)
        OK(cls_event_synchronize(done[slot.index]));
    if (round >= SLOTS)
        expect_result(set, round - SLOTS);
    fill(set, round);
    OK(cls_copy_h2d_async(slot.buffer, 0, set->in, BYTES, streams[0]));
    OK(cls_triple_buffer_process_slot(ring, streams[1], &slot));
    OK(cls_triple_buffer_download_slot(ring, streams[2], &slot));
    OK(cls_stream_launch_host_async(streams[2], read_late, &set->tag));
    OK(cls_copy_d2h_async(set->out, slot.buffer, 0, BYTES, streams[2]));
    if (done)
        OK(cls_event_record(done[slot.index], streams[2]));
    OK(cls_triple_buffer_advance(ring));
}

static void ring_rounds(bool async_reuse) {
    cls_triple_buffer ring = ring_make(async_reuse);
    cls_stream streams[3];
    cls_event done[SLOTS];
    begin();
    for (int i = 0; i < 3; i++)
        streams[i] = rig_stream();
    for (int i = 0; i < SLOTS; i++)
        done[i] = rig_event();
    for (uint32_t round = 0; round < ROUNDS; round++)
        ring_round(ring, round, streams, async_reuse ? done : NULL);
    OK(cls_stream_synchronize(streams[2]));
    expect_own_tags();
    for (int i = 0; i < SLOTS; i++)
        OK(cls_event_destroy(done[i]));
    for (int i = 0; i < 3; i++)
        OK(cls_stream_destroy(streams[i]));
    OK(cls_triple_buffer_destroy(ring));
}

static void a_slot_comes_with_its_memory_free(void **state) {
    (void)state;
    ring_rounds(false);
}

static void with_async_reuse_an_event_guards_it(void **state) {
    (void)state;
    ring_rounds(true);
}

/* --- async coordinators: what a function keeps for each slot, and memory of operations --- */

static cls_status tag_slot(cls_stream stream, const cls_slot *slot, void *arg) {
    struct set *kept = arg;
    kept[slot->index].tag = (uint32_t)slot->round;
    return cls_stream_launch_host_async(stream, read_late, &kept[slot->index].tag);
}

static void operations_guard_slots_and_copies(void **state) {
    (void)state;
    static uint32_t in[WORDS], out[ROUNDS][WORDS];
    cls_triple_buffer ring = ring_make(false);
    cls_async_coordinator coordinator;
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_op upload;
    begin();
    OK(cls_async_coordinator_create(rig.context, NULL, &coordinator));
    compute.fn = tag_slot;
    compute.arg = sets;
    compute.slots = ring;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < WORDS; i++)
            in[i] = round;
        OK(cls_async_coordinator_queue_upload(coordinator, in, BYTES, cls_place_slots(ring), NULL,
                                              0, &upload));
        OK(cls_async_coordinator_queue_compute(coordinator, &compute, NULL, 0, NULL));
        OK(cls_async_coordinator_queue_download(coordinator, cls_place_slots(ring), out[round],
                                                BYTES, NULL, 0, NULL));
        OK(cls_async_coordinator_wait(coordinator, upload, CLS_FOREVER)); /* before `in` changes */
    }
    OK(cls_async_coordinator_synchronize_all(coordinator));
    expect_own_tags();
    for (uint32_t round = 0; round < ROUNDS; round++)
        assert_int_equal(out[round][WORDS - 1], round);
    OK(cls_async_coordinator_destroy(coordinator));
    OK(cls_triple_buffer_destroy(ring));
}

/* --- managed contexts: one set more than slots, used in turn --- */

static cls_status nap_and_tag(cls_stream stream, const cls_slot *slot, void *arg) {
    return cls_stream_launch_host_async(stream, read_late,
                                        &((struct set *)arg)[slot->round % SETS].tag);
}

static void a_step_returns_with_an_earlier_one_done(void **state) {
    (void)state;
    cls_buffered_step step = CLS_BUFFERED_STEP_INIT;
    cls_step_telemetry telemetry = CLS_STEP_TELEMETRY_INIT;
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_managed_context managed;
    cls_async_coordinator coordinator;
    begin();
    OK(cls_managed_context_create(NULL, 1, &managed));
    OK(cls_managed_context_get_coordinator(managed, &coordinator));
    OK(cls_managed_context_make_triple_buffer(managed, BYTES, NULL, &step.slots));
    compute.fn = nap_and_tag;
    compute.arg = sets;
    step.compute = &compute;
    step.in_bytes = step.out_bytes = BYTES;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct set *set = &sets[round % SETS];
        if (round >= SETS)
            expect_result(set, round - SETS);
        fill(set, round);
        step.in = set->in;
        step.out = set->out;
        OK(cls_managed_context_triple_buffered_step(managed, &step, &telemetry));
    }
    OK(cls_async_coordinator_synchronize_all(coordinator));
    expect_own_tags();
    OK(cls_triple_buffer_destroy(step.slots));
    OK(cls_managed_context_destroy(managed));
}

/* --- pipelines: the host does not wait, so a stage records when its memory is free --- */

struct stage {
    cls_event done[SETS];
};

static cls_status submit_stage(const cls_stage_run *run, void *arg) {
    const struct stage *stage = arg;
    struct set *set = &sets[run->iteration % SETS];
    cls_status status = cls_copy_h2d_async(run->outputs[0], 0, set->in, BYTES, run->stream);
    if (!status)
        status = cls_stream_launch_host_async(run->stream, read_late, &set->tag);
    if (!status)
        status = cls_copy_d2h_async(set->out, run->outputs[0], 0, BYTES, run->stream);
    return status ? status : cls_event_record(stage->done[run->iteration % SETS], run->stream);
}

static void a_stage_records_when_its_memory_is_free(void **state) {
    (void)state;
    static const char *const name = "data";
    cls_stage stage = CLS_STAGE_INIT;
    struct stage own;
    cls_pipeline pipeline;
    begin();
    OK(cls_pipeline_create(rig.context, NULL, &pipeline));
    OK(cls_pipeline_add_buffer(pipeline, name, BYTES, NULL, CLS_PIPELINE_INTERNAL));
    for (int i = 0; i < SETS; i++)
        own.done[i] = rig_event();
    stage.name = "stage";
    stage.outputs = &name;
    stage.n_outputs = 1;
    stage.fn = submit_stage;
    stage.arg = &own;
    OK(cls_pipeline_add_stage(pipeline, &stage));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct set *set = &sets[round % SETS];
        OK(cls_event_synchronize(own.done[round % SETS]));
        if (round >= SETS)
            expect_result(set, round - SETS);
        fill(set, round);
        OK(cls_pipeline_execute_iteration(pipeline));
    }
    OK(cls_pipeline_synchronize(pipeline));
    expect_own_tags();
    for (int i = 0; i < SETS; i++)
        OK(cls_event_destroy(own.done[i]));
    OK(cls_pipeline_destroy(pipeline));
}

/* --- prefetchers: a loader may fill its memory whenever it is called --- */

static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    uint32_t *words = memory;
    (void)arg;
    if (index == ROUNDS)
        return CLS_SUCCESS;
    for (unsigned i = 0; i < capacity / sizeof *words; i++)
        words[i] = (uint32_t)index;
    *bytes = capacity;
    return CLS_SUCCESS;
}

static void a_loader_gets_free_memory(void **state) {
    (void)state;
    static uint32_t out[ROUNDS][WORDS];
    cls_prefetcher prefetcher;
    cls_prefetched batch;
    cls_stream stream = rig_stream();
    begin();
    OK(cls_prefetcher_create(rig.context, BYTES, load, NULL, NULL, &prefetcher));
    for (;;) {
        OK(cls_prefetcher_next(prefetcher, stream, &batch));
        if (!batch.bytes)
            break;
        OK(cls_stream_launch_host_async(stream, read_late, &sets[0].tag));
        OK(cls_copy_d2h_async(out[batch.index], batch.buffer, 0, BYTES, stream));
        OK(cls_prefetcher_release(prefetcher, &batch, stream));
    }
    OK(cls_stream_synchronize(stream));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        assert_int_equal(out[round][0], round);
        assert_int_equal(out[round][WORDS - 1], round);
    }
    OK(cls_prefetcher_destroy(prefetcher));
    OK(cls_stream_destroy(stream));
}

/* --- device groups --- */

static void a_synchronized_group_has_left_the_host(void **state) {
    (void)state;
    cls_device_group group;
    cls_device_streams streams;
    cls_buffer buffer = rig_cells(WORDS);
    begin();
    OK(cls_device_group_create(&rig.context, 1, NULL, &group));
    OK(cls_device_group_get_streams(group, 0, &streams));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        fill(&sets[0], round);
        OK(cls_stream_launch_host_async(streams.compute, read_late, &sets[0].tag));
        OK(cls_device_group_scatter_async(group, sets[0].in, BYTES, &buffer));
        OK(cls_device_group_gather_async(group, &buffer, BYTES, sets[0].out));
        OK(cls_device_group_synchronize(group));
        expect_result(&sets[0], round);
    }
    expect_own_tags();
    OK(cls_device_group_destroy(group));
    OK(cls_buffer_destroy(buffer));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_comes_with_its_memory_free),
        cmocka_unit_test(with_async_reuse_an_event_guards_it),
        cmocka_unit_test(operations_guard_slots_and_copies),
        cmocka_unit_test(a_step_returns_with_an_earlier_one_done),
        cmocka_unit_test(a_stage_records_when_its_memory_is_free),
        cmocka_unit_test(a_loader_gets_free_memory),
        cmocka_unit_test(a_synchronized_group_has_left_the_host),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

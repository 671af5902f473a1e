/* SPDX-License-Identifier: MIT */
/* Scenarios of the pipeline layer: a ring by hand, a coordinator with a ring, a prefetcher, stages, lists of
 * functions, managed contexts, and a group of devices. */
#include "scenario.h"

#include <string.h>

#include "world.h"

enum { ROUNDS = 4 };

/* A failed wait leaves copies on their way, so what they touch lives on. */
static uint32_t from[ROUNDS], to[ROUNDS];

static void expect_rounds(struct run *run, uint32_t factor) {
    for (uint32_t i = 0; i < ROUNDS; i++)
        expect(run, to[i] == from[i] * factor, "a round");
}

static void start_rounds(void) {
    for (uint32_t i = 0; i < ROUNDS; i++) {
        from[i] = 1000 + i;
        to[i] = 0xdeadbeef;
    }
}

static bool ring_round(struct run *run, cls_triple_buffer ring, const struct world *world,
                       unsigned i) {
    cls_slot slot;
    return ok(run, cls_triple_buffer_upload_slot(ring, world->streams[0], &slot)) &&
           ok(run, cls_copy_h2d_async(slot.buffer, 0, &from[i], 4, world->streams[0])) &&
           ok(run, cls_triple_buffer_process_slot(ring, world->streams[1], &slot)) &&
           ok(run, cls_copy_d2d_async(slot.buffer, 4, slot.buffer, 0, 4, world->streams[1])) &&
           ok(run, cls_triple_buffer_download_slot(ring, world->streams[2], &slot)) &&
           ok(run, cls_copy_d2h_async(&to[i], slot.buffer, 4, 4, world->streams[2])) &&
           ok(run, cls_triple_buffer_advance(ring));
}

void triple_buffered(struct run *run) {
    struct world world;
    cls_triple_buffer ring = NULL;
    start_rounds();
    if (world_open(run, &world, 3) &&
        ok(run, cls_triple_buffer_create(world.context, BYTES, NULL, &ring))) {
        bool good = true;
        for (unsigned i = 0; i < ROUNDS && good; i++)
            good = ring_round(run, ring, &world, i);
        for (unsigned i = 0; i < 3; i++)
            good = synchronize(run, world.streams[i]) && good;
        if (good)
            expect_rounds(run, 1);
    }
    if (ring)
        ok(run, cls_triple_buffer_destroy(ring));
    world_close(run, &world);
}

static cls_status double_it(cls_stream stream, const cls_slot *slot, void *arg) {
    const cls_array x = cls_array_of(slot->buffer, CLS_U32, 1);
    (void)arg;
    return cls_unary_param_async(CLS_UNARY_SCALE, x, x, 2, stream);
}

void coordinated(struct run *run) {
    struct world world;
    cls_triple_buffer ring = NULL;
    cls_async_coordinator coordinator = NULL;
    cls_compute compute = CLS_COMPUTE_INIT;
    compute.fn = double_it;
    start_rounds();
    if (world_open(run, &world, 0) &&
        ok(run, cls_triple_buffer_create(world.context, BYTES, NULL, &ring)) &&
        ok(run, cls_async_coordinator_create(world.context, NULL, &coordinator))) {
        const cls_place place = cls_place_slots(ring);
        bool good = true;
        compute.slots = ring;
        for (unsigned i = 0; i < ROUNDS && good; i++)
            good = ok(run, cls_async_coordinator_queue_upload(coordinator, &from[i], 4, place, NULL,
                                                              0, NULL)) &&
                   ok(run,
                      cls_async_coordinator_queue_compute(coordinator, &compute, NULL, 0, NULL)) &&
                   ok(run, cls_async_coordinator_queue_download(coordinator, place, &to[i], 4, NULL,
                                                                0, NULL));
        if (ok(run, cls_async_coordinator_synchronize_all(coordinator)) && good)
            expect_rounds(run, 2);
    }
    if (coordinator)
        ok(run, cls_async_coordinator_destroy(coordinator));
    if (ring)
        ok(run, cls_triple_buffer_destroy(ring));
    world_close(run, &world);
}

static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    (void)arg;
    (void)capacity;
    if (index >= ROUNDS)
        return CLS_SUCCESS;
    memcpy(memory, &from[index], 4);
    *bytes = 4;
    return CLS_SUCCESS;
}

/* Loaders run ahead of what is asked for, so a fault of theirs may meet nobody who hears of it. */
void prefetched(struct run *run) {
    struct world world;
    cls_prefetcher data = NULL;
    cls_prefetched batch;
    start_rounds();
    run->masked = true;
    if (world_open(run, &world, 1) &&
        ok(run, cls_prefetcher_create(world.context, 64, load, NULL, NULL, &data))) {
        cls_stream stream = world.streams[0];
        bool good = true;
        for (unsigned i = 0; i < ROUNDS && good; i++)
            good = ok(run, cls_prefetcher_next(data, stream, &batch)) && batch.bytes == 4 &&
                   ok(run, cls_copy_d2h_async(&to[i], batch.buffer, 0, 4, stream)) &&
                   ok(run, cls_prefetcher_release(data, &batch, stream));
        if (synchronize(run, stream) && good)
            expect_rounds(run, 1);
    }
    if (data)
        ok(run, cls_prefetcher_destroy(data));
    world_close(run, &world);
}

static cls_status stage_up(const cls_stage_run *stage, void *arg) {
    (void)arg;
    return cls_copy_h2d_async(stage->outputs[0], 0, &from[stage->iteration], 4, stage->stream);
}

static cls_status stage_down(const cls_stage_run *stage, void *arg) {
    (void)arg;
    return cls_copy_d2h_async(&to[stage->iteration], stage->inputs[0], 0, 4, stage->stream);
}

static bool add_stages(struct run *run, cls_pipeline pipeline) {
    const char *x = "x";
    cls_stage up = CLS_STAGE_INIT, down = CLS_STAGE_INIT;
    up.name = "up";
    up.outputs = &x;
    up.n_outputs = 1;
    up.fn = stage_up;
    down.name = "down";
    down.inputs = &x;
    down.n_inputs = 1;
    down.fn = stage_down;
    return ok(run, cls_pipeline_add_buffer(pipeline, x, BYTES, NULL, CLS_PIPELINE_INTERNAL)) &&
           ok(run, cls_pipeline_add_stage(pipeline, &up)) &&
           ok(run, cls_pipeline_add_stage(pipeline, &down));
}

void staged(struct run *run) {
    struct world world;
    cls_pipeline pipeline = NULL;
    cls_pipeline_config config = CLS_PIPELINE_CONFIG_INIT;
    config.untimed = 1;
    start_rounds();
    if (world_open(run, &world, 0) &&
        ok(run, cls_pipeline_create(world.context, &config, &pipeline)) &&
        add_stages(run, pipeline)) {
        bool good = true;
        for (unsigned i = 0; i < ROUNDS && good; i++)
            good = ok(run, cls_pipeline_execute_iteration(pipeline));
        if (ok(run, cls_pipeline_synchronize(pipeline)) && good)
            expect_rounds(run, 1);
    }
    if (pipeline)
        ok(run, cls_pipeline_destroy(pipeline));
    world_close(run, &world);
}

/* --- lists of functions --- */

static cls_status step_up(cls_stream stream, uint64_t input, void *buffer) {
    return cls_copy_h2d_async(buffer, 4 * input, &from[input], 4, stream);
}

static cls_status step_down(cls_stream stream, uint64_t input, void *buffer) {
    return cls_copy_d2h_async(&to[input], buffer, 4 * input, 4, stream);
}

void stepped(struct run *run) {
    struct world world;
    start_rounds();
    if (world_open(run, &world, 2)) {
        const cls_step steps[] = {{step_up, world.streams[0], world.a},
                                  {step_down, world.streams[1], world.a}};
        if (ok(run, cls_pipeline_run(steps, 2, ROUNDS)))
            expect_rounds(run, 1);
    }
    world_close(run, &world);
}

/* --- managed contexts --- */

static bool managed_rounds(struct run *run, cls_managed_context managed, cls_triple_buffer ring) {
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_buffered_step step = CLS_BUFFERED_STEP_INIT;
    bool good = true;
    compute.fn = double_it;
    step.slots = ring;
    step.in_bytes = step.out_bytes = 4;
    step.compute = &compute;
    for (unsigned i = 0; i < ROUNDS && good; i++) {
        cls_step_telemetry told = CLS_STEP_TELEMETRY_INIT;
        step.in = &from[i];
        step.out = &to[i];
        good = ok(run, cls_managed_context_triple_buffered_step(managed, &step, &told));
    }
    return good;
}

static void manage(struct run *run, bool with_streams) {
    cls_managed_context managed = NULL;
    cls_async_coordinator coordinator;
    cls_triple_buffer ring = NULL;
    start_rounds();
    if (ok(run, cls_managed_context_create(NULL, with_streams, &managed)) &&
        ok(run, cls_managed_context_make_triple_buffer(managed, BYTES, NULL, &ring))) {
        bool good = managed_rounds(run, managed, ring);
        if (with_streams)
            good = ok(run, cls_managed_context_get_coordinator(managed, &coordinator)) &&
                   ok(run, cls_async_coordinator_synchronize_all(coordinator)) && good;
        if (good)
            expect_rounds(run, 2);
    }
    if (ring)
        ok(run, cls_triple_buffer_destroy(ring));
    if (managed)
        ok(run, cls_managed_context_destroy(managed));
}

void managed_on_streams(struct run *run) { manage(run, true); }
void managed_in_place(struct run *run) { manage(run, false); }

/* --- devices --- */

enum { DEVICES = 2 };

static uint32_t shares[DEVICES][WORDS], sums[DEVICES][WORDS], copied[WORDS];

static void start_shares(void) {
    for (uint32_t i = 0; i < WORDS; i++) {
        for (uint32_t d = 0; d < DEVICES; d++) {
            shares[d][i] = 1000 * d + i;
            sums[d][i] = 0xdeadbeef;
        }
        copied[i] = 0xdeadbeef;
    }
}

static void expect_sums(struct run *run) {
    bool right = true;
    for (uint32_t i = 0; i < WORDS; i++) {
        right = right && copied[i] == shares[0][i];
        for (uint32_t d = 0; d < DEVICES; d++)
            right = right && sums[d][i] == shares[0][i] + shares[1][i];
    }
    expect(run, right, "the sums");
}

/* Pieces go round a ring of two chunks, unless the buffers are shareable. */
static bool share_work(struct run *run, cls_device_group group, const struct world *worlds,
                       const cls_buffer buffers[DEVICES]) {
    const cls_array arrays[DEVICES] = {cls_array_of(buffers[0], CLS_U32, WORDS),
                                       cls_array_of(buffers[1], CLS_U32, WORDS)};
    const cls_array parts[DEVICES] = {cls_array_of(buffers[0], CLS_U32, WORDS / 2),
                                      cls_array_at(buffers[1], CLS_U32, WORDS / 2, WORDS / 2)};
    cls_device_streams last;
    return ok(run, cls_device_group_get_streams(group, 1, &last)) &&
           ok(run, cls_device_group_scatter_async(group, shares, BYTES, buffers)) &&
           ok(run, cls_device_group_copy_async(group, (cls_device_range){1, worlds[1].b, 0},
                                               (cls_device_range){0, buffers[0], 0}, BYTES)) &&
           ok(run, cls_device_group_all_reduce_async(group, CLS_REDUCE_SUM, arrays)) &&
           ok(run, cls_device_group_reduce_scatter_async(group, CLS_REDUCE_MAX, arrays, parts)) &&
           ok(run, cls_device_group_gather_async(group, buffers, BYTES, sums)) &&
           ok(run, cls_copy_d2h_async(copied, worlds[1].b, 0, BYTES, last.compute));
}

/* What cannot be opened goes through pinned memory: the statistics are the report. */
static void expect_direct(struct run *run, cls_device_group group) {
    cls_device_group_statistics got = CLS_DEVICE_GROUP_STATISTICS_INIT;
    if (ok(run, cls_device_group_get_statistics(group, &got)) &&
        got.pinned_copies + got.pinned_reductions)
        run->errors++;
}

static void group_devices(struct run *run, const struct world *worlds,
                          const cls_buffer buffers[DEVICES], bool direct) {
    const cls_context contexts[DEVICES] = {worlds[0].context, worlds[1].context};
    cls_device_group group = NULL;
    cls_device_group_config config = CLS_DEVICE_GROUP_CONFIG_INIT;
    config.chunk_bytes = BYTES / 4;
    config.chunks = 2;
    start_shares();
    if (ok(run, cls_device_group_create(contexts, DEVICES, &config, &group))) {
        const bool good = share_work(run, group, worlds, buffers);
        if (ok(run, cls_device_group_synchronize(group)) && good)
            expect_sums(run);
        if (direct)
            expect_direct(run, group);
        ok(run, cls_device_group_destroy(group));
    }
}

static void group_plain(struct run *run, const struct world *worlds) {
    const cls_buffer buffers[DEVICES] = {worlds[0].a, worlds[1].a};
    group_devices(run, worlds, buffers, false);
}

static void group_shareable(struct run *run, const struct world *worlds) {
    cls_share_info info = CLS_SHARE_INFO_INIT;
    cls_buffer buffers[DEVICES] = {NULL, NULL};
    bool made = ok(run, cls_context_can_share(worlds[0].context, worlds[1].context, &info)) &&
                info.kind != CLS_SHARE_NONE;
    for (int d = 0; d < DEVICES && made; d++)
        made = ok(run, cls_buffer_create_shareable(worlds[d].context, BYTES, &buffers[d]));
    if (made)
        group_devices(run, worlds, buffers, true);
    for (int d = 0; d < DEVICES; d++)
        if (buffers[d])
            ok(run, cls_buffer_destroy(buffers[d]));
}

static void with_worlds(struct run *run,
                        void (*body)(struct run *run, const struct world *worlds)) {
    struct world worlds[DEVICES];
    world_init(&worlds[1]);
    if (world_open(run, &worlds[0], 0) && world_open(run, &worlds[1], 0))
        body(run, worlds);
    world_close(run, &worlds[1]);
    world_close(run, &worlds[0]);
}

void devices_grouped(struct run *run) { with_worlds(run, group_plain); }
void devices_sharing(struct run *run) { with_worlds(run, group_shareable); }

/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
    "uint spin(uint rounds) {\n"
    "    uint x = rounds | 1u;\n"
    "    for (uint k = 0; k < rounds; k++) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; }\n"
    "    return x == 0;\n"
    "}\n"
    "kernel void advance(global uint *cells, uint i, uint factor, uint add, uint rounds) {\n"
    "    uint k = i + (uint)get_global_id(0), x = cells[k];\n"
    "    cells[k] = x * factor + add + spin(rounds);\n"
    "}\n"
    "kernel void blend(global uint *to, uint i, global const uint *from, uint j, uint factor) {\n"
    "    uint k = (uint)get_global_id(0);\n"
    "    to[i + k] = to[i + k] * factor + from[j + k];\n"
    "}\n";

uint32_t draw(struct player *player, uint32_t below) {
    player->random ^= player->random << 13;
    player->random ^= player->random >> 7;
    player->random ^= player->random << 17;
    return (uint32_t)(player->random >> 16) % below;
}

/* --- verdicts --- */

void taken(struct player *player, const struct lane *lane, cls_status status, const char *what) {
    if (!model_takes(&lane->model, status))
        journal_wrong(player->journal, "lane %u, %s: %s on a stream that is %s: %s", lane->number,
                      what, cls_status_string(status),
                      model_is_well(&lane->model) ? "healthy" : "poisoned",
                      cls_last_error_detail());
}

void well(struct player *player, cls_status status, const char *what) {
    if (status)
        journal_wrong(player->journal, "%s: %s: %s", what, cls_status_string(status),
                      cls_last_error_detail());
}

void answered(struct player *player, const struct lane *lane, bool right, cls_status status,
              const char *what) {
    if (!right)
        journal_wrong(player->journal,
                      "lane %u, %s: the answer is %s (%s); the stream has %u failures",
                      lane->number, what, cls_status_string(status),
                      status ? cls_last_error_detail() : "", lane->model.causes);
}

/* --- making --- */

bool world_open(struct world *world) {
    const char *blocking = getenv("CLSTREAM_LAUNCH_BLOCKING");
    world->blocking = blocking && strcmp(blocking, "0") != 0;
    return !cls_context_create(NULL, &world->context) &&
           !cls_program_from_source(world->context, source, "mixed.cl", NULL, &world->program) &&
           !cls_kernel_create(world->program, "advance", &world->advance) &&
           !cls_kernel_create(world->program, "blend", &world->blend);
}

void world_close(struct world *world) {
    cls_kernel_destroy(world->advance);
    cls_kernel_destroy(world->blend);
    cls_program_destroy(world->program);
    cls_context_destroy(world->context);
}

bool world_runs_inline(const struct world *world) {
    cls_quirk quirk;
    size_t device;
    if (cls_context_get_device(world->context, &device))
        return false;
    for (size_t i = 0; cls_device_get_quirk(device, i, &quirk) == CLS_SUCCESS; i++)
        if (!strcmp(quirk.name, "flush_runs_commands"))
            return true;
    return false;
}

cls_event make_event(struct player *player) {
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    cls_event event = NULL;
    config.timed = chance(player, 8);
    well(player, cls_event_create(player->world->context, &config, &event), "event_create");
    return event;
}

void lane_make_stream(struct player *player, struct lane *lane) {
    static const unsigned bounds[] = {0, 0, 1, 2, 5, 32};
    static const cls_order orders[] = {CLS_ORDER_AUTO, CLS_ORDER_IN_ORDER, CLS_ORDER_OUT_OF_ORDER};
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream = NULL;
    config.order = orders[draw(player, 3)];
    config.wait = (cls_wait_policy)draw(player, 4);
    config.priority = (int)draw(player, 3) - 1;
    config.timing = chance(player, 10);
    config.max_in_flight = bounds[draw(player, 6)];
    cls_status status = cls_stream_create(player->world->context, &config, &stream);
    if (status == CLS_ERROR_UNSUPPORTED) {
        config.order = CLS_ORDER_AUTO;
        status = cls_stream_create(player->world->context, &config, &stream);
    }
    well(player, status, "stream_create");
    journal_note(player->journal, "lane %u: a new stream, order %d, bound %u", lane->number,
                 (int)config.order, config.max_in_flight);
    lane->stream = stream;
    lane->model.stream = atomic_fetch_add(&player->world->streams, 1) + 1;
    lane->lent = false;
    model_reset(&lane->model);
}

void lane_make_timeline(struct player *player, struct lane *lane) {
    cls_timeline_config config = CLS_TIMELINE_CONFIG_INIT;
    lane->timeline_named = chance(player, 2);
    config.signaller = lane->timeline_named ? lane->stream : NULL;
    well(player, cls_timeline_create(&config, &lane->timeline), "timeline_create");
    lane->values = (struct timeline_model){.floor = 1};
}

/* The reuse of memory behind streams that fail is left to what the streams' own work says of it. */
static void make_pools(struct world *world, struct player *player) {
    static const unsigned always[] = {CLS_REUSE_NONE, CLS_REUSE_DONE};
    static const unsigned without_failures[] = {CLS_REUSE_NONE,   CLS_REUSE_FOLLOW,
                                                CLS_REUSE_DONE,   CLS_REUSE_FOLLOW_DONE,
                                                CLS_REUSE_INSERT, CLS_REUSE_ALL};
    world->n_pools = world->fails ? 2 : POOLS;
    for (unsigned i = 0; i < world->n_pools; i++) {
        cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
        config.reuse = (cls_reuse)(world->fails ? always : without_failures)[i];
        config.release_threshold = chance(player, 3) ? 0 : SIZE_MAX;
        well(player, cls_mempool_create(world->context, &config, &world->pools[i]),
             "mempool_create");
    }
    well(player, cls_context_set_mempool(world->context, world->pools[world->n_pools - 1]),
         "set_mempool");
}

static void make_lane(struct world *world, struct player *player, unsigned i) {
    struct lane *lane = &world->lanes[i];
    const uint32_t zero = 0;
    memset(lane, 0, sizeof *lane);
    pthread_mutex_init(&lane->lock, NULL);
    lane->number = i;
    lane_make_stream(player, lane);
    if (i == 0) {
        cls_stream stream = NULL;
        well(player, cls_stream_destroy(lane->stream), "stream_destroy");
        well(player, cls_context_default_stream(world->context, &stream), "default_stream");
        lane->stream = stream;
        lane->is_default = true;
    }
    well(player, cls_buffer_create(world->context, sizeof lane->model.cells, &lane->cells),
         "buffer_create");
    well(player, cls_buffer_create(world->context, sizeof lane->model.cells, &lane->aside),
         "buffer_create");
    well(player,
         cls_fill(lane->cells, 0, sizeof lane->model.cells, &zero, sizeof zero, lane->stream),
         "fill");
    lane_make_timeline(player, lane);
}

void world_begin(struct world *world, struct player *player) {
    world->n_lanes = 2 * world->threads + 2;
    make_pools(world, player);
    for (unsigned i = 0; i < world->n_lanes; i++)
        make_lane(world, player, i);
    for (unsigned i = 0; i < MARKS; i++) {
        pthread_mutex_init(&world->marks[i].lock, NULL);
        world->marks[i].event = make_event(player);
        world->marks[i].model = (struct mark_model){.recorded = false};
    }
}

/* --- looking --- */

static void compare_words(struct player *player, const struct lane *lane, const uint32_t *expected,
                          const uint32_t *got, unsigned n, const char *what) {
    for (unsigned i = 0; i < n; i++)
        if (expected[i] != got[i]) {
            journal_wrong(player->journal, "lane %u, %s %u: %u instead of %u", lane->number, what,
                          i, got[i], expected[i]);
            return;
        }
}

static void compare_told(struct player *player, const struct lane *lane) {
    for (unsigned i = 0; i < lane->pending.n_told; i++) {
        const struct told *told = &lane->pending.told[i];
        if (told->calls != 1 || !model_ends(told->failed, told->status))
            journal_wrong(player->journal, "lane %u, callback %u: %u calls, told %s", lane->number,
                          i, told->calls, cls_status_string(told->status));
    }
}

void lane_compare(struct player *player, struct lane *lane) {
    uint32_t cells[CELLS];
    well(player, cls_copy_d2h(cells, lane->cells, 0, sizeof cells, lane->stream), "copy_d2h");
    compare_words(player, lane, lane->model.cells, cells, CELLS, "cell");
}

/* Of the stream before this one, whose work this stream's failure does not wait for. */
static void settle_before(struct player *player, struct lane *lane) {
    if (!lane->before)
        return;
    cls_status status = cls_event_synchronize(lane->before);
    answered(player, lane, model_ends(lane->before_failed, status), status,
             "synchronize with the stream before");
    well(player, cls_event_destroy(lane->before), "event_destroy");
    lane->before = NULL;
}

void lane_finish(struct player *player, struct lane *lane) {
    struct pending *pending = &lane->pending;
    settle_before(player, lane);
    cls_status status = cls_stream_synchronize(lane->stream);
    journal_note(player->journal, "lane %u: settled, %s", lane->number, cls_status_string(status));
    answered(player, lane, model_ends(!model_is_well(&lane->model), status), status, "synchronize");
    compare_words(player, lane, pending->expected, pending->out, pending->n_out, "word read");
    compare_words(player, lane, &lane->model.host, &lane->host, 1, "host's cell");
    compare_told(player, lane);
    pending->n_in = pending->n_out = pending->n_steps = pending->n_told = 0;
}

void lane_make_room(struct player *player, struct lane *lane) {
    const struct pending *pending = &lane->pending;
    const unsigned most = PENDING - MOST_OF_ONE;
    if (pending->n_in > most || pending->n_out > most || pending->n_steps > most ||
        pending->n_told > most)
        lane_finish(player, lane);
}

/* --- ending --- */

static void end_lane(struct player *player, struct lane *lane) {
    lane_recover(player, lane);
    lane_compare(player, lane);
    for (unsigned i = 0; i < SCRATCHES; i++)
        if (lane->scratches[i].buffer)
            well(player, cls_free_async(lane->scratches[i].buffer, lane->stream), "free");
    well(player, cls_timeline_destroy(lane->timeline), "timeline_destroy");
    if (!lane->is_default)
        well(player, cls_stream_destroy(lane->stream), "stream_destroy");
    well(player, cls_buffer_destroy(lane->cells), "buffer_destroy");
    well(player, cls_buffer_destroy(lane->aside), "buffer_destroy");
}

static void end_pool(struct world *world, struct player *player, cls_mempool pool) {
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    well(player, cls_context_synchronize(world->context), "context_synchronize");
    well(player, cls_mempool_trim(pool, 0), "trim");
    well(player, cls_mempool_get_statistics(pool, &stats), "get_stats");
    if (stats.used || stats.reserved || stats.mallocs != stats.frees)
        journal_wrong(player->journal, "a pool ends with %llu bytes in use, %llu reserved",
                      (unsigned long long)stats.used, (unsigned long long)stats.reserved);
    well(player, cls_mempool_destroy(pool), "mempool_destroy");
}

void world_end(struct world *world, struct player *player) {
    for (unsigned i = 0; i < world->n_lanes; i++)
        lane_finish(player, &world->lanes[i]);
    for (unsigned i = 0; i < world->n_lanes; i++)
        end_lane(player, &world->lanes[i]);
    for (unsigned i = 0; i < world->n_pools; i++)
        end_pool(world, player, world->pools[i]);
    for (unsigned i = 0; i < MARKS; i++) {
        well(player, cls_event_destroy(world->marks[i].event), "event_destroy");
        pthread_mutex_destroy(&world->marks[i].lock);
    }
    for (unsigned i = 0; i < world->n_lanes; i++)
        pthread_mutex_destroy(&world->lanes[i].lock);
}

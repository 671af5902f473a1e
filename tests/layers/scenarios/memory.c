/* SPDX-License-Identifier: MIT */
/* Stream-ordered memory: allocated, used and freed on two streams, from a pool of its own and the default. */
#include "scenario.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

enum { ROUNDS = 3 };

/* Uploads, scales and downloads through buffers that live for one round; frees in any case. */
static bool round_trip(struct run *run, const struct world *world, cls_mempool pool,
                       cls_stream stream) {
    cls_buffer x = NULL, y = NULL;
    bool good = ok(run, cls_mempool_malloc_async(pool, stream, BYTES, &x)) &&
                ok(run, cls_malloc_async(stream, BYTES, &y)) && upload(run, world, x, stream) &&
                ok(run, cls_copy_d2d_async(y, 0, x, 0, BYTES, stream)) &&
                download(run, world, y, stream);
    if (x)
        ok(run, cls_free_async(x, stream));
    if (y)
        ok(run, cls_free_async(y, stream));
    return good;
}

static bool all_rounds(struct run *run, const struct world *world, cls_mempool pool) {
    bool good = true;
    for (int i = 0; i < ROUNDS; i++) {
        cls_stream from = world->streams[i % 2], to = world->streams[(i + 1) % 2];
        good = round_trip(run, world, pool, from) && good;
        good = ok(run, cls_event_record(world->event, from)) &&
               ok(run, cls_stream_wait_event(to, world->event)) &&
               ok(run, cls_stream_frees_wait_event(from, world->event)) && good;
    }
    return good;
}

/* All that was taken goes back, whatever failed. */
static void give_back(struct run *run, const struct world *world, cls_mempool pool) {
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    for (int i = 0; i < 2; i++)
        if (world->streams[i])
            ok(run, cls_stream_free_all_async(world->streams[i], CLS_FREE_WHEN_DONE));
    bool waited = !cls_context_synchronize(world->context);
    if (ok(run, cls_mempool_trim(pool, 0)) && ok(run, cls_mempool_get_statistics(pool, &stats)) &&
        waited)
        expect(run, !stats.used && !stats.reserved, "memory that was given back");
    ok(run, cls_mempool_destroy(pool));
}

void stream_ordered_memory(struct run *run) {
    struct world world;
    cls_mempool pool = NULL;
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    config.reuse = CLS_REUSE_ALL;
    config.release_threshold = 0;
    if (world_open(run, &world, 2) && ok(run, cls_mempool_create(world.context, &config, &pool))) {
        bool good = all_rounds(run, &world, pool);
        if (synchronize(run, world.streams[0]) && synchronize(run, world.streams[1]) && good)
            expect_scaled(run, &world, 1, 0);
    }
    if (pool)
        give_back(run, &world, pool);
    world_close(run, &world);
}

/* Two streams whose frees wait for each other's work, which is still to come. */
void crossed_frees(struct run *run) {
    struct world world;
    if (world_open(run, &world, 2)) {
        bool good = true;
        for (int i = 0; i < 2; i++)
            good = nap(run, world.streams[i]) && good;
        for (int i = 0; i < 2 && good; i++)
            good = ok(run, cls_event_record(world.event, world.streams[i])) &&
                   ok(run, cls_stream_frees_wait_event(world.streams[1 - i], world.event));
        synchronize(run, world.streams[0]);
        synchronize(run, world.streams[1]);
    }
    world_close(run, &world);
}

/* Memory freed on a stream that has had none yet, and given back to whoever fails in that. */
static bool pass_on(struct run *run, const struct world *world) {
    cls_stream from = world->streams[0], to = world->streams[1];
    cls_buffer x = NULL;
    bool good = ok(run, cls_malloc_async(from, BYTES, &x)) && upload(run, world, x, from) &&
                ok(run, cls_event_record(world->event, from)) &&
                ok(run, cls_stream_wait_event(to, world->event)) && download(run, world, x, to);
    if (x && !ok(run, cls_free_async(x, to)))
        ok(run, cls_free_async(x, from));
    return good;
}

/* Frees behind the work of three streams, of which one is destroyed with them. */
static bool free_behind_all(struct run *run, struct world *world) {
    cls_stream last = NULL;
    cls_buffer x = NULL;
    bool good = ok(run, cls_stream_create(world->context, NULL, &last)) &&
                ok(run, cls_malloc_async(last, BYTES, &x));
    for (int i = 0; i < STREAMS && good; i++)
        good = nap(run, world->streams[i]) &&
               ok(run, cls_event_record(world->event, world->streams[i])) &&
               ok(run, cls_stream_frees_wait_event(last, world->event));
    if (x)
        ok(run, cls_free_async(x, last));
    if (last)
        ok(run, cls_stream_destroy(last));
    return good;
}

void passed_and_fenced(struct run *run) {
    struct world world;
    if (world_open(run, &world, STREAMS)) {
        bool good = pass_on(run, &world);
        free_behind_all(run, &world);
        for (int i = 0; i < STREAMS; i++)
            good = synchronize(run, world.streams[i]) && good;
        if (good)
            expect_scaled(run, &world, 1, 0);
    }
    world_close(run, &world);
}

/* More than there may be is refused with a status of its own, whatever else fails. */
static void refused(struct run *run, cls_status status) {
    if (status == CLS_SUCCESS)
        expect(run, false, "the refusal");
    else if (status != CLS_ERROR_OUT_OF_DEVICE_MEMORY)
        ok(run, status);
}

/* Unused memory of a pool goes back to the driver before a buffer is refused. */
static void make_way(struct run *run, const struct world *world) {
    cls_buffer x = NULL, y = NULL;
    const uint32_t words[4] = {1, 2, 3, 4};
    run->masked = true; /* then what failed once has succeeded */
    if (ok(run, cls_malloc_async(world->streams[0], BYTES, &x)))
        ok(run, cls_free_async(x, world->streams[0]));
    if (synchronize(run, world->streams[0]) &&
        ok(run, cls_buffer_from_host(world->context, words, sizeof words, &y)))
        ok(run, cls_buffer_destroy(y));
}

void too_much(struct run *run) {
    enum { LIMIT = 1 << 16 };
    struct world world;
    cls_mempool pool = NULL;
    cls_buffer x = NULL;
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    config.max_bytes = LIMIT;
    if (world_open(run, &world, 1) && ok(run, cls_mempool_create(world.context, &config, &pool))) {
        cls_stream stream = world.streams[0];
        make_way(run, &world);
        refused(run, cls_buffer_create(world.context, SIZE_MAX / 2, &x));
        refused(run, cls_malloc_async(stream, SIZE_MAX / 2, &x));
        refused(run, cls_managed_alloc(world.context, SIZE_MAX / 2, &x, NULL));
        refused(run, cls_mempool_malloc_async(pool, stream, LIMIT + 1, &x));
    }
    if (pool)
        ok(run, cls_mempool_destroy(pool));
    world_close(run, &world);
}

/* By turns on every device, so that mapping and unmapping can fail. */
void unified_memory(struct run *run) {
    struct world world;
    cls_buffer shared = NULL;
    cls_managed_kind kind = CLS_MANAGED_NONE;
    uint32_t *words = NULL;
    setenv("CLSTREAM_MANAGED", "coarse", 1);
    if (world_open(run, &world, 1) && ok(run, cls_managed_get_kind(world.context, &kind)) &&
        kind != CLS_MANAGED_NONE && open_kernel(run, &world) &&
        ok(run, cls_managed_alloc(world.context, BYTES, &shared, (void **)&words))) {
        cls_stream stream = world.streams[0];
        for (uint32_t i = 0; i < WORDS; i++)
            words[i] = i;
        bool good = ok(run, cls_prefetch_async(shared, CLS_TO_DEVICE, stream)) &&
                    launch(run, &world, shared, 3, 1, stream) &&
                    ok(run, cls_prefetch_async(shared, CLS_TO_HOST, stream));
        if (synchronize(run, stream) && good)
            expect(run, words[WORDS - 1] == 3 * (WORDS - 1) + 1, "the host's view");
    }
    if (kind == CLS_MANAGED_NONE)
        run->nothing = "the device shares no memory with the host";
    if (shared)
        ok(run, cls_buffer_destroy(shared));
    world_close(run, &world);
    unsetenv("CLSTREAM_MANAGED");
}

/* --- values in memory --- */

/* One stream waits for the other, and then for the host. */
static bool pass_values(struct run *run, const struct world *world, cls_buffer flags,
                        uint32_t *words) {
    cls_stream waits = world->streams[0], writes = world->streams[1];
    bool good = ok(run, cls_stream_wait_value(waits, flags, 0, 4, 1, UINT64_MAX, CLS_VALUE_EQ)) &&
                ok(run, cls_copy_d2d_async(world->b, 0, world->a, 0, BYTES, waits)) &&
                ok(run, cls_stream_wait_value(waits, flags, 8, 8, 3, UINT64_MAX, CLS_VALUE_GEQ)) &&
                download(run, world, world->b, waits) && upload(run, world, world->a, writes) &&
                ok(run, cls_stream_write_value(writes, flags, 0, 4, 1));
    good = synchronize(run, writes) && good;
    __atomic_store_n(&words[0], 1, __ATOMIC_RELEASE); /* also where the write failed */
    __atomic_store_n(&words[2], 3, __ATOMIC_RELEASE);
    return synchronize(run, waits) && good;
}

void waits_for_values(struct run *run) {
    struct world world;
    cls_buffer flags = NULL;
    uint32_t *words = NULL;
    cls_managed_kind kind = CLS_MANAGED_FINE;
    if (world_open(run, &world, 2) && ok(run, cls_managed_get_kind(world.context, &kind)) &&
        kind == CLS_MANAGED_FINE &&
        ok(run, cls_managed_alloc(world.context, BYTES, &flags, (void **)&words))) {
        memset(words, 0, BYTES);
        if (pass_values(run, &world, flags, words))
            expect_scaled(run, &world, 1, 0);
    }
    if (kind != CLS_MANAGED_FINE)
        run->nothing = "the device shares no memory at a fine grain";
    if (flags)
        ok(run, cls_buffer_destroy(flags));
    world_close(run, &world);
}

/* --- one memory in two contexts --- */

struct shared {
    cls_buffer near, far, again; /* the last by way of a descriptor */
};

static bool share(struct run *run, const struct world *near, const struct world *far,
                  struct shared *memory) {
    int fd = -1;
    bool good = ok(run, cls_buffer_create_shareable(near->context, BYTES, &memory->near)) &&
                ok(run, cls_buffer_open(far->context, memory->near, &memory->far)) &&
                ok(run, cls_buffer_export(memory->near, &fd)) &&
                ok(run, cls_buffer_import(far->context, fd, BYTES, &memory->again));
    if (fd >= 0)
        close(fd);
    return good;
}

static void unshare(struct run *run, const struct shared *memory) {
    const cls_buffer handles[] = {memory->near, memory->far, memory->again};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
        if (handles[i])
            ok(run, cls_buffer_destroy(handles[i]));
}

/* Written in one context, copied by a stream of the other, and read there. */
static bool pass_across(struct run *run, const struct world *near, const struct world *far,
                        const struct shared *memory) {
    return upload(run, near, memory->near, near->streams[0]) &&
           ok(run, cls_event_record(near->event, near->streams[0])) &&
           ok(run, cls_stream_wait_event(far->streams[0], near->event)) &&
           ok(run, cls_copy_d2d_async(far->a, 0, memory->near, 0, BYTES / 2, far->streams[0])) &&
           ok(run, cls_copy_d2d_async(far->a, BYTES / 2, memory->again, BYTES / 2, BYTES / 2,
                                      far->streams[0])) &&
           download(run, far, far->a, far->streams[0]);
}

void shared_memory(struct run *run) {
    struct world near, far;
    struct shared memory = {0};
    cls_share_info info = CLS_SHARE_INFO_INIT;
    world_init(&far);
    if (world_open(run, &near, 1) && world_open(run, &far, 1) &&
        ok(run, cls_context_can_share(near.context, far.context, &info))) {
        if (info.kind == CLS_SHARE_NONE) {
            run->nothing = "this device's memory cannot be shared";
        } else if (share(run, &near, &far, &memory)) {
            for (unsigned i = 0; i < WORDS; i++)
                far.area->in[i] = near.area->in[i];
            bool good = pass_across(run, &near, &far, &memory);
            good = synchronize(run, near.streams[0]) && good;
            if (synchronize(run, far.streams[0]) && good)
                expect_scaled(run, &far, 1, 0);
        }
    }
    unshare(run, &memory);
    world_close(run, &far);
    world_close(run, &near);
}

/* As for another process. */
static bool send_across(struct run *run, const struct world *far, cls_buffer opened) {
    cls_buffer_part part = {0, 0, 0};
    cls_buffer again = NULL;
    int fd = -1;
    const bool good = ok(run, cls_buffer_export_part(opened, &fd, &part)) &&
                      ok(run, cls_buffer_import_part(far->context, fd, &part, &again));
    if (fd >= 0)
        close(fd);
    if (again)
        ok(run, cls_buffer_destroy(again));
    return good;
}

/* Memory of a pool that is read in another context, freed there and then, and allocated again meanwhile. */
static bool lend(struct run *run, const struct world *near, const struct world *far,
                 cls_mempool pool) {
    cls_stream here = near->streams[0], there = far->streams[0];
    cls_buffer x = NULL, opened = NULL, y = NULL;
    bool good = ok(run, cls_mempool_malloc_async(pool, here, BYTES, &x)) &&
                ok(run, cls_buffer_open(far->context, x, &opened)) &&
                send_across(run, far, opened) && upload(run, near, x, here) &&
                ok(run, cls_event_record(near->event, here)) &&
                ok(run, cls_stream_wait_event(there, near->event));
    if (x)
        ok(run, cls_free_async(x, here));
    good = good && ok(run, cls_mempool_malloc_async(pool, here, BYTES, &y)) &&
           ok(run, cls_fill_async(y, 0, BYTES, &run, 1, here)) && download(run, far, opened, there);
    if (opened)
        ok(run, cls_buffer_destroy(opened));
    if (y)
        ok(run, cls_free_async(y, here));
    return good;
}

void shareable_pools(struct run *run) {
    struct world near, far;
    cls_mempool pool = NULL;
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_share_info info = CLS_SHARE_INFO_INIT;
    config.shareable = 1;
    config.release_threshold = 0;
    world_init(&far);
    if (world_open(run, &near, 1) && world_open(run, &far, 1) &&
        ok(run, cls_context_can_share(near.context, far.context, &info))) {
        if (info.kind == CLS_SHARE_NONE) {
            run->nothing = "this device's memory cannot be shared";
        } else if (ok(run, cls_mempool_create(near.context, &config, &pool))) {
            for (unsigned i = 0; i < WORDS; i++)
                far.area->in[i] = near.area->in[i];
            bool good = lend(run, &near, &far, pool);
            good = synchronize(run, near.streams[0]) && good;
            if (synchronize(run, far.streams[0]) && good)
                expect_scaled(run, &far, 1, 0);
        }
    }
    if (pool)
        give_back(run, &near, pool);
    world_close(run, &far);
    world_close(run, &near);
}

static void lend_by_default(struct run *run, struct world *world, cls_context other) {
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    cls_buffer here = NULL, there = NULL;
    config.shareable_pool = 1;
    if (ok(run, cls_context_create(&config, &world->context)) && open_stream(run, world, 0, NULL) &&
        ok(run, cls_malloc_async(world->streams[0], BYTES, &here)) &&
        ok(run, cls_buffer_open(other, here, &there)))
        ok(run, cls_buffer_destroy(there));
    if (here)
        ok(run, cls_free_async(here, world->streams[0]));
}

void shareable_default_pool(struct run *run) {
    struct world lender, other;
    cls_share_info info = CLS_SHARE_INFO_INIT;
    world_init(&lender);
    if (world_open(run, &other, 1) &&
        ok(run, cls_context_can_share(other.context, other.context, &info))) {
        if (info.kind == CLS_SHARE_NONE)
            run->nothing = "this device's memory cannot be shared";
        else
            lend_by_default(run, &lender, other.context);
    }
    world_close(run, &lender);
    world_close(run, &other);
}

/* --- one event in two contexts --- */

/* As for another process. */
static bool share_event(struct run *run, const struct world *near, const struct world *far,
                        cls_event *here, cls_event *there) {
    cls_event_config config = CLS_EVENT_CONFIG_INIT;
    int fd = -1;
    config.shareable = 1;
    const bool good = ok(run, cls_event_create(near->context, &config, here)) &&
                      ok(run, cls_event_export(*here, &fd)) &&
                      ok(run, cls_event_import(far->context, fd, there));
    if (fd >= 0)
        close(fd);
    return good;
}

void shared_events(struct run *run) {
    struct world near, far;
    cls_event here = NULL, there = NULL;
    world_init(&far);
    if (world_open(run, &near, 1) && world_open(run, &far, 1)) {
        memcpy(far.area->in, near.area->in, BYTES);
        bool good = share_event(run, &near, &far, &here, &there) &&
                    upload(run, &near, near.a, near.streams[0]) &&
                    ok(run, cls_event_record(here, near.streams[0])) &&
                    ok(run, cls_stream_wait_event(far.streams[0], there)) &&
                    ok(run, cls_copy_d2d_async(far.a, 0, near.a, 0, BYTES, far.streams[0])) &&
                    download(run, &far, far.a, far.streams[0]);
        good = synchronize(run, near.streams[0]) && good;
        if (synchronize(run, far.streams[0]) && good && ok(run, cls_event_synchronize(there)))
            expect_scaled(run, &far, 1, 0);
    }
    if (here)
        ok(run, cls_event_destroy(here));
    if (there)
        ok(run, cls_event_destroy(there));
    world_close(run, &far);
    world_close(run, &near);
}

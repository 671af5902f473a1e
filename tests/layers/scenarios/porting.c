/* SPDX-License-Identifier: MIT */
/* Pinned memory as a buffer, and the legacy order of a default stream. */
#include <stdlib.h>

#include "world.h"

/* By turns on every device, so that mapping and unmapping can fail. */
void pinned_as_buffer(struct run *run) {
    struct world world;
    cls_buffer same;
    uint32_t *words = NULL;
    setenv("CLSTREAM_MANAGED", "coarse", 1);
    if (world_open(run, &world, 1) && open_kernel(run, &world) &&
        ok(run, cls_host_alloc(world.context, BYTES, (void **)&words)) &&
        ok(run, cls_host_buffer(words, &same))) {
        cls_stream stream = world.streams[0];
        for (uint32_t i = 0; i < WORDS; i++)
            words[i] = i;
        bool good = ok(run, cls_prefetch_async(same, CLS_TO_DEVICE, stream)) &&
                    launch(run, &world, same, 3, 1, stream) &&
                    ok(run, cls_prefetch_async(same, CLS_TO_HOST, stream));
        if (synchronize(run, stream) && good)
            expect(run, words[WORDS - 1] == 3 * (WORDS - 1) + 1, "the host's view");
    }
    if (words)
        ok(run, cls_host_free(words));
    world_close(run, &world);
    unsetenv("CLSTREAM_MANAGED");
}

/* The same of the program's own memory, which a failed wait leaves to the driver. */
void registered(struct run *run) {
    static _Alignas(4096) uint32_t words[WORDS];
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    struct world world;
    cls_buffer same;
    size_t device;
    bool has = false;
    setenv("CLSTREAM_MANAGED", "coarse", 1);
    if (world_open(run, &world, 1) && open_kernel(run, &world) &&
        ok(run, cls_context_get_device(world.context, &device)) &&
        ok(run, cls_device_get_info(device, &info))) {
        if (!info.unified_memory)
            run->nothing = "the device has memory of its own";
        has = info.unified_memory && ok(run, cls_host_register(world.context, words, BYTES));
    }
    if (has && ok(run, cls_host_buffer(words, &same))) {
        cls_stream stream = world.streams[0];
        words[WORDS - 1] = 5;
        bool good = ok(run, cls_prefetch_async(same, CLS_TO_DEVICE, stream)) &&
                    launch(run, &world, same, 3, 1, stream) &&
                    ok(run, cls_prefetch_async(same, CLS_TO_HOST, stream));
        if (synchronize(run, stream) && good)
            expect(run, words[WORDS - 1] == 16, "the host's view");
    }
    if (has)
        ok(run, cls_host_unregister(words));
    world_close(run, &world);
    unsetenv("CLSTREAM_MANAGED");
}

/* Maps behind a kernel and ahead of one; at the end one that only the buffer's end ends. */
void maps(struct run *run) {
    struct world world;
    uint32_t *words = NULL, *rest = NULL;
    if (world_open(run, &world, 1) && open_kernel(run, &world)) {
        cls_stream stream = world.streams[0];
        bool good =
            upload(run, &world, world.a, stream) && launch(run, &world, world.a, 3, 1, stream) &&
            ok(run,
               cls_buffer_map(world.a, CLS_MAP_READ_WRITE, 0, BYTES / 2, stream, (void **)&words));
        if (good)
            words[0] = 3 * world.area->in[0] + 1;
        good = good && ok(run, cls_buffer_unmap_async(world.a, words, stream)) &&
               ok(run, cls_buffer_map_async(world.b, CLS_MAP_WRITE_INVALIDATE, 4, 8, stream,
                                            (void **)&rest)) &&
               download(run, &world, world.a, stream);
        if (synchronize(run, stream) && good)
            expect_scaled(run, &world, 3, 1);
    }
    world_close(run, &world);
}

static void free_words(void *words) { cls_host_free(words); }

/* A host function frees memory that a copy of another stream still uses. Of its
 * call nothing is reported. */
void pinned_freed_inside(struct run *run) {
    struct world world;
    uint32_t *words = NULL;
    run->masked = true;
    if (world_open(run, &world, 2) &&
        ok(run, cls_host_alloc(world.context, BYTES, (void **)&words))) {
        for (uint32_t i = 0; i < WORDS; i++)
            words[i] = world.area->in[i];
        const bool copied =
            nap(run, world.streams[0]) &&
            ok(run, cls_copy_h2d_async(world.a, 0, words, BYTES, world.streams[0])) &&
            download(run, &world, world.a, world.streams[0]);
        if (ok(run, cls_stream_launch_host_async(world.streams[1], free_words, words)))
            words = NULL;
        synchronize(run, world.streams[1]);
        if (synchronize(run, world.streams[0]) && copied)
            expect_scaled(run, &world, 1, 0);
    }
    if (words)
        ok(run, cls_host_free(words));
    world_close(run, &world);
}

void in_legacy_order(struct run *run) {
    struct world world;
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    config.legacy_default_stream = 1;
    world_init(&world);
    if (ok(run, cls_context_create(&config, &world.context)) && open_buffers(run, &world) &&
        open_stream(run, &world, 0, NULL) && open_stream(run, &world, 1, NULL) &&
        open_kernel(run, &world)) {
        if (upload(run, &world, world.a, world.streams[0]) &&
            launch(run, &world, world.a, 3, 1, NULL) &&
            launch(run, &world, world.a, 5, 2, world.streams[1]) &&
            download(run, &world, world.a, world.streams[1]) && synchronize(run, world.streams[1]))
            expect_scaled(run, &world, 15, 7);
    }
    world_close(run, &world);
}

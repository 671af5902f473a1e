/* SPDX-License-Identifier: MIT */
/* A scenario of the profiler: what fails costs records, never work. */
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>

#include "world.h"

/* All forms, each to a file that is gone afterwards. */
static void export_all(struct run *run, cls_profile profile) {
    const char *folder = getenv("CLSTREAM_CACHE_DIR");
    char path[512];
    snprintf(path, sizeof path, "%s/profile", folder ? folder : "/tmp");
    for (int format = CLS_PROFILE_JSON; format <= CLS_PROFILE_HTML; format++)
        if (ok(run, cls_profile_export(profile, path, (cls_profile_format)format)))
            expect(run, remove(path) == 0, "an export that succeeded is there");
}

static void report(struct run *run, cls_profiler profiler) {
    cls_profile_summary summary = CLS_PROFILE_SUMMARY_INIT;
    cls_profile_overlap overlap = CLS_PROFILE_OVERLAP_INIT;
    cls_profile profile;
    if (!ok(run, cls_profiler_snapshot(profiler, &profile)))
        return;
    ok(run, cls_profile_get_summary(profile, &summary));
    ok(run,
       cls_profile_get_kind_overlap(profile, CLS_COMMAND_KERNEL, CLS_COMMAND_COPY_H2D, &overlap));
    export_all(run, profile);
    ok(run, cls_profile_destroy(profile));
}

static void nothing(void *arg) { (void)arg; }

/* Switched on and off in the midst of a chain over two streams. */
void profiled(struct run *run) {
    struct world world;
    cls_profiler profiler = NULL;
    cls_profiler_config config = CLS_PROFILER_CONFIG_INIT;
    config.capacity = 64;
    if (world_open(run, &world, 2) && open_kernel(run, &world) &&
        ok(run, cls_profiler_create(&config, &profiler))) {
        cls_stream first = world.streams[0], second = world.streams[1];
        if (upload(run, &world, world.a, first) && ok(run, cls_profiler_start(profiler)) &&
            launch(run, &world, world.a, 3, 1, first) && ok(run, cls_range_push("range"))) {
            ok(run, cls_range_pop());
            if (ok(run, cls_stream_launch_host_async(first, nothing, NULL)) &&
                ok(run, cls_event_record(world.event, first)) &&
                ok(run, cls_stream_wait_event(second, world.event)) &&
                launch(run, &world, world.a, 2, 5, second) &&
                ok(run, cls_profiler_stop(profiler)) && download(run, &world, world.a, second) &&
                synchronize(run, second))
                expect_scaled(run, &world, 6, 7);
        }
        report(run, profiler);
    }
    if (profiler)
        ok(run, cls_profiler_destroy(profiler));
    world_close(run, &world);
}

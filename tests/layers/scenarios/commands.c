/* SPDX-License-Identifier: MIT */
/* The scenarios of every kind of command; those of stream-ordered memory, and those of foreign objects and
 * of trouble, are in memory.c and trouble.c. */
#include "scenario.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/opencl.h>

#include "world.h"

static void create_and_destroy(struct run *run) {
    struct world world;
    cls_event timed = NULL;
    void *pinned = NULL;
    const cls_event_config config = {.size = sizeof config, .timed = 1};
    cls_stream_config named = CLS_STREAM_CONFIG_INIT;
    named.name = "named";
    named.priority = CLS_PRIORITY_HIGH;
    named.timing = 1;
    if (world_open(run, &world, 2) && open_stream(run, &world, 2, &named)) {
        open_kernel(run, &world);
        ok(run, cls_event_create(world.context, &config, &timed));
        ok(run, cls_host_alloc(world.context, 4096, &pinned));
    }
    if (timed)
        ok(run, cls_event_destroy(timed));
    if (pinned)
        ok(run, cls_host_free(pinned));
    world_close(run, &world);
}

static void copies(struct run *run) {
    struct world world;
    if (world_open(run, &world, 1)) {
        cls_stream stream = world.streams[0];
        if (upload(run, &world, world.a, stream) &&
            ok(run, cls_copy_d2d_async(world.b, 0, world.a, 0, BYTES, stream)) &&
            download(run, &world, world.b, stream) && synchronize(run, stream))
            expect_scaled(run, &world, 1, 0);
        memset(world.area->out, 0, BYTES);
        if (ok(run, cls_copy_h2d(world.b, 0, world.area->in, BYTES, stream)) &&
            ok(run, cls_copy_d2h(world.area->out, world.b, 0, BYTES, stream)))
            expect_scaled(run, &world, 1, 0);
    }
    world_close(run, &world);
}

/* Four slices of 64 bytes, of rows of 16; every other word pair stays. */
static void slices(struct run *run) {
    struct world world;
    const cls_rect rect = {8, 2, 0, 16, 0, 16, 3, 64, 64};
    /* No driver copies that: slices that are no number of rows apart. */
    const cls_rect odd = {8, 2, 0, 16, 0, 16, 3, 60, 60};
    const cls_rect filled = {4, 2, 0, 16, 0, 0, 2, 64, 0};
    const uint32_t pattern = 0x01020304;
    if (world_open(run, &world, 1)) {
        cls_stream stream = world.streams[0];
        if (upload(run, &world, world.b, stream) &&
            ok(run, cls_copy_rect_h2d_async(world.a, world.area->in, &rect, stream)) &&
            ok(run, cls_copy_rect_h2d_async(world.a, world.area->in, &odd, stream)) &&
            ok(run, cls_copy_rect_d2d_async(world.b, world.a, &rect, stream)) &&
            ok(run, cls_copy_rect_d2d_async(world.b, world.a, &odd, stream)) &&
            ok(run, cls_fill_rect_async(world.b, &filled, &pattern, 4, stream)) &&
            ok(run, cls_copy_rect_d2h_async(world.area->out, world.b, &rect, stream)) &&
            ok(run, cls_copy_rect_d2h_async(world.area->out, world.b, &odd, stream)) &&
            synchronize(run, stream))
            expect(run,
                   world.area->out[37] == world.area->in[37] &&
                       world.area->out[30] == world.area->in[30] &&
                       world.area->out[20] == pattern && world.area->out[5] == world.area->in[5] &&
                       world.area->out[2] == 0xdeadbeef,
                   "the slices");
    }
    world_close(run, &world);
}

static void rectangles(struct run *run) {
    struct world world;
    const cls_rect rect = {16, 8, 0, 32, 0, 32, 0, 0, 0}; /* half of each row of 32 bytes */
    /* No driver copies that: rows of two pitches within one buffer. */
    const cls_rect within = {8, 4, 128, 32, 0, 16, 0, 0, 0};
    const uint32_t zero = 0;
    if (world_open(run, &world, 1)) {
        cls_stream stream = world.streams[0];
        if (ok(run, cls_fill_async(world.a, 0, BYTES, &zero, 4, stream)) &&
            ok(run, cls_fill_async(world.b, 0, BYTES, &zero, 4, stream)) &&
            ok(run, cls_copy_rect_h2d_async(world.a, world.area->in, &rect, stream)) &&
            ok(run, cls_copy_rect_d2d_async(world.b, world.a, &rect, stream)) &&
            ok(run, cls_copy_rect_d2d_async(world.b, world.b, &within, stream)) &&
            ok(run, cls_copy_rect_d2h_async(world.area->out, world.b, &rect, stream)) &&
            synchronize(run, stream))
            expect(run,
                   world.area->out[9] == world.area->in[9] && world.area->out[4] == 0xdeadbeef &&
                       world.area->out[32] == world.area->in[0],
                   "the rectangle");
    }
    world_close(run, &world);
}

/* Too large to be taken along with the command: through pinned chunks where that gains. What a failed wait
 * leaves on its way brings the same bytes. */
enum { LARGE = 80 << 10 };

static unsigned char large_in[LARGE], large_out[LARGE];

static bool large_round(struct run *run, cls_buffer large, bool by_rows, cls_stream stream) {
    const cls_rect up = {LARGE / 2, 2, 0, LARGE, 0,
                         LARGE / 2, 0, 0, 0}; /* gaps in the buffer only */
    const cls_rect down = {LARGE / 2, 2, 0, LARGE / 2, 0, LARGE, 0, 0, 0};
    memset(large_in, 0x5a, LARGE);
    memset(large_out, 0, LARGE);
    bool good = by_rows ? ok(run, cls_copy_rect_h2d_async(large, large_in, &up, stream)) &&
                              ok(run, cls_copy_rect_d2h_async(large_out, large, &down, stream))
                        : ok(run, cls_copy_h2d_async(large, 0, large_in, LARGE, stream)) &&
                              ok(run, cls_copy_d2h_async(large_out, large, 0, LARGE, stream));
    if (synchronize(run, stream) && good)
        expect(run, !memcmp(large_in, large_out, LARGE), "the large copy");
    return good;
}

static void large_copies(struct run *run) {
    struct world world;
    cls_buffer large = NULL;
    if (world_open(run, &world, 1) && ok(run, cls_buffer_create(world.context, 2 * LARGE, &large)))
        if (large_round(run, large, false, world.streams[0]))
            large_round(run, large, true, world.streams[0]);
    if (large)
        ok(run, cls_buffer_destroy(large));
    world_close(run, &world);
}

static void fill_and_prefetch(struct run *run) {
    struct world world;
    const uint32_t pattern = 0x01020304;
    if (world_open(run, &world, 1)) {
        cls_stream stream = world.streams[0];
        if (ok(run, cls_prefetch_async(world.a, CLS_TO_DEVICE, stream)) &&
            ok(run, cls_fill_async(world.a, 0, BYTES, &pattern, 4, stream)) &&
            ok(run, cls_prefetch_async(world.a, CLS_TO_HOST, stream)) &&
            download(run, &world, world.a, stream) && synchronize(run, stream))
            expect(run, world.area->out[0] == pattern && world.area->out[WORDS - 1] == pattern,
                   "the pattern");
    }
    world_close(run, &world);
}

static void user_kernel(struct run *run) {
    struct world world;
    if (world_open(run, &world, 1) && open_kernel(run, &world)) {
        cls_stream stream = world.streams[0];
        if (upload(run, &world, world.a, stream) && launch(run, &world, world.a, 3, 1, stream) &&
            launch(run, &world, world.a, 5, 2, stream) && download(run, &world, world.a, stream) &&
            synchronize(run, stream))
            expect_scaled(run, &world, 15, 7);
    }
    world_close(run, &world);
}

static _Atomic unsigned host_calls, callback_calls;

static void on_host(void *arg) {
    (void)arg;
    atomic_fetch_add(&host_calls, 1);
}

/* The stream's later work waits for what another one does in a while. */
static bool fall_behind(struct run *run, const struct world *world, cls_stream stream,
                        cls_stream other) {
    return nap(run, other) && ok(run, cls_event_record(world->event, other)) &&
           ok(run, cls_stream_wait_event(stream, world->event));
}

/* More buffers than a command keeps without memory of its own, on a stream that is full and behind another. */
static void many_arguments(struct run *run) {
    enum { ARGUMENTS = 7 };
    static const char source[] =
        "kernel void sum(global uint *to, global uint *a, global uint *b, global uint *c,\n"
        "                global uint *d, global uint *e, global uint *f) {\n"
        "    size_t i = get_global_id(0);\n"
        "    to[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i];\n"
        "}\n";
    struct world world;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    const cls_launch shape = cls_launch_1d(WORDS);
    config.max_in_flight = 2;
    if (world_open(run, &world, 1) && open_stream(run, &world, 1, &config) &&
        ok(run, cls_program_from_source(world.context, source, "sum.cl", NULL, &world.program)) &&
        ok(run, cls_kernel_create(world.program, "sum", &world.kernel))) {
        cls_stream stream = world.streams[1];
        cls_arg args[ARGUMENTS] = {cls_arg_buffer(world.b)};
        for (int i = 1; i < ARGUMENTS; i++)
            args[i] = cls_arg_buffer(world.a);
        bool good = upload(run, &world, world.a, stream);
        for (int i = 0; i < 6 && good; i++)
            good = (i != 4 || fall_behind(run, &world, stream, world.streams[0])) &&
                   ok(run, cls_kernel_launch_async(world.kernel, &shape, args, ARGUMENTS, stream));
        if (good && download(run, &world, world.b, stream) && synchronize(run, stream))
            expect_scaled(run, &world, ARGUMENTS - 1, 0);
    }
    world_close(run, &world);
}

static void timed_events(struct run *run) {
    struct world world;
    cls_event from = NULL, to = NULL;
    const cls_event_config config = {.size = sizeof config, .timed = 1};
    double ms = -1;
    if (world_open(run, &world, 1) && ok(run, cls_event_create(world.context, &config, &from)) &&
        ok(run, cls_event_create(world.context, &config, &to))) {
        cls_stream stream = world.streams[0];
        if (upload(run, &world, world.a, stream) && ok(run, cls_event_record(from, stream)) &&
            ok(run, cls_copy_d2d_async(world.b, 0, world.a, 0, BYTES, stream)) &&
            ok(run, cls_event_record(to, stream)) && ok(run, cls_event_synchronize(to)) &&
            ok(run, cls_event_elapsed(from, to, &ms)) && download(run, &world, world.b, stream) &&
            synchronize(run, stream)) {
            expect_scaled(run, &world, 1, 0);
            expect(run, ms >= 0, "the time");
        }
    }
    if (from)
        ok(run, cls_event_destroy(from));
    if (to)
        ok(run, cls_event_destroy(to));
    world_close(run, &world);
}

/* a on one stream, then b on another, then back. */
static void cross_stream(struct run *run) {
    struct world world;
    if (world_open(run, &world, 2)) {
        cls_stream first = world.streams[0], second = world.streams[1];
        if (upload(run, &world, world.a, first) && ok(run, cls_event_record(world.event, first)) &&
            ok(run, cls_stream_wait_event(second, world.event)) &&
            ok(run, cls_copy_d2d_async(world.b, 0, world.a, 0, BYTES, second)) &&
            ok(run, cls_event_record(world.event, second)) &&
            ok(run, cls_stream_wait_event(first, world.event)) &&
            download(run, &world, world.b, first) && synchronize(run, first))
            expect_scaled(run, &world, 1, 0);
    }
    world_close(run, &world);
}

static void on_done(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    (void)status;
    (void)arg;
    atomic_fetch_add(&callback_calls, 1);
}

/* Work behind host functions goes through the FIFO, and a wait on it too. */
static void host_functions(struct run *run) {
    struct world world;
    unsigned before = atomic_load(&host_calls), back_before = atomic_load(&callback_calls);
    bool added = false;
    if (world_open(run, &world, 2)) {
        cls_stream first = world.streams[0], second = world.streams[1];
        bool good = upload(run, &world, world.a, first) &&
                    ok(run, cls_stream_launch_host_async(first, on_host, NULL)) &&
                    ok(run, cls_copy_d2d_async(world.b, 0, world.a, 0, BYTES, first)) &&
                    ok(run, cls_event_record(world.event, first)) &&
                    ok(run, cls_stream_wait_event(second, world.event)) &&
                    download(run, &world, world.b, second);
        added = ok(run, cls_stream_add_callback(second, on_done, NULL));
        good = synchronize(run, second) && good;
        ok(run, cls_stream_synchronize(first));
        if (good) {
            expect_scaled(run, &world, 1, 0);
            expect(run, atomic_load(&host_calls) == before + 1, "one call of the host function");
        }
        if (added && atomic_load(&callback_calls) != back_before + 1) {
            run->wrong = true; /* failure or not */
            run->what = "one callback";
        }
    }
    world_close(run, &world);
}

static void remove_cache(void) {
    char command[512];
    const char *folder = getenv("CLSTREAM_CACHE_DIR");
    if (folder && snprintf(command, sizeof command, "rm -f '%s'/*", folder) < (int)sizeof command &&
        system(command) != 0)
        abort();
}

static void program_build(struct run *run, bool warm) {
    struct world world;
    world_init(&world);
    if (!warm)
        remove_cache();
    if (ok(run, cls_context_create(NULL, &world.context)) && open_kernel(run, &world) &&
        open_buffers(run, &world) && open_stream(run, &world, 0, NULL) &&
        upload(run, &world, world.a, world.streams[0]) &&
        launch(run, &world, world.a, 2, 1, world.streams[0]) &&
        download(run, &world, world.a, world.streams[0]) && synchronize(run, world.streams[0]))
        expect_scaled(run, &world, 2, 1);
    world_close(run, &world);
}

static void program_cold(struct run *run) { program_build(run, false); }
static void program_warm(struct run *run) { program_build(run, true); }

/* The kernel of another program in its place. */
static bool replace_program(struct run *run, struct world *world, cls_program by) {
    const bool good =
        ok(run, cls_kernel_destroy(world->kernel)) && ok(run, cls_program_destroy(world->program));
    world->kernel = NULL;
    world->program = by;
    return good && ok(run, cls_kernel_create(by, "scale", &world->kernel));
}

/* By its binary, then by its cl_program. */
static bool pass_through_binary(struct run *run, struct world *world) {
    size_t size = 0;
    cl_program cl;
    cls_program again = NULL, wrapped = NULL;
    if (!ok(run, cls_program_get_binary(world->program, NULL, 0, &size)))
        return false;
    void *bytes = malloc(size);
    const bool good = bytes &&
                      ok(run, cls_program_get_binary(world->program, bytes, size, &size)) &&
                      ok(run, cls_program_from_binary(world->context, bytes, size, &again));
    free(bytes);
    return good && replace_program(run, world, again) && ok(run, cls_program_get_cl(again, &cl)) &&
           ok(run, cls_program_wrap(world->context, cl, &wrapped)) &&
           replace_program(run, world, wrapped);
}

/* The kernel's properties, its first argument's, and a group size. */
static bool ask_kernel(struct run *run, const struct world *world) {
    cls_kernel_info info = CLS_KERNEL_INFO_INIT;
    cls_kernel_arg_info arg = CLS_KERNEL_ARG_INFO_INIT;
    const cls_launch shape = cls_launch_1d(WORDS);
    size_t local[3];
    return ok(run, cls_kernel_get_info(world->kernel, &info)) &&
           ok(run, cls_kernel_get_arg_info(world->kernel, 0, &arg)) &&
           ok(run, cls_kernel_suggest_local(world->kernel, &shape, local));
}

static void kernel_facts(struct run *run) {
    struct world world;
    if (world_open(run, &world, 1) && open_kernel(run, &world) && ask_kernel(run, &world)) {
        cls_stream stream = world.streams[0];
        if (upload(run, &world, world.a, stream) && launch(run, &world, world.a, 2, 1, stream) &&
            download(run, &world, world.a, stream) && synchronize(run, stream))
            expect_scaled(run, &world, 2, 1);
    }
    world_close(run, &world);
}

/* Of a device that has a context. */
static void device_facts(struct run *run) {
    struct world world;
    cl_platform_id platform = NULL;
    char name[256];
    uint32_t units = 0;
    int has;
    if (world_open(run, &world, 0) && ok(run, cls_device_get_cl(0, &platform, NULL)) &&
        ok(run, cls_device_query(0, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL)) &&
        ok(run, cls_device_query(0, CL_DEVICE_NAME, sizeof name, name, NULL)) &&
        ok(run, cls_device_has_extension(0, "cl_khr_fp64", &has)))
        expect(run, units > 0 && platform, "the facts");
    world_close(run, &world);
}

static void program_bytes(struct run *run) {
    struct world world;
    if (world_open(run, &world, 1) && open_kernel(run, &world) &&
        pass_through_binary(run, &world)) {
        cls_stream stream = world.streams[0];
        if (upload(run, &world, world.a, stream) && launch(run, &world, world.a, 2, 1, stream) &&
            download(run, &world, world.a, stream) && synchronize(run, stream))
            expect_scaled(run, &world, 2, 1);
    }
    world_close(run, &world);
}

static void typed_operations(struct run *run) {
    struct world world;
    if (world_open(run, &world, 1)) {
        cls_array from = cls_array_of(world.a, CLS_U32, WORDS);
        cls_array to = cls_array_of(world.b, CLS_F32, WORDS);
        cls_stream stream = world.streams[0];
        if (upload(run, &world, world.a, stream) && ok(run, cls_cast_async(from, to, stream)) &&
            ok(run, cls_cast_async(to, from, stream)) && download(run, &world, world.a, stream) &&
            synchronize(run, stream))
            expect_scaled(run, &world, 1, 0);
        if (ok(run, cls_reduce(CLS_REDUCE_SUM, to, &world.area->sum, stream)))
            expect(run, world.area->sum == 6112, "the sum");
    }
    world_close(run, &world);
}

static void in_order(struct run *run) {
    struct world world;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.order = CLS_ORDER_IN_ORDER;
    if (world_open(run, &world, 0) && open_kernel(run, &world) &&
        open_stream(run, &world, 0, &config) && open_stream(run, &world, 1, &config)) {
        cls_stream first = world.streams[0], second = world.streams[1];
        if (upload(run, &world, world.a, first) && launch(run, &world, world.a, 3, 1, first) &&
            ok(run, cls_event_record(world.event, first)) &&
            ok(run, cls_stream_wait_event(second, world.event)) &&
            launch(run, &world, world.a, 2, 5, second) && download(run, &world, world.a, second) &&
            synchronize(run, second))
            expect_scaled(run, &world, 6, 7);
    }
    world_close(run, &world);
}

/* More than may be in flight: the FIFO, and the help that a full stream gives. */
static void bounded(struct run *run) {
    struct world world;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    uint32_t factor = 1;
    config.max_in_flight = 2;
    if (world_open(run, &world, 0) && open_kernel(run, &world) &&
        open_stream(run, &world, 0, &config)) {
        cls_stream stream = world.streams[0];
        bool good = upload(run, &world, world.a, stream);
        for (int i = 0; i < 8 && good; i++, factor *= 3)
            good = launch(run, &world, world.a, 3, 0, stream);
        if (good && download(run, &world, world.a, stream) && synchronize(run, stream))
            expect_scaled(run, &world, factor, 0);
    }
    world_close(run, &world);
}

const struct scenario scenarios[] = {
    {"create_and_destroy", create_and_destroy},
    {"copies", copies},
    {"rectangles", rectangles},
    {"slices", slices},
    {"large_copies", large_copies},
    {"images", images},
    {"fill_and_prefetch", fill_and_prefetch},
    {"user_kernel", user_kernel},
    {"many_arguments", many_arguments},
    {"timed_events", timed_events},
    {"cross_stream", cross_stream},
    {"host_functions", host_functions},
    {"program_cold", program_cold},
    {"program_warm", program_warm},
    {"program_bytes", program_bytes},
    {"device_facts", device_facts},
    {"kernel_facts", kernel_facts},
    {"typed_operations", typed_operations},
    {"in_order", in_order},
    {"bounded", bounded},
    {"stream_ordered_memory", stream_ordered_memory},
    {"crossed_frees", crossed_frees},
    {"passed_and_fenced", passed_and_fenced},
    {"too_much", too_much},
    {"unified_memory", unified_memory},
    {"waits_for_values", waits_for_values},
    {"shared_memory", shared_memory},
    {"shareable_pools", shareable_pools},
    {"shared_events", shared_events},
    {"shareable_default_pool", shareable_default_pool},
    {"interoperation", interoperation},
    {"foreign_call", foreign_call},
    {"library_call", library_call},
    {"many_waits", many_waits},
    {"failed_wait", failed_wait},
    {"triple_buffered", triple_buffered},
    {"coordinated", coordinated},
    {"prefetched", prefetched},
    {"staged", staged},
    {"stepped", stepped},
    {"managed_on_streams", managed_on_streams},
    {"managed_in_place", managed_in_place},
    {"devices_grouped", devices_grouped},
    {"devices_sharing", devices_sharing},
    {"reset_after_failure", reset_after_failure},
    {"reset_behind_users", reset_behind_users},
    {"two_contexts", two_contexts},
    {"peer_copies", peer_copies},
    {"timelines", timelines},
    {"destroyed_at_work", destroyed_at_work},
    {"polled", polled},
    {"batch", batch},
    {"batch_beside", batch_beside},
    {"batch_rows", batch_rows},
    {"graph_replayed", graph_replayed},
    {"graph_in_background", graph_in_background},
    {"graph_built", graph_built},
    {"graph_waiting", graph_waiting},
    {"graph_planned", graph_planned},
    {"graph_timed", graph_timed},
    {"graph_fused", graph_fused},
    {"graph_product", graph_product},
    {"graph_on_worker", graph_on_worker},
    {"graph_calling_back", graph_calling_back},
    {"products", products},
    {"sorts", sorts},
    {"pointers", pointers},
    {"addresses", addresses},
    {"cuda_calls", cuda_calls},
    {"sparse_product", sparse_product},
    {"transforms", transforms},
    {"optimizer_steps", optimizer_steps},
    {"scans", scans},
    {"histograms", histograms},
    {"profiled", profiled},
    {"coordinated_run", coordinated_run},
    {"coordinated_threads", coordinated_threads},
    {"coordinated_set", coordinated_set},
    {"coordinated_tasks", coordinated_tasks},
    {"pooled", pooled},
    {"pinned_as_buffer", pinned_as_buffer},
    {"registered", registered},
    {"maps", maps},
    {"pinned_freed_inside", pinned_freed_inside},
    {"in_legacy_order", in_legacy_order},
};
const unsigned n_scenarios = sizeof scenarios / sizeof *scenarios;

/* SPDX-License-Identifier: MIT */
/* Scenarios of coordinators, task graphs and pools: what fails leaves the set usable, and callbacks come
 * once or not at all. */
#include "scenario.h"

#include <stdatomic.h>

#include "world.h"

/* First a on one stream, then b on the next. */
static cls_status pass_on(cls_stream stream, size_t index, void *arg) {
    const struct world *world = arg;
    return index ? cls_copy_d2h_async(world->area->out, world->a, 0, BYTES, stream)
                 : cls_copy_h2d_async(world->a, 0, world->area->in, BYTES, stream);
}

static bool open_coordinator(struct run *run, const struct world *world, cls_coordinator *out) {
    *out = NULL;
    return ok(run, cls_coordinator_create(NULL, out)) &&
           ok(run, cls_coordinator_add_stream(*out, world->streams[0], NULL)) &&
           ok(run, cls_coordinator_add_stream(*out, world->streams[1], NULL)) &&
           ok(run, cls_coordinator_add_dependency(*out, world->streams[1], world->streams[0]));
}

/* The host memory of the copies is the run's: what was submitted before a failure is waited for. */
static void settle(const struct world *world) {
    for (int i = 0; i < 2; i++)
        if (world->streams[i])
            cls_stream_synchronize(world->streams[i]);
}

static void phase(struct run *run,
                  cls_status (*call)(cls_coordinator coordinator, cls_phase_fn fn, void *arg)) {
    struct world world;
    cls_coordinator coordinator = NULL;
    if (world_open(run, &world, 2) && open_coordinator(run, &world, &coordinator) &&
        ok(run, call(coordinator, pass_on, &world)) &&
        ok(run, cls_coordinator_wait_all(coordinator, UINT64_MAX)))
        expect_scaled(run, &world, 1, 0);
    settle(&world);
    if (coordinator)
        ok(run, cls_coordinator_destroy(coordinator));
    world_close(run, &world);
}

void coordinated_run(struct run *run) { phase(run, cls_coordinator_run); }
void coordinated_threads(struct run *run) { phase(run, cls_coordinator_execute_parallel); }

static _Atomic unsigned calls;

static void on_all_done(cls_coordinator coordinator, cls_status status, void *arg) {
    (void)coordinator;
    (void)status;
    (void)arg;
    atomic_fetch_add(&calls, 1);
}

/* A refused dependency, a barrier, a callback, and the waits. */
void coordinated_set(struct run *run) {
    struct world world;
    cls_coordinator coordinator = NULL;
    cls_stream done;
    unsigned before = atomic_load(&calls);
    bool added = false;
    if (world_open(run, &world, 2) && open_coordinator(run, &world, &coordinator)) {
        cls_status status =
            cls_coordinator_add_dependency(coordinator, world.streams[0], world.streams[1]);
        bool good = upload(run, &world, world.a, world.streams[0]) &&
                    ok(run, cls_coordinator_apply(coordinator)) &&
                    ok(run, cls_copy_d2d_async(world.b, 0, world.a, 0, BYTES, world.streams[1])) &&
                    ok(run, cls_coordinator_barrier(coordinator)) &&
                    download(run, &world, world.b, world.streams[0]);
        added = ok(run, cls_coordinator_add_callback(coordinator, on_all_done, NULL));
        good = good && ok(run, cls_coordinator_wait_any(coordinator, UINT64_MAX, &done));
        if (ok(run, cls_coordinator_wait_all(coordinator, UINT64_MAX)) && good) {
            expect(run, status == CLS_ERROR_DEADLOCK, "the refusal");
            expect_scaled(run, &world, 1, 0);
        }
        settle(&world);
        if (atomic_load(&calls) != before + added) {
            run->wrong = true; /* failure or not */
            run->what = "one callback";
        }
    }
    if (coordinator)
        ok(run, cls_coordinator_destroy(coordinator));
    world_close(run, &world);
}

/* --- tasks --- */

struct leg {
    const struct world *world;
    bool home;
};

static cls_status travel(cls_stream stream, void *arg) {
    const struct leg *leg = arg;
    return pass_on(stream, leg->home, (void *)(uintptr_t)leg->world);
}

static bool add_leg(struct run *run, cls_task_graph graph, struct leg *leg, cls_stream stream) {
    const uint32_t first = 0;
    cls_task task = CLS_TASK_INIT;
    task.fn = travel;
    task.arg = leg;
    task.stream = stream;
    task.prerequisites = &first;
    task.n_prerequisites = leg->home;
    return ok(run, cls_task_graph_add(graph, &task, NULL));
}

void coordinated_tasks(struct run *run) {
    struct world world;
    cls_coordinator coordinator = NULL;
    cls_task_graph graph = NULL;
    struct leg there = {&world, false}, back = {&world, true};
    if (world_open(run, &world, 2) && open_coordinator(run, &world, &coordinator) &&
        ok(run, cls_task_graph_create(coordinator, &graph)) &&
        add_leg(run, graph, &there, CLS_ANY_STREAM) &&
        add_leg(run, graph, &back, world.streams[1]) && ok(run, cls_task_graph_run(graph)) &&
        ok(run, cls_task_graph_wait(graph, UINT64_MAX)))
        expect_scaled(run, &world, 1, 0);
    settle(&world);
    if (graph)
        ok(run, cls_task_graph_destroy(graph));
    if (coordinator)
        ok(run, cls_coordinator_destroy(coordinator));
    world_close(run, &world);
}

/* --- pools --- */

/* A stream for each way, the second one made for it; what cannot be made is shared. */
void pooled(struct run *run) {
    struct world world;
    cls_pool pool = NULL;
    cls_pool_config config = CLS_POOL_CONFIG_INIT;
    cls_stream there = NULL, back = NULL, done;
    run->masked = true; /* the first stream serves where a second cannot be made */
    config.min_streams = 1;
    config.max_streams = 2;
    if (world_open(run, &world, 0) && ok(run, cls_pool_create(world.context, &config, &pool))) {
        bool good = ok(run, cls_pool_get(pool, &there)) &&
                    ok(run, cls_pool_get_with_priority(pool, CLS_PRIORITY_HIGH, &back)) &&
                    upload(run, &world, world.a, there) &&
                    ok(run, cls_event_record(world.event, there)) &&
                    ok(run, cls_stream_wait_event(back, world.event)) &&
                    download(run, &world, world.a, back) &&
                    ok(run, cls_pool_wait_any(pool, UINT64_MAX, &done));
        if (back && synchronize(run, back) && good)
            expect_scaled(run, &world, 1, 0);
        if (there)
            cls_stream_synchronize(there);
        if (back)
            ok(run, cls_pool_release(pool, back));
        ok(run, cls_pool_destroy(pool));
    }
    world_close(run, &world);
}

/* SPDX-License-Identifier: MIT */
/* Scenarios with graphs. */
#include "scenario.h"

#include "world.h"

/* a = in * 3 + 7 on one branch, b = a copy of a from before on another, out = a. */
static bool submit(struct run *run, const struct world *world) {
    cls_stream stream = world->streams[0], other = world->streams[1];
    return upload(run, world, world->a, stream) &&
           ok(run, cls_event_record(world->event, stream)) &&
           ok(run, cls_stream_wait_event(other, world->event)) &&
           ok(run, cls_copy_d2d_async(world->b, 0, world->a, 0, BYTES, other)) &&
           ok(run, cls_event_record(world->event, other)) &&
           ok(run, cls_stream_wait_event(stream, world->event)) &&
           launch(run, world, world->a, 3, 7, stream) && download(run, world, world->a, stream);
}

/* The capture ends in any case. */
static cls_graph_exec capture(struct run *run, const struct world *world) {
    cls_graph graph = NULL;
    cls_graph_exec exec = NULL;
    if (!ok(run, cls_stream_begin_capture(world->streams[0], NULL)))
        return NULL;
    submit(run, world);
    if (ok(run, cls_stream_end_capture(world->streams[0], &graph))) {
        ok(run, cls_graph_instantiate(graph, NULL, &exec));
        ok(run, cls_graph_destroy(graph));
    }
    return exec;
}

void graph_replayed(struct run *run) {
    struct world world;
    cls_graph_exec exec = NULL;
    if (world_open(run, &world, 3) && open_kernel(run, &world))
        exec = capture(run, &world);
    if (exec && ok(run, cls_graph_launch_async(exec, world.streams[2])) &&
        ok(run, cls_graph_bind(exec, world.b, world.b)) &&
        ok(run, cls_graph_set_enabled(exec, 1, 0)) &&
        ok(run, cls_graph_launch_async(exec, world.streams[2])) &&
        synchronize(run, world.streams[2]))
        expect_scaled(run, &world, 3, 7);
    if (exec)
        ok(run, cls_graph_exec_destroy(exec));
    world_close(run, &world);
}

static void add_one(void *word) { ++*(uint32_t *)word; }

/* One that runs on a worker. */
void graph_on_worker(struct run *run) {
    struct world world;
    cls_graph graph = NULL;
    cls_graph_exec exec = NULL;
    uint32_t *words = NULL;
    if (world_open(run, &world, 1) && ok(run, cls_stream_begin_capture(world.streams[0], NULL))) {
        cls_stream stream = world.streams[0];
        words = world.area->out;
        words[0] = 0;
        if (upload(run, &world, world.a, stream) &&
            ok(run, cls_stream_launch_host_async(stream, add_one, words)))
            ok(run, cls_copy_d2h_async(&words[1], world.a, 4, 4, stream));
        if (ok(run, cls_stream_end_capture(stream, &graph)) &&
            ok(run, cls_graph_instantiate(graph, NULL, &exec)) &&
            ok(run, cls_graph_launch_async(exec, stream)) && synchronize(run, stream))
            expect(run, words[0] == 1 && words[1] == world.area->in[1], "the words");
    }
    if (exec)
        ok(run, cls_graph_exec_destroy(exec));
    if (graph)
        ok(run, cls_graph_destroy(graph));
    world_close(run, &world);
}

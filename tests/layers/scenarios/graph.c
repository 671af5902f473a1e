/* SPDX-License-Identifier: MIT */
/* Scenarios with graphs. */
#include "scenario.h"

#include <string.h>

#include "../../support/effort.h"

#include "world.h"

typedef bool submit_fn(struct run *run, const struct world *world);

/* The capture ends in any case. */
static cls_graph capture(struct run *run, const struct world *world, submit_fn *submit) {
    cls_graph graph = NULL;
    if (!ok(run, cls_stream_begin_capture(world->streams[0], "scenario")))
        return NULL;
    submit(run, world);
    ok(run, cls_stream_end_capture(world->streams[0], &graph));
    return graph;
}

static void destroy(struct run *run, cls_graph graph, cls_graph_exec exec) {
    if (exec)
        ok(run, cls_graph_exec_destroy(exec));
    if (graph)
        ok(run, cls_graph_destroy(graph));
}

/* a = in * 3 + 7 on one branch, b = a copy of a from before on another, out = a. */
static bool submit_branches(struct run *run, const struct world *world) {
    cls_stream stream = world->streams[0], other = world->streams[1];
    return upload(run, world, world->a, stream) &&
           ok(run, cls_event_record(world->event, stream)) &&
           ok(run, cls_stream_wait_event(other, world->event)) &&
           ok(run, cls_copy_d2d_async(world->b, 0, world->a, 0, BYTES, other)) &&
           ok(run, cls_event_record(world->event, other)) &&
           ok(run, cls_stream_wait_event(stream, world->event)) &&
           launch(run, world, world->a, 3, 7, stream) && download(run, world, world->a, stream);
}

/* The launch's node, with the kernel and the arguments that it has. */
static bool set_kernel(struct run *run, const struct world *world, cls_graph_exec exec) {
    const cls_launch shape = cls_launch_1d(WORDS);
    const cls_arg args[] = {cls_arg_buffer(world->a), cls_arg_u32(3), cls_arg_u32(7)};
    return ok(run, cls_graph_set_kernel(exec, 2, world->kernel, &shape, args, 3));
}

static void replay(struct run *run, bool background) {
    struct world world;
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph_difference difference = CLS_GRAPH_DIFFERENCE_INIT;
    cls_graph_exec exec = NULL;
    cls_graph graph = NULL;
    config.background = background;
    if (world_open(run, &world, 3) && open_kernel(run, &world))
        graph = capture(run, &world, submit_branches);
    if (graph && ok(run, cls_graph_instantiate(graph, &config, &exec)) &&
        ok(run, cls_graph_launch_async(exec, world.streams[2])) &&
        ok(run, cls_graph_bind(exec, world.b, world.b)) &&
        ok(run, cls_graph_compare(exec, graph, &difference)) && set_kernel(run, &world, exec) &&
        ok(run, cls_graph_set_enabled(exec, 1, 0)) &&
        ok(run, cls_graph_launch_async(exec, world.streams[2])) &&
        synchronize(run, world.streams[2]))
        expect_scaled(run, &world, 3, 7);
    destroy(run, graph, exec);
    world_close(run, &world);
}

void graph_replayed(struct run *run) { replay(run, false); }

void graph_in_background(struct run *run) {
    if (effort_is_long())
        replay(run, true);
    else
        run->nothing = "only with TEST_EFFORT=long: much of it is graph_replayed's";
}

/* out = in * 3 + 7, and beside it b filled: the nodes' dependencies by number. */
static bool submit_built(struct run *run, const struct world *world) {
    cls_stream stream = world->streams[0];
    const uint32_t zero = 0;
    uint64_t launched;
    unsigned count;
    return upload(run, world, world->a, stream) && launch(run, world, world->a, 3, 7, stream) &&
           ok(run, cls_stream_get_capture_nodes(stream, &launched, 1, &count)) &&
           ok(run, cls_stream_set_capture_nodes(stream, NULL, 0)) &&
           ok(run, cls_fill_async(world->b, 0, BYTES, &zero, sizeof zero, stream)) &&
           ok(run, cls_stream_add_capture_nodes(stream, &launched, 1)) &&
           download(run, world, world->a, stream);
}

/* The same graph once more, by a capture that begins with it and adds nothing. */
static cls_graph copy_graph(struct run *run, const struct world *world, cls_graph graph) {
    cls_graph copy = NULL;
    if (ok(run, cls_stream_begin_capture_from(world->streams[0], "copy", graph)))
        ok(run, cls_stream_end_capture(world->streams[0], &copy));
    ok(run, cls_graph_destroy(graph));
    return copy;
}

void graph_built(struct run *run) {
    struct world world;
    cls_graph_exec exec = NULL;
    cls_graph graph = NULL;
    if (world_open(run, &world, 1) && open_kernel(run, &world))
        graph = capture(run, &world, submit_built);
    if (graph)
        graph = copy_graph(run, &world, graph);
    if (graph && ok(run, cls_graph_instantiate(graph, NULL, &exec)) &&
        ok(run, cls_graph_launch_async(exec, world.streams[0])) &&
        synchronize(run, world.streams[0]))
        expect_scaled(run, &world, 3, 7);
    destroy(run, graph, exec);
    world_close(run, &world);
}

/* The launch waits for a copy on another stream. */
static bool submit_waiting(struct run *run, const struct world *world) {
    cls_stream stream = world->streams[0];
    return ok(run, cls_stream_wait_external_event(stream, world->event)) &&
           launch(run, world, world->a, 3, 7, stream) && download(run, world, world->a, stream);
}

void graph_waiting(struct run *run) {
    struct world world;
    cls_graph_exec exec = NULL;
    cls_graph graph = NULL;
    if (world_open(run, &world, 2) && open_kernel(run, &world))
        graph = capture(run, &world, submit_waiting);
    if (graph && ok(run, cls_graph_instantiate(graph, NULL, &exec)) &&
        upload(run, &world, world.a, world.streams[1]) &&
        ok(run, cls_event_record(world.event, world.streams[1])) &&
        ok(run, cls_graph_launch_async(exec, world.streams[0])) &&
        synchronize(run, world.streams[0]))
        expect_scaled(run, &world, 3, 7);
    destroy(run, graph, exec);
    world_close(run, &world);
}

/* Without memory for a placeholder a buffer keeps its own, so a fault may go unreported: the results are right. */
static cls_graph capture_memory(struct run *run, const struct world *world, submit_fn *submit) {
    run->masked = true;
    return capture(run, world, submit);
}

/* out = in * 3 + 7 by way of two buffers of the capture. */
static bool submit_planned(struct run *run, const struct world *world) {
    cls_stream stream = world->streams[0];
    cls_buffer x = NULL, y = NULL;
    const bool done = ok(run, cls_malloc_async(stream, BYTES, &x)) &&
                      ok(run, cls_malloc_async(stream, BYTES, &y)) &&
                      upload(run, world, x, stream) && launch(run, world, x, 3, 7, stream) &&
                      ok(run, cls_copy_d2d_async(y, 0, x, 0, BYTES, stream)) &&
                      download(run, world, y, stream);
    if (x)
        ok(run, cls_free_async(x, stream));
    if (y)
        ok(run, cls_free_async(y, stream));
    return done;
}

void graph_planned(struct run *run) {
    struct world world;
    cls_graph_exec exec = NULL;
    cls_graph graph = NULL;
    if (world_open(run, &world, 1) && open_kernel(run, &world))
        graph = capture_memory(run, &world, submit_planned);
    if (graph && ok(run, cls_graph_instantiate(graph, NULL, &exec)) &&
        ok(run, cls_graph_launch_async(exec, world.streams[0])) &&
        synchronize(run, world.streams[0]) &&
        ok(run, cls_context_trim_graph_memory(world.context)) &&
        ok(run, cls_graph_launch_async(exec, world.streams[0])) &&
        synchronize(run, world.streams[0]))
        expect_scaled(run, &world, 3, 7);
    destroy(run, graph, exec);
    world_close(run, &world);
}

/* out = in * 3 + 7, with two events recorded by the launch. */
static cls_graph capture_timed(struct run *run, const struct world *world, cls_event from,
                               cls_event to) {
    cls_stream stream = world->streams[0];
    cls_graph graph = NULL;
    if (!ok(run, cls_stream_begin_capture(stream, "scenario")))
        return NULL;
    if (ok(run, cls_event_record(from, stream)) && upload(run, world, world->a, stream) &&
        launch(run, world, world->a, 3, 7, stream) && ok(run, cls_event_record(to, stream)))
        download(run, world, world->a, stream);
    ok(run, cls_stream_end_capture(stream, &graph));
    return graph;
}

static void launch_timed(struct run *run, const struct world *world, cls_event from, cls_event to) {
    cls_graph_exec exec = NULL;
    double ms = -1;
    cls_graph graph = capture_timed(run, world, from, to);
    if (graph && ok(run, cls_graph_instantiate(graph, NULL, &exec)) &&
        ok(run, cls_graph_launch_async(exec, world->streams[1])) &&
        ok(run, cls_event_synchronize(to)) && ok(run, cls_event_elapsed(from, to, &ms))) {
        expect(run, ms >= 0, "the time");
        expect_scaled(run, world, 3, 7);
    }
    destroy(run, graph, exec);
}

void graph_timed(struct run *run) {
    struct world world;
    const cls_event_config timed = {.size = sizeof timed, .timed = 1};
    cls_event from = NULL, to = NULL;
    if (world_open(run, &world, 2) && open_kernel(run, &world) &&
        ok(run, cls_event_create(world.context, &timed, &from)) &&
        ok(run, cls_event_create(world.context, &timed, &to)))
        launch_timed(run, &world, from, to);
    if (from)
        ok(run, cls_event_destroy(from));
    if (to)
        ok(run, cls_event_destroy(to));
    world_close(run, &world);
}

/* out = in * 3 + 7: two operations that are fused, with a value between them in memory of the capture. */
static bool submit_fused(struct run *run, const struct world *world) {
    cls_stream stream = world->streams[0];
    cls_buffer x = NULL;
    if (!ok(run, cls_malloc_async(stream, BYTES, &x)))
        return false;
    const cls_array a = cls_array_of(world->a, CLS_U32, WORDS),
                    inner = cls_array_of(x, CLS_U32, WORDS);
    const bool done = upload(run, world, world->a, stream) &&
                      ok(run, cls_unary_param_async(CLS_UNARY_SCALE, a, inner, 3, stream)) &&
                      ok(run, cls_unary_param_async(CLS_UNARY_ADD_SCALAR, inner, a, 7, stream)) &&
                      download(run, world, world->a, stream);
    return ok(run, cls_free_async(x, stream)) && done;
}

/* Updates and launches the fused graph of what `submit` captures. */
static void fuse(struct run *run, bool (*submit)(struct run *, const struct world *),
                 void (*check)(struct run *, const struct world *)) {
    struct world world;
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph_exec exec = NULL;
    cls_graph graph = NULL;
    config.fuse = 1;
    if (world_open(run, &world, 1))
        graph = capture_memory(run, &world, submit);
    if (graph && ok(run, cls_graph_instantiate(graph, &config, &exec)) &&
        ok(run, cls_graph_update(exec, graph)) &&
        ok(run, cls_graph_launch_async(exec, world.streams[0])) &&
        synchronize(run, world.streams[0]))
        check(run, &world);
    destroy(run, graph, exec);
    world_close(run, &world);
}

static void expect_fused(struct run *run, const struct world *world) {
    expect_scaled(run, world, 3, 7);
}

/* Instantiated with fusion, and updated by itself. */
void graph_fused(struct run *run) {
    if (effort_is_long())
        fuse(run, submit_fused, expect_fused);
    else
        run->nothing = "only with TEST_EFFORT=long: each run loads its programs";
}

enum { SIDE = 8 };

static cls_matrix square(cls_buffer buffer) { return cls_matrix_of(buffer, CLS_F32, SIDE, SIDE); }

/* b = a a, of a filled with 2, by way of memory of the capture. */
static bool submit_product(struct run *run, const struct world *world) {
    cls_stream stream = world->streams[0];
    const float two = 2;
    cls_buffer x = NULL;
    if (!ok(run, cls_malloc_async(stream, BYTES, &x)))
        return false;
    const bool done =
        ok(run, cls_fill_async(world->a, 0, BYTES, &two, sizeof two, stream)) &&
        ok(run, cls_gemm_async(square(world->a), square(world->a), square(x), NULL, stream)) &&
        ok(run, cls_copy_d2d_async(world->b, 0, x, 0, BYTES, stream)) &&
        download(run, world, world->b, stream);
    return ok(run, cls_free_async(x, stream)) && done;
}

static void expect_product(struct run *run, const struct world *world) {
    float out[2];
    memcpy(out, world->area->out, sizeof out);
    expect(run, out[0] == 4 * SIDE && out[1] == 4 * SIDE, "the product");
}

/* A product, instantiated and updated likewise. */
void graph_product(struct run *run) {
    if (!cls_blas_available())
        run->nothing = "this library was built without CLBlast";
    else if (effort_is_long())
        fuse(run, submit_product, expect_product);
    else
        run->nothing = "only with TEST_EFFORT=long: each run loads its program";
}

static void add_one(void *word) { ++*(uint32_t *)word; }

/* One that runs on a worker. */
void graph_on_worker(struct run *run) {
    struct world world;
    cls_graph graph = NULL;
    cls_graph_exec exec = NULL;
    uint32_t *words = NULL;
    if (world_open(run, &world, 1) &&
        ok(run, cls_stream_begin_capture(world.streams[0], "scenario"))) {
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
    destroy(run, graph, exec);
    world_close(run, &world);
}

static _Atomic unsigned called;

static void count_call(cls_stream stream, cls_status status, void *arg) {
    (void)stream;
    (void)status;
    (void)arg;
    called++;
}

/* Launches twice behind other work, with an argument bound anew between: the second launch sets it when it begins. Returns
 * how many launches were accepted. */
static unsigned launch_rebound(struct run *run, const struct world *world, cls_graph_exec exec) {
    unsigned launched = 0;
    if (!nap(run, world->streams[0]) || !ok(run, cls_graph_launch_async(exec, world->streams[0])))
        return launched;
    launched++;
    if (ok(run, cls_graph_bind(exec, world->a, world->b)) &&
        ok(run, cls_graph_launch_async(exec, world->streams[0])))
        launched++;
    return launched;
}

/* Each launch that was accepted calls its two callbacks, whatever becomes of it. */
static void expect_called(struct run *run, cls_stream stream, unsigned launched) {
    enum { ENOUGH_MS = 2000 };
    ok(run, cls_stream_synchronize(stream));
    for (unsigned ms = 0; called < 2 * launched && ms < ENOUGH_MS; ms++)
        sleep_us(1000);
    if (called == 2 * launched)
        return;
    run->wrong = true;
    run->what = "the number of callbacks";
}

void graph_calling_back(struct run *run) {
    struct world world;
    cls_graph graph = NULL;
    cls_graph_exec exec = NULL;
    if (world_open(run, &world, 1) && open_kernel(run, &world) &&
        ok(run, cls_stream_begin_capture(world.streams[0], "scenario"))) {
        cls_stream stream = world.streams[0];
        const bool complete = upload(run, &world, world.a, stream) &&
                              ok(run, cls_stream_add_callback(stream, count_call, NULL)) &&
                              launch(run, &world, world.a, 3, 7, stream) &&
                              download(run, &world, world.a, stream) &&
                              ok(run, cls_stream_add_callback(stream, count_call, NULL));
        called = 0;
        if (ok(run, cls_stream_end_capture(stream, &graph)) && complete &&
            ok(run, cls_graph_instantiate(graph, NULL, &exec))) {
            expect_called(run, stream, launch_rebound(run, &world, exec));
            expect_scaled(run, &world, 3, 7);
        }
    }
    destroy(run, graph, exec);
    world_close(run, &world);
}

/* SPDX-License-Identifier: MIT */
/*
 * Random graphs that are changed between launches that wait, run, are refused and are dropped, with memory freed at every
 * point, against a model: launches take effect one after the other, each as the graph was at its call, and memory is its
 * owner's as long as a launch uses it. In a context with the legacy default stream, work on that stream takes effect in
 * the same order. TEST_EFFORT=long plays more of them; CLS_SEED starts from another seed.
 */
#include "../support/effort.h"
#include "../support/rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <clstream/graph.h>
#include <clstream/mempool.h>
#include <clstream/timeline.h>

enum {
    CELLS = 4,
    NODES = 8,
    STREAMS = 3,
    LIVE = 6,     /* buffers and blocks at a time */
    MOST = 400,   /* of them in one world */
    ROUNDS = 4,   /* after each all is compared */
    CHANGES = 40, /* in one round */
    GRAPHS = 2    /* of the same shape */
};

/* --- numbers --- */

static uint64_t state_of_numbers;

static uint32_t any(uint32_t below) {
    state_of_numbers = state_of_numbers * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state_of_numbers >> 33) % below;
}

/* --- the model --- */

struct memory {
    cls_buffer buffer; /* of a buffer, while it is live */
    uint32_t *host;    /* of a block of pinned memory, likewise */
    const void *name;  /* the address that the block was made at */
    uint32_t cells[CELLS];
    bool live;
};

enum kind { STEP, ACROSS, UP, DOWN, HOST, CALLBACK, KINDS };

/* What a node does. Buffers and blocks are numbers of them; `named` are those that rebinding finds it by. */
struct node {
    enum kind kind;
    unsigned to, from, named_to, named_from;
    unsigned block, named_block;
    unsigned at, from_at;
    uint32_t factor, add;
    unsigned counter; /* of a host function or a callback */
    bool enabled;
};

/* Of the graph, or one node's work on the legacy default stream. */
struct launch {
    cls_event event; /* NULL: it was dropped */
    bool behind_gate;
    bool blocks[MOST]; /* that it uses */
};

/* A free on another thread, which waits for the launch. */
struct freeing {
    pthread_t thread;
    uint32_t *memory;
    cls_event event;
    cls_status query; /* right after it */
};

static struct {
    cls_stream streams[STREAMS], captured_stream;
    cls_stream narrow, side; /* they take no part in the legacy order */
    cls_stream first;        /* the default stream, of a context with the legacy order */
    cls_timeline gate;
    uint64_t gate_value;
    bool is_closed;
    struct memory buffers[MOST], blocks[MOST];
    unsigned n_buffers, n_blocks, n_nodes;
    cls_graph graphs[GRAPHS];
    struct node captured[GRAPHS][NODES], now[NODES];
    cls_graph_exec exec;
    struct launch launches[2 * CHANGES + GRAPHS * NODES];
    unsigned n_launches;
    struct freeing freeings[CHANGES];
    unsigned n_freeings;
    cls_stream doomed[CHANGES];
    unsigned n_doomed;
} world;

/* Of each graph: what its host functions count, in an order, and its callbacks' calls, well and failed. */
static uint32_t counted[GRAPHS], expected_count[GRAPHS];
static _Atomic unsigned calls[GRAPHS][2];
static unsigned expected_calls[GRAPHS][2];

static void count_in_order(void *counter) { *(uint32_t *)counter = 3 * *(uint32_t *)counter + 1; }

static void count_call(cls_stream stream, cls_status status, void *counters) {
    (void)stream;
    atomic_fetch_add(&((_Atomic unsigned *)counters)[status != CLS_SUCCESS], 1);
}

/* --- streams --- */

/* A number is drawn on every device, so that a seed means the same. */
static cls_order any_order(void) {
    const cls_order order = (cls_order)any(3);
    return order == CLS_ORDER_OUT_OF_ORDER && !rig_has_capability("out_of_order") ? CLS_ORDER_AUTO
                                                                                  : order;
}

static cls_stream any_stream(void) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream;
    config.order = any_order();
    OK(cls_stream_create(rig.context, &config, &stream));
    return stream;
}

static cls_stream stream_apart(unsigned fifo_limit) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream;
    config.non_blocking = 1;
    config.fifo_limit = fifo_limit;
    OK(cls_stream_create(rig.context, &config, &stream));
    return stream;
}

/* --- memory --- */

static void set_cells(struct memory *memory) {
    for (unsigned i = 0; i < CELLS; i++)
        memory->cells[i] = any(1000);
}

/* Every other one is of the pool, where freed memory is given out again. */
static unsigned make_buffer(void) {
    struct memory *memory = &world.buffers[world.n_buffers];
    set_cells(memory);
    if (any(2))
        OK(cls_malloc_async(world.side, sizeof memory->cells, &memory->buffer));
    else
        OK(cls_buffer_create(rig.context, sizeof memory->cells, &memory->buffer));
    OK(cls_copy_h2d(memory->buffer, 0, memory->cells, sizeof memory->cells, world.side));
    memory->live = true;
    return world.n_buffers++;
}

static unsigned make_block(void) {
    struct memory *memory = &world.blocks[world.n_blocks];
    void *host;
    set_cells(memory);
    OK(cls_host_alloc(rig.context, sizeof memory->cells, &host));
    memory->host = host;
    memory->name = host;
    memcpy(memory->host, memory->cells, sizeof memory->cells);
    memory->live = true;
    return world.n_blocks++;
}

static unsigned any_live(const struct memory *all, unsigned count) {
    for (;;) {
        const unsigned i = any(count);
        if (all[i].live)
            return i;
    }
}

static unsigned any_buffer(void) { return any_live(world.buffers, world.n_buffers); }
static unsigned any_block(void) { return any_live(world.blocks, world.n_blocks); }

/* --- graphs --- */

static bool has_block(const struct node *node) { return node->kind == UP || node->kind == DOWN; }

static struct node random_node(enum kind kind, unsigned graph) {
    const unsigned to = any_buffer(), from = any_buffer(), block = any_block();
    const unsigned at = any(CELLS);
    return (struct node){.kind = kind,
                         .to = to,
                         .named_to = to,
                         .from = from,
                         .named_from = from,
                         .block = block,
                         .named_block = block,
                         .at = at,
                         .from_at = (at + 1 + any(CELLS - 1)) % CELLS,
                         .factor = 1 + any(5),
                         .add = any(100),
                         .counter = graph,
                         .enabled = true};
}

static void submit(const struct node *node, cls_stream stream) {
    const cls_buffer to = world.buffers[node->to].buffer, from = world.buffers[node->from].buffer;
    const size_t at = node->at * sizeof(uint32_t), from_at = node->from_at * sizeof(uint32_t);
    uint32_t *cell = &world.blocks[node->block].host[0];
    if (node->kind == STEP)
        OK(rig_step(stream, to, node->at, node->factor, node->add, 0));
    else if (node->kind == ACROSS)
        OK(cls_copy_d2d_async(to, at, from, from_at, sizeof *cell, stream));
    else if (node->kind == UP)
        OK(cls_copy_h2d_async(to, at, cell, sizeof *cell, stream));
    else if (node->kind == DOWN)
        OK(cls_copy_d2h_async(cell, from, from_at, sizeof *cell, stream));
    else if (node->kind == HOST)
        OK(cls_stream_launch_host_async(stream, count_in_order, &counted[node->counter]));
    else
        OK(cls_stream_add_callback(stream, count_call, calls[node->counter]));
}

/* --- the model's order --- */

static void play(const struct node *node) {
    uint32_t *to = &world.buffers[node->to].cells[node->at];
    const uint32_t from = world.buffers[node->from].cells[node->from_at];
    uint32_t *cell = &world.blocks[node->block].cells[0];
    if (node->kind == STEP)
        *to = *to * node->factor + node->add;
    else if (node->kind == ACROSS)
        *to = from;
    else if (node->kind == UP)
        *to = *cell;
    else if (node->kind == DOWN)
        *cell = from;
    else if (node->kind == HOST)
        count_in_order(&expected_count[node->counter]);
    else
        expected_calls[node->counter][0]++;
}

static struct launch *begin_launch(void) {
    struct launch *launch = &world.launches[world.n_launches++];
    *launch = (struct launch){.event = rig_event(), .behind_gate = world.is_closed};
    return launch;
}

static void play_in(struct launch *launch, const struct node *node) {
    play(node);
    launch->blocks[node->block] |= has_block(node);
}

static void close_gate(cls_stream stream) {
    OK(cls_stream_wait_timeline(stream, world.gate, world.gate_value + 1));
    world.is_closed = true;
}

/* It comes after all earlier launches and before all later ones; open captures take no part in the order. */
static void work_on_default_stream(void) {
    if (!world.first || any(3))
        return;
    if (any(8) == 0)
        close_gate(world.first);
    const struct node node = random_node((enum kind)any(CALLBACK), any(GRAPHS));
    struct launch *launch = begin_launch();
    submit(&node, world.first);
    OK(cls_event_record(launch->event, world.first));
    play_in(launch, &node);
}

/* --- captures --- */

/* The order stays that of the submissions, however it is said: nodes come after more of those before them than they have to,
 * or after those of a graph that the capture goes on from. */
static void say_order_otherwise(unsigned n_nodes) {
    uint64_t nodes[NODES];
    cls_graph first;
    for (unsigned i = 0; i < n_nodes; i++)
        nodes[i] = n_nodes - 1 - i;
    if (any(3) == 0)
        OK(cls_stream_set_capture_nodes(world.captured_stream, nodes, 1 + any(n_nodes)));
    if (any(3) == 0)
        OK(cls_stream_add_capture_nodes(world.captured_stream, nodes, any(n_nodes + 1)));
    if (any(6))
        return;
    OK(cls_stream_end_capture(world.captured_stream, &first));
    OK(cls_stream_begin_capture_from(world.captured_stream, "random", first));
    OK(cls_graph_destroy(first));
}

static void capture_graph(unsigned g) {
    OK(cls_stream_begin_capture(world.captured_stream, "random"));
    for (unsigned i = 0; i < world.n_nodes; i++) {
        submit(&world.captured[g][i], world.captured_stream);
        say_order_otherwise(i + 1);
        work_on_default_stream();
    }
    OK(cls_stream_end_capture(world.captured_stream, &world.graphs[g]));
}

/* Some have host functions and callbacks, and are for a worker. */
static void make_graphs(void) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    const unsigned kinds = any(2) ? KINDS : HOST;
    world.n_nodes = 1 + any(NODES);
    for (unsigned i = 0; i < world.n_nodes; i++) {
        const enum kind kind = (enum kind)any(kinds);
        for (unsigned g = 0; g < GRAPHS; g++)
            world.captured[g][i] = random_node(kind, g);
    }
    for (unsigned g = 0; g < GRAPHS; g++)
        capture_graph(g);
    config.background = (int)any(2);
    OK(cls_graph_instantiate(world.graphs[0], &config, &world.exec));
    memcpy(world.now, world.captured[0], sizeof world.now);
}

/* --- changes --- */

static void bind_buffer(void) {
    const struct node *node = &world.now[any(world.n_nodes)];
    const unsigned name = any(2) ? node->named_to : node->named_from, to = any_buffer();
    bool found = false;
    for (unsigned i = 0; i < world.n_nodes; i++) {
        struct node *of = &world.now[i];
        const bool has_to = of->kind == STEP || of->kind == ACROSS || of->kind == UP;
        const bool has_from = of->kind == ACROSS || of->kind == DOWN;
        if (has_to && of->named_to == name)
            of->to = to;
        if (has_from && of->named_from == name)
            of->from = to;
        found = found || (has_to && of->named_to == name) || (has_from && of->named_from == name);
    }
    EXPECT(found ? CLS_SUCCESS : CLS_ERROR_NOT_FOUND,
           cls_graph_bind(world.exec, world.buffers[name].buffer, world.buffers[to].buffer));
}

static void bind_block(unsigned i) {
    const unsigned name = world.now[i].named_block, to = any_block();
    if (!has_block(&world.now[i]))
        return;
    for (unsigned k = 0; k < world.n_nodes; k++)
        if (has_block(&world.now[k]) &&
            world.blocks[world.now[k].named_block].name == world.blocks[name].name)
            world.now[k].block = to;
    OK(cls_graph_bind_host(world.exec, world.blocks[name].name, world.blocks[to].host));
}

static void set_args(void) {
    const unsigned i = any(world.n_nodes);
    struct node *node = &world.now[i];
    const cls_launch one = cls_launch_1d(1);
    if (node->kind != STEP)
        return;
    node->to = node->named_to = any_buffer();
    node->at = any(CELLS);
    node->add = any(100);
    const cls_arg args[] = {cls_arg_buffer(world.buffers[node->to].buffer), cls_arg_u32(node->at),
                            cls_arg_u32(node->factor), cls_arg_u32(node->add), cls_arg_u32(1)};
    OK(cls_graph_set_args(world.exec, i, &one, args, 5));
}

static void set_enabled(void) {
    const unsigned i = any(world.n_nodes);
    world.now[i].enabled = any(3) != 0;
    OK(cls_graph_set_enabled(world.exec, i, world.now[i].enabled));
}

static void update(void) {
    const unsigned graph = any(GRAPHS);
    OK(cls_graph_update(world.exec, world.graphs[graph]));
    memcpy(world.now, world.captured[graph], sizeof world.now);
}

static void change(void) {
    switch (any(6)) {
    case 0:
    case 1:
        bind_buffer();
        break;
    case 2:
        bind_block(any(world.n_nodes));
        break;
    case 3:
        set_args();
        break;
    case 4:
        set_enabled();
        break;
    default:
        update();
    }
}

/* --- launches --- */

/* Launches read no block that is freed. */
static void bind_live_blocks(void) {
    for (unsigned i = 0; i < world.n_nodes; i++)
        if (has_block(&world.now[i]) && !world.blocks[world.now[i].block].live)
            bind_block(i);
}

static void launch_well(cls_stream stream) {
    struct launch *launch = begin_launch();
    OK(cls_graph_launch_async(world.exec, stream));
    OK(cls_event_record(launch->event, stream));
    for (unsigned i = 0; i < world.n_nodes; i++)
        if (world.now[i].enabled)
            play_in(launch, &world.now[i]);
}

static void fail_behind_gate(void *gate) {
    gate_hold(gate);
    cls_host_function_fail("on purpose");
}

/* The stream fails before the launch begins. It is not in the legacy order, as a failure would spread: there the race
 * checker would miss an order between the launch, which never runs, and the default stream's work. */
static void launch_dropped(void) {
    struct gate gate;
    if (world.first)
        return;
    const cls_stream doomed = stream_apart(0);
    gate_init(&gate);
    OK(cls_stream_launch_host_async(doomed, fail_behind_gate, &gate));
    OK(cls_graph_launch_async(world.exec, doomed));
    gate_open(&gate);
    while (cls_stream_query(doomed) == CLS_NOT_READY)
        nap_ms(1);
    gate_destroy(&gate);
    for (unsigned i = 0; i < world.n_nodes; i++)
        if (world.now[i].enabled && world.now[i].kind == CALLBACK)
            expected_calls[world.now[i].counter][1]++;
    world.doomed[world.n_doomed++] = doomed;
}

/* A stream that holds as many commands as it may refuses. */
static void launch_refused(void) {
    if (!world.is_closed)
        return;
    OK(cls_stream_wait_timeline(world.narrow, world.gate, world.gate_value + 1));
    const cls_status status = cls_stream_launch_host_async(world.narrow, rig_do_nothing, NULL);
    assert_true(!status || status == CLS_ERROR_LIMIT);
    EXPECT(CLS_ERROR_LIMIT, cls_graph_launch_async(world.exec, world.narrow));
}

static void launch(void) {
    const cls_stream stream = world.streams[any(STREAMS)];
    bind_live_blocks();
    switch (any(5)) {
    case 0:
        launch_refused();
        break;
    case 1:
        launch_dropped();
        break;
    case 2:
        close_gate(stream);
        launch_well(stream);
        break;
    default:
        launch_well(stream);
    }
}

/* --- frees --- */

/* The graph keeps what it has of it. */
static void free_buffer(void) {
    const unsigned i = any_buffer();
    world.buffers[i].live = false;
    OK(cls_buffer_destroy(world.buffers[i].buffer));
    make_buffer();
}

static const struct launch *last_use(unsigned block) {
    for (unsigned i = world.n_launches; i-- > 0;)
        if (world.launches[i].blocks[block])
            return &world.launches[i];
    return NULL;
}

static void *free_on_thread(void *arg) {
    struct freeing *freeing = arg;
    cls_host_free(freeing->memory);
    freeing->query = cls_event_query(freeing->event);
    return NULL;
}

/* The free waits for the launches that use the block, and for no other: where none is behind the gate, it returns. */
static void free_block(void) {
    const unsigned i = any_block();
    const struct launch *launch = last_use(i);
    world.blocks[i].live = false;
    if (launch && launch->behind_gate && world.is_closed) {
        struct freeing *freeing = &world.freeings[world.n_freeings++];
        *freeing = (struct freeing){.memory = world.blocks[i].host, .event = launch->event};
        assert_int_equal(pthread_create(&freeing->thread, NULL, free_on_thread, freeing), 0);
    } else {
        OK(cls_host_free(world.blocks[i].host));
        if (launch)
            OK(cls_event_query(launch->event));
    }
    make_block();
}

/* --- rounds --- */

/* What the narrow stream holds ends here, so that it is full only by what waits for the next value. */
static void open_gate(void) {
    OK(cls_timeline_signal(world.gate, ++world.gate_value));
    OK(cls_stream_synchronize(world.narrow));
    world.is_closed = false;
}

static void await_all(void) {
    for (unsigned i = 0; i < STREAMS; i++)
        OK(cls_stream_synchronize(world.streams[i]));
    OK(cls_stream_synchronize(world.first ? world.first : world.streams[0]));
    for (unsigned i = 0; i < world.n_freeings; i++) {
        pthread_join(world.freeings[i].thread, NULL);
        OK(world.freeings[i].query);
    }
    for (unsigned i = 0; i < world.n_doomed; i++) {
        OK(cls_stream_reset(world.doomed[i])); /* its callbacks have been called */
        OK(cls_stream_destroy(world.doomed[i]));
    }
    for (unsigned i = 0; i < world.n_launches; i++)
        OK(cls_event_destroy(world.launches[i].event));
    world.n_freeings = world.n_doomed = world.n_launches = 0;
}

static void compare_cells(const char *what, unsigned i, const uint32_t *found,
                          const struct memory *memory) {
    for (unsigned k = 0; k < CELLS; k++)
        if (found[k] != memory->cells[k])
            fail_msg("cell %u of %s %u is %u, not %u", k, what, i, found[k], memory->cells[k]);
}

static void compare_all(void) {
    uint32_t found[CELLS];
    for (unsigned i = 0; i < world.n_buffers; i++) {
        if (!world.buffers[i].live)
            continue;
        OK(cls_copy_d2h(found, world.buffers[i].buffer, 0, sizeof found, world.side));
        compare_cells("buffer", i, found, &world.buffers[i]);
    }
    for (unsigned i = 0; i < world.n_blocks; i++)
        if (world.blocks[i].live)
            compare_cells("block", i, world.blocks[i].host, &world.blocks[i]);
    for (unsigned g = 0; g < GRAPHS; g++) {
        assert_int_equal(counted[g], expected_count[g]);
        for (unsigned failed = 0; failed < 2; failed++)
            assert_int_equal(atomic_load(&calls[g][failed]), expected_calls[g][failed]);
    }
}

/* In the last one the graph is destroyed while its launches wait. */
static void play_round(bool last) {
    for (unsigned i = 0; i < CHANGES; i++) {
        const unsigned what = any(10);
        if (what < 4)
            change();
        else if (what < 7)
            launch();
        else if (what < 8)
            free_buffer();
        else if (what < 9)
            free_block();
        else if (world.is_closed && !any(4))
            open_gate();
        work_on_default_stream();
    }
    if (last)
        OK(cls_graph_exec_destroy(world.exec));
    if (world.is_closed)
        open_gate();
    await_all();
    compare_all();
}

static void begin_world(uint64_t seed, bool legacy) {
    state_of_numbers = seed;
    memset(&world, 0, sizeof world);
    memset(counted, 0, sizeof counted);
    memset(expected_count, 0, sizeof expected_count);
    memset(expected_calls, 0, sizeof expected_calls);
    for (unsigned g = 0; g < GRAPHS; g++)
        atomic_store(&calls[g][0], 0), atomic_store(&calls[g][1], 0);
    for (unsigned i = 0; i < STREAMS; i++)
        world.streams[i] = any_stream();
    world.captured_stream = rig_stream();
    world.narrow = stream_apart(1);
    world.side = stream_apart(0);
    if (legacy)
        OK(cls_context_default_stream(rig.context, &world.first));
    OK(cls_timeline_create(NULL, &world.gate));
    for (unsigned i = 0; i < LIVE; i++) {
        make_buffer();
        make_block();
    }
    make_graphs();
}

static void end_world(void) {
    for (unsigned g = 0; g < GRAPHS; g++)
        OK(cls_graph_destroy(world.graphs[g]));
    for (unsigned i = 0; i < world.n_buffers; i++)
        if (world.buffers[i].live)
            OK(cls_buffer_destroy(world.buffers[i].buffer));
    for (unsigned i = 0; i < world.n_blocks; i++)
        if (world.blocks[i].live)
            OK(cls_host_free(world.blocks[i].host));
    for (unsigned i = 0; i < STREAMS; i++)
        OK(cls_stream_destroy(world.streams[i]));
    OK(cls_stream_destroy(world.captured_stream));
    OK(cls_stream_destroy(world.narrow));
    OK(cls_stream_destroy(world.side));
    OK(cls_timeline_destroy(world.gate));
}

static void play_worlds(unsigned count, bool legacy) {
    const char *first = getenv("CLS_SEED");
    const uint64_t seed = first ? strtoull(first, NULL, 0) : 1;
    for (unsigned i = 0; i < count; i++) {
        print_message("seed %llu\n", (unsigned long long)(seed + i));
        begin_world(seed + i, legacy);
        for (unsigned round = 0; round < ROUNDS; round++)
            play_round(round + 1 == ROUNDS);
        end_world();
    }
}

static void test_random_graphs(void **state) {
    (void)state;
    play_worlds(rig_scale(effort_is_long() ? 5000 : 100, 3), false);
}

static void test_random_graphs_and_the_legacy_default_stream(void **state) {
    (void)state;
    play_worlds(rig_scale(effort_is_long() ? 2000 : 20, 3), true);
}

static int legacy_setup(void **state) {
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    (void)state;
    config.legacy_default_stream = 1;
    return rig_setup_on(&config);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_graphs, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_random_graphs_and_the_legacy_default_stream,
                                        legacy_setup, rig_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* CLSTREAM_CHECK=race: nodes of one graph that nothing orders, and launches beside other work; fused and rebound. */
#include "../support/effort.h"
#include "race_pairs.h"

#include <string.h>

#include <clstream/blas.h>
#include <clstream/mempool.h>
#include <clstream/unary.h>

/* --- captures: `first` is the origin, `second` forks from it and is joined at the end --- */

static void begin(void) {
    OK(cls_stream_begin_capture(w.a, "step"));
    edge(w.a, w.b);
}

static cls_graph end(void) {
    cls_graph graph;
    edge(w.b, w.a);
    OK(cls_stream_end_capture(w.a, &graph));
    return graph;
}

static cls_graph_exec instantiate(cls_graph graph, int fuse) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph_exec exec;
    config.fuse = fuse;
    OK(cls_graph_instantiate(graph, &config, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

static void launch(cls_graph_exec exec) { OK(cls_graph_launch_async(exec, w.c)); }

static void launch_and_destroy(cls_graph_exec exec) {
    launch(exec);
    launch(exec);
    OK(cls_graph_exec_destroy(exec));
}

/* --- nodes of one launch --- */

static void branches(bool clean) {
    begin();
    write_x(w.a);
    if (clean)
        edge(w.a, w.b);
    fill(w.x, BYTES - 4, 4, w.b);
    launch_and_destroy(instantiate(end(), 0));
}

/* A launch beside work of outside that it waits for. */
static void external_wait(bool clean) {
    begin();
    OK(cls_stream_wait_external_event(w.a, w.other));
    fill(w.x, 0, 4, w.a);
    cls_graph_exec exec = instantiate(end(), 0);
    fill(w.x, 0, 4, w.b);
    if (clean)
        OK(cls_event_record(w.other, w.b));
    launch_and_destroy(exec);
}

static void branches_of_other_bytes(bool clean) {
    begin();
    fill(w.x, 0, BYTES / 2, w.a);
    fill(w.x, BYTES / 2 - !clean, BYTES / 2, w.b);
    launch_and_destroy(instantiate(end(), 0));
}

/* More branches than streams: the plan orders some of them, which the program has not. */
static void branches_in_a_row(bool clean) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph_exec exec;
    begin();
    fill(w.x, 0, 4, w.a);
    if (clean)
        edge(w.a, w.b);
    fill(w.x, 0, 4, w.b);
    config.streams = 1;
    const cls_graph graph = end();
    OK(cls_graph_instantiate(graph, &config, &exec));
    OK(cls_graph_destroy(graph));
    launch_and_destroy(exec);
}

static void joined_branches(bool clean) {
    begin();
    fill(w.x, 0, 4, w.a);
    fill(w.x, 4, 4, w.b);
    if (clean)
        edge(w.b, w.a);
    fill(w.x, 0, 8, w.a);
    launch_and_destroy(instantiate(end(), 0));
}

static void kernels(bool clean) {
    begin();
    blur(cls_arg_reads(w.x, 0, BYTES), cls_arg_writes(w.y, 0, BYTES), w.a);
    if (clean)
        edge(w.a, w.b);
    blur(cls_arg_reads(w.y, 0, BYTES), cls_arg_writes(w.y, 0, BYTES), w.b);
    launch_and_destroy(instantiate(end(), 0));
}

static void undeclared_kernels(bool clean) {
    begin();
    blur(cls_arg_buffer(w.x), cls_arg_buffer(w.y), w.a);
    if (clean)
        edge(w.a, w.b);
    read_x(w.a);
    fill(w.y, 0, 4, w.b);
    launch_and_destroy(instantiate(end(), 0));
}

static void host_memory(bool clean) {
    begin();
    OK(cls_copy_h2d_async(w.x, 0, w.words, BYTES, w.a));
    if (clean)
        edge(w.a, w.b);
    OK(cls_copy_d2h_async(w.words, w.y, 0, BYTES, w.b));
    launch_and_destroy(instantiate(end(), 0));
}

/* A graph in a graph: its nodes are the outer one's. */
static void inner_graph(bool clean) {
    cls_graph graph;
    OK(cls_stream_begin_capture(w.a, "inner"));
    fill(w.x, 0, 4, w.a);
    OK(cls_stream_end_capture(w.a, &graph));
    const cls_graph_exec inner = instantiate(graph, 0);
    begin();
    OK(cls_graph_launch_async(inner, w.a));
    if (clean)
        edge(w.a, w.b);
    fill(w.x, 0, 4, w.b);
    launch_and_destroy(instantiate(end(), 0));
    OK(cls_graph_exec_destroy(inner));
}

/* Memory of the graph's own, of which two values that the capture orders share bytes. */
static void own_memory(bool clean) {
    cls_buffer one, other;
    begin();
    OK(cls_malloc_async(w.a, BYTES, &one));
    edge(w.a, w.b);
    fill(one, 0, BYTES, w.a);
    if (clean)
        edge(w.a, w.b);
    fill(one, 0, 4, w.b);
    edge(w.b, w.a);
    OK(cls_free_async(one, w.a));
    OK(cls_malloc_async(w.a, BYTES, &other));
    fill(other, 0, BYTES, w.a);
    OK(cls_free_async(other, w.a));
    launch_and_destroy(instantiate(end(), 0));
}

/* The plan runs both values' nodes on one stream, so that they share bytes: no race. */
static void test_values_that_share_memory_do_not_race(void **state) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph_statistics statistics = CLS_GRAPH_STATISTICS_INIT;
    cls_graph_exec exec;
    cls_buffer values[2];
    (void)state;
    world_begin();
    begin();
    OK(cls_malloc_async(w.a, BYTES, &values[0]));
    OK(cls_malloc_async(w.b, BYTES, &values[1]));
    fill(values[0], 0, BYTES, w.a);
    fill(values[1], 0, BYTES, w.b);
    OK(cls_free_async(values[0], w.a));
    OK(cls_free_async(values[1], w.b));
    config.streams = 1;
    const cls_graph graph = end();
    OK(cls_graph_instantiate(graph, &config, &exec));
    OK(cls_graph_destroy(graph));
    OK(cls_graph_get_statistics(exec, &statistics));
    assert_true(statistics.arena_bytes > 0);
    launch_and_destroy(exec);
    assert_int_equal(found().races + found().possible, 0);
    world_end();
}

static void test_launches_again_are_not_compared_again(void **state) {
    (void)state;
    world_begin();
    begin();
    write_x(w.a);
    fill(w.x, 0, 4, w.b);
    const cls_graph_exec exec = instantiate(end(), 0);
    for (int i = 0; i < 3; i++)
        launch(exec);
    assert_int_equal(found().races, 1);
    OK(cls_graph_exec_destroy(exec));
    world_end();
}

/* --- host memory, and user code on a worker: both have the launch's place in the order --- */

static void declare_more(void *arg) {
    (void)arg;
    OK(cls_check_host_access(w.more, BYTES, CLS_ACCESS_READ_WRITE));
}

static void host_functions(bool clean) {
    begin();
    if (clean)
        read_x(w.a);
    OK(cls_stream_launch_host_async(w.a, declare_more, NULL));
    const cls_graph_exec exec = instantiate(end(), 0);
    launch(exec);
    if (clean)
        edge(w.c, w.a);
    OK(cls_copy_d2h_async(w.more, w.y, 0, BYTES, w.a));
    OK(cls_stream_synchronize(w.c));
    OK(cls_graph_exec_destroy(exec));
}

static void uploads(bool clean) {
    begin();
    OK(cls_copy_h2d_async(w.x, 0, w.more, BYTES, w.a));
    OK(cls_copy_h2d_async(w.x, 0, w.words, BYTES, w.a));
    const cls_graph_exec exec = instantiate(end(), 0);
    launch(exec);
    if (clean)
        edge(w.c, w.a);
    OK(cls_copy_d2h_async(w.more, w.y, 0, BYTES, w.a));
    OK(cls_graph_exec_destroy(exec));
}

static void change_words(void *arg) {
    (void)arg;
    w.words[0]++;
}

/* A launch of the graph writes the source of the uploads before and behind it, in the stream's order. */
static void upload_around(cls_graph_exec exec) {
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(w.c, gate_hold, &gate));
    OK(cls_copy_h2d_async(w.x, 0, w.words, BYTES, w.c));
    launch(exec);
    OK(cls_copy_h2d_async(w.x, 0, w.words, BYTES, w.c));
    gate_open(&gate);
    OK(cls_stream_synchronize(w.c));
    OK(cls_graph_exec_destroy(exec));
    gate_destroy(&gate);
    assert_int_equal(found().races + found().possible, 0);
}

static void test_a_graphs_host_functions_may_change_uploads(void **state) {
    (void)state;
    world_begin();
    begin();
    OK(cls_stream_launch_host_async(w.a, change_words, NULL));
    upload_around(instantiate(end(), 0));
    world_end();
}

static void test_a_graphs_downloads_may_change_uploads(void **state) {
    (void)state;
    world_begin();
    memset(w.words, 1, BYTES);
    begin();
    OK(cls_copy_d2h_async(w.words, w.y, 0, BYTES / 2, w.a));
    OK(cls_copy_d2h_async(w.more, w.y, 0, BYTES, w.a));
    upload_around(instantiate(end(), 0));
    world_end();
}

/* --- fused --- */

static cls_array floats(cls_buffer buffer) { return cls_array_of(buffer, CLS_F32, CELLS); }

/* Two operations that become one kernel, which reads x and writes x and y. */
static void chain(cls_stream stream) {
    OK(cls_unary_async(CLS_UNARY_NEG, floats(w.x), floats(w.y), stream));
    OK(cls_unary_async(CLS_UNARY_ABS, floats(w.y), floats(w.x), stream));
}

static cls_graph_exec end_fused(void) {
    cls_graph_statistics statistics = CLS_GRAPH_STATISTICS_INIT;
    const cls_graph_exec exec = instantiate(end(), 1);
    OK(cls_graph_get_statistics(exec, &statistics));
    assert_int_equal(statistics.fused_kernels, 1);
    return exec;
}

static void fused_branch(bool clean) {
    begin();
    fill(w.x, 0, BYTES, w.a);
    edge(w.a, w.b);
    chain(w.a);
    if (clean)
        edge(w.a, w.b);
    fill(w.y, 4, 4, w.b);
    launch_and_destroy(end_fused());
}

/* What the chain only reads is a race with a write, and none with a read. */
static void fused_reads(bool clean) {
    const cls_buffer z = rig_cells(CELLS);
    begin();
    OK(cls_unary_async(CLS_UNARY_NEG, floats(z), floats(w.y), w.a));
    OK(cls_unary_async(CLS_UNARY_ABS, floats(w.y), floats(w.x), w.a));
    if (clean)
        OK(cls_copy_d2h_async(w.more, z, 0, 4, w.b));
    else
        fill(z, 0, 4, w.b);
    launch_and_destroy(end_fused());
    OK(cls_buffer_destroy(z));
}

/* The chain works on the middle of x and y. */
static void fused_part(bool clean) {
    begin();
    const cls_array x = cls_array_at(w.x, CLS_F32, 16, 32), y = cls_array_at(w.y, CLS_F32, 16, 32);
    OK(cls_unary_async(CLS_UNARY_NEG, x, y, w.a));
    OK(cls_unary_async(CLS_UNARY_ABS, y, x, w.a));
    fill(w.x, 0, 64 + !clean, w.b);
    fill(w.y, 192, 64, w.b);
    launch_and_destroy(end_fused());
}

static void fused_launch(bool clean) {
    begin();
    chain(w.a);
    const cls_graph_exec exec = end_fused();
    launch(exec);
    if (clean)
        edge(w.c, w.a);
    read_x(w.a);
    OK(cls_graph_exec_destroy(exec));
}

enum { SIDE = 8, INNER = 2 };

/* Columns from `column` on of the matrix x. */
static void product(unsigned column, cls_stream stream) {
    cls_matrix out = cls_matrix_of(w.x, CLS_F32, SIDE, SIDE);
    out.offset = column;
    out.columns = SIDE / 2;
    OK(cls_gemm_async(cls_matrix_of(w.y, CLS_F32, SIDE, INNER),
                      cls_matrix_of(w.y, CLS_F32, INNER, SIDE / 2), out, NULL, stream));
}

/* Products write the elements of their rows, and nothing between them. */
static void products(bool clean) {
    begin();
    product(0, w.a);
    product(clean ? SIDE / 2 : SIDE / 2 - 1, w.b);
    launch_and_destroy(instantiate(end(), 0));
}

static void test_products(void **state) {
    struct pair pair = {products, false, {"node 0 ('gemm_f32')", "node 1 ('gemm_f32')"}};
    *state = &pair;
    test_pair(state);
    *state = NULL;
}

/* Every other element of the vector x, which a call of CLBlast scales. */
static void scale(unsigned first, cls_stream stream) {
    cls_vector x = cls_vector_of(w.x, CLS_F32, BYTES / 8);
    x.offset = first;
    x.step = 2;
    OK(cls_scal_async(2, x, stream));
}

static void vectors(bool clean) {
    begin();
    scale(0, w.a);
    scale(clean, w.b);
    launch_and_destroy(instantiate(end(), 0));
}

static void test_vectors(void **state) {
    struct pair pair = {vectors, false, {"node 0 ('scal_f32')", "node 1 ('scal_f32')"}};
    if (!cls_blas_available())
        SKIP_BECAUSE("this library was built without CLBlast");
    *state = &pair;
    test_pair(state);
    *state = NULL;
}

/* --- rebound --- */

/* A graph whose branches write x and y; `hold` has its launches wait for a worker. */
static cls_graph_exec capture_two(bool hold) {
    begin();
    if (hold)
        OK(cls_stream_launch_host_async(w.a, rig_do_nothing, NULL));
    fill(w.x, 0, 4, w.a);
    fill(w.y, 0, 4, w.b);
    return instantiate(end(), 0);
}

static void bound(bool clean) {
    const cls_buffer z = rig_cells(CELLS);
    const cls_graph_exec exec = capture_two(false);
    launch(exec);
    assert_int_equal(found().races, 0);
    OK(cls_graph_bind(exec, w.x, clean ? z : w.y));
    launch_and_destroy(exec);
    OK(cls_buffer_destroy(z));
}

/* The first launch waits in its stream, and with it the change for the second. */
static void bound_behind_a_launch(bool clean) {
    const cls_buffer z = rig_cells(CELLS);
    const cls_graph_exec exec = capture_two(true);
    OK(cls_stream_wait_timeline(w.c, w.early, 1));
    launch(exec);
    OK(cls_graph_bind(exec, w.x, clean ? z : w.y));
    launch(exec);
    OK(cls_timeline_signal(w.early, 1));
    OK(cls_graph_exec_destroy(exec));
    OK(cls_stream_synchronize(w.c));
    OK(cls_buffer_destroy(z));
}

/* The second launch writes z, and not x any more. */
static void launch_bound_behind_a_launch(bool clean) {
    const cls_buffer z = rig_cells(CELLS);
    const cls_graph_exec exec = capture_two(true);
    OK(cls_stream_wait_timeline(w.c, w.early, 1));
    launch(exec);
    edge(w.c, w.a);
    OK(cls_graph_bind(exec, w.x, z));
    launch(exec);
    fill(clean ? w.x : z, 0, 4, w.a);
    OK(cls_timeline_signal(w.early, 1));
    OK(cls_graph_exec_destroy(exec));
    OK(cls_stream_synchronize(w.a));
    OK(cls_stream_synchronize(w.c));
    OK(cls_buffer_destroy(z));
}

static void bound_host_memory(bool clean) {
    static uint32_t others[CELLS];
    begin();
    OK(cls_copy_d2h_async(w.words, w.x, 0, BYTES, w.a));
    OK(cls_copy_d2h_async(w.more, w.x, 0, BYTES, w.b));
    const cls_graph_exec exec = instantiate(end(), 0);
    launch(exec);
    assert_int_equal(found().races, 0);
    OK(cls_graph_bind_host(exec, w.words, clean ? others : w.more));
    launch_and_destroy(exec);
    OK(cls_stream_synchronize(w.c));
}

static void other_arguments(bool clean) {
    const cls_launch shape = cls_launch_1d(CELLS / 2);
    const cls_arg args[] = {cls_arg_reads(w.x, 0, BYTES / 2),
                            cls_arg_writes(w.y, clean ? 8 : 0, BYTES - 8)};
    begin();
    blur(cls_arg_reads(w.x, 0, BYTES / 2), cls_arg_writes(w.y, 4, BYTES - 4), w.a);
    fill(w.y, 0, 4, w.b);
    const cls_graph_exec exec = instantiate(end(), 0);
    launch(exec);
    assert_int_equal(found().races, 0);
    OK(cls_graph_set_args(exec, 0, &shape, args, 2));
    launch_and_destroy(exec);
}

static void left_out(bool clean) {
    begin();
    fill(w.x, 0, 4, w.a);
    fill(w.x, 0, 4, w.b);
    const cls_graph_exec exec = instantiate(end(), 0);
    OK(cls_graph_set_enabled(exec, 1, 0));
    launch(exec);
    assert_int_equal(found().races, 0);
    OK(cls_graph_set_enabled(exec, 1, !clean));
    launch_and_destroy(exec);
}

static void updated(bool clean) {
    const cls_graph_exec exec = capture_two(false);
    launch(exec);
    begin();
    fill(w.x, 0, 4, w.a);
    fill(clean ? w.y : w.x, 0, 4, w.b);
    const cls_graph graph = end();
    OK(cls_graph_update(exec, graph));
    OK(cls_graph_destroy(graph));
    launch_and_destroy(exec);
}

static void fused_and_bound(bool clean) {
    const cls_buffer z = rig_cells(CELLS);
    begin();
    chain(w.a);
    fill(z, 0, BYTES, w.b);
    const cls_graph_exec exec = end_fused();
    launch(exec);
    assert_int_equal(found().races, 0);
    if (!clean)
        OK(cls_graph_bind(exec, w.y, z));
    launch_and_destroy(exec);
    OK(cls_buffer_destroy(z));
}

/* --- random graphs, and a model of their order --- */

enum { NODES = 14, GRAPHS = 60, LONG_GRAPHS = 3000, STREAMS = 3 };

struct model {
    unsigned n_nodes, n_racy; /* pairs of nodes */
    struct {
        unsigned first, cells; /* of x */
        bool writes;
    } nodes[NODES];
    uint32_t before[STREAMS]; /* the nodes that the stream's next one comes after: a bit each */
};

static unsigned any(unsigned below) {
    static uint64_t state = 5;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static void note(struct model *model, unsigned stream, unsigned first, unsigned cells,
                 bool writes) {
    const unsigned n = model->n_nodes++;
    for (unsigned i = 0; i < n; i++)
        model->n_racy += !(model->before[stream] >> i & 1) && (writes || model->nodes[i].writes) &&
                         model->nodes[i].first < first + cells &&
                         first < model->nodes[i].first + model->nodes[i].cells;
    model->nodes[n].first = first;
    model->nodes[n].cells = cells;
    model->nodes[n].writes = writes;
    model->before[stream] |= UINT32_C(1) << n;
}

static void submit_any(struct model *model, const cls_stream *streams) {
    static uint32_t host[NODES][CELLS];
    const unsigned stream = any(STREAMS), kind = any(3), cells = 1 + any(8);
    const unsigned first = any(CELLS - 7);
    const cls_array part = cls_array_at(w.x, CLS_F32, first, cells);
    if (kind == 0)
        OK(cls_copy_d2h_async(host[model->n_nodes], w.x, 4 * first, 4 * cells, streams[stream]));
    else if (kind == 1)
        fill(w.x, 4 * first, 4 * cells, streams[stream]);
    else
        OK(cls_unary_async(CLS_UNARY_NEG, part, part, streams[stream]));
    note(model, stream, first, cells, kind != 0);
    if (kind < 2 || model->n_nodes == NODES)
        return;
    OK(cls_unary_async(CLS_UNARY_ABS, part, part, streams[stream]));
    note(model, stream, first, cells, true);
}

static void order_any(struct model *model, const cls_stream *streams) {
    const unsigned from = any(STREAMS), to = any(STREAMS);
    edge(streams[from], streams[to]);
    model->before[to] |= model->before[from];
}

static void check_random(void) {
    const cls_stream streams[STREAMS] = {w.a, w.b, w.c};
    struct model model = {.n_nodes = 0};
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph_exec exec;
    OK(cls_check_clear());
    begin();
    edge(w.a, w.c);
    while (model.n_nodes < NODES) {
        for (unsigned i = any(6); i > 0; i--)
            order_any(&model, streams);
        submit_any(&model, streams);
    }
    edge(w.c, w.a);
    const cls_graph graph = end();
    config.streams = 1 + any(STREAMS);
    config.fuse = (int)any(2);
    OK(cls_graph_instantiate(graph, &config, &exec));
    OK(cls_graph_destroy(graph));
    launch(exec);
    OK(cls_stream_synchronize(w.c));
    OK(cls_graph_exec_destroy(exec));
    assert_int_equal(found().races != 0, model.n_racy != 0);
    assert_true(found().races <= model.n_racy);
}

static void test_random_graphs(void **state) {
    const unsigned graphs = effort_is_long() ? LONG_GRAPHS : GRAPHS;
    unsigned racy = 0;
    (void)state;
    world_begin();
    for (unsigned i = 0; i < graphs; i++) {
        check_random();
        racy += found().races != 0;
    }
    print_message("# %u of %u graphs have races\n", racy, graphs);
    assert_true(racy > graphs / 5 && racy < graphs * 4 / 5);
    world_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PAIR(
            "branches", branches, false,
            {"node 0 ('copy_h2d') of graph 'step' writes and node 1 ('fill') of graph 'step' writes",
             "bytes 252 to 255 of a buffer of 256 bytes"}),
        PAIR("branches: bytes", branches_of_other_bytes, false, {"byte 127"}),
        PAIR("external wait", external_wait, false,
             {"stream 'third' ('step')", "stream 'second' ('fill')"}),
        PAIR("branches in a row", branches_in_a_row, false, {"graph 'step'"}),
        PAIR("joined branches", joined_branches, false, {"node 1", "node 2", "bytes 4 to 7"}),
        PAIR("kernels", kernels, false, {"node 0 ('blur')", "node 1 ('blur')"}),
        PAIR("undeclared kernels", undeclared_kernels, true, {"node 0 ('blur')", "may write"}),
        PAIR("host memory", host_memory, false, {"reads", "writes", "of host memory"}),
        PAIR("inner graph", inner_graph, false, {"node 0", "node 1", "graph 'step'"}),
        PAIR("own memory", own_memory, false, {"node 0", "node 1", "buffer of 256 bytes"}),
        PAIR("host functions", host_functions, false, {"stream 'third' ('host function')"}),
        PAIR("uploads", uploads, false, {"stream 'third' ('step') reads", "stream 'first'"}),
        PAIR(
            "fused branch", fused_branch, false,
            {"nodes 1 to 2 (fused: 'neg+abs') of graph 'step'", "node 3 ('fill')", "bytes 4 to 7"}),
        PAIR("fused reads", fused_reads, false, {"(fused: 'neg+abs') of graph 'step' reads"}),
        PAIR("fused part", fused_part, false, {"byte 64"}),
        PAIR("fused launch", fused_launch, false, {"stream 'third' ('step')", "stream 'first'"}),
        PAIR("bound", bound, false, {"node 0 ('fill')", "node 1 ('fill')"}),
        PAIR("bound behind a launch", bound_behind_a_launch, false, {"node 1 ", "node 2 "}),
        PAIR("launch bound behind a launch", launch_bound_behind_a_launch, false,
             {"stream 'third' ('step')", "stream 'first' ('fill')"}),
        PAIR("bound host memory", bound_host_memory, false, {"node 0", "node 1"}),
        PAIR("other arguments", other_arguments, false, {"node 0 ('blur')", "node 1 ('fill')"}),
        PAIR("left out", left_out, false, {"node 0", "node 1"}),
        PAIR("updated", updated, false, {"node 0", "node 1"}),
        PAIR("fused and bound", fused_and_bound, false, {"fused", "node 2 ('fill')"}),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_a_graphs_host_functions_may_change_uploads),
        cmocka_unit_test(test_a_graphs_downloads_may_change_uploads),
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_values_that_share_memory_do_not_race),
        cmocka_unit_test(test_launches_again_are_not_compared_again),
    };
    return cmocka_run_group_tests(tests, race_setup, race_teardown);
}

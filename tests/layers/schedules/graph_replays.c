/* SPDX-License-Identifier: MIT */
/*
 * Random graphs of commands, captured and launched again and again under orders of execution that drivers seldom show, with
 * other buffers, arguments and nodes from launch to launch. TEST_EFFORT=long runs more of them; CLS_SEED starts from
 * another seed.
 */
#include "controls.h"

#include "../../support/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream.h>

#include "../../support/effort.h"
#include "../../support/patience.h"
#include "../loading.h"
#include "policy.h"

enum {
    HANG_S = 120,
    STREAMS = 5,
    CELLS = 12,
    NODES = 40 /* commands; some are several nodes */,
    LAUNCHES = 12,
    TWINS = 2
};

static const struct schedule_controls *controls;
static cls_context context;
static cls_kernel step;

/* --- numbers --- */

static uint64_t state_of_numbers;

static uint32_t any(uint32_t below) {
    state_of_numbers = state_of_numbers * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state_of_numbers >> 33) % below;
}

/* --- what a graph does, and the same on the host --- */

enum kind {
    STEP,
    COPY,
    FILL,
    VIA,   /* COPY and STEP, in memory of the capture */
    TYPED, /* the step by two operations, which are fused */
    HOST,
    KINDS
};

struct op {
    enum kind kind;
    unsigned stream, to, from;
    uint32_t factor, add;
    bool disabled;
    unsigned node; /* the number of its node, where it is one */
};

struct play {
    struct op ops[NODES];
    bool with_host, fuse, background;
    unsigned n_nodes;
    cls_stream streams[STREAMS];
    cls_event events[STREAMS];
    cls_buffer twins[TWINS]; /* of which a launch uses one */
    uint32_t model[TWINS][CELLS];
    unsigned writer[CELLS];     /* stream of the last write */
    bool reads[CELLS][STREAMS]; /* since then */
    uint32_t counted, called;
};

static void count(void *arg) { ++*(uint32_t *)arg; }

static void make_ops(struct play *play) {
    for (unsigned i = 0; i < NODES; i++) {
        struct op *op = &play->ops[i];
        *op = (struct op){.kind = (enum kind)any(play->with_host ? KINDS : HOST),
                          .stream = any(STREAMS),
                          .to = any(CELLS),
                          .factor = any(100),
                          .add = any(1000)};
        op->from = (op->to + 1 + any(CELLS - 1)) % CELLS;
    }
}

static void model_op(struct play *play, const struct op *op, uint32_t *cells) {
    if (op->disabled)
        return;
    if (op->kind == STEP || op->kind == TYPED)
        cells[op->to] = cells[op->to] * op->factor + op->add;
    else if (op->kind == VIA)
        cells[op->to] = cells[op->from] * op->factor + op->add;
    else if (op->kind == COPY)
        cells[op->to] = cells[op->from];
    else if (op->kind == FILL)
        cells[op->to] = op->add;
    else
        play->counted++;
}

/* --- capturing --- */

static void follow(struct play *play, unsigned later, unsigned first) {
    if (later == first)
        return;
    OK(cls_event_record(play->events[first], play->streams[first]));
    OK(cls_stream_wait_event(play->streams[later], play->events[first]));
}

static void order_read(struct play *play, unsigned stream, unsigned cell) {
    follow(play, stream, play->writer[cell]);
    play->reads[cell][stream] = true;
}

static void order_write(struct play *play, unsigned stream, unsigned cell) {
    follow(play, stream, play->writer[cell]);
    for (unsigned other = 0; other < STREAMS; other++) {
        if (play->reads[cell][other])
            follow(play, stream, other);
        play->reads[cell][other] = false;
    }
    play->writer[cell] = stream;
}

static const cls_launch one_item = {1, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0};

static void launch_step(cls_buffer cells, uint32_t i, const struct op *op, cls_stream stream) {
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(i), cls_arg_u32(op->factor),
                            cls_arg_u32(op->add)};
    OK(cls_kernel_launch_async(step, &one_item, args, 4, stream));
}

/* Each has memory of its own as long as its nodes run. */
static void submit_via(cls_buffer cells, const struct op *op, cls_stream stream) {
    cls_buffer inner;
    OK(cls_malloc_async(stream, 4 * CELLS, &inner));
    OK(cls_copy_d2d_async(inner, 0, cells, 4 * op->from, 4, stream));
    launch_step(inner, 0, op, stream);
    OK(cls_copy_d2d_async(cells, 4 * op->to, inner, 0, 4, stream));
    OK(cls_free_async(inner, stream));
}

static void submit_typed(cls_buffer cells, const struct op *op, cls_stream stream) {
    const cls_array cell = cls_array_at(cells, CLS_U32, op->to, 1);
    OK(cls_unary_param_async(CLS_UNARY_SCALE, cell, cell, op->factor, stream));
    OK(cls_unary_param_async(CLS_UNARY_ADD_SCALAR, cell, cell, op->add, stream));
}

static void submit(struct play *play, struct op *op) {
    static const unsigned nodes[KINDS] = {
        [STEP] = 1, [COPY] = 1, [FILL] = 1, [VIA] = 3, [TYPED] = 2, [HOST] = 1};
    cls_stream stream = play->streams[op->stream];
    cls_buffer cells = play->twins[0];
    op->node = play->n_nodes;
    play->n_nodes += nodes[op->kind];
    if (op->kind == HOST) {
        follow(play, 0, op->stream); /* one at a time */
        OK(cls_stream_launch_host_async(play->streams[0], count, &play->called));
        return;
    }
    if (op->kind == COPY || op->kind == VIA)
        order_read(play, op->stream, op->from);
    order_write(play, op->stream, op->to);
    if (op->kind == STEP)
        launch_step(cells, op->to, op, stream);
    else if (op->kind == COPY)
        OK(cls_copy_d2d_async(cells, 4 * op->to, cells, 4 * op->from, 4, stream));
    else if (op->kind == VIA)
        submit_via(cells, op, stream);
    else if (op->kind == TYPED)
        submit_typed(cells, op, stream);
    else
        OK(cls_fill_async(cells, 4 * op->to, 4, &op->add, 4, stream));
}

static cls_graph_exec capture(struct play *play) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_graph graph;
    cls_graph_exec exec;
    config.fuse = play->fuse;
    config.background = play->background;
    OK(cls_stream_begin_capture(play->streams[0], "random"));
    for (unsigned s = 1; s < STREAMS; s++)
        follow(play, s, 0);
    for (unsigned i = 0; i < NODES; i++)
        submit(play, &play->ops[i]);
    for (unsigned s = 1; s < STREAMS; s++)
        follow(play, 0, s);
    OK(cls_stream_end_capture(play->streams[0], &graph));
    OK(cls_graph_instantiate(graph, &config, &exec));
    OK(cls_graph_destroy(graph));
    return exec;
}

/* --- launching --- */

/* Other arguments for a node, or one node left out or taken in again. */
static void change(struct play *play, cls_graph_exec exec, cls_buffer cells) {
    const unsigned i = any(NODES);
    struct op *op = &play->ops[i];
    if (op->kind == STEP && any(2)) {
        op->factor = any(100);
        op->add = any(1000);
        const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(op->to), cls_arg_u32(op->factor),
                                cls_arg_u32(op->add)};
        OK(cls_graph_set_args(exec, op->node, &one_item, args, 4));
        return;
    }
    if (op->kind == VIA || op->kind == TYPED)
        return;
    op->disabled = !op->disabled;
    OK(cls_graph_set_enabled(exec, op->node, !op->disabled));
}

/* A node whose arguments were set is found by the buffer given there: both names are bound. */
static void bind(cls_graph_exec exec, const struct play *play, cls_buffer cells) {
    for (unsigned t = 0; t < TWINS; t++) {
        const cls_status status = cls_graph_bind(exec, play->twins[t], cells);
        if (status != CLS_ERROR_NOT_FOUND)
            OK(status);
    }
}

static void launch_all(struct play *play, cls_graph_exec exec) {
    for (unsigned i = 0; i < LAUNCHES; i++) {
        const unsigned twin = any(TWINS);
        for (unsigned changes = any(3); changes > 0; changes--)
            change(play, exec, play->twins[any(TWINS)]);
        bind(exec, play, play->twins[twin]);
        OK(cls_graph_launch_async(exec, play->streams[any(3)]));
        for (unsigned n = 0; n < NODES; n++)
            model_op(play, &play->ops[n], play->model[twin]);
    }
}

static void expect_model(const struct play *play, uint64_t seed) {
    uint32_t found[CELLS];
    for (unsigned t = 0; t < TWINS; t++) {
        OK(cls_copy_d2h(found, play->twins[t], 0, sizeof found, play->streams[0]));
        for (unsigned i = 0; i < CELLS; i++)
            if (found[i] != play->model[t][i])
                fail_msg("seed %llu: cell %u of buffer %u is %u, not %u", (unsigned long long)seed,
                         i, t, (unsigned)found[i], (unsigned)play->model[t][i]);
    }
    assert_int_equal(play->called, play->counted);
}

static void play_one(uint64_t seed, cls_order order, bool with_host, bool background) {
    static struct play play;
    const uint32_t zero = 0;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    memset(&play, 0, sizeof play);
    state_of_numbers = seed;
    play.with_host = with_host;
    play.fuse = seed % 2;
    play.background = background;
    config.order = order;
    for (unsigned s = 0; s < STREAMS; s++) {
        OK(cls_stream_create(context, &config, &play.streams[s]));
        OK(cls_event_create(context, NULL, &play.events[s]));
    }
    for (unsigned t = 0; t < TWINS; t++) {
        OK(cls_buffer_create(context, 4 * CELLS, &play.twins[t]));
        OK(cls_fill(play.twins[t], 0, 4 * CELLS, &zero, 4, NULL));
    }
    make_ops(&play);
    cls_graph_exec exec = capture(&play);
    controls->hold(!with_host); /* its launches wait for themselves */
    launch_all(&play, exec);
    controls->hold(false);
    for (unsigned s = 0; s < 3; s++)
        OK(cls_stream_synchronize(play.streams[s]));
    expect_model(&play, seed);
    OK(cls_graph_exec_destroy(exec));
    for (unsigned s = 0; s < STREAMS; s++) {
        OK(cls_stream_destroy(play.streams[s]));
        OK(cls_event_destroy(play.events[s]));
    }
    for (unsigned t = 0; t < TWINS; t++)
        OK(cls_buffer_destroy(play.twins[t]));
}

static void replay(enum policy policy, bool background) {
    const cls_order order = policy_choose(policy);
    const char *given = getenv("CLS_SEED");
    const uint64_t first = given ? strtoull(given, NULL, 10) : 1,
                   graphs = effort_is_long() ? 400 : 8;
    if (order == CLS_ORDER_AUTO)
        SKIP_BECAUSE("the device has no %s queues", policy_names[policy]);
    for (uint64_t i = 0; i < graphs; i++) {
        watchdog(HANG_S);
        controls->choose(i % 2 ? SCHEDULE_RANDOM : SCHEDULE_LAST_FIRST, i);
        play_one(first + i, order, i % 4 == 3, background);
    }
    watchdog(0);
    assert_int_equal(controls->unflushed(), 0);
}

static void test_replays(void **state) { replay(*(const enum policy *)*state, false); }
static void test_in_the_background(void **state) { replay(*(const enum policy *)*state, true); }

static int setup(void **state) {
    static const char source[] =
        "kernel void turn(global uint *cells, uint i, uint factor, uint add) {\n"
        "    cells[i] = cells[i] * factor + add;\n"
        "}\n";
    cls_program program;
    (void)state;
    OK(cls_context_create(NULL, &context));
    OK(cls_program_from_source(context, source, "turn", NULL, &program));
    OK(cls_kernel_create(program, "turn", &step));
    OK(cls_program_destroy(program));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return cls_kernel_destroy(step) || cls_context_destroy(context) ? -1 : 0;
}

int main(int argc, char **argv) {
    static const enum policy policies[POLICIES] = {POLICY_OUT_OF_ORDER, POLICY_IN_ORDER,
                                                   POLICY_EVENT_LESS};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_replays, (void *)(uintptr_t)&policies[0]),
        cmocka_unit_test_prestate(test_replays, (void *)(uintptr_t)&policies[1]),
        cmocka_unit_test_prestate(test_replays, (void *)(uintptr_t)&policies[2]),
        cmocka_unit_test_prestate(test_in_the_background, (void *)(uintptr_t)&policies[0]),
        cmocka_unit_test_prestate(test_in_the_background, (void *)(uintptr_t)&policies[1]),
        cmocka_unit_test_prestate(test_in_the_background, (void *)(uintptr_t)&policies[2]),
    };
    (void)argc;
    layer_start("schedule_layer", argv);
    controls = layer_controls("schedule_layer", SCHEDULE_CONTROLS);
    return cmocka_run_group_tests_name("graphs", tests, setup, teardown);
}

/* SPDX-License-Identifier: MIT */
#include "block_orders.h"

#include <string.h>

#include <clstream/opencl.h>

#include "../scenarios/scenario.h"

enum { LANES = 3, BUFFERS = 3, WORDS = 40000 /* worth a stream of a batch's own */ };
enum { BYTES = WORDS * 4, SMALL = 64 * 4, ROUNDS = 6, EXPECTATIONS = 16 };

/* What a program works with, and what must be in host memory at its end. */
struct desk {
    cls_context context;
    void (*hold)(bool held);
    cls_stream streams[LANES];
    cls_buffer buffers[BUFFERS];
    cls_event event;
    uint32_t in[BUFFERS][WORDS], out[EXPECTATIONS], due[EXPECTATIONS];
    unsigned n_due;
    bool failed;
};

static bool ok(struct desk *desk, cls_status status) {
    desk->failed = desk->failed || status;
    return !status;
}

/* All words of buffer `i` become `value`. */
static void put(struct desk *desk, unsigned i, uint32_t value, cls_stream stream) {
    for (unsigned k = 0; k < WORDS; k++)
        desk->in[i][k] = value;
    ok(desk, cls_copy_h2d_async(desk->buffers[i], 0, desk->in[i], BYTES, stream));
}

/* What memory happens to hold may be just what is due. */
static void wipe(struct desk *desk, cls_buffer buffer, size_t bytes, cls_stream stream) {
    const uint32_t zero = 0;
    ok(desk, cls_fill(buffer, 0, bytes, &zero, 4, stream));
}

static uint32_t *expect(struct desk *desk, uint32_t value) {
    desk->due[desk->n_due] = value;
    return &desk->out[desk->n_due++];
}

/* The last word of a buffer as the stream finds it. */
static void get(struct desk *desk, cls_buffer buffer, size_t bytes, uint32_t value,
                cls_stream stream) {
    ok(desk, cls_copy_d2h_async(expect(desk, value), buffer, bytes - 4, 4, stream));
}

static void follow(struct desk *desk, cls_stream first, cls_stream later) {
    ok(desk, cls_event_record(desk->event, first));
    ok(desk, cls_stream_wait_event(later, desk->event));
}

/* --- streams --- */

static void take_note(void *arg) {
    uint32_t *out = arg;
    out[1] = out[0];
}

/* A host function of one stream notes what another has copied. Nothing runs yet: there is time to go wrong. */
static void host_function(struct desk *desk) {
    const uint64_t moment_ns = 20000000;
    put(desk, 0, 6, desk->streams[0]);
    get(desk, desk->buffers[0], BYTES, 6, desk->streams[0]);
    expect(desk, 6);
    follow(desk, desk->streams[0], desk->streams[1]);
    ok(desk, cls_stream_launch_host_async(desk->streams[1], take_note, desk->out));
    ok(desk, cls_stream_wait(desk->streams[1], moment_ns) != CLS_ERROR_TIMEOUT);
}

/* --- memory --- */

/* Memory that is freed on one stream goes to another at once. The second stream comes behind the first
 * one's writing by itself, and behind its reading by the wait that the pool makes. */
static void memory_of_another(struct desk *desk) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    cls_mempool pool;
    cls_buffer memory;
    const uint32_t values[2] = {7, 8};
    config.reuse = CLS_REUSE_INSERT;
    if (!ok(desk, cls_mempool_create(desk->context, &config, &pool)))
        return;
    for (unsigned i = 0; i < 2; i++) {
        cls_stream stream = desk->streams[i];
        if (!ok(desk, cls_mempool_malloc_async(pool, stream, SMALL, &memory)))
            break;
        ok(desk, cls_fill_async(memory, 0, SMALL, &values[i], 4, stream));
        if (!i)
            follow(desk, stream, desk->streams[1]);
        get(desk, memory, SMALL, values[i], stream);
        ok(desk, cls_free_async(memory, stream));
    }
    ok(desk, cls_mempool_destroy(pool));
}

/* A stream frees what another still reads, and is given it again only behind that. */
static void memory_lent(struct desk *desk) {
    const uint32_t values[2] = {7, 8};
    cls_stream own = desk->streams[0], other = desk->streams[1];
    for (unsigned i = 0; i < 2; i++) {
        cls_buffer memory;
        if (!ok(desk, cls_malloc_async(own, SMALL, &memory)))
            return;
        ok(desk, cls_fill_async(memory, 0, SMALL, &values[i], 4, own));
        if (!i) {
            follow(desk, own, other);
            get(desk, memory, SMALL, values[i], other);
            ok(desk, cls_event_record(desk->event, other));
            ok(desk, cls_stream_frees_wait_event(own, desk->event));
        }
        ok(desk, cls_free_async(memory, own));
    }
}

/* Not by a wait of the host's in the driver, which would let everything run. */
static void await_failure(struct desk *desk, cls_stream stream) {
    cls_status status;
    while ((status = cls_stream_query(stream)) == CLS_NOT_READY)
        sleep_us(100);
    ok(desk, status != CLS_ERROR_COMMAND_FAILED);
    ok(desk, cls_stream_reset(stream));
}

/* A stream is given memory as it comes behind the free, by way of a third stream; that fails, and the order
 * with it. It stays behind the other's writing by itself, and behind its reading by what the reset makes of it. The
 * failure leaves nothing to the driver, or the reset would wait for it. */
static void memory_after_reset(struct desk *desk) {
    cls_stream other = desk->streams[0], own = desk->streams[1], third = desk->streams[2];
    const uint32_t values[2] = {7, 8};
    cls_buffer memory;
    cls_mempool pool; /* the context's own would have other memory to give */
    cls_timeline gate;
    if (!ok(desk, cls_timeline_create(NULL, &gate)) ||
        !ok(desk, cls_mempool_create(desk->context, NULL, &pool)))
        return;
    ok(desk, cls_mempool_malloc_async(pool, other, SMALL, &memory));
    ok(desk, cls_fill_async(memory, 0, SMALL, &values[0], 4, other));
    follow(desk, other, own);
    get(desk, memory, SMALL, values[0], other);
    ok(desk, cls_free_async(memory, other));
    ok(desk, cls_stream_wait_timeline(third, gate, 1));
    follow(desk, other, third);
    put(desk, 0, 0, third);
    follow(desk, third, own);
    ok(desk, cls_mempool_malloc_async(pool, own, SMALL, &memory));
    ok(desk, cls_timeline_fail(gate, "the gate", "to fail"));
    await_failure(desk, own);
    await_failure(desk, third);
    ok(desk, cls_fill_async(memory, 0, SMALL, &values[1], 4, own));
    get(desk, memory, SMALL, values[1], own);
    ok(desk, cls_free_async(memory, own));
    ok(desk, cls_mempool_destroy(pool));
    ok(desk, cls_timeline_destroy(gate));
}

/* --- coordinators --- */

static cls_coordinator set_of_streams(struct desk *desk) {
    cls_coordinator set = NULL;
    ok(desk, cls_coordinator_create(NULL, &set));
    for (unsigned i = 0; i < LANES; i++)
        ok(desk, cls_coordinator_add_stream(set, desk->streams[i], NULL));
    return set;
}

static void barrier(struct desk *desk) {
    cls_coordinator set = set_of_streams(desk);
    put(desk, 0, 11, desk->streams[1]);
    ok(desk, cls_coordinator_barrier(set));
    get(desk, desk->buffers[0], BYTES, 11, desk->streams[2]);
    ok(desk, cls_coordinator_destroy(set));
}

static void dependency(struct desk *desk) {
    cls_coordinator set = set_of_streams(desk);
    ok(desk, cls_coordinator_add_dependency(set, desk->streams[1], desk->streams[0]));
    put(desk, 0, 12, desk->streams[0]);
    ok(desk, cls_coordinator_apply(set));
    get(desk, desk->buffers[0], BYTES, 12, desk->streams[1]);
    ok(desk, cls_coordinator_destroy(set));
}

static cls_status task_put(cls_stream stream, void *arg) {
    put(arg, 0, 13, stream);
    return CLS_SUCCESS;
}

static cls_status task_get(cls_stream stream, void *arg) {
    struct desk *desk = arg;
    get(desk, desk->buffers[0], BYTES, 13, stream);
    return CLS_SUCCESS;
}

static void tasks(struct desk *desk) {
    const uint32_t first = 0;
    cls_task task = CLS_TASK_INIT;
    cls_coordinator set = set_of_streams(desk);
    cls_task_graph graph;
    if (ok(desk, cls_task_graph_create(set, &graph))) {
        task.arg = desk;
        for (unsigned i = 0; i < 2; i++) {
            task.fn = i ? task_get : task_put;
            task.stream = desk->streams[i];
            task.prerequisites = &first;
            task.n_prerequisites = i;
            ok(desk, cls_task_graph_add(graph, &task, NULL));
        }
        ok(desk, cls_task_graph_run(graph));
        ok(desk, cls_task_graph_destroy(graph));
    }
    ok(desk, cls_coordinator_destroy(set));
}

/* --- batches --- */

static cls_value batch_array(struct desk *desk, cls_batch batch, unsigned i) {
    cls_value value = 0;
    ok(desk, cls_batch_array(batch, cls_array_of(desk->buffers[i], CLS_U32, WORDS), &value));
    return value;
}

/* Two maximums beside each other, of what the caller's stream brings, and read there. */
static void batch_on_two(struct desk *desk) {
    cls_batch batch;
    cls_value tops[2], both;
    if (!ok(desk, cls_batch_create(desk->context, NULL, &batch)))
        return;
    for (unsigned i = 0; i < 2; i++) {
        put(desk, i, 20 + i, desk->streams[0]);
        ok(desk, cls_batch_reduce(batch, CLS_REDUCE_MAX, batch_array(desk, batch, i), &tops[i]));
        ok(desk, cls_batch_keep(batch, tops[i]));
    }
    ok(desk, cls_batch_add(batch, tops[0], tops[1], &both));
    ok(desk, cls_batch_execute_async(batch, desk->streams[0]));
    ok(desk, cls_batch_read_async(batch, both, expect(desk, 41), desk->streams[0]));
    ok(desk, cls_batch_destroy(batch));
}

/* Results of both streams that nothing of the batch brings together. */
static void batch_apart(struct desk *desk) {
    cls_batch batch;
    cls_value tops[2];
    if (!ok(desk, cls_batch_create(desk->context, NULL, &batch)))
        return;
    for (unsigned i = 0; i < 2; i++) {
        put(desk, i, 30 + i, desk->streams[0]);
        ok(desk, cls_batch_reduce(batch, CLS_REDUCE_MAX, batch_array(desk, batch, i), &tops[i]));
    }
    ok(desk, cls_batch_execute_async(batch, desk->streams[0]));
    for (unsigned i = 0; i < 2; i++)
        ok(desk, cls_batch_read_async(batch, tops[i], expect(desk, 30 + i), desk->streams[0]));
    ok(desk, cls_batch_destroy(batch));
}

/* Executed on one stream and then another: the latest result is there at the end, for a third to read. */
static void batch_twice(struct desk *desk) {
    cls_batch batch;
    cls_value sum, add = 0;
    const uint32_t adds[2] = {1, 2};
    if (!ok(desk, cls_batch_create(desk->context, NULL, &batch)))
        return;
    put(desk, 0, 40, desk->streams[0]);
    follow(desk, desk->streams[0], desk->streams[1]);
    ok(desk, cls_batch_scalar(batch, CLS_U32, &adds[0], &add));
    ok(desk, cls_batch_add(batch, batch_array(desk, batch, 0), add, &sum));
    ok(desk, cls_batch_store(batch, sum, cls_array_of(desk->buffers[1], CLS_U32, WORDS)));
    ok(desk, cls_batch_execute_async(batch, desk->streams[0]));
    ok(desk, cls_batch_bind_scalar(batch, add, &adds[1]));
    ok(desk, cls_batch_execute_async(batch, desk->streams[1]));
    follow(desk, desk->streams[0], desk->streams[2]);
    follow(desk, desk->streams[1], desk->streams[2]);
    get(desk, desk->buffers[1], BYTES, 42, desk->streams[2]);
    ok(desk, cls_batch_destroy(batch));
}

static void batch_read_elsewhere(struct desk *desk) {
    cls_batch batch;
    cls_value top;
    if (!ok(desk, cls_batch_create(desk->context, NULL, &batch)))
        return;
    put(desk, 0, 50, desk->streams[0]);
    ok(desk, cls_batch_reduce(batch, CLS_REDUCE_MAX, batch_array(desk, batch, 0), &top));
    ok(desk, cls_batch_execute_async(batch, desk->streams[0]));
    ok(desk, cls_batch_read_async(batch, top, expect(desk, 50), desk->streams[1]));
    ok(desk, cls_batch_destroy(batch));
}

/* --- graphs --- */

static cls_graph_exec end_capture(struct desk *desk, cls_stream stream) {
    cls_graph_exec exec = NULL;
    cls_graph graph;
    if (!ok(desk, cls_stream_end_capture(stream, &graph)))
        return NULL;
    ok(desk, cls_graph_instantiate(graph, NULL, &exec));
    ok(desk, cls_graph_destroy(graph));
    return exec;
}

/* Two branches that begin with the launch; a node of the first comes after both. */
static void graph_branches(struct desk *desk) {
    cls_stream origin = desk->streams[0], second = desk->streams[1];
    const cls_buffer *buffers = desk->buffers;
    ok(desk, cls_stream_begin_capture(origin, "branches"));
    follow(desk, origin, second);
    ok(desk, cls_copy_d2d_async(buffers[2], 0, buffers[0], 0, BYTES, second));
    ok(desk, cls_copy_d2d_async(buffers[1], 0, buffers[0], 0, BYTES, origin));
    follow(desk, second, origin);
    ok(desk, cls_copy_d2d_async(buffers[1], 0, buffers[2], 0, BYTES, origin));
    cls_graph_exec exec = end_capture(desk, origin);
    put(desk, 0, 110, origin);
    ok(desk, cls_graph_launch_async(exec, origin));
    get(desk, buffers[1], BYTES, 110, origin);
    ok(desk, cls_graph_exec_destroy(exec));
}

/* Two branches, of which only the end of the launch comes after both. */
static void graph_ends(struct desk *desk) {
    cls_stream origin = desk->streams[0], second = desk->streams[1];
    const cls_buffer *buffers = desk->buffers;
    const uint32_t later = 116;
    ok(desk, cls_stream_begin_capture(origin, "ends"));
    follow(desk, origin, second);
    get(desk, buffers[0], BYTES, 115, second);
    ok(desk, cls_copy_d2d_async(buffers[1], 0, buffers[0], 0, BYTES, origin));
    follow(desk, second, origin);
    cls_graph_exec exec = end_capture(desk, origin);
    put(desk, 0, 115, origin);
    ok(desk, cls_graph_launch_async(exec, origin));
    ok(desk, cls_fill_async(buffers[0], 0, BYTES, &later, 4, origin));
    get(desk, buffers[1], BYTES, 115, origin);
    ok(desk, cls_graph_exec_destroy(exec));
}

/* The third node, which is left out, comes after those of two other branches; the fourth comes after it alone. */
static void graph_left_out(struct desk *desk) {
    cls_stream origin = desk->streams[0], second = desk->streams[1], third = desk->streams[2];
    const cls_buffer *buffers = desk->buffers;
    const uint32_t other = 131;
    ok(desk, cls_stream_begin_capture(origin, "left out"));
    follow(desk, origin, second);
    follow(desk, origin, third);
    ok(desk, cls_copy_d2d_async(buffers[1], 0, buffers[0], 0, BYTES, origin));
    ok(desk, cls_copy_d2d_async(buffers[2], 0, buffers[0], 0, BYTES, second));
    follow(desk, origin, third);
    follow(desk, second, third);
    ok(desk, cls_fill_async(buffers[1], 0, BYTES, &other, 4, third));
    get(desk, buffers[1], BYTES, 130, third);
    get(desk, buffers[2], BYTES, 130, third);
    follow(desk, third, origin);
    cls_graph_exec exec = end_capture(desk, origin);
    ok(desk, cls_graph_set_enabled(exec, 2, 0));
    put(desk, 0, 130, origin);
    put(desk, 1, 0, origin);
    put(desk, 2, 0, origin);
    ok(desk, cls_graph_launch_async(exec, origin));
    ok(desk, cls_graph_exec_destroy(exec));
}

static cls_buffer read_in(struct desk *desk, unsigned from, cls_stream stream) {
    cls_buffer inner = NULL;
    ok(desk, cls_malloc_async(stream, SMALL, &inner));
    ok(desk, cls_copy_d2d_async(inner, 0, desk->buffers[from], 0, SMALL, stream));
    return inner;
}

static void read_out(struct desk *desk, cls_buffer inner, uint32_t value, cls_stream stream) {
    get(desk, inner, SMALL, value, stream);
    ok(desk, cls_free_async(inner, stream));
}

/* The second branch uses memory of its own behind what the first one does before it reads its own. */
static void graph_memory(struct desk *desk) {
    cls_stream origin = desk->streams[0], second = desk->streams[1];
    ok(desk, cls_stream_begin_capture(origin, "memory"));
    const cls_buffer inner = read_in(desk, 0, origin);
    ok(desk, cls_copy_d2d_async(desk->buffers[1], 0, desk->buffers[0], 0, SMALL, origin));
    follow(desk, origin, second);
    read_out(desk, inner, 140, origin);
    read_out(desk, read_in(desk, 2, second), 142, second);
    follow(desk, second, origin);
    cls_graph_exec exec = end_capture(desk, origin);
    put(desk, 0, 140, origin);
    put(desk, 2, 142, origin);
    ok(desk, cls_graph_launch_async(exec, origin));
    ok(desk, cls_graph_exec_destroy(exec));
}

static void add(struct desk *desk, unsigned from, unsigned to, cls_stream stream) {
    ok(desk, cls_unary_param_async(CLS_UNARY_ADD_SCALAR,
                                   cls_array_of(desk->buffers[from], CLS_U32, SMALL / 4),
                                   cls_array_of(desk->buffers[to], CLS_U32, SMALL / 4), 1, stream));
}

/* A branch begins in the middle of operations that follow one another. */
static void fused_graph(struct desk *desk) {
    cls_graph_config config = CLS_GRAPH_CONFIG_INIT;
    cls_stream origin = desk->streams[0], second = desk->streams[1];
    cls_graph_exec exec = NULL;
    cls_graph graph;
    config.fuse = 1;
    ok(desk, cls_stream_begin_capture(origin, "fused"));
    add(desk, 0, 0, origin);
    add(desk, 0, 1, origin);
    follow(desk, origin, second);
    get(desk, desk->buffers[1], SMALL, 152, second);
    add(desk, 1, 2, origin);
    follow(desk, second, origin);
    if (!ok(desk, cls_stream_end_capture(origin, &graph)))
        return;
    ok(desk, cls_graph_instantiate(graph, &config, &exec));
    ok(desk, cls_graph_destroy(graph));
    put(desk, 0, 150, origin);
    ok(desk, cls_graph_launch_async(exec, origin));
    get(desk, desk->buffers[2], SMALL, 153, origin);
    ok(desk, cls_graph_exec_destroy(exec));
}

/* A graph launched in a capture, behind a node of it. */
static void graph_in_graph(struct desk *desk) {
    cls_stream stream = desk->streams[0];
    const cls_buffer *buffers = desk->buffers;
    ok(desk, cls_stream_begin_capture(stream, "inner"));
    ok(desk, cls_copy_d2d_async(buffers[2], 0, buffers[1], 0, BYTES, stream));
    cls_graph_exec inner = end_capture(desk, stream);
    ok(desk, cls_stream_begin_capture(stream, "outer"));
    ok(desk, cls_copy_d2d_async(buffers[1], 0, buffers[0], 0, BYTES, stream));
    ok(desk, cls_graph_launch_async(inner, stream));
    cls_graph_exec outer = end_capture(desk, stream);
    put(desk, 0, 160, stream);
    ok(desk, cls_graph_launch_async(outer, stream));
    get(desk, buffers[2], BYTES, 160, stream);
    ok(desk, cls_graph_exec_destroy(inner));
    ok(desk, cls_graph_exec_destroy(outer));
}

/* Launched on one stream and then another: the second launch finds what the first one left. */
static void graph_twice(struct desk *desk) {
    cls_stream first = desk->streams[0], second = desk->streams[1], third = desk->streams[2];
    const uint32_t later = 121;
    ok(desk, cls_stream_begin_capture(first, "twice"));
    ok(desk, cls_copy_d2d_async(desk->buffers[1], 0, desk->buffers[0], 0, BYTES, first));
    ok(desk, cls_fill_async(desk->buffers[0], 0, BYTES, &later, 4, first));
    cls_graph_exec exec = end_capture(desk, first);
    put(desk, 0, 120, first);
    ok(desk, cls_graph_launch_async(exec, first));
    ok(desk, cls_graph_launch_async(exec, second));
    follow(desk, first, third);
    follow(desk, second, third);
    get(desk, desk->buffers[1], BYTES, 121, third);
    ok(desk, cls_graph_exec_destroy(exec));
}

/* --- pipelines --- */

static cls_status stage_in(const cls_stage_run *run, void *arg) {
    struct desk *desk = arg;
    desk->in[0][run->iteration] = 60 + (uint32_t)run->iteration;
    return cls_copy_h2d_async(run->outputs[0], 0, &desk->in[0][run->iteration], 4, run->stream);
}

static cls_status stage_out(const cls_stage_run *run, void *arg) {
    get(arg, run->inputs[0], 4, 60 + (uint32_t)run->iteration, run->stream);
    return CLS_SUCCESS;
}

static void stages(struct desk *desk) {
    const char *x = "x";
    cls_stage in = CLS_STAGE_INIT, out = CLS_STAGE_INIT;
    cls_pipeline_config config = CLS_PIPELINE_CONFIG_INIT;
    cls_pipeline pipeline;
    config.untimed = 1;
    in.name = "in";
    in.outputs = &x;
    in.n_outputs = 1;
    in.fn = stage_in;
    out.name = "out";
    out.inputs = &x;
    out.n_inputs = 1;
    out.fn = stage_out;
    in.arg = out.arg = desk;
    in.stream = desk->streams[0];
    out.stream = desk->streams[1];
    if (!ok(desk, cls_pipeline_create(desk->context, &config, &pipeline)))
        return;
    ok(desk, cls_pipeline_add_buffer(pipeline, x, SMALL, NULL, CLS_PIPELINE_INTERNAL));
    ok(desk, cls_pipeline_add_stage(pipeline, &in));
    ok(desk, cls_pipeline_add_stage(pipeline, &out));
    for (unsigned i = 0; i < ROUNDS; i++)
        ok(desk, cls_pipeline_execute_iteration(pipeline));
    ok(desk, cls_pipeline_destroy(pipeline));
}

static cls_status step_in(cls_stream stream, uint64_t input, void *arg) {
    struct desk *desk = arg;
    desk->in[0][input] = 70 + (uint32_t)input;
    return cls_copy_h2d_async(desk->buffers[0], input * 4, &desk->in[0][input], 4, stream);
}

static cls_status step_out(cls_stream stream, uint64_t input, void *arg) {
    struct desk *desk = arg;
    get(desk, desk->buffers[0], (input + 1) * 4, 70 + (uint32_t)input, stream);
    return CLS_SUCCESS;
}

static void steps(struct desk *desk) {
    const cls_step list[] = {{step_in, desk->streams[0], desk}, {step_out, desk->streams[1], desk}};
    ok(desk, cls_pipeline_run_async(list, 2, ROUNDS));
}

static void ring(struct desk *desk) {
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_triple_buffer slots;
    cls_slot slot;
    config.async_reuse = 1; /* so that the streams' waits are all that orders the rounds */
    if (!ok(desk, cls_triple_buffer_create(desk->context, SMALL, &config, &slots)))
        return;
    for (unsigned i = 0; i < ROUNDS; i++) {
        cls_stream up = desk->streams[0], work = desk->streams[1], down = desk->streams[2];
        desk->in[0][i] = 80 + i;
        if (ok(desk, cls_triple_buffer_upload_slot(slots, up, &slot)))
            ok(desk, cls_copy_h2d_async(slot.buffer, 0, &desk->in[0][i], 4, up));
        if (ok(desk, cls_triple_buffer_process_slot(slots, work, &slot)))
            ok(desk, cls_copy_d2d_async(slot.buffer, 4, slot.buffer, 0, 4, work));
        if (ok(desk, cls_triple_buffer_download_slot(slots, down, &slot)))
            get(desk, slot.buffer, 8, 80 + i, down);
        ok(desk, cls_triple_buffer_advance(slots));
    }
    ok(desk, cls_triple_buffer_destroy(slots));
}

static void operations(struct desk *desk) {
    const cls_place place = cls_place_buffer(desk->buffers[0]);
    cls_async_coordinator async;
    if (!ok(desk, cls_async_coordinator_create(desk->context, NULL, &async)))
        return;
    desk->in[0][0] = 90;
    ok(desk, cls_async_coordinator_queue_upload(async, desk->in[0], 4, place, NULL, 0, NULL));
    ok(desk,
       cls_async_coordinator_queue_download(async, place, expect(desk, 90), 4, NULL, 0, NULL));
    desk->hold(false);
    ok(desk, cls_async_coordinator_synchronize_all(async));
    ok(desk, cls_async_coordinator_destroy(async));
}

/* --- prefetchers --- */

static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    const uint32_t value = 100 + (uint32_t)index;
    struct desk *desk = arg;
    (void)capacity;
    if (desk)
        desk->hold(true);
    memcpy(memory, &value, 4);
    *bytes = 4;
    return CLS_SUCCESS;
}

/* Takes so many batches, of which two are held at once. Making a prefetcher waits for pinned memory, so
 * where nothing is to run the first load begins that. */
static cls_prefetcher prefetch(struct desk *desk, unsigned batches) {
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    cls_prefetcher prefetcher = NULL;
    cls_prefetched batch;
    config.workers = 1;
    config.depth = 2;
    desk->hold(false);
    ok(desk, cls_prefetcher_create(desk->context, 4, load, batches > 2 ? NULL : desk, &config,
                                   &prefetcher));
    for (uint32_t i = 0; i < batches && !desk->failed; i++) {
        if (!ok(desk, cls_prefetcher_next(prefetcher, desk->streams[0], &batch)))
            break;
        get(desk, batch.buffer, 4, 100 + i, desk->streams[0]);
        if (batches > 2)
            ok(desk, cls_prefetcher_release(prefetcher, &batch, desk->streams[0]));
    }
    return prefetcher;
}

static void handed_out(struct desk *desk) {
    cls_prefetcher prefetcher = prefetch(desk, 2);
    desk->hold(false); /* its end waits for its uploads */
    ok(desk, cls_prefetcher_destroy(prefetcher));
}

/* The batches' reader stands still while more is fetched than there is room for. */
static void given_back(struct desk *desk) {
    cls_timeline gate;
    if (!ok(desk, cls_timeline_create(NULL, &gate)))
        return;
    ok(desk, cls_stream_wait_timeline(desk->streams[0], gate, 1));
    cls_prefetcher prefetcher = prefetch(desk, 3);
    sleep_us(3000);
    ok(desk, cls_timeline_signal(gate, 1));
    ok(desk, cls_prefetcher_destroy(prefetcher));
    ok(desk, cls_timeline_destroy(gate));
}

/* --- groups --- */

/* The stream has the time to do what nothing keeps it from. */
static void let_run(cls_stream stream) {
    for (unsigned ms = 0; ms < 20 && cls_stream_query(stream) == CLS_NOT_READY; ms++)
        sleep_us(1000);
}

/* A copy from one device to another, by way of one chunk at a time. What waits for another device's work
 * comes to a driver only when that is done, so no schedule can put it first: the source's work stands still
 * until the copy could have overtaken it, and then, by turns, the way up and the way down. */
static void across(struct desk *desk, const cls_device_streams *ends, cls_device_group group,
                   cls_device_range from, cls_device_range to, bool down) {
    const uint32_t zero = 0, base = down ? 120 : 110;
    const cls_stream slow = down ? ends[0].download : ends[1].upload;
    const cls_stream quick = down ? ends[1].upload : ends[0].download;
    cls_timeline gate;
    if (!ok(desk, cls_timeline_create(NULL, &gate)))
        return;
    wipe(desk, to.buffer, SMALL, ends[1].compute);
    desk->hold(true);
    for (unsigned i = 0; i < SMALL / 4; i++)
        desk->in[0][i] = base + i / 16;
    ok(desk, cls_stream_wait_timeline(ends[0].compute, gate, 1));
    ok(desk, cls_stream_wait_timeline(slow, gate, 2));
    ok(desk, cls_copy_h2d_async(from.buffer, 0, desk->in[0], SMALL, ends[0].compute));
    ok(desk, cls_device_group_copy_async(group, to, from, SMALL));
    ok(desk, cls_fill_async(from.buffer, 0, SMALL, &zero, 4, ends[0].compute));
    for (unsigned i = 0; i < 4; i++)
        get(desk, to.buffer, (i + 1) * SMALL / 4, base + i, ends[1].compute);
    desk->hold(false);
    for (uint64_t value = 1; value <= 2; value++) {
        let_run(quick);
        ok(desk, cls_timeline_signal(gate, value));
    }
    for (unsigned i = 0; i < 2; i++)
        ok(desk, cls_stream_synchronize(ends[i].compute));
    ok(desk, cls_timeline_destroy(gate));
}

static void grouped(struct desk *desk) {
    cls_device_group_config config = CLS_DEVICE_GROUP_CONFIG_INIT;
    cls_context contexts[2] = {desk->context, NULL};
    cls_device_range from = {0, desk->buffers[0], 0}, to = {1, NULL, 0};
    cls_device_streams ends[2];
    cls_device_group group;
    config.chunk_bytes = SMALL / 4;
    config.chunks = 1;
    desk->hold(false); /* making a group waits for pinned memory */
    if (!ok(desk, cls_context_create(NULL, &contexts[1])))
        return;
    if (ok(desk, cls_buffer_create(contexts[1], SMALL, &to.buffer)) &&
        ok(desk, cls_device_group_create(contexts, 2, &config, &group))) {
        if (ok(desk, cls_device_group_get_streams(group, 0, &ends[0])) &&
            ok(desk, cls_device_group_get_streams(group, 1, &ends[1])))
            for (unsigned turn = 0; turn < 2; turn++)
                across(desk, ends, group, from, to, turn);
        ok(desk, cls_device_group_destroy(group));
    }
    ok(desk, cls_context_destroy(contexts[1]));
}

static void open_desk(struct desk *desk) {
    for (unsigned i = 0; i < LANES; i++)
        ok(desk, cls_stream_create(desk->context, NULL, &desk->streams[i]));
    for (unsigned i = 0; i < BUFFERS; i++)
        ok(desk, cls_buffer_create(desk->context, BYTES, &desk->buffers[i]));
    ok(desk, cls_event_create(desk->context, NULL, &desk->event));
    for (unsigned i = 0; i < BUFFERS; i++)
        wipe(desk, desk->buffers[i], BYTES, desk->streams[0]);
}

/* Waits for all work, whatever stream it is on. */
static void close_desk(struct desk *desk) {
    ok(desk, cls_context_synchronize(desk->context));
    for (unsigned i = 0; i < LANES; i++)
        ok(desk, cls_stream_destroy(desk->streams[i]));
    for (unsigned i = 0; i < BUFFERS; i++)
        ok(desk, cls_buffer_destroy(desk->buffers[i]));
    ok(desk, cls_event_destroy(desk->event));
}

/* --- the legacy order --- */

static void legacy_order(struct desk *desk) {
    static struct desk legacy;
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    config.legacy_default_stream = 1;
    memset(&legacy, 0, sizeof legacy);
    desk->hold(false); /* the desk's buffers are wiped, and waited for */
    if (!ok(desk, cls_context_create(&config, &legacy.context)))
        return;
    open_desk(&legacy);
    desk->hold(true);
    put(&legacy, 0, 130, legacy.streams[0]);
    ok(&legacy, cls_copy_d2d_async(legacy.buffers[1], 0, legacy.buffers[0], 0, BYTES, NULL));
    get(&legacy, legacy.buffers[1], BYTES, 130, legacy.streams[1]);
    put(&legacy, 1, 131, NULL);
    get(&legacy, legacy.buffers[1], BYTES, 131, legacy.streams[2]);
    desk->hold(false);
    close_desk(&legacy);
    ok(desk, cls_context_destroy(legacy.context));
    desk->failed =
        desk->failed || legacy.failed || memcmp(legacy.out, legacy.due, legacy.n_due * 4) != 0;
}

/* --- all of them --- */

static const struct {
    const char *name;
    void (*run)(struct desk *desk);
} programs[] = {
    {"a host function", host_function},
    {"memory of another stream", memory_of_another},
    {"memory lent to another stream", memory_lent},
    {"memory after a reset", memory_after_reset},
    {"a barrier", barrier},
    {"a dependency", dependency},
    {"tasks", tasks},
    {"a batch on two streams", batch_on_two},
    {"results of two streams", batch_apart},
    {"a batch executed twice", batch_twice},
    {"a result read on another stream", batch_read_elsewhere},
    {"a graph of two branches", graph_branches},
    {"a graph of two ends", graph_ends},
    {"a graph launched twice", graph_twice},
    {"a graph's node that is left out", graph_left_out},
    {"a graph's memory", graph_memory},
    {"a graph's fused operations", fused_graph},
    {"a graph in a graph", graph_in_graph},
    {"stages", stages},
    {"steps", steps},
    {"a ring", ring},
    {"operations of an async coordinator", operations},
    {"a prefetcher's batches", handed_out},
    {"batches given back", given_back},
    {"a copy between devices", grouped},
    {"the legacy order", legacy_order},
};

bool block_orders(cls_context context, void (*hold)(bool held), const char **what) {
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++) {
        static struct desk desk;
        memset(&desk, 0, sizeof desk);
        desk.context = context;
        desk.hold = hold;
        open_desk(&desk);
        if (desk.failed)
            return *what = "opening", false;
        hold(true);
        programs[i].run(&desk);
        hold(false);
        close_desk(&desk);
        if (desk.failed || memcmp(desk.out, desk.due, desk.n_due * 4) != 0)
            return *what = programs[i].name, false;
    }
    return true;
}

/* SPDX-License-Identifier: MIT */
/* The library lets go of the caller's OpenCL objects: whatever was done on a wrapped context, the driver counts the same
 * references afterwards to the context, a wrapped queue, a wrapped buffer and an event. */
#include "../support/rig.h"

#include <string.h>

#include <clstream.h>

enum { N = 16, BYTES = N * N * sizeof(float) };

/* The caller's own. */
static struct own {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_mem memory;
    cl_event event; /* complete */
} own;

/* The library's, of them. */
struct wrapped {
    cls_context context;
    cls_stream stream, other; /* on the caller's queue, and on one of its own */
    cls_buffer in, out;       /* on the caller's memory, and of its own */
};

struct counts {
    cl_uint context, queue, memory, event;
};

/* Runs a command of the caller's first: PoCL keeps the last event of a buffer, and by it a queue and its context. */
static struct counts count(void) {
    struct counts counts = {0};
    const cl_uint zero = 0;
    assert_int_equal(clEnqueueFillBuffer(own.queue, own.memory, &zero, 4, 0, BYTES, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_int_equal(clFinish(own.queue), CL_SUCCESS);
    const size_t size = sizeof(cl_uint);
    clGetContextInfo(own.context, CL_CONTEXT_REFERENCE_COUNT, size, &counts.context, NULL);
    clGetCommandQueueInfo(own.queue, CL_QUEUE_REFERENCE_COUNT, size, &counts.queue, NULL);
    clGetMemObjectInfo(own.memory, CL_MEM_REFERENCE_COUNT, size, &counts.memory, NULL);
    clGetEventInfo(own.event, CL_EVENT_REFERENCE_COUNT, size, &counts.event, NULL);
    return counts;
}

static bool same(const struct counts *a, const struct counts *b) {
    return a->context == b->context && a->queue == b->queue && a->memory == b->memory &&
           a->event == b->event;
}

static void make_own(void) {
    cl_int code;
    own.context = clCreateContext(NULL, 1, &own.device, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    own.queue = clCreateCommandQueue(own.context, own.device, 0, &code);
    assert_int_equal(code, CL_SUCCESS);
    own.memory = clCreateBuffer(own.context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    own.event = clCreateUserEvent(own.context, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_int_equal(clSetUserEventStatus(own.event, CL_COMPLETE), CL_SUCCESS);
}

static void release_own(void) {
    assert_int_equal(clReleaseEvent(own.event), CL_SUCCESS);
    assert_int_equal(clReleaseMemObject(own.memory), CL_SUCCESS);
    assert_int_equal(clReleaseCommandQueue(own.queue), CL_SUCCESS);
    assert_int_equal(clReleaseContext(own.context), CL_SUCCESS);
}

static void wrap(struct wrapped *w) {
    const float zero = 0;
    OK(cls_context_wrap(own.context, own.device, &w->context));
    OK(cls_stream_wrap(w->context, own.queue, &w->stream));
    OK(cls_stream_create(w->context, NULL, &w->other));
    OK(cls_buffer_wrap(w->context, own.memory, &w->in));
    OK(cls_buffer_create(w->context, BYTES, &w->out));
    OK(cls_fill(w->in, 0, BYTES, &zero, sizeof zero, w->stream));
}

static void unwrap(const struct wrapped *w) {
    OK(cls_stream_destroy(w->stream));
    OK(cls_stream_destroy(w->other));
    OK(cls_buffer_destroy(w->in));
    OK(cls_buffer_destroy(w->out));
    OK(cls_context_destroy(w->context));
}

/* --- the uses --- */

static cls_array in_of(const struct wrapped *w) { return cls_array_of(w->in, CLS_F32, N * N); }

static cls_array out_of(const struct wrapped *w) { return cls_array_of(w->out, CLS_F32, N * N); }

static void nothing(const struct wrapped *w) { (void)w; }

static void copies(const struct wrapped *w) {
    static float host[N * N];
    const cls_rect rect = {0, N, 0, N, N, N, 0, 0, 0};
    void *pinned;
    OK(cls_copy_d2d_async(w->out, 0, w->in, 0, BYTES, w->stream));
    OK(cls_copy_rect_d2d_async(w->out, w->in, &rect, w->stream));
    OK(cls_copy_d2h_async(host, w->out, 0, BYTES, w->stream));
    OK(cls_host_alloc(w->context, BYTES, &pinned));
    OK(cls_stream_synchronize(w->stream));
    OK(cls_copy_d2h(pinned, w->out, 0, BYTES, w->other));
    OK(cls_host_free(pinned));
}

static void kernels(const struct wrapped *w) {
    static const char source[] = "kernel void twice(global const float *x, global float *y) {"
                                 "    y[get_global_id(0)] = 2 * x[get_global_id(0)]; }";
    const cls_launch shape = cls_launch_1d(N * N);
    const cls_arg args[] = {cls_arg_buffer(w->in), cls_arg_buffer(w->out)};
    cls_program program;
    cls_kernel kernel;
    OK(cls_program_from_source(w->context, source, NULL, NULL, &program));
    OK(cls_kernel_create(program, "twice", &kernel));
    OK(cls_kernel_register(kernel, "twice"));
    OK(cls_kernel_launch_async(kernel, &shape, args, 2, w->stream));
    OK(cls_kernel_destroy(kernel));
    OK(cls_program_destroy(program));
}

static void operations(const struct wrapped *w) {
    float least;
    OK(cls_unary_param_async(CLS_UNARY_ADD_SCALAR, in_of(w), out_of(w), 1, w->stream));
    OK(cls_reduce(CLS_REDUCE_MIN, out_of(w), &least, w->stream));
    assert_true(least == 1);
}

/* CLBlast's, beside those of another context, which stays. Its products would take long to compile. */
static void vector_operations(const struct wrapped *w) {
    const cls_vector x = cls_vector_of(w->in, CLS_F32, N), y = cls_vector_of(w->out, CLS_F32, N);
    const cls_buffer cells = rig_cells(N);
    if (!cls_blas_available())
        return;
    OK(cls_scal(2, cls_vector_of(cells, CLS_F32, N), NULL));
    OK(cls_buffer_destroy(cells));
    OK(cls_axpy(2, x, y, w->stream));
    OK(cls_scal(2, y, w->other));
}

static void batches(const struct wrapped *w) {
    cls_batch batch;
    cls_value x, y;
    OK(cls_batch_create(w->context, NULL, &batch));
    OK(cls_batch_array(batch, in_of(w), &x));
    OK(cls_batch_unary(batch, CLS_UNARY_NEG, x, &y));
    OK(cls_batch_store(batch, y, out_of(w)));
    OK(cls_batch_execute_async(batch, w->stream));
    OK(cls_batch_destroy(batch));
}

static void stream_ordered_memory(const struct wrapped *w) {
    cls_mempool pool;
    cls_buffer first, second;
    OK(cls_mempool_create(w->context, NULL, &pool));
    OK(cls_malloc_async(w->stream, BYTES, &first));
    OK(cls_mempool_malloc_async(pool, w->other, BYTES, &second));
    OK(cls_copy_d2d_async(first, 0, w->in, 0, BYTES, w->stream));
    OK(cls_free_async(first, w->stream));
    OK(cls_free_async(second, w->other));
    OK(cls_mempool_destroy(pool));
}

static void unified_memory(const struct wrapped *w) {
    cls_managed_kind kind;
    cls_buffer shared;
    OK(cls_managed_get_kind(w->context, &kind));
    if (kind == CLS_MANAGED_NONE)
        return;
    OK(cls_managed_alloc(w->context, BYTES, &shared, NULL));
    OK(cls_prefetch_async(shared, CLS_TO_DEVICE, w->other));
    OK(cls_copy_d2d_async(shared, 0, w->out, 0, BYTES, w->other));
    OK(cls_buffer_destroy(shared));
}

static void waits(const struct wrapped *w) {
    cls_stream elsewhere = rig_stream();
    cls_timeline timeline;
    cls_event event;
    cl_event handed;
    OK(cls_event_create(w->context, NULL, &event));
    OK(cls_timeline_create(NULL, &timeline));
    OK(cls_stream_wait_cl(w->stream, own.event));
    OK(cls_event_record(event, w->stream));
    OK(cls_stream_wait_event(w->other, event));
    OK(cls_stream_wait_event(elsewhere, event));
    OK(cls_event_wait_cl(event, CLS_FOREVER, &handed));
    assert_int_equal(clReleaseEvent(handed), CL_SUCCESS);
    OK(cls_stream_signal_timeline(w->other, timeline, 1));
    OK(cls_stream_wait_timeline(elsewhere, timeline, 1));
    OK(cls_stream_synchronize(elsewhere));
    OK(cls_event_destroy(event));
    OK(cls_timeline_destroy(timeline));
    OK(cls_stream_destroy(elsewhere));
}

static void no_work(void *arg) { (void)arg; }

static cl_int enqueue(cl_command_queue queue, void *arg) {
    static const float zero;
    return clEnqueueFillBuffer(queue, arg, &zero, sizeof zero, 0, BYTES, 0, NULL, NULL);
}

static cl_int refuse(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return CL_INVALID_VALUE;
}

static void host_functions(const struct wrapped *w) {
    OK(cls_stream_launch_host_async(w->stream, no_work, NULL));
    OK(cls_stream_foreign_async(w->stream, NULL, enqueue, own.memory));
    OK(cls_stream_foreign_async(w->other, NULL, enqueue, own.memory));
}

static void failures(const struct wrapped *w) {
    cls_event event;
    OK(cls_event_create(w->context, NULL, &event));
    OK(cls_stream_foreign_async(w->other, NULL, refuse, NULL));
    OK(cls_event_record(event, w->other));
    EXPECT(CLS_ERROR_COMMAND_FAILED, cls_stream_synchronize(w->other));
    OK(cls_stream_reset(w->other));
    OK(cls_copy_d2d_async(w->out, 0, w->in, 0, BYTES, w->other));
    OK(cls_stream_wait_event(w->stream, event));
    OK(cls_event_destroy(event));
}

/* Which makes queues with profiling, in place of those of the streams, and outlives the context. */
static cls_profiler profiler;

static void profiles(const struct wrapped *w) {
    OK(cls_profiler_create(NULL, &profiler));
    OK(cls_profiler_start(profiler));
    copies(w);
    operations(w);
    OK(cls_profiler_stop(profiler));
}

static cls_status run_task(cls_stream stream, void *arg) {
    const struct wrapped *w = arg;
    return cls_copy_d2d_async(w->out, 0, w->in, 0, BYTES, stream);
}

static void tasks(const struct wrapped *w) {
    cls_coordinator coordinator;
    cls_task_graph graph;
    cls_task task = CLS_TASK_INIT;
    task.fn = run_task;
    task.arg = (void *)(uintptr_t)w;
    OK(cls_coordinator_create(NULL, &coordinator));
    OK(cls_coordinator_add_stream(coordinator, w->stream, NULL));
    OK(cls_coordinator_add_stream(coordinator, w->other, NULL));
    OK(cls_coordinator_add_dependency(coordinator, w->other, w->stream));
    OK(cls_task_graph_create(coordinator, &graph));
    OK(cls_task_graph_add(graph, &task, NULL));
    OK(cls_task_graph_run(graph));
    OK(cls_coordinator_barrier(coordinator));
    OK(cls_task_graph_destroy(graph));
    OK(cls_coordinator_destroy(coordinator));
}

static void pools(const struct wrapped *w) {
    cls_pool pool;
    cls_stream stream;
    OK(cls_pool_create(w->context, NULL, &pool));
    OK(cls_pool_get(pool, &stream));
    OK(cls_copy_d2d_async(w->out, 0, w->in, 0, BYTES, stream));
    OK(cls_pool_destroy(pool));
}

static void rings(const struct wrapped *w) {
    cls_triple_buffer ring;
    cls_slot slot;
    OK(cls_triple_buffer_create(w->context, BYTES, NULL, &ring));
    OK(cls_triple_buffer_upload_slot(ring, w->stream, &slot));
    OK(cls_copy_d2d_async(slot.buffer, 0, w->in, 0, BYTES, w->stream));
    OK(cls_triple_buffer_process_slot(ring, w->other, &slot));
    OK(cls_triple_buffer_destroy(ring));
}

static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    (void)arg;
    memset(memory, 0, capacity);
    *bytes = index < 4 ? capacity : 0;
    return CLS_SUCCESS;
}

static void loaders(const struct wrapped *w) {
    cls_prefetcher prefetcher;
    cls_prefetched batch;
    OK(cls_prefetcher_create(w->context, BYTES, load, NULL, NULL, &prefetcher));
    OK(cls_prefetcher_next(prefetcher, w->stream, &batch));
    OK(cls_copy_d2d_async(w->out, 0, batch.buffer, 0, BYTES, w->stream));
    OK(cls_prefetcher_destroy(prefetcher));
}

static cls_status stage(const cls_stage_run *run, void *arg) {
    const struct wrapped *w = arg;
    return cls_copy_d2d_async(run->outputs[0], 0, w->in, 0, BYTES, run->stream);
}

static void pipelines(const struct wrapped *w) {
    static const char *const names[] = {"out"};
    cls_pipeline pipeline;
    cls_stage first = CLS_STAGE_INIT;
    first.name = "copy";
    first.outputs = names;
    first.n_outputs = 1;
    first.fn = stage;
    first.arg = (void *)(uintptr_t)w;
    OK(cls_pipeline_create(w->context, NULL, &pipeline));
    OK(cls_pipeline_add_buffer(pipeline, names[0], BYTES, NULL, CLS_PIPELINE_INTERNAL));
    OK(cls_pipeline_add_stage(pipeline, &first));
    OK(cls_pipeline_execute_iteration(pipeline));
    OK(cls_pipeline_destroy(pipeline));
}

static void groups(const struct wrapped *w) {
    const cls_context contexts[] = {w->context, rig.context};
    cls_device_group group;
    const cls_buffer cells = rig_cells(N * N);
    const cls_device_range from = {0, w->in, 0}, to = {1, cells, 0};
    OK(cls_device_group_create(contexts, 2, NULL, &group));
    OK(cls_device_group_copy_async(group, to, from, BYTES));
    OK(cls_device_group_destroy(group));
    OK(cls_buffer_destroy(cells));
}

/* --- */

/* Where releases of queues hang, the library releases one when it lets go of another, a second later at the earliest. */
static void release_rested_queues(void) {
    if (rig_has_quirk("queue_release_hangs"))
        OK(cls_stream_destroy(rig_own_stream()));
}

static void check(void **state) {
    void (*const *use)(const struct wrapped *w) = *state;
    struct wrapped w;
    make_own();
    const struct counts before = count();
    wrap(&w);
    (*use)(&w);
    unwrap(&w);
    struct counts after = count();
    const double until = now_ms() + patience(20) * 1000;
    while (!same(&before, &after) && now_ms() < until) {
        nap_ms(5);
        release_rested_queues();
        after = count();
    }
    if (!same(&before, &after))
        fail_msg("references before and after: context %u, %u; queue %u, %u; memory %u, %u; event "
                 "%u, %u",
                 before.context, after.context, before.queue, after.queue, before.memory,
                 after.memory, before.event, after.event);
    if (profiler)
        OK(cls_profiler_destroy(profiler));
    profiler = NULL;
    release_own();
}

#define USE(name) \
    { #name, name }
static struct use {
    const char *name;
    void (*run)(const struct wrapped *w);
} uses[] = {USE(nothing),           USE(copies),   USE(kernels), USE(operations),
            USE(vector_operations), USE(batches),  USE(waits),   USE(stream_ordered_memory),
            USE(unified_memory),    USE(failures), USE(tasks),   USE(host_functions),
            USE(profiles),          USE(pools),    USE(rings),   USE(loaders),
            USE(pipelines),         USE(groups)};

enum { USES = sizeof uses / sizeof *uses };

static int setup(void **state) {
    return rig_setup(state) || cls_context_get_cl(rig.context, NULL, &own.device);
}

int main(void) {
    struct CMUnitTest tests[USES];
    for (int i = 0; i < USES; i++)
        tests[i] = (struct CMUnitTest){uses[i].name, check, NULL, NULL, &uses[i].run};
    return _cmocka_run_group_tests("wrapped objects", tests, USES, setup, rig_teardown);
}

/* SPDX-License-Identifier: MIT */
/* The objects that hostile calls name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostile.h"

struct stock stock;

const char stock_source[] = "kernel void put(global uint *out, uint value) {\n"
                            "    out[get_global_id(0)] = value;\n"
                            "}\n";

/* --- regions --- */

enum { PATTERN = 0x5a };

static struct region { unsigned char bytes[REGION]; } regions[MAX_ARGS], pristine[MAX_ARGS];

void *region(unsigned slot) { return regions[slot].bytes; }

void region_set(unsigned slot, const void *from, size_t bytes) {
    memcpy(regions[slot].bytes, from, bytes);
    memcpy(pristine[slot].bytes, from, bytes);
}

void regions_poison(void) {
    memset(regions, PATTERN, sizeof regions);
    memset(pristine, PATTERN, sizeof pristine);
}

bool regions_untouched(void) { return !memcmp(regions, pristine, sizeof regions); }

/* --- objects --- */

static cls_status make_context(cls_context context, void **out) {
    cls_context made = NULL;
    (void)context;
    cls_status status = cls_context_create(NULL, &made);
    *out = made;
    return status;
}

static cls_status make_stream(cls_context context, void **out) {
    cls_stream made = NULL;
    cls_status status = cls_stream_create(context, NULL, &made);
    *out = made;
    return status;
}

static cls_status make_event(cls_context context, void **out) {
    cls_event made = NULL;
    cls_status status = cls_event_create(context, NULL, &made);
    *out = made;
    return status;
}

static cls_status make_buffer(cls_context context, void **out) {
    cls_buffer made = NULL;
    cls_status status = cls_buffer_create(context, BUFFER_BYTES, &made);
    *out = made;
    return status;
}

static cls_status make_image(cls_context context, void **out) {
    const cls_image_shape shape = {
        CLS_IMAGE_2D, {CLS_CHANNELS_RGBA, CLS_CHANNEL_U8}, CLS_ACCESS_UNKNOWN, 4, 4, 1};
    cls_image made = NULL;
    cls_status status = cls_image_create(context, &shape, &made);
    *out = made;
    return status;
}

static cls_status make_program(cls_context context, void **out) {
    cls_program made = NULL;
    cls_status status = cls_program_from_source(context, stock_source, NULL, NULL, &made);
    *out = made;
    return status;
}

static cls_status make_kernel(cls_context context, void **out) {
    void *program;
    cls_kernel made = NULL;
    cls_status status = make_program(context, &program);
    if (!status)
        status = cls_kernel_create(program, "put", &made);
    *out = made;
    return status ? status : cls_program_destroy(program);
}

static cls_status make_timeline(cls_context context, void **out) {
    cls_timeline made = NULL;
    (void)context;
    cls_status status = cls_timeline_create(NULL, &made);
    *out = made;
    return status;
}

/* With the stream that good values name in its set. */
static cls_status make_coordinator(cls_context context, void **out) {
    cls_coordinator made = NULL;
    (void)context;
    cls_status status = cls_coordinator_create(NULL, &made);
    *out = made;
    return status ? status : cls_coordinator_add_stream(made, stock.handles[STREAM].live, NULL);
}

static cls_status make_batch(cls_context context, void **out) {
    cls_batch made = NULL;
    cls_status status = cls_batch_create(context, NULL, &made);
    *out = made;
    return status;
}

static cls_status make_profiler(cls_context context, void **out) {
    cls_profiler made = NULL;
    (void)context;
    cls_status status = cls_profiler_create(NULL, &made);
    *out = made;
    return status;
}

static cls_status make_profile(cls_context context, void **out) {
    void *profiler;
    cls_profile made = NULL;
    cls_status status = make_profiler(context, &profiler);
    if (!status)
        status = cls_profiler_snapshot(profiler, &made);
    *out = made;
    return status ? status : cls_profiler_destroy(profiler);
}

static cls_status make_task_graph(cls_context context, void **out) {
    cls_task_graph made = NULL;
    (void)context;
    cls_status status = cls_task_graph_create(stock.handles[COORDINATOR].live, &made);
    *out = made;
    return status;
}

static cls_status make_mempool(cls_context context, void **out) {
    cls_mempool made = NULL;
    cls_status status = cls_mempool_create(context, NULL, &made);
    *out = made;
    return status;
}

static cls_status make_ring(cls_context context, void **out) {
    cls_triple_buffer made = NULL;
    cls_status status = cls_triple_buffer_create(context, BUFFER_BYTES, NULL, &made);
    *out = made;
    return status;
}

static cls_status make_async(cls_context context, void **out) {
    cls_async_coordinator made = NULL;
    cls_status status = cls_async_coordinator_create(context, NULL, &made);
    *out = made;
    return status;
}

static cls_status make_prefetcher(cls_context context, void **out) {
    cls_prefetcher made = NULL;
    cls_status status =
        cls_prefetcher_create(context, COPY_BYTES, hostile_load(), NULL, NULL, &made);
    *out = made;
    return status;
}

static cls_status make_pipeline(cls_context context, void **out) {
    cls_pipeline made = NULL;
    cls_status status = cls_pipeline_create(context, NULL, &made);
    *out = made;
    return status;
}

static cls_status make_managed(cls_context context, void **out) {
    cls_managed_context made = NULL;
    (void)context;
    cls_status status = cls_managed_context_create(NULL, 1, &made);
    *out = made;
    return status;
}

static cls_status make_pool(cls_context context, void **out) {
    cls_pool made = NULL;
    cls_status status = cls_pool_create(context, NULL, &made);
    *out = made;
    return status;
}

static cls_status make_device_group(cls_context context, void **out) {
    cls_device_group_config config = CLS_DEVICE_GROUP_CONFIG_INIT;
    cls_device_group made = NULL;
    config.chunk_bytes = COPY_BYTES;
    cls_status status = cls_device_group_create(&context, 1, &config, &made);
    *out = made;
    return status;
}

static cls_status make_random(cls_context context, void **out) {
    cls_random made = NULL;
    cls_status status = cls_random_create(context, 1, &made);
    *out = made;
    return status;
}

/* Of a parameter whose memory it keeps. */
static cls_status make_optimizer(cls_context context, void **out) {
    cls_buffer buffer;
    cls_optimizer made = NULL;
    cls_status status = cls_buffer_create(context, BUFFER_BYTES, &buffer);
    if (status)
        return status;
    const cls_array parameter = cls_array_of(buffer, CLS_F32, VIEW_COUNT);
    status = cls_optimizer_create(context, NULL, &parameter, 1, &made);
    *out = made;
    const cls_status destroyed = cls_buffer_destroy(buffer);
    return status ? status : destroyed;
}

/* Of as many complex numbers as a view has room for. */
static cls_status make_fft_plan(cls_context context, void **out) {
    cls_fft_config config = CLS_FFT_CONFIG_INIT;
    cls_fft_plan made = NULL;
    config.lengths[0] = VIEW_COUNT / 2;
    cls_status status = cls_fft_plan_create(context, &config, &made);
    *out = made;
    return status;
}

static cls_status destroy_context(void *handle) { return cls_context_destroy(handle); }
/* Of one fill, of a buffer that goes with the graph. */
static cls_status make_graph(cls_context context, void **out) {
    const uint32_t nine = 9;
    cls_stream stream;
    cls_buffer buffer;
    cls_graph made = NULL;
    cls_status status = cls_stream_create(context, NULL, &stream);
    if (!status)
        status = cls_buffer_create(context, BUFFER_BYTES, &buffer);
    if (!status)
        status = cls_stream_begin_capture(stream, "stock");
    if (!status)
        status = cls_fill_async(buffer, 0, BUFFER_BYTES, &nine, sizeof nine, stream);
    if (!status)
        status = cls_stream_end_capture(stream, &made);
    *out = made;
    if (!status)
        status = cls_buffer_destroy(buffer);
    return status ? status : cls_stream_destroy(stream);
}

static cls_status make_graph_exec(cls_context context, void **out) {
    void *graph;
    cls_graph_exec made = NULL;
    cls_status status = make_graph(context, &graph);
    if (!status)
        status = cls_graph_instantiate(graph, NULL, &made);
    *out = made;
    return status ? status : cls_graph_destroy(graph);
}

static cls_status destroy_graph(void *handle) { return cls_graph_destroy(handle); }
static cls_status destroy_graph_exec(void *handle) { return cls_graph_exec_destroy(handle); }
static cls_status destroy_stream(void *handle) { return cls_stream_destroy(handle); }
static cls_status destroy_event(void *handle) { return cls_event_destroy(handle); }
static cls_status destroy_buffer(void *handle) { return cls_buffer_destroy(handle); }
static cls_status destroy_image(void *handle) { return cls_image_destroy(handle); }
static cls_status destroy_program(void *handle) { return cls_program_destroy(handle); }
static cls_status destroy_kernel(void *handle) { return cls_kernel_destroy(handle); }
static cls_status destroy_batch(void *handle) { return cls_batch_destroy(handle); }
static cls_status destroy_mempool(void *handle) { return cls_mempool_destroy(handle); }
static cls_status destroy_timeline(void *handle) { return cls_timeline_destroy(handle); }
static cls_status destroy_coordinator(void *handle) { return cls_coordinator_destroy(handle); }
static cls_status destroy_task_graph(void *handle) { return cls_task_graph_destroy(handle); }
static cls_status destroy_pool(void *handle) { return cls_pool_destroy(handle); }
static cls_status destroy_profiler(void *handle) { return cls_profiler_destroy(handle); }
static cls_status destroy_profile(void *handle) { return cls_profile_destroy(handle); }
static cls_status destroy_ring(void *handle) { return cls_triple_buffer_destroy(handle); }
static cls_status destroy_async(void *handle) { return cls_async_coordinator_destroy(handle); }
static cls_status destroy_prefetcher(void *handle) { return cls_prefetcher_destroy(handle); }
static cls_status destroy_pipeline(void *handle) { return cls_pipeline_destroy(handle); }
static cls_status destroy_device_group(void *handle) { return cls_device_group_destroy(handle); }
static cls_status destroy_random(void *handle) { return cls_random_destroy(handle); }
static cls_status destroy_fft_plan(void *handle) { return cls_fft_plan_destroy(handle); }
static cls_status destroy_optimizer(void *handle) { return cls_optimizer_destroy(handle); }
static cls_status destroy_managed(void *handle) { return cls_managed_context_destroy(handle); }

const struct handle_row handle_rows[HANDLE_TYPES] = {
    [CONTEXT] = {"context", make_context, destroy_context, true},
    [STREAM] = {"stream", make_stream, destroy_stream, false},
    [EVENT] = {"event", make_event, destroy_event, false},
    [BUFFER] = {"buffer", make_buffer, destroy_buffer, false},
    [IMAGE] = {"image", make_image, destroy_image, false},
    [PROGRAM] = {"program", make_program, destroy_program, false},
    [KERNEL] = {"kernel", make_kernel, destroy_kernel, false},
    [TIMELINE] = {"timeline", make_timeline, destroy_timeline, true},
    [COORDINATOR] = {"coordinator", make_coordinator, destroy_coordinator, true},
    [POOL] = {"pool", make_pool, destroy_pool, false},
    [TASK_GRAPH] = {"task_graph", make_task_graph, destroy_task_graph, true},
    [BATCH] = {"batch", make_batch, destroy_batch, false},
    [PROFILER] = {"profiler", make_profiler, destroy_profiler, true},
    [PROFILE] = {"profile", make_profile, destroy_profile, true},
    [MEMPOOL] = {"mempool", make_mempool, destroy_mempool, false},
    [TRIPLE_BUFFER] = {"triple_buffer", make_ring, destroy_ring, false},
    [ASYNC] = {"async", make_async, destroy_async, false},
    [PREFETCHER] = {"prefetcher", make_prefetcher, destroy_prefetcher, false},
    [PIPELINE] = {"pipeline", make_pipeline, destroy_pipeline, false},
    [MANAGED] = {"managed", make_managed, destroy_managed, true},
    [DEVICE_GROUP] = {"device_group", make_device_group, destroy_device_group, false},
    [RANDOM] = {"random", make_random, destroy_random, false},
    [OPTIMIZER] = {"optimizer", make_optimizer, destroy_optimizer, false},
    [FFT_PLAN] = {"fft_plan", make_fft_plan, destroy_fft_plan, false},
    [GRAPH] = {"graph", make_graph, destroy_graph, false},
    [GRAPH_EXEC] = {"graph_exec", make_graph_exec, destroy_graph_exec, false},
};

static bool make_handles(enum handle_type type, cls_context gone) {
    const struct handle_row *row = &handle_rows[type];
    struct handles *of = &stock.handles[type];
    const cls_status status = row->make(stock.handles[CONTEXT].live, &of->live);
    if (status == CLS_ERROR_UNSUPPORTED) /* by the device: calls on such objects are not tried */
        return true;
    return !status && !row->make(stock.handles[CONTEXT].foreign, &of->foreign) &&
           !row->make(stock.handles[CONTEXT].live, &of->stale) && !row->destroy(of->stale) &&
           (row->stands_alone || !row->make(gone, &of->orphan));
}

static bool make_all_handles(void) {
    struct handles *contexts = &stock.handles[CONTEXT];
    if (make_context(NULL, &contexts->live) || make_context(NULL, &contexts->foreign) ||
        make_context(NULL, &contexts->stale))
        return false;
    for (int type = CONTEXT + 1; type < HANDLE_TYPES; type++)
        if (!make_handles((enum handle_type)type, contexts->stale))
            return false;
    return pointers_make() && !cls_context_destroy(contexts->stale);
}

static void destroy_all_handles(void) {
    for (int type = HANDLE_TYPES - 1; type >= 0; type--) {
        const struct handles *of = &stock.handles[type];
        handle_rows[type].destroy(of->live);
        handle_rows[type].destroy(of->foreign);
        if (of->orphan)
            handle_rows[type].destroy(of->orphan);
    }
}

static cl_int fail(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return CL_OUT_OF_RESOURCES;
}

static bool make_states(cls_context home, cls_stream stream) {
    cls_event_config timed = CLS_EVENT_CONFIG_INIT;
    timed.timed = 1;
    return !cls_buffer_create(home, BUFFER_BYTES, &stock.from) &&
           !cls_managed_context_make_triple_buffer(stock.handles[MANAGED].live, BUFFER_BYTES, NULL,
                                                   &stock.ring) &&
           !cls_stream_create(home, NULL, &stock.poisoned) &&
           !cls_stream_foreign_async(stock.poisoned, "failing", fail, NULL) &&
           cls_stream_synchronize(stock.poisoned) == CLS_ERROR_COMMAND_FAILED &&
           !cls_event_create(home, &timed, &stock.timed) &&
           !cls_event_create(home, &timed, &stock.unrecorded) &&
           !cls_event_create(home, NULL, &stock.untimed) &&
           !cls_event_record(stock.timed, stream) && !cls_event_record(stock.untimed, stream) &&
           !cls_stream_synchronize(stream) &&
           !cls_context_default_stream(home, &stock.default_stream) &&
           !cls_context_default(&stock.default_context) &&
           !cls_host_alloc(home, COPY_BYTES, &stock.pinned) && batches_make();
}

static bool make_cl(cls_context home, cls_context other) {
    cl_int status;
    if (cls_context_get_cl(other, &stock.cl_context, &stock.cl_device) ||
        cls_context_get_cl(home, &stock.cl_foreign, NULL) ||
        cls_buffer_get_cl(stock.handles[BUFFER].foreign, &stock.cl_mem) ||
        cls_buffer_get_cl(stock.from, &stock.cl_foreign_mem) ||
        cls_program_get_cl(stock.handles[PROGRAM].foreign, &stock.cl_program) ||
        cls_program_get_cl(stock.handles[PROGRAM].live, &stock.cl_foreign_program) ||
        cls_event_get_cl(stock.timed, &stock.cl_event))
        return false;
    stock.cl_queue = clCreateCommandQueue(stock.cl_context, stock.cl_device, 0, &status);
    if (status)
        return false;
    stock.cl_foreign_queue = clCreateCommandQueue(stock.cl_foreign, stock.cl_device, 0, &status);
    return !status;
}

static bool make_file(void) {
    const ssize_t length = (ssize_t)strlen(stock_source);
    snprintf(stock.path, sizeof stock.path, "/tmp/clstream-test-XXXXXX");
    const int file = mkstemp(stock.path);
    const bool written = file >= 0 && write(file, stock_source, (size_t)length) == length;
    return file >= 0 && close(file) == 0 && written;
}

/* Whether the device's rounding is trusted with a sum. */
static bool computes_floats(void) {
    return cls_reduce_async(CLS_REDUCE_SUM, cls_array_of(stock.handles[BUFFER].live, CLS_F32, 4),
                            cls_array_of(stock.from, CLS_F32, 1), NULL) != CLS_ERROR_UNSUPPORTED;
}

bool stock_make(void) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    if (!make_file() || !make_all_handles())
        return false;
    cls_context home = stock.handles[CONTEXT].live, other = stock.handles[CONTEXT].foreign;
    if (!make_states(home, stock.handles[STREAM].live) || !make_cl(home, other) ||
        cls_context_get_device(home, &stock.device) || cls_device_get_info(stock.device, &info))
        return false;
    stock.max_allocation = (size_t)info.max_allocation;
    stock.has_fp64 = info.has_fp64;
    stock.has_floats = computes_floats();
    return true;
}

void stock_free(void) {
    unlink(stock.path);
    clReleaseCommandQueue(stock.cl_queue);
    clReleaseCommandQueue(stock.cl_foreign_queue);
    clReleaseEvent(stock.cl_event);
    cls_host_free(stock.pinned);
    cls_event_destroy(stock.timed);
    cls_event_destroy(stock.untimed);
    cls_event_destroy(stock.unrecorded);
    cls_stream_destroy(stock.poisoned);
    cls_buffer_destroy(stock.from);
    cls_triple_buffer_destroy(stock.ring);
    destroy_all_handles();
}

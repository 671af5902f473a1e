/* SPDX-License-Identifier: MIT */
#include "scenario.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <clstream/opencl.h>

enum { WORDS = 64, BYTES = WORDS * 4, STREAMS = 3, AREAS = 16 };

static const char source[] = "kernel void scale(global uint *x, uint factor, uint add) {\n"
                             "    size_t i = get_global_id(0);\n"
                             "    x[i] = x[i] * factor + add;\n"
                             "}\n";

static void nothing(void) {}

void (*scenario_relent)(void) = nothing;

/* Counts what did not succeed; true when it did. */
static bool ok(struct run *run, cls_status status) {
    if (status == CLS_SUCCESS)
        return true;
    if (!run->errors++)
        run->first = status;
    return false;
}

static void expect(struct run *run, bool right, const char *what) {
    if (right || run->errors || run->wrong)
        return;
    run->wrong = true;
    run->what = what;
}

/* --- the objects that most scenarios use --- */

/* A failed wait leaves a copy on its way, so each run has host memory of its own for a while. */
struct area {
    uint32_t in[WORDS], out[WORDS];
};

static struct area areas[AREAS];

static struct area *fresh_area(void) {
    static unsigned turn;
    struct area *area = &areas[turn++ % AREAS];
    for (unsigned i = 0; i < WORDS; i++) {
        area->in[i] = i * 3 + 1;
        area->out[i] = 0xdeadbeef;
    }
    return area;
}

struct world {
    cls_context context;
    cls_stream streams[STREAMS];
    cls_buffer a, b;
    cls_event event;
    cls_program program;
    cls_kernel kernel;
    struct area *area;
};

static bool open_stream(struct run *run, struct world *world, unsigned i,
                        const cls_stream_config *config) {
    return ok(run, cls_stream_create(world->context, config, &world->streams[i]));
}

static bool open_buffers(struct run *run, struct world *world) {
    return ok(run, cls_buffer_create(world->context, BYTES, &world->a)) &&
           ok(run, cls_buffer_create(world->context, BYTES, &world->b));
}

static void world_init(struct world *world) {
    memset(world, 0, sizeof *world);
    world->area = fresh_area();
}

static bool world_open(struct run *run, struct world *world, unsigned streams) {
    world_init(world);
    bool good = ok(run, cls_context_create(NULL, &world->context)) && open_buffers(run, world) &&
                ok(run, cls_event_create(world->context, NULL, &world->event));
    for (unsigned i = 0; i < streams && good; i++)
        good = open_stream(run, world, i, NULL);
    return good;
}

static bool open_kernel(struct run *run, struct world *world) {
    return ok(run,
              cls_program_from_source(world->context, source, "scale.cl", NULL, &world->program)) &&
           ok(run, cls_kernel_create(world->program, "scale", &world->kernel));
}

static void world_close(struct run *run, struct world *world) {
    if (world->kernel)
        ok(run, cls_kernel_destroy(world->kernel));
    if (world->program)
        ok(run, cls_program_destroy(world->program));
    if (world->event)
        ok(run, cls_event_destroy(world->event));
    for (unsigned i = 0; i < STREAMS; i++)
        if (world->streams[i])
            ok(run, cls_stream_destroy(world->streams[i]));
    if (world->a)
        ok(run, cls_buffer_destroy(world->a));
    if (world->b)
        ok(run, cls_buffer_destroy(world->b));
    if (world->context)
        ok(run, cls_context_destroy(world->context));
}

static bool launch(struct run *run, const struct world *world, cls_buffer x, uint32_t factor,
                   uint32_t add, cls_stream stream) {
    const cls_arg args[] = {cls_arg_buffer(x), cls_arg_u32(factor), cls_arg_u32(add)};
    const cls_launch shape = cls_launch_1d(WORDS);
    return ok(run, cls_kernel_launch_async(world->kernel, &shape, args, 3, stream));
}

static bool upload(struct run *run, const struct world *world, cls_buffer to, cls_stream stream) {
    return ok(run, cls_copy_h2d_async(to, 0, world->area->in, BYTES, stream));
}

static bool download(struct run *run, const struct world *world, cls_buffer from,
                     cls_stream stream) {
    return ok(run, cls_copy_d2h_async(world->area->out, from, 0, BYTES, stream));
}

/* Whether out = in * factor + add. */
static void expect_scaled(struct run *run, const struct world *world, uint32_t factor,
                          uint32_t add) {
    bool right = true;
    for (unsigned i = 0; i < WORDS; i++)
        right = right && world->area->out[i] == world->area->in[i] * factor + add;
    expect(run, right, "the data");
}

static bool synchronize(struct run *run, cls_stream stream) {
    return ok(run, cls_stream_synchronize(stream));
}

/* --- scenarios --- */

static void create_and_destroy(struct run *run) {
    struct world world;
    cls_event timed = NULL;
    void *pinned = NULL;
    const cls_event_config config = {sizeof config, 1};
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

static void rectangles(struct run *run) {
    struct world world;
    const cls_rect rect = {16, 8, 0, 32, 0, 32}; /* half of each row of 32 bytes */
    const uint32_t zero = 0;
    if (world_open(run, &world, 1)) {
        cls_stream stream = world.streams[0];
        if (ok(run, cls_fill_async(world.a, 0, BYTES, &zero, 4, stream)) &&
            ok(run, cls_fill_async(world.b, 0, BYTES, &zero, 4, stream)) &&
            ok(run, cls_copy_rect_h2d_async(world.a, world.area->in, &rect, stream)) &&
            ok(run, cls_copy_rect_d2d_async(world.b, world.a, &rect, stream)) &&
            ok(run, cls_copy_rect_d2h_async(world.area->out, world.b, &rect, stream)) &&
            synchronize(run, stream))
            expect(run, world.area->out[9] == world.area->in[9] && world.area->out[4] == 0xdeadbeef,
                   "the rectangle");
    }
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

static void timed_events(struct run *run) {
    struct world world;
    cls_event from = NULL, to = NULL;
    const cls_event_config config = {sizeof config, 1};
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

static _Atomic unsigned host_calls, callback_calls;

static void on_host(void *arg) {
    (void)arg;
    atomic_fetch_add(&host_calls, 1);
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
        float sum = 0;
        if (ok(run, cls_reduce(CLS_REDUCE_SUM, to, &sum, stream)))
            expect(run, sum == 6112, "the sum");
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

/* --- the caller's own OpenCL objects --- */

static bool cl_ok(struct run *run, cl_int code) {
    return ok(run, code == CL_SUCCESS ? CLS_SUCCESS : CLS_ERROR_DRIVER);
}

struct own {
    cl_context context;
    cl_command_queue queue;
    cl_mem memory;
    cl_event gate;
};

static bool own_open(struct run *run, struct own *own) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int code = CL_SUCCESS;
    memset(own, 0, sizeof *own);
    if (!cl_ok(run, clGetPlatformIDs(1, &platform, NULL)) ||
        !cl_ok(run, clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)))
        return false;
    own->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (!cl_ok(run, code))
        return false;
    own->queue = clCreateCommandQueue(own->context, device, 0, &code);
    if (!cl_ok(run, code))
        return false;
    own->memory = clCreateBuffer(own->context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    if (!cl_ok(run, code))
        return false;
    own->gate = clCreateUserEvent(own->context, &code);
    return cl_ok(run, code);
}

static void own_close(struct own *own) {
    scenario_relent(); /* a gate that cannot be opened would strand those who wait for it */
    if (own->gate) {
        clSetUserEventStatus(own->gate, CL_COMPLETE);
        clReleaseEvent(own->gate);
    }
    if (own->memory)
        clReleaseMemObject(own->memory);
    if (own->queue)
        clReleaseCommandQueue(own->queue);
    if (own->context)
        clReleaseContext(own->context);
}

static bool own_wrap(struct run *run, const struct own *own, struct world *world) {
    cl_device_id device;
    return cl_ok(run, clGetContextInfo(own->context, CL_CONTEXT_DEVICES, sizeof device, &device,
                                       NULL)) &&
           ok(run, cls_context_wrap(own->context, device, &world->context)) &&
           ok(run, cls_buffer_wrap(world->context, own->memory, &world->a)) &&
           ok(run, cls_stream_wrap(world->context, own->queue, &world->streams[0])) &&
           ok(run, cls_event_create(world->context, NULL, &world->event));
}

static void interoperation(struct run *run) {
    struct world world;
    struct own own;
    cl_event handed = NULL;
    world_init(&world);
    if (own_open(run, &own) && own_wrap(run, &own, &world)) {
        cls_stream stream = world.streams[0];
        if (ok(run, cls_stream_wait_cl(stream, own.gate)) &&
            cl_ok(run, clSetUserEventStatus(own.gate, CL_COMPLETE)) &&
            upload(run, &world, world.a, stream) &&
            ok(run, cls_event_record(world.event, stream)) &&
            ok(run, cls_event_wait_cl(world.event, 5000000000u, &handed)) &&
            download(run, &world, world.a, stream) && synchronize(run, stream))
            expect_scaled(run, &world, 1, 0);
    }
    if (handed)
        clReleaseEvent(handed);
    own_close(&own);
    world_close(run, &world);
}

static cl_int foreign(cl_command_queue queue, void *arg) {
    const uint32_t pattern = 7;
    return clEnqueueFillBuffer(queue, (cl_mem)arg, &pattern, sizeof pattern, 0, BYTES, 0, NULL,
                               NULL);
}

static void foreign_call(struct run *run) {
    struct world world;
    cl_mem memory;
    if (world_open(run, &world, 1)) {
        cls_stream stream = world.streams[0];
        if (ok(run, cls_buffer_get_cl(world.a, &memory)) && upload(run, &world, world.a, stream) &&
            ok(run, cls_stream_foreign_async(stream, "fill by hand", foreign, memory))) {
            /* Waits in any case: the memory is only borrowed. */
            bool good = download(run, &world, world.a, stream);
            if (synchronize(run, stream) && good)
                expect(run, world.area->out[0] == 7 && world.area->out[WORDS - 1] == 7, "the fill");
        }
    }
    world_close(run, &world);
}

/* --- failure, several contexts, and haste --- */

static cl_int fail(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return CL_OUT_OF_RESOURCES;
}

static void reset_after_failure(struct run *run) {
    struct world world;
    if (world_open(run, &world, 1)) {
        cls_stream stream = world.streams[0];
        if (ok(run, cls_stream_foreign_async(stream, "to fail", fail, NULL))) {
            cls_status status = cls_stream_synchronize(stream);
            run->masked = true;
            expect(run, status == CLS_ERROR_COMMAND_FAILED, "the failure");
            if (ok(run, cls_stream_reset(stream)) && upload(run, &world, world.a, stream) &&
                download(run, &world, world.a, stream) && synchronize(run, stream))
                expect_scaled(run, &world, 1, 0);
        }
    }
    world_close(run, &world);
}

static void two_contexts(struct run *run) {
    struct world from, to;
    world_init(&to);
    if (world_open(run, &from, 1) && world_open(run, &to, 1)) {
        if (upload(run, &from, from.a, from.streams[0]) &&
            download(run, &from, from.a, from.streams[0]) &&
            ok(run, cls_event_record(from.event, from.streams[0])) &&
            ok(run, cls_stream_wait_event(to.streams[0], from.event)) &&
            upload(run, &to, to.a, to.streams[0]) && download(run, &to, to.a, to.streams[0]) &&
            synchronize(run, to.streams[0])) {
            expect_scaled(run, &from, 1, 0);
            expect_scaled(run, &to, 1, 0);
        }
    }
    world_close(run, &to);
    world_close(run, &from);
}

static void destroyed_at_work(struct run *run) {
    struct world world;
    run->masked = true; /* nobody waits, so nobody hears of what fails late */
    if (world_open(run, &world, 2) && open_kernel(run, &world)) {
        upload(run, &world, world.a, world.streams[0]);
        launch(run, &world, world.a, 3, 1, world.streams[0]);
        ok(run, cls_event_record(world.event, world.streams[0]));
        ok(run, cls_stream_wait_event(world.streams[1], world.event));
        launch(run, &world, world.a, 3, 1, world.streams[1]);
        ok(run, cls_stream_launch_host_async(world.streams[1], on_host, NULL));
        download(run, &world, world.a, world.streams[1]);
    }
    world_close(run, &world);
}

static void polled(struct run *run) {
    struct world world;
    cls_status status = CLS_NOT_READY;
    if (world_open(run, &world, 1)) {
        cls_stream stream = world.streams[0];
        if (upload(run, &world, world.a, stream) && download(run, &world, world.a, stream) &&
            ok(run, cls_event_record(world.event, stream))) {
            while (status == CLS_NOT_READY) {
                status = cls_stream_query(stream);
                sleep_us(20);
            }
            if (ok(run, status) && ok(run, cls_event_query(world.event)))
                expect_scaled(run, &world, 1, 0);
        }
    }
    world_close(run, &world);
}

const struct scenario scenarios[] = {
    {"create_and_destroy", create_and_destroy},
    {"copies", copies},
    {"rectangles", rectangles},
    {"fill_and_prefetch", fill_and_prefetch},
    {"user_kernel", user_kernel},
    {"timed_events", timed_events},
    {"cross_stream", cross_stream},
    {"host_functions", host_functions},
    {"program_cold", program_cold},
    {"program_warm", program_warm},
    {"typed_operations", typed_operations},
    {"in_order", in_order},
    {"bounded", bounded},
    {"interoperation", interoperation},
    {"foreign_call", foreign_call},
    {"reset_after_failure", reset_after_failure},
    {"two_contexts", two_contexts},
    {"destroyed_at_work", destroyed_at_work},
    {"polled", polled},
};
const unsigned n_scenarios = sizeof scenarios / sizeof *scenarios;

/* SPDX-License-Identifier: MIT */
/* Scenarios with the caller's own OpenCL objects, several contexts, failure and haste. */
#include "scenario.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <clstream/opencl.h>

#include "world.h"

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

/* A gate that cannot be opened would strand those who wait for it. */
static void own_open_gate(struct own *own) {
    scenario_relent();
    if (own->gate)
        clSetUserEventStatus(own->gate, CL_COMPLETE);
}

static void own_close(struct own *own) {
    own_open_gate(own);
    if (own->gate)
        clReleaseEvent(own->gate);
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

void interoperation(struct run *run) {
    struct world world;
    struct own own;
    cl_event handed = NULL, completed = NULL;
    world_init(&world);
    if (own_open(run, &own) && own_wrap(run, &own, &world)) {
        cls_stream stream = world.streams[0];
        if (ok(run, cls_stream_wait_cl(stream, own.gate)) &&
            cl_ok(run, clSetUserEventStatus(own.gate, CL_COMPLETE)) &&
            upload(run, &world, world.a, stream) &&
            ok(run, cls_event_record(world.event, stream)) &&
            ok(run, cls_event_wait_cl(world.event, 5000000000u, &handed)) &&
            download(run, &world, world.a, stream) && synchronize(run, stream)) {
            expect_scaled(run, &world, 1, 0);
            ok(run, cls_event_get_cl(world.event, &completed));
        }
    }
    if (handed)
        clReleaseEvent(handed);
    if (completed)
        clReleaseEvent(completed);
    own_close(&own);
    world_close(run, &world);
}

static cl_int foreign(cl_command_queue queue, void *arg) {
    const uint32_t pattern = 7;
    return clEnqueueFillBuffer(queue, (cl_mem)arg, &pattern, sizeof pattern, 0, BYTES, 0, NULL,
                               NULL);
}

/* Labels are kept for good: some runs see one that is new. */
static const char *fresh_label(void) {
    static char label[32];
    static unsigned turn;
    snprintf(label, sizeof label, "fill by hand %u", turn++ % FRESH_LABELS);
    return label;
}

void foreign_call(struct run *run) {
    struct world world;
    cl_mem memory;
    if (world_open(run, &world, 1)) {
        cls_stream stream = world.streams[0];
        if (ok(run, cls_buffer_get_cl(world.a, &memory)) && upload(run, &world, world.a, stream) &&
            ok(run, cls_stream_foreign_async(stream, fresh_label(), foreign, memory))) {
            /* Waits in any case: the memory is only borrowed. */
            bool good = download(run, &world, world.a, stream);
            if (synchronize(run, stream) && good)
                expect(run, world.area->out[0] == 7 && world.area->out[WORDS - 1] == 7, "the fill");
        }
    }
    world_close(run, &world);
}

/* --- more waits than a set or a wait list has room for --- */

enum { SOURCES = 17 };

static cl_int nothing_foreign(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return CL_SUCCESS;
}

static bool wait_for(struct run *run, const struct world *world, cls_stream source,
                     cls_stream stream) {
    return ok(run, cls_event_record(world->event, source)) &&
           ok(run, cls_stream_wait_event(stream, world->event));
}

/* The same by a coordinator, which takes its own way into the stream. */
static bool wait_by_coordinator(struct run *run, cls_stream source, cls_stream stream) {
    cls_coordinator coordinator = NULL;
    bool good = ok(run, cls_coordinator_create(NULL, &coordinator)) &&
                ok(run, cls_coordinator_add_stream(coordinator, source, NULL)) &&
                ok(run, cls_coordinator_add_stream(coordinator, stream, NULL)) &&
                ok(run, cls_coordinator_add_dependency(coordinator, stream, source)) &&
                ok(run, cls_coordinator_apply(coordinator));
    if (coordinator)
        ok(run, cls_coordinator_destroy(coordinator));
    return good;
}

/* A stream that waits for all sources at once, and one for each kind of wait. */
static bool gather(struct run *run, const struct own *own, const struct world *world,
                   const cls_stream *sources, cl_event *handed) {
    cls_stream all = world->streams[1], some = world->streams[2];
    const uint32_t seven = 7;
    bool good = true;
    for (int i = 0; i < SOURCES && good; i++)
        good = ok(run, cls_fill_async(world->a, (size_t)i * 4, 4, &seven, 4, sources[i])) &&
               wait_for(run, world, sources[i], all);
    good = good && download(run, world, world->a, all);
    for (int i = 0; i < 2 && good; i++)
        good = wait_for(run, world, sources[0], some) && wait_for(run, world, sources[1], some) &&
               (i == 0 ? wait_by_coordinator(run, sources[2], some)
                       : ok(run, cls_stream_wait_cl(some, own->gate))) &&
               ok(run, cls_stream_foreign_async(some, NULL, nothing_foreign, NULL));
    return good && ok(run, cls_event_record(world->event, all)) &&
           ok(run, cls_event_wait_cl(world->event, 5000000000u, handed));
}

/* Opens the gate when told to, or after a while: a driver that cannot say how a command stands is waited for
 * inside the library, which who should open the gate may be kept waiting by. */
enum { PATIENCE_NS = 100 * 1000 * 1000 };

struct porter {
    struct own *own;
    sem_t now;
    pthread_t thread;
    bool runs;
};

static void *open_in_time(void *arg) {
    struct porter *porter = arg;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PATIENCE_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    sem_timedwait(&porter->now, &until);
    own_open_gate(porter->own);
    return NULL;
}

static bool porter_start(struct run *run, struct porter *porter) {
    porter->runs = !pthread_create(&porter->thread, NULL, open_in_time, porter);
    return ok(run, porter->runs ? CLS_SUCCESS : CLS_ERROR_OUT_OF_MEMORY);
}

static void porter_end(struct porter *porter) {
    sem_post(&porter->now);
    if (porter->runs)
        pthread_join(porter->thread, NULL);
    else
        own_open_gate(porter->own);
    sem_destroy(&porter->now);
}

/* The sources share a queue that a gate holds until all who wait for them are with the driver. */
void many_waits(struct run *run) {
    struct world world;
    struct own own;
    struct porter porter = {.own = &own};
    cls_stream sources[SOURCES] = {NULL};
    cl_event handed = NULL;
    bool good = false;
    world_init(&world);
    sem_init(&porter.now, 0, 0);
    if (own_open(run, &own) && own_wrap(run, &own, &world) && open_stream(run, &world, 1, NULL) &&
        open_stream(run, &world, 2, NULL) && porter_start(run, &porter) &&
        cl_ok(run, clEnqueueMarkerWithWaitList(own.queue, 1, &own.gate, NULL))) {
        good = true;
        for (int i = 0; i < SOURCES && good; i++)
            good = ok(run, cls_stream_wrap(world.context, own.queue, &sources[i]));
        good = good && gather(run, &own, &world, sources, &handed);
    }
    porter_end(&porter);
    for (int i = 1; i < STREAMS; i++)
        if (world.streams[i])
            good = synchronize(run, world.streams[i]) && good;
    if (good)
        expect(run, world.area->out[0] == 7 && world.area->out[SOURCES - 1] == 7, "the fills");
    if (handed)
        clReleaseEvent(handed);
    for (int i = 0; i < SOURCES; i++)
        if (sources[i])
            ok(run, cls_stream_destroy(sources[i]));
    own_close(&own);
    world_close(run, &world);
}

/* A wait that nothing follows fails: whoever asks takes the failure over. */
void failed_wait(struct run *run) {
    struct world world;
    struct own own;
    cls_status status = CLS_NOT_READY;
    world_init(&world);
    if (own_open(run, &own) && own_wrap(run, &own, &world) && open_stream(run, &world, 1, NULL) &&
        ok(run, cls_stream_wait_cl(world.streams[1], own.gate)) &&
        cl_ok(run, clSetUserEventStatus(own.gate, CL_OUT_OF_RESOURCES))) {
        run->masked = true;
        for (int i = 0; i < 2000 && status == CLS_NOT_READY; i++) {
            status = cls_stream_query(world.streams[1]);
            sleep_us(1000);
        }
        expect(run, status < 0, "the failure");
    }
    own_close(&own);
    world_close(run, &world);
}

/* A library's calls: the first on a worker, the second where its kernels are known to be there, behind a call
 * that has left its queue last. */
void library_call(struct run *run) {
    struct world world;
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    const float two = 2;
    world_init(&world);
    config.order = CLS_ORDER_IN_ORDER;
    if (!cls_blas_available()) {
        run->nothing = "this library was built without CLBlast";
        return;
    }
    if (world_open(run, &world, 0) && open_stream(run, &world, 0, &config) &&
        open_stream(run, &world, 1, NULL)) {
        const cls_vector x = {world.a, CLS_F32, 1, WORDS / 2, 2};
        cls_stream stream = world.streams[0], other = world.streams[1];
        bool good = ok(run, cls_fill_async(world.a, 0, BYTES, &two, sizeof two, stream)) &&
                    ok(run, cls_scal_async(3, x, stream)) && synchronize(run, stream) &&
                    ok(run, cls_fill_async(world.b, 0, BYTES, &two, sizeof two, other)) &&
                    wait_for(run, &world, other, stream) &&
                    ok(run, cls_stream_foreign_async(stream, NULL, nothing_foreign, NULL)) &&
                    ok(run, cls_scal_async(0.5, x, stream)) &&
                    download(run, &world, world.a, stream);
        if (synchronize(run, stream) && good) {
            float out[2];
            memcpy(out, world.area->out, sizeof out);
            expect(run, out[0] == 2 && out[1] == 3, "the scaled vector");
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

/* Or what it met on its way to a queue. */
static bool has_failed(cls_status status) {
    return status == CLS_ERROR_COMMAND_FAILED || status == CLS_ERROR_OUT_OF_MEMORY ||
           status == CLS_ERROR_OUT_OF_DEVICE_MEMORY;
}

void reset_after_failure(struct run *run) {
    struct world world;
    if (world_open(run, &world, 1)) {
        cls_stream stream = world.streams[0];
        if (ok(run, cls_stream_foreign_async(stream, "to fail", fail, NULL))) {
            cls_status status = cls_stream_synchronize(stream);
            run->masked = true;
            expect(run, has_failed(status), "the failure");
            if (ok(run, cls_stream_reset(stream)) && upload(run, &world, world.a, stream) &&
                download(run, &world, world.a, stream) && synchronize(run, stream))
                expect_scaled(run, &world, 1, 0);
        }
    }
    world_close(run, &world);
}

/* Another stream is about to write memory of the failed one's, which reads it after the reset. */
void reset_behind_users(struct run *run) {
    struct world world;
    cls_buffer x = NULL;
    if (world_open(run, &world, 2)) {
        cls_stream own = world.streams[0], other = world.streams[1];
        if (ok(run, cls_malloc_async(own, BYTES, &x)) && nap(run, other) &&
            upload(run, &world, x, other) &&
            ok(run, cls_stream_foreign_async(own, "to fail", fail, NULL))) {
            cls_status status = cls_stream_synchronize(own);
            run->masked = true;
            expect(run, has_failed(status), "the failure");
            bool good = ok(run, cls_stream_reset(own)) && download(run, &world, x, own) &&
                        synchronize(run, own);
            if (synchronize(run, other) && good)
                expect_scaled(run, &world, 1, 0);
        }
        if (x)
            ok(run, cls_free_async(x, own));
    }
    world_close(run, &world);
}

void two_contexts(struct run *run) {
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

/* A copy there, by the stream that reads, and one back, by the stream that writes; of several chunks each, so that some
 * are on their way when a call fails. */
enum { PEER_BYTES = 9 << 20 };

static bool there_and_back(struct run *run, const struct world *near, const struct world *far,
                           cls_buffer from, cls_buffer to) {
    const uint32_t pattern = 0x01020304;
    cls_stream stream = near->streams[0];
    return ok(run, cls_fill_async(from, 0, PEER_BYTES, &pattern, 4, stream)) &&
           ok(run, cls_copy_d2d_async(to, 0, from, 0, PEER_BYTES, stream)) &&
           ok(run, cls_event_record(near->event, stream)) &&
           ok(run, cls_stream_wait_event(far->streams[0], near->event)) &&
           ok(run, cls_copy_d2d_async(near->a, 0, to, PEER_BYTES - BYTES, BYTES, stream)) &&
           ok(run, cls_copy_d2d_async(from, 0, to, 0, PEER_BYTES, far->streams[0])) &&
           download(run, far, to, far->streams[0]) && download(run, near, near->a, stream);
}

void peer_copies(struct run *run) {
    struct world near, far;
    cls_buffer from = NULL, to = NULL;
    world_init(&far);
    if (world_open(run, &near, 1) && world_open(run, &far, 1) &&
        ok(run, cls_buffer_create(near.context, PEER_BYTES, &from)) &&
        ok(run, cls_buffer_create(far.context, PEER_BYTES, &to))) {
        bool good = there_and_back(run, &near, &far, from, to);
        good = synchronize(run, near.streams[0]) && good;
        if (synchronize(run, far.streams[0]) && good)
            expect(run, near.area->out[WORDS - 1] == 0x01020304 && far.area->out[0] == 0x01020304,
                   "the copied pattern");
    }
    if (from)
        ok(run, cls_buffer_destroy(from));
    if (to)
        ok(run, cls_buffer_destroy(to));
    world_close(run, &far);
    world_close(run, &near);
}

/* --- timelines --- */

/* The second stream's wait comes before its signal; the first one's, for the other way back. */
static bool pass_on(struct run *run, struct world *world, cls_timeline to, cls_timeline back) {
    cls_stream first = world->streams[0], second = world->streams[1];
    return ok(run, cls_stream_wait_timeline(second, to, 1)) &&
           ok(run, cls_copy_d2d_async(world->b, 0, world->a, 0, BYTES, second)) &&
           ok(run, cls_stream_signal_timeline(second, back, 1)) &&
           upload(run, world, world->a, first) &&
           ok(run, cls_stream_signal_timeline(first, to, 1)) &&
           ok(run, cls_stream_wait_timeline(first, back, 1)) &&
           download(run, world, world->b, first);
}

/* A wait for itself is refused, unless there was no memory to see that, or the timeline is poisoned, which
 * ends its waits. */
static void refuse(struct run *run, cls_stream stream, cls_timeline timeline) {
    size_t length;
    cls_status status = cls_stream_wait_timeline(stream, timeline, 7);
    if (status == CLS_SUCCESS)
        expect(run, cls_timeline_query(timeline, 7) < 0, "the refusal");
    if (status == CLS_ERROR_DEADLOCK && cls_timeline_export_cycle(NULL, 0, &length))
        run->masked = true; /* drawn only where there is memory */
    else if (status != CLS_ERROR_DEADLOCK)
        ok(run, status);
}

void timelines(struct run *run) {
    struct world world;
    cls_timeline to = NULL, back = NULL;
    cls_timeline_config config = CLS_TIMELINE_CONFIG_INIT;
    char text[256];
    if (world_open(run, &world, 2)) {
        config.signaller = world.streams[0];
        if (ok(run, cls_timeline_create(&config, &to)) &&
            ok(run, cls_timeline_create(NULL, &back)) && pass_on(run, &world, to, back)) {
            refuse(run, world.streams[0], to);
            ok(run, cls_context_explain(world.context, text, sizeof text, NULL));
            if (synchronize(run, world.streams[0]) && synchronize(run, world.streams[1]))
                expect_scaled(run, &world, 1, 0);
        }
    }
    /* Who waits for a signal that did not come is freed by the end of its timeline. */
    if (to)
        ok(run, cls_timeline_destroy(to));
    if (back)
        ok(run, cls_timeline_destroy(back));
    world_close(run, &world);
}

static void do_nothing(void *arg) { (void)arg; }

void destroyed_at_work(struct run *run) {
    struct world world;
    run->masked = true; /* nobody waits, so nobody hears of what fails late */
    if (world_open(run, &world, 2) && open_kernel(run, &world)) {
        upload(run, &world, world.a, world.streams[0]);
        launch(run, &world, world.a, 3, 1, world.streams[0]);
        ok(run, cls_event_record(world.event, world.streams[0]));
        ok(run, cls_stream_wait_event(world.streams[1], world.event));
        launch(run, &world, world.a, 3, 1, world.streams[1]);
        ok(run, cls_stream_launch_host_async(world.streams[1], do_nothing, NULL));
        download(run, &world, world.a, world.streams[1]);
    }
    world_close(run, &world);
}

void polled(struct run *run) {
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

/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <string.h>

static const char source[] = "kernel void scale(global uint *x, uint factor, uint add) {\n"
                             "    size_t i = get_global_id(0);\n"
                             "    x[i] = x[i] * factor + add;\n"
                             "}\n";

static void nothing(void) {}

void (*scenario_relent)(void) = nothing;

bool ok(struct run *run, cls_status status) {
    if (status == CLS_SUCCESS)
        return true;
    if (!run->errors++)
        run->first = status;
    return false;
}

void expect(struct run *run, bool right, const char *what) {
    if (right || run->errors || run->wrong)
        return;
    run->wrong = true;
    run->what = what;
}

enum { AREAS = 16 };

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

bool open_stream(struct run *run, struct world *world, unsigned i,
                 const cls_stream_config *config) {
    return ok(run, cls_stream_create(world->context, config, &world->streams[i]));
}

bool open_buffers(struct run *run, struct world *world) {
    return ok(run, cls_buffer_create(world->context, BYTES, &world->a)) &&
           ok(run, cls_buffer_create(world->context, BYTES, &world->b));
}

void world_init(struct world *world) {
    memset(world, 0, sizeof *world);
    world->area = fresh_area();
}

bool world_open(struct run *run, struct world *world, unsigned streams) {
    world_init(world);
    bool good = ok(run, cls_context_create(NULL, &world->context)) && open_buffers(run, world) &&
                ok(run, cls_event_create(world->context, NULL, &world->event));
    for (unsigned i = 0; i < streams && good; i++)
        good = open_stream(run, world, i, NULL);
    return good;
}

bool open_kernel(struct run *run, struct world *world) {
    return ok(run,
              cls_program_from_source(world->context, source, "scale.cl", NULL, &world->program)) &&
           ok(run, cls_kernel_create(world->program, "scale", &world->kernel));
}

void world_close(struct run *run, struct world *world) {
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

bool launch(struct run *run, const struct world *world, cls_buffer x, uint32_t factor, uint32_t add,
            cls_stream stream) {
    const cls_arg args[] = {cls_arg_buffer(x), cls_arg_u32(factor), cls_arg_u32(add)};
    const cls_launch shape = cls_launch_1d(WORDS);
    return ok(run, cls_kernel_launch_async(world->kernel, &shape, args, 3, stream));
}

bool upload(struct run *run, const struct world *world, cls_buffer to, cls_stream stream) {
    return ok(run, cls_copy_h2d_async(to, 0, world->area->in, BYTES, stream));
}

bool download(struct run *run, const struct world *world, cls_buffer from, cls_stream stream) {
    return ok(run, cls_copy_d2h_async(world->area->out, from, 0, BYTES, stream));
}

static void sleep_a_moment(void *arg) {
    (void)arg;
    sleep_us(2000);
}

bool nap(struct run *run, cls_stream stream) {
    return ok(run, cls_stream_launch_host_async(stream, sleep_a_moment, NULL));
}

void expect_scaled(struct run *run, const struct world *world, uint32_t factor, uint32_t add) {
    bool right = true;
    for (unsigned i = 0; i < WORDS; i++)
        right = right && world->area->out[i] == world->area->in[i] * factor + add;
    expect(run, right, "the data");
}

bool synchronize(struct run *run, cls_stream stream) {
    return ok(run, cls_stream_synchronize(stream));
}

/* SPDX-License-Identifier: MIT */
/* The scenario of device pointers: allocations of both kinds, copies, fills, and a launch by them. */
#include "scenario.h"

#include "world.h"

static bool run_by_pointers(struct run *run, const struct world *world, char *own, char *ordered,
                            void *same) {
    cls_stream stream = world->streams[0];
    const cls_launch shape = cls_launch_1d(WORDS);
    const cls_arg args[] = {cls_arg_pointer(same), cls_arg_u32(3), cls_arg_u32(1)};
    return ok(run, cls_memset_async(own, 0, BYTES, stream)) &&
           ok(run, cls_memcpy_async(own, world->area->in, BYTES, stream)) &&
           ok(run, cls_memcpy_async(ordered, own, BYTES, stream)) &&
           ok(run,
              cls_memcpy_2d_async(same, BYTES / 4, ordered, BYTES / 4, BYTES / 4, 4, stream)) &&
           ok(run, cls_kernel_launch_async(world->kernel, &shape, args, 3, stream)) &&
           ok(run, cls_memcpy_async(world->area->out, same, BYTES, stream)) &&
           ok(run, cls_memcpy_async(own + 4, ordered + 8, 4, stream));
}

void pointers(struct run *run) {
    struct world world;
    void *own = NULL, *ordered = NULL, *same = NULL;
    bool done = false;
    if (world_open(run, &world, 1) && open_kernel(run, &world)) {
        cls_stream stream = world.streams[0];
        done = ok(run, cls_device_malloc(world.context, BYTES, &own)) &&
               ok(run, cls_device_malloc_async(stream, BYTES, &ordered)) &&
               ok(run, cls_buffer_get_pointer(world.a, &same)) &&
               run_by_pointers(run, &world, own, ordered, same);
        done = synchronize(run, stream) && done;
    }
    if (ordered)
        ok(run, cls_device_free_async(ordered, world.streams[0]));
    if (own)
        ok(run, cls_device_free(own));
    if (done)
        expect_scaled(run, &world, 3, 1);
    world_close(run, &world);
}

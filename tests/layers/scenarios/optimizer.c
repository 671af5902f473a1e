/* SPDX-License-Identifier: MIT */
/* The scenario of an optimizer: with moments, master weights and the norm, which is all the memory that one has. */
#include "scenario.h"

#include <math.h>

#include "world.h"

enum { BF16_ONES = 0x3f803f80, BF16_QUARTERS_BELOW_0 = 0xbe80 };

/* 1 - (1 + 1.5) / 2 */
static void expect_two_steps(struct run *run, const struct world *world) {
    const uint32_t wanted = BF16_QUARTERS_BELOW_0 * 0x10001u;
    expect(run, world->area->out[0] == wanted && world->area->out[WORDS - 1] == wanted,
           "a parameter after two steps");
}

static void take_steps(struct run *run, const struct world *world, cls_optimizer optimizer) {
    const cls_array gradient = cls_array_of(world->b, CLS_BF16, 2 * (size_t)WORDS);
    cls_stream stream = world->streams[0];
    if (ok(run, cls_optimizer_step_async(optimizer, &gradient, 1, stream)) &&
        ok(run, cls_optimizer_set_rate_async(optimizer, 0.5, stream)) &&
        ok(run, cls_optimizer_step(optimizer, &gradient, 1, stream)) &&
        download(run, world, world->a, stream) && synchronize(run, stream))
        expect_two_steps(run, world);
}

void optimizer_steps(struct run *run) {
    const uint32_t ones = BF16_ONES;
    cls_optimizer_config config = CLS_OPTIMIZER_CONFIG_INIT;
    cls_optimizer optimizer;
    struct world world;
    config.kind = CLS_SGD;
    config.rate = config.momentum = 0.5;
    config.max_norm = INFINITY;
    if (world_open(run, &world, 1) &&
        ok(run, cls_fill(world.a, 0, BYTES, &ones, sizeof ones, world.streams[0])) &&
        ok(run, cls_fill(world.b, 0, BYTES, &ones, sizeof ones, world.streams[0]))) {
        const cls_array parameter = cls_array_of(world.a, CLS_BF16, 2 * (size_t)WORDS);
        if (ok(run, cls_optimizer_create(world.context, &config, &parameter, 1, &optimizer))) {
            take_steps(run, &world, optimizer);
            ok(run, cls_optimizer_destroy(optimizer));
        }
    }
    world_close(run, &world);
}

/* SPDX-License-Identifier: MIT */
/* The scenario of transforms: a plan with tables and several launches, there and back. */
#include "scenario.h"

#include "world.h"

enum { LENGTH = 17 }; /* a prime: Bluestein's tables are prepared on the device */

static void there_and_back(struct run *run, const struct world *world, cls_fft_plan plan) {
    const cls_array signal = cls_array_of(world->a, CLS_F32, 2 * (size_t)LENGTH),
                    spectrum = cls_array_of(world->b, CLS_F32, 2 * (size_t)LENGTH);
    cls_stream stream = world->streams[0];
    if (ok(run, cls_fft_async(plan, signal, spectrum, CLS_FFT_FORWARD, stream)) &&
        ok(run, cls_fft(plan, spectrum, signal, CLS_FFT_INVERSE, stream)) &&
        download(run, world, world->a, stream) && synchronize(run, stream)) {
        float got;
        memcpy(&got, &world->area->out[LENGTH], sizeof got);
        expect(run, got > 0.999f && got < 1.001f, "a number that was transformed and back again");
    }
}

void transforms(struct run *run) {
    const float one = 1;
    struct world world;
    cls_fft_plan plan;
    cls_fft_config config = CLS_FFT_CONFIG_INIT;
    config.lengths[0] = LENGTH;
    config.normalize = 1;
    if (world_open(run, &world, 1) && cls_fft_available() &&
        ok(run, cls_fill(world.a, 0, BYTES, &one, sizeof one, world.streams[0])) &&
        ok(run, cls_fft_plan_create(world.context, &config, &plan))) {
        there_and_back(run, &world, plan);
        ok(run, cls_fft_plan_destroy(plan));
    }
    world_close(run, &world);
}

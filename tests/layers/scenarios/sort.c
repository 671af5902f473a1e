/* SPDX-License-Identifier: MIT */
/* The scenario of sorts: one in one launch, one by passes with temporary memory, and the first elements of a third. */
#include "scenario.h"

#include "world.h"

enum { MANY = 40000, TOP = 3 };

static bool sort(struct run *run, const struct world *world, cls_buffer many) {
    cls_stream stream = world->streams[0];
    cls_sort_config config = CLS_SORT_CONFIG_INIT;
    const cls_array long_keys = cls_array_of(many, CLS_U32, MANY);
    config.descending = 1;
    run->masked = true; /* the pool frees what an earlier sort had, and allocates again */
    for (uint32_t i = 0; i < WORDS; i++)
        world->area->in[i] = (i * 5) % WORDS;
    return upload(run, world, world->a, stream) &&
           ok(run, cls_copy_d2d_async(many, 0, world->a, 0, BYTES, stream)) &&
           ok(run, cls_sort_async(long_keys, long_keys, NULL, stream)) &&
           ok(run, cls_top_k_async(long_keys, cls_array_of(world->b, CLS_U32, TOP), (cls_array){0},
                                   &config, stream)) &&
           ok(run,
              cls_sort_async(cls_array_of(world->a, CLS_U32, WORDS - TOP),
                             cls_array_at(world->b, CLS_U32, TOP, WORDS - TOP), NULL, stream)) &&
           download(run, world, world->b, stream) && synchronize(run, stream);
}

/* The numbers are 0 to WORDS - 1, in another order. */
static void check_order(struct run *run, const struct world *world) {
    const uint32_t *got = world->area->out;
    expect(run, got[0] == WORDS - 1 && got[TOP - 1] == WORDS - TOP, "the greatest keys");
    for (uint32_t i = TOP + 1; i < WORDS; i++)
        expect(run, got[i - 1] < got[i], "keys in order");
}

void sorts(struct run *run) {
    const uint32_t zero = 0;
    struct world world;
    cls_buffer many = NULL;
    if (world_open(run, &world, 1) &&
        ok(run, cls_buffer_create(world.context, MANY * sizeof zero, &many)) &&
        ok(run, cls_fill(many, 0, MANY * sizeof zero, &zero, sizeof zero, world.streams[0])) &&
        sort(run, &world, many))
        check_order(run, &world);
    if (many)
        ok(run, cls_buffer_destroy(many));
    world_close(run, &world);
}

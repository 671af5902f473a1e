/* SPDX-License-Identifier: MIT */
/* The scenario of scans: elements that are selected, and sums of them and by key, whose lengths stay on the device. */
#include "scenario.h"

#include "world.h"

/* The input has RUN elements of each key 0, 1, ...; in words of a: the keys, and the two counts; in words of b: sums. */
enum { KEYS = 4, RUN = 5, N = KEYS * RUN, COUNTS_AT = 32, SELECTED_AT = 40, BY_KEY_AT = 32 };

static bool scan(struct run *run, const struct world *world) {
    cls_stream stream = world->streams[0];
    cls_scan_config config = CLS_SCAN_CONFIG_INIT;
    const uint32_t limit = 0;
    const cls_array keys = cls_array_of(world->a, CLS_U32, N),
                    count = cls_array_at(world->a, CLS_I64, COUNTS_AT / 2, 1),
                    runs = cls_array_at(world->a, CLS_I64, COUNTS_AT / 2 + 1, 1),
                    selected = cls_array_at(world->a, CLS_U32, SELECTED_AT, N),
                    sums = cls_array_of(world->b, CLS_U32, N),
                    keys_out = cls_array_at(world->b, CLS_U32, BY_KEY_AT, KEYS),
                    by_key = cls_array_at(world->b, CLS_U32, BY_KEY_AT + KEYS, KEYS);
    config.length = count;
    run->masked = true; /* the pool frees what an earlier scan had, and allocates again */
    for (uint32_t i = 0; i < WORDS; i++)
        world->area->in[i] = i / RUN;
    return upload(run, world, world->a, stream) &&
           ok(run, cls_compact_if_async(keys, CLS_GREATER, &limit, selected, count, (cls_array){0},
                                        stream)) &&
           ok(run, cls_scan_async(CLS_SCAN_SUM, selected, sums, &config, stream)) &&
           ok(run, cls_reduce_by_key_async(CLS_SCAN_SUM, selected, selected, keys_out, by_key, runs,
                                           count, stream)) &&
           ok(run, cls_run_length_encode_async(
                       keys, cls_array_at(world->b, CLS_U32, BY_KEY_AT + 2 * KEYS, KEYS),
                       cls_array_at(world->b, CLS_I64, (BY_KEY_AT + 4 * KEYS) / 2, KEYS), runs,
                       (cls_array){0}, stream)) &&
           download(run, world, world->b, stream) && synchronize(run, stream);
}

static void check_sums(struct run *run, const struct world *world) {
    const uint32_t *got = world->area->out, *by_key = got + BY_KEY_AT;
    expect(run, got[N - RUN - 1] == RUN * (1 + 2 + 3), "the last sum");
    expect(run, by_key[0] == 1 && by_key[KEYS - 2] == KEYS - 1, "the keys of sums");
    expect(run, by_key[KEYS] == RUN && by_key[2 * KEYS - 2] == RUN * (KEYS - 1), "sums by key");
    expect(run, by_key[4 * KEYS] == RUN, "the length of a run");
}

void scans(struct run *run) {
    struct world world;
    if (world_open(run, &world, 1) && scan(run, &world))
        check_sums(run, &world);
    world_close(run, &world);
}

/* SPDX-License-Identifier: MIT */
/* The scenario of histograms and bounds: elements in even bins and between edges, and where their ends are. */
#include "scenario.h"

#include "world.h"

/* The input counts from 0 on; in words of b: counts of BINS bins twice, then positions of as many values. */
enum { N = 20, BINS = 5, EDGES_AT = 32, PER_BIN = N / BINS };

static bool count(struct run *run, const struct world *world) {
    cls_stream stream = world->streams[0];
    const int64_t lower = 0, upper = N;
    const cls_array all = {0}, in = cls_array_of(world->a, CLS_U32, N),
                    edges = cls_array_at(world->a, CLS_U32, EDGES_AT, BINS + 1),
                    values = cls_array_at(world->a, CLS_U32, EDGES_AT, BINS),
                    even = cls_array_of(world->b, CLS_I64, BINS),
                    between = cls_array_at(world->b, CLS_I64, BINS, BINS),
                    behind = cls_array_at(world->b, CLS_I64, 2 * BINS, BINS),
                    before = cls_array_at(world->b, CLS_I64, 3 * BINS, BINS);
    run->masked = true; /* the pool frees what an earlier call had, and allocates again */
    for (uint32_t i = 0; i < WORDS; i++)
        world->area->in[i] = i < EDGES_AT ? i : (i - EDGES_AT) * PER_BIN;
    return upload(run, world, world->a, stream) &&
           ok(run, cls_histogram_even_async(in, &lower, &upper, even, all, stream)) &&
           ok(run, cls_histogram_range_async(in, edges, between, all, stream)) &&
           ok(run, cls_upper_bound_async(in, values, behind, all, stream)) &&
           ok(run, cls_lower_bound_async(in, values, before, all, stream)) &&
           download(run, world, world->b, stream) && synchronize(run, stream);
}

static void check_counts(struct run *run, const struct world *world) {
    const uint32_t *got = world->area->out;
    for (uint32_t i = 0; i < BINS; i++) {
        expect(run, got[2 * i] == PER_BIN, "the count of an even bin");
        expect(run, got[2 * (BINS + i)] == PER_BIN, "the count between edges");
        expect(run, got[2 * (2 * BINS + i)] == i * PER_BIN + 1, "an upper bound");
        expect(run, got[2 * (3 * BINS + i)] == i * PER_BIN, "a lower bound");
    }
}

void histograms(struct run *run) {
    struct world world;
    if (world_open(run, &world, 1) && count(run, &world))
        check_counts(run, &world);
    world_close(run, &world);
}

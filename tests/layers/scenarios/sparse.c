/* SPDX-License-Identifier: MIT */
/* The scenario of sparse products: one by a matrix with an entry in each row. */
#include "scenario.h"

#include "world.h"

enum { ROWS = 4, X_AT = ROWS, Y_AT = 4 * ROWS, TERM = 2 };

/* Offsets and columns count from 0 on in a; values and both vectors are in b. */
static bool multiply(struct run *run, const struct world *world) {
    const float term = TERM;
    const cls_csr a = {cls_array_of(world->a, CLS_I32, ROWS + 1),
                       cls_array_of(world->a, CLS_I32, ROWS), cls_array_of(world->b, CLS_F32, ROWS),
                       ROWS};
    const cls_vector x = cls_vector_from(cls_array_at(world->b, CLS_F32, X_AT, ROWS)),
                     y = cls_vector_from(cls_array_at(world->b, CLS_F32, Y_AT, ROWS));
    cls_stream stream = world->streams[0];
    for (uint32_t i = 0; i < WORDS; i++)
        world->area->in[i] = i;
    return upload(run, world, world->a, stream) &&
           ok(run, cls_fill_async(world->b, 0, BYTES, &term, sizeof term, stream)) &&
           ok(run, cls_spmv_async(a, x, y, NULL, (cls_array){0}, stream)) &&
           download(run, world, world->b, stream) && synchronize(run, stream);
}

void sparse_product(struct run *run) {
    struct world world;
    if (world_open(run, &world, 1) && multiply(run, &world)) {
        float got;
        memcpy(&got, &world.area->out[Y_AT + ROWS - 1], sizeof got);
        expect(run, got == TERM * TERM, "an element of a sparse product");
    }
    world_close(run, &world);
}

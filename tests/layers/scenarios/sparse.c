/* SPDX-License-Identifier: MIT */
/* The scenario of sparse products: one by a matrix with an entry in each row, a dense one, and a sum, by factors on the device;
 * and a triangular system. */
#include "scenario.h"

#include "world.h"

enum {
    ROWS = 4,
    X_AT = ROWS,
    Y_AT = 4 * ROWS,
    Z_AT = 5 * ROWS,
    RIGHT_AT = 6 * ROWS,
    FACTOR_AT = 8 * ROWS,
    TERM = 2
};

/* Offsets and columns count from 0 on in a; values and both vectors are in b. */
static bool multiply(struct run *run, const struct world *world) {
    const float term = TERM;
    const cls_csr a = {cls_array_of(world->a, CLS_I32, ROWS + 1),
                       cls_array_of(world->a, CLS_I32, ROWS), cls_array_of(world->b, CLS_F32, ROWS),
                       ROWS};
    const cls_vector x = cls_vector_from(cls_array_at(world->b, CLS_F32, X_AT, ROWS)),
                     y = cls_vector_from(cls_array_at(world->b, CLS_F32, Y_AT, ROWS)),
                     z = cls_vector_from(cls_array_at(world->b, CLS_F32, Z_AT, ROWS));
    const cls_matrix square = cls_matrix_at(world->b, CLS_F32, FACTOR_AT, ROWS, ROWS);
    const cls_matrix right = cls_matrix_at(world->b, CLS_F32, RIGHT_AT, ROWS, 1);
    const cls_factor factor = cls_factor_at(cls_array_at(world->b, CLS_F32, FACTOR_AT, 1));
    cls_stream stream = world->streams[0];
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.alpha_view = factor.view;
    for (uint32_t i = 0; i < WORDS; i++)
        world->area->in[i] = i;
    return upload(run, world, world->a, stream) &&
           ok(run, cls_fill_async(world->b, 0, BYTES, &term, sizeof term, stream)) &&
           ok(run, cls_spmv_async(a, x, y, &config, (cls_array){0}, stream)) &&
           ok(run, cls_gemv_async(square, x, z, &config, stream)) &&
           ok(run, cls_axpby_async(factor, x, cls_factor_of(1), y, stream)) &&
           ok(run, cls_trsm_async(square, right, 0, NULL, stream)) &&
           download(run, world, world->b, stream) && synchronize(run, stream);
}

void sparse_product(struct run *run) {
    struct world world;
    if (world_open(run, &world, 1) && multiply(run, &world)) {
        float got;
        memcpy(&got, &world.area->out[Y_AT + ROWS - 1], sizeof got);
        expect(run, got == TERM * TERM * TERM + TERM * TERM, "an element of a sum");
        memcpy(&got, &world.area->out[Z_AT + ROWS - 1], sizeof got);
        expect(run, got == TERM * TERM * TERM * ROWS, "an element of a product");
        memcpy(&got, &world.area->out[RIGHT_AT], sizeof got);
        expect(run, got == 1, "the first unknown of a triangular system");
    }
    world_close(run, &world);
}

/* SPDX-License-Identifier: MIT */
/* The scenario of matrix products: one that is packed where products are, with bias and activation, two of a batch, and
 * one by a vector. */
#include "scenario.h"

#include "../../support/effort.h"
#include "world.h"

enum { SIDE = 200, TERM = 2 };

static const size_t matrix_bytes = SIDE * SIDE * sizeof(float);

static bool first_is(struct run *run, const struct world *world, cls_buffer c, size_t index,
                     float wanted) {
    cls_stream stream = world->streams[0];
    float *const got = &world->area->sum; /* a failed wait leaves the copy on its way */
    if (!ok(run, cls_stream_synchronize(stream)) ||
        !ok(run, cls_copy_d2h(got, c, index * sizeof *got, sizeof *got, stream)))
        return false;
    expect(run, *got == wanted, "an element of a product");
    return true;
}

/* Of a, whose elements are all TERM: the magnitudes of -a a + bias, the bias being a row of a. */
static bool layer(struct run *run, const struct world *world, cls_buffer a, cls_buffer c) {
    const cls_matrix in = cls_matrix_of(a, CLS_F32, SIDE, SIDE);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.bias = cls_vector_of(a, CLS_F32, SIDE);
    config.activation = CLS_UNARY_ABS;
    config.alpha = -1;
    return ok(run, cls_gemm_async(in, in, cls_matrix_of(c, CLS_F32, SIDE, SIDE), &config,
                                  world->streams[0])) &&
           first_is(run, world, c, SIDE * SIDE - 1, TERM * TERM * SIDE - TERM);
}

static bool batch_of_two(struct run *run, const struct world *world, cls_buffer a, cls_buffer c) {
    cls_matrix in = cls_matrix_of(a, CLS_F32, SIDE / 2, SIDE),
               out = cls_matrix_of(c, CLS_F32, SIDE / 2, SIDE / 2);
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.transpose_b = 1;
    config.batches = 2;
    in.stride = SIDE / 2 * SIDE;
    out.stride = SIDE / 2 * SIDE / 2;
    return ok(run, cls_gemm_async(in, in, out, &config, world->streams[0])) &&
           first_is(run, world, c, 2 * out.stride - 1, TERM * TERM * SIDE);
}

static bool by_vector(struct run *run, const struct world *world, cls_buffer a, cls_buffer c) {
    return ok(run,
              cls_gemv_async(cls_matrix_of(a, CLS_F32, SIDE, SIDE), cls_vector_of(a, CLS_F32, SIDE),
                             cls_vector_of(c, CLS_F32, SIDE), NULL, world->streams[0])) &&
           first_is(run, world, c, SIDE - 1, TERM * TERM * SIDE);
}

static void multiply(struct run *run, const struct world *world) {
    const float term = TERM;
    cls_buffer a = NULL, c = NULL;
    if (ok(run, cls_buffer_create(world->context, matrix_bytes, &a)) &&
        ok(run, cls_buffer_create(world->context, matrix_bytes, &c)) &&
        ok(run, cls_fill(a, 0, matrix_bytes, &term, sizeof term, world->streams[0])) &&
        layer(run, world, a, c) && batch_of_two(run, world, a, c))
        by_vector(run, world, a, c);
    if (a)
        ok(run, cls_buffer_destroy(a));
    if (c)
        ok(run, cls_buffer_destroy(c));
}

void products(struct run *run) {
    struct world world;
    if (!effort_is_long()) {
        run->nothing = "only with TEST_EFFORT=long: each run loads its programs";
        return;
    }
    if (world_open(run, &world, 1))
        multiply(run, &world);
    world_close(run, &world);
}

/* SPDX-License-Identifier: MIT */
/* Scenarios with batches. */
#include "scenario.h"

#include <string.h>

#include "world.h"

/* out = in * 3 + 7, and its sum; twice, the second time bound anew. Two regions, and an arena. */
static bool record(struct run *run, cls_batch batch, const struct world *world, cls_value *x,
                   cls_value *y, cls_value *total) {
    cls_value real;
    return ok(run, cls_batch_upload(batch, world->area->in, CLS_U32, WORDS, x)) &&
           ok(run, cls_batch_scale(batch, *x, 3, y)) &&
           ok(run, cls_batch_unary_param(batch, CLS_UNARY_ADD_SCALAR, *y, 7, y)) &&
           ok(run, cls_batch_cast(batch, *y, CLS_F32, &real)) &&
           ok(run, cls_batch_reduce(batch, CLS_REDUCE_SUM, real, total)) &&
           ok(run, cls_batch_keep(batch, *y)) && ok(run, cls_batch_scale(batch, *total, 2, total));
}

void batch(struct run *run) {
    struct world world;
    cls_batch made = NULL;
    cls_value x, y, total;
    if (world_open(run, &world, 1) && ok(run, cls_batch_create(world.context, NULL, &made)) &&
        record(run, made, &world, &x, &y, &total)) {
        cls_stream stream = world.streams[0];
        struct area *area = world.area;
        if (ok(run, cls_batch_execute(made, stream)) &&
            ok(run, cls_batch_bind_upload(made, x, area->in)) &&
            ok(run, cls_batch_execute_async(made, stream)) &&
            ok(run, cls_batch_read_async(made, y, area->out, stream)) &&
            ok(run, cls_batch_read_async(made, total, &area->sum, stream)) &&
            synchronize(run, stream)) {
            expect_scaled(run, &world, 3, 7);
            expect(run, area->sum == 2 * 18784.0f, "the sum");
        }
    }
    if (made)
        ok(run, cls_batch_destroy(made));
    world_close(run, &world);
}

enum { LARGE = 40000 /* worth a stream of its own */ };

/* Two sums beside each other, on streams of the batch's own. */
void batch_beside(struct run *run) {
    static const float zeros[2][LARGE];
    struct world world;
    cls_batch made = NULL;
    cls_value x[2], sums[2], total;
    cls_batch_statistics facts = CLS_BATCH_STATISTICS_INIT;
    bool good = world_open(run, &world, 1) && ok(run, cls_batch_create(world.context, NULL, &made));
    for (int i = 0; i < 2 && good; i++)
        good = ok(run, cls_batch_upload(made, zeros[i], CLS_F32, LARGE, &x[i])) &&
               ok(run, cls_batch_unary_param(made, CLS_UNARY_ADD_SCALAR, x[i], i + 1, &x[i])) &&
               ok(run, cls_batch_reduce(made, CLS_REDUCE_SUM, x[i], &sums[i]));
    if (good && ok(run, cls_batch_add(made, sums[0], sums[1], &total)) &&
        ok(run, cls_batch_execute_async(made, world.streams[0])) &&
        ok(run, cls_batch_read(made, total, &world.area->sum)) &&
        ok(run, cls_batch_get_statistics(made, &facts))) {
        expect(run, world.area->sum == 3 * LARGE, "the sum");
        expect(run, facts.streams == 2, "two streams");
    }
    if (made)
        ok(run, cls_batch_destroy(made));
    world_close(run, &world);
}

/* A row added to each row, the greatest of each row, and how far each element is below it: a generated kernel, a single call,
 * and another kernel, of host arrays. */
static bool record_rows(struct run *run, cls_batch batch, const float *in, const float *row,
                        cls_value *out) {
    enum { ROWS = 4, COLUMNS = 8 };
    cls_value x, y, most;
    return ok(run, cls_batch_upload(batch, in, CLS_F32, ROWS * COLUMNS, &x)) &&
           ok(run, cls_batch_upload(batch, row, CLS_F32, COLUMNS, &y)) &&
           ok(run, cls_batch_binary_rows(batch, CLS_BINARY_ADD, x, y, &x)) &&
           ok(run, cls_batch_reduce_rows(batch, CLS_REDUCE_MAX, x, COLUMNS, &most)) &&
           ok(run, cls_batch_binary_columns(batch, CLS_BINARY_SUB, x, most, out));
}

void batch_rows(struct run *run) {
    static const float in[32], row[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct world world;
    cls_batch made = NULL;
    cls_value y;
    if (world_open(run, &world, 1) && ok(run, cls_batch_create(world.context, NULL, &made)) &&
        record_rows(run, made, in, row, &y) &&
        ok(run, cls_batch_execute_async(made, world.streams[0])) &&
        ok(run, cls_batch_read(made, y, world.area->out))) {
        float out[32];
        memcpy(out, world.area->out, sizeof out);
        for (int i = 0; i < 32; i++)
            expect(run, out[i] == row[i % 8] - 8, "the distance to the greatest");
    }
    if (made)
        ok(run, cls_batch_destroy(made));
    world_close(run, &world);
}

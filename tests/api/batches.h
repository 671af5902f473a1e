/* SPDX-License-Identifier: MIT */
/* What the tests of batches share. What the operations compute is tested in tests/device. */
#ifndef CLSTREAM_TESTS_BATCHES_H
#define CLSTREAM_TESTS_BATCHES_H

#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream/batch.h>

enum { COUNT = 1000, BIG = 100000 };

static float ramp[BIG];

static inline int setup(void **state) {
    for (int i = 0; i < BIG; i++)
        ramp[i] = (float)(i % 1000 - 500);
    return rig_setup(state);
}

static inline cls_batch make_batch(void) {
    cls_batch batch;
    OK(cls_batch_create(rig.context, NULL, &batch));
    return batch;
}

static inline cls_value upload(cls_batch batch, const float *data, size_t count) {
    cls_value value = 0;
    OK(cls_batch_upload(batch, data, CLS_F32, count, &value));
    return value;
}

static inline cls_value scaled(cls_batch batch, cls_value in, double factor) {
    cls_value value = 0;
    OK(cls_batch_scale(batch, in, factor, &value));
    return value;
}

static inline cls_value sum_of(cls_batch batch, cls_value in) {
    cls_value value = 0;
    OK(cls_batch_reduce(batch, CLS_REDUCE_SUM, in, &value));
    return value;
}

static inline cls_buffer buffer_of(const float *data, size_t count) {
    cls_buffer buffer;
    OK(cls_buffer_from_host(rig.context, data, count * sizeof *data, &buffer));
    return buffer;
}

static inline cls_batch_statistics statistics_of(cls_batch batch) {
    cls_batch_statistics statistics = CLS_BATCH_STATISTICS_INIT;
    OK(cls_batch_get_statistics(batch, &statistics));
    return statistics;
}

static inline void expect_scaled(cls_batch batch, cls_value value, double factor) {
    float *out = malloc(COUNT * sizeof *out);
    assert_non_null(out);
    OK(cls_batch_read(batch, value, out));
    for (int i = 0; i < COUNT; i++)
        if (out[i] != (float)factor * ramp[i])
            fail_msg("element %d is %g, not %g", i, (double)out[i], factor * (double)ramp[i]);
    free(out);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * From single calls to a batch: relu(x) * 2 + bias of a host array, with the bias on the device. As single
 * calls on host arrays each operation moves its data over and back; as a batch the data move once, and one
 * kernel does all three.
 */
#include <stdio.h>
#include <stdlib.h>

#include "example.h"

enum { N = 1 << 16 };

static float x[N], bias[N], single[N], fused[N];

static void one_by_one(void) {
    MUST(cls_host_unary(CLS_UNARY_RELU, CLS_F32, x, single, N, NULL));
    MUST(cls_host_unary_param(CLS_UNARY_SCALE, CLS_F32, single, 2, single, N, NULL));
    MUST(cls_host_binary(CLS_BINARY_ADD, CLS_F32, single, bias, single, N, NULL));
}

int main(void) {
    cls_batch_statistics facts = CLS_BATCH_STATISTICS_INIT;
    char source[4096];
    cls_buffer device_bias;
    cls_batch batch;
    cls_value in, b, y, total;
    float sum;

    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 101 - 50);
        bias[i] = (float)(i % 7);
    }
    one_by_one();

    MUST(cls_buffer_from_host(NULL, bias, sizeof bias, &device_bias));
    MUST(cls_batch_create(NULL, NULL, &batch));
    MUST(cls_batch_upload(batch, x, CLS_F32, N, &in)); /* nothing moves yet */
    MUST(cls_batch_array(batch, cls_array_of(device_bias, CLS_F32, N), &b));
    MUST(cls_batch_relu(batch, in, &y));
    MUST(cls_batch_scale(batch, y, 2, &y));
    MUST(cls_batch_add(batch, y, b, &y));
    MUST(cls_batch_keep(batch, y)); /* the sum takes it, and it is a result all the same */
    MUST(cls_batch_reduce(batch, CLS_REDUCE_SUM, y, &total));
    MUST(cls_batch_execute(batch, NULL));
    MUST(cls_batch_read(batch, y, fused));
    MUST(cls_batch_read(batch, total, &sum));

    for (int i = 0; i < N; i++)
        if (fused[i] != single[i])
            give_up("element %d: %g, not %g", i, (double)fused[i], (double)single[i]);
    MUST(cls_batch_get_statistics(batch, &facts));
    MUST(cls_batch_get_source(batch, 0, source, sizeof source, NULL));
    printf("%u operations in %u region, %u upload, %u downloads; the sum is %g\n",
           (unsigned)facts.operations, (unsigned)facts.regions, (unsigned)facts.uploads,
           (unsigned)facts.downloads, (double)sum);
    if (getenv("SHOW_SOURCE"))
        fputs(source, stdout);
    MUST(cls_batch_destroy(batch));
    MUST(cls_buffer_destroy(device_bias));
    return 0;
}

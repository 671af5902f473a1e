/* SPDX-License-Identifier: MIT */
/*
 * From single calls to a batch: relu(x) * 2 + bias of a host array, with the bias on the device. As single
 * calls on host arrays each operation moves its data over and back; as a batch the data moves once, and one
 * kernel does all three operations and adds up its part of the sum.
 *
 * For several operations on the same data. Look at the batch in main(): recording computes nothing, and
 * values are ids. SHOW_SOURCE=1 in the environment prints the kernel that is generated; doc/batch.md goes on
 * from here.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 16 };

static float x[N], bias[N], single[N], fused[N];

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

static void one_by_one(void) {
    must(cls_host_unary(CLS_UNARY_RELU, CLS_F32, x, single, N, NULL));
    must(cls_host_unary_param(CLS_UNARY_SCALE, CLS_F32, single, 2, single, N, NULL));
    must(cls_host_binary(CLS_BINARY_ADD, CLS_F32, single, bias, single, N, NULL));
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

    must(cls_buffer_from_host(NULL, bias, sizeof bias, &device_bias));
    must(cls_batch_create(NULL, NULL, &batch));
    must(cls_batch_upload(batch, x, CLS_F32, N, &in)); /* nothing moves yet */
    must(cls_batch_array(batch, cls_array_of(device_bias, CLS_F32, N), &b));
    must(cls_batch_relu(batch, in, &y));
    must(cls_batch_scale(batch, y, 2, &y));
    must(cls_batch_add(batch, y, b, &y));
    must(cls_batch_keep(batch, y)); /* to be read, though the sum takes it */
    must(cls_batch_reduce(batch, CLS_REDUCE_SUM, y, &total));
    must(cls_batch_execute(batch, NULL));
    must(cls_batch_read(batch, y, fused));
    must(cls_batch_read(batch, total, &sum));

    for (int i = 0; i < N; i++)
        if (fused[i] != single[i]) {
            fprintf(stderr, "element %d: %g, not %g\n", i, (double)fused[i], (double)single[i]);
            return 1;
        }
    must(cls_batch_get_statistics(batch, &facts));
    printf(
        "%u operations in %u region: %u upload, %u kernel launches, %u downloads; the sum is %g\n",
        (unsigned)facts.operations, (unsigned)facts.regions, (unsigned)facts.uploads,
        (unsigned)facts.kernels, (unsigned)facts.downloads, (double)sum);
    must(cls_batch_get_source(batch, 0, source, sizeof source, NULL));
    if (getenv("SHOW_SOURCE"))
        fputs(source, stdout);
    must(cls_batch_destroy(batch));
    must(cls_buffer_destroy(device_bias));
    return 0;
}

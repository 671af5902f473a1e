/* SPDX-License-Identifier: MIT */
/*
 * Data parallel: every device has a share of the data and a copy of the weights; each step it works out the
 * gradient of its share, and all of them step along the sum. Here the weights come to the mean of the data.
 * Devices are those named, as in CLSTREAM_DEVICE; without names two contexts of the default device.
 */
#include <stdio.h>

#include "example.h"

enum { DEVICES = 2, N = 4096, STEPS = 40 };

static const double RATE = 0.5;

int main(int argc, char **argv) {
    static float data[DEVICES][N], weights[DEVICES][N];
    cls_context contexts[DEVICES];
    cls_buffer shares[DEVICES], grads[DEVICES], w[DEVICES];
    cls_array gradients[DEVICES];
    cls_device_streams streams[DEVICES];
    cls_device_group group;
    const float zero = 0;
    const int named = argc > DEVICES && argv[1][0] != '-';
    for (int d = 0; d < DEVICES; d++) {
        cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
        config.device = named ? argv[d + 1] : NULL;
        MUST(cls_context_create(&config, &contexts[d]));
        for (int i = 0; i < N; i++)
            data[d][i] = (float)(i % 100 + 10 * d);
    }
    MUST(cls_device_group_create(contexts, DEVICES, NULL, &group));
    for (unsigned d = 0; d < DEVICES; d++) {
        MUST(cls_device_group_get_streams(group, d, &streams[d]));
        MUST(cls_buffer_create(contexts[d], sizeof data[d], &shares[d]));
        MUST(cls_buffer_create(contexts[d], sizeof data[d], &grads[d]));
        MUST(cls_buffer_create(contexts[d], sizeof data[d], &w[d]));
        MUST(cls_fill_async(w[d], 0, sizeof data[d], &zero, sizeof zero, streams[d].compute));
        gradients[d] = cls_array_of(grads[d], CLS_F32, N);
    }
    MUST(cls_device_group_scatter_async(group, data, sizeof data[0], shares));
    for (int step = 0; step < STEPS; step++) {
        for (int d = 0; d < DEVICES; d++)
            MUST(cls_binary_async(CLS_BINARY_SUB, cls_array_of(w[d], CLS_F32, N),
                                  cls_array_of(shares[d], CLS_F32, N), gradients[d],
                                  streams[d].compute));
        MUST(cls_device_group_all_reduce_async(group, gradients));
        for (int d = 0; d < DEVICES; d++) {
            const cls_array x = cls_array_of(w[d], CLS_F32, N);
            MUST(cls_unary_param_async(CLS_UNARY_SCALE, gradients[d], gradients[d], RATE / DEVICES,
                                       streams[d].compute));
            MUST(cls_binary_async(CLS_BINARY_SUB, x, gradients[d], x, streams[d].compute));
        }
    }
    MUST(cls_device_group_gather_async(group, w, sizeof weights[0], weights));
    MUST(cls_device_group_synchronize(group));
    for (int i = 0; i < N; i++) {
        const double off = (double)weights[0][i] - (i % 100 + 5);
        if (weights[0][i] != weights[1][i] || off > 1e-3 || off < -1e-3)
            give_up("weight %d is %g and %g", i, (double)weights[0][i], (double)weights[1][i]);
    }
    printf("%d steps on %d devices: the same weights on both\n", STEPS, DEVICES);
    MUST(cls_device_group_destroy(group));
    for (int d = 0; d < DEVICES; d++) {
        MUST(cls_buffer_destroy(shares[d]));
        MUST(cls_buffer_destroy(grads[d]));
        MUST(cls_buffer_destroy(w[d]));
        MUST(cls_context_destroy(contexts[d]));
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Data parallel: each device has a share of the data and a copy of the weights. In each step it computes the
 * gradient of its share, all-reduce replaces the gradients by their sum, and every device takes the same
 * step along it. Here the weights come to the mean of the data, and the loss is the sum of squared distances.
 *
 * For one model on several devices. Look at the three parts of the loop in main(): nothing waits on the host
 * until the end, but for the losses that are printed. Two arguments name the devices, as CLSTREAM_DEVICE does; without them there are two contexts
 * of the default device.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEVICES = 2, N = 4096, STEPS = 40, REPORT = 10 };

static const float RATE = 0.5f;

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

int main(int argc, char **argv) {
    static float data[DEVICES][N], weights[DEVICES][N];
    const float zero = 0;
    const int named = argc > DEVICES && argv[1][0] != '-';
    cls_context contexts[DEVICES];
    cls_buffer shares[DEVICES], gradients[DEVICES], copies[DEVICES];
    cls_array share[DEVICES], gradient[DEVICES], w[DEVICES];
    cls_device_streams streams[DEVICES];
    cls_device_group group;

    for (int d = 0; d < DEVICES; d++) {
        cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
        config.device = named ? argv[d + 1] : NULL;
        must(cls_context_create(&config, &contexts[d]));
        for (int i = 0; i < N; i++)
            data[d][i] = (float)(i % 100 + 10 * d);
    }
    must(cls_device_group_create(contexts, DEVICES, NULL, &group));
    for (unsigned d = 0; d < DEVICES; d++) {
        must(cls_device_group_get_streams(group, d, &streams[d]));
        must(cls_buffer_create(contexts[d], sizeof data[d], &shares[d]));
        must(cls_buffer_create(contexts[d], sizeof data[d], &gradients[d]));
        must(cls_buffer_create(contexts[d], sizeof data[d], &copies[d]));
        must(cls_fill_async(copies[d], 0, sizeof data[d], &zero, sizeof zero, streams[d].compute));
        share[d] = cls_array_of(shares[d], CLS_F32, N);
        gradient[d] = cls_array_of(gradients[d], CLS_F32, N);
        w[d] = cls_array_of(copies[d], CLS_F32, N);
    }

    must(cls_device_group_scatter_async(group, data, sizeof data[0], shares));
    for (int step = 0; step < STEPS; step++) {
        float loss[DEVICES];
        for (int d = 0; d < DEVICES; d++) {
            must(cls_sub_f32_async(w[d], share[d], gradient[d], streams[d].compute));
            if (step % REPORT == 0)
                must(cls_dot_f32(gradient[d], gradient[d], &loss[d], streams[d].compute));
        }
        if (step % REPORT == 0)
            printf("step %d: loss %.9g\n", step, (double)(loss[0] + loss[1]));
        must(cls_device_group_all_reduce_async(group, CLS_REDUCE_SUM, gradient));
        for (int d = 0; d < DEVICES; d++) {
            must(cls_scale_f32_async(gradient[d], gradient[d], RATE / DEVICES, streams[d].compute));
            must(cls_sub_f32_async(w[d], gradient[d], w[d], streams[d].compute));
        }
    }
    must(cls_device_group_gather_async(group, copies, sizeof weights[0], weights));
    must(cls_device_group_synchronize(group));

    for (int i = 0; i < N; i++) {
        const float off = weights[0][i] - (float)(i % 100 + 5);
        if (weights[0][i] != weights[1][i] || off > 1e-3f || off < -1e-3f) {
            fprintf(stderr, "weight %d is %g on one device and %g on the other\n", i,
                    (double)weights[0][i], (double)weights[1][i]);
            return 1;
        }
    }
    printf("%d steps on %d %s: both have the same weights, the mean of all data\n", STEPS, DEVICES,
           named ? "devices" : "contexts of the default device");
    must(cls_device_group_destroy(group));
    for (int d = 0; d < DEVICES; d++) {
        must(cls_buffer_destroy(shares[d]));
        must(cls_buffer_destroy(gradients[d]));
        must(cls_buffer_destroy(copies[d]));
        must(cls_context_destroy(contexts[d]));
    }
    return 0;
}

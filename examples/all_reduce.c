/* SPDX-License-Identifier: MIT */
/*
 * All-reduce: each device has an array, and gets the sum of all of them in its place.
 *
 * For gradients, histograms, anything that several devices add up. Look at cls_buffer_create_shareable: where the devices
 * reach each other's memory, the call is one kernel on each, and no byte passes through the host. Arguments name the
 * devices, as CLSTREAM_DEVICE does; without them there are two contexts of the default device.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = CLS_DEVICE_GROUP_MAX, ROUNDS = 5 };

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Ordinary memory where the device has none that others reach: the call is slower then. */
static cls_buffer make_buffer(cls_context context, size_t bytes) {
    cls_buffer buffer;
    if (cls_buffer_create_shareable(context, bytes, &buffer) == CLS_ERROR_UNSUPPORTED)
        must(cls_buffer_create(context, bytes, &buffer));
    return buffer;
}

/* Every device's last element: 1 + 2 + ... + n for arrays that were filled with the devices' numbers, from 1 on. */
static void check(const cls_array *arrays, unsigned n) {
    for (unsigned d = 0; d < n; d++) {
        float last = 0;
        must(cls_copy_d2h(&last, arrays[d].buffer, (arrays[d].count - 1) * sizeof last, sizeof last,
                          NULL));
        if (last != (float)(n * (n + 1) / 2)) {
            fprintf(stderr, "device %u has %g\n", d, (double)last);
            exit(1);
        }
    }
}

int main(int argc, char **argv) {
    const int quick = argc > 1 && !strcmp(argv[1], "--quick");
    const unsigned named = quick ? 0 : (unsigned)argc - 1, n = named ? named : 2;
    const size_t bytes = quick ? 1 << 20 : 64 << 20;
    cls_device_group_statistics ways = CLS_DEVICE_GROUP_STATISTICS_INIT;
    cls_context contexts[MOST];
    cls_device_streams streams;
    cls_array arrays[MOST];
    cls_device_group group;
    double best = 0;

    for (unsigned d = 0; d < n && d < MOST; d++) {
        cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
        config.device = named ? argv[d + 1] : NULL;
        must(cls_context_create(&config, &contexts[d]));
        arrays[d] = cls_array_of(make_buffer(contexts[d], bytes), CLS_F32, bytes / sizeof(float));
    }
    must(cls_device_group_create(contexts, n, NULL, &group));
    for (int i = 0; i < ROUNDS; i++) {
        for (unsigned d = 0; d < n; d++) {
            const float value = (float)(d + 1);
            must(cls_device_group_get_streams(group, d, &streams));
            must(cls_fill_async(arrays[d].buffer, 0, bytes, &value, sizeof value, streams.compute));
        }
        must(cls_device_group_synchronize(group));
        const double start = now();
        must(cls_device_group_all_reduce_async(group, CLS_REDUCE_SUM, arrays));
        must(cls_device_group_synchronize(group));
        const double seconds = now() - start;
        best = !i || seconds < best ? seconds : best;
    }
    check(arrays, n);
    must(cls_device_group_get_statistics(group, &ways));
    printf("all-reduce of %zu MiB on %u devices, %s: %.3f ms\n", bytes >> 20, n,
           ways.direct_reductions ? "from memory to memory" : "through the host", 1e3 * best);

    must(cls_device_group_destroy(group));
    for (unsigned d = 0; d < n; d++) {
        must(cls_buffer_destroy(arrays[d].buffer));
        must(cls_context_destroy(contexts[d]));
    }
    return 0;
}

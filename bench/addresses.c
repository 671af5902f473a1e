/* SPDX-License-Identifier: MIT */
/*
 * What addresses cost: a kernel that finds its arrays by a table in memory against the same with plain arguments, and
 * launches whose argument is a part at an odd offset against launches with the buffer.
 */
#include <stdlib.h>

#include "harness.h"
#include "rig.h"

enum { ARRAYS = 3, BATCH = 10, LAUNCHES = 1000 };

static const char source[] =
    "kernel void plain(global float *a, global const float *b, global const float *c) {\n"
    "    const size_t i = get_global_id(0);\n"
    "    a[i] = b[i] + 0.5f * c[i];\n"
    "}\n"
    "kernel void follow(global const ulong *table) {\n"
    "    const size_t i = get_global_id(0);\n"
    "    ((global float *)table[0])[i] =\n"
    "        ((global const float *)table[1])[i] + 0.5f * ((global const float *)table[2])[i];\n"
    "}\n"
    "kernel void nothing(global uint *x, uint n) { if (n == 0) x[0] = 1; }\n";

static struct field {
    cls_program program;
    cls_kernel plain, follow, of_parts, of_buffers;
    cls_stream stream;
    cls_buffer arrays[ARRAYS], table;
    size_t count;
} field;

static void field_open(const struct rig *rig) {
    uint64_t at[ARRAYS];
    field.count = rig_is_cpu(rig) ? 4 << 20 : 32 << 20;
    field.stream = rig_stream(rig, CLS_ORDER_AUTO);
    CLS(cls_program_from_source(rig->context, source, "addresses.cl", NULL, &field.program));
    CLS(cls_kernel_create(field.program, "plain", &field.plain));
    CLS(cls_kernel_create(field.program, "follow", &field.follow));
    CLS(cls_kernel_create(field.program, "nothing", &field.of_parts));
    CLS(cls_kernel_create(field.program, "nothing", &field.of_buffers));
    for (int i = 0; i < ARRAYS; i++) {
        CLS(cls_buffer_create(rig->context, 4 * field.count, &field.arrays[i]));
        CLS(cls_fill(field.arrays[i], 0, 4 * field.count, "", 1, field.stream));
        CLS(cls_buffer_get_address(field.arrays[i], &at[i]));
    }
    CLS(cls_buffer_from_host(rig->context, at, sizeof at, &field.table));
}

static void field_close(void) {
    for (int i = 0; i < ARRAYS; i++)
        CLS(cls_buffer_destroy(field.arrays[i]));
    CLS(cls_buffer_destroy(field.table));
    CLS(cls_kernel_destroy(field.plain));
    CLS(cls_kernel_destroy(field.follow));
    CLS(cls_kernel_destroy(field.of_parts));
    CLS(cls_kernel_destroy(field.of_buffers));
    CLS(cls_program_destroy(field.program));
    CLS(cls_stream_destroy(field.stream));
}

/* --- rates of kernels --- */

static double by(cls_kernel kernel, const cls_launch *launch, const cls_arg *args,
                 unsigned n_args) {
    const double start = now_seconds();
    for (int i = 0; i < BATCH; i++)
        CLS(cls_kernel_launch_async(kernel, launch, args, n_args, field.stream));
    CLS(cls_stream_synchronize(field.stream));
    return 1e-9 * 4 * ARRAYS * BATCH * (double)field.count / (now_seconds() - start);
}

static double by_arguments(void *arg, double *also) {
    const cls_launch launch = cls_launch_1d(field.count);
    const cls_arg args[] = {cls_arg_buffer(field.arrays[0]), cls_arg_buffer(field.arrays[1]),
                            cls_arg_buffer(field.arrays[2])};
    (void)arg;
    *also = 0;
    return by(field.plain, &launch, args, ARRAYS);
}

static double by_addresses(void *arg, double *also) {
    const cls_arg reaches[] = {cls_arg_buffer(field.arrays[0]), cls_arg_buffer(field.arrays[1]),
                               cls_arg_buffer(field.arrays[2])};
    const cls_arg table = cls_arg_buffer(field.table);
    cls_launch launch = cls_launch_1d(field.count);
    launch.reaches = reaches;
    launch.n_reaches = ARRAYS;
    (void)arg;
    *also = 0;
    return by(field.follow, &launch, &table, 1);
}

/* --- launches --- */

/* Kernels of their own: once a parameter was given an address, it is given one for each buffer (lib/command/pointed.h). */

static double launches_of(cls_kernel kernel, cls_arg first, cls_arg second) {
    const cls_launch launch = cls_launch_1d(1);
    const double start = now_seconds();
    for (int i = 0; i < LAUNCHES; i++) {
        const cls_arg args[] = {i % 2 ? first : second, cls_arg_u32(1)};
        CLS(cls_kernel_launch_async(kernel, &launch, args, 2, field.stream));
    }
    CLS(cls_stream_synchronize(field.stream));
    return 1e6 * (now_seconds() - start) / LAUNCHES;
}

static double with_parts(void *arg, double *also) {
    (void)arg;
    *also = 0;
    return launches_of(field.of_parts, cls_arg_buffer_at(field.arrays[0], 4, 64),
                       cls_arg_buffer_at(field.arrays[1], 12, 64));
}

static double with_buffers(void *arg, double *also) {
    (void)arg;
    *also = 0;
    return launches_of(field.of_buffers, cls_arg_buffer(field.arrays[0]),
                       cls_arg_buffer(field.arrays[1]));
}

static bool takes_parts(void) {
    const cls_launch launch = cls_launch_1d(1);
    const cls_arg args[] = {cls_arg_buffer_at(field.arrays[0], 4, 64), cls_arg_u32(1)};
    return cls_kernel_launch(field.of_parts, &launch, args, 2, field.stream) == CLS_SUCCESS;
}

int main(int argc, char **argv) {
    const struct way arguments = {"arguments", by_arguments, NULL};
    const struct way buffers = {"buffers", with_buffers, NULL};
    struct rig rig;
    bench_begin(argc, argv, "addresses");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("addresses of buffers");
    if (rig_capability(&rig, "addresses") != 1) {
        bench_note("the device has no addresses");
        rig_close(&rig);
        return bench_end();
    }
    field_open(&rig);
    bench_contest(&(struct contest){.name = "kernel through addresses",
                                    .unit = "GB/s",
                                    .measure = MEASURE_RATE,
                                    .ours = {"addresses", by_addresses, NULL},
                                    .rivals = &arguments,
                                    .n_rivals = 1,
                                    .bar = 0.97});
    if (takes_parts())
        bench_contest(&(struct contest){.name = "launch, a part at an odd offset",
                                        .unit = "us",
                                        .ours = {"parts", with_parts, NULL},
                                        .rivals = &buffers,
                                        .n_rivals = 1,
                                        .bar = 1.10});
    field_close();
    rig_close(&rig);
    return bench_end();
}

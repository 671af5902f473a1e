/* SPDX-License-Identifier: MIT */
#include "mesh.h"

#include <stdio.h>

#include "direct.h"
#include "harness.h"

enum { IN_A_ROW = 20, MOST_ROUNDS = 21 };

static struct mesh {
    unsigned n;
    size_t bytes;
    cls_device_group group;
    cls_buffer from[MOST_DEVICES], to[MOST_DEVICES];
    cls_stream streams[MOST_DEVICES][MOST_DEVICES]; /* [from][to], of the latter's context */
} mesh;

static unsigned rounds(void) { return bench_options()->quick ? 3 : 9; }

static void mesh_open(const struct several *several, unsigned n, size_t bytes, bool shareable) {
    mesh.n = n;
    mesh.bytes = bytes;
    CLS(cls_device_group_create(several->contexts, n, NULL, &mesh.group));
    for (unsigned d = 0; d < n; d++) {
        mesh.from[d] = several_buffer(several->contexts[d], bytes, shareable);
        mesh.to[d] = several_buffer(several->contexts[d], bytes, shareable);
        for (unsigned k = 0; k < n; k++)
            CLS(cls_stream_create(several->contexts[k], NULL, &mesh.streams[d][k]));
    }
}

static void mesh_close(void) {
    CLS(cls_device_group_destroy(mesh.group));
    for (unsigned d = 0; d < mesh.n; d++) {
        CLS(cls_buffer_destroy(mesh.from[d]));
        CLS(cls_buffer_destroy(mesh.to[d]));
        for (unsigned k = 0; k < mesh.n; k++)
            CLS(cls_stream_destroy(mesh.streams[d][k]));
    }
}

/* --- copies --- */

static void submit_copy(unsigned to, unsigned from) {
    CLS(cls_device_group_copy_async(mesh.group, (cls_device_range){to, mesh.to[to], 0},
                                    (cls_device_range){from, mesh.from[from], 0}, mesh.bytes));
}

static double one_copy(unsigned to, unsigned from) {
    enum { COPIES = 4 };
    const double start = now_seconds();
    for (int i = 0; i < COPIES; i++)
        submit_copy(to, from);
    CLS(cls_device_group_synchronize(mesh.group));
    return (now_seconds() - start) / COPIES;
}

/* A stream for each: a group's copies are in the order of its compute streams. */
static double all_copies(void) {
    const double start = now_seconds();
    for (unsigned apart = 1; apart < mesh.n; apart++)
        for (unsigned d = 0; d < mesh.n; d++) {
            const unsigned to = (d + apart) % mesh.n;
            CLS(cls_copy_d2d_async(mesh.to[to], 0, mesh.from[d], 0, mesh.bytes,
                                   mesh.streams[d][to]));
        }
    for (unsigned d = 0; d < mesh.n; d++)
        for (unsigned k = 0; k < mesh.n; k++)
            CLS(cls_stream_synchronize(mesh.streams[d][k]));
    return now_seconds() - start;
}

static void each_pair(const char *name) {
    double rates[MOST_DEVICES * MOST_DEVICES];
    unsigned pairs = 0;
    for (unsigned d = 0; d < mesh.n; d++)
        for (unsigned k = 0; k < mesh.n; k++)
            if (d != k) {
                one_copy(k, d);
                rates[pairs++] = 1e-9 * (double)mesh.bytes / one_copy(k, d);
            }
    bench_values(name, "GB/s", rates, pairs, 0);
}

static void all_pairs(const char *name) {
    double rates[MOST_ROUNDS];
    const double total = 1e-9 * (double)mesh.bytes * mesh.n * (mesh.n - 1);
    all_copies();
    for (unsigned i = 0; i < rounds(); i++)
        rates[i] = total / all_copies();
    bench_values(name, "GB/s", rates, rounds(), 0);
}

void mesh_copies(const struct several *several, unsigned n, size_t bytes, bool shareable) {
    char each[96], all[96];
    const char *how = shareable ? ", shareable" : "";
    snprintf(each, sizeof each, "%zu MiB, each pair of %u in turn%s", bytes >> 20, n, how);
    snprintf(all, sizeof all, "%zu MiB, all pairs of %u at once%s", bytes >> 20, n, how);
    if ((!bench_wants(each) && !bench_wants(all)) || (shareable && !direct_is_there(several, n)))
        return;
    mesh_open(several, n, bytes, shareable);
    if (bench_wants(each))
        each_pair(each);
    if (bench_wants(all))
        all_pairs(all);
    mesh_close();
}

/* --- all-reduce --- */

static double reduce(unsigned times) {
    cls_array arrays[MOST_DEVICES];
    for (unsigned d = 0; d < mesh.n; d++)
        arrays[d] = cls_array_of(mesh.from[d], CLS_F32, mesh.bytes / sizeof(float));
    const double start = now_seconds();
    for (unsigned i = 0; i < times; i++)
        CLS(cls_device_group_all_reduce_async(mesh.group, CLS_REDUCE_SUM, arrays));
    CLS(cls_device_group_synchronize(mesh.group));
    return 1e3 * (now_seconds() - start) / times;
}

static void reductions(const char *name, unsigned times) {
    double ms[MOST_ROUNDS];
    reduce(1);
    for (unsigned i = 0; i < rounds(); i++)
        ms[i] = reduce(times);
    bench_values(name, "ms", ms, rounds(), 0);
}

void mesh_all_reduce(const struct several *several, unsigned n, size_t bytes, bool shareable) {
    char alone[96], row[112];
    snprintf(alone, sizeof alone, "all-reduce of %zu MiB, %u %s%s", bytes >> 20, n, several->what,
             shareable ? ", shareable" : "");
    snprintf(row, sizeof row, "%s, in a row", alone); /* as bench/peers/nccl.py takes NCCL's time */
    if (!bench_wants(row) || (shareable && !direct_is_there(several, n)))
        return;
    mesh_open(several, n, bytes, shareable);
    if (bench_wants(alone))
        reductions(alone, 1);
    reductions(row, IN_A_ROW);
    mesh_close();
}

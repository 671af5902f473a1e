/* SPDX-License-Identifier: MIT */
/*
 * Sorts, in Mkeys/s, beside copies of as many elements: the ratio says how many copies of the keys, and the values, a
 * sort takes. bench/peers/numpy_sort.py and bench/peers/cub_sort.cu sort the same keys.
 */
#include <stdlib.h>

#include "harness.h"
#include "rig.h"

enum { GPU_LOG = 26, CPU_LOG = 22, TOP = 1000 };

enum call { SORT, PAIRS, ARGSORT, TOP_K, ROWS };

struct plan {
    const char *name;
    enum call call;
    cls_dtype key, value;
    size_t columns; /* of rows; 0: one array */
};

struct work {
    const struct plan *plan;
    size_t count;
    cls_stream stream;
    cls_buffer keys, keys_out, values, values_out;
    unsigned batch;
};

static cls_buffer room(const struct rig *rig, size_t bytes) {
    cls_buffer buffer;
    CLS(cls_buffer_create(rig->context, bytes, &buffer));
    return buffer;
}

/* Words of a generator, which as floats have few NaNs. */
static void fill(const struct work *work, size_t bytes) {
    uint32_t *words = malloc(bytes), state = 1;
    if (!words)
        die("no memory for %zu bytes", bytes);
    for (size_t i = 0; i < bytes / sizeof *words; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        words[i] = state;
    }
    CLS(cls_copy_h2d(work->keys, 0, words, bytes, work->stream));
    free(words);
}

static void work_open(struct work *work, const struct rig *rig, const struct plan *plan) {
    *work = (struct work){.plan = plan, .batch = rig_is_cpu(rig) ? 1 : 4};
    const int log = (rig_is_cpu(rig) ? CPU_LOG : GPU_LOG) - (bench_options()->quick ? 3 : 0);
    work->count = (size_t)1 << log;
    work->stream = rig_stream(rig, CLS_ORDER_IN_ORDER);
    const size_t bytes = work->count * cls_dtype_size(plan->key);
    work->keys = room(rig, bytes);
    work->keys_out = room(rig, bytes);
    work->values = room(rig, work->count * cls_dtype_size(plan->value));
    work->values_out = room(rig, work->count * cls_dtype_size(plan->value));
    fill(work, bytes);
}

static void work_close(struct work *work) {
    CLS(cls_buffer_destroy(work->keys));
    CLS(cls_buffer_destroy(work->keys_out));
    CLS(cls_buffer_destroy(work->values));
    CLS(cls_buffer_destroy(work->values_out));
    CLS(cls_stream_destroy(work->stream));
}

static double rate(const struct work *work, double seconds) {
    return 1e-6 * (double)work->count * work->batch / seconds;
}

static cls_array whole(const struct work *work, cls_buffer buffer, cls_dtype type) {
    return cls_array_of(buffer, type, work->count);
}

static void submit(const struct work *work) {
    const struct plan *plan = work->plan;
    const cls_array keys = whole(work, work->keys, plan->key);
    const cls_array out = whole(work, work->keys_out, plan->key);
    const cls_array values_out = whole(work, work->values_out, plan->value);
    cls_sort_config config = CLS_SORT_CONFIG_INIT;
    switch (plan->call) {
    case SORT:
        CLS(cls_sort_async(keys, out, NULL, work->stream));
        break;
    case PAIRS:
        CLS(cls_sort_pairs_async(keys, out, whole(work, work->values, plan->value), values_out,
                                 NULL, work->stream));
        break;
    case ARGSORT:
        CLS(cls_argsort_async(keys, values_out, NULL, work->stream));
        break;
    case TOP_K:
        config.descending = 1;
        CLS(cls_top_k_async(keys, cls_array_of(work->keys_out, plan->key, TOP),
                            cls_array_of(work->values_out, plan->value, TOP), &config,
                            work->stream));
        break;
    case ROWS:
        CLS(cls_sort_rows_async(
            cls_matrix_of(work->keys, plan->key, work->count / plan->columns, plan->columns),
            cls_matrix_of(work->keys_out, plan->key, work->count / plan->columns, plan->columns),
            NULL, work->stream));
        break;
    }
}

static double ours(void *arg, double *also) {
    const struct work *work = arg;
    const double start = now_seconds();
    for (unsigned i = 0; i < work->batch; i++)
        submit(work);
    CLS(cls_stream_synchronize(work->stream));
    *also = 0;
    return rate(work, now_seconds() - start);
}

static double copies(void *arg, double *also) {
    const struct work *work = arg;
    const size_t bytes = work->count * cls_dtype_size(work->plan->key);
    const size_t value_bytes =
        work->plan->call == PAIRS ? work->count * cls_dtype_size(work->plan->value) : 0;
    const double start = now_seconds();
    for (unsigned i = 0; i < work->batch; i++) {
        CLS(cls_copy_d2d_async(work->keys_out, 0, work->keys, 0, bytes, work->stream));
        if (value_bytes)
            CLS(cls_copy_d2d_async(work->values_out, 0, work->values, 0, value_bytes,
                                   work->stream));
    }
    CLS(cls_stream_synchronize(work->stream));
    *also = 0;
    return rate(work, now_seconds() - start);
}

static void row(const struct rig *rig, const struct plan *plan) {
    struct work work;
    if (!bench_wants(plan->name))
        return;
    work_open(&work, rig, plan);
    bench_rates(plan->name, "Mkeys/s", (struct way){"clstream", ours, &work},
                (struct way){"copies", copies, &work}, 0);
    work_close(&work);
}

int main(int argc, char **argv) {
    static const struct plan plans[] = {{"u32 keys", SORT, CLS_U32, CLS_U32, 0},
                                        {"f32 keys", SORT, CLS_F32, CLS_U32, 0},
                                        {"i64 keys", SORT, CLS_I64, CLS_U32, 0},
                                        {"u8 keys", SORT, CLS_U8, CLS_U32, 0},
                                        {"u32 keys, u32 values", PAIRS, CLS_U32, CLS_U32, 0},
                                        {"u32 keys, i64 values", PAIRS, CLS_U32, CLS_I64, 0},
                                        {"argsort of f32", ARGSORT, CLS_F32, CLS_I64, 0},
                                        {"rows of 256 f32", ROWS, CLS_F32, CLS_U32, 256},
                                        {"rows of 4096 f32", ROWS, CLS_F32, CLS_U32, 4096},
                                        {"top 1000 of f32", TOP_K, CLS_F32, CLS_U32, 0}};
    struct rig rig;
    bench_begin(argc, argv, "sort");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("sorts");
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        row(&rig, &plans[i]);
    rig_close(&rig);
    return bench_end();
}

/* SPDX-License-Identifier: MIT */
/*
 * Sparse matrices by vectors, in products a second counted as bytes: each value, column number, offset and element of the
 * vectors once. On a CPU against a loop in C, one thread for each of its cores, each of which has as many entries as the
 * others; on a GPU against copies of the values in its memory.
 */
#include <pthread.h>
#include <stdlib.h>

#include "harness.h"
#include "rig.h"

enum { MOST_THREADS = 64 };

/* Values of f32 by numbers of i32, on the host and on the device. */
struct matrix {
    size_t rows, entries;
    int32_t *offsets, *indices;
    float *values, *x, *y;
    cls_buffer buffers[6]; /* the last has room for copies of the values */
    cls_csr csr;
    cls_stream stream;
    unsigned threads, batch;
};

static unsigned draw(unsigned n) {
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return (unsigned)(((uint64_t)(state >> 8) * n) >> 24);
}

static void *room(size_t count) {
    void *made = calloc(count, 4);
    if (!made)
        die("no memory for %zu numbers", count);
    return made;
}

/* --- matrices --- */

/* Laplace's operator on a square, five entries a row but at its edges. */
static size_t grid_row(size_t side, size_t row, int32_t *columns) {
    const size_t i = row / side, j = row % side;
    size_t n = 0;
    if (i > 0)
        columns[n++] = (int32_t)(row - side);
    if (j > 0)
        columns[n++] = (int32_t)(row - 1);
    columns[n++] = (int32_t)row;
    if (j + 1 < side)
        columns[n++] = (int32_t)(row + 1);
    if (i + 1 < side)
        columns[n++] = (int32_t)(row + side);
    return n;
}

/* `mean` columns on average, anywhere; with `skewed` a 64th of the rows has nearly all entries. */
static size_t random_row(size_t rows, size_t mean, bool skewed, size_t row, int32_t *columns) {
    const bool is_long = skewed && row % 64 == 0;
    const size_t most = !skewed ? 2 * mean : is_long ? 112 * mean : mean / 2;
    const size_t n = draw((unsigned)most + 1);
    for (size_t k = 0; k < n; k++)
        columns[k] = (int32_t)draw((unsigned)rows);
    return n;
}

struct plan {
    const char *name;
    size_t rows, mean; /* 0: a grid */
    bool skewed;
};

static void fill(struct matrix *matrix, const struct plan *plan) {
    size_t side = 1;
    while ((side + 1) * (side + 1) <= plan->rows)
        side++;
    matrix->rows = plan->mean ? plan->rows : side * side;
    const size_t most = matrix->rows * (plan->mean ? 3 * plan->mean : 5) + 1024 * plan->mean;
    matrix->offsets = room(matrix->rows + 1);
    matrix->indices = room(most);
    matrix->values = room(most);
    matrix->x = room(matrix->rows);
    matrix->y = room(matrix->rows);
    for (size_t row = 0; row < matrix->rows; row++) {
        int32_t *to = matrix->indices + matrix->entries;
        matrix->entries += plan->mean ? random_row(plan->rows, plan->mean, plan->skewed, row, to)
                                      : grid_row(side, row, to);
        matrix->offsets[row + 1] = (int32_t)matrix->entries;
        matrix->x[row] = (float)draw(1000) / 1000;
    }
    for (size_t i = 0; i < matrix->entries; i++)
        matrix->values[i] = (float)draw(1000) / 1000;
}

static cls_buffer upload(const struct rig *rig, const void *from, size_t count) {
    cls_buffer buffer;
    CLS(cls_buffer_create(rig->context, count * 4, &buffer));
    CLS(cls_copy_h2d(buffer, 0, from, count * 4, NULL));
    return buffer;
}

static void matrix_open(struct matrix *matrix, const struct rig *rig, const struct plan *plan) {
    *matrix = (struct matrix){.stream = rig_stream(rig, CLS_ORDER_IN_ORDER), .batch = 8};
    const size_t cores = rig->info.compute_units;
    matrix->threads = (unsigned)(cores < MOST_THREADS ? cores : MOST_THREADS);
    fill(matrix, plan);
    const struct {
        const void *from;
        size_t count;
    } arrays[] = {{matrix->offsets, matrix->rows + 1}, {matrix->indices, matrix->entries},
                  {matrix->values, matrix->entries},   {matrix->x, matrix->rows},
                  {matrix->y, matrix->rows},           {matrix->values, matrix->entries}};
    for (int i = 0; i < 6; i++)
        matrix->buffers[i] = upload(rig, arrays[i].from, arrays[i].count);
    matrix->csr =
        (cls_csr){cls_array_of(matrix->buffers[0], CLS_I32, matrix->rows + 1),
                  cls_array_of(matrix->buffers[1], CLS_I32, matrix->entries),
                  cls_array_of(matrix->buffers[2], CLS_F32, matrix->entries), matrix->rows};
}

static void matrix_close(struct matrix *matrix) {
    for (int i = 0; i < 6; i++)
        CLS(cls_buffer_destroy(matrix->buffers[i]));
    CLS(cls_stream_destroy(matrix->stream));
    free(matrix->offsets);
    free(matrix->indices);
    free(matrix->values);
    free(matrix->x);
    free(matrix->y);
}

/* --- both sides, in GB/s --- */

static double rate(const struct matrix *matrix, double seconds) {
    return 1e-9 * 4 * (double)(2 * matrix->entries + 3 * matrix->rows) * matrix->batch / seconds;
}

static double ours(void *arg, double *also) {
    const struct matrix *matrix = arg;
    const double start = now_seconds();
    for (unsigned i = 0; i < matrix->batch; i++)
        CLS(cls_spmv_async(matrix->csr, cls_vector_of(matrix->buffers[3], CLS_F32, matrix->rows),
                           cls_vector_of(matrix->buffers[4], CLS_F32, matrix->rows), NULL,
                           (cls_array){0}, matrix->stream));
    CLS(cls_stream_synchronize(matrix->stream));
    *also = 0;
    return rate(matrix, now_seconds() - start);
}

struct part {
    const struct matrix *matrix;
    unsigned number;
};

/* The first row that begins at so many entries, or after them. */
static size_t row_at(const struct matrix *matrix, size_t entry) {
    size_t low = 0, high = matrix->rows;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if ((size_t)matrix->offsets[middle] < entry)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void *loop(void *arg) {
    const struct part *part = arg;
    const struct matrix *m = part->matrix;
    const size_t first = row_at(m, m->entries * part->number / m->threads);
    const size_t last = part->number + 1 == m->threads
                            ? m->rows
                            : row_at(m, m->entries * (part->number + 1) / m->threads);
    for (unsigned i = 0; i < m->batch; i++)
        for (size_t row = first; row < last; row++) {
            float sum = 0;
            for (int32_t k = m->offsets[row]; k < m->offsets[row + 1]; k++)
                sum += m->values[k] * m->x[m->indices[k]];
            m->y[row] = sum;
        }
    return NULL;
}

static double theirs(void *arg, double *also) {
    const struct matrix *matrix = arg;
    struct part parts[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    const double start = now_seconds();
    for (unsigned i = 0; i < matrix->threads; i++) {
        parts[i] = (struct part){matrix, i};
        if (pthread_create(&threads[i], NULL, loop, &parts[i]))
            die("no thread");
    }
    for (unsigned i = 0; i < matrix->threads; i++)
        pthread_join(threads[i], NULL);
    *also = 0;
    return rate(matrix, now_seconds() - start);
}

static double copies(void *arg, double *also) {
    const struct matrix *matrix = arg;
    const size_t bytes = 4 * matrix->entries;
    const double start = now_seconds();
    for (unsigned i = 0; i < matrix->batch; i++)
        CLS(cls_copy_d2d_async(matrix->buffers[5], 0, matrix->buffers[2], 0, bytes,
                               matrix->stream));
    CLS(cls_stream_synchronize(matrix->stream));
    *also = 0;
    return 1e-9 * 2 * (double)bytes * matrix->batch / (now_seconds() - start);
}

static void product(const struct rig *rig, const struct plan *plan) {
    struct matrix matrix;
    if (!bench_wants(plan->name))
        return;
    matrix_open(&matrix, rig, plan);
    const struct way rivals[] = {{"copies", copies, &matrix}, {"C loop", theirs, &matrix}};
    bench_contest(&(struct contest){.name = plan->name,
                                    .unit = "GB/s",
                                    .measure = MEASURE_RATE,
                                    .ours = {"clstream", ours, &matrix},
                                    .rivals = &rivals[rig_is_cpu(rig)],
                                    .n_rivals = 1,
                                    .rounds = bench_options()->quick ? 3 : 15,
                                    .warm_up = 1});
    matrix_close(&matrix);
}

int main(int argc, char **argv) {
    static const struct plan plans[] = {{"grid, 5 entries a row", 1000000, 0, false},
                                        {"random, 4 entries a row", 500000, 4, false},
                                        {"random, 32 entries a row", 100000, 32, false},
                                        {"random, 512 entries a row", 8000, 512, false},
                                        {"skewed, 16 entries a row", 200000, 16, true}};
    struct rig rig;
    bench_begin(argc, argv, "sparse");
    rig_open(&rig);
    bench_header(&rig);
    bench_section("products of sparse matrices and vectors, f32 by i32");
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        product(&rig, &plans[i]);
    rig_close(&rig);
    return bench_end();
}

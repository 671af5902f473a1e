/* SPDX-License-Identifier: MIT */
/* A training step of a perceptron on every device of a group, and the check of its weights. */
#include "parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static const double RATE = 1e-4;

/* --- life --- */

/* Uniform in [-width, width], one tile again and again. */
static cls_buffer noise(cls_context context, size_t count, double width) {
    enum { TILE = 1 << 16 };
    static float tile[TILE];
    unsigned seed = 1;
    cls_buffer buffer;
    for (int i = 0; i < TILE; i++) {
        seed = seed * 1664525u + 1013904223u;
        tile[i] = (float)(width * ((double)(seed >> 8) / (1 << 23) - 1));
    }
    CLS(cls_buffer_create(context, count * sizeof *tile, &buffer));
    const size_t all = count * sizeof *tile, first = all < sizeof tile ? all : sizeof tile;
    CLS(cls_copy_h2d(buffer, 0, tile, first, NULL));
    for (size_t done = first; done < all; done *= 2)
        CLS(cls_copy_d2d(buffer, done, buffer, 0, all - done < done ? all - done : done, NULL));
    return buffer;
}

static void learner_open(struct learner *learner, cls_context context, struct size size) {
    const size_t values = size.batch * size.width, weights = size.width * size.width;
    const double width = sqrt(6.0 / (double)size.width);
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.name = "work";
    learner->context = context;
    CLS(cls_stream_create(context, &config, &learner->work));
    CLS(cls_event_create(context, NULL, &learner->gradient));
    for (int i = 0; i <= LAYERS; i++)
        learner->z[i] = noise(context, values, 1);
    for (int i = 0; i < 2; i++)
        learner->delta[i] = noise(context, values, 1);
    learner->mask = noise(context, values, 1);
    learner->target = noise(context, values, 1);
    for (int i = 0; i < LAYERS; i++) {
        CLS(cls_event_create(context, NULL, &learner->updated[i]));
        learner->w[i] = noise(context, weights, width);
        learner->g[i] = noise(context, weights, 0);
    }
    CLS(cls_blas_warmup(CLS_F32, size.batch, size.width, size.width, learner->work));
}

static void learner_close(struct learner *learner) {
    CLS(cls_stream_destroy(learner->work));
    CLS(cls_event_destroy(learner->gradient));
    for (int i = 0; i <= LAYERS; i++)
        CLS(cls_buffer_destroy(learner->z[i]));
    for (int i = 0; i < 2; i++)
        CLS(cls_buffer_destroy(learner->delta[i]));
    CLS(cls_buffer_destroy(learner->mask));
    CLS(cls_buffer_destroy(learner->target));
    for (int i = 0; i < LAYERS; i++) {
        CLS(cls_event_destroy(learner->updated[i]));
        CLS(cls_buffer_destroy(learner->w[i]));
        CLS(cls_buffer_destroy(learner->g[i]));
    }
}

void team_open(struct team *team, const struct several *several, unsigned n, struct size size,
               cls_gemm_math math) {
    *team = (struct team){.n = n, .size = size, .math = math};
    CLS(cls_device_group_create(several->contexts, n, NULL, &team->group));
    for (unsigned d = 0; d < n; d++) {
        cls_device_streams streams;
        CLS(cls_device_group_get_streams(team->group, d, &streams));
        learner_open(&team->learners[d], several->contexts[d], size);
        team->learners[d].reduce = streams.compute;
    }
}

static void check_same(const struct team *team) {
    enum { SOME = 4096 };
    static float first[SOME], other[SOME];
    const size_t all = team->size.width * team->size.width * sizeof *first;
    const size_t bytes = all < sizeof first ? all : sizeof first;
    for (unsigned d = 0; d < team->n; d++) {
        const struct learner *learner = &team->learners[d];
        float *to = d ? other : first;
        CLS(cls_copy_d2h(to, learner->w[0], all - bytes, bytes, learner->work));
        if (d && memcmp(first, other, bytes) != 0)
            die("devices 0 and %u have learnt different weights", d);
    }
}

void team_close(struct team *team) {
    check_same(team);
    CLS(cls_device_group_destroy(team->group));
    for (unsigned d = 0; d < team->n; d++)
        learner_close(&team->learners[d]);
}

/* --- a step --- */

enum { NEITHER = 0, FIRST = 1, SECOND = 2 }; /* what is transposed */

static cls_matrix values(const struct team *team, cls_buffer buffer) {
    return cls_matrix_of(buffer, CLS_F32, team->size.batch, team->size.width);
}

static cls_matrix weights(const struct team *team, cls_buffer buffer) {
    return cls_matrix_of(buffer, CLS_F32, team->size.width, team->size.width);
}

static cls_array as_array(cls_matrix matrix) {
    return cls_array_of(matrix.buffer, CLS_F32, matrix.rows * matrix.columns);
}

static void multiply(const struct team *team, cls_matrix a, cls_matrix b, cls_matrix c,
                     int transposed, bool relu, cls_stream stream) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    config.math = team->math;
    config.transpose_a = transposed == FIRST;
    config.transpose_b = transposed == SECOND;
    if (relu)
        config.activation = CLS_UNARY_RELU;
    CLS(cls_gemm_async(a, b, c, &config, stream));
}

static void forward(const struct team *team, const struct learner *learner) {
    const cls_stream work = learner->work;
    for (int i = 0; i < LAYERS; i++) {
        const cls_matrix out = values(team, learner->z[i + 1]);
        CLS(cls_stream_wait_event(work, learner->updated[i]));
        multiply(team, values(team, learner->z[i]), weights(team, learner->w[i]), out, NEITHER,
                 i + 1 < LAYERS, work);
    }
    CLS(cls_binary_async(CLS_BINARY_SUB, as_array(values(team, learner->z[LAYERS])),
                         as_array(values(team, learner->target)),
                         as_array(values(team, learner->delta[LAYERS % 2])), work));
}

/* A layer's gradient, and what comes to the layer below it. */
static void backward(const struct team *team, const struct learner *learner, int i) {
    const cls_stream work = learner->work;
    const cls_matrix delta = values(team, learner->delta[(i + 1) % 2]);
    const cls_matrix below = values(team, learner->delta[i % 2]);
    const cls_array mask = as_array(values(team, learner->mask));
    multiply(team, values(team, learner->z[i]), delta, weights(team, learner->g[i]), FIRST, false,
             work);
    if (i) {
        multiply(team, delta, weights(team, learner->w[i]), below, SECOND, false, work);
        CLS(cls_unary_async(CLS_UNARY_SIGN, as_array(values(team, learner->z[i])), mask, work));
        CLS(cls_binary_async(CLS_BINARY_MUL, as_array(below), mask, as_array(below), work));
    }
    CLS(cls_event_record(learner->gradient, work));
    CLS(cls_stream_wait_event(learner->reduce, learner->gradient));
}

/* Behind the sum of the gradients. */
static void update(const struct team *team, const struct learner *learner, int i) {
    const size_t count = team->size.width * team->size.width;
    CLS(cls_axpy_async(-RATE / (double)(team->n * team->size.batch),
                       cls_vector_of(learner->g[i], CLS_F32, count),
                       cls_vector_of(learner->w[i], CLS_F32, count), learner->reduce));
    CLS(cls_event_record(learner->updated[i], learner->reduce));
}

static void step(const struct team *team) {
    for (unsigned d = 0; d < team->n; d++)
        forward(team, &team->learners[d]);
    for (int i = LAYERS - 1; i >= 0; i--) {
        cls_array gradients[MOST_DEVICES];
        for (unsigned d = 0; d < team->n; d++) {
            backward(team, &team->learners[d], i);
            gradients[d] = as_array(weights(team, team->learners[d].g[i]));
        }
        CLS(cls_device_group_all_reduce_async(team->group, CLS_REDUCE_SUM, gradients));
        for (unsigned d = 0; d < team->n; d++)
            update(team, &team->learners[d], i);
    }
}

double team_steps(const struct team *team, unsigned steps) {
    const double start = now_seconds();
    for (unsigned i = 0; i < steps; i++)
        step(team);
    for (unsigned d = 0; d < team->n; d++)
        CLS(cls_stream_synchronize(team->learners[d].work));
    CLS(cls_device_group_synchronize(team->group));
    return (now_seconds() - start) / steps;
}

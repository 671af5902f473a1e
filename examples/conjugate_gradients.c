/* SPDX-License-Identifier: MIT */
/*
 * Conjugate gradients: the potential of charges on a square, by a sparse matrix. The factors of a step never leave the
 * device, so that it is captured once and launched again and again. The host reads the residual after every 25 steps.
 * Look at capture_step(): each factor is a view of one element that an earlier command writes.
 */
#include <clstream.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 2000, LOOK = 25, SIDE = 256, MOST_POINTS = SIDE * SIDE };
static const float TOLERANCE = 1e-8f; /* of the residual's square, against the first */

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        exit(1);
    }
}

static cls_array new_array(cls_dtype dtype, size_t count, const void *from) {
    const size_t bytes = count * cls_dtype_size(dtype);
    cls_buffer buffer;
    must(cls_buffer_create(NULL, bytes, &buffer));
    must(cls_copy_h2d(buffer, 0, from, bytes, NULL));
    return cls_array_of(buffer, dtype, count);
}

/* 4 on the diagonal, -1 for each neighbour of a point of the square. */
static cls_csr new_matrix(size_t side) {
    static int32_t rows[MOST_POINTS + 1], column[5 * MOST_POINTS];
    static float values[5 * MOST_POINTS];
    const size_t points = side * side;
    int32_t n = 0;
    for (size_t at = 0; at < points; rows[++at] = n) {
        const size_t near[] = {at, at - side, at + side, at - 1, at + 1};
        const int is_there[] = {1, at >= side, at / side + 1 < side, at % side != 0,
                                (at + 1) % side != 0};
        for (int k = 0; k < 5; k++)
            if (is_there[k]) {
                column[n] = (int32_t)near[k];
                values[n++] = k ? -1 : 4;
            }
    }
    return (cls_csr){new_array(CLS_I32, points + 1, rows), new_array(CLS_I32, (size_t)n, column),
                     new_array(CLS_F32, (size_t)n, values), points};
}

/* x is the solution, r the residual, p the direction; the numbers are rr = r r, pap = p a p, and their quotients. */
struct solver {
    cls_csr a;
    cls_array x, r, p, ap, rr, rr_before, pap, alpha, beta, minus_alpha;
};

static cls_graph_exec capture_step(const struct solver *s, cls_stream stream) {
    const cls_vector x = cls_vector_from(s->x), r = cls_vector_from(s->r),
                     p = cls_vector_from(s->p), ap = cls_vector_from(s->ap);
    const cls_factor one = cls_factor_of(1);
    cls_graph graph;
    cls_graph_exec exec;
    must(cls_stream_begin_capture(stream, "step"));
    must(cls_spmv_async(s->a, p, ap, NULL, (cls_array){0}, stream));
    must(cls_dot_async(s->p, s->ap, s->pap, stream));
    must(cls_binary_async(CLS_BINARY_DIV, s->rr, s->pap, s->alpha, stream));
    must(cls_unary_async(CLS_UNARY_NEG, s->alpha, s->minus_alpha, stream));
    must(cls_axpby_async(cls_factor_at(s->alpha), p, one, x, stream));
    must(cls_axpby_async(cls_factor_at(s->minus_alpha), ap, one, r, stream));
    must(cls_unary_async(CLS_UNARY_COPY, s->rr, s->rr_before, stream));
    must(cls_dot_async(s->r, s->r, s->rr, stream));
    must(cls_binary_async(CLS_BINARY_DIV, s->rr, s->rr_before, s->beta, stream));
    must(cls_axpby_async(one, r, cls_factor_at(s->beta), p, stream));
    must(cls_stream_end_capture(stream, &graph));
    must(cls_graph_instantiate(graph, NULL, &exec));
    must(cls_graph_destroy(graph));
    return exec;
}

int main(int argc, char **argv) {
    static float charges[MOST_POINTS], nothing[MOST_POINTS];
    const size_t side = argc > 1 && !strcmp(argv[1], "--quick") ? SIDE / 4 : SIDE;
    const size_t points = side * side;
    struct solver s = {.a = new_matrix(side)};
    cls_array *const vectors[] = {&s.x, &s.ap, &s.r, &s.p};
    cls_array *const numbers[] = {&s.rr, &s.rr_before, &s.pap, &s.alpha, &s.beta, &s.minus_alpha};
    charges[points / 3 + side / 3] = 1;
    charges[2 * points / 3 + side / 2] = -1;
    for (int i = 0; i < 4; i++)
        *vectors[i] = new_array(CLS_F32, points, i < 2 ? nothing : charges);
    for (int i = 0; i < 6; i++)
        *numbers[i] = new_array(CLS_F32, 1, nothing);
    cls_stream stream;
    must(cls_stream_create(NULL, NULL, &stream));
    must(cls_dot_async(s.r, s.r, s.rr, stream));
    cls_graph_exec step = capture_step(&s, stream);
    float first, now;
    int steps = 0;
    must(cls_copy_d2h(&first, s.rr.buffer, 0, sizeof first, stream));
    for (now = first; now > TOLERANCE * first && steps < MOST_STEPS; steps += LOOK) {
        for (int i = 0; i < LOOK; i++)
            must(cls_graph_launch_async(step, stream));
        must(cls_copy_d2h(&now, s.rr.buffer, 0, sizeof now, stream));
    }
    /* r = charges - a x once more, without the rounding of the steps. */
    must(cls_copy_h2d(s.r.buffer, 0, charges, points * sizeof *charges, stream));
    must(cls_spmv_async(s.a, cls_vector_from(s.x), cls_vector_from(s.ap), NULL, (cls_array){0},
                        stream));
    must(cls_axpby_async(cls_factor_of(-1), cls_vector_from(s.ap), cls_factor_of(1),
                         cls_vector_from(s.r), stream));
    must(cls_dot_async(s.r, s.r, s.rr, stream));
    must(cls_copy_d2h(&now, s.rr.buffer, 0, sizeof now, stream));
    printf("%zu points, %d steps: the residual is %.1e of the first\n", points, steps,
           sqrt((double)(now / first)));
    must(cls_graph_exec_destroy(step));
    must(cls_stream_destroy(stream));
    return now < 1e-6f * first ? 0 : 1;
}

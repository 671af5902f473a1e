/* SPDX-License-Identifier: MIT */
/* Every function of one array on every type it takes, within the bound that unary.h states. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "job.h"
#include "last_op.h"

static cls_status run_unary(const struct job *job, const cls_array *views) {
    return cls_unary((cls_unary_op)job->op, views[0], views[1], NULL);
}

static bool expect_unary(const struct job *job, const void *const *in, void *out, size_t count) {
    return reference_unary((cls_unary_op)job->op, job->out, in[0], out, count);
}

static double bound_unary(const struct job *job, double x) {
    return reference_unary_bound((cls_unary_op)job->op, job->out, x);
}

static cls_status run_param(const struct job *job, const cls_array *views) {
    return cls_unary_param((cls_unary_param_op)job->op, views[0], views[1], job->param, NULL);
}

static bool expect_param(const struct job *job, const void *const *in, void *out, size_t count) {
    uint64_t element[1] = {0};
    reference_cast(CLS_F64, job->out, &job->param, element, 1);
    return reference_unary_param((cls_unary_param_op)job->op, job->out, in[0], element, out, count);
}

static double bound_param(const struct job *job, double x) {
    (void)x;
    return reference_unary_param_bound((cls_unary_param_op)job->op, job->out);
}

static void check_unary(void **state) {
    const struct job *job = *state;
    NEED_TYPE(job->out);
    job_check_hard(job, 0);
}

static void check_param(void **state) {
    static const double params[] = {0.5, -2.75, 3, 0, 1e30, NAN};
    struct job job = *(const struct job *)*state;
    NEED_TYPE(job.out);
    if (job.op == CLS_UNARY_POWF && job.out == CLS_F64 && device_is_oclgrind())
        SKIP_BECAUSE("Oclgrind 21.10 makes NaN of NaN to the power 0");
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++) {
        job.param = params[i];
        job_check_hard(&job, 0);
    }
}

/* The floats about the multiples of pi/2, where sine or cosine cancels to next to nothing. */
static void sines_near_multiples_of_half_pi(void **state) {
    enum { MULTIPLES = 400, NEIGHBOURS = 3 };
    float x[2 * MULTIPLES * NEIGHBOURS];
    size_t n = 0;
    (void)state;
    for (int m = 0; m < MULTIPLES; m++) {
        const float near = (float)(m * 1.57079632679489661923);
        const float neighbours[NEIGHBOURS] = {near, nextafterf(near, INFINITY),
                                              nextafterf(near, -INFINITY)};
        for (int i = 0; i < NEIGHBOURS; i++) {
            x[n++] = device_flushes() && fabsf(neighbours[i]) < FLT_MIN ? 0 : neighbours[i];
            x[n] = -x[n - 1];
            n++;
        }
    }
    for (int op = CLS_UNARY_SIN; op <= CLS_UNARY_COS; op++) {
        float expected[2 * MULTIPLES * NEIGHBOURS];
        double bounds[2 * MULTIPLES * NEIGHBOURS];
        cls_array view = view_make(CLS_F32, 0, n, x);
        OK(cls_unary((cls_unary_op)op, view, view, NULL));
        float *got = view_take(view);
        assert_true(reference_unary((cls_unary_op)op, CLS_F32, x, expected, n));
        for (size_t i = 0; i < n; i++)
            bounds[i] = reference_unary_bound((cls_unary_op)op, CLS_F32, x[i]);
        check_array(cls_unary_op_name((cls_unary_op)op), CLS_F32, got, expected, bounds, n, CLS_F32,
                    x);
        free(got);
    }
}

enum { MOST = (LAST_UNARY + LAST_UNARY_PARAM) * TYPES + 1 };

static struct job jobs[MOST];
static struct CMUnitTest tests[MOST];

static void add(unsigned *n, const char *name, int op, cls_dtype type, bool with_param) {
    const double probe[1] = {0}; /* zero of any type */
    double result[1];
    const bool exists =
        with_param ? reference_unary_param((cls_unary_param_op)op, type, probe, probe, result, 1)
                   : reference_unary((cls_unary_op)op, type, probe, result, 1);
    if (!exists || !pair_is_chosen(op, type))
        return;
    struct job *job = &jobs[*n];
    *job = (struct job){.n_inputs = 1, .inputs = {type}, .out = type, .op = op};
    job->run = with_param ? run_param : run_unary;
    job->expect = with_param ? expect_param : expect_unary;
    job->bound = with_param ? bound_param : bound_unary;
    snprintf(job->name, sizeof job->name, "%s_%s", name, cls_dtype_name(type));
    tests[*n] =
        (struct CMUnitTest){job->name, with_param ? check_param : check_unary, NULL, NULL, job};
    (*n)++;
}

int main(void) {
    prepare_tests();
    unsigned n = 0;
    for (int op = 1; op <= LAST_UNARY; op++)
        for (unsigned t = 0; t < TYPES; t++)
            add(&n, cls_unary_op_name((cls_unary_op)op), op, all_types[t], false);
    for (int op = 1; op <= LAST_UNARY_PARAM; op++)
        for (unsigned t = 0; t < TYPES; t++)
            add(&n, cls_unary_param_op_name((cls_unary_param_op)op), op, all_types[t], true);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(sines_near_multiples_of_half_pi);
    return _cmocka_run_group_tests("unary", tests, n, NULL, NULL);
}

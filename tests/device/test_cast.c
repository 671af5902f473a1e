/* SPDX-License-Identifier: MIT */
/* Pairs of types, bit for bit, and where with every condition. */
#include <stdio.h>

#include "job.h"

static cls_status run_cast(const struct job *job, const cls_array *views) {
    (void)job;
    return cls_cast(views[0], views[1], NULL);
}

static bool expect_cast(const struct job *job, const void *const *in, void *out, size_t count) {
    return reference_cast(job->inputs[0], job->out, in[0], out, count);
}

static cls_status run_where(const struct job *job, const cls_array *views) {
    (void)job;
    return cls_where(views[0], views[1], views[2], views[3], NULL);
}

static bool expect_where(const struct job *job, const void *const *in, void *out, size_t count) {
    return reference_where(job->inputs[0], job->out, in[0], in[1], in[2], out, count);
}

static void check(void **state) {
    const struct job *job = *state;
    NEED_TYPE(job->inputs[0]);
    NEED_TYPE(job->out);
    if (job->n_inputs == 1 && job->inputs[0] == CLS_I64 && job->out == CLS_F32 &&
        device_rounds_i64_twice())
        SKIP_BECAUSE("this driver rounds i64 to f32 twice, by way of f64");
    job_check_hard(job, 0);
}

enum { CASTS = TYPES * TYPES, WHERES = 3 * TYPES };

static struct job jobs[CASTS + WHERES];

static void make_cast(struct job *job, cls_dtype from, cls_dtype to) {
    *job = (struct job){.n_inputs = 1, .out = to, .run = run_cast, .expect = expect_cast};
    job->inputs[0] = from;
    snprintf(job->name, sizeof job->name, "cast_%s_%s", cls_dtype_name(from), cls_dtype_name(to));
}

static void make_where(struct job *job, cls_dtype condition, cls_dtype type) {
    *job = (struct job){.n_inputs = 3, .out = type, .run = run_where, .expect = expect_where};
    job->inputs[0] = condition;
    job->inputs[1] = job->inputs[2] = type;
    snprintf(job->name, sizeof job->name, "where_%s_%s", cls_dtype_name(condition),
             cls_dtype_name(type));
}

int main(void) {
    prepare_tests();
    static const cls_dtype conditions[] = {CLS_U8, CLS_I32, CLS_I64};
    static struct CMUnitTest tests[CASTS + WHERES];
    unsigned n = 0;
    for (unsigned i = 0; i < CASTS; i++)
        if (cast_is_chosen(all_types[i / TYPES], all_types[i % TYPES]))
            make_cast(&jobs[n++], all_types[i / TYPES], all_types[i % TYPES]);
    for (unsigned i = 0; i < WHERES; i++)
        make_where(&jobs[n++], conditions[i / TYPES], all_types[i % TYPES]);
    for (unsigned i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){jobs[i].name, check, NULL, NULL, &jobs[i]};
    return _cmocka_run_group_tests("cast and where", tests, n, NULL, NULL);
}

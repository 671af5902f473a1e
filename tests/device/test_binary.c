/* SPDX-License-Identifier: MIT */
/* Every function of two arrays on every type it takes, within the bound that binary.h states. */
#include <stdio.h>
#include <stdlib.h>

#include "job.h"
#include "last_op.h"

static cls_status run(const struct job *job, const cls_array *views) {
    return cls_binary((cls_binary_op)job->op, views[0], views[1], views[2], NULL);
}

static bool expect(const struct job *job, const void *const *in, void *out, size_t count) {
    return reference_binary((cls_binary_op)job->op, job->inputs[0], in[0], in[1], out, count);
}

static double bound(const struct job *job, double x) {
    return reference_binary_bound((cls_binary_op)job->op, job->inputs[0], x);
}

static void check(void **state) {
    const struct job *job = *state;
    NEED_TYPE(job->inputs[0]);
    job_check_hard(job, 0);
}

/* Pairs of equal elements, which shifted hard values seldom are. */
static void check_equal_pairs(void **state) {
    (void)state;
    for (unsigned t = 0; t < TYPES; t++) {
        if (all_types[t] == CLS_F64 && !device_has_f64())
            continue;
        cls_array a = view_make(all_types[t], 0, 3, "aaaaaaaabbbbbbbbcccccccc");
        for (int op = CLS_BINARY_EQ; op <= CLS_BINARY_GE; op++) {
            if (!pair_is_chosen(op, all_types[t]))
                continue;
            const uint8_t holds = op == CLS_BINARY_EQ || op == CLS_BINARY_LE || op == CLS_BINARY_GE;
            const uint8_t expected[3] = {holds, holds, holds};
            cls_array out = view_make(CLS_U8, 0, 3, NULL);
            OK(cls_binary((cls_binary_op)op, a, a, out, NULL));
            uint8_t *got = view_take(out);
            check_array(cls_binary_op_name((cls_binary_op)op), CLS_U8, got, expected, NULL, 3,
                        all_types[t], NULL);
            free(got);
        }
        view_destroy(a);
    }
}

enum { MOST = LAST_BINARY * TYPES + 1 };

static struct job jobs[MOST];
static struct CMUnitTest tests[MOST];

static void add(unsigned *n, int op, cls_dtype type) {
    if (!pair_is_chosen(op, type) || !reference_takes((cls_binary_op)op, type))
        return;
    struct job *job = &jobs[*n];
    *job = (struct job){.n_inputs = 2, .inputs = {type, type}, .op = op};
    job->out = reference_compares((cls_binary_op)op) ? CLS_U8 : type;
    job->run = run;
    job->expect = expect;
    job->bound = bound;
    snprintf(job->name, sizeof job->name, "%s_%s", cls_binary_op_name((cls_binary_op)op),
             cls_dtype_name(type));
    tests[*n] = (struct CMUnitTest){job->name, check, NULL, NULL, job};
    (*n)++;
}

int main(void) {
    prepare_tests();
    unsigned n = 0;
    for (int op = 1; op <= LAST_BINARY; op++)
        for (unsigned t = 0; t < TYPES; t++)
            add(&n, op, all_types[t]);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(check_equal_pairs);
    return _cmocka_run_group_tests("binary", tests, n, NULL, NULL);
}

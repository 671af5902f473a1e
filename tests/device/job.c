/* SPDX-License-Identifier: MIT */
#include "job.h"

#include <stdlib.h>
#include <string.h>

/* Past one run of a CPU (8,192 elements) and past many groups of a GPU, and no multiple of
 * anything. */
enum { COUNT = 8192 + 1024 + 37 };

struct layout {
    size_t first; /* of the data */
    size_t count;
    size_t in_offset;
    size_t out_offset;
    bool in_place;
};

static const struct layout layouts[] = {
    {0, COUNT, 0, 0, false}, {0, 1037, 1, 3, false}, {11, 7, 0, 0, false},
    {5, 1, 2, 1, false},     {0, 515, 16, 16, true},
};

size_t job_count(void) { return COUNT; }

static const void *at(const void *array, cls_dtype type, size_t i) {
    return (const unsigned char *)array + i * cls_dtype_size(type);
}

static double *bounds_of(const struct job *job, const void *in, size_t count) {
    double *bounds = calloc(count, sizeof *bounds);
    assert_non_null(bounds);
    for (size_t i = 0; job->bound && i < count; i++) {
        double x = 0;
        reference_cast(job->inputs[0], CLS_F64, at(in, job->inputs[0], i), &x, 1);
        bounds[i] = job->bound(job, x);
    }
    return bounds;
}

static void check_layout(const struct job *job, const void *const *in,
                         const struct layout *layout) {
    const unsigned n = job->n_inputs;
    const void *from[JOB_MAX_INPUTS];
    cls_array views[JOB_MAX_INPUTS + 1];
    for (unsigned i = 0; i < n; i++) {
        from[i] = at(in[i], job->inputs[i], layout->first);
        views[i] = view_make(job->inputs[i], layout->in_offset, layout->count, from[i]);
    }
    /* In place of the last input, which of where's is one of the values. */
    views[n] = layout->in_place ? views[n - 1]
                                : view_make(job->out, layout->out_offset, layout->count, NULL);
    views[n].dtype = job->out;
    OK(job->run(job, views));

    void *expected = malloc(layout->count * cls_dtype_size(job->out));
    assert_non_null(expected);
    assert_true(job->expect(job, from, expected, layout->count));
    void *got = view_take(views[n]);
    double *bounds = bounds_of(job, from[0], layout->count);
    check_array(job->name, job->out, got, expected, bounds, layout->count, job->inputs[0], from[0]);
    for (unsigned i = 0; i < n - (layout->in_place ? 1 : 0); i++) {
        void *after = view_take(views[i]);
        assert_memory_equal(after, from[i], layout->count * cls_dtype_size(job->inputs[i]));
        free(after);
    }
    free(bounds);
    free(got);
    free(expected);
}

void job_check(const struct job *job, const void *const *in) {
    const bool same_size =
        cls_dtype_size(job->out) == cls_dtype_size(job->inputs[job->n_inputs - 1]);
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        if (!layouts[i].in_place || same_size)
            check_layout(job, in, &layouts[i]);
}

void job_check_hard(const struct job *job, double limit) {
    void *in[JOB_MAX_INPUTS] = {0};
    for (unsigned i = 0; i < job->n_inputs; i++) {
        const size_t shift = i * 5, size = cls_dtype_size(job->inputs[i]);
        unsigned char *values = hard_values(job->inputs[i], COUNT + shift, 7 + i);
        memmove(values, values + shift * size, COUNT * size);
        if (limit > 0)
            tame(job->inputs[i], values, COUNT, limit);
        in[i] = values;
    }
    const void *const constant[JOB_MAX_INPUTS] = {in[0], in[1], in[2]};
    job_check(job, constant);
    for (unsigned i = 0; i < job->n_inputs; i++)
        free(in[i]);
}

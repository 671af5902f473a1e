/* SPDX-License-Identifier: MIT */
/* Elements of matrices and vectors on the device, with a copy on the host as doubles, for the tests of BLAS. */
#ifndef CLSTREAM_TESTS_BLAS_VALUES_H
#define CLSTREAM_TESTS_BLAS_VALUES_H

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "arrays.h"

/* Products need no CLBlast. */
#define NEED_PRODUCTS(type)                                                       \
    do {                                                                          \
        if (device_is_oclgrind())                                                 \
            SKIP_BECAUSE("products of this size take minutes in an interpreter"); \
        NEED_TYPE(type);                                                          \
    } while (0)

#define NEED_BLAS(type)                                                       \
    do {                                                                      \
        if (!cls_blas_available())                                            \
            SKIP_BECAUSE("this library was built without CLBlast");           \
        if (device_is_oclgrind())                                             \
            SKIP_BECAUSE("CLBlast's kernels take minutes in an interpreter"); \
        NEED_TYPE(type);                                                      \
    } while (0)

/* So many rows that each group of a device that takes several at a time takes more than one, and some one less. */
static inline size_t rows_for_rounds(void) { return device_core_count() * 4 + 1; }

/* A buffer's worth of elements on the host, as doubles that the type can hold. */
struct values {
    cls_dtype type;
    size_t count;
    double *x;
    cls_buffer buffer;
};

static inline void upload(const struct values *v) {
    void *raw = malloc(v->count * sizeof(double) + 1);
    assert_non_null(raw);
    reference_cast(CLS_F64, v->type, v->x, raw, v->count);
    OK(cls_copy_h2d(v->buffer, 0, raw, v->count * cls_dtype_size(v->type), NULL));
    free(raw);
}

/* To what the type holds. */
static inline void values_round(struct values *v) {
    for (size_t i = 0; i < v->count; i++) {
        double element;
        reference_cast(CLS_F64, v->type, &v->x[i], &element, 1);
        v->x[i] = reference_float(v->type, &element, 0);
    }
}

static inline struct values values_make(cls_dtype type, size_t count, unsigned seed) {
    struct values v = {type, count, malloc((count + 1) * sizeof(double)), NULL};
    assert_non_null(v.x);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        v.x[i] = (double)(int)((seed >> 12) % 2001 - 1000) / 512.0;
    }
    values_round(&v);
    OK(cls_buffer_create(NULL, count * cls_dtype_size(type), &v.buffer));
    upload(&v);
    return v;
}

static inline void values_free(struct values *v) {
    OK(cls_buffer_destroy(v->buffer));
    free(v->x);
}

static inline double *download(const struct values *v) {
    void *raw = malloc(v->count * sizeof(double));
    double *x = malloc(v->count * sizeof(double));
    assert_non_null(raw);
    assert_non_null(x);
    OK(cls_copy_d2h(raw, v->buffer, 0, v->count * cls_dtype_size(v->type), NULL));
    for (size_t i = 0; i < v->count; i++)
        x[i] = reference_float(v->type, raw, i);
    free(raw);
    return x;
}

/* Every element of `v`, those that the operation may not touch too, is as its host copy says. */
static inline void check_values(const char *what, const struct values *v, double slack) {
    double *got = download(v);
    for (size_t i = 0; i < v->count; i++) {
        const double allowed = slack * (1 + fabs(v->x[i]));
        if (!(fabs(got[i] - v->x[i]) <= allowed))
            fail_msg("%s: element %zu is %.17g, not %.17g", what, i, got[i], v->x[i]);
    }
    free(got);
}

static inline double unit(cls_dtype type) {
    return type == CLS_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

#endif

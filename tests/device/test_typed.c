/* SPDX-License-Identifier: MIT */
/*
 * Every typed function, blocking and asynchronous, by its own name: the same bits as the generic call, where
 * pair_is_chosen has the operation run, and views of other types refused. The rows are generated from the library's
 * tables.
 */
#include <stdlib.h>
#include <string.h>

#include "arrays.h"

enum row_family {
    ROW_CAST,
    ROW_WHERE,
    ROW_UNARY,
    ROW_UNARY_PARAM,
    ROW_BINARY,
    ROW_REDUCE,
    ROW_DOT
};

typedef cls_status (*typed_call)(const cls_array *v, double p, void *result, cls_stream stream);

struct typed_row {
    const char *name;
    enum row_family family;
    int op;
    unsigned n_views; /* of a reduction without its result's */
    cls_dtype type;   /* of the first input; of where's condition */
    cls_dtype out;
    typed_call blocking;
    typed_call async;
};

static uint16_t element_of(cls_dtype type, double x) {
    uint16_t element;
    reference_put_float(type, &element, 0, x);
    return element;
}

#include "tests/device/typed_rows.h"

enum { COUNT = 200, PARAM = 3, ROWS = sizeof typed_rows / sizeof typed_rows[0] };

static bool is_reduction(const struct typed_row *row) {
    return row->family == ROW_REDUCE || row->family == ROW_DOT;
}

/* Where the output goes: the last view of an element-by-element call, behind a reduction's. */
static unsigned out_index(const struct typed_row *row) {
    return is_reduction(row) ? row->n_views : row->n_views - 1;
}

static size_t out_count(const struct typed_row *row) { return is_reduction(row) ? 1 : COUNT; }

static cls_status generic(const struct typed_row *row, const cls_array *v) {
    switch (row->family) {
    case ROW_CAST:
        return cls_cast(v[0], v[1], NULL);
    case ROW_WHERE:
        return cls_where(v[0], v[1], v[2], v[3], NULL);
    case ROW_UNARY:
        return cls_unary((cls_unary_op)row->op, v[0], v[1], NULL);
    case ROW_UNARY_PARAM:
        return cls_unary_param((cls_unary_param_op)row->op, v[0], v[1], PARAM, NULL);
    case ROW_BINARY:
        return cls_binary((cls_binary_op)row->op, v[0], v[1], v[2], NULL);
    case ROW_REDUCE:
        return cls_reduce_async((cls_reduce_op)row->op, v[0], v[1], NULL);
    default:
        return cls_dot_async(v[0], v[1], v[2], NULL);
    }
}

static void make_views(const struct typed_row *row, cls_array views[4]) {
    for (unsigned i = 0; i < out_index(row); i++) {
        const cls_dtype type = row->family == ROW_WHERE && i > 0 ? row->out : row->type;
        void *values = hard_values(type, COUNT + 7 * i, 11);
        tame(type, values, COUNT + 7 * i, is_reduction(row) ? 1e3 : 1e30);
        views[i] =
            view_make(type, 0, COUNT, (unsigned char *)values + 7 * i * cls_dtype_size(type));
        free(values);
    }
    views[out_index(row)] = view_make(row->out, 0, out_count(row), NULL);
}

/* What the view holds, leaving the guard's bytes in it. */
static void *take_result(cls_array view) {
    void *result = view_read(view);
    const size_t bytes = view.count * cls_dtype_size(view.dtype);
    unsigned char guard = 0xa5;
    OK(cls_fill(view.buffer, view.offset * cls_dtype_size(view.dtype), bytes, &guard, 1, NULL));
    return result;
}

static void check_bits(const struct typed_row *row, const char *form, const void *got,
                       const void *expected) {
    if (memcmp(got, expected, out_count(row) * cls_dtype_size(row->out)) != 0)
        fail_msg("cls_%s%s gives other bits than the generic call", row->name, form);
}

static void check_forms(const struct typed_row *row, const cls_array *views) {
    const cls_array out = views[out_index(row)];
    uint64_t host[1] = {0};
    OK(generic(row, views));
    OK(cls_stream_synchronize(NULL));
    void *expected = take_result(out);

    OK(row->blocking(views, PARAM, host, NULL));
    void *got = take_result(out);
    check_bits(row, "", is_reduction(row) ? (void *)host : got, expected);
    free(got);

    OK(row->async(views, PARAM, NULL, NULL));
    OK(cls_stream_synchronize(NULL));
    got = take_result(out);
    check_bits(row, "_async", got, expected);
    free(got);
    free(expected);
}

static cls_dtype another(cls_dtype type) { return type == CLS_I32 ? CLS_F32 : CLS_I32; }

/* Any view of another type of no larger size, so that nothing else is wrong with it. */
static void check_refusals(const struct typed_row *row, const cls_array *views) {
    uint64_t host[1] = {0x5a5a5a5a};
    for (unsigned i = 0; i <= out_index(row); i++) {
        cls_array wrong[4];
        memcpy(wrong, views, sizeof wrong);
        wrong[i] = view_make(another(views[i].dtype), 0, views[i].count, NULL);
        if (!is_reduction(row) || i < row->n_views)
            EXPECT(CLS_ERROR_TYPE_MISMATCH, row->blocking(wrong, PARAM, host, NULL));
        EXPECT(CLS_ERROR_TYPE_MISMATCH, row->async(wrong, PARAM, NULL, NULL));
        view_destroy(wrong[i]);
    }
    assert_int_equal(host[0], 0x5a5a5a5a);
}

static bool is_chosen(const struct typed_row *row) {
    if (row->family == ROW_CAST)
        return cast_is_chosen(row->type, row->out);
    return row->family == ROW_WHERE || pair_is_chosen(row->op, row->type);
}

static void check(void **state) {
    const struct typed_row *row = *state;
    NEED_TYPE(row->type);
    NEED_TYPE(row->out);
    cls_array views[4] = {{0}};
    make_views(row, views);
    if (is_chosen(row))
        check_forms(row, views);
    check_refusals(row, views);
    for (unsigned i = 0; i <= out_index(row); i++)
        free(view_take(views[i]));
}

int main(void) {
    prepare_tests();
    static struct CMUnitTest tests[ROWS];
    static struct typed_row rows[ROWS];
    memcpy(rows, typed_rows, sizeof rows);
    for (unsigned i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){rows[i].name, check, NULL, NULL, &rows[i]};
    return cmocka_run_group_tests_name("typed names", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Kinds of arguments: values of batches. "value:ROLE" is a value of the stock's live batch, which has been
 * executed; and the numbers that go with them.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

static const struct {
    const char *role;
    size_t place; /* in the stock's values */
} roles[] = {
    {"upload", offsetof(struct batch_values, upload)},
    {"array", offsetof(struct batch_values, array)},
    {"scalar", offsetof(struct batch_values, scalar)},
    {"mask", offsetof(struct batch_values, mask)},
    {"result", offsetof(struct batch_values, result)},
};

static float ones[VIEW_COUNT];

static bool record(cls_batch batch, struct batch_values *values) {
    const float one = 1;
    const cls_array array = cls_array_of(stock.handles[BUFFER].live, CLS_F32, VIEW_COUNT);
    return !cls_batch_upload(batch, ones, CLS_F32, VIEW_COUNT, &values->upload) &&
           !cls_batch_array(batch, array, &values->array) &&
           !cls_batch_scalar(batch, CLS_F32, &one, &values->scalar) &&
           !cls_batch_binary(batch, CLS_BINARY_LT, values->upload, values->scalar, &values->mask) &&
           !cls_batch_relu(batch, values->array, &values->result) &&
           !cls_batch_execute(batch, NULL);
}

bool batches_make(void) {
    cls_value *foreign = &stock.values.foreign;
    return record(stock.handles[BATCH].live, &stock.values) &&
           !cls_batch_upload(stock.handles[BATCH].foreign, ones, CLS_F32, VIEW_COUNT, foreign);
}

static cls_value value_of(const struct arg *arg) {
    for (size_t i = 0; i < COUNT_OF(roles); i++)
        if (has_flag(arg, roles[i].role)) {
            cls_value value;
            memcpy(&value, (const char *)&stock.values + roles[i].place, sizeof value);
            return value;
        }
    abort();
}

static union value of_value(cls_value value) { return (union value){.ticks = value}; }

static union value good_value(const struct arg *arg, unsigned slot) {
    (void)slot;
    return of_value(value_of(arg));
}

static void bad_value(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const cls_value mine = value_of(arg);
    const cls_value bad[] = {0,
                             1,
                             UINT32_MAX,
                             UINT64_MAX,
                             mine + 100000,
                             mine ^ (UINT64_C(1) << 63),
                             stock.values.foreign};
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        add_bad(list, "no value of the batch", CLS_ERROR_INVALID_HANDLE, of_value(bad[i]));
}

static union value good_elements(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_size(VIEW_COUNT);
}

static void bad_elements(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const size_t far[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 4 + 1};
    (void)arg;
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(far); i++)
        add_bad(list, "past the end of memory", CLS_ERROR_OUT_OF_RANGE, of_size(far[i]));
}

static void bad_region(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const unsigned far[] = {1000, INT_MAX, UINT_MAX};
    (void)arg;
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(far); i++)
        add_bad(list, "no such region", CLS_ERROR_OUT_OF_RANGE, (union value){.count = far[i]});
}

const struct kind batch_kinds[] = {
    {"value", good_value, bad_value, NULL},
    {"elements", good_elements, bad_elements, NULL},
    {"region", good_zero, bad_region, NULL},
    {NULL, NULL, NULL, NULL},
};

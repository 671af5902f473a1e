/* SPDX-License-Identifier: MIT */
/* The operands of a call of clstream/sort.h, and the checks that its calls share. */
#ifndef CLSTREAM_OPS_SORT_CALL_H
#define CLSTREAM_OPS_SORT_CALL_H

#include <clstream/sort.h>

#include "ops/matrix_operand.h"
#include "ops/sort_job.h"

/* An output follows its input. */
enum sort_role { ROLE_KEYS, ROLE_KEYS_OUT, ROLE_VALUES, ROLE_VALUES_OUT, ROLE_LENGTH, SORT_ROLES };

/* The caller fills in the name, and leaves the rest zero. */
struct sort_call {
    const char *name;     /* "sort_pairs" */
    bool not_in_place;    /* no output may be the view of its input */
    bool has[SORT_ROLES]; /* the operands that have been added */
    struct row_operand given[SORT_ROLES];
    size_t rows[SORT_ROLES], count[SORT_ROLES]; /* of an operand */
    unsigned place[SORT_ROLES];                 /* of an operand among the call's views */
    cls_sort_config config;
    struct op_call op;
};

/* An array as a matrix of one row. */
static inline cls_matrix sort_row_of(const cls_array *array) {
    return (cls_matrix){
        array->buffer, array->dtype, array->offset, 1, array->count, array->count, 0};
}

/* Add an operand, the keys first. */
cls_status sort_call_add_matrix(struct sort_call *call, enum sort_role role,
                                const cls_matrix *matrix);
cls_status sort_call_add_array(struct sort_call *call, enum sort_role role, const cls_array *array);

/* Reads the options, acquires stream and views, and checks types, bits and overlaps, but no shapes. On
 * failure nothing is held, and op_end must not be called. */
cls_status sort_call_begin(struct sort_call *call, const cls_sort_config *config, cls_stream stream,
                           bool blocking);

/* What the kernels sort, and where; an operand that there is not has no buffer. */
struct sort_input sort_call_input(struct sort_call *call);
struct sort_place sort_call_place(const struct sort_call *call, enum sort_role role);

/* Whether an output is the view of its input. */
bool sort_call_in_place(const struct sort_call *call);

/* The bytes of values, as they are read and written. */
struct sort_values sort_call_values(const struct sort_call *call);

#endif

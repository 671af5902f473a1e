/* SPDX-License-Identifier: MIT */
/* Submission of elementwise operations, after the checks of the call. */
#ifndef CLSTREAM_OPS_MAP_H
#define CLSTREAM_OPS_MAP_H

#include "ops/spec.h"

/* The parameter of an operation, in the element type of its first input. */
struct op_parameter {
    unsigned char bytes[8];
};

/* As cls_cast converts; `dtype` is valid. */
struct op_parameter parameter_of_double(cls_dtype dtype, double value);

/* Begins, runs and ends a call of `row` on n_views views, inputs first and the output last.
 * `parameter` is NULL for operations without one. */
cls_status map_call(const struct op_row *row, const cls_array *const *views, unsigned n_views,
                    const struct op_parameter *parameter, cls_stream stream, bool blocking);

/* As map_call for the kernel registered under `name`, or else for the family's row of that name.
 * With `value` not NULL, that is the parameter. */
cls_status map_call_named(enum op_family family, const char *name, const cls_array *const *views,
                          unsigned n_views, const double *value, cls_stream stream, bool blocking);

/* CLS_ERROR_TYPE_MISMATCH unless the dtype is `wanted`; an unknown one is left to op_begin's check. */
cls_status map_check_typed(const struct op_row *row, const char *role, cls_dtype dtype,
                           cls_dtype wanted);

/* Whether a row of the cast, where, unary or binary families takes inputs of these types together;
 * there are as many as its family has. */
cls_status map_check_inputs(const struct op_row *row, const cls_dtype *types);

/* Whether the views' types go together, the output's being the last, and the operation has such types. */
cls_status map_check_types(const struct op_call *call, const struct op_row *row);

/* CLS_ERROR_UNSUPPORTED for a type that the device has not. */
cls_status map_check_device(const struct op_call *call);

/* A cast between equal types is a copy. */
const struct op_row *map_row_in_effect(const struct op_call *call, const struct op_row *row);

/* CLS_ERROR_UNSUPPORTED where the operation depends on how floats are rounded, and the device's are not. */
cls_status map_check_rounding(const struct op_row *row, cls_dtype in, cls_dtype out,
                              const struct context *context);

/* The launch shape on the call's device, for views that are or are not aligned for vectors. */
enum shape map_shape_of(const struct op_call *call, bool aligned);

#endif

/* SPDX-License-Identifier: MIT */
#include "ops/sort_call.h"

#include <stdint.h>

#include "base/error.h"
#include "base/sized.h"
#include "base/types.h"
#include "memory/buffer.h"

/* --- operands --- */

cls_status sort_call_add_matrix(struct sort_call *call, enum sort_role role,
                                const cls_matrix *matrix) {
    struct row_operand operand;
    cls_status status = matrix_operand(call->name, matrix, &operand);
    if (status)
        return status;
    call->given[role] = operand;
    call->has[role] = true;
    call->rows[role] = matrix->rows;
    call->count[role] = matrix->columns;
    return CLS_SUCCESS;
}

cls_status sort_call_add_array(struct sort_call *call, enum sort_role role,
                               const cls_array *array) {
    const cls_matrix row = sort_row_of(array);
    return sort_call_add_matrix(call, role, &row);
}

struct sort_place sort_call_place(const struct sort_call *call, enum sort_role role) {
    const struct row_operand *operand = &call->given[role];
    if (!call->has[role])
        return (struct sort_place){0};
    return (struct sort_place){call->op.views[call->place[role]].buffer, operand->span,
                               operand->array.offset, operand->step};
}

struct sort_input sort_call_input(struct sort_call *call) {
    const struct row_operand *keys = &call->given[ROLE_KEYS];
    const unsigned bits = 8 * (unsigned)cls_dtype_size(keys->array.dtype);
    return (struct sort_input){
        .op = &call->op,
        .key = keys->array.dtype,
        .rows = call->rows[ROLE_KEYS],
        .count = call->count[ROLE_KEYS],
        .length = call->has[ROLE_LENGTH] ? &call->op.views[call->place[ROLE_LENGTH]] : NULL,
        .descending = call->config.descending,
        .begin = (unsigned)call->config.begin_bit,
        .end = call->config.end_bit ? (unsigned)call->config.end_bit : bits};
}

struct sort_values sort_call_values(const struct sort_call *call) {
    const unsigned out = call->has[ROLE_VALUES_OUT]
                             ? (unsigned)cls_dtype_size(call->given[ROLE_VALUES_OUT].array.dtype)
                             : 0;
    return (struct sort_values){out && !call->has[ROLE_VALUES] ? 4 : out, out};
}

/* --- checks --- */

static cls_status sort_read_config(struct sort_call *call, const cls_sort_config *given) {
    call->config = (cls_sort_config)CLS_SORT_CONFIG_INIT;
    cls_status status = SIZED_IN(cls_sort_config, &call->config, given);
    const cls_array *length = &call->config.length;
    if (!status && length->buffer)
        status = sort_call_add_array(call, ROLE_LENGTH, length);
    return status;
}

static cls_status sort_check_bits(const struct sort_call *call) {
    const int bits = 8 * (int)cls_dtype_size(call->given[ROLE_KEYS].array.dtype);
    const int begin = call->config.begin_bit, end = call->config.end_bit;
    if ((begin == 0 && end == 0) || (0 <= begin && begin < end && end <= bits))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_VALUE, "%s of %s: bits %d to %d", call->name,
                     cls_dtype_name(call->given[ROLE_KEYS].array.dtype), begin, end);
}

static bool is_index(cls_dtype dtype) {
    return dtype == CLS_I32 || dtype == CLS_U32 || dtype == CLS_I64;
}

static cls_status sort_check_types(const struct sort_call *call) {
    const struct row_operand *given = call->given;
    const cls_dtype values = given[ROLE_VALUES].array.dtype,
                    values_out = given[ROLE_VALUES_OUT].array.dtype;
    if (call->has[ROLE_KEYS_OUT] &&
        given[ROLE_KEYS].array.dtype != given[ROLE_KEYS_OUT].array.dtype)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: keys of %s to %s", call->name,
                         cls_dtype_name(given[ROLE_KEYS].array.dtype),
                         cls_dtype_name(given[ROLE_KEYS_OUT].array.dtype));
    if (!call->has[ROLE_VALUES_OUT])
        return CLS_SUCCESS;
    if (!call->has[ROLE_VALUES])
        return is_index(values_out) ? CLS_SUCCESS
                                    : error_set(CLS_ERROR_TYPE_MISMATCH, "%s: indices of %s",
                                                call->name, cls_dtype_name(values_out));
    if (values != values_out || cls_dtype_size(values) < 4)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s: values of %s to %s", call->name,
                         cls_dtype_name(values), cls_dtype_name(values_out));
    return CLS_SUCCESS;
}

static struct byte_span sort_span_in_memory(const struct sort_call *call, enum sort_role role) {
    struct byte_span span = call->given[role].span;
    span.start += call->op.views[call->place[role]].buffer->origin;
    return span;
}

/* Whether the output is the same view as its input. */
static bool sort_is_in_place(const struct sort_call *call, enum sort_role in, enum sort_role out) {
    if (!call->has[in] || !call->has[out] ||
        !buffer_is_same_memory(call->op.views[call->place[in]].buffer,
                               call->op.views[call->place[out]].buffer))
        return false;
    const struct byte_span a = sort_span_in_memory(call, in), b = sort_span_in_memory(call, out);
    return a.start == b.start && (a.pitch == b.pitch || a.height == 1);
}

static cls_status sort_check_overlap(const struct sort_call *call, enum sort_role out) {
    for (unsigned role = 0; role < SORT_ROLES; role++) {
        if (role == out || !call->has[role] ||
            !buffer_spans_overlap(call->op.views[call->place[out]].buffer, call->given[out].span,
                                  call->op.views[call->place[role]].buffer, call->given[role].span))
            continue;
        if (call->not_in_place || role + 1 != (unsigned)out || !sort_is_in_place(call, role, out))
            return error_set(CLS_ERROR_OVERLAP, "%s: an output overlaps another view", call->name);
    }
    return CLS_SUCCESS;
}

static cls_status sort_check(const struct sort_call *call) {
    cls_status status = sort_check_types(call);
    if (!status && call->has[ROLE_LENGTH])
        status = op_check_length(&call->op, call->name, call->place[ROLE_LENGTH]);
    if (!status)
        status = sort_check_bits(call);
    if (!status && call->has[ROLE_KEYS_OUT])
        status = sort_check_overlap(call, ROLE_KEYS_OUT);
    if (!status && call->has[ROLE_VALUES_OUT])
        status = sort_check_overlap(call, ROLE_VALUES_OUT);
    return status;
}

bool sort_call_in_place(const struct sort_call *call) {
    return sort_is_in_place(call, ROLE_KEYS, ROLE_KEYS_OUT) ||
           sort_is_in_place(call, ROLE_VALUES, ROLE_VALUES_OUT);
}

/* --- begin --- */

static cls_status sort_acquire(struct sort_call *call, cls_stream stream, bool blocking) {
    const cls_array *arrays[OP_MAX_VIEWS];
    unsigned n = 0;
    for (unsigned role = 0; role < SORT_ROLES; role++)
        if (call->has[role]) {
            call->place[role] = n;
            arrays[n++] = &call->given[role].array;
        }
    return op_begin(&call->op, stream, arrays, n, blocking);
}

cls_status sort_call_begin(struct sort_call *call, const cls_sort_config *config, cls_stream stream,
                           bool blocking) {
    cls_status status = sort_read_config(call, config);
    if (!status && call->count[ROLE_KEYS] > INT32_MAX)
        status = error_set(CLS_ERROR_OUT_OF_RANGE, "%s: more than 2^31 - 1 elements", call->name);
    if (!status)
        status = sort_acquire(call, stream, blocking);
    if (status)
        return status;
    status = sort_check(call);
    return status ? op_end(&call->op, status, false) : CLS_SUCCESS;
}

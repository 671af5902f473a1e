/* SPDX-License-Identifier: MIT */
/* Recording: what can be refused is refused here, with the operation's name. */
#include <string.h>

#include "base/error.h"
#include "base/types.h"
#include "batch/batch.h"
#include "core/buffer.h"
#include "core/context.h"
#include "core/stream.h"

static cls_status check_dtype(const struct batch *batch, const char *what, cls_dtype dtype) {
    if (!type_row(dtype))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: %d is no cls_dtype", what, (int)dtype);
    if (dtype == CLS_F64 && !batch->context->caps->fp64)
        return error_set(CLS_ERROR_UNSUPPORTED, "%s: %s has no double precision: no f64", what,
                         batch->context->device->info.name);
    return CLS_SUCCESS;
}

/* ---- inputs */

static cls_status add_input(struct batch *batch, const struct node *node, cls_value *out) {
    uint32_t index;
    cls_status status = batch_add(batch, node, &index);
    if (!status)
        *out = batch_value(batch, index);
    return status;
}

static cls_status check_host(const char *what, const void *data, cls_dtype dtype, size_t count) {
    size_t bytes;
    if (__builtin_mul_overflow(count, cls_dtype_size(dtype), &bytes) ||
        bytes > UINTPTR_MAX - (uintptr_t)data)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%s: %zu elements pass the end of memory", what,
                         count);
    if (!data && bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: data is null", what);
    return CLS_SUCCESS;
}

cls_status cls_batch_upload(cls_batch handle, const void *data, cls_dtype dtype, size_t count,
                            cls_value *out) {
    struct batch *batch;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "upload: out is null");
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = check_dtype(batch, "upload", dtype);
    if (!status)
        status = check_host("upload", data, dtype, count);
    const struct node node = {
        .kind = NODE_UPLOAD, .dtype = dtype, .count = count, .host = data, .dirty = true};
    return batch_leave(batch, status ? status : add_input(batch, &node, out));
}

/* Checks the view and takes a reference to its buffer. */
static cls_status take_array(struct batch *batch, const char *what, const cls_array *array,
                             struct place *place) {
    struct op_call call;
    const cls_array *const views[] = {array};
    cls_status status = check_dtype(batch, what, array->dtype);
    if (!status)
        status = op_begin(&call, NULL, views, 1, false);
    if (status)
        return status;
    if (call.context != batch->context) {
        status = error_set(CLS_ERROR_WRONG_CONTEXT, "%s: the array is of another context", what);
    } else {
        object_retain(&call.views[0].buffer->object);
        *place = (struct place){call.views[0].buffer, array->offset};
    }
    return op_end(&call, status, false);
}

cls_status cls_batch_array(cls_batch handle, cls_array array, cls_value *out) {
    struct batch *batch;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "array: out is null");
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    struct node node = {.kind = NODE_ARRAY, .dtype = array.dtype, .count = array.count};
    status = take_array(batch, "array", &array, &node.place);
    if (!status) {
        batch->overlaps_checked = false;
        status = add_input(batch, &node, out);
        if (status)
            buffer_put(node.place.buffer);
    }
    return batch_leave(batch, status);
}

cls_status cls_batch_scalar(cls_batch handle, cls_dtype dtype, const void *element,
                            cls_value *out) {
    struct batch *batch;
    if (!out || !element)
        return error_set(CLS_ERROR_INVALID_VALUE, "scalar: %s is null", out ? "element" : "out");
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = check_dtype(batch, "scalar", dtype);
    struct node node = {.kind = NODE_CONSTANT, .dtype = dtype, .count = 1, .scalar = true};
    if (!status) {
        memcpy(node.element.bytes, element, cls_dtype_size(dtype));
        status = add_input(batch, &node, out);
    }
    return batch_leave(batch, status);
}

/* ---- binding */

static cls_status find_input(struct batch *batch, cls_value value, enum node_kind kind,
                             const char *what, struct node **out) {
    uint32_t index;
    cls_status status = batch_find(batch, what, "value", value, &index);
    if (status)
        return status;
    if (batch->nodes[index].kind != kind)
        return error_set(CLS_ERROR_INVALID_STATE, "%s: the value is no such input", what);
    *out = &batch->nodes[index];
    return CLS_SUCCESS;
}

cls_status cls_batch_bind_upload(cls_batch handle, cls_value value, const void *data) {
    struct batch *batch;
    struct node *node;
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = find_input(batch, value, NODE_UPLOAD, "bind_upload", &node);
    if (!status)
        status = check_host("bind_upload", data, node->dtype, node->count);
    if (!status) {
        node->host = data;
        node->dirty = true;
    }
    return batch_leave(batch, status);
}

/* Puts a node's value into another array of the caller's. */
static cls_status move_node(struct batch *batch, const char *what, struct node *node,
                            const cls_array *array) {
    struct place place;
    const size_t size = cls_dtype_size(node->dtype);
    cls_status status = take_array(batch, what, array, &place);
    if (status)
        return status;
    if (array->dtype != node->dtype)
        status = error_set(CLS_ERROR_TYPE_MISMATCH, "%s: the array is %s, not %s", what,
                           cls_dtype_name(array->dtype), cls_dtype_name(node->dtype));
    else if (array->count != node->count)
        status = error_set(CLS_ERROR_SIZE_MISMATCH, "%s: the array has %zu elements, not %zu", what,
                           array->count, node->count);
    if (status) {
        buffer_put(place.buffer);
        return status;
    }
    if (node->place.buffer)
        buffer_put(node->place.buffer); /* work in flight keeps it */
    const bool was_aligned = node->place.offset * size % 16 == 0;
    if (was_aligned != (place.offset * size % 16 == 0))
        batch_replan(batch);
    node->place = place;
    batch->overlaps_checked = false;
    return CLS_SUCCESS;
}

cls_status cls_batch_bind_array(cls_batch handle, cls_value value, cls_array array) {
    struct batch *batch;
    struct node *node;
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = find_input(batch, value, NODE_ARRAY, "bind_array", &node);
    return batch_leave(batch, status ? status : move_node(batch, "bind_array", node, &array));
}

cls_status cls_batch_bind_scalar(cls_batch handle, cls_value value, const void *element) {
    struct batch *batch;
    struct node *node;
    if (!element)
        return error_set(CLS_ERROR_INVALID_VALUE, "bind_scalar: element is null");
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = find_input(batch, value, NODE_CONSTANT, "bind_scalar", &node);
    if (!status)
        memcpy(node->element.bytes, element, cls_dtype_size(node->dtype));
    return batch_leave(batch, status);
}

/* ---- operations */

/* An operation being recorded. */
struct recording {
    const struct op_row *row;
    unsigned n_inputs;
    const char *roles[NODE_MAX_INPUTS];
    cls_value inputs[NODE_MAX_INPUTS];
    const double *param; /* NULL: none */
    cls_dtype to;        /* of a cast */
};

static cls_status find_inputs(struct batch *batch, const struct recording *recording,
                              struct node *node) {
    cls_status status = CLS_SUCCESS;
    node->n_inputs = recording->n_inputs;
    for (unsigned i = 0; i < node->n_inputs && !status; i++)
        status = batch_find(batch, recording->row->name, recording->roles[i], recording->inputs[i],
                            &node->inputs[i]);
    return status;
}

static cls_status check_counts(const struct batch *batch, const char *name, struct node *node) {
    node->scalar = true;
    node->count = 1;
    for (unsigned i = 0; i < node->n_inputs; i++) {
        const struct node *input = &batch->nodes[node->inputs[i]];
        if (input->scalar)
            continue;
        if (!node->scalar && input->count != node->count)
            return error_set(CLS_ERROR_SIZE_MISMATCH, "%s: arrays of %zu and %zu elements", name,
                             node->count, input->count);
        node->scalar = false;
        node->count = input->count;
    }
    return CLS_SUCCESS;
}

static bool is_reduction(const struct op_row *row) {
    return row->family == OP_REDUCE || row->family == OP_DOT;
}

static cls_status check_reduction(const struct recording *recording, const cls_dtype *types,
                                  size_t count) {
    const struct op_row *row = recording->row;
    if (recording->n_inputs == 2 && types[1] != types[0])
        return map_check_typed(row, "b", types[1], types[0]);
    if (count == 0 && (row->result == RESULT_SAME || row->result == RESULT_INDEX))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s of no elements", row->name);
    return CLS_SUCCESS;
}

static cls_status check_operation(const struct batch *batch, const struct recording *recording,
                                  struct node *node) {
    const struct op_row *row = recording->row;
    cls_dtype types[NODE_MAX_INPUTS];
    cls_status status = check_counts(batch, row->name, node);
    for (unsigned i = 0; i < node->n_inputs; i++)
        types[i] = batch->nodes[node->inputs[i]].dtype;
    if (!status)
        status = is_reduction(row) ? check_reduction(recording, types, node->count)
                                   : map_check_inputs(row, types);
    if (status)
        return status;
    node->dtype = row->family == OP_CAST    ? recording->to
                  : row->family == OP_WHERE ? types[1]
                                            : op_result_dtype(row, types[0]);
    return check_dtype(batch, row->name, node->dtype);
}

/* The parameter is one more input: a constant that no id names. */
static cls_status add_parameter(struct batch *batch, double param, struct node *node) {
    struct node constant = {.kind = NODE_CONSTANT, .count = 1, .scalar = true, .hidden = true};
    constant.dtype = batch->nodes[node->inputs[0]].dtype;
    constant.element = parameter_of_double(constant.dtype, param);
    return batch_add(batch, &constant, &node->inputs[node->n_inputs++]);
}

static cls_status record_locked(struct batch *batch, const struct recording *recording,
                                cls_value *out) {
    struct node node = {.kind = is_reduction(recording->row) ? NODE_REDUCE : NODE_MAP,
                        .row = recording->row};
    uint32_t index;
    cls_status status = find_inputs(batch, recording, &node);
    if (!status)
        status = check_operation(batch, recording, &node);
    if (!status && recording->param)
        status = add_parameter(batch, *recording->param, &node);
    if (status)
        return status;
    if (node.kind == NODE_REDUCE) {
        node.scalar = true;
        node.count = 1;
    }
    status = batch_add(batch, &node, &index);
    if (status)
        return status;
    batch->totals.operations++;
    *out = batch_value(batch, index);
    return CLS_SUCCESS;
}

static cls_status record(cls_batch handle, const struct recording *recording, cls_value *out) {
    struct batch *batch;
    if (!recording->row)
        return error_set(CLS_ERROR_INVALID_VALUE, "batch: no such operation");
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: out is null", recording->row->name);
    cls_status status = batch_enter(handle, &batch);
    return status ? status : batch_leave(batch, record_locked(batch, recording, out));
}

cls_status cls_batch_unary(cls_batch batch, cls_unary_op op, cls_value in, cls_value *out) {
    const struct recording recording = {op_row_of(OP_UNARY, (int)op), 1, {"in"}, {in}, NULL, 0};
    return record(batch, &recording, out);
}

cls_status cls_batch_unary_param(cls_batch batch, cls_unary_param_op op, cls_value in, double param,
                                 cls_value *out) {
    const struct recording recording = {
        op_row_of(OP_UNARY_PARAM, (int)op), 1, {"in"}, {in}, &param, 0};
    return record(batch, &recording, out);
}

cls_status cls_batch_binary(cls_batch batch, cls_binary_op op, cls_value a, cls_value b,
                            cls_value *out) {
    const struct recording recording = {
        op_row_of(OP_BINARY, (int)op), 2, {"a", "b"}, {a, b}, NULL, 0};
    return record(batch, &recording, out);
}

cls_status cls_batch_where(cls_batch batch, cls_value condition, cls_value if_true,
                           cls_value if_false, cls_value *out) {
    const struct recording recording = {
        op_row_of(OP_WHERE, 0),         3,    {"condition", "if_true", "if_false"},
        {condition, if_true, if_false}, NULL, 0};
    return record(batch, &recording, out);
}

cls_status cls_batch_cast(cls_batch batch, cls_value in, cls_dtype to, cls_value *out) {
    const struct recording recording = {op_row_of(OP_CAST, 0), 1, {"in"}, {in}, NULL, to};
    return record(batch, &recording, out);
}

cls_status cls_batch_reduce(cls_batch batch, cls_reduce_op op, cls_value in, cls_value *out) {
    const struct recording recording = {op_row_of(OP_REDUCE, (int)op), 1, {"in"}, {in}, NULL, 0};
    return record(batch, &recording, out);
}

cls_status cls_batch_dot(cls_batch batch, cls_value a, cls_value b, cls_value *out) {
    const struct recording recording = {op_row_of(OP_DOT, 0), 2, {"a", "b"}, {a, b}, NULL, 0};
    return record(batch, &recording, out);
}

/* ---- results */

static cls_status find_result(struct batch *batch, cls_value value, const char *what,
                              struct node **out) {
    uint32_t index;
    cls_status status = batch_find(batch, what, "value", value, &index);
    if (status)
        return status;
    if (node_is_input(&batch->nodes[index]))
        return error_set(CLS_ERROR_INVALID_STATE, "%s: the value is an input", what);
    *out = &batch->nodes[index];
    return CLS_SUCCESS;
}

cls_status cls_batch_keep(cls_batch handle, cls_value value) {
    struct batch *batch;
    struct node *node;
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = find_result(batch, value, "keep", &node);
    if (!status && !node_is_result(node))
        batch_replan(batch);
    if (!status)
        node->kept = true;
    return batch_leave(batch, status);
}

cls_status cls_batch_store(cls_batch handle, cls_value value, cls_array array) {
    struct batch *batch;
    struct node *node;
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = find_result(batch, value, "store", &node);
    const bool was_result = !status && node_is_result(node);
    if (!status)
        status = move_node(batch, "store", node, &array);
    if (!status) {
        if (!was_result)
            batch_replan(batch);
        node->stored = true;
        node->ready = false;
    }
    return batch_leave(batch, status);
}

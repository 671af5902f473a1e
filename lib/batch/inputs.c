/* SPDX-License-Identifier: MIT */
/* Inputs of batches (host memory, device arrays, constants), binding others in their place, and where results
 * go. */
#include <string.h>

#include "base/error.h"
#include "base/types.h"
#include "batch/internals.h"
#include "batch/plan.h"

cls_status batch_check_dtype(const struct batch *batch, const char *what, cls_dtype dtype) {
    if (!type_row(dtype))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: %d is no cls_dtype", what, (int)dtype);
    if (dtype == CLS_F64 && !batch->context->caps->fp64)
        return error_set(CLS_ERROR_UNSUPPORTED, "%s: %s has no double precision: no f64", what,
                         batch->context->device->info.name);
    return CLS_SUCCESS;
}

/* ---- inputs */

static cls_status add_input(struct batch *batch, const struct batch_node *node, cls_value *out) {
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
    status = batch_check_dtype(batch, "upload", dtype);
    if (!status)
        status = check_host("upload", data, dtype, count);
    const struct batch_node node = {
        .kind = NODE_UPLOAD, .dtype = dtype, .count = count, .host = data, .dirty = true};
    return batch_leave(batch, status ? status : add_input(batch, &node, out));
}

/* Checks the view and takes a reference to its buffer. Whether the host owns the memory is checked at
 * execution. */
static cls_status get_array(struct batch *batch, const char *what, const cls_array *array,
                            struct array_place *place) {
    struct buffer *buffer;
    cls_status status = batch_check_dtype(batch, what, array->dtype);
    if (!status)
        status = buffer_find(array->buffer, &buffer);
    if (status)
        return status;
    status = op_check_range(array, buffer);
    if (!status && buffer->context != batch->context)
        status = error_set(CLS_ERROR_WRONG_CONTEXT, "%s: the array is of another context", what);
    if (status)
        buffer_put(buffer);
    else
        *place = (struct array_place){buffer, array->offset, object_generation(&buffer->object)};
    return status;
}

cls_status cls_batch_array(cls_batch handle, cls_array array, cls_value *out) {
    struct batch *batch;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "array: out is null");
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    struct batch_node node = {.kind = NODE_ARRAY, .dtype = array.dtype, .count = array.count};
    status = get_array(batch, "array", &array, &node.place);
    if (!status) {
        batch_rebind(batch);
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
    status = batch_check_dtype(batch, "scalar", dtype);
    struct batch_node node = {.kind = NODE_CONSTANT, .dtype = dtype, .count = 1, .scalar = true};
    if (!status) {
        memcpy(node.element.bytes, element, cls_dtype_size(dtype));
        status = add_input(batch, &node, out);
    }
    return batch_leave(batch, status);
}

/* ---- binding */

static cls_status find_input(struct batch *batch, cls_value value, enum node_kind kind,
                             const char *what, struct batch_node **out) {
    uint32_t index;
    cls_status status = batch_find(batch, what, "value", value, &index);
    if (status)
        return status;
    if (batch->nodes[index].kind != kind)
        return error_set(CLS_ERROR_INVALID_STATE, "%s: the value is not an input of this kind",
                         what);
    *out = &batch->nodes[index];
    return CLS_SUCCESS;
}

cls_status cls_batch_bind_upload(cls_batch handle, cls_value value, const void *data) {
    struct batch *batch;
    struct batch_node *node;
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

/* Gives a node's value a place in another array of the caller's. */
static cls_status move_node(struct batch *batch, const char *what, struct batch_node *node,
                            const cls_array *array) {
    struct array_place place;
    const size_t size = cls_dtype_size(node->dtype);
    cls_status status = get_array(batch, what, array, &place);
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
    batch_rebind(batch);
    return CLS_SUCCESS;
}

cls_status cls_batch_bind_array(cls_batch handle, cls_value value, cls_array array) {
    struct batch *batch;
    struct batch_node *node;
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = find_input(batch, value, NODE_ARRAY, "bind_array", &node);
    return batch_leave(batch, status ? status : move_node(batch, "bind_array", node, &array));
}

cls_status cls_batch_bind_scalar(cls_batch handle, cls_value value, const void *element) {
    struct batch *batch;
    struct batch_node *node;
    if (!element)
        return error_set(CLS_ERROR_INVALID_VALUE, "bind_scalar: element is null");
    cls_status status = batch_enter(handle, &batch);
    if (status)
        return status;
    status = find_input(batch, value, NODE_CONSTANT, "bind_scalar", &node);
    if (!status) {
        memcpy(node->element.bytes, element, cls_dtype_size(node->dtype));
        batch_rebind(batch);
    }
    return batch_leave(batch, status);
}

/* ---- results */

static cls_status find_result(struct batch *batch, cls_value value, const char *what,
                              struct batch_node **out) {
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
    struct batch_node *node;
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
    struct batch_node *node;
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
        else if (batch->plan && !node->stored)
            batch->plan->storage_bytes -= node_bytes(node);
        node->stored = true;
        node->ready = false;
        if (batch->plan)
            batch->plan->results_noted = false;
    }
    return batch_leave(batch, status);
}

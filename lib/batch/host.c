/* SPDX-License-Identifier: MIT */
/* Operations on host arrays (cls_host_*): each call is a batch of one operation. */
#include <clstream/host.h>

#include "base/error.h"
#include "batch/batch.h"
#include "batch/internals.h"

enum { HOST_MAX_INPUTS = 3 };

/* A call in progress. After the first failure the rest of its steps do nothing. */
struct host_call {
    cls_batch batch;
    cls_stream stream;
    cls_value in[HOST_MAX_INPUTS];
    unsigned n_inputs;
    cls_status status;
};

static void host_begin(struct host_call *call, const void *out, size_t out_count,
                       cls_stream stream) {
    struct stream *found;
    cls_batch_config config = CLS_BATCH_CONFIG_INIT;
    *call = (struct host_call){.stream = stream};
    config.streams = 1;
    if (!out && out_count)
        call->status = error_set(CLS_ERROR_INVALID_VALUE, "a call on host arrays: out is null");
    else
        call->status = check_may_block();
    if (!call->status)
        call->status = stream_get(stream, NULL, &found);
    if (call->status)
        return;
    call->status = check_uncaptured(found);
    if (!call->status)
        call->status =
            cls_batch_create(object_handle(&found->context->object), &config, &call->batch);
    if (!call->status)
        object_note_librarys(call->batch);
    stream_put(found);
}

static void host_input(struct host_call *call, cls_dtype type, const void *data, size_t count) {
    if (!call->status)
        call->status =
            cls_batch_upload(call->batch, data, type, count, &call->in[call->n_inputs++]);
}

/* `status` is of recording the operation, whose value is `result`. */
static cls_status host_end(struct host_call *call, cls_status status, cls_value result, void *out) {
    if (!call->status)
        call->status = status;
    if (!call->status)
        call->status = cls_batch_execute_async(call->batch, call->stream);
    if (!call->status)
        call->status = cls_batch_read(call->batch, result, out);
    /* Work that was submitted before the error may still read the inputs. */
    if (call->status && call->batch)
        batch_await_uses(call->batch);
    if (call->batch)
        cls_batch_destroy(call->batch);
    return call->status;
}

cls_status cls_host_cast(cls_dtype from, cls_dtype to, const void *in, void *out, size_t count,
                         cls_stream stream) {
    struct host_call call;
    cls_value value = 0;
    host_begin(&call, out, count, stream);
    host_input(&call, from, in, count);
    cls_status status =
        call.status ? call.status : cls_batch_cast(call.batch, call.in[0], to, &value);
    return host_end(&call, status, value, out);
}

cls_status cls_host_where(cls_dtype condition_type, cls_dtype type, const void *condition,
                          const void *if_true, const void *if_false, void *out, size_t count,
                          cls_stream stream) {
    struct host_call call;
    cls_value value = 0;
    host_begin(&call, out, count, stream);
    host_input(&call, condition_type, condition, count);
    host_input(&call, type, if_true, count);
    host_input(&call, type, if_false, count);
    cls_status status =
        call.status ? call.status
                    : cls_batch_where(call.batch, call.in[0], call.in[1], call.in[2], &value);
    return host_end(&call, status, value, out);
}

cls_status cls_host_unary(cls_unary_op op, cls_dtype type, const void *in, void *out, size_t count,
                          cls_stream stream) {
    struct host_call call;
    cls_value value = 0;
    host_begin(&call, out, count, stream);
    host_input(&call, type, in, count);
    cls_status status =
        call.status ? call.status : cls_batch_unary(call.batch, op, call.in[0], &value);
    return host_end(&call, status, value, out);
}

cls_status cls_host_unary_param(cls_unary_param_op op, cls_dtype type, const void *in, double param,
                                void *out, size_t count, cls_stream stream) {
    struct host_call call;
    cls_value value = 0;
    host_begin(&call, out, count, stream);
    host_input(&call, type, in, count);
    cls_status status = call.status
                            ? call.status
                            : cls_batch_unary_param(call.batch, op, call.in[0], param, &value);
    return host_end(&call, status, value, out);
}

cls_status cls_host_binary(cls_binary_op op, cls_dtype type, const void *a, const void *b,
                           void *out, size_t count, cls_stream stream) {
    struct host_call call;
    cls_value value = 0;
    host_begin(&call, out, count, stream);
    host_input(&call, type, a, count);
    host_input(&call, type, b, count);
    cls_status status = call.status
                            ? call.status
                            : cls_batch_binary(call.batch, op, call.in[0], call.in[1], &value);
    return host_end(&call, status, value, out);
}

cls_status cls_host_reduce(cls_reduce_op op, cls_dtype type, const void *in, void *result,
                           size_t count, cls_stream stream) {
    struct host_call call;
    cls_value value = 0;
    host_begin(&call, result, 1, stream);
    host_input(&call, type, in, count);
    cls_status status =
        call.status ? call.status : cls_batch_reduce(call.batch, op, call.in[0], &value);
    return host_end(&call, status, value, result);
}

cls_status cls_host_dot(cls_dtype type, const void *a, const void *b, void *result, size_t count,
                        cls_stream stream) {
    struct host_call call;
    cls_value value = 0;
    host_begin(&call, result, 1, stream);
    host_input(&call, type, a, count);
    host_input(&call, type, b, count);
    cls_status status =
        call.status ? call.status : cls_batch_dot(call.batch, call.in[0], call.in[1], &value);
    return host_end(&call, status, value, result);
}

cls_status cls_host_gemm(cls_dtype type, const void *a, const void *b, void *out, size_t rows,
                         size_t columns, size_t inner, const cls_gemm_config *config,
                         cls_stream stream) {
    struct host_call call;
    cls_value value = 0;
    size_t a_count, b_count;
    if (__builtin_mul_overflow(rows, inner, &a_count) ||
        __builtin_mul_overflow(inner, columns, &b_count))
        return error_set(CLS_ERROR_OUT_OF_RANGE, "gemm: the number of elements overflows");
    host_begin(&call, out, rows && columns, stream);
    host_input(&call, type, a, a_count);
    host_input(&call, type, b, b_count);
    cls_status status = call.status ? call.status
                                    : cls_batch_gemm(call.batch, call.in[0], call.in[1], rows,
                                                     columns, inner, config, &value);
    return host_end(&call, status, value, out);
}

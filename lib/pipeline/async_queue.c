/* SPDX-License-Identifier: MIT */
/* Queueing operations: what they wait for, their slot, their work, and their number. */
#include <stdlib.h>

#include <clstream/buffer.h>
#include <clstream/stream.h>

#include "base/range.h"
#include "pipeline/async.h"

enum { MOST_ARGS = 64 };

/* What is queued. Buffers are its own; `slots` is a ring that it takes a slot of. */
struct request {
    cls_op_kind kind;
    const cls_op *deps;
    unsigned n_deps;
    cls_triple_buffer slots;
    const cls_buffer *buffers;
    unsigned n_buffers;
    bool unknown; /* it may write anything */
    bool is_fn;   /* the user's, so it is called without the lock */
    cls_status (*submit)(const struct request *request, cls_stream stream, const cls_slot *slot);
    /* of a copy */
    cls_place place;
    void *host_out;
    const void *host_in;
    size_t bytes;
    /* of a compute */
    const cls_compute *compute;
};

/* --- order, under the lock --- */

static cls_status wait_for_named(struct async *async, const struct request *request) {
    cls_status status = CLS_SUCCESS;
    struct end end;
    for (unsigned i = 0; i < request->n_deps; i++)
        if (!request->deps[i] || request->deps[i] > async->issued)
            return error_set(CLS_ERROR_INVALID_VALUE, "operation %llu was never issued",
                             (unsigned long long)request->deps[i]);
    for (unsigned i = 0; i < request->n_deps && !status; i++)
        if (async_find(async, request->deps[i], &end))
            status = async_wait_for(async, request->kind, end);
    return status;
}

/* `*touched` counts the buffers whose entries the request uses from here on. */
static cls_status wait_for_buffers(struct async *async, const struct request *request,
                                   unsigned *touched) {
    cls_status status = CLS_SUCCESS;
    for (*touched = 0; *touched < request->n_buffers && !status;) {
        const struct touched *entry = async_touch(async, request->buffers[*touched]);
        if (!entry)
            return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for a buffer's order");
        ++*touched;
        status = async_wait_for(async, request->kind, entry->last);
    }
    if (!status && request->kind == CLS_OP_DOWNLOAD)
        status = async_wait_for(async, request->kind, async->unknown);
    return status;
}

/* --- slots --- */

static cls_status take_slot(const struct request *request, cls_stream stream, cls_slot *slot) {
    static cls_status (*const take[KINDS])(cls_triple_buffer, cls_stream, cls_slot *) = {
        [CLS_OP_UPLOAD] = cls_triple_buffer_upload_slot,
        [CLS_OP_COMPUTE] = cls_triple_buffer_process_slot,
        [CLS_OP_DOWNLOAD] = cls_triple_buffer_download_slot,
    };
    const cls_status status = take[request->kind](request->slots, stream, slot);
    if (status == CLS_NOT_READY)
        return error_set(CLS_ERROR_INVALID_STATE, "the triple buffer has no slot to %s",
                         request->kind == CLS_OP_UPLOAD    ? "upload to"
                         : request->kind == CLS_OP_COMPUTE ? "compute with"
                                                           : "download from");
    return status;
}

static cls_status pass_slot(const struct request *request, const cls_slot *slot) {
    if (request->kind == CLS_OP_DOWNLOAD)
        return cls_triple_buffer_advance(request->slots);
    return cls_triple_buffer_submitted(request->slots, slot->index);
}

/* --- the whole of it --- */

static cls_status submit(struct async *async, const struct request *request, const cls_slot *slot) {
    const cls_stream stream = async->lanes[request->kind].handle;
    if (!request->is_fn)
        return request->submit(request, stream, slot);
    pthread_mutex_unlock(&async->lock);
    const cls_status status = request->submit(request, stream, slot);
    pthread_mutex_lock(&async->lock);
    return status;
}

static cls_status submit_with_slot(struct async *async, const struct request *request) {
    cls_slot slot;
    if (!request->slots)
        return submit(async, request, NULL);
    cls_status status = take_slot(request, async->lanes[request->kind].handle, &slot);
    if (!status)
        status = submit(async, request, &slot);
    return status ? status : pass_slot(request, &slot);
}

/* Behind the operations that it is to wait for, which are named or have touched its buffers. */
static cls_status queue_behind(struct async *async, const struct request *request, cls_op *id) {
    struct end end, *recorded = NULL;
    unsigned touched = 0;
    cls_status status = wait_for_named(async, request);
    if (!status)
        status = wait_for_buffers(async, request, &touched);
    if (!status)
        status = submit_with_slot(async, request);
    if (!status)
        status = async_record(async, request->kind, id, &end);
    if (!status)
        recorded = &end;
    for (unsigned i = 0; i < touched; i++)
        async_touched(async, request->buffers[i], recorded);
    if (recorded && request->unknown)
        async->unknown = end;
    return status;
}

static cls_status queue_locked(struct async *async, const struct request *request, cls_op *id) {
    cls_status status = async_reserve(async, request->kind);
    if (status)
        return status;
    status = queue_behind(async, request, id);
    if (status)
        async_unreserve(async, request->kind);
    return status;
}

static cls_status queue(cls_async_coordinator handle, const struct request *request, cls_op *out) {
    struct async *async;
    cls_op id;
    if (!request->deps && request->n_deps)
        return error_set(CLS_ERROR_INVALID_VALUE, "an operation's deps are null");
    cls_status status = async_get(handle, &async);
    if (status)
        return status;
    pthread_mutex_lock(&async->lock);
    status = queue_locked(async, request, &id);
    pthread_mutex_unlock(&async->lock);
    if (!status && out)
        *out = id;
    object_release(&async->object);
    return status;
}

/* --- copies --- */

/* A slot is taken for good, so what can be known to be wrong is found before. */
static cls_status check_place(const cls_place *place, const void *host, size_t bytes) {
    size_t room;
    if (!host || !bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "a copy of %zu bytes, host memory %s", bytes,
                         host ? "given" : "null");
    cls_status status = place->buffer || !place->slots
                            ? cls_buffer_get_size(place->buffer, &room)
                            : cls_triple_buffer_get_size(place->slots, &room);
    return status ? status : range_check(place->offset, bytes, room);
}

static cls_status submit_upload(const struct request *request, cls_stream stream,
                                const cls_slot *slot) {
    return cls_copy_h2d_async(slot ? slot->buffer : request->place.buffer, request->place.offset,
                              request->host_in, request->bytes, stream);
}

static cls_status submit_download(const struct request *request, cls_stream stream,
                                  const cls_slot *slot) {
    return cls_copy_d2h_async(request->host_out, slot ? slot->buffer : request->place.buffer,
                              request->place.offset, request->bytes, stream);
}

static void use_place(struct request *request) {
    if (request->place.buffer) {
        request->buffers = &request->place.buffer;
        request->n_buffers = 1;
    } else {
        request->slots = request->place.slots;
    }
}

cls_status cls_async_coordinator_queue_upload(cls_async_coordinator coordinator, const void *host,
                                              size_t bytes, cls_place to, const cls_op *deps,
                                              unsigned n_deps, cls_op *op) {
    struct request request = {.kind = CLS_OP_UPLOAD,
                              .deps = deps,
                              .n_deps = n_deps,
                              .submit = submit_upload,
                              .place = to,
                              .host_in = host,
                              .bytes = bytes};
    cls_status status = check_place(&to, host, bytes);
    use_place(&request);
    return status ? status : queue(coordinator, &request, op);
}

cls_status cls_async_coordinator_queue_download(cls_async_coordinator coordinator, cls_place from,
                                                void *host, size_t bytes, const cls_op *deps,
                                                unsigned n_deps, cls_op *op) {
    struct request request = {.kind = CLS_OP_DOWNLOAD,
                              .deps = deps,
                              .n_deps = n_deps,
                              .submit = submit_download,
                              .place = from,
                              .host_out = host,
                              .bytes = bytes};
    cls_status status = check_place(&from, host, bytes);
    use_place(&request);
    return status ? status : queue(coordinator, &request, op);
}

/* --- computing --- */

static cls_status submit_fn(const struct request *request, cls_stream stream,
                            const cls_slot *slot) {
    return request->compute->fn(stream, slot, request->compute->arg);
}

static cls_status submit_kernel(const struct request *request, cls_stream stream,
                                const cls_slot *slot) {
    const cls_compute *compute = request->compute;
    cls_arg args[MOST_ARGS + 1];
    unsigned n = 0;
    if (!slot)
        return cls_kernel_launch_async(compute->kernel, compute->launch, compute->args,
                                       compute->n_args, stream);
    args[n++] = cls_arg_buffer(slot->buffer);
    for (unsigned i = 0; i < compute->n_args; i++)
        args[n++] = compute->args[i];
    return cls_kernel_launch_async(compute->kernel, compute->launch, args, n, stream);
}

static unsigned kernel_buffers(const cls_compute *compute, cls_buffer *buffers) {
    unsigned n = 0;
    for (unsigned i = 0; i < compute->n_args; i++)
        if (compute->args[i].kind == CLS_ARG_BUFFER && compute->args[i].u.buffer)
            buffers[n++] = compute->args[i].u.buffer;
    return n;
}

static cls_status check_compute(const cls_compute *compute) {
    if (!compute || compute->size != sizeof *compute || (!compute->fn && !compute->kernel) ||
        (!compute->buffers && compute->n_buffers) || (!compute->args && compute->n_args) ||
        compute->n_args > MOST_ARGS)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "a compute that is null, of a wrong size, without fn and kernel, or with "
                         "null arrays");
    return CLS_SUCCESS;
}

cls_status cls_async_coordinator_queue_compute(cls_async_coordinator coordinator,
                                               const cls_compute *compute, const cls_op *deps,
                                               unsigned n_deps, cls_op *op) {
    cls_buffer buffers[MOST_ARGS];
    cls_status status = check_compute(compute);
    if (status)
        return status;
    const bool is_fn = compute->fn != NULL;
    struct request request = {.kind = CLS_OP_COMPUTE,
                              .deps = deps,
                              .n_deps = n_deps,
                              .slots = compute->slots,
                              .buffers = is_fn ? compute->buffers : buffers,
                              .is_fn = is_fn,
                              .submit = is_fn ? submit_fn : submit_kernel,
                              .compute = compute};
    request.n_buffers = is_fn ? compute->n_buffers : kernel_buffers(compute, buffers);
    request.unknown = is_fn && !compute->n_buffers && !compute->slots;
    return queue(coordinator, &request, op);
}

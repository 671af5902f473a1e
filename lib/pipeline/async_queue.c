/* SPDX-License-Identifier: MIT */
/* Queueing operations on an async coordinator: their order, their slot of a ring, their work, their number. */
#include <stdlib.h>

#include <clstream/buffer.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "base/range.h"
#include "base/rare.h"
#include "base/sized.h"
#include "pipeline/async.h"
#include "pipeline/internals.h"
#include "pipeline/pipeline.h"

/* The operation of a queue call. `slots` is a ring to take a slot from, or NULL. Initializers name every
 * member, because clearing the rest costs more than setting them. */
struct request {
    cls_op_kind kind;
    const cls_op *deps;
    unsigned n_deps;
    cls_triple_buffer slots;
    const cls_buffer *buffers;
    unsigned n_buffers;
    bool unknown;               /* it may write any buffer */
    const cls_compute *compute; /* NULL: a copy, described by what follows */
    const cls_place *place;
    void *host; /* read only, by an upload */
    size_t bytes;
};

/* --- order, under the lock --- */

static cls_status come_after_named(struct async *async, const struct request *request,
                                   uint64_t behind[KINDS]) {
    cls_status status = CLS_SUCCESS;
    struct end end;
    for (unsigned i = 0; i < request->n_deps; i++)
        if (!request->deps[i] || request->deps[i] > async->issued)
            return error_set(CLS_ERROR_INVALID_VALUE, "operation %llu was never issued",
                             (unsigned long long)request->deps[i]);
    for (unsigned i = 0; i < request->n_deps && !status; i++)
        if (async_find(async, request->deps[i], &end))
            status = async_come_after(async, request->kind, end, behind);
    return status;
}

/* `*used` counts the buffers of which the request is a user from here on. */
static cls_status come_after_buffers(struct async *async, const struct request *request,
                                     uint64_t behind[KINDS], unsigned *used) {
    cls_status status = CLS_SUCCESS;
    for (*used = 0; *used < request->n_buffers && !status;) {
        const struct buffer_use *entry = async_use_buffer(async, request->buffers[*used]);
        if (!entry)
            return error_no_memory("for a buffer's order");
        ++*used;
        status = async_come_after_buffer(async, request->kind, entry, behind);
    }
    if (!status && request->kind == CLS_OP_DOWNLOAD)
        status = async_come_after(async, request->kind, async->unknown, behind);
    return status;
}

/* --- slots --- */

static cls_status take_slot(const struct request *request, cls_stream stream,
                            struct held_slot *held) {
    const cls_status status = ring_take(request->slots, request->kind, stream, held);
    unsigned slots = 0;
    if (status == CLS_NOT_READY && !cls_triple_buffer_get_slots(request->slots, &slots))
        return error_set(CLS_ERROR_INVALID_STATE, "none of the %u slots of the triple buffer %s",
                         slots,
                         request->kind == CLS_OP_UPLOAD    ? "is free for an upload"
                         : request->kind == CLS_OP_COMPUTE ? "was uploaded and waits for a compute"
                                                           : "was computed with and waits for a "
                                                             "download");
    return status;
}

/* --- work: submitted behind its waits; `*position` is set where it is known --- */

static cls_status submit_copy(struct async *async, const struct request *request,
                              const uint64_t behind[KINDS], const cls_slot *slot,
                              uint64_t *position) {
    struct stream *stream = async->lanes[request->kind].stream;
    const cls_buffer buffer = slot ? slot->buffer : request->place->buffer;
    struct copy_call call;
    cls_status status = copy_call_prepare(&call, stream, request->kind == CLS_OP_UPLOAD, buffer,
                                          request->place->offset, request->host, request->bytes);
    if (status)
        return status;
    status = async_enter_behind(async, request->kind, behind);
    if (status) {
        copy_call_drop(&call);
        return status;
    }
    return copy_call_submit_entered(&call, position);
}

static cls_status submit_kernel(struct async *async, const struct request *request,
                                const uint64_t behind[KINDS], const cls_slot *slot,
                                uint64_t *position) {
    const cls_compute *compute = request->compute;
    const cls_arg *args = compute->args;
    cls_arg with_slot[MOST_COMPUTE_ARGS + 1];
    unsigned n = compute->n_args;
    if (slot) {
        with_slot[0] = cls_arg_buffer(slot->buffer);
        for (unsigned i = 0; i < n; i++)
            with_slot[i + 1] = args[i];
        args = with_slot;
        n++;
    }
    cls_status status = async_enter_behind(async, request->kind, behind);
    return status ? status
                  : launch_entered(async->lanes[request->kind].stream, compute->kernel,
                                   compute->launch, args, n, position);
}

/* A function of the user's is called without the lock. `*position` is set once it was called, even if it
 * fails: later operations must run behind what it had submitted. */
static cls_status submit_fn(struct async *async, const struct request *request,
                            const uint64_t behind[KINDS], const cls_slot *slot,
                            uint64_t *position) {
    const struct lane *lane = &async->lanes[request->kind];
    cls_status status = async_enter_behind(async, request->kind, behind);
    if (status)
        return status;
    pthread_mutex_unlock(&lane->stream->lock);
    pthread_mutex_unlock(&async->lock);
    status = blocking_release(CLS_SUCCESS);
    const unsigned long before = error_count();
    const bool called = !status;
    if (called)
        status = pipeline_returned(request->compute->fn(lane->handle, slot, request->compute->arg),
                                   before, "the function of a compute");
    blocking_hold();
    pthread_mutex_lock(&async->lock);
    const cls_status marked = called ? stream_mark(lane->stream, position) : CLS_SUCCESS;
    return status ? status : marked;
}

static cls_status submit(struct async *async, const struct request *request,
                         const uint64_t behind[KINDS], const cls_slot *slot, uint64_t *position) {
    if (!request->compute)
        return submit_copy(async, request, behind, slot, position);
    if (RARELY(request->compute->fn))
        return submit_fn(async, request, behind, slot, position);
    return submit_kernel(async, request, behind, slot, position);
}

static cls_status submit_with_slot(struct async *async, const struct request *request,
                                   const uint64_t behind[KINDS], uint64_t *position) {
    struct held_slot held;
    if (!RARELY(request->slots))
        return submit(async, request, behind, NULL, position);
    cls_status status = take_slot(request, async->lanes[request->kind].handle, &held);
    if (status)
        return status;
    status = submit(async, request, behind, &held.slot, position);
    if (!status)
        status = ring_submitted(&held);
    if (status)
        ring_refuse(&held);
    return status;
}

/* --- the queue calls --- */

/* Submits the operation behind those that it names and those on its buffers. Where it fails after it has
 * submitted work, the buffers are noted all the same, so that later operations run behind that work. */
static cls_status queue_behind(struct async *async, const struct request *request, cls_op *id) {
    uint64_t behind[KINDS] = {0};
    struct end end = {.kind = request->kind};
    const uint64_t since = async->turns;
    unsigned used = 0;
    cls_status status = come_after_named(async, request, behind);
    if (!status)
        status = come_after_buffers(async, request, behind, &used);
    if (!status)
        status = submit_with_slot(async, request, behind, &end.position);
    if (!status)
        status = async_record(async, &end, id);
    for (unsigned i = 0; i < used; i++)
        async_release_buffer(async, request->buffers[i], end.position ? &end : NULL, since);
    if (end.position && request->unknown)
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

/* Waits for a slot without the coordinator's lock, so that others can poll and queue meanwhile. */
COLD static cls_status await_slot(const struct request *request) {
    return request->kind == CLS_OP_UPLOAD ? ring_await_upload(request->slots) : CLS_SUCCESS;
}

static cls_status queue(cls_async_coordinator handle, const struct request *request, cls_op *out) {
    struct async *async;
    cls_op id;
    if (RARELY(!request->deps && request->n_deps))
        return error_set(CLS_ERROR_INVALID_VALUE, "deps is null and n_deps is not 0");
    cls_status status = RARELY(request->slots) ? await_slot(request) : CLS_SUCCESS;
    if (!RARELY(status))
        status = async_enter(handle, &async);
    if (RARELY(status))
        return status;
    /* submit_fn unlocks meanwhile, so the object needs a reference. */
    const bool held = request->compute && request->compute->fn;
    if (RARELY(held))
        object_retain(&async->object);
    blocking_hold();
    status = queue_locked(async, request, &id);
    pthread_mutex_unlock(&async->lock);
    if (!status && out)
        *out = id;
    if (RARELY(held))
        object_release(&async->object);
    return blocking_release(status);
}

/* --- copies --- */

/* A taken slot cannot be given back, so errors are found before one is taken. */
static cls_status check_place(const cls_place *place, const void *host, size_t bytes) {
    size_t room;
    if (!host || !bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "a copy of %zu bytes, host memory %s", bytes,
                         host ? "given" : "null");
    if (place->buffer || !place->slots)
        return CLS_SUCCESS;
    cls_status status = cls_triple_buffer_get_size(place->slots, &room);
    return status ? status : range_check(place->offset, bytes, room);
}

static cls_status queue_copy(cls_async_coordinator coordinator, cls_op_kind kind,
                             const cls_place *place, void *host, size_t bytes, const cls_op *deps,
                             unsigned n_deps, cls_op *op) {
    const struct request request = {.kind = kind,
                                    .deps = deps,
                                    .n_deps = n_deps,
                                    .slots = place->buffer ? NULL : place->slots,
                                    .buffers = &place->buffer,
                                    .n_buffers = place->buffer != NULL,
                                    .unknown = false,
                                    .compute = NULL,
                                    .place = place,
                                    .host = host,
                                    .bytes = bytes};
    cls_status status = check_place(place, host, bytes);
    return status ? status : queue(coordinator, &request, op);
}

cls_status cls_async_coordinator_queue_upload(cls_async_coordinator coordinator, const void *host,
                                              size_t bytes, cls_place to, const cls_op *deps,
                                              unsigned n_deps, cls_op *op) {
    return queue_copy(coordinator, CLS_OP_UPLOAD, &to, (void *)(uintptr_t)host, bytes, deps, n_deps,
                      op);
}

cls_status cls_async_coordinator_queue_download(cls_async_coordinator coordinator, cls_place from,
                                                void *host, size_t bytes, const cls_op *deps,
                                                unsigned n_deps, cls_op *op) {
    return queue_copy(coordinator, CLS_OP_DOWNLOAD, &from, host, bytes, deps, n_deps, op);
}

/* --- computing --- */

static unsigned kernel_buffers(const cls_compute *compute, cls_buffer *buffers) {
    unsigned n = 0;
    for (unsigned i = 0; i < compute->n_args; i++) {
        const cls_arg *arg = &compute->args[i];
        struct pointed at;
        if (arg_is_memory(arg->kind) && arg->u.buffer)
            buffers[n++] = arg->u.buffer;
        else if (arg->kind == CLS_ARG_POINTER && arg->u.pointer &&
                 !pointer_find_buffer(arg->u.pointer, &at))
            buffers[n++] = at.buffer;
    }
    return n;
}

/* Checks the buffers that a function declares. Those of a kernel are checked by its launch. */
static cls_status check_buffers(const cls_compute *compute) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < compute->n_buffers && !status; i++) {
        struct buffer *buffer;
        status = buffer_find(compute->buffers[i], &buffer);
        if (!status)
            buffer_put(buffer);
    }
    return status;
}

static cls_status check_compute(const cls_compute *compute) {
    const char *wrong = !compute->fn && !compute->kernel          ? "without fn and kernel"
                        : !compute->buffers && compute->n_buffers ? "with null buffers"
                        : !compute->args && compute->n_args       ? "with null args"
                                                                  : NULL;
    if (RARELY(wrong))
        return error_set(CLS_ERROR_INVALID_VALUE, "a compute is %s", wrong);
    if (RARELY(compute->n_args > MOST_COMPUTE_ARGS))
        return error_set(CLS_ERROR_INVALID_VALUE, "a compute has at most %d arguments, not %u",
                         MOST_COMPUTE_ARGS, compute->n_args);
    return compute->fn ? check_buffers(compute) : CLS_SUCCESS;
}

cls_status async_take_compute(const cls_compute *given, cls_compute *out) {
    *out = (cls_compute)CLS_COMPUTE_INIT;
    cls_status status = SIZED_IN(cls_compute, out, given);
    return status ? status : check_compute(out);
}

cls_status cls_async_coordinator_queue_compute(cls_async_coordinator coordinator,
                                               const cls_compute *given, const cls_op *deps,
                                               unsigned n_deps, cls_op *op) {
    cls_buffer buffers[MOST_COMPUTE_ARGS];
    cls_compute compute;
    cls_status status = async_take_compute(given, &compute);
    if (status)
        return status;
    const bool is_fn = compute.fn != NULL;
    const struct request request = {.kind = CLS_OP_COMPUTE,
                                    .deps = deps,
                                    .n_deps = n_deps,
                                    .slots = compute.slots,
                                    .buffers = is_fn ? compute.buffers : buffers,
                                    .n_buffers = is_fn ? compute.n_buffers
                                                       : kernel_buffers(&compute, buffers),
                                    .unknown = is_fn && !compute.n_buffers && !compute.slots,
                                    .compute = &compute,
                                    .place = NULL,
                                    .host = NULL,
                                    .bytes = 0};
    return queue(coordinator, &request, op);
}

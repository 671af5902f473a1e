/* SPDX-License-Identifier: MIT */
/* The collectives: checks of arguments, and the blocking forms. */
#include <stdint.h>

#include <clstream/buffer.h>
#include <clstream/context.h>
#include <clstream/graph.h>
#include <clstream/stream.h>

#include "mpi/comm.h"

/* --- checks --- */

/* Bytes of a checked view. */
struct view_extent {
    size_t first, end;
};

cls_status check_type(cls_dtype dtype) {
    if (!cls_dtype_size(dtype))
        return report(CLS_ERROR_INVALID_VALUE, "%d is no cls_dtype", (int)dtype);
    if (dtype == CLS_F16 || dtype == CLS_BF16)
        return report(CLS_ERROR_UNSUPPORTED, "MPI has no type for %s", cls_dtype_name(dtype));
    return CLS_SUCCESS;
}

/* A copy of no bytes checks the buffer and its context. */
static cls_status check_array(const struct comm *comm, const cls_array *array,
                              struct view_extent *out) {
    const size_t size = cls_dtype_size(array->dtype);
    size_t first, bytes, end, have;
    cls_status status = check_type(array->dtype);
    if (!status)
        status =
            cls_copy_d2h_async(NULL, array->buffer, 0, 0, comm->channels[COLLECTIVES].streams[0]);
    if (!status)
        status = cls_buffer_get_size(array->buffer, &have);
    if (status)
        return status;
    if (__builtin_mul_overflow(array->offset, size, &first) ||
        __builtin_mul_overflow(array->count, size, &bytes) ||
        __builtin_add_overflow(first, bytes, &end) || end > have)
        return report(CLS_ERROR_OUT_OF_RANGE,
                      "%zu elements of %s from %zu on are past the end of a buffer of %zu bytes",
                      array->count, cls_dtype_name(array->dtype), array->offset, have);
    *out = (struct view_extent){first, end};
    return CLS_SUCCESS;
}

static cls_status check_op(cls_mpi_op op) {
    return (unsigned)op <= CLS_MPI_MAX
               ? CLS_SUCCESS
               : report(CLS_ERROR_INVALID_VALUE, "%d is no cls_mpi_op", (int)op);
}

static cls_status check_rank(const struct comm *comm, int rank, bool other) {
    return rank >= 0 && rank < comm->ranks && !(other && rank == comm->rank)
               ? CLS_SUCCESS
               : report(CLS_ERROR_OUT_OF_RANGE, "rank %d: there are %d ranks%s", rank, comm->ranks,
                        other ? ", and this is another one's" : "");
}

/* `whole` is `blocks` times `block`, which may be this rank's block of it and else shares no byte with it. */
static cls_status check_blocks(const struct comm *comm, const cls_array *whole,
                               const cls_array *block, unsigned blocks) {
    struct view_extent all, part;
    size_t count;
    cls_status status = check_array(comm, whole, &all);
    if (!status)
        status = check_array(comm, block, &part);
    if (status)
        return status;
    if (whole->dtype != block->dtype)
        return report(CLS_ERROR_TYPE_MISMATCH, "arrays of %s and of %s",
                      cls_dtype_name(whole->dtype), cls_dtype_name(block->dtype));
    if (__builtin_mul_overflow(block->count, blocks, &count) || whole->count != count)
        return report(CLS_ERROR_SIZE_MISMATCH, "arrays of %zu and %zu elements, for %u blocks",
                      whole->count, block->count, blocks);
    const size_t own = blocks > 1 ? (size_t)comm->rank * (part.end - part.first) : 0;
    if (whole->buffer == block->buffer && all.first < part.end && part.first < all.end &&
        part.first != all.first + own)
        return report(CLS_ERROR_OVERLAP, "input and output overlap without being the same");
    return CLS_SUCCESS;
}

static cls_status check_context(cls_context context, cls_stream stream) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    cls_status status = cls_stream_get_info(stream, &info);
    if (!status && info.context != context)
        status =
            report(CLS_ERROR_WRONG_CONTEXT, "a stream of another context than the communicator's");
    return status;
}

/* What ranks exchange is no node of a graph. */
static cls_status check_uncaptured(cls_stream stream) {
    cls_capture_info info = CLS_CAPTURE_INFO_INIT;
    cls_status status = cls_stream_get_capture(stream, &info);
    if (!status && info.state != CLS_CAPTURE_NONE)
        status = report(CLS_ERROR_INVALID_STATE,
                        "the stream is captured by '%s': ranks exchange nothing in a capture",
                        info.name);
    return status;
}

cls_status check_stream(cls_context context, cls_stream *stream) {
    cls_status status =
        *stream ? check_context(context, *stream) : cls_context_default_stream(context, stream);
    return status ? status : check_uncaptured(*stream);
}

/* --- the calls --- */

static cls_status check_request(const struct comm *comm, const struct comm_request *request) {
    const unsigned n = (unsigned)comm->ranks;
    struct view_extent unused;
    cls_status status = CLS_SUCCESS;
    switch (request->action) {
    case ALLREDUCE:
        status = check_op(request->op);
        return status ? status : check_blocks(comm, &request->in, &request->out, 1);
    case REDUCE_SCATTER:
        status = check_op(request->op);
        return status ? status : check_blocks(comm, &request->in, &request->out, n);
    case ALLGATHER:
        return check_blocks(comm, &request->out, &request->in, n);
    case BCAST:
    case SEND:
    case RECV:
        status = check_rank(comm, request->peer, request->action != BCAST);
        return status ? status : check_array(comm, &request->in, &unused);
    case BARRIER:
        return CLS_SUCCESS;
    }
    return status;
}

static cls_status call(cls_mpi_comm handle, const struct comm_request *request, cls_stream stream,
                       bool waits) {
    struct comm *comm;
    cls_status status = comm_get(handle, &comm);
    if (status)
        return status;
    status = check_request(comm, request);
    if (!status)
        status = check_stream(comm->context, &stream);
    if (!status && waits)
        status = comm_may_block(comm);
    if (!status)
        status = channel_submit(comm, request, stream);
    if (!status && waits)
        status = cls_stream_synchronize(stream);
    return comm_put(comm, status);
}

static cls_status reduction(enum action action, cls_mpi_comm comm, cls_mpi_op op, cls_array in,
                            cls_array out, cls_stream stream, bool waits) {
    const struct comm_request request = {
        .action = action, .op = op, .peer = -1, .in = in, .out = out};
    return call(comm, &request, stream, waits);
}

static cls_status message(enum action action, cls_mpi_comm comm, cls_array array, int peer,
                          cls_stream stream, bool waits) {
    const struct comm_request request = {.action = action, .peer = peer, .in = array, .out = array};
    return call(comm, &request, stream, waits);
}

cls_status cls_mpi_allreduce_async(cls_mpi_comm comm, cls_mpi_op op, cls_array in, cls_array out,
                                   cls_stream stream) {
    return reduction(ALLREDUCE, comm, op, in, out, stream, false);
}

cls_status cls_mpi_allreduce(cls_mpi_comm comm, cls_mpi_op op, cls_array in, cls_array out,
                             cls_stream stream) {
    return reduction(ALLREDUCE, comm, op, in, out, stream, true);
}

cls_status cls_mpi_reduce_scatter_async(cls_mpi_comm comm, cls_mpi_op op, cls_array in,
                                        cls_array out, cls_stream stream) {
    return reduction(REDUCE_SCATTER, comm, op, in, out, stream, false);
}

cls_status cls_mpi_reduce_scatter(cls_mpi_comm comm, cls_mpi_op op, cls_array in, cls_array out,
                                  cls_stream stream) {
    return reduction(REDUCE_SCATTER, comm, op, in, out, stream, true);
}

cls_status cls_mpi_allgather_async(cls_mpi_comm comm, cls_array in, cls_array out,
                                   cls_stream stream) {
    return reduction(ALLGATHER, comm, CLS_MPI_SUM, in, out, stream, false);
}

cls_status cls_mpi_allgather(cls_mpi_comm comm, cls_array in, cls_array out, cls_stream stream) {
    return reduction(ALLGATHER, comm, CLS_MPI_SUM, in, out, stream, true);
}

cls_status cls_mpi_bcast_async(cls_mpi_comm comm, cls_array array, int root, cls_stream stream) {
    return message(BCAST, comm, array, root, stream, false);
}

cls_status cls_mpi_bcast(cls_mpi_comm comm, cls_array array, int root, cls_stream stream) {
    return message(BCAST, comm, array, root, stream, true);
}

cls_status cls_mpi_send_async(cls_mpi_comm comm, cls_array array, int to, cls_stream stream) {
    return message(SEND, comm, array, to, stream, false);
}

cls_status cls_mpi_send(cls_mpi_comm comm, cls_array array, int to, cls_stream stream) {
    return message(SEND, comm, array, to, stream, true);
}

cls_status cls_mpi_recv_async(cls_mpi_comm comm, cls_array array, int from, cls_stream stream) {
    return message(RECV, comm, array, from, stream, false);
}

cls_status cls_mpi_recv(cls_mpi_comm comm, cls_array array, int from, cls_stream stream) {
    return message(RECV, comm, array, from, stream, true);
}

cls_status cls_mpi_barrier_async(cls_mpi_comm comm, cls_stream stream) {
    return message(BARRIER, comm, (cls_array){.buffer = NULL}, -1, stream, false);
}

cls_status cls_mpi_barrier(cls_mpi_comm comm, cls_stream stream) {
    return message(BARRIER, comm, (cls_array){.buffer = NULL}, -1, stream, true);
}

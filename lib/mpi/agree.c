/* SPDX-License-Identifier: MIT */
/* What the ranks agree on when they create a communicator. */
#define _GNU_SOURCE /* process_vm_readv */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <clstream/buffer.h>

#include "mpi/comm.h"

/* --- options --- */

/* Options and their negatives: if all ranks have the same, the two minima are negatives of each other. */
enum { OPTIONS = 5, VALUES = 1 + 2 * OPTIONS };

static cls_status compare(struct comm *comm, cls_status own) {
    const int64_t options[OPTIONS] = {(int64_t)comm->chunk_bytes, comm->chunks, comm->config.memory,
                                      comm->compares, comm->config.host_ranks};
    int64_t mine[VALUES] = {own ? comm->rank - comm->ranks : 0}, least[VALUES];
    for (int i = 0; i < OPTIONS; i++) {
        mine[1 + i] = options[i];
        mine[1 + OPTIONS + i] = -options[i];
    }
    const int error = MPI_Allreduce(mine, least, VALUES, MPI_INT64_T, MPI_MIN, comm->control);
    if (own || error)
        return own ? own : report(CLS_ERROR_COMMAND_FAILED, "MPI_Allreduce failed");
    if (least[0])
        return report(CLS_ERROR_COMMAND_FAILED, "rank %d could not create its part",
                      (int)least[0] + comm->ranks);
    for (int i = 0; i < OPTIONS; i++)
        if (least[1 + i] != -least[1 + OPTIONS + i])
            return report(CLS_ERROR_INVALID_VALUE,
                          "the ranks' options, or CLSTREAM_CHECK, are not the same");
    return CLS_SUCCESS;
}

/* --- the trial of pinned memory --- */

/* Whether the kernel reaches the pages, as an MPI has it do between processes: it refuses pages of a device. */
static bool kernel_reaches(char *memory, size_t bytes) {
    char byte;
    struct iovec to = {&byte, 1}, from = {memory, 1};
    for (size_t at = 0; at < bytes; at += bytes / 2 + 1) {
        from.iov_base = memory + at;
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 && errno == EFAULT)
            return false;
    }
    return true;
}

static char pattern(int rank, size_t i) { return (char)((size_t)rank * 31 + i * 7 + (i >> 8)); }

/* Sends a chunk to the next rank, and says whether that of the rank before arrives as it was sent. */
static bool exchange_chunk(struct comm *comm, const struct channel *channel, bool usable) {
    const int before = (comm->rank + comm->ranks - 1) % comm->ranks;
    const size_t bytes = comm->chunk_bytes;
    char *plain = usable ? NULL : malloc(2 * bytes);
    char *out = plain ? plain : channel->out.base, *in = plain ? plain + bytes : channel->in.base;
    bool same = usable;
    for (size_t i = 0; i < bytes; i++)
        out[i] = pattern(comm->rank, i);
    memset(in, 0, bytes);
    if (MPI_Sendrecv(out, (int)bytes, MPI_BYTE, (comm->rank + 1) % comm->ranks, 0, in, (int)bytes,
                     MPI_BYTE, before, 0, comm->data, MPI_STATUS_IGNORE))
        same = false;
    for (size_t i = 0; i < bytes && same; i++)
        same = in[i] == pattern(before, i);
    free(plain);
    return same;
}

static cls_status try_memory(struct comm *comm) {
    struct channel *channel = &comm->channels[COLLECTIVES];
    const bool usable =
        comm->memory == CLS_MPI_MEMORY_PLAIN || kernel_reaches(channel->memory, comm->chunk_bytes);
    const bool arrives = exchange_chunk(comm, channel, usable);
    if (comm->memory != CLS_MPI_MEMORY_AUTO)
        return arrives ? CLS_SUCCESS
                       : report(CLS_ERROR_UNSUPPORTED,
                                "MPI does not send from and receive to %s memory",
                                comm->memory == CLS_MPI_MEMORY_PINNED ? "pinned" : "plain");
    comm->memory = arrives ? CLS_MPI_MEMORY_PINNED : CLS_MPI_MEMORY_PLAIN;
    if (arrives)
        return CLS_SUCCESS;
    return channel_remake(channel);
}

/* --- all of it --- */

/* Tags: number, type, action, chunk, phase; the last four take 11 bits, and the standard grants 15. */
static void count_numbers(struct comm *comm) {
    int *most, found = 0;
    comm->numbers = 16;
    MPI_Comm_get_attr(comm->data, MPI_TAG_UB, (void *)&most, &found);
    if (found && *most > 1 << 21)
        comm->numbers = 1024;
}

/* After a failure on any rank all return one. */
static cls_status settle(struct comm *comm, cls_status own) {
    int bad = own != CLS_SUCCESS, any = 1;
    if (MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, comm->control))
        any = 1;
    return own   ? own
           : any ? report(CLS_ERROR_COMMAND_FAILED, "another rank could not create its part")
                 : own;
}

cls_status comm_agree(struct comm *comm, MPI_Comm mpi, cls_status own) {
    int error = MPI_Comm_dup(mpi, &comm->control);
    if (!error)
        error = MPI_Comm_dup(mpi, &comm->data);
    if (error)
        return own ? own : report(CLS_ERROR_COMMAND_FAILED, "MPI_Comm_dup failed");
    MPI_Comm_set_errhandler(comm->control, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm->data, MPI_ERRORS_RETURN);
    count_numbers(comm);
    cls_status status = compare(comm, own);
    if (!status) {
        status = try_memory(comm);
        const cls_status met = host_meet(comm);
        status = status ? status : met;
        if (!status && comm->segment)
            status = channel_remake(&comm->channels[COLLECTIVES]);
        status = settle(comm, status);
    }
    if (status) {
        MPI_Comm_free(&comm->data);
        MPI_Comm_free(&comm->control);
    }
    return status;
}

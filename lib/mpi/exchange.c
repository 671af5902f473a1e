/* SPDX-License-Identifier: MIT */
/*
 * How a piece is exchanged, by messages between two ranks each, so that reductions have one order and what is in
 * flight can be cancelled.
 *
 *   all-reduce       every rank gets its slice of the piece from all, combines them, and sends the result to all;
 *                    a small array goes to all whole, and each combines it
 *   reduce-scatter   the first half of that, with blocks for slices
 *   all-gather       every rank sends its block to all
 *   broadcast        along a binomial tree
 *   barrier          to the rank 1, 2, 4 ... further on, and from the rank as far behind
 *
 * A message's tag has the call's number, action and type, the chunk and the phase: what does not belong together
 * never meets.
 */
#include <stdlib.h>

#include "mpi/comm.h"

/* Bytes: arrays so small that one exchange more costs more than what is sent twice. */
enum { SMALL = 16 << 10 };
/* Bytes: what is combined at a time stays in the processor's cache. */
enum { BLOCK = 32 << 10 };

static MPI_Datatype mpi_type(int dtype) {
    switch ((cls_dtype)dtype) {
    case CLS_F32:
        return MPI_FLOAT;
    case CLS_F64:
        return MPI_DOUBLE;
    case CLS_I32:
        return MPI_INT32_T;
    case CLS_I64:
        return MPI_INT64_T;
    case CLS_U8:
        return MPI_UINT8_T;
    case CLS_U32:
        return MPI_UINT32_T;
    }
    return MPI_DATATYPE_NULL;
}

static MPI_Op mpi_op(int op) {
    switch ((cls_mpi_op)op) {
    case CLS_MPI_SUM:
        return MPI_SUM;
    case CLS_MPI_PRODUCT:
        return MPI_PROD;
    case CLS_MPI_MIN:
        return MPI_MIN;
    case CLS_MPI_MAX:
        return MPI_MAX;
    }
    return MPI_OP_NULL;
}

/* --- messages --- */

/* The two ends of a send count numbers and chunks apart, so their tags have none; MPI keeps their order. */
static int tag_of(const struct channel *channel, const struct piece *piece) {
    const struct signature *call = &piece->job->call;
    const bool pair = call->action == SEND || call->action == RECV;
    const int number = pair ? 0 : (int)(call->number % (uint64_t)channel->comm->numbers);
    const int action = pair ? SEND : call->action;
    const int dtype = call->action == BARRIER ? 0 : call->dtype;
    return (((number * 8 + dtype) * 8 + action) * 8 + (pair ? 0 : (int)piece->slot)) * 2 +
           (call->action == ALLREDUCE ? (int)piece->phase & 1 : 0);
}

static bool failed_in(const struct channel *channel, const struct piece *piece, int error) {
    char what[96], said[96];
    describe_call(&piece->job->call, what, sizeof what);
    describe_mpi(error, said, sizeof said);
    comm_fail(channel->comm, true, "rank %d, %s: %s", channel->comm->rank, what, said);
    return false;
}

static bool start(const struct channel *channel, struct piece *piece, int peer, char *data,
                  size_t bytes, bool receives) {
    struct comm *comm = channel->comm;
    MPI_Request *request = &piece->active[piece->n];
    const int tag = tag_of(channel, piece);
    *request = MPI_REQUEST_NULL;
    const int error = receives
                          ? MPI_Irecv(data, (int)bytes, MPI_BYTE, peer, tag, comm->data, request)
                          : MPI_Isend(data, (int)bytes, MPI_BYTE, peer, tag, comm->data, request);
    if (error)
        return failed_in(channel, piece, error);
    piece->wanted[piece->n] = receives ? (long)bytes : -1;
    piece->peers[piece->n++] = peer;
    if (!receives)
        atomic_fetch_add(&comm->sent_bytes, bytes);
    return true;
}

static bool receive(const struct channel *channel, struct piece *piece, int peer, char *data,
                    size_t bytes) {
    return start(channel, piece, peer, data, bytes, true);
}

static bool post(const struct channel *channel, struct piece *piece, int peer, char *data,
                 size_t bytes) {
    return start(channel, piece, peer, data, bytes, false);
}

/* --- slices --- */

/* The part of the piece that a rank combines: `first` in bytes from the start of the chunk. */
struct slice {
    size_t first, count;
};

static bool is_small(const struct channel *channel, const struct job *job) {
    const size_t bytes = job->count * job->element;
    return job->pieces == 1 && bytes <= SMALL &&
           bytes * (size_t)channel->comm->ranks <= channel->comm->chunk_bytes;
}

static struct slice slice_of(const struct channel *channel, const struct piece *piece, int rank) {
    const struct job *job = piece->job;
    const size_t n = (size_t)channel->comm->ranks, r = (size_t)rank;
    if (job->call.action == REDUCE_SCATTER)
        return (struct slice){r * piece->count * job->element, piece->count};
    if (is_small(channel, job))
        return (struct slice){0, piece->count};
    const size_t share = (piece->count / n + (piece->count % n > 0) + 15) / 16 * 16;
    const size_t first = r * share < piece->count ? r * share : piece->count;
    const size_t rest = piece->count - first;
    return (struct slice){first * job->element, rest < share ? rest : share};
}

/* Where the part of `peer` for this rank's slice is received. */
static char *part_of(const struct channel *channel, const struct piece *piece, int peer) {
    const struct slice own = slice_of(channel, piece, channel->comm->rank);
    return chunk_in(channel, piece->slot) + (size_t)peer * own.count * piece->job->element;
}

/* In turns, each rank beginning with the next one, so that no rank is everybody's first. */
static int peer_at(const struct comm *comm, int turn) { return (comm->rank + turn) % comm->ranks; }

static bool exchange_parts(const struct channel *channel, struct piece *piece) {
    const struct comm *comm = channel->comm;
    const size_t element = piece->job->element;
    const size_t own = slice_of(channel, piece, comm->rank).count * element;
    bool well = true;
    for (int turn = comm->ranks - 1; turn > 0 && own && well; turn--) {
        const int peer = peer_at(comm, turn);
        well = receive(channel, piece, peer, part_of(channel, piece, peer), own);
    }
    for (int turn = 1; turn < comm->ranks && well; turn++) {
        const struct slice slice = slice_of(channel, piece, peer_at(comm, turn));
        if (slice.count)
            well = post(channel, piece, peer_at(comm, turn),
                        chunk_out(channel, piece->slot) + slice.first, slice.count * element);
    }
    return well;
}

/* to[i] = op(to[i], from[i]) */
static bool combine(const struct channel *channel, const struct piece *piece, char *to, char *from,
                    size_t count) {
    const int error = MPI_Reduce_local(from, to, (int)count, mpi_type(piece->job->call.dtype),
                                       mpi_op(piece->job->call.op));
    return !error || failed_in(channel, piece, error);
}

/* One block, in the order of the ranks: those before this rank into the first one's part, and that, then those
 * behind it, into this rank's own. */
static bool combine_block(const struct channel *channel, const struct piece *piece, char *own,
                          size_t at, size_t count) {
    const struct comm *comm = channel->comm;
    char *first = part_of(channel, piece, 0) + at;
    bool well = true;
    for (int r = 1; r < comm->rank && well; r++)
        well = combine(channel, piece, first, part_of(channel, piece, r) + at, count);
    if (comm->rank && well)
        well = combine(channel, piece, own + at, first, count);
    for (int r = comm->rank + 1; r < comm->ranks && well; r++)
        well = combine(channel, piece, own + at, part_of(channel, piece, r) + at, count);
    return well;
}

static bool combine_parts(const struct channel *channel, const struct piece *piece) {
    const struct slice slice = slice_of(channel, piece, channel->comm->rank);
    const size_t element = piece->job->element, most = BLOCK / element;
    char *own = chunk_out(channel, piece->slot) + slice.first;
    bool well = true;
    for (size_t at = 0; at < slice.count && well; at += most) {
        const size_t rest = slice.count - at;
        well = combine_block(channel, piece, own, at * element, rest < most ? rest : most);
    }
    return well;
}

static bool spread_slice(const struct channel *channel, struct piece *piece) {
    const struct comm *comm = channel->comm;
    const struct slice own = slice_of(channel, piece, comm->rank);
    const size_t element = piece->job->element;
    char *chunk = chunk_out(channel, piece->slot);
    bool well = true;
    for (int turn = comm->ranks - 1; turn > 0 && well; turn--) {
        const struct slice slice = slice_of(channel, piece, peer_at(comm, turn));
        if (slice.count)
            well = receive(channel, piece, peer_at(comm, turn), chunk + slice.first,
                           slice.count * element);
    }
    for (int turn = 1; turn < comm->ranks && own.count && well; turn++)
        well = post(channel, piece, peer_at(comm, turn), chunk + own.first, own.count * element);
    return well;
}

static bool spread_block(const struct channel *channel, struct piece *piece) {
    const struct comm *comm = channel->comm;
    const size_t bytes = piece->count * piece->job->element;
    bool well = true;
    for (int turn = comm->ranks - 1; turn > 0 && well; turn--) {
        const int peer = peer_at(comm, turn);
        well = receive(channel, piece, peer, chunk_in(channel, piece->slot) + (size_t)peer * bytes,
                       bytes);
    }
    for (int turn = 1; turn < comm->ranks && well; turn++)
        well = post(channel, piece, peer_at(comm, turn), chunk_out(channel, piece->slot), bytes);
    return well;
}

/* --- phases: each posts what the next one waits for, or ends the piece --- */

static bool step_reduction(const struct channel *channel, struct piece *piece) {
    const bool scatters = piece->job->call.action == REDUCE_SCATTER;
    switch (piece->phase) {
    case 0:
        return exchange_parts(channel, piece);
    case 1:
        piece->over = scatters || is_small(channel, piece->job);
        return combine_parts(channel, piece) && (piece->over || spread_slice(channel, piece));
    default:
        piece->over = true;
        return true;
    }
}

/* Ranks count from the root. A rank's parent lacks its lowest bit, and its children have one bit more, below that. */
static bool step_broadcast(const struct channel *channel, struct piece *piece) {
    const struct comm *comm = channel->comm;
    const int n = comm->ranks, root = piece->job->call.peer, me = (comm->rank - root + n) % n;
    const size_t bytes = piece->count * piece->job->element;
    char *chunk = chunk_out(channel, piece->slot);
    bool well = true;
    int bit = 1;
    while (bit < n && !(me & bit))
        bit *= 2;
    if (piece->phase == 0)
        return me == 0 || receive(channel, piece, (me - bit + root) % n, chunk, bytes);
    piece->over = piece->phase > 1;
    for (bit /= 2; bit > 0 && well && !piece->over; bit /= 2)
        if (me + bit < n)
            well = post(channel, piece, (me + bit + root) % n, chunk, bytes);
    return well;
}

static bool step_barrier(const struct channel *channel, struct piece *piece) {
    const struct comm *comm = channel->comm;
    const int n = comm->ranks;
    char *chunk = chunk_out(channel, piece->slot);
    if (piece->phase >= 31 || 1 << piece->phase >= n) {
        piece->over = true;
        return true;
    }
    const int distance = 1 << piece->phase;
    return receive(channel, piece, (comm->rank - distance + n) % n, chunk, 1) &&
           post(channel, piece, (comm->rank + distance) % n, chunk + 64, 1);
}

static bool step_message(const struct channel *channel, struct piece *piece) {
    const struct signature *call = &piece->job->call;
    const size_t bytes = piece->count * piece->job->element;
    piece->over = piece->phase > 0;
    if (piece->over)
        return true;
    return start(channel, piece, call->peer, chunk_out(channel, piece->slot), bytes,
                 call->action == RECV);
}

static bool step(const struct channel *channel, struct piece *piece) {
    switch ((enum action)piece->job->call.action) {
    case ALLREDUCE:
    case REDUCE_SCATTER:
        return step_reduction(channel, piece);
    case ALLGATHER:
        piece->over = piece->phase > 0;
        return piece->over || spread_block(channel, piece);
    case BCAST:
        return step_broadcast(channel, piece);
    case BARRIER:
        return step_barrier(channel, piece);
    case SEND:
    case RECV:
        return step_message(channel, piece);
    }
    return false;
}

/* --- progress --- */

static bool check_received(const struct channel *channel, const struct piece *piece, int i,
                           const MPI_Status *status) {
    char what[96];
    int got = 0;
    if (piece->wanted[i] < 0)
        return true;
    MPI_Get_count(status, MPI_BYTE, &got);
    if (got == piece->wanted[i])
        return true;
    describe_call(&piece->job->call, what, sizeof what);
    comm_fail(channel->comm, true, "rank %d, %s: rank %d sent %d bytes in place of %ld",
              channel->comm->rank, what, piece->peers[i], got, piece->wanted[i]);
    return false;
}

/* Tests all requests. False: the communicator has failed. */
static bool test_all(struct channel *channel, struct piece *piece, bool *all, bool *some) {
    *all = true;
    for (int i = 0; i < piece->n; i++) {
        MPI_Status status;
        int flag = 0;
        if (piece->active[i] == MPI_REQUEST_NULL)
            continue;
        const int error = MPI_Test(&piece->active[i], &flag, &status);
        if (error)
            return failed_in(channel, piece, error);
        if (flag && !check_received(channel, piece, i, &status))
            return false;
        *all = *all && flag;
        *some = *some || flag;
    }
    return true;
}

bool piece_poll(struct channel *channel, struct piece *piece, bool *progressed) {
    bool all;
    while (!piece->over) {
        if (!test_all(channel, piece, &all, progressed))
            return false;
        if (!all)
            return true;
        piece->n = 0;
        piece->phase++;
        if (!step(channel, piece))
            return false;
        *progressed = true;
    }
    return true;
}

bool piece_begin(struct channel *channel, struct piece *piece) {
    piece->phase = 0;
    piece->n = 0;
    piece->over = false;
    return step(channel, piece);
}

/* --- after a failure --- */

static void each_request(struct comm *comm, void (*visit)(MPI_Request *request, bool receives)) {
    for (int c = 0; c < CHANNELS; c++)
        for (unsigned p = 0; p < comm->chunks && comm->channels[c].open; p++) {
            struct piece *piece = &comm->channels[c].flights[p];
            for (int i = 0; i < piece->n; i++)
                if (piece->active[i] != MPI_REQUEST_NULL)
                    visit(&piece->active[i], piece->wanted[i] >= 0);
        }
}

static void cancel(MPI_Request *request, bool receives) {
    if (receives)
        MPI_Cancel(request);
}

void pieces_cancel(struct comm *comm) { each_request(comm, cancel); }

static _Thread_local unsigned left;

static void test(MPI_Request *request, bool receives) {
    int flag = 0;
    (void)receives;
    if (MPI_Test(request, &flag, MPI_STATUS_IGNORE) || !flag)
        left++;
}

/* Receives one message that nobody wants any more, so that its sender can end. */
static void discard(struct comm *comm) {
    MPI_Status status;
    MPI_Message message;
    int flag = 0, bytes = 0;
    if (comm->scrap_request != MPI_REQUEST_NULL) {
        if (MPI_Test(&comm->scrap_request, &flag, MPI_STATUS_IGNORE) || !flag)
            return;
        free(comm->scrap);
        comm->scrap = NULL;
    }
    if (MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm->data, &flag, &message, &status) || !flag)
        return;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    comm->scrap = malloc((size_t)bytes + 1);
    if (comm->scrap && MPI_Imrecv(comm->scrap, bytes, MPI_BYTE, &message, &comm->scrap_request))
        comm->scrap_request = MPI_REQUEST_NULL;
}

bool pieces_drain(struct comm *comm) {
    left = 0;
    discard(comm);
    each_request(comm, test);
    return !left && comm->scrap_request == MPI_REQUEST_NULL;
}

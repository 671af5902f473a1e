/* SPDX-License-Identifier: MIT */
/*
 * How a piece is exchanged: within a host through its segment, and between hosts by messages between two ranks each,
 * so that reductions have one order and what is in flight can be cancelled. First all ranks of a host have downloaded
 * (LOADED), and in the end all have written their part of what the host uploads (DONE): host.c. In between:
 *
 *   all-reduce       each rank has a slice of the piece, for which each host has a helper, on its own host the rank
 *                    itself. Helpers combine their host's chunks there and send the sum to the rank, which combines
 *                    those of the hosts and sends the result to the helpers. A small array is one slice, which the
 *                    lowest rank of every host gets whole and combines
 *   reduce-scatter   the first half of that, with blocks for slices
 *   all-gather       every rank copies its block for its host, and sends it to the helpers of the other hosts
 *   broadcast        along a binomial tree of hosts, which the root speaks for or the lowest rank
 *   barrier          to the host 1, 2, 4 ... further on, and from the host as far behind, by the lowest ranks
 *
 * Where a rank is alone on its host, its chunk is the host's result, and nothing is copied.
 *
 * A message's tag has the call's number, action and type, the chunk and the phase: what does not belong together
 * never meets. A message is received with room for the largest that another rank may send there, and its size is
 * compared then: some MPIs end the process when a message is cut off.
 */
#include <stdlib.h>
#include <string.h>

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
    case CLS_I8:
        return MPI_INT8_T;
    case CLS_I16:
        return MPI_INT16_T;
    case CLS_U16:
        return MPI_UINT16_T;
    case CLS_U8:
        return MPI_UINT8_T;
    case CLS_U32:
        return MPI_UINT32_T;
    case CLS_F16: /* check_type refuses them */
    case CLS_BF16:
        break;
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
static int tag_of(const struct channel *channel, const struct exchange_piece *piece) {
    const struct signature *call = &piece->job->call;
    const bool pair = call->action == SEND || call->action == RECV;
    const int number = pair ? 0 : (int)(call->number % (uint64_t)channel->comm->numbers);
    const int action = pair ? SEND : call->action;
    const int dtype = call->action == BARRIER ? 0 : call->dtype;
    return (((number * 16 + dtype) * 8 + action) * 8 + (pair ? 0 : (int)piece->slot)) * 2 +
           (call->action == ALLREDUCE ? (int)piece->phase & 1 : 0);
}

static bool failed_in(const struct channel *channel, const struct exchange_piece *piece,
                      int error) {
    char what[96], said[96];
    describe_call(&piece->job->call, what, sizeof what);
    describe_mpi(error, said, sizeof said);
    control_find_dead(channel->comm);
    comm_fail(channel->comm, true, "rank %d, %s: %s", channel->comm->rank, what, said);
    return false;
}

static bool receive(const struct channel *channel, struct exchange_piece *piece, int peer,
                    char *data, size_t bytes, size_t room) {
    MPI_Request *request = &piece->active[piece->n];
    *request = MPI_REQUEST_NULL;
    const int error = MPI_Irecv(data, (int)room, MPI_BYTE, peer, tag_of(channel, piece),
                                channel->comm->data, request);
    if (error)
        return failed_in(channel, piece, error);
    piece->wanted[piece->n] = (long)bytes;
    piece->peers[piece->n++] = peer;
    return true;
}

static bool post(const struct channel *channel, struct exchange_piece *piece, int peer, char *data,
                 size_t bytes) {
    MPI_Request *request = &piece->active[piece->n];
    *request = MPI_REQUEST_NULL;
    const int error = MPI_Isend(data, (int)bytes, MPI_BYTE, peer, tag_of(channel, piece),
                                channel->comm->data, request);
    if (error)
        return failed_in(channel, piece, error);
    piece->wanted[piece->n] = -1;
    piece->peers[piece->n++] = peer;
    atomic_fetch_add(&channel->comm->sent_bytes, bytes);
    return true;
}

/* --- hosts --- */

static bool is_lowest(const struct comm *comm) { return host_of(comm)->lowest == comm->rank; }

/* The rank of a host that has to do with the slice or block of rank `owner`. */
static int helper(const struct comm *comm, int host, int owner) {
    const struct host *of = &comm->hosts[host];
    return of->ranks[comm->peers[owner].local % of->n];
}

static bool helps(const struct comm *comm, int owner) {
    return helper(comm, comm->peers[comm->rank].host, owner) == comm->rank;
}

/* In turns, each host or rank beginning with the next one, so that none is everybody's first. */
static int host_at(const struct comm *comm, int turn) {
    return (comm->peers[comm->rank].host + turn) % comm->n_hosts;
}
static int peer_at(const struct comm *comm, int turn) { return (comm->rank + turn) % comm->ranks; }

static bool is_here(const struct comm *comm, int rank) {
    return comm->peers[rank].host == comm->peers[comm->rank].host;
}

/* --- slices --- */

/* The part of the piece that is a rank's: `first` in bytes from the start of the chunk. */
struct slice {
    size_t first, count;
};

static bool is_small(const struct channel *channel, const struct job *job) {
    const size_t bytes = job->count * job->element;
    return job->call.action == ALLREDUCE && job->pieces == 1 && bytes <= SMALL &&
           bytes * (size_t)channel->comm->ranks <= channel->comm->chunk_bytes;
}

static struct slice slice_of(const struct channel *channel, const struct exchange_piece *piece,
                             int rank) {
    const struct job *job = piece->job;
    const size_t n = (size_t)channel->comm->ranks, r = (size_t)rank;
    if (job->call.action == REDUCE_SCATTER)
        return (struct slice){r * piece->count * job->element, piece->count};
    if (is_small(channel, job))
        return (struct slice){0, channel->comm->peers[rank].local ? 0 : piece->count};
    const size_t share =
        (piece->count / n + (piece->count % n > 0) + SLICE_ALIGN - 1) / SLICE_ALIGN * SLICE_ALIGN;
    const size_t first = r * share < piece->count ? r * share : piece->count;
    const size_t rest = piece->count - first;
    return (struct slice){first * job->element, rest < share ? rest : share};
}

static char *result_of(const struct channel *channel, const struct exchange_piece *piece,
                       int rank) {
    return chunk_of(channel->result, piece->slot) + slice_of(channel, piece, rank).first;
}

static size_t slice_bytes(const struct channel *channel, const struct exchange_piece *piece,
                          int rank) {
    return slice_of(channel, piece, rank).count * piece->job->element;
}

/* Room for a slice of any size. */
static size_t part_room(const struct channel *channel) {
    return channel->in.stride / (size_t)channel->comm->n_hosts / CACHE_LINE * CACHE_LINE;
}

/* Where a host's part of this rank's slice is received. */
static char *part_of(const struct channel *channel, const struct exchange_piece *piece, int host) {
    return chunk_of(channel->in, piece->slot) + (size_t)host * part_room(channel);
}

/* --- combining --- */

/* to[i] = op(to[i], from[i]) */
static bool combine(const struct channel *channel, const struct exchange_piece *piece, char *to,
                    char *from, size_t count) {
    const int error = MPI_Reduce_local(from, to, (int)count, mpi_type(piece->job->call.dtype),
                                       mpi_op(piece->job->call.op));
    return !error || failed_in(channel, piece, error);
}

typedef bool combiner(const struct channel *channel, const struct exchange_piece *piece, int owner,
                      size_t at, size_t count);

/* A slice in blocks that stay in the processor's cache. */
static bool by_blocks(combiner *combine_block, const struct channel *channel,
                      const struct exchange_piece *piece, int owner) {
    const size_t count = slice_of(channel, piece, owner).count, element = piece->job->element;
    const size_t most = BLOCK / element;
    bool well = true;
    for (size_t at = 0; at < count && well; at += most) {
        const size_t rest = count - at;
        well = combine_block(channel, piece, owner, at * element, rest < most ? rest : most);
    }
    return well;
}

/* The chunks of this host's ranks, in their order. */
static bool combine_ranks(const struct channel *channel, const struct exchange_piece *piece,
                          int owner, size_t at, size_t count) {
    const struct comm *comm = channel->comm;
    const int n = host_of(comm)->n;
    const size_t first = slice_of(channel, piece, owner).first + at;
    char *result = result_of(channel, piece, owner) + at;
    bool well = true;
    for (int local = 0; local < n && n > 1 && well; local++) {
        char *from = chunk_of((struct ring_part){host_chunks(comm, local), channel->out.stride},
                              piece->slot) +
                     first;
        if (local)
            well = combine(channel, piece, result, from, count);
        else
            memcpy(result, from, count * piece->job->element);
    }
    return well;
}

/* The sums of the hosts, in their order: those before this host into the first one's part, and that, then those
 * behind it, into this host's own. */
static bool combine_hosts(const struct channel *channel, const struct exchange_piece *piece,
                          int owner, size_t at, size_t count) {
    const struct comm *comm = channel->comm;
    const int host = comm->peers[owner].host;
    char *first = part_of(channel, piece, 0) + at, *own = result_of(channel, piece, owner) + at;
    bool well = true;
    for (int h = 1; h < host && well; h++)
        well = combine(channel, piece, first, part_of(channel, piece, h) + at, count);
    if (host && well)
        well = combine(channel, piece, own, first, count);
    for (int h = host + 1; h < comm->n_hosts && well; h++)
        well = combine(channel, piece, own, part_of(channel, piece, h) + at, count);
    return well;
}

/* --- phases: each posts what the next one waits for, or says that all is exchanged --- */

static bool receive_sums(const struct channel *channel, struct exchange_piece *piece) {
    const struct comm *comm = channel->comm;
    const size_t bytes = slice_bytes(channel, piece, comm->rank);
    bool well = true;
    for (int turn = comm->n_hosts - 1; turn > 0 && bytes && well; turn--) {
        const int host = host_at(comm, turn);
        well = receive(channel, piece, helper(comm, host, comm->rank),
                       part_of(channel, piece, host), bytes, part_room(channel));
    }
    return well;
}

static bool send_sums(const struct channel *channel, struct exchange_piece *piece) {
    const struct comm *comm = channel->comm;
    bool well = true;
    for (int turn = 1; turn <= comm->ranks && well; turn++) {
        const int owner = peer_at(comm, turn);
        const size_t bytes = slice_bytes(channel, piece, owner);
        if (!bytes || !helps(comm, owner))
            continue;
        well = by_blocks(combine_ranks, channel, piece, owner);
        if (owner != comm->rank && well)
            well = post(channel, piece, owner, result_of(channel, piece, owner), bytes);
    }
    return well;
}

/* A result has the size of the sums that this host has sent for it, which its owner has compared. */
static bool spread_results(const struct channel *channel, struct exchange_piece *piece) {
    const struct comm *comm = channel->comm;
    const size_t own = slice_bytes(channel, piece, comm->rank);
    bool well = true;
    for (int turn = comm->ranks - 1; turn > 0 && well; turn--) {
        const int owner = peer_at(comm, turn);
        const size_t bytes = slice_bytes(channel, piece, owner);
        if (bytes && !is_here(comm, owner) && helps(comm, owner))
            well = receive(channel, piece, owner, result_of(channel, piece, owner), bytes, bytes);
    }
    for (int turn = 1; turn < comm->n_hosts && own && well; turn++)
        well = post(channel, piece, helper(comm, host_at(comm, turn), comm->rank),
                    result_of(channel, piece, comm->rank), own);
    return well;
}

static bool step_reduction(const struct channel *channel, struct exchange_piece *piece) {
    const struct job *job = piece->job;
    switch (piece->phase) {
    case 1:
        return receive_sums(channel, piece) && send_sums(channel, piece);
    case 2:
        piece->exchanged = job->call.action == REDUCE_SCATTER || is_small(channel, job);
        return (channel->comm->n_hosts == 1 ||
                by_blocks(combine_hosts, channel, piece, channel->comm->rank)) &&
               (piece->exchanged || spread_results(channel, piece));
    }
    piece->exchanged = true;
    return true;
}

static bool step_gather(const struct channel *channel, struct exchange_piece *piece) {
    const struct comm *comm = channel->comm;
    const size_t bytes = piece->count * piece->job->element, room = block_room(comm);
    char *own = chunk_of(channel->out, piece->slot);
    char *all = chunk_of(channel->gathered, piece->slot);
    bool well = true;
    piece->exchanged = piece->phase > 1;
    if (piece->exchanged)
        return true;
    if (host_of(comm)->n > 1)
        memcpy(all + (size_t)comm->rank * room, own, bytes);
    for (int turn = comm->ranks - 1; turn > 0 && well; turn--) {
        const int owner = peer_at(comm, turn);
        if (!is_here(comm, owner) && helps(comm, owner))
            well = receive(channel, piece, owner, all + (size_t)owner * room, bytes, room);
    }
    for (int turn = 1; turn < comm->n_hosts && well; turn++)
        well = post(channel, piece, helper(comm, host_at(comm, turn), comm->rank), own, bytes);
    return well;
}

/* The rank that a host sends and receives a broadcast by. Hosts count from the root's. */
static int speaker(const struct comm *comm, int root, int from_root) {
    const int host = (comm->peers[root].host + from_root) % comm->n_hosts;
    return from_root ? comm->hosts[host].lowest : root;
}

/* A host's parent lacks its lowest bit, and its children have one bit more, below that. */
static bool step_broadcast(const struct channel *channel, struct exchange_piece *piece) {
    const struct comm *comm = channel->comm;
    const int n = comm->n_hosts, root = piece->job->call.peer;
    const int me = (comm->peers[comm->rank].host - comm->peers[root].host + n) % n;
    const size_t bytes = piece->count * piece->job->element;
    char *out = chunk_of(channel->out, piece->slot),
         *result = chunk_of(channel->result, piece->slot);
    bool well = true;
    int bit = 1;
    piece->exchanged = piece->phase > 2 || speaker(comm, root, me) != comm->rank;
    while (bit < n && !(me & bit))
        bit *= 2;
    if (piece->phase == 1 && me && !piece->exchanged)
        return receive(channel, piece, speaker(comm, root, me - bit), result, bytes,
                       comm->chunk_bytes);
    if (piece->phase == 1 && !piece->exchanged && result != out)
        memcpy(result, out, bytes);
    for (bit /= 2; piece->phase == 2 && bit > 0 && well; bit /= 2)
        if (me + bit < n)
            well = post(channel, piece, speaker(comm, root, me + bit), result, bytes);
    return well;
}

static bool step_barrier(const struct channel *channel, struct exchange_piece *piece) {
    const struct comm *comm = channel->comm;
    const int n = comm->n_hosts;
    char *chunk = chunk_of(channel->out, piece->slot);
    piece->exchanged = piece->phase > 31 || 1 << (piece->phase - 1) >= n || !is_lowest(comm);
    if (piece->exchanged)
        return true;
    const int distance = 1 << (piece->phase - 1);
    return receive(channel, piece, comm->hosts[host_at(comm, n - distance)].lowest, chunk, 1, 1) &&
           post(channel, piece, comm->hosts[host_at(comm, distance)].lowest, chunk + 64, 1);
}

static bool step_message(const struct channel *channel, struct exchange_piece *piece) {
    const struct signature *call = &piece->job->call;
    const size_t bytes = piece->count * piece->job->element;
    piece->over = piece->phase > 0;
    if (piece->over)
        return true;
    char *chunk = chunk_of(channel->out, piece->slot);
    return call->action == RECV
               ? receive(channel, piece, call->peer, chunk, bytes, channel->comm->chunk_bytes)
               : post(channel, piece, call->peer, chunk, bytes);
}

static bool step_exchange(const struct channel *channel, struct exchange_piece *piece) {
    switch ((enum action)piece->job->call.action) {
    case ALLREDUCE:
    case REDUCE_SCATTER:
        return step_reduction(channel, piece);
    case ALLGATHER:
        return step_gather(channel, piece);
    case BCAST:
        return step_broadcast(channel, piece);
    case BARRIER:
        return step_barrier(channel, piece);
    case SEND:
    case RECV:
        break;
    }
    return false;
}

static bool meet(const struct channel *channel, struct exchange_piece *piece,
                 enum piece_state stage) {
    host_mark(channel->comm, piece, stage);
    piece->awaited = stage;
    return true;
}

static bool step(const struct channel *channel, struct exchange_piece *piece) {
    const int action = piece->job->call.action;
    if (action == SEND || action == RECV)
        return step_message(channel, piece);
    if (piece->phase == 0)
        return meet(channel, piece, LOADED);
    piece->over = piece->exchanged;
    if (piece->over)
        return true;
    return step_exchange(channel, piece) && (!piece->exchanged || meet(channel, piece, DONE));
}

/* --- progress --- */

static bool check_received(const struct channel *channel, const struct exchange_piece *piece, int i,
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
static bool test_all(struct channel *channel, struct exchange_piece *piece, bool *all, bool *some) {
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

bool piece_poll(struct channel *channel, struct exchange_piece *piece, bool *progressed) {
    bool all;
    while (!piece->over) {
        if (!test_all(channel, piece, &all, progressed))
            return false;
        if (!all || (piece->awaited && !host_has_marked(channel->comm, piece, piece->awaited)))
            return channel->comm->health != FAILED;
        piece->n = 0;
        piece->awaited = NOWHERE;
        piece->phase++;
        if (!step(channel, piece))
            return false;
        *progressed = true;
    }
    return true;
}

bool piece_begin(struct channel *channel, struct exchange_piece *piece) {
    piece->phase = 0;
    piece->n = 0;
    piece->awaited = NOWHERE;
    piece->exchanged = piece->over = false;
    return step(channel, piece);
}

/* --- after a failure --- */

static void each_request(struct comm *comm, void (*visit)(MPI_Request *request, bool receives)) {
    for (int c = 0; c < CHANNELS; c++)
        for (unsigned p = 0; p < comm->chunks && comm->channels[c].open; p++) {
            struct exchange_piece *piece = &comm->channels[c].flights[p];
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

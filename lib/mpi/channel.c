/* SPDX-License-Identifier: MIT */
/* Channels: a ring of chunks with the streams and timelines around it, and the submission of calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/buffer.h>
#include <clstream/context.h>
#include <clstream/event.h>
#include <clstream/stream.h>
#include <clstream/timeline.h>

#include "mpi/comm.h"

/* Bytes: pieces are no smaller, because each costs six commands and two exchanges. */
enum { LEAST_PIECE = 256 << 10 };
/* Elements: pieces begin at cache lines. */
enum { STEP_ALIGN = 64 };

/* --- open and close --- */

static bool shares(const struct channel *channel) {
    return channel->comm->segment && channel == &channel->comm->channels[COLLECTIVES];
}

/* What ranks receive on the way: of reductions a part of each host, of all-gathers a block of each rank. A part has
 * up to SLICE_ALIGN elements more than its share, and begins at a cache line. */
static size_t in_bytes(const struct channel *channel) {
    const struct comm *comm = channel->comm;
    if (channel != &comm->channels[COLLECTIVES] || (shares(channel) && comm->n_hosts == 1))
        return 0;
    return comm->chunk_bytes + (SLICE_ALIGN * LARGEST_ELEMENT + CACHE_LINE) * (size_t)comm->ranks;
}

/* The rank's own memory has what it receives, and what it downloads if that is not in its host's segment. */
static void place(struct channel *channel) {
    const struct comm *comm = channel->comm;
    const size_t out = comm->chunk_bytes, in = in_bytes(channel);
    if (shares(channel)) {
        channel->out = (struct ring_part){host_chunks(comm, comm->peers[comm->rank].local), out};
        channel->in = (struct ring_part){channel->memory, in};
        channel->result = channel->gathered = (struct ring_part){host_results(comm), out};
    } else {
        channel->out = channel->result = (struct ring_part){channel->memory, out};
        channel->in = channel->gathered =
            (struct ring_part){channel->memory + comm->chunks * out, in};
    }
}

static cls_status make_memory(struct channel *channel) {
    struct comm *comm = channel->comm;
    const size_t own = shares(channel) ? 0 : comm->chunk_bytes;
    const size_t bytes = comm->chunks * (own + in_bytes(channel));
    cls_status status = CLS_SUCCESS;
    void *memory = NULL;
    if (bytes && comm->memory != CLS_MPI_MEMORY_PLAIN)
        status = cls_host_alloc(comm->context, bytes, &memory);
    else if (bytes && posix_memalign(&memory, 4096, bytes))
        status = report(CLS_ERROR_OUT_OF_MEMORY, "no memory for a ring of %zu bytes", bytes);
    if (status)
        return status;
    channel->memory = memory;
    channel->is_pinned = comm->memory != CLS_MPI_MEMORY_PLAIN;
    place(channel);
    return CLS_SUCCESS;
}

static void free_memory(struct channel *channel) {
    if (channel->is_pinned)
        cls_host_free(channel->memory);
    else
        free(channel->memory);
    channel->memory = NULL;
}

cls_status channel_remake(struct channel *channel) {
    free_memory(channel);
    return make_memory(channel);
}

static cls_status make_stream(struct comm *comm, struct channel *channel, const char *what,
                              unsigned chunk) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_timeline_config timeline = CLS_TIMELINE_CONFIG_INIT;
    char name[64];
    config.non_blocking = 1;
    config.name = timeline.name = name;
    snprintf(name, sizeof name, "%s: %s %u", comm->name, what, chunk);
    cls_status status = cls_stream_create(comm->context, &config, &channel->streams[chunk]);
    snprintf(name, sizeof name, "%s: rank %d loaded %u", comm->name, comm->rank, chunk);
    if (!status)
        status = cls_timeline_create(&timeline, &channel->loaded[chunk]);
    snprintf(name, sizeof name, "%s: rank %d moved %u", comm->name, comm->rank, chunk);
    return status ? status : cls_timeline_create(&timeline, &channel->moved[chunk]);
}

static cls_status make_streams(struct comm *comm, struct channel *channel, const char *what) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.non_blocking = 1;
    config.name = comm->name;
    cls_status status = cls_stream_create(comm->context, &config, &channel->join);
    for (unsigned c = 0; c < comm->chunks && !status; c++)
        status = make_stream(comm, channel, what, c);
    return status;
}

static bool make_flights(struct comm *comm, struct channel *channel) {
    const size_t n = 2 * (size_t)comm->ranks + 2;
    for (unsigned i = 0; i < comm->chunks; i++) {
        struct exchange_piece *piece = &channel->flights[i];
        piece->active = malloc(n * sizeof *piece->active);
        piece->wanted = malloc(n * sizeof *piece->wanted);
        piece->peers = malloc(n * sizeof *piece->peers);
        if (!piece->active || !piece->wanted || !piece->peers)
            return false;
    }
    return true;
}

cls_status channel_open(struct comm *comm, struct channel *channel, enum channel_name name) {
    static const char *const names[] = {"collectives", "sends", "receives"};
    channel->comm = comm;
    cls_status status = make_flights(comm, channel)
                            ? make_streams(comm, channel, names[name])
                            : report(CLS_ERROR_OUT_OF_MEMORY, "no memory for requests");
    if (!status)
        status = make_memory(channel);
    if (status)
        channel_close(channel, false);
    else
        channel->open = true;
    return status;
}

void channel_close(struct channel *channel, bool leak) {
    if (channel->join)
        cls_stream_destroy(channel->join);
    for (unsigned c = 0; c < MOST_CHUNKS; c++) {
        if (channel->loaded[c])
            cls_timeline_destroy(channel->loaded[c]);
        if (channel->moved[c])
            cls_timeline_destroy(channel->moved[c]);
        if (channel->streams[c]) {
            cls_stream_reset(channel->streams[c]); /* no copy uses the memory any more */
            cls_stream_destroy(channel->streams[c]);
        }
    }
    if (!leak)
        free_memory(channel);
    for (struct job *job = channel->first, *next; job; job = next) {
        next = job->next;
        free(job);
    }
    for (unsigned i = 0; i < MOST_CHUNKS && !leak; i++) {
        free(channel->flights[i].active);
        free(channel->flights[i].wanted);
        free(channel->flights[i].peers);
    }
    memset(channel, 0, sizeof *channel);
}

/* --- the pieces of a call --- */

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Elements per block of each piece: so many that the whole ring is used, but at most a chunk. */
static size_t step_of(const struct comm *comm, size_t count, size_t element, size_t blocks) {
    const size_t most = comm->chunk_bytes / blocks / LARGEST_ELEMENT * LARGEST_ELEMENT / element;
    const size_t least = smaller(LEAST_PIECE / element / blocks, most);
    const size_t share = (count / (2 * comm->chunks) / STEP_ALIGN + 1) * STEP_ALIGN;
    const size_t step = smaller(share > least ? share : least, most);
    return step ? step : 1;
}

static struct job *new_job(const struct comm *comm, const struct comm_request *request) {
    const unsigned n = (unsigned)comm->ranks;
    const bool is_root = request->action == BCAST && request->peer == comm->rank;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    const cls_array *array = &request->out;
    job->call.action = request->action;
    job->call.op = (int32_t)request->op;
    job->call.dtype = (int32_t)array->dtype;
    job->call.peer = request->peer;
    switch (request->action) {
    case ALLREDUCE:
        job->in_blocks = job->out_blocks = 1;
        break;
    case REDUCE_SCATTER:
        job->in_blocks = n, job->out_blocks = 1;
        break;
    case ALLGATHER:
        job->in_blocks = 1, job->out_blocks = n, array = &request->in;
        break;
    case BCAST:
        job->in_blocks = is_root, job->out_blocks = !is_root;
        break;
    case SEND:
        job->in_blocks = 1;
        break;
    case RECV:
        job->out_blocks = 1;
        break;
    case BARRIER:
        job->pieces = 1;
        return job;
    }
    const unsigned blocks = job->in_blocks > job->out_blocks ? job->in_blocks : job->out_blocks;
    job->call.count = job->count = array->count;
    job->element = cls_dtype_size(array->dtype);
    job->step = step_of(comm, job->count, job->element, blocks);
    /* An empty one has its place in the order, too. */
    job->pieces = job->count ? (job->count - 1) / job->step + 1 : 1;
    return job;
}

/* Where block b of a piece of `n` elements is downloaded to, and uploaded from. */
static char *in_place(const struct channel *channel, const struct job *job, unsigned slot, size_t n,
                      unsigned b) {
    return chunk_of(channel->out, slot) + b * n * job->element;
}

static char *out_place(const struct channel *channel, const struct job *job, unsigned slot,
                       size_t n, unsigned b) {
    const unsigned rank = (unsigned)channel->comm->rank;
    if (job->call.action == REDUCE_SCATTER)
        return chunk_of(channel->result, slot) + rank * n * job->element;
    if (job->call.action == ALLGATHER && b != rank)
        return chunk_of(channel->gathered, slot) + b * block_room(channel->comm);
    return chunk_of(job->call.action == ALLGATHER ? channel->out : channel->result, slot);
}

/* --- submission; under the lock --- */

/* Piece i of the job: the download, and what the thread waits for. */
static cls_status load(struct channel *channel, const struct job *job, const cls_array *in,
                       uint64_t i) {
    const unsigned chunks = channel->comm->chunks, slot = (unsigned)((job->first + i) % chunks);
    const size_t at = i * job->step, n = smaller(job->step, job->count - at);
    const cls_stream stream = channel->streams[slot];
    cls_status status = CLS_SUCCESS;
    for (unsigned b = 0; b < job->in_blocks && !status; b++)
        status = cls_copy_d2h_async(in_place(channel, job, slot, n, b), in->buffer,
                                    (in->offset + b * job->count + at) * job->element,
                                    n * job->element, stream);
    return status ? status
                  : cls_stream_signal_timeline(stream, channel->loaded[slot],
                                               (job->first + i) / chunks + 1);
}

static cls_status store(struct channel *channel, const struct job *job, const cls_array *out,
                        uint64_t i) {
    const unsigned chunks = channel->comm->chunks, slot = (unsigned)((job->first + i) % chunks);
    const size_t at = i * job->step, n = smaller(job->step, job->count - at);
    const cls_stream stream = channel->streams[slot];
    cls_status status =
        cls_stream_wait_timeline(stream, channel->moved[slot], (job->first + i) / chunks + 1);
    for (unsigned b = 0; b < job->out_blocks && !status; b++)
        status = cls_copy_h2d_async(out->buffer, (out->offset + b * job->count + at) * job->element,
                                    out_place(channel, job, slot, n, b), n * job->element, stream);
    return status;
}

/* Later work of `waiter` runs behind the work of `stream` so far. */
static cls_status follow(const struct comm *comm, cls_stream stream, cls_stream waiter) {
    cls_status status = cls_event_record(comm->mark, stream);
    return status ? status : cls_stream_wait_event(waiter, comm->mark);
}

/* The first pieces wait for the caller's stream, which waits for the last ones. */
static cls_status submit_pieces(struct channel *channel, const struct job *job,
                                const struct comm_request *request, cls_stream stream) {
    const struct comm *comm = channel->comm;
    const uint64_t used = job->pieces < comm->chunks ? job->pieces : comm->chunks;
    cls_status status = cls_event_record(comm->mark, stream);
    for (uint64_t i = 0; i < used && !status; i++)
        status =
            cls_stream_wait_event(channel->streams[(job->first + i) % comm->chunks], comm->mark);
    for (uint64_t i = 0; i < job->pieces && !status; i++) {
        status = load(channel, job, &request->in, i);
        if (!status)
            status = store(channel, job, &request->out, i);
    }
    if (used == 1 && !status)
        return follow(comm, channel->streams[job->first % comm->chunks], stream);
    for (uint64_t i = 0; i < used && !status; i++)
        status = follow(comm, channel->streams[(job->first + i) % comm->chunks], channel->join);
    return status ? status : follow(comm, channel->join, stream);
}

static void queue_job(struct channel *channel, struct job *job) {
    if (channel->last)
        channel->last->next = job;
    else
        channel->first = job;
    channel->last = job;
    channel->submitted += job->pieces;
    pthread_cond_signal(&channel->comm->wake);
}

/* A rank that submits nothing for a call that the others make would keep them waiting: it fails the communicator. */
static cls_status abort_call(struct comm *comm, const struct job *job, cls_status status) {
    char what[TEXT], why[2 * TEXT];
    describe_call(&job->call, what, sizeof what);
    const char *detail = cls_last_error_detail();
    snprintf(why, sizeof why, "rank %d, %s: %.*s", comm->rank, what, cause_length(detail), detail);
    comm_abort_locked(comm, why);
    return status;
}

static cls_status submit(struct comm *comm, struct channel *channel, struct job *job,
                         const struct comm_request *request, cls_stream stream) {
    job->call.number = channel->calls + 1;
    job->first = channel->submitted;
    cls_status status = cls_stream_query(stream);
    if (status < CLS_SUCCESS)
        return abort_call(comm, job, status);
    channel->calls++;
    status = submit_pieces(channel, job, request, stream);
    if (status)
        return abort_call(comm, job, status);
    queue_job(channel, job);
    return CLS_SUCCESS;
}

static enum channel_name channel_of(enum action action) {
    return action == SEND ? SENDS : action == RECV ? RECEIVES : COLLECTIVES;
}

cls_status channel_submit(struct comm *comm, const struct comm_request *request,
                          cls_stream stream) {
    const enum channel_name name = channel_of(request->action);
    struct channel *channel = &comm->channels[name];
    struct job *job = new_job(comm, request);
    if (!job)
        return report(CLS_ERROR_OUT_OF_MEMORY, "no memory for a call");
    pthread_mutex_lock(&comm->lock);
    cls_status status = comm->health == WELL ? CLS_SUCCESS : comm_report_failure(comm);
    if (!status && !channel->open)
        status = channel_open(comm, channel, name);
    if (!status)
        status = submit(comm, channel, job, request, stream);
    pthread_mutex_unlock(&comm->lock);
    if (status)
        free(job);
    return status;
}

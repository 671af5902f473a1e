/* SPDX-License-Identifier: MIT */
/*
 * libclstream-mpi: communicators, on the public interface of libclstream.
 *
 * A call submits all of its commands at once, and the communication thread does the rest. An array is cut into
 * pieces that fit a chunk of the ring. Each chunk has a stream and two timelines. Piece g of a channel takes chunk
 * g % chunks, in the round r = g / chunks + 1:
 *
 *   the chunk's stream: [waits for the caller's stream]  downloads, signals loaded = r, waits for moved >= r, uploads
 *   thread:             once loaded >= r: exchanges the chunk with the other ranks, then signals moved = r
 *   the caller's stream: waits for the streams of the chunks, through `join`
 *
 * The stream's order keeps a chunk from its next download until its upload is done. Streams of their own keep the copies
 * of different chunks apart: on one stream each copy would go to the end of what a busy device has to do, behind the
 * program's next kernel. Pieces without a download or an upload signal and wait all the same, so the thread has one
 * condition to look at. A failure of the caller's stream arrives through `loaded`; a failure of the communicator goes to
 * the waiting streams by failing `moved`.
 *
 * Locks, from the outermost: that of a set of buckets; the communicator's, under which a call is submitted, so that the
 * ranks' calls have one order in all channels; the locks of libclstream. The table's is a leaf. The thread takes the
 * communicator's for what it shares with submissions and for failing streams, and calls MPI without any lock.
 *
 * Files: comm.c creates and destroys; agree.c is what ranks tell each other at creation; host.c is which of them share
 * memory, and how; channel.c submits; exchange.c moves pieces, by MPI and in that memory; thread.c is the thread's
 * loop; control.c has the messages about failures, order and stalls; calls.c and group.c are the collectives, buckets.c
 * gradients; shrink.c goes on without a rank; table.c has the handles; report.c puts things into words.
 */
#ifndef CLSTREAM_MPI_COMM_H
#define CLSTREAM_MPI_COMM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <clstream/mpi.h>

#include "mpi/table.h"

enum { MOST_CHUNKS = 8, TEXT = 256, SIGNATURES = 1024 };
/* Bytes; elements; bytes. */
enum { CACHE_LINE = 64, SLICE_ALIGN = 16, LARGEST_ELEMENT = 8 };

enum action { ALLREDUCE, REDUCE_SCATTER, ALLGATHER, BCAST, BARRIER, SEND, RECV };
enum channel_name { COLLECTIVES, SENDS, RECEIVES, CHANNELS };

/* What CLSTREAM_CHECK=mpi compares, and reports name. */
struct signature {
    uint64_t number, count; /* number: from 1, in its channel */
    int32_t action, dtype, op;
    int32_t peer; /* root, or the other rank; -1: none */
};

/* A submitted call. Constant once it is queued, but for `next`. */
struct job {
    struct signature call;
    uint64_t first, pieces; /* pieces of the channel */
    size_t count, element;  /* elements per block, and bytes of one */
    size_t step;            /* elements per block and piece */
    unsigned in_blocks, out_blocks;
    struct job *next;
};

/* How far a rank is with a piece: host.c. */
enum piece_state { NOWHERE, LOADED, DONE };

/* A piece that is exchanged; used by the thread only. */
struct exchange_piece {
    const struct job *job;
    size_t count;             /* elements per block */
    unsigned slot;            /* its chunk */
    uint64_t round;           /* of the chunk */
    unsigned phase;           /* of exchange.c */
    enum piece_state awaited; /* of the host's other ranks; NOWHERE: nothing */
    bool exchanged;           /* no message is left to send or receive */
    bool over;                /* nothing is left to do */
    bool told;                /* `moved` is signalled */
    int n;                    /* requests */
    MPI_Request *active;      /* room for 2 * ranks + 2; MPI_REQUEST_NULL: complete */
    long *wanted;             /* bytes to receive; -1: a send */
    int *peers;
};

/* Chunk i of a part of a ring is at base + i * stride. */
struct ring_part {
    char *base;
    size_t stride;
};

struct channel {
    struct comm *comm;
    _Atomic bool open;
    cls_stream streams[MOST_CHUNKS];
    cls_stream
        join; /* behind all pieces of a call, so that the caller's stream depends on one other stream only */
    cls_timeline loaded[MOST_CHUNKS], moved[MOST_CHUNKS];
    char *memory;         /* this rank's own; NULL: none is needed */
    bool is_pinned;       /* it is of cls_host_alloc */
    struct ring_part out; /* what is downloaded */
    struct ring_part in;  /* what is received on the way */
    struct ring_part
        result; /* what reductions and broadcasts upload; `out` if the rank is alone on its host */
    struct ring_part gathered; /* what all-gathers upload, except for the rank's own block */
    uint64_t submitted;        /* pieces; under the communicator's lock, as the two that follow */
    uint64_t calls;
    struct job *first, *last; /* jobs whose pieces are not all moved */
    /* Of the thread: */
    struct job *current; /* of pieces up to known_end */
    uint64_t known_end, begun, moved_pieces;
    struct exchange_piece flights[MOST_CHUNKS]; /* piece g is in flights[g % chunks] */
    uint64_t progress_ns;                       /* when a piece last began or got further */
    bool reported;                              /* the stall since then */
};

/* A message of the control communicator. */
enum message_kind {
    MESSAGE_BEAT,
    MESSAGE_ABORT,
    MESSAGE_SIGNATURE,
    MESSAGE_ASK,
    MESSAGE_STATE,
    MESSAGE_LEAVE
};
struct message {
    int32_t kind, from;
    struct signature call;
    char text[TEXT];
};

struct peer {
    int host, local;  /* its host, and its place there */
    uint64_t machine; /* equal and not 0: the process can be looked up by its number */
    int64_t process;
    uint64_t heard_ns;
    bool left;        /* sends nothing any more */
    char state[TEXT]; /* the answer to MESSAGE_ASK; of this stall if not empty */
};

/* Ranks that share memory. */
struct host {
    int lowest, n; /* rank; number of ranks */
    int *ranks;    /* ascending */
};

enum health {
    WELL,
    ABORTED, /* `why` is set by another thread than the communication thread */
    FAILED   /* `why` is final; the streams have been told */
};

struct comm {
    struct table_entry entry;
    char name[32];
    int rank, ranks;
    cls_context context;
    cls_mpi_comm_config config; /* as given, with the defaults filled in */
    size_t chunk_bytes;
    unsigned chunks;
    cls_mpi_memory memory; /* as tried */
    uint64_t stall_ns, peer_timeout_ns;
    bool compares; /* CLSTREAM_CHECK=mpi */
    cls_event mark;
    pthread_t thread;

    pthread_mutex_t lock; /* submission; guards what follows */
    pthread_cond_t wake;  /* a job, a request to stop, a failure from outside */
    struct channel channels[CHANNELS];
    struct signature own[SIGNATURES]; /* of collectives, at number % SIGNATURES; while compares */
    bool has_thread;                  /* until somebody joins it */
    _Atomic bool agreed;              /* all ranks have created it: the thread may begin */
    _Atomic bool stopping; /* the thread ends once what was submitted is done, or has failed */
    _Atomic enum health health;
    char why[TEXT];
    uint64_t completed;

    _Atomic uint64_t sent_bytes;

    /* Of the thread: */
    MPI_Comm data, control;
    int numbers; /* tags tell so many numbers apart */
    struct peer *peers;
    struct card *cards; /* of host.c, as the five that follow */
    struct host *hosts;
    int n_hosts;
    int *members;  /* what hosts' `ranks` point to */
    char *segment; /* memory of this rank's host; NULL: it is alone there */
    MPI_Request incoming;
    bool deaf; /* MPI has refused to receive */
    struct message received;
    struct outgoing *outgoing;
    struct message *early; /* signatures of calls that are not submitted here yet */
    size_t n_early, early_room;
    uint64_t beat_ns;
    uint64_t asked_ns; /* 0: no report is being made */
    char *scrap;       /* where a message is received that nobody wants, after a failure */
    MPI_Request scrap_request;
    bool is_idle;       /* nothing to poll for */
    bool drained;       /* after a failure: no request is left */
    bool has_left;      /* MESSAGE_LEAVE is sent */
    uint64_t failed_ns; /* when */
    bool leaks;         /* requests of MPI are left that may use the rings */
};

/* --- report.c --- */

/* Sets the thread's detail; returns `status`. */
/* Whether the element type is one that MPI knows. */
cls_status check_type(cls_dtype dtype);

cls_status report(cls_status status, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));
const char *action_name(int action);
/* "all-reduce 17 (sum, 1000 x f32)". */
void describe_call(const struct signature *call, char *text, size_t size);
/* What MPI says of an error. */
void describe_mpi(int error, char *text, size_t size);

/* For "%.*s": the part of a poisoned stream's or timeline's detail that says what failed first. */
int cause_length(const char *detail);

uint64_t now_ns(void);

/* --- comm.c --- */

cls_status comm_get(cls_mpi_comm handle, struct comm **out);
cls_status comm_put(struct comm *comm, cls_status status);
void comm_set(struct comm *comm, _Atomic bool *flag); /* and wakes the thread */
/* Ends the thread. A second call does nothing. */
void comm_end(struct comm *comm);
cls_status comm_may_block(struct comm *comm);

/* --- calls.c --- */

/* Checks a stream of the program; the context's default stream for NULL. */
cls_status check_stream(cls_context context, cls_stream *stream);

/* --- channel.c --- */

cls_status channel_open(struct comm *comm, struct channel *channel, enum channel_name name);
/* `leak`: MPI may still use the memory. */
void channel_close(struct channel *channel, bool leak);
/* Allocates the ring anew, after a change of the kind of memory or of the host's segment, before a call has used it. */
cls_status channel_remake(struct channel *channel);
static inline char *chunk_of(struct ring_part part, unsigned slot) {
    return part.base + slot * part.stride;
}

/* Of a chunk, for a rank's block of an all-gather: no piece has larger ones. */
static inline size_t block_room(const struct comm *comm) {
    return comm->chunk_bytes / (size_t)comm->ranks / LARGEST_ELEMENT * LARGEST_ELEMENT;
}

/* A call: `in` and `out` as the action has them; count 0 where there is none. */
struct comm_request {
    enum action action;
    cls_mpi_op op;
    int peer;
    cls_array in, out;
};
/* Submits a checked request. */
cls_status channel_submit(struct comm *comm, const struct comm_request *request, cls_stream stream);

/* --- thread.c --- */

void *comm_thread(void *comm);
/* From now on, at most one communication thread is inside MPI at a time. */
void comm_threads_alone(void);
/* For threads of the program: has the communication thread fail the communicator. */
void comm_abort_locked(struct comm *comm, const char *why);
/* For the communication thread: fails the communicator and tells the other ranks, unless `why` comes from one. */
void comm_fail(struct comm *comm, bool tell, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));
cls_status comm_report_failure(struct comm *comm);
/* What explanations of the channel's waits end with. */
void channel_annotate(struct channel *channel, const char *text);

/* --- agree.c --- */

/* Duplicates `mpi`, and agrees with the other ranks on creation: the outcome of all of them. */
cls_status comm_agree(struct comm *comm, MPI_Comm mpi, cls_status own);

/* --- host.c --- */

bool host_prepare(struct comm *comm);
/* Finds the hosts and shares memory on each; collective. Where that is not possible each rank is a host. */
cls_status host_meet(struct comm *comm);
void host_close(struct comm *comm); /* unmaps the segment */
void host_forget(struct comm *comm);
static inline const struct host *host_of(const struct comm *comm) {
    return &comm->hosts[comm->peers[comm->rank].host];
}
/* Of the segment: the results, and the chunks of one rank, one behind the other. */
char *host_results(const struct comm *comm);
char *host_chunks(const struct comm *comm, int local);
/* This rank has got so far; whether all others of its host have. Fails the communicator if one has the same call with
 * other arguments. */
void host_mark(struct comm *comm, const struct exchange_piece *piece, enum piece_state stage);
bool host_has_marked(struct comm *comm, const struct exchange_piece *piece, enum piece_state stage);

/* --- exchange.c --- */

/* Begins, and brings on, the exchange of a piece. False: the communicator has failed. */
bool piece_begin(struct channel *channel, struct exchange_piece *piece);
bool piece_poll(struct channel *channel, struct exchange_piece *piece, bool *progressed);
/* After a failure: cancels receives, receives what others send; true once no request is left. */
bool pieces_drain(struct comm *comm);
void pieces_cancel(struct comm *comm);

/* --- control.c --- */

bool control_open(struct comm *comm);
/* Takes messages, sends beats, watches the other ranks. Returns whether there was a message. */
bool control_poll(struct comm *comm);
void control_tell_all(struct comm *comm, enum message_kind kind, const char *text);
void control_compare(struct comm *comm, const struct signature *call);
/* Fails the communicator if the rank's call is not as this one's own. */
void control_match(struct comm *comm, int rank, const struct signature *theirs,
                   const struct signature *own);
/* Looks for stalls and reports them. */
void control_watch(struct comm *comm);
/* Fails the communicator if a process has ended: a better reason than what MPI says of it. */
void control_find_dead(struct comm *comm);
/* Whether all notes are sent; whether all ranks have said, as this one now does, that they send nothing more. */
bool control_is_quiet(const struct comm *comm);
bool control_all_left(struct comm *comm);
void control_close(struct comm *comm);

#endif

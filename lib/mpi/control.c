/* SPDX-License-Identifier: MIT */
/*
 * What the ranks' threads tell each other beside the data: that they live, that one has failed, what they are called
 * with, what they wait for, that they leave. All messages have one size and one tag, so those of one rank arrive in
 * the order in which it sent them.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/comm.h"

static const uint64_t SECOND = 1000000000u;
/* Answers to MESSAGE_ASK are waited for so long before a stall is reported. */
static const uint64_t ASK_NS = 500000000;

struct outgoing {
    struct message note;
    MPI_Request request;
    struct outgoing *next;
};

/* --- sending --- */

static void send_message(struct comm *comm, int to, enum message_kind kind,
                         const struct signature *call, const char *text) {
    struct outgoing *sent = calloc(1, sizeof *sent);
    if (!sent)
        return; /* beats and reports are sent again; a failed rank is missed after a time */
    sent->note.kind = kind;
    sent->note.from = comm->rank;
    if (call)
        sent->note.call = *call;
    snprintf(sent->note.text, sizeof sent->note.text, "%s", text);
    if (MPI_Isend(&sent->note, (int)sizeof sent->note, MPI_BYTE, to, 0, comm->control,
                  &sent->request)) {
        free(sent);
        return;
    }
    sent->next = comm->outgoing;
    comm->outgoing = sent;
}

void control_tell_all(struct comm *comm, enum message_kind kind, const char *text) {
    for (int turn = 1; turn < comm->ranks; turn++)
        send_message(comm, (comm->rank + turn) % comm->ranks, kind, NULL, text);
}

static void free_sent(struct comm *comm) {
    struct outgoing **at = &comm->outgoing;
    while (*at) {
        struct outgoing *sent = *at;
        int flag = 0;
        if (!MPI_Test(&sent->request, &flag, MPI_STATUS_IGNORE) && flag) {
            *at = sent->next;
            free(sent);
        } else {
            at = &sent->next;
        }
    }
}

bool control_is_quiet(const struct comm *comm) { return !comm->outgoing; }

/* --- signatures --- */

static bool is_same(const struct signature *a, const struct signature *b) {
    return a->action == b->action && a->dtype == b->dtype && a->op == b->op &&
           a->count == b->count && a->peer == b->peer;
}

void control_match(struct comm *comm, int rank, const struct signature *theirs,
                   const struct signature *own) {
    char there[96], here[96];
    if (is_same(theirs, own))
        return;
    describe_call(theirs, there, sizeof there);
    describe_call(own, here, sizeof here);
    comm_fail(comm, true, "rank %d called %s, rank %d %s", rank, there, comm->rank, here);
}

static void take_signature(struct comm *comm, const struct message *note) {
    const struct signature *own = &comm->own[note->call.number % SIGNATURES];
    if (own->number == note->call.number) {
        control_match(comm, note->from, &note->call, own);
    } else if (own->number < note->call.number) {
        if (comm->n_early == comm->early_room) {
            const size_t room = comm->early_room ? 2 * comm->early_room : 16;
            struct message *larger = realloc(comm->early, room * sizeof *larger);
            if (!larger)
                return;
            comm->early = larger;
            comm->early_room = room;
        }
        comm->early[comm->n_early++] = *note;
    }
}

void control_compare(struct comm *comm, const struct signature *call) {
    comm->own[call->number % SIGNATURES] = *call;
    if (comm->ranks > 1)
        send_message(comm, (comm->rank + 1) % comm->ranks, MESSAGE_SIGNATURE, call, "");
    for (size_t i = 0; i < comm->n_early; i++) {
        if (comm->early[i].call.number != call->number)
            continue;
        const struct message note = comm->early[i];
        comm->early[i] = comm->early[--comm->n_early];
        control_match(comm, note.from, &note.call, call);
        return;
    }
}

/* --- stalls --- */

static const char LEAVING[] = "in cls_mpi_comm_destroy";

/* Under the lock: what this rank is at. */
static void describe_state(struct comm *comm, char *text, size_t size) {
    size_t used = 0;
    for (int c = 0; c < CHANNELS && used < size; c++) {
        const struct channel *channel = &comm->channels[c];
        char what[96];
        if (!channel->first)
            continue;
        describe_call(&channel->first->call, what, sizeof what);
        used += (size_t)snprintf(
            text + used, size - used, "%sin %s%s", used ? ", " : "", what,
            channel->begun > channel->moved_pieces ? "" : ", behind its stream's work");
    }
    if (!used)
        snprintf(text, size, comm->stopping ? LEAVING : "behind collective %llu",
                 (unsigned long long)comm->completed);
}

static void answer(struct comm *comm, int to) {
    char text[TEXT];
    pthread_mutex_lock(&comm->lock);
    describe_state(comm, text, sizeof text);
    pthread_mutex_unlock(&comm->lock);
    send_message(comm, to, MESSAGE_STATE, NULL, text);
}

static bool is_stalled(const struct comm *comm, const struct channel *channel, uint64_t now) {
    return channel->open && channel->begun > channel->moved_pieces && !channel->reported &&
           now - channel->progress_ns > comm->stall_ns;
}

/* ": rank 1 is in broadcast 3 (...), rank 2 ...", of the ranks that are not at the same. */
static void describe_others(const struct comm *comm, const char *own, char *text, size_t size) {
    size_t used = 0;
    *text = '\0';
    for (int r = 0; r < comm->ranks && used < size; r++) {
        const char *state = comm->peers[r].left ? LEAVING : comm->peers[r].state;
        if (r != comm->rank && strcmp(state, own) != 0)
            used += (size_t)snprintf(text + used, size - used, "%s rank %d %s%s", used ? "," : ":",
                                     r, *state ? "is " : "does not answer", state);
    }
}

static void report_stall(struct comm *comm, struct channel *channel) {
    char what[96], own[TEXT], others[TEXT], text[2 * TEXT];
    pthread_mutex_lock(&comm->lock);
    describe_call(&channel->first->call, what, sizeof what);
    describe_state(comm, own, sizeof own);
    pthread_mutex_unlock(&comm->lock);
    describe_others(comm, own, others, sizeof others);
    snprintf(text, sizeof text, "rank %d of %d has waited %.0f s in %s%s", comm->rank, comm->ranks,
             (double)(now_ns() - channel->progress_ns) / 1e9, what, others);
    fprintf(stderr, "clstream: communicator '%s': %s\n", comm->name, text);
    channel_annotate(channel, text);
    channel->reported = true;
}

void control_watch(struct comm *comm) {
    const uint64_t now = now_ns();
    bool stalled = false;
    if (comm->asked_ns && now - comm->asked_ns < ASK_NS)
        return;
    for (int c = 0; c < CHANNELS; c++) {
        struct channel *channel = &comm->channels[c];
        if (!is_stalled(comm, channel, now))
            continue;
        stalled = true;
        if (comm->asked_ns)
            report_stall(comm, channel);
    }
    if (!stalled || comm->asked_ns) {
        comm->asked_ns = 0;
        return;
    }
    for (int r = 0; r < comm->ranks; r++)
        comm->peers[r].state[0] = '\0';
    control_tell_all(comm, MESSAGE_ASK, "");
    comm->asked_ns = now;
}

/* --- receiving --- */

static bool listen(struct comm *comm) {
    comm->incoming = MPI_REQUEST_NULL;
    return !MPI_Irecv(&comm->received, (int)sizeof comm->received, MPI_BYTE, MPI_ANY_SOURCE, 0,
                      comm->control, &comm->incoming);
}

bool control_open(struct comm *comm) {
    comm->deaf = !listen(comm);
    return !comm->deaf;
}

static void receive_message(struct comm *comm, const struct message *note) {
    struct peer *peer = &comm->peers[note->from];
    peer->heard_ns = now_ns();
    switch ((enum message_kind)note->kind) {
    case MESSAGE_BEAT:
        break;
    case MESSAGE_ABORT:
        peer->left = true;
        comm_fail(comm, false, "%s", note->text);
        break;
    case MESSAGE_SIGNATURE:
        if (comm->health != FAILED)
            take_signature(comm, note);
        break;
    case MESSAGE_ASK:
        if (!comm->has_left) /* the other one knows, and may have ended */
            answer(comm, note->from);
        break;
    case MESSAGE_STATE:
        snprintf(peer->state, sizeof peer->state, "%s", note->text);
        break;
    case MESSAGE_LEAVE:
        peer->left = true;
        break;
    }
}

static bool receive_messages(struct comm *comm) {
    bool any = false;
    for (;;) {
        int flag = 0;
        if (comm->deaf)
            return any;
        const int error = MPI_Test(&comm->incoming, &flag, MPI_STATUS_IGNORE);
        if (error) {
            char said[96];
            describe_mpi(error, said, sizeof said);
            comm->deaf = true;
            control_find_dead(comm);
            comm_fail(comm, true, "rank %d: %s", comm->rank, said);
            return any;
        }
        if (!flag)
            return any;
        const struct message note = comm->received;
        any = true;
        if (!listen(comm)) {
            comm->deaf = true;
            comm_fail(comm, true, "rank %d: MPI_Irecv failed", comm->rank);
        }
        if (note.from >= 0 && note.from < comm->ranks)
            receive_message(comm, &note);
    }
}

/* --- the life of the others --- */

void control_find_dead(struct comm *comm) {
    const struct peer *own = &comm->peers[comm->rank];
    for (int r = 0; r < comm->ranks; r++) {
        const struct peer *peer = &comm->peers[r];
        const bool same_machine = peer->machine && peer->machine == own->machine;
        if (r != comm->rank && !peer->left && same_machine && kill((pid_t)peer->process, 0) &&
            errno == ESRCH)
            comm_fail(comm, true, "rank %d of %d has ended (process %lld, noticed by rank %d)", r,
                      comm->ranks, (long long)peer->process, comm->rank);
    }
}

/* Processes of this machine are looked up; the rank before this one in the ring sends beats, until it leaves: nobody ends
 * before that. */
static void watch_peers(struct comm *comm, uint64_t now) {
    const int before = (comm->rank + comm->ranks - 1) % comm->ranks;
    const struct peer *peer = &comm->peers[before];
    control_find_dead(comm);
    if (!peer->left && now - peer->heard_ns > comm->peer_timeout_ns)
        comm_fail(comm, true, "rank %d of %d has sent nothing for %.0f s (noticed by rank %d)",
                  before, comm->ranks, (double)(now - peer->heard_ns) / 1e9, comm->rank);
}

static void beat(struct comm *comm) {
    const uint64_t now = now_ns();
    const uint64_t pace = comm->peer_timeout_ns / 4 < SECOND ? comm->peer_timeout_ns / 4 : SECOND;
    const int next = (comm->rank + 1) % comm->ranks;
    if (now - comm->beat_ns < pace || comm->health == FAILED || comm->ranks == 1)
        return;
    comm->beat_ns = now;
    if (!comm->has_left)
        send_message(comm, next, MESSAGE_BEAT, NULL, "");
    watch_peers(comm, now);
}

bool control_poll(struct comm *comm) {
    const bool any = receive_messages(comm);
    if (comm->outgoing)
        free_sent(comm);
    beat(comm);
    return any;
}

/* --- the end --- */

bool control_all_left(struct comm *comm) {
    if (!comm->has_left)
        control_tell_all(comm, MESSAGE_LEAVE, "");
    comm->has_left = true;
    for (int r = 0; r < comm->ranks; r++)
        if (r != comm->rank && !comm->peers[r].left)
            return false;
    return control_is_quiet(comm);
}

/* After a failure the communicators of MPI stay: what is still on the way to them would come to the next ones, which
 * may have the same number inside MPI. */
void control_close(struct comm *comm) {
    int cancelled = 1;
    if (comm->incoming != MPI_REQUEST_NULL) {
        MPI_Cancel(&comm->incoming);
        if (MPI_Wait(&comm->incoming, MPI_STATUS_IGNORE))
            cancelled = 0;
    }
    comm->leaks = !cancelled || comm->outgoing || (comm->health == FAILED && !comm->drained);
    if (comm->health == FAILED)
        return;
    MPI_Comm_free(&comm->data);
    MPI_Comm_free(&comm->control);
}

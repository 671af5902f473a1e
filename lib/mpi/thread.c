/* SPDX-License-Identifier: MIT */
/* The communication thread: looks for pieces that are loaded, brings exchanges on, and sleeps in between. */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <clstream/timeline.h>

#include "mpi/comm.h"

/* After so long without progress a poll is followed by a sleep, which grows from the first to the last of these. Ranks
 * that share cores leave them to each other and to the device. */
static const uint64_t SPIN_NS = 500000, LEAST_SLEEP_NS = 20000, MOST_SLEEP_NS = 500000;
/* With nothing to do, the thread looks for messages of other ranks this often. */
static const uint64_t IDLE_NS = 100000000, DRAIN_NS = 1000000;
/* What is pending after a failure may take so long to end. */
static const uint64_t MOST_DRAIN_NS = 1000000000;

/* --- the end of MPI --- */

/*
 * MPI calls back before anything else in MPI_Finalize, and the communication threads end then. But MPICH has dropped its
 * locks by that time, so from there on one thread at a time is inside MPI.
 */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t left;
    unsigned inside; /* communication threads that call MPI */
    bool alone;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static void enter_mpi(void) {
    pthread_mutex_lock(&gate.lock);
    while (gate.alone && gate.inside)
        pthread_cond_wait(&gate.left, &gate.lock);
    gate.inside++;
    pthread_mutex_unlock(&gate.lock);
}

static void leave_mpi(void) {
    pthread_mutex_lock(&gate.lock);
    gate.inside--;
    if (gate.alone)
        pthread_cond_signal(&gate.left);
    pthread_mutex_unlock(&gate.lock);
}

void comm_threads_alone(void) {
    pthread_mutex_lock(&gate.lock);
    gate.alone = true;
    pthread_mutex_unlock(&gate.lock);
}

/* --- failure --- */

cls_status comm_report_failure(struct comm *comm) {
    return report(CLS_ERROR_COMMAND_FAILED, "communicator '%s' has failed: %s", comm->name,
                  comm->why);
}

void comm_abort_locked(struct comm *comm, const char *why) {
    if (comm->health != WELL)
        return;
    comm->health = ABORTED;
    snprintf(comm->why, sizeof comm->why, "%s", why);
    pthread_cond_signal(&comm->wake);
}

/* The streams that wait fail: what they wait for will not come. */
static void fail_streams(struct comm *comm) {
    for (int c = 0; c < CHANNELS; c++) {
        struct channel *channel = &comm->channels[c];
        const char *label = "MPI";
        if (!channel->open)
            continue;
        if (channel->first)
            label = action_name(channel->first->call.action);
        for (unsigned i = 0; i < comm->chunks; i++)
            cls_timeline_fail(channel->moved[i], label, comm->why);
    }
}

void comm_fail(struct comm *comm, bool tell, const char *format, ...) {
    va_list args;
    if (comm->health == FAILED)
        return;
    va_start(args, format);
    pthread_mutex_lock(&comm->lock);
    if (comm->health == WELL)
        vsnprintf(comm->why, sizeof comm->why, format, args);
    comm->health = FAILED;
    fail_streams(comm);
    pthread_mutex_unlock(&comm->lock);
    va_end(args);
    comm->failed_ns = now_ns();
    if (tell)
        control_tell_all(comm, MESSAGE_ABORT, comm->why);
    pieces_cancel(comm);
}

/* --- pieces --- */

/* The job of the piece to begin next, or NULL. The thread does not wait for a call that submits: it has beats to send. */
static const struct job *next_job(struct comm *comm, struct channel *channel) {
    struct job *job = NULL;
    if (channel->begun < channel->known_end)
        return channel->current;
    if (pthread_mutex_trylock(&comm->lock))
        return NULL;
    for (job = channel->first; job && channel->begun >= job->first + job->pieces; job = job->next)
        ;
    channel->current = job;
    channel->known_end = job ? job->first + job->pieces : 0;
    pthread_mutex_unlock(&comm->lock);
    return job;
}

static void fail_by_stream(struct comm *comm, const struct job *job) {
    char what[96];
    describe_call(&job->call, what, sizeof what);
    const char *detail = cls_last_error_detail();
    comm_fail(comm, true, "rank %d, %s: %.*s", comm->rank, what, cause_length(detail), detail);
}

static bool is_loaded(struct comm *comm, struct channel *channel, const struct job *job) {
    const uint64_t g = channel->begun;
    const cls_status status =
        cls_timeline_query(channel->loaded[g % comm->chunks], g / comm->chunks + 1);
    if (status < CLS_SUCCESS)
        fail_by_stream(comm, job);
    return status == CLS_SUCCESS;
}

/* Begins the next piece if it is there. */
static bool begin_piece(struct comm *comm, struct channel *channel) {
    if (channel->begun - channel->moved_pieces >= comm->chunks)
        return false;
    const struct job *job = next_job(comm, channel);
    if (!job || !is_loaded(comm, channel, job))
        return false;
    const uint64_t g = channel->begun, at = (g - job->first) * job->step;
    struct exchange_piece *piece = &channel->flights[g % comm->chunks];
    piece->job = job;
    piece->slot = (unsigned)(g % comm->chunks);
    piece->round = g / comm->chunks + 1;
    piece->told = false;
    piece->count = job->count - at < job->step ? job->count - at : job->step;
    if (comm->compares && g == job->first && channel == &comm->channels[COLLECTIVES])
        control_compare(comm, &job->call);
    if (comm->health == FAILED)
        return false;
    channel->begun++;
    return piece_begin(channel, piece);
}

static void end_job(struct comm *comm, struct channel *channel) {
    pthread_mutex_lock(&comm->lock);
    struct job *job = channel->first;
    channel->first = job->next;
    if (!channel->first)
        channel->last = NULL;
    if (channel == &comm->channels[COLLECTIVES])
        comm->completed = job->call.number;
    pthread_mutex_unlock(&comm->lock);
    free(job);
}

/* Signals the pieces that are exchanged, and ends the calls of which all are. */
static void signal_moved(struct comm *comm, struct channel *channel) {
    for (uint64_t g = channel->moved_pieces; g < channel->begun; g++) {
        struct exchange_piece *piece = &channel->flights[g % comm->chunks];
        if (piece->over && !piece->told)
            cls_timeline_signal(channel->moved[piece->slot], g / comm->chunks + 1);
        piece->told = piece->over;
    }
    while (channel->moved_pieces < channel->begun &&
           channel->flights[channel->moved_pieces % comm->chunks].over) {
        const struct job *job = channel->flights[channel->moved_pieces % comm->chunks].job;
        if (++channel->moved_pieces == job->first + job->pieces)
            end_job(comm, channel);
    }
}

void channel_annotate(struct channel *channel, const char *text) {
    for (unsigned i = 0; i < channel->comm->chunks; i++)
        cls_timeline_annotate(channel->moved[i], text);
}

static void note_progress(struct channel *channel) {
    channel->progress_ns = now_ns();
    if (channel->reported)
        channel_annotate(channel, NULL);
    channel->reported = false;
}

static bool advance(struct comm *comm, struct channel *channel) {
    bool progressed = false;
    while (comm->health != FAILED && begin_piece(comm, channel))
        progressed = true;
    for (uint64_t g = channel->moved_pieces; g < channel->begun && comm->health != FAILED; g++)
        piece_poll(channel, &channel->flights[g % comm->chunks], &progressed);
    if (comm->health != FAILED)
        signal_moved(comm, channel);
    if (progressed)
        note_progress(channel);
    return progressed;
}

/* --- the loop --- */

/* Under the lock. */
static bool has_jobs(const struct comm *comm) {
    for (int c = 0; c < CHANNELS; c++)
        if (comm->channels[c].first)
            return true;
    return false;
}

static void sleep_ns(uint64_t ns) {
    const struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    nanosleep(&time, NULL);
}

/* Waits to be woken. */
static void sleep_until_woken(struct comm *comm, uint64_t ns) {
    const uint64_t until = now_ns() + ns;
    const struct timespec time = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    pthread_mutex_lock(&comm->lock);
    if ((comm->health == FAILED || (comm->health == WELL && !has_jobs(comm))) && !comm->stopping)
        pthread_cond_timedwait(&comm->wake, &comm->lock, &time);
    pthread_mutex_unlock(&comm->lock);
}

static void pause_thread(struct comm *comm, uint64_t last_progress) {
    const uint64_t idle = now_ns() - last_progress;
    const uint64_t nap = idle / 8 < LEAST_SLEEP_NS  ? LEAST_SLEEP_NS
                         : idle / 8 > MOST_SLEEP_NS ? MOST_SLEEP_NS
                                                    : idle / 8;
    if (comm->is_idle)
        sleep_until_woken(comm,
                          comm->health == FAILED && !comm->stopping ? DRAIN_NS * 10 : IDLE_NS);
    else if (idle < SPIN_NS)
        sched_yield();
    else
        sleep_ns(nap);
}

/* One look at everything. Returns whether something moved. */
static bool look(struct comm *comm) {
    bool progressed = false;
    if (comm->health == ABORTED)
        comm_fail(comm, true, "%s", "");
    for (int c = 0; c < CHANNELS && comm->health != FAILED; c++)
        if (comm->channels[c].open)
            progressed |= advance(comm, &comm->channels[c]);
    progressed |= control_poll(comm);
    if (comm->health != FAILED)
        control_watch(comm);
    else
        comm->drained = pieces_drain(comm);
    return progressed;
}

/* Whether the thread may end: all is done and all ranks have said so, or what a failure left has ended or had its
 * time. */
static bool may_end(struct comm *comm) {
    if (!comm->stopping)
        return false;
    if (comm->health == FAILED)
        return (comm->drained && control_is_quiet(comm)) ||
               now_ns() - comm->failed_ns > MOST_DRAIN_NS;
    pthread_mutex_lock(&comm->lock);
    const bool done = !has_jobs(comm);
    pthread_mutex_unlock(&comm->lock);
    return done && control_all_left(comm);
}

static void update_idle(struct comm *comm) {
    pthread_mutex_lock(&comm->lock);
    comm->is_idle = comm->health == FAILED ? comm->drained && control_is_quiet(comm)
                                           : !has_jobs(comm) && !comm->stopping && !comm->asked_ns;
    pthread_mutex_unlock(&comm->lock);
}

/* A short sleep lasts 50 us more otherwise. */
static void sleep_exactly(void) {
#ifdef PR_SET_TIMERSLACK
    prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
#endif
}

static bool await_agreement(struct comm *comm) {
    pthread_mutex_lock(&comm->lock);
    while (!comm->agreed && !comm->stopping)
        pthread_cond_wait(&comm->wake, &comm->lock);
    const bool agreed = comm->agreed;
    pthread_mutex_unlock(&comm->lock);
    return agreed;
}

static void open_control(struct comm *comm) {
    enter_mpi();
    if (!control_open(comm))
        comm_fail(comm, false, "rank %d: MPI_Irecv failed", comm->rank);
    leave_mpi();
}

/* One turn of the loop. False: the thread has ended. */
static bool turn(struct comm *comm, uint64_t *last_progress) {
    enter_mpi();
    const bool ends = may_end(comm);
    if (ends)
        control_close(comm);
    else if (look(comm))
        *last_progress = now_ns();
    leave_mpi();
    return !ends;
}

void *comm_thread(void *arg) {
    struct comm *comm = arg;
    if (!await_agreement(comm))
        return NULL;
    uint64_t last_progress = now_ns();
    sleep_exactly();
    open_control(comm);
    while (turn(comm, &last_progress)) {
        update_idle(comm);
        pause_thread(comm, last_progress);
    }
    return NULL;
}

/* SPDX-License-Identifier: MIT */
/* Creation and destruction of communicators. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/context.h>
#include <clstream/event.h>
#include <clstream/stream.h>

#include "mpi/comm.h"

static const uint64_t SECOND = 1000000000u;

cls_status comm_get(cls_mpi_comm handle, struct comm **out) {
    struct table_entry *entry;
    cls_status status = table_get(KIND_COMM, handle, &entry);
    if (!status)
        *out = (struct comm *)(void *)entry;
    return status;
}

cls_status comm_put(struct comm *comm, cls_status status) {
    table_put(&comm->entry);
    return status;
}

/* --- options --- */

/* A program with older headers has fewer members. */
static cls_status read_comm_config(const cls_mpi_comm_config *given, cls_mpi_comm_config *config) {
    if (given && (given->size < sizeof given->size || given->size > sizeof *config ||
                  given->size % sizeof given->size))
        return report(CLS_ERROR_INVALID_VALUE, "cls_mpi_comm_create: a wrong size field");
    if (given)
        memcpy(config, given, given->size);
    config->chunk_bytes = config->chunk_bytes ? config->chunk_bytes : 2 << 20;
    config->chunks = config->chunks ? config->chunks : 8;
    config->stall_ns = config->stall_ns ? config->stall_ns : 10 * SECOND;
    config->peer_timeout_ns = config->peer_timeout_ns ? config->peer_timeout_ns : 30 * SECOND;
    if (config->chunk_bytes < 4 << 10 || config->chunk_bytes > 256 << 20 || config->chunks < 2 ||
        config->chunks > MOST_CHUNKS || (unsigned)config->memory > CLS_MPI_MEMORY_PLAIN ||
        config->peer_timeout_ns < SECOND)
        return report(CLS_ERROR_INVALID_VALUE, "cls_mpi_comm_create: an option is out of range");
    config->chunk_bytes = config->chunk_bytes / 64 * 64;
    return CLS_SUCCESS;
}

static bool check_lists(const char *word) {
    const char *at = getenv("CLSTREAM_CHECK");
    while (at && *at) {
        const size_t n = strcspn(at, ",");
        if (n == strlen(word) && !strncmp(at, word, n))
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

static cls_status check_mpi(MPI_Comm mpi) {
    static const char *const names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                        "MPI_THREAD_SERIALIZED"};
    int begun = 0, over = 0, level = MPI_THREAD_SINGLE, inter = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&over);
    if (!begun || over)
        return report(CLS_ERROR_INVALID_STATE, "MPI is %s", over ? "finalized" : "not initialized");
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE)
        return report(CLS_ERROR_INVALID_STATE,
                      "MPI was initialized with %s; call MPI_Init_thread with MPI_THREAD_MULTIPLE, "
                      "which a communicator's thread needs",
                      level == MPI_THREAD_SINGLE     ? names[0]
                      : level == MPI_THREAD_FUNNELED ? names[1]
                                                     : names[2]);
    if (mpi != MPI_COMM_NULL)
        MPI_Comm_test_inter(mpi, &inter);
    return mpi == MPI_COMM_NULL || inter
               ? report(CLS_ERROR_INVALID_VALUE, "cls_mpi_comm_create: %s",
                        inter ? "an intercommunicator" : "MPI_COMM_NULL")
               : CLS_SUCCESS;
}

/* --- creation --- */

static void free_comm(struct comm *comm) {
    comm_end(comm);
    for (int c = 0; c < CHANNELS; c++)
        if (comm->channels[c].open)
            channel_close(&comm->channels[c], comm->leaks);
    if (comm->mark)
        cls_event_destroy(comm->mark);
    pthread_cond_destroy(&comm->wake);
    pthread_mutex_destroy(&comm->lock);
    if (comm->leaks)
        comm->segment = NULL; /* MPI may still send from it */
    host_forget(comm);
    free(comm->peers);
    free(comm->early);
    free(comm);
}

static cls_status init_sync(struct comm *comm) {
    pthread_condattr_t monotonic;
    if (pthread_mutex_init(&comm->lock, NULL))
        return report(CLS_ERROR_OUT_OF_MEMORY, "no memory for a lock");
    bool made = !pthread_condattr_init(&monotonic);
    if (made) {
        made = !pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) &&
               !pthread_cond_init(&comm->wake, &monotonic);
        pthread_condattr_destroy(&monotonic);
    }
    if (made)
        return CLS_SUCCESS;
    pthread_mutex_destroy(&comm->lock);
    return report(CLS_ERROR_OUT_OF_MEMORY, "no memory for a condition");
}

static struct comm *new_comm(const cls_mpi_comm_config *config, cls_context context, MPI_Comm mpi) {
    static _Atomic unsigned names;
    struct comm *comm = calloc(1, sizeof *comm);
    if (!comm || init_sync(comm)) {
        free(comm);
        report(CLS_ERROR_OUT_OF_MEMORY, "no memory for a communicator");
        return NULL;
    }
    const unsigned number = atomic_fetch_add(&names, 1) + 1;
    if (config->name)
        snprintf(comm->name, sizeof comm->name, "%s", config->name);
    else
        snprintf(comm->name, sizeof comm->name, "communicator %u", number);
    MPI_Comm_rank(mpi, &comm->rank);
    MPI_Comm_size(mpi, &comm->ranks);
    comm->data = comm->control = MPI_COMM_NULL;
    comm->incoming = comm->scrap_request = MPI_REQUEST_NULL;
    comm->context = context;
    comm->config = *config;
    comm->chunk_bytes = config->chunk_bytes;
    comm->chunks = config->chunks;
    comm->memory = config->memory;
    comm->stall_ns = config->stall_ns;
    comm->peer_timeout_ns = config->peer_timeout_ns;
    comm->compares = check_lists("mpi");
    return comm;
}

/* Signals of the process are for the program's threads. */
static cls_status start_thread(struct comm *comm) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&comm->thread, NULL, comm_thread, comm);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    comm->has_thread = !failed;
    return failed ? report(CLS_ERROR_OUT_OF_MEMORY, "no thread for a communicator") : CLS_SUCCESS;
}

static cls_status prepare(struct comm *comm) {
    cls_stream stream;
    if (comm->chunk_bytes < (size_t)comm->ranks * 64)
        return report(CLS_ERROR_INVALID_VALUE, "chunks of %zu bytes are too small for %d ranks",
                      comm->chunk_bytes, comm->ranks);
    comm->peers = calloc((size_t)comm->ranks, sizeof *comm->peers);
    if (!comm->peers || !host_prepare(comm))
        return report(CLS_ERROR_OUT_OF_MEMORY, "no memory for %d ranks", comm->ranks);
    cls_status status = comm->context ? CLS_SUCCESS : cls_context_default(&comm->context);
    if (!status)
        status = cls_context_default_stream(comm->context, &stream);
    if (!status)
        status = cls_event_create(comm->context, NULL, &comm->mark);
    if (!status)
        status = channel_open(comm, &comm->channels[COLLECTIVES], COLLECTIVES);
    return status ? status : start_thread(comm);
}

static void abort_by_finalize(struct table_entry *entry) {
    struct comm *comm = (struct comm *)(void *)entry;
    pthread_mutex_lock(&comm->lock);
    comm_abort_locked(comm, "MPI_Finalize was called before cls_mpi_comm_destroy");
    pthread_mutex_unlock(&comm->lock);
    comm_set(comm, &comm->stopping);
}

static void end_by_finalize(struct table_entry *entry) { comm_end((struct comm *)(void *)entry); }

/* MPI calls this at the begin of MPI_Finalize. All threads end at a time, because each may have to drain. */
static int at_finalize(MPI_Comm self, int key, void *value, void *extra) {
    (void)self, (void)key, (void)value, (void)extra;
    comm_threads_alone();
    table_each(KIND_COMM, abort_by_finalize);
    table_each(KIND_COMM, end_by_finalize);
    return MPI_SUCCESS;
}

static void watch_finalize(void) {
    int key;
    if (!MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, NULL))
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

cls_status cls_mpi_comm_create(MPI_Comm mpi, cls_context context, const cls_mpi_comm_config *given,
                               cls_mpi_comm *out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    cls_mpi_comm_config config = CLS_MPI_COMM_CONFIG_INIT;
    void *handle;
    if (!out)
        return report(CLS_ERROR_INVALID_VALUE, "cls_mpi_comm_create: out is null");
    cls_status status = check_mpi(mpi);
    if (!status)
        status = read_comm_config(given, &config);
    if (status)
        return status;
    pthread_once(&once, watch_finalize);
    struct comm *comm = new_comm(&config, context, mpi);
    if (!comm)
        return CLS_ERROR_OUT_OF_MEMORY;
    status = prepare(comm);
    if (!status)
        status = table_add(KIND_COMM, &comm->entry, &handle);
    const bool is_listed = !status;
    status =
        comm_agree(comm, mpi, status); /* after a failure, too: the others wait for this rank */
    if (!status)
        comm_set(comm, &comm->agreed);
    else if (is_listed)
        table_remove(KIND_COMM, handle);
    if (status)
        free_comm(comm);
    else
        *out = handle;
    return status;
}

/* --- end --- */

void comm_set(struct comm *comm, _Atomic bool *flag) {
    pthread_mutex_lock(&comm->lock);
    atomic_store(flag, true);
    pthread_cond_signal(&comm->wake);
    pthread_mutex_unlock(&comm->lock);
}

void comm_end(struct comm *comm) {
    pthread_mutex_lock(&comm->lock);
    const bool running = comm->has_thread;
    comm->has_thread = false;
    pthread_mutex_unlock(&comm->lock);
    comm_set(comm, &comm->stopping);
    if (running)
        pthread_join(comm->thread, NULL);
}

/* Whether this thread may block: not in a host function. */
cls_status comm_may_block(struct comm *comm) {
    cls_stream stream;
    cls_status status = cls_context_default_stream(comm->context, &stream);
    if (!status)
        status = cls_stream_wait(stream, 0);
    return status == CLS_ERROR_WOULD_DEADLOCK ? status : CLS_SUCCESS;
}

cls_status cls_mpi_comm_destroy(cls_mpi_comm handle) {
    struct comm *comm;
    cls_status status = comm_get(handle, &comm);
    if (status)
        return status;
    status = comm_put(comm, comm_may_block(comm));
    if (status)
        return status;
    if (!table_remove(KIND_COMM, handle))
        return report(CLS_ERROR_INVALID_HANDLE, "another thread destroys the communicator");
    const bool was_well = comm->health == WELL;
    comm_end(comm);
    if (was_well && comm->health == FAILED)
        status = comm_report_failure(comm);
    free_comm(comm);
    return status;
}

cls_status cls_mpi_comm_get_info(cls_mpi_comm handle, cls_mpi_comm_info *info) {
    cls_mpi_comm_info now = CLS_MPI_COMM_INFO_INIT;
    struct comm *comm;
    if (!info || info->size < sizeof info->size || info->size > sizeof *info ||
        info->size % sizeof info->size)
        return report(CLS_ERROR_INVALID_VALUE,
                      "cls_mpi_comm_get_info: null, or a wrong size field");
    cls_status status = comm_get(handle, &comm);
    if (status)
        return status;
    pthread_mutex_lock(&comm->lock);
    snprintf(now.name, sizeof now.name, "%s", comm->name);
    snprintf(now.failure, sizeof now.failure, "%s", comm->health == WELL ? "" : comm->why);
    now.rank = comm->rank;
    now.ranks = comm->ranks;
    now.context = comm->context;
    now.memory = comm->memory;
    now.submitted = comm->channels[COLLECTIVES].calls;
    now.completed = comm->completed;
    now.hosts = comm->n_hosts;
    now.host = comm->peers[comm->rank].host;
    now.host_ranks = host_of(comm)->n;
    now.sent_bytes = atomic_load(&comm->sent_bytes);
    now.status = comm->health == WELL ? CLS_SUCCESS : CLS_ERROR_COMMAND_FAILED;
    pthread_mutex_unlock(&comm->lock);
    now.size = info->size;
    memcpy(info, &now, info->size);
    return comm_put(comm, CLS_SUCCESS);
}

cls_status cls_mpi_comm_abort(cls_mpi_comm handle, const char *message) {
    struct comm *comm;
    char why[TEXT];
    if (!message)
        return report(CLS_ERROR_INVALID_VALUE, "cls_mpi_comm_abort: message is null");
    cls_status status = comm_get(handle, &comm);
    if (status)
        return status;
    snprintf(why, sizeof why, "rank %d aborted: %.63s", comm->rank, message);
    pthread_mutex_lock(&comm->lock);
    comm_abort_locked(comm, why);
    pthread_mutex_unlock(&comm->lock);
    return comm_put(comm, CLS_SUCCESS);
}

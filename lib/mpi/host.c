/* SPDX-License-Identifier: MIT */
/*
 * Hosts: which ranks share memory, that memory, and how far each of them is with a piece.
 *
 * The segment of a host is a file without a name that its lowest rank makes and the others open through /proc; it
 * ends with the last process that has it mapped. It has, for each chunk of the ring:
 *
 *   marks     of each rank: the call whose piece it has there, and how far it is with it
 *   a result  what all ranks upload; each part of it is written by one rank
 *   chunks    of each rank: what it has downloaded
 *
 * A rank marks a piece LOADED once its chunk is downloaded, and DONE once it has written its part of the result and
 * reads no chunk of another rank any more. It waits for all ranks' LOADED before it reads or writes anything, and for
 * all DONE before it uploads. This suffices for the next piece of the same chunk: a rank is LOADED there only after its
 * upload from the result, by the order of the chunk's stream, and downloads only after all are DONE.
 */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/comm.h"

enum { PAGE = 4096 };

struct mark {
    _Alignas(64) _Atomic uint64_t state; /* 2 x round, and 1 if DONE */
    struct signature call;               /* constant while the state is of its round */
};

/* --- who shares memory --- */

/* Processes with the same number see each other's process numbers: one boot of one machine, one namespace. */
static uint64_t machine_id(void) {
    uint64_t id = UINT64_C(14695981039346656037);
    char text[64] = "";
    struct stat space = {0};
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file && !fgets(text, sizeof text, file))
        *text = '\0';
    if (file)
        fclose(file);
    if (!*text || stat("/proc/self/ns/pid", &space))
        return 0; /* not known */
    for (const char *c = text; *c; c++)
        id = (id ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return (id ^ (uint64_t)space.st_ino) | 1;
}

/* The lowest rank of those that can share memory with this one, as MPI says; -1 after an error. */
static int lowest_near(const struct comm *comm) {
    MPI_Comm near;
    int lowest = comm->rank;
    if (MPI_Comm_split_type(comm->control, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &near))
        return -1;
    if (MPI_Bcast(&lowest, 1, MPI_INT, 0, near))
        lowest = -1;
    MPI_Comm_free(&near);
    return lowest;
}

/* What ranks tell each other about themselves. */
struct card {
    int64_t machine, process;
    int64_t lowest; /* of the ranks that MPI says are near */
    int64_t file;   /* descriptor of the segment; -1: none */
};

static bool exchange_cards(struct comm *comm, const struct card *own) {
    return !MPI_Allgather(own, 4, MPI_INT64_T, comm->cards, 4, MPI_INT64_T, comm->control);
}

static bool are_near(const struct card *a, const struct card *b) {
    return a->machine && a->machine == b->machine && a->lowest == b->lowest;
}

/* The host that the rank joins: the last one near to it, if it has room. NULL: none. */
static struct host *host_near(const struct comm *comm, int rank, int most) {
    for (int h = comm->n_hosts - 1; h >= 0; h--)
        if (are_near(&comm->cards[comm->hosts[h].lowest], &comm->cards[rank]))
            return comm->hosts[h].n < most ? &comm->hosts[h] : NULL;
    return NULL;
}

/* Hosts of at most so many ranks, in the order of their lowest ranks. */
static void divide(struct comm *comm, int most) {
    int *members = comm->members;
    comm->n_hosts = 0;
    for (int r = 0; r < comm->ranks; r++) {
        struct host *host = host_near(comm, r, most);
        if (!host) {
            host = &comm->hosts[comm->n_hosts++];
            *host = (struct host){.lowest = r};
        }
        comm->peers[r].host = (int)(host - comm->hosts);
        comm->peers[r].local = host->n++;
    }
    for (int h = 0; h < comm->n_hosts; h++) {
        comm->hosts[h].ranks = members;
        members += comm->hosts[h].n;
    }
    for (int r = 0; r < comm->ranks; r++)
        comm->hosts[comm->peers[r].host].ranks[comm->peers[r].local] = r;
}

/* --- the segment --- */

static size_t whole_pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static size_t marks_bytes(const struct comm *comm) {
    return whole_pages((size_t)host_of(comm)->n * comm->chunks * sizeof(struct mark));
}

static size_t segment_bytes(const struct comm *comm) {
    return marks_bytes(comm) + ((size_t)host_of(comm)->n + 1) * comm->chunks * comm->chunk_bytes;
}

static struct mark *mark_of(const struct comm *comm, int local, unsigned slot) {
    return (struct mark *)(void *)comm->segment + (size_t)local * comm->chunks + slot;
}

char *host_results(const struct comm *comm) { return comm->segment + marks_bytes(comm); }

char *host_chunks(const struct comm *comm, int local) {
    return host_results(comm) + ((size_t)local + 1) * comm->chunks * comm->chunk_bytes;
}

static bool map_segment(struct comm *comm, int file) {
    void *memory = mmap(NULL, segment_bytes(comm), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return false;
    comm->segment = memory;
    return true;
}

#ifdef F_ADD_SEALS
/* All pages are there from the start: one that the system has no memory for later would end the process. */
static bool fill_file(int file, size_t bytes) {
    int code;
    while ((code = posix_fallocate(file, 0, (off_t)bytes)) == EINTR)
        ;
    return !code && !fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

/* A file for this host's ranks; -1: there can be none, or none is needed. */
static int make_file(struct comm *comm) {
    const struct host *host = host_of(comm);
    if (host->n == 1 || host->ranks[0] != comm->rank)
        return -1;
    const int file = memfd_create("clstream-mpi", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0 || (fill_file(file, segment_bytes(comm)) && map_segment(comm, file)))
        return file;
    close(file);
    return -1;
}
#else
static int make_file(struct comm *comm) {
    (void)comm;
    return -1;
}
#endif

/* Opens the file of the host's lowest rank. */
static bool open_segment(struct comm *comm, const struct card *maker) {
    char path[64];
    struct stat facts;
    if (comm->segment || host_of(comm)->n == 1)
        return true;
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)maker->process,
             (long long)maker->file);
    const int file = maker->file < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return false;
    const bool opened = !fstat(file, &facts) && (size_t)facts.st_size == segment_bytes(comm) &&
                        map_segment(comm, file);
    close(file);
    return opened;
}

void host_close(struct comm *comm) {
    if (comm->segment)
        munmap(comm->segment, segment_bytes(comm));
    comm->segment = NULL;
}

/* Whether all ranks of each host have its segment into `shared`; if not, none has. */
static bool share(struct comm *comm, struct card *own, bool *shared) {
    const int file = make_file(comm);
    own->file = file;
    bool well = exchange_cards(comm, own);
    int opened = well && open_segment(comm, &comm->cards[host_of(comm)->lowest]), all = 0;
    well = !MPI_Allreduce(&opened, &all, 1, MPI_INT, MPI_MIN, comm->control) && well;
    if (file >= 0)
        close(file); /* the others have opened it */
    if (!all)
        host_close(comm);
    *shared = all;
    return well;
}

static bool meet(struct comm *comm) {
    const bool limited = comm->config.host_ranks && comm->config.host_ranks < (unsigned)comm->ranks;
    struct card own = {(int64_t)machine_id(), getpid(), lowest_near(comm), -1};
    bool shared = false;
    if (!exchange_cards(comm, &own))
        return false;
    divide(comm, limited ? (int)comm->config.host_ranks : comm->ranks);
    const bool well = share(comm, &own, &shared) && own.lowest >= 0;
    if (!shared)
        divide(comm, 1);
    for (int r = 0; r < comm->ranks; r++) {
        comm->peers[r].machine = (uint64_t)comm->cards[r].machine;
        comm->peers[r].process = comm->cards[r].process;
        comm->peers[r].heard_ns = now_ns();
    }
    return well;
}

cls_status host_meet(struct comm *comm) {
    return meet(comm) ? CLS_SUCCESS
                      : report(CLS_ERROR_COMMAND_FAILED,
                               "the ranks could not tell each other where they are");
}

bool host_prepare(struct comm *comm) {
    const size_t n = (size_t)comm->ranks;
    comm->cards = calloc(n, sizeof *comm->cards);
    comm->hosts = calloc(n, sizeof *comm->hosts);
    comm->members = calloc(n, sizeof *comm->members);
    return comm->cards && comm->hosts && comm->members;
}

void host_forget(struct comm *comm) {
    host_close(comm);
    free(comm->cards);
    free(comm->hosts);
    free(comm->members);
}

/* --- pieces --- */

void host_mark(struct comm *comm, const struct exchange_piece *piece, enum piece_state stage) {
    if (!comm->segment)
        return;
    struct mark *mark = mark_of(comm, comm->peers[comm->rank].local, piece->slot);
    if (stage == LOADED)
        mark->call = piece->job->call;
    atomic_store_explicit(&mark->state, 2 * piece->round + (stage == DONE), memory_order_release);
}

/* Whether the calls are so alike that messages of theirs would meet. */
static bool could_meet(const struct signature *a, const struct signature *b) {
    return a->number == b->number && a->action == b->action && a->dtype == b->dtype;
}

/* A rank that is DONE may have gone on to the next round; one that is LOADED waits for this rank. */
static bool has_marked(struct comm *comm, const struct exchange_piece *piece,
                       enum piece_state stage, int local) {
    const struct mark *mark = mark_of(comm, local, piece->slot);
    const uint64_t state = atomic_load_explicit(&mark->state, memory_order_acquire);
    if (stage == DONE)
        return state > 2 * piece->round;
    if (state < 2 * piece->round || !could_meet(&mark->call, &piece->job->call))
        return false;
    control_match(comm, host_of(comm)->ranks[local], &mark->call, &piece->job->call);
    return true;
}

bool host_has_marked(struct comm *comm, const struct exchange_piece *piece,
                     enum piece_state stage) {
    const int n = host_of(comm)->n;
    for (int local = 0; local < n; local++)
        if (local != comm->peers[comm->rank].local && !has_marked(comm, piece, stage, local))
            return false;
    return comm->health != FAILED;
}

/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_export.h
 * What processes get of each other in clstream/cuda_runtime.h: the inside of the handles of cuda_ipc.h.
 *
 * A process keeps a ticket of each thing that has a handle, in a file of tickets. A handle names the process, that file, a
 * ticket and its random key.
 */
#ifndef CLSTREAM_CUDA_EXPORT_H
#define CLSTREAM_CUDA_EXPORT_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include <clstream/cuda_error.h>
#include <clstream/share.h>

CLS_BEGIN_DECLS

/** @cond */
#if defined(__linux__) && defined(SYS_memfd_create)
#define CLS_CUDA_HAS_IPC 1
#ifndef __cplusplus
long syscall(long number, ...); /* which strict C hides */
#endif
#else
#define CLS_CUDA_HAS_IPC 0
#endif

#ifdef O_CLOEXEC
#define CLS_CUDA_CLOEXEC O_CLOEXEC
#else
#define CLS_CUDA_CLOEXEC 0 /* which strict C hides; these descriptors are closed at once */
#endif

/* Kinds of handles. */
#define CLS_CUDA_MEMORY_HANDLE 0x434c5331u
#define CLS_CUDA_EVENT_HANDLE 0x434c5332u

/* What a handle holds. */
struct cls_cuda_ipc_handle {
    uint32_t kind;
    int32_t process;
    uint64_t
        started; /* clock ticks since the system's start: a later process of that number has another */
    int32_t tickets; /* descriptor of the file */
    uint32_t index;  /* of the ticket */
    unsigned char key[16];
};

/* What a process keeps of each export in its file of tickets, one after the other. A key of zeros: it is gone. */
struct cls_cuda_ticket {
    unsigned char key[16];
    int64_t fd;
    cls_buffer_part part; /* of memory */
};

/* Makes the handles of freed memory or a destroyed event invalid, the key before the descriptor: cls_cuda_take_export reads them in
 * the other order. */
static inline void cls_cuda_forget_export(const void *object) {
    static const char zeros[16] = {0};
    struct cls_cuda_export **place, *found;
    if (!__atomic_load_n(&cls_cuda_state.exports, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock(&cls_cuda_export_lock);
    for (place = &cls_cuda_state.exports; *place && (*place)->object != object;)
        place = &(*place)->next;
    found = *place;
    if (found) {
        off_t at = CLS_CUDA_CAST(off_t, found->index * sizeof(struct cls_cuda_ticket));
        if (lseek(cls_cuda_state.tickets - 1, at, SEEK_SET) != at ||
            write(cls_cuda_state.tickets - 1, zeros, sizeof zeros) < 0)
            cls_set_last_error("a handle for other processes could not be taken back");
        close(found->fd);
        __atomic_store_n(place, found->next, __ATOMIC_RELEASE);
        free(found);
    }
    pthread_mutex_unlock(&cls_cuda_export_lock);
}

#if CLS_CUDA_HAS_IPC

/* Reads or writes a ticket. */
static inline int cls_cuda_read_ticket(int fd, uint32_t index, struct cls_cuda_ticket *ticket) {
    off_t at = CLS_CUDA_CAST(off_t, index * sizeof *ticket);
    return lseek(fd, at, SEEK_SET) == at &&
           read(fd, ticket, sizeof *ticket) == CLS_CUDA_CAST(ssize_t, sizeof *ticket);
}

static inline int cls_cuda_write_ticket(int fd, uint32_t index,
                                        const struct cls_cuda_ticket *ticket) {
    off_t at = CLS_CUDA_CAST(off_t, index * sizeof *ticket);
    return lseek(fd, at, SEEK_SET) == at &&
           write(fd, ticket, sizeof *ticket) == CLS_CUDA_CAST(ssize_t, sizeof *ticket);
}

/* When a process was started; 0: there is none. It is the 20th number behind the name, which may hold anything. */
static inline uint64_t cls_cuda_started(int process) {
    char path[40], text[1024], *at;
    unsigned long long started = 0;
    ssize_t got;
    int fd, i;
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    fd = open(path, O_RDONLY | CLS_CUDA_CLOEXEC);
    if (fd < 0)
        return 0;
    got = read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = 0;
    at = strrchr(text, ')');
    for (i = 0; at && i < 20; i++)
        at = strchr(at + 1, ' ');
    if (at && sscanf(at, "%llu", &started) != 1)
        started = 0;
    return started;
}

static inline int cls_cuda_random(unsigned char *key, size_t bytes) {
    int fd = open("/dev/urandom", O_RDONLY | CLS_CUDA_CLOEXEC), right;
    if (fd < 0)
        return 0;
    right = read(fd, key, bytes) == CLS_CUDA_CAST(ssize_t, bytes);
    close(fd);
    return right;
}

/* Makes a ticket for an object, whose descriptor it takes over on success. The exports' lock is held. */
static inline cls_status cls_cuda_make_export(const void *object, struct cls_cuda_ticket *ticket,
                                              struct cls_cuda_export **out) {
    struct cls_cuda_export *made = CLS_CUDA_CAST(struct cls_cuda_export *, calloc(1, sizeof *made));
    if (!made)
        return CLS_ERROR_OUT_OF_MEMORY;
    if (cls_cuda_state.tickets == 0) {
        int tickets =
            CLS_CUDA_CAST(int, syscall(SYS_memfd_create, "clstream-ipc", 1u /* CLOEXEC */));
        cls_cuda_state.tickets = tickets < 0 ? 0 : tickets + 1;
    }
    if (cls_cuda_state.tickets == 0 || !cls_cuda_random(ticket->key, sizeof ticket->key) ||
        !cls_cuda_write_ticket(cls_cuda_state.tickets - 1, cls_cuda_state.n_tickets, ticket)) {
        free(made);
        cls_set_last_error("the system gave no file for a handle");
        return CLS_ERROR_IO;
    }
    made->object = object;
    made->fd = CLS_CUDA_CAST(int, ticket->fd);
    made->index = cls_cuda_state.n_tickets++;
    memcpy(made->key, ticket->key, sizeof ticket->key);
    made->next = cls_cuda_state.exports;
    __atomic_store_n(&cls_cuda_state.exports, made, __ATOMIC_RELEASE);
    *out = made;
    return CLS_SUCCESS;
}

/* Writes the handle of an object into the 64 bytes of `handle`. Takes over the descriptor of the ticket in every case: an
 * object that has a handle already keeps that one. */
static inline cls_status cls_cuda_export(uint32_t kind, const void *object,
                                         struct cls_cuda_ticket *ticket, char *handle) {
    struct cls_cuda_ipc_handle words;
    struct cls_cuda_export *known, *found;
    cls_status status = CLS_SUCCESS;
    memset(&words, 0, sizeof words);
    words.kind = kind;
    words.process = CLS_CUDA_CAST(int32_t, getpid());
    words.started = cls_cuda_started(words.process);
    pthread_mutex_lock(&cls_cuda_export_lock);
    for (known = cls_cuda_state.exports; known && known->object != object;)
        known = known->next;
    found = known;
    if (!known)
        status = cls_cuda_make_export(object, ticket, &found);
    if (status == CLS_SUCCESS) {
        words.tickets = cls_cuda_state.tickets - 1;
        words.index = found->index;
        memcpy(words.key, found->key, sizeof words.key);
        memset(handle, 0, 64);
        memcpy(handle, &words, sizeof words);
    }
    pthread_mutex_unlock(&cls_cuda_export_lock);
    if (known || status != CLS_SUCCESS)
        close(CLS_CUDA_CAST(int, ticket->fd));
    return status;
}

/* A descriptor of this process for one of another, or its own; -1 with errno. A file is opened by its path, with a place of
 * its own; a device opened so would be a new one, with none of the memory. */
static inline int cls_cuda_take_descriptor(int process, int fd) {
    char path[48];
    struct stat facts;
    int taken = -1, other = -1, error;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", process, fd);
    if (stat(path, &facts) != 0)
        return -1;
    if (S_ISREG(facts.st_mode))
        return open(path, O_RDWR | CLS_CUDA_CLOEXEC);
    if (process == CLS_CUDA_CAST(int, getpid()))
        return dup(fd);
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
    other = CLS_CUDA_CAST(int, syscall(SYS_pidfd_open, process, 0));
    if (other < 0)
        return -1;
    taken = CLS_CUDA_CAST(int, syscall(SYS_pidfd_getfd, other, fd, 0));
    error = errno;
    close(other);
    errno = error;
#else
    (void)other;
    (void)error;
    errno = ENOSYS;
#endif
    return taken;
}

static inline cudaError_t cls_cuda_not_taken(void) {
    if (errno == EPERM || errno == EACCES || errno == ENOSYS)
        return cls_cuda_refuse(
            cudaErrorNotSupported,
            "the system does not let this process have descriptors of the other one");
    if (errno == EMFILE || errno == ENFILE)
        return cls_cuda_refuse(cudaErrorMemoryAllocation, "no file descriptor is left");
    return cls_cuda_refuse(cudaErrorInvalidResourceHandle,
                           "what this handle names is gone, or its process");
}

/* Gets a descriptor of what the words of a handle name, and its ticket. The ticket is read again after the descriptor is
 * there: the other process takes the key back before it closes the descriptor. */
static inline cudaError_t cls_cuda_take_named(const struct cls_cuda_ipc_handle *words, int *fd,
                                              struct cls_cuda_ticket *out) {
    struct cls_cuda_ticket ticket;
    int taken = -1, valid, tickets;
    if (cls_cuda_started(words->process) != words->started)
        return cls_cuda_refuse(cudaErrorInvalidResourceHandle,
                               "the process of this handle has ended, or is not to be seen here");
    tickets = cls_cuda_take_descriptor(words->process, words->tickets);
    if (tickets < 0)
        return cls_cuda_not_taken();
    valid = cls_cuda_read_ticket(tickets, words->index, &ticket) &&
            memcmp(ticket.key, words->key, sizeof ticket.key) == 0;
    if (valid) {
        taken = cls_cuda_take_descriptor(words->process, CLS_CUDA_CAST(int, ticket.fd));
        if (taken < 0) {
            cudaError_t error = cls_cuda_not_taken();
            close(tickets);
            return error;
        }
        *out = ticket;
        valid = cls_cuda_read_ticket(tickets, words->index, &ticket) &&
                memcmp(ticket.key, words->key, sizeof ticket.key) == 0;
    }
    close(tickets);
    if (!valid) {
        if (taken >= 0)
            close(taken);
        return cls_cuda_refuse(cudaErrorInvalidResourceHandle,
                               "what this handle names was freed or destroyed");
    }
    *fd = taken;
    return cudaSuccess;
}

/* The same of the 64 bytes of a handle, which is to be of that kind. */
static inline cudaError_t cls_cuda_take_export(uint32_t kind, const char *handle, int *fd,
                                               struct cls_cuda_ticket *ticket) {
    struct cls_cuda_ipc_handle words;
    memcpy(&words, handle, sizeof words);
    if (words.kind != kind)
        return cls_cuda_refuse(cudaErrorInvalidResourceHandle, "this is no handle of that kind");
    return cls_cuda_take_named(&words, fd, ticket);
}

#else

static inline cls_status cls_cuda_export(uint32_t kind, const void *object,
                                         struct cls_cuda_ticket *ticket, char *handle) {
    (void)kind;
    (void)object;
    (void)handle;
    close(CLS_CUDA_CAST(int, ticket->fd));
    cls_set_last_error("handles for other processes are there on Linux only");
    return CLS_ERROR_UNSUPPORTED;
}

static inline cudaError_t cls_cuda_take_export(uint32_t kind, const char *handle, int *fd,
                                               struct cls_cuda_ticket *ticket) {
    (void)kind;
    (void)handle;
    (void)fd;
    (void)ticket;
    return cls_cuda_refuse(cudaErrorNotSupported,
                           "handles for other processes are there on Linux only");
}

#endif
/** @endcond */

CLS_END_DECLS

#endif

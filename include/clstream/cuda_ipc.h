/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_ipc.h
 * Memory of other processes in clstream/cuda_runtime.h: the handles of 64 bytes that CUDA's programs pass in shared memory,
 * through a pipe or in a message.
 *
 * Only shareable memory (share.h) has a handle. cudaMalloc gives such memory to programs that are compiled with
 * `-DCLS_CUDA_SHAREABLE`, where the device has it: each allocation then is whole pages (2 MiB for NVIDIA's) and keeps a file
 * descriptor open. A pointer that cls_buffer_get_pointer tells of shareable memory is as good.
 *
 * A handle names a process, one of its descriptors and a random key. The process that opens it must see the other one under
 * the same number (one PID namespace), and be allowed to open its files, as processes of one user are (`/proc/PID/fd`).
 * Memory of CPUs takes no more. That of NVIDIA's devices takes pidfd_getfd (Linux 5.6), which many systems allow only to a
 * parent or root. The mechanism is Linux's: elsewhere the calls are cudaErrorNotSupported.
 *
 * A handle is valid until its memory is freed or its process ends; after either it is cudaErrorInvalidResourceHandle. Opened
 * memory stays until cudaIpcCloseMemHandle, also when the other process is gone. No event reaches another process:
 * synchronize before you tell it to read. Events have no handles.
 *
 * Every function may be called from any thread, and returns the device's sticky error if it has one (cuda_error.h).
 */
#ifndef CLSTREAM_CUDA_IPC_H
#define CLSTREAM_CUDA_IPC_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include <clstream/cuda_memory.h>
#include <clstream/share.h>

CLS_BEGIN_DECLS

/** A handle for memory, which other processes open. */
typedef struct cudaIpcMemHandle_st {
    char reserved[64]; /**< the header's */
} cudaIpcMemHandle_t;

#define cudaIpcMemLazyEnablePeerAccess 0x01 /**< taken, without effect */

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

#define CLS_CUDA_TICKET_MAGIC 0x434c5331u

/* What a handle holds. */
struct cls_cuda_ipc_handle {
    uint32_t magic;
    int32_t process;
    uint64_t
        started; /* clock ticks since the system's start: a later process of that number has another */
    int32_t tickets; /* descriptor of the file */
    uint32_t index;  /* of the ticket */
    unsigned char key[16];
};

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

/* Makes a ticket for a buffer. The exports' lock is held. */
static inline cls_status cls_cuda_make_export(cls_buffer buffer, struct cls_cuda_export **out) {
    struct cls_cuda_export *made = CLS_CUDA_CAST(struct cls_cuda_export *, calloc(1, sizeof *made));
    struct cls_cuda_ticket ticket;
    cls_status status;
    int fd = -1;
    memset(&ticket, 0, sizeof ticket);
    status = made ? cls_buffer_export_part(buffer, &fd, &ticket.part) : CLS_ERROR_OUT_OF_MEMORY;
    if (status == CLS_SUCCESS && cls_cuda_state.tickets == 0) {
        int tickets =
            CLS_CUDA_CAST(int, syscall(SYS_memfd_create, "clstream-ipc", 1u /* CLOEXEC */));
        cls_cuda_state.tickets = tickets < 0 ? 0 : tickets + 1;
    }
    ticket.fd = fd;
    if (status == CLS_SUCCESS &&
        (cls_cuda_state.tickets == 0 || !cls_cuda_random(ticket.key, sizeof ticket.key) ||
         !cls_cuda_write_ticket(cls_cuda_state.tickets - 1, cls_cuda_state.n_tickets, &ticket))) {
        cls_set_last_error("cudaIpcGetMemHandle: the system gave no file for the handle");
        status = CLS_ERROR_IO;
    }
    if (status != CLS_SUCCESS) {
        if (fd >= 0)
            close(fd);
        free(made);
        return status;
    }
    made->buffer = buffer;
    made->fd = fd;
    made->index = cls_cuda_state.n_tickets++;
    memcpy(made->key, ticket.key, sizeof ticket.key);
    made->next = cls_cuda_state.exports;
    __atomic_store_n(&cls_cuda_state.exports, made, __ATOMIC_RELEASE);
    *out = made;
    return CLS_SUCCESS;
}

static inline cls_status cls_cuda_export(cls_buffer buffer, cudaIpcMemHandle_t *handle) {
    struct cls_cuda_ipc_handle words;
    struct cls_cuda_export *found;
    cls_status status = CLS_SUCCESS;
    memset(&words, 0, sizeof words);
    words.magic = CLS_CUDA_TICKET_MAGIC;
    words.process = CLS_CUDA_CAST(int32_t, getpid());
    words.started = cls_cuda_started(words.process);
    pthread_mutex_lock(&cls_cuda_export_lock);
    for (found = cls_cuda_state.exports; found && found->buffer != buffer;)
        found = found->next;
    if (!found)
        status = cls_cuda_make_export(buffer, &found);
    if (status == CLS_SUCCESS) {
        words.tickets = cls_cuda_state.tickets - 1;
        words.index = found->index;
        memcpy(words.key, found->key, sizeof words.key);
        memset(handle, 0, sizeof *handle);
        memcpy(handle->reserved, &words, sizeof words);
    }
    pthread_mutex_unlock(&cls_cuda_export_lock);
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
                           "the memory of this handle is gone, or its process");
}

/* Gets a descriptor of the memory of a handle. The ticket is read again after the descriptor is there: the other process
 * takes the key back before it closes the descriptor. */
static inline cudaError_t cls_cuda_take_memory(const struct cls_cuda_ipc_handle *words, int *fd,
                                               cls_buffer_part *part) {
    struct cls_cuda_ticket ticket;
    int taken = -1, valid, tickets;
    if (words->magic != CLS_CUDA_TICKET_MAGIC)
        return cls_cuda_refuse(cudaErrorInvalidResourceHandle, "this is no handle of memory");
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
        *part = ticket.part;
        valid = cls_cuda_read_ticket(tickets, words->index, &ticket) &&
                memcmp(ticket.key, words->key, sizeof ticket.key) == 0;
    }
    close(tickets);
    if (!valid) {
        if (taken >= 0)
            close(taken);
        return cls_cuda_refuse(cudaErrorInvalidResourceHandle,
                               "the memory of this handle was freed");
    }
    *fd = taken;
    return cudaSuccess;
}

static inline cudaError_t cls_cuda_import(cls_context context, const cudaIpcMemHandle_t *handle,
                                          void **out) {
    struct cls_cuda_ipc_handle words;
    cls_buffer_part part = {0, 0, 0};
    cls_buffer buffer;
    cls_status status;
    cudaError_t error;
    int fd = -1;
    memcpy(&words, handle->reserved, sizeof words);
    error = cls_cuda_take_memory(&words, &fd, &part);
    if (error != cudaSuccess)
        return error;
    status = cls_buffer_import_part(context, fd, &part, &buffer);
    close(fd);
    if (status == CLS_SUCCESS && (status = cls_buffer_get_pointer(buffer, out)) != CLS_SUCCESS)
        cls_buffer_destroy(buffer);
    return cls_cuda_result(status);
}

#else

static inline cls_status cls_cuda_export(cls_buffer buffer, cudaIpcMemHandle_t *handle) {
    (void)buffer;
    (void)handle;
    cls_set_last_error("handles of memory for other processes are there on Linux only");
    return CLS_ERROR_UNSUPPORTED;
}

static inline cudaError_t cls_cuda_import(cls_context context, const cudaIpcMemHandle_t *handle,
                                          void **out) {
    (void)context;
    (void)handle;
    (void)out;
    return cls_cuda_refuse(cudaErrorNotSupported,
                           "handles of memory for other processes are there on Linux only");
}

#endif
/** @endcond */

/**
 * Gets a handle of the allocation that has a pointer's byte. Memory that is not shareable is cudaErrorNotSupported: see
 * `-DCLS_CUDA_SHAREABLE` above.
 */
static inline cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer) {
    cls_buffer_info info = CLS_BUFFER_INFO_INIT;
    cls_buffer buffer;
    cls_context context;
    cls_status status;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!handle || !pointer)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaIpcGetMemHandle: a pointer is null");
    status = cls_pointer_get_buffer(pointer, &buffer, NULL);
    if (status == CLS_SUCCESS)
        status = cls_buffer_get_info(buffer, &info);
    if (status == CLS_SUCCESS && (!info.shareable || info.kind != CLS_BUFFER_SHAREABLE))
        return cls_cuda_refuse(cudaErrorNotSupported,
                               "this memory is not shareable: define CLS_CUDA_SHAREABLE, and see "
                               "cls_context_can_share for the device");
    if (status == CLS_SUCCESS)
        status = cls_cuda_export(buffer, handle);
    return cls_cuda_result(status);
}

/** Opens the memory of a handle on the current device. `flags`: cudaIpcMemLazyEnablePeerAccess. */
static inline cudaError_t cudaIpcOpenMemHandle(void **out, cudaIpcMemHandle_t handle,
                                               unsigned flags) {
    cls_context context;
    cudaError_t error = cls_cuda_enter(&context);
    if (error != cudaSuccess)
        return error;
    if (!out || flags & ~1u)
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaIpcOpenMemHandle: null, or flags");
    return cls_cuda_import(context, &handle, out);
}

/** Closes what cudaIpcOpenMemHandle has opened, by the pointer that it gave. Submitted work keeps it. */
static inline cudaError_t cudaIpcCloseMemHandle(void *pointer) {
    cls_buffer_info info = CLS_BUFFER_INFO_INIT;
    cls_buffer buffer;
    size_t offset = 0;
    cls_status status = cls_pointer_get_buffer(pointer, &buffer, &offset);
    if (status == CLS_SUCCESS)
        status = cls_buffer_get_info(buffer, &info);
    if (status == CLS_SUCCESS && (info.kind != CLS_BUFFER_OPENED || offset != 0))
        return cls_cuda_refuse(cudaErrorInvalidValue, "cudaIpcCloseMemHandle: it was not opened");
    if (status == CLS_SUCCESS)
        status = cls_buffer_destroy(buffer);
    return cls_cuda_result(status);
}

CLS_END_DECLS

#endif

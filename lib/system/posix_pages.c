/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_FIXED_NOREPLACE, memfd_create, process_vm_readv */
#include "system/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#if !defined(MAP_FIXED_NOREPLACE)
#define MAP_FIXED_NOREPLACE 0
#endif

size_t pages_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* --- addresses without memory --- */

size_t pages_reserve_unit(void) { return pages_bytes(); }

/* Where addresses are limited the rest of the process needs them. */
uint64_t pages_reserve_usual(void) {
    struct rlimit limit;
    const bool few =
        sizeof(void *) < 8 || getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur != RLIM_INFINITY;
    return few ? (uint64_t)16 << 20 : (uint64_t)1 << 40;
}

/* A system that does not know the last flag takes the address for a hint. */
void *pages_reserve(void *start, size_t bytes) {
    void *got = mmap(
        start, bytes, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (start ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    if (got == MAP_FAILED)
        return NULL;
    if (start && got != start) {
        munmap(got, bytes);
        return NULL;
    }
    return got;
}

void pages_unreserve(void *start, size_t bytes) { munmap(start, bytes); }

/* --- what is mapped --- */

/* A read that the system does for the process, which fails where a load would end it. */
bool pages_can_read(uintptr_t address) {
    char byte;
    const struct iovec to = {&byte, 1}, from = {(void *)address, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

bool pages_are_mapped(uintptr_t start, size_t bytes) {
    const uintptr_t first = start & ~((uintptr_t)pages_bytes() - 1);
    return !msync((void *)first, start + bytes - first, MS_ASYNC);
}

struct mapped {
    uintptr_t start, end;
    char rights[5];
};

/* False at the end. */
static bool read_mapped(FILE *list, struct mapped *out) {
    char line[512];
    bool whole = true, is_first = true;
    do {
        if (!fgets(line, sizeof line, list))
            return false;
        if (is_first &&
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &out->start, &out->end, out->rights) != 3)
            return false;
        is_first = false;
        whole = strchr(line, '\n') != NULL;
    } while (!whole);
    return true;
}

bool pages_visit(uintptr_t start,
                 bool (*visit)(void *arg, uintptr_t start, uintptr_t end, bool hidden), void *arg) {
    FILE *list = fopen("/proc/self/maps", "re");
    struct mapped mapped;
    bool go_on = true;
    if (!list)
        return false;
    while (go_on && read_mapped(list, &mapped))
        if (mapped.end > start)
            go_on = visit(arg, mapped.start, mapped.end, !strncmp(mapped.rights, "---", 3));
    fclose(list);
    return true;
}

/* --- memory with a descriptor --- */

static int map_shared(int descriptor, size_t bytes, void **pages, const char **call) {
    void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    *call = "mmap";
    if (got == MAP_FAILED)
        return errno;
    *pages = got;
    return 0;
}

#ifdef F_ADD_SEALS
/* All pages are there from the start: one that the system has no memory for later would end the process (SIGBUS). Nor
 * can a process that has the descriptor take some away. */
static int fill_file(int descriptor, size_t bytes, const char **call) {
    int code;
    *call = "posix_fallocate";
    while ((code = posix_fallocate(descriptor, 0, (off_t)bytes)) == EINTR)
        ;
    if (code)
        return code;
    *call = "F_ADD_SEALS";
    return fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ? errno
                                                                                         : 0;
}

int pages_share(size_t bytes, int *descriptor, void **pages, const char **call) {
    *call = "memfd_create";
    const int file = memfd_create("clstream", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return errno;
    int code = fill_file(file, bytes, call);
    if (!code)
        code = map_shared(file, bytes, pages, call);
    if (code)
        close(file);
    else
        *descriptor = file;
    return code;
}

/* Only a file whose size is sealed is safe to map. One without pages, or that is not open or not unsealed for writing, is not
 * of pages_share. */
int pages_open(int descriptor, int *copy, void **pages, size_t *bytes, const char **call) {
    struct stat facts;
    const int seals = fcntl(descriptor, F_GET_SEALS);
    *call = "F_GET_SEALS";
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(descriptor, &facts))
        return EINVAL;
    *call = "a file descriptor more";
    if ((*copy = descriptor_copy(descriptor)) < 0)
        return errno;
    *bytes = (size_t)facts.st_size;
    const int code = map_shared(descriptor, *bytes, pages, call);
    if (code)
        close(*copy);
    return code;
}
#else
int pages_share(size_t bytes, int *descriptor, void **pages, const char **call) {
    (void)bytes, (void)descriptor, (void)pages;
    *call = "memfd_create";
    return ENOSYS;
}

int pages_open(int descriptor, int *copy, void **pages, size_t *bytes, const char **call) {
    (void)descriptor, (void)copy, (void)pages, (void)bytes;
    *call = "memfd_create";
    return ENOSYS;
}
#endif

void pages_unshare(int descriptor, void *pages, size_t bytes) {
    munmap(pages, bytes);
    close(descriptor);
}

int descriptor_copy(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 0); }

void descriptor_close(int descriptor) { close(descriptor); }

void descriptor_keep_private(int descriptor) { fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

/* Only memory is opened: another file may have effects, as a terminal has. */
int descriptor_reopen(int descriptor) {
    char path[40];
#ifdef F_GET_SEALS
    if (fcntl(descriptor, F_GET_SEALS) < 0)
        return -1;
#endif
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    return open(path, O_RDWR | O_CLOEXEC);
}

static struct flock lock_of(short type, uint64_t first, uint64_t last) {
    return (struct flock){.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)first,
                          .l_len = (off_t)(last - first + 1)};
}

/* Locks of an open file, which other descriptors of the process neither hold nor give back. */
static int set_lock(int descriptor, short type, uint64_t number) {
#ifdef F_OFD_SETLK
    struct flock lock = lock_of(type, number, number);
    return fcntl(descriptor, F_OFD_SETLK, &lock) < 0 ? errno : 0;
#else
    (void)descriptor, (void)type, (void)number;
    return ENOSYS;
#endif
}

int descriptor_lock(int descriptor, uint64_t number) {
    return set_lock(descriptor, F_RDLCK, number);
}

void descriptor_unlock(int descriptor, uint64_t number) { set_lock(descriptor, F_UNLCK, number); }

/* A lock of the process conflicts with those of all open files, this one too. */
bool descriptor_is_locked(int descriptor, uint64_t first, uint64_t last) {
    struct flock lock = lock_of(F_WRLCK, first, last);
    return fcntl(descriptor, F_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

bool descriptor_is_same_file(int descriptor, int other) {
    struct stat a, b;
    return !fstat(descriptor, &a) && !fstat(other, &b) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* A descriptor that came back to the process is the same open file. Where the system does not say so, it counts as
 * another one. */
bool descriptor_is_same(int descriptor, int other) {
    enum { KCMP_FILE = 0 };
#ifdef SYS_kcmp
    const long self = getpid();
    return !syscall(SYS_kcmp, self, self, KCMP_FILE, (long)descriptor, (long)other);
#else
    (void)descriptor, (void)other;
    return false;
#endif
}

/* --- aligned memory --- */

void *aligned_memory(size_t alignment, size_t bytes) { return aligned_alloc(alignment, bytes); }

void aligned_memory_free(void *memory) { free(memory); }

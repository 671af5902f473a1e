/* SPDX-License-Identifier: MIT */
#include "driver/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/setting.h"

/* No entry is larger: a larger file was not written by this cache. */
enum { MAX_FILE = 64 << 20 };

enum keeps { KEEPS_NOTHING, KEEPS_PROBES, KEEPS_CHOSEN, KEEPS_ALL };

static enum keeps what_is_kept(void) {
    static const struct setting setting = {
        "CLSTREAM_CACHE",
        {{"off", KEEPS_NOTHING}, {"probes", KEEPS_PROBES}, {"all", KEEPS_ALL}},
        KEEPS_CHOSEN};
    static atomic_bool told;
    return (enum keeps)setting_now(&setting, &told);
}

bool cache_keeps_programs(bool worthwhile) {
    char folder[CACHE_PATH];
    return cache_folder(folder) && what_is_kept() >= (worthwhile ? KEEPS_CHOSEN : KEEPS_ALL);
}

static bool join(char path[CACHE_PATH], const char *a, const char *b, const char *c) {
    int length = snprintf(path, CACHE_PATH, "%s%s%s", a, b, c);
    return length > 0 && length < CACHE_PATH;
}

bool cache_folder(char path[CACHE_PATH]) {
    static const struct {
        const char *variable;
        const char *rest;
    } places[] = {
        {"CLSTREAM_CACHE_DIR", ""},
        {"XDG_CACHE_HOME", "/clstream"},
        {"HOME", "/.cache/clstream"},
    };
    if (what_is_kept() == KEEPS_NOTHING)
        return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *folder, *base = setting_path(places[i].variable, &folder);
        if (base)
            return join(path, folder, base, places[i].rest);
    }
    return false;
}

bool cache_path(enum cache_kind kind, struct cache_bytes key, char path[CACHE_PATH]) {
    char folder[CACHE_PATH];
    char name[64];
    if (!cache_folder(folder))
        return false;
    XXH128_hash_t hash = XXH3_128bits_withSeed(key.bytes, key.size, (XXH64_hash_t)kind);
    snprintf(name, sizeof name, "/%016" PRIx64 "%016" PRIx64 ".clsb", (uint64_t)hash.high64,
             (uint64_t)hash.low64);
    return join(path, folder, name, "");
}

/* Reading */

/* Only the user's own files, or the system's, which nobody else may write, go to the driver. */
static bool acceptable(const struct stat *info) {
    return S_ISREG(info->st_mode) && !(info->st_mode & (S_IWGRP | S_IWOTH)) &&
           (info->st_uid == geteuid() || info->st_uid == 0) && info->st_size > 0 &&
           info->st_size <= MAX_FILE;
}

static bool read_all(int file, char *bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(file, bytes + done, size - done);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static void *read_file(int file, size_t *size) {
    struct stat info;
    if (fstat(file, &info) != 0 || !acceptable(&info))
        return NULL;
    char *bytes = malloc((size_t)info.st_size);
    if (bytes && !read_all(file, bytes, (size_t)info.st_size)) {
        free(bytes);
        bytes = NULL;
    }
    *size = (size_t)info.st_size;
    return bytes;
}

bool cache_load(enum cache_kind kind, struct cache_bytes key, struct cache_bytes *payload,
                void **owned) {
    char path[CACHE_PATH];
    if (!cache_path(kind, key, path))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return false;
    struct cache_bytes blob = {NULL, 0};
    void *bytes = read_file(file, &blob.size);
    blob.bytes = bytes;
    bool found = bytes && cache_blob_parse(blob, kind, key, payload);
    if (found)
        futimens(file, NULL); /* the time of last use, by which entries are trimmed */
    close(file);
    if (found)
        *owned = bytes;
    else
        free(bytes);
    return found;
}

/* Writing */

bool cache_make_folders(char *path) {
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        int result = mkdir(path, 0700);
        *at = '/';
        if (result != 0 && errno != EEXIST && errno != EACCES && errno != EROFS)
            return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static bool write_all(int file, const char *bytes, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t put = write(file, bytes + done, size - done);
        if (put <= 0 && !(put < 0 && errno == EINTR))
            return false;
        done += put > 0 ? (size_t)put : 0;
    }
    return true;
}

/* As write_all. Past the limit on a file's size (RLIMIT_FSIZE) a write also sends its thread a signal, which would
 * end the process for want of a file that nobody needs. */
static bool write_without_signal(int file, const char *bytes, size_t size) {
    const struct timespec now = {0};
    sigset_t past_limit, before, pending;
    sigemptyset(&past_limit);
    sigaddset(&past_limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &past_limit, &before);
    sigpending(&pending);
    const bool whole = write_all(file, bytes, size);
    if (!whole && !sigismember(&pending, SIGXFSZ))
        sigtimedwait(&past_limit, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return whole;
}

/* A folder that the user named is expected to keep something. */
static void report_useless(const char *folder, int code) {
    static atomic_bool told;
    char words[128];
    const char *unused;
    if (!setting_path("CLSTREAM_CACHE_DIR", &unused) || atomic_exchange(&told, true))
        return;
    if (strerror_r(code, words, sizeof words))
        snprintf(words, sizeof words, "error %d", code);
    fprintf(stderr, "clstream: CLSTREAM_CACHE_DIR: nothing is kept in %s: %s\n", folder, words);
}

/* A rename is atomic: readers see the old file, the new one or none, but never a part. No fsync:
 * what a power cut leaves does not pass the checksum. */
static void replace(const char *folder, const char *path, const void *bytes, size_t size) {
    char aside[CACHE_PATH];
    char name[64];
    snprintf(name, sizeof name, "/tmp-%ld-%" PRIu64 ".clsb-new", (long)getpid(), clock_now_ns());
    if (!join(aside, folder, name, ""))
        return;
    int file = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) {
        report_useless(folder, errno);
        return;
    }
    bool whole = write_without_signal(file, bytes, size);
    if (close(file) != 0 || !whole || rename(aside, path) != 0)
        unlink(aside);
}

static bool mark_path(const char *entry, char path[CACHE_PATH]) {
    return join(path, entry, "-loading", "");
}

/* Trims the folder, so that a mark goes once it is old, also where nothing else is stored any more. */
static bool is_marked(const char *folder, const char *mark) {
    if (access(mark, F_OK) != 0)
        return false;
    cache_trim(folder, CACHE_LIMIT_BYTES);
    return access(mark, F_OK) == 0;
}

void cache_store(enum cache_kind kind, struct cache_bytes key, struct cache_bytes payload) {
    char folder[CACHE_PATH];
    char path[CACHE_PATH];
    char mark[CACHE_PATH];
    if (!cache_folder(folder) || !cache_path(kind, key, path) || !mark_path(path, mark) ||
        is_marked(folder, mark))
        return;
    if (!cache_make_folders(folder)) {
        report_useless(folder, errno);
        return;
    }
    size_t size;
    void *blob = cache_blob_pack(kind, key, payload, &size);
    if (blob && size <= MAX_FILE) {
        replace(folder, path, blob, size);
        cache_trim(folder, CACHE_LIMIT_BYTES);
    }
    free(blob);
}

/* Crash marks */

bool cache_lock_file(int file) {
    struct flock lock = {0};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return fcntl(file, F_SETLK, &lock) == 0;
}

/* A mark that can be locked and is still in its place has lost its owner; one that cannot be locked
 * belongs to a process that loads the same entry at this moment, and does no harm. */
static bool owner_died(const char *path) {
    struct stat info;
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return false;
    bool died = cache_lock_file(file) && fstat(file, &info) == 0 && info.st_nlink > 0;
    close(file);
    return died;
}

bool cache_mark_begin(enum cache_kind kind, struct cache_bytes key, struct cache_mark *mark) {
    char entry[CACHE_PATH];
    mark->file = -1;
    if (!cache_path(kind, key, entry) || !mark_path(entry, mark->path))
        return true;
    mark->file = open(mark->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (mark->file >= 0) {
        cache_lock_file(mark->file);
        return true;
    }
    if (errno != EEXIST || !owner_died(mark->path))
        return true;
    unlink(entry);
    return false;
}

void cache_mark_end(struct cache_mark *mark) {
    if (mark->file < 0)
        return;
    unlink(mark->path);
    close(mark->file);
    mark->file = -1;
}

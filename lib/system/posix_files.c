/* SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700 /* realpath */
#include "system/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- names --- */

bool file_working_folder(char *folder, size_t size) {
    if (!getcwd(folder, size - 1))
        return false;
    if (strcmp(folder, "/") != 0)
        strcat(folder, "/");
    return true;
}

bool file_is_absolute(const char *path) { return *path == '/'; }

const char *file_last_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

size_t file_most_name(void) { return NAME_MAX; }

char *file_resolve(const char *path) { return realpath(path, NULL); }

bool file_is_same(const char *path, const char *other) {
    struct stat a, b;
    return !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* --- any file --- */

FILE *file_open(const char *path, const char *mode) {
    const char how[] = {*mode, 'e', '\0'};
    return fopen(path, how);
}

bool file_is_there(const char *path) { return access(path, F_OK) == 0; }

bool file_remove(const char *path) { return unlink(path) == 0; }

bool file_replace(const char *from, const char *path) { return rename(from, path) == 0; }

bool file_is_written_in_place(const char *path) {
    struct stat there;
    const bool is_device = strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0;
    if (is_device || stat(path, &there) != 0)
        return is_device || lstat(path, &there) == 0;
    return !S_ISREG(there.st_mode);
}

/* --- files that are the user's own --- */

const struct file_cache_place file_cache_places[] = {
    {"XDG_CACHE_HOME", "/clstream"}, {"HOME", "/.cache/clstream"}, {NULL, NULL}};

bool file_make_folders(char *path) {
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

/* Only the user's own files, or the system's, which nobody else may write, go to the driver. */
static bool acceptable(const struct stat *info, size_t most) {
    return S_ISREG(info->st_mode) && !(info->st_mode & (S_IWGRP | S_IWOTH)) &&
           (info->st_uid == geteuid() || info->st_uid == 0) && info->st_size > 0 &&
           (uintmax_t)info->st_size <= most;
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

void *file_read_own(const char *path, size_t most, size_t *size) {
    struct stat info;
    char *bytes = NULL;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return NULL;
    if (fstat(file, &info) == 0 && acceptable(&info, most))
        bytes = malloc((size_t)info.st_size);
    if (bytes && !read_all(file, bytes, (size_t)info.st_size)) {
        free(bytes);
        bytes = NULL;
    }
    close(file);
    *size = bytes ? (size_t)info.st_size : 0;
    return bytes;
}

void file_touch(const char *path) { utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW); }

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

int file_write_own(const char *aside, const char *path, const void *bytes, size_t size) {
    const int file = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return errno;
    const bool whole = write_without_signal(file, bytes, size);
    if (close(file) != 0 || !whole || rename(aside, path) != 0)
        unlink(aside);
    return 0;
}

void file_list(const char *folder,
               bool (*visit)(void *arg, const char *name, const struct file_facts *facts),
               void *arg) {
    DIR *dir = opendir(folder);
    const struct dirent *item;
    struct stat info;
    bool go_on = dir != NULL;
    while (go_on && (item = readdir(dir)) != NULL) {
        if (fstatat(dirfd(dir), item->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(info.st_mode))
            continue;
        const struct file_facts facts = {(uint64_t)info.st_size, info.st_mtim.tv_sec,
                                         (int32_t)info.st_mtim.tv_nsec};
        go_on = visit(arg, item->d_name, &facts);
    }
    if (dir)
        closedir(dir);
}

/* --- locked files --- */

static bool lock_whole(int file) {
    struct flock lock = {0};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return fcntl(file, F_SETLK, &lock) == 0;
}

/* A file that its owner has removed meanwhile is nobody's. */
static enum file_lock_result lock_there(int file) {
    struct stat info;
    if (lock_whole(file))
        return fstat(file, &info) == 0 && info.st_nlink > 0 ? FILE_LOCK_MINE : FILE_LOCK_OTHERS;
    return errno == EACCES || errno == EAGAIN ? FILE_LOCK_OTHERS : FILE_LOCK_NONE;
}

enum file_lock_result file_lock_try(const char *path, enum file_lock_how how, file_lock *lock) {
    static const int flags[] = {[FILE_LOCK_ANY] = O_CREAT | O_NOFOLLOW,
                                [FILE_LOCK_NEW] = O_CREAT | O_EXCL,
                                [FILE_LOCK_LEFT] = O_NOFOLLOW};
    const int file = open(path, O_RDWR | O_CLOEXEC | flags[how], 0600);
    *lock = FILE_UNLOCKED;
    if (file < 0)
        return how == FILE_LOCK_NEW && errno == EEXIST ? FILE_LOCK_THERE : FILE_LOCK_NONE;
    const enum file_lock_result result = lock_there(file);
    if (result == FILE_LOCK_MINE || how == FILE_LOCK_NEW) {
        *lock = file;
        return FILE_LOCK_MINE;
    }
    close(file);
    return result;
}

void file_lock_remove(const char *path, file_lock *lock) {
    unlink(path);
    file_lock_leave(lock);
}

void file_lock_leave(file_lock *lock) {
    close((int)*lock);
    *lock = FILE_UNLOCKED;
}

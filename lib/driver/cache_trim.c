/* SPDX-License-Identifier: MIT */
/* Trimming of the disk cache's folder: removes the longest unused entries, and old leftovers of crashed processes. */
#include "base/array.h"
#include "driver/cache_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct cache_entry {
    char path[CACHE_PATH];
    uint64_t bytes;
    struct timespec used;
};

struct entries {
    struct cache_entry *entries;
    size_t count;
    size_t room;
    uint64_t bytes;
};

/* The kinds of files by their suffixes; files other than entries are removed once they are this old. */
static const struct {
    const char *suffix;
    time_t max_age; /* seconds; 0: an entry */
} kinds[] = {
    {".clsb", 0},
    {".clsb-new", 60 * 60},
    {".clsb-loading", 24 * 60 * 60},
    {".clsb-making", 24 * 60 * 60},
};

static bool ends_with(const char *text, const char *suffix) {
    size_t length = strlen(text);
    size_t end = strlen(suffix);
    return length >= end && !strcmp(text + length - end, suffix);
}

static bool add(struct entries *list, const char *path, const struct stat *info) {
    if (!ARRAY_ROOM(list->entries, list->count, list->room, 64))
        return false;
    struct cache_entry *entry = &list->entries[list->count++];
    memcpy(entry->path, path, strlen(path) + 1);
    entry->bytes = (uint64_t)info->st_size;
    entry->used = info->st_mtim;
    list->bytes += entry->bytes;
    return true;
}

static bool visit(struct entries *list, const char *folder, const char *name) {
    char path[CACHE_PATH];
    struct stat info;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (length < 0 || length >= CACHE_PATH || lstat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!ends_with(name, kinds[i].suffix))
            continue;
        if (kinds[i].max_age == 0)
            return add(list, path, &info);
        /* One as far in the future is of before the clock was set back. */
        const time_t age = time(NULL) - info.st_mtim.tv_sec;
        if (age > kinds[i].max_age || age < -kinds[i].max_age)
            unlink(path);
    }
    return true;
}

static int by_age(const void *left, const void *right) {
    const struct timespec *a = &((const struct cache_entry *)left)->used;
    const struct timespec *b = &((const struct cache_entry *)right)->used;
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

void cache_trim(const char *folder, uint64_t limit) {
    struct entries list = {0};
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    const struct dirent *item;
    while ((item = readdir(dir)) != NULL && visit(&list, folder, item->d_name))
        continue;
    closedir(dir);
    if (list.bytes > limit)
        qsort(list.entries, list.count, sizeof *list.entries, by_age);
    for (size_t i = 0; i < list.count && list.bytes > limit; i++) {
        unlink(list.entries[i].path);
        list.bytes -= list.entries[i].bytes;
    }
    free(list.entries);
}

/* SPDX-License-Identifier: MIT */
/* Trimming of the disk cache's folder: removes the longest unused entries, and old leftovers of crashed processes. */
#include "base/array.h"
#include "driver/cache_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cache_entry {
    char path[CACHE_PATH];
    struct file_facts facts; /* changed: last used */
};

struct entries {
    const char *folder;
    struct cache_entry *entries;
    size_t count;
    size_t room;
    uint64_t bytes;
};

/* The kinds of files by their suffixes; files other than entries are removed once they are this old. */
static const struct {
    const char *suffix;
    int64_t max_age; /* seconds; 0: an entry */
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

static bool add(struct entries *list, const char *path, const struct file_facts *facts) {
    if (!ARRAY_ROOM(list->entries, list->count, list->room, 64))
        return false;
    struct cache_entry *entry = &list->entries[list->count++];
    memcpy(entry->path, path, strlen(path) + 1);
    entry->facts = *facts;
    list->bytes += facts->bytes;
    return true;
}

static bool visit(void *arg, const char *name, const struct file_facts *facts) {
    struct entries *list = arg;
    char path[CACHE_PATH];
    int length = snprintf(path, sizeof path, "%s/%s", list->folder, name);
    if (length < 0 || length >= CACHE_PATH)
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!ends_with(name, kinds[i].suffix))
            continue;
        if (kinds[i].max_age == 0)
            return add(list, path, facts);
        /* One as far in the future is of before the clock was set back. */
        const int64_t age = (int64_t)time(NULL) - facts->changed_s;
        if (age > kinds[i].max_age || age < -kinds[i].max_age)
            file_remove(path);
    }
    return true;
}

static int by_age(const void *left, const void *right) {
    const struct file_facts *a = &((const struct cache_entry *)left)->facts;
    const struct file_facts *b = &((const struct cache_entry *)right)->facts;
    if (a->changed_s != b->changed_s)
        return a->changed_s < b->changed_s ? -1 : 1;
    return (a->changed_ns > b->changed_ns) - (a->changed_ns < b->changed_ns);
}

void cache_trim(const char *folder, uint64_t limit) {
    struct entries list = {.folder = folder};
    file_list(folder, visit, &list);
    if (list.bytes > limit)
        qsort(list.entries, list.count, sizeof *list.entries, by_age);
    for (size_t i = 0; i < list.count && list.bytes > limit; i++) {
        file_remove(list.entries[i].path);
        list.bytes -= list.entries[i].facts.bytes;
    }
    free(list.entries);
}

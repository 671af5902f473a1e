/* SPDX-License-Identifier: MIT */
/* An empty folder for one test, as the disk cache's, and gone after it. */
#ifndef CLSTREAM_TESTS_SCRATCH_H
#define CLSTREAM_TESTS_SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch[256];

/* The number of files whose names end in `suffix`; `path` (may be NULL) gets the last one's. */
static inline size_t scratch_count(const char *suffix, char *path, size_t room) {
    size_t count = 0;
    DIR *dir = opendir(scratch);
    const struct dirent *item;
    while (dir && (item = readdir(dir)) != NULL) {
        size_t length = strlen(item->d_name), end = strlen(suffix);
        if (item->d_name[0] == '.' || length < end || strcmp(item->d_name + length - end, suffix))
            continue;
        count++;
        if (path)
            snprintf(path, room, "%s/%s", scratch, item->d_name);
    }
    if (dir)
        closedir(dir);
    return count;
}

static inline int scratch_setup(void **state) {
    const char *base = getenv("TMPDIR");
    (void)state;
    snprintf(scratch, sizeof scratch, "%s/clstream-test-XXXXXX", base ? base : "/tmp");
    setenv("CLSTREAM_CACHE", "all", 1);
    return mkdtemp(scratch) && setenv("CLSTREAM_CACHE_DIR", scratch, 1) == 0 ? 0 : -1;
}

static inline int scratch_teardown(void **state) {
    char path[512];
    (void)state;
    while (scratch_count("", path, sizeof path) > 0)
        if (remove(path) != 0)
            return -1;
    unsetenv("CLSTREAM_CACHE");
    unsetenv("CLSTREAM_CACHE_DIR");
    return rmdir(scratch);
}

#endif

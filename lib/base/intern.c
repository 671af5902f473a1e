/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { NAME_BYTES = 63, MOST_NAMES = 16384 };

/* A program that makes up a name for every command would fill the memory with them. */
static const char one_too_many[] = "(one of too many names)";

struct name {
    UT_hash_handle hh;
    char text[NAME_BYTES + 1];
};

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static struct name *names;

/* Under the lock. uthash leaves hh.tbl null when it ran out of memory. */
static const char *add_name(const char *string, size_t length) {
    struct name *name = calloc(1, sizeof *name);
    if (!name)
        return NULL;
    memcpy(name->text, string, length);
    HASH_ADD_KEYPTR(hh, names, name->text, length, name);
    if (!name->hh.tbl) {
        free(name);
        return NULL;
    }
    return name->text;
}

const char *intern(const char *string) {
    size_t length = strnlen(string, NAME_BYTES);
    struct name *found;
    pthread_mutex_lock(&names_lock);
    HASH_FIND(hh, names, string, length, found);
    const bool full = !found && HASH_COUNT(names) >= MOST_NAMES;
    const char *text = found ? found->text : full ? one_too_many : add_name(string, length);
    pthread_mutex_unlock(&names_lock);
    return text;
}

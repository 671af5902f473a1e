/* SPDX-License-Identifier: MIT */
/* The cache in memory of one cl_context's programs (program_cache_*); concurrent requests for a key share one build. */
#include "driver/program.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->out_of_memory = true)
#include <uthash.h>

/* One program, from the moment that a thread begins to build it. `program` is NULL while it
 * builds; a failed build takes the entry out of the table, and the last waiter that knows it frees
 * it. */
struct cached_program {
    UT_hash_handle hh;
    struct text key; /* name, options and source, each with its NUL */
    cl_program program;
    bool failed;
    bool out_of_memory;
    unsigned waiters;
};

struct program_cache {
    struct device *device;
    cl_context context;
    pthread_mutex_t lock;
    pthread_cond_t built;
    struct cached_program *table;
};

cls_status program_cache_create(struct device *device, cl_context context,
                                struct program_cache **out) {
    struct program_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return error_no_memory("for the program cache");
    if (pthread_mutex_init(&cache->lock, NULL) != 0)
        goto free_cache;
    if (pthread_cond_init(&cache->built, NULL) != 0)
        goto destroy_lock;
    cache->device = device;
    cache->context = context;
    *out = cache;
    return CLS_SUCCESS;

destroy_lock:
    pthread_mutex_destroy(&cache->lock);
free_cache:
    free(cache);
    return error_no_memory("for the program cache");
}

static void free_entry(struct cached_program *entry) {
    if (entry->program)
        program_release(entry->program);
    free(entry->key.bytes);
    free(entry);
}

void program_cache_destroy(struct program_cache *cache) {
    struct cached_program *entry, *next;
    if (!cache)
        return;
    HASH_ITER(hh, cache->table, entry, next) {
        HASH_DEL(cache->table, entry);
        free_entry(entry);
    }
    pthread_cond_destroy(&cache->built);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static struct cached_program *new_entry(const struct program_spec *spec) {
    const char *parts[] = {spec->name ? spec->name : "", spec->options ? spec->options : "",
                           spec->source};
    struct cached_program *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        text_append(&entry->key, parts[i], strlen(parts[i]) + 1);
    if (entry->key.failed) {
        free_entry(entry);
        entry = NULL;
    }
    return entry;
}

static struct cached_program *find(struct program_cache *cache, const struct text *key) {
    struct cached_program *entry = NULL;
    HASH_FIND(hh, cache->table, key->bytes, key->length, entry);
    return entry;
}

static bool insert(struct program_cache *cache, struct cached_program *entry) {
    HASH_ADD_KEYPTR(hh, cache->table, entry->key.bytes, entry->key.length, entry);
    return !entry->out_of_memory;
}

/* Builds without the lock; `entry` is in the table, so everybody else waits for it. On failure the
 * entry is out of the table, and the last thread that waits for it frees it. */
static cls_status build(struct program_cache *cache, const struct program_spec *spec,
                        struct cached_program *entry, cl_program *out) {
    cl_program program = NULL;
    pthread_mutex_unlock(&cache->lock);
    cls_status status = program_build(cache->device, cache->context, spec, &program);
    pthread_mutex_lock(&cache->lock);
    entry->program = program;
    entry->failed = status != CLS_SUCCESS;
    pthread_cond_broadcast(&cache->built);
    if (!status) {
        *out = program;
        return status;
    }
    HASH_DEL(cache->table, entry);
    if (entry->waiters == 0)
        free_entry(entry);
    return status;
}

/* False: the other thread's build failed, and the caller builds itself. */
static bool wait_for(struct program_cache *cache, struct cached_program *entry, cl_program *out) {
    entry->waiters++;
    while (!entry->program && !entry->failed)
        pthread_cond_wait(&cache->built, &cache->lock);
    entry->waiters--;
    if (!entry->failed) {
        *out = entry->program;
        return true;
    }
    if (entry->waiters == 0)
        free_entry(entry);
    return false;
}

/* `fresh` carries the key, and becomes the table's entry (set to NULL) where there is none yet. */
static cls_status get_locked(struct program_cache *cache, const struct program_spec *spec,
                             struct cached_program **fresh, cl_program *out) {
    struct cached_program *entry;
    while ((entry = find(cache, &(*fresh)->key)) != NULL)
        if (wait_for(cache, entry, out))
            return CLS_SUCCESS;
    if (!insert(cache, *fresh))
        return error_no_memory("for the program cache");
    entry = *fresh;
    *fresh = NULL;
    return build(cache, spec, entry, out);
}

cls_status program_cache_get(struct program_cache *cache, const struct program_spec *spec,
                             cl_program *out) {
    struct cached_program *fresh = new_entry(spec);
    if (!fresh)
        return error_no_memory("for the program cache");
    pthread_mutex_lock(&cache->lock);
    cls_status status = get_locked(cache, spec, &fresh, out);
    pthread_mutex_unlock(&cache->lock);
    if (fresh)
        free_entry(fresh);
    return status;
}

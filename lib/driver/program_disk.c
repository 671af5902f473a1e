/* SPDX-License-Identifier: MIT */
#include "driver/program_disk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/version.h>

#include "driver/cache_file.h"
#include "driver/device_state.h"
#include "driver/program_binary.h"
#include "driver/quirk.h"
#include "driver/source_words.h"

/* A crash mark belongs to the process, so only one thread at a time loads a binary under a mark. */
static pthread_mutex_t mark_lock = PTHREAD_MUTEX_INITIALIZER;

bool program_disk_key(const struct device *device, const struct program_spec *spec,
                      const char *source, struct text *key) {
    const char *options = spec->options ? spec->options : "";
    if (!cache_keeps_programs(device_keeps_programs(device)) ||
        !source_is_self_contained(source, options))
        return false;
    text_printf(key, "%slibrary %s\noptions %s\n", device->identity, cls_version_string(), options);
    text_append(key, source, strlen(source));
    return !key->failed;
}

static cl_program from_binary(const struct device *device, cl_context context,
                              struct cache_bytes binary, const char *options) {
    cl_program program;
    return program_from_binary(device, context, binary, options, &program) ? NULL : program;
}

static cl_program from_marked(const struct device *device, cl_context context,
                              struct cache_bytes binary, struct cache_bytes key,
                              const char *options) {
    struct cache_mark mark;
    cl_program program = NULL;
    pthread_mutex_lock(&mark_lock);
    if (cache_mark_begin(CACHE_PROGRAM, key, &mark)) {
        program = from_binary(device, context, binary, options);
        cache_mark_end(&mark);
    }
    pthread_mutex_unlock(&mark_lock);
    return program;
}

cl_program program_disk_load(const struct device *device, cl_context context,
                             struct cache_bytes key, const char *options) {
    struct cache_bytes binary;
    void *owned;
    if (!cache_load(CACHE_PROGRAM, key, &binary, &owned))
        return NULL;
    cl_program program = device->quirks & QUIRK_BINARY_ABORTS
                             ? from_marked(device, context, binary, key, options)
                             : from_binary(device, context, binary, options);
    free(owned);
    return program;
}

void program_disk_store(const struct device *device, cl_program program, struct cache_bytes key) {
    struct cache_bytes binary = program_to_binary(device, program);
    if (binary.bytes)
        cache_store(CACHE_PROGRAM, key, binary);
    free((void *)binary.bytes);
}

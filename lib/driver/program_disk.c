/* SPDX-License-Identifier: MIT */
#include "driver/program_disk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/version.h>

#include "driver/cache_file.h"
#include "driver/device_state.h"
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
    cl_int code, state = CL_SUCCESS;
    const unsigned char *bytes = binary.bytes;
    cl_program program =
        clCreateProgramWithBinary(context, 1, &device->id, &binary.size, &bytes, &state, &code);
    if (!program || code != CL_SUCCESS)
        return NULL;
    if (state == CL_SUCCESS &&
        clBuildProgram(program, 1, &device->id, options, NULL, NULL) == CL_SUCCESS)
        return program;
    clReleaseProgram(program);
    return NULL;
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

/* Storing. A program of several devices has a binary for each, in an order of its own. */

struct binary_list {
    cl_uint count;
    cl_uint which; /* our device's place */
    cl_device_id *ids;
    size_t *sizes;
    unsigned char **binaries;
};

static void free_listing(struct binary_list *list) {
    free(list->ids);
    free(list->sizes);
    free(list->binaries);
}

static bool ask(cl_program program, cl_program_info what, size_t size, void *to) {
    return clGetProgramInfo(program, what, size, to, NULL) == CL_SUCCESS;
}

static bool list_devices(cl_program program, cl_device_id id, struct binary_list *list) {
    if (!ask(program, CL_PROGRAM_NUM_DEVICES, sizeof list->count, &list->count) || !list->count)
        return false;
    list->ids = calloc(list->count, sizeof *list->ids);
    list->sizes = calloc(list->count, sizeof *list->sizes);
    list->binaries = calloc(list->count, sizeof *list->binaries);
    if (!list->ids || !list->sizes || !list->binaries ||
        !ask(program, CL_PROGRAM_DEVICES, list->count * sizeof *list->ids, list->ids) ||
        !ask(program, CL_PROGRAM_BINARY_SIZES, list->count * sizeof *list->sizes, list->sizes))
        return false;
    while (list->which < list->count && list->ids[list->which] != id)
        list->which++;
    return list->which < list->count && list->sizes[list->which] > 0;
}

void program_disk_store(const struct device *device, cl_program program, struct cache_bytes key) {
    struct binary_list list = {0};
    if (list_devices(program, device->id, &list)) {
        struct cache_bytes payload = {NULL, list.sizes[list.which]};
        unsigned char *binary = malloc(payload.size);
        list.binaries[list.which] = binary;
        payload.bytes = binary;
        if (binary &&
            ask(program, CL_PROGRAM_BINARIES, list.count * sizeof *list.binaries, list.binaries))
            cache_store(CACHE_PROGRAM, key, payload);
        free(binary);
    }
    free_listing(&list);
}

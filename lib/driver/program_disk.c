/* SPDX-License-Identifier: MIT */
#include "driver/program_disk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/version.h>

#include "driver/cache_file.h"
#include "driver/quirk.h"

/* A crash mark belongs to the process, so only one thread at a time loads a binary under a mark. */
static pthread_mutex_t mark_lock = PTHREAD_MUTEX_INITIALIZER;

/* If `at` begins a line continuation (a backslash or its trigraph before the line's end), its end; else NULL. */
static const char *line_join(const char *at) {
    const size_t length = *at == '\\' ? 1 : !strncmp(at, "?\?/", 3) ? 3 : 0;
    const char *end = at + length + strspn(at + length, " \t\v\f\r");
    return length && *end == '\n' ? end + 1 : NULL;
}

/* Appends the source with continued lines joined, since a continuation may split a word. */
static void append_joined(struct text *text, const char *source) {
    const char *from = source;
    for (const char *at = source; *at; at++) {
        const char *next = line_join(at);
        if (!next)
            continue;
        text_append(text, from, (size_t)(at - from));
        from = next;
        at = next - 1;
    }
    text_append(text, from, strlen(from));
}

static bool comes_before(const char *part, const char *line, const char *at) {
    const char *found = strstr(line, part);
    return found && found < at;
}

/* Whether `at` may be in a preprocessor directive: it begins its line, which may continue a directive, or a # (or a
 * digraph or trigraph for it) or the end of a comment comes before it in the line. */
static bool is_in_directive(const char *source, const char *at) {
    const char *line = at;
    while (line > source && line[-1] != '\n')
        line--;
    const size_t before = (size_t)(at - line);
    return (line > source && strspn(line, " \t") >= before) || memchr(line, '#', before) ||
           memchr(line, ':', before) || comes_before("?\?=", line, at) ||
           comes_before("*/", line, at);
}

/* A source that may include files is not cached, since the key has neither their contents nor their existence. The
 * first line is skipped: it may contain the source's own name, which may be anything. */
static bool includes_files(const char *source) {
    static const char *const words[] = {"include", "import", "embed"};
    if (!strncmp(source, "#line", 5))
        source += strcspn(source, "\n");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (const char *at = source; (at = strstr(at, words[i])) != NULL; at++)
            if (is_in_directive(source, at))
                return true;
    return false;
}

static bool is_self_contained(const char *source, const char *options) {
    struct text joined = {0};
    append_joined(&joined, source);
    const bool includes = joined.failed || includes_files(joined.bytes ? joined.bytes : "");
    free(joined.bytes);
    return !includes && !strstr(options, "-include") && !strstr(options, "-imacros");
}

bool program_disk_key(const struct device *device, const struct program_spec *spec,
                      const char *source, struct text *key) {
    const char *options = spec->options ? spec->options : "";
    if (!is_self_contained(source, options))
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

struct listing {
    cl_uint count;
    cl_uint which; /* our device's place */
    cl_device_id *ids;
    size_t *sizes;
    unsigned char **binaries;
};

static void free_listing(struct listing *list) {
    free(list->ids);
    free(list->sizes);
    free(list->binaries);
}

static bool ask(cl_program program, cl_program_info what, size_t size, void *to) {
    return clGetProgramInfo(program, what, size, to, NULL) == CL_SUCCESS;
}

static bool list_devices(cl_program program, cl_device_id id, struct listing *list) {
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
    struct listing list = {0};
    char folder[CACHE_PATH];
    if (!cache_folder(folder))
        return;
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

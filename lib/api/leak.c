/* SPDX-License-Identifier: MIT */
#include "api/leak.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/at_exit.h"
#include "base/handle.h"
#include "base/life.h"
#include "base/text.h"
#include "check/race.h"
#include "check/race_report.h"
#include "command/kernel.h"
#include "driver/memory.h"
#include "memory/buffer.h"
#include "memory/buffer_map.h"
#include "memory/image.h"
#include "memory/mempool.h"
#include "stream/context.h"
#include "stream/stream.h"
#include "system/processes.h"

/* --- what an object is: appends what the type's name does not say, and returns the call that makes such objects; NULL:
 * the object is not the program's to destroy --- */

static const char *describe_context(const struct object *object, struct text *text) {
    (void)text;
    return context_is_default(object_handle(object)) ? NULL : "cls_context_create";
}

static const char *describe_stream(const struct object *object, struct text *text) {
    const struct stream *stream = (const struct stream *)(const void *)object;
    text_printf(text, " '%s'", stream->name);
    return stream->owner                             ? NULL
           : stream->queue && stream->queue->adopted ? "cls_stream_wrap"
                                                     : "cls_stream_create";
}

static const char *describe_buffer(const struct object *object, struct text *text) {
    const struct buffer *buffer = (const struct buffer *)(const void *)object;
    text_printf(text, " of %zu bytes", buffer->bytes);
    if (buffer->block)
        return atomic_load(&buffer->home) && !atomic_load(&buffer->is_librarys) ? "cls_malloc_async"
                                                                                : NULL;
    return NULL; /* object_note_call has those of the program */
}

static const char *describe_image(const struct object *object, struct text *text) {
    text_printf(text, " of %zu bytes", ((const struct image *)(const void *)object)->memory.bytes);
    return "cls_image_create";
}

static const char *describe_kernel(const struct object *object, struct text *text) {
    const struct kernel *kernel = (const struct kernel *)(const void *)object;
    text_printf(text, " '%s'", kernel->name);
    return kernel->program ? "cls_kernel_create" : NULL;
}

static const char *describe_mempool(const struct object *object, struct text *text) {
    (void)text;
    return ((const struct mempool *)(const void *)object)->is_default ? NULL : "cls_mempool_create";
}

/* What is made of others first, in the order of the report. */
static const struct row {
    unsigned type;           /* of the pool of objects (base/handle.h) */
    const char *name, *call; /* the call: NULL where it is described */
    const char *(*describe)(const struct object *object, struct text *text);
} rows[] = {
    {21, "managed context", "cls_managed_context_create", NULL},
    {22, "device group", "cls_device_group_create", NULL},
    {19, "pipeline", "cls_pipeline_create", NULL},
    {18, "prefetcher", "cls_prefetcher_create", NULL},
    {17, "async coordinator", "cls_async_coordinator_create", NULL},
    {16, "triple buffer", "cls_triple_buffer_create", NULL},
    {20, "batch", "cls_batch_create", NULL},
    {10, "random generator", "cls_random_create", NULL},
    {11, "optimizer", "cls_optimizer_create", NULL},
    {31, "executable graph", "cls_graph_instantiate", NULL},
    {29, "graph", "cls_stream_end_capture", NULL},
    {8, "task graph", "cls_task_graph_create", NULL},
    {7, "coordinator", "cls_coordinator_create", NULL},
    {9, "stream pool", "cls_pool_create", NULL},
    {12, "timeline", "cls_timeline_create", NULL},
    {24, "profiler", "cls_profiler_create", NULL},
    {25, "profile", "cls_profiler_snapshot", NULL},
    {6, "kernel", NULL, describe_kernel},
    {5, "program", "cls_program_from_source", NULL},
    {23, "image", NULL, describe_image},
    {4, "buffer", NULL, describe_buffer},
    {13, "memory pool", NULL, describe_mempool},
    {3, "event", "cls_event_create", NULL},
    {2, "stream", NULL, describe_stream},
    {1, "context", NULL, describe_context},
};

/* --- the report --- */

static struct text lines;
static unsigned n_leaks;

static void add_line(const char *name, const char *what, const char *call,
                     const struct object_life *life) {
    struct text place = {0};
    if (life)
        life_append_place(life, &place);
    text_printf(&lines, "clstream:   %s%s, made by %s", name, what, call);
    if (place.length)
        text_printf(&lines, ", called from %s", place.bytes);
    text_printf(&lines, "\n");
    free(place.bytes);
    n_leaks++;
}

static void add_object(const struct object *object, void *arg) {
    const struct row *row = arg;
    struct text what = {0};
    if (object->life && object->life->librarys)
        return;
    const char *call = row->describe ? row->describe(object, &what) : row->call;
    if (object->life && object->life->call)
        call = object->life->call;
    if (call)
        add_line(row->name, what.length ? what.bytes : "", call, object->life);
    free(what.bytes);
}

static void add_pinned(const struct pinned *pinned, const struct object_life *life) {
    struct text what = {0};
    text_printf(&what, " of %zu bytes", pinned->bytes);
    add_line("pinned memory", what.length ? what.bytes : "",
             pinned->adopted ? "cls_host_register" : "cls_host_alloc", life);
    free(what.bytes);
}

static void add_mapped(const struct buffer_map *map, void *arg) {
    struct text what = {0};
    (void)arg;
    text_printf(&what, " of %zu bytes of a buffer", map->range.bytes);
    add_line("map", what.length ? what.bytes : "", "cls_buffer_map", map->life);
    free(what.bytes);
}

static struct at_exit handler;

static void report(void) {
    if (!at_exit_is_due(&handler))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        object_visit(rows[i].type, add_object, (void *)(uintptr_t)&rows[i]);
    host_visit(add_pinned);
    buffer_map_visit(add_mapped, NULL);
    if (n_leaks)
        fprintf(check_log(), "clstream: leak check: %u object%s not destroyed:\n%s", n_leaks,
                n_leaks == 1 ? " was" : "s were", lines.failed ? "" : lines.bytes);
    else
        fprintf(check_log(), "clstream: leak check: every object was destroyed\n");
    fflush(check_log());
    free(lines.bytes);
}

/* --- which checkers are on --- */

static bool is_word(const char *at, size_t n, const char *word) {
    return strlen(word) == n && !strncmp(at, word, n);
}

static void report_unknown_words(void) {
    const char *at = system_variable("CLSTREAM_CHECK");
    while (at && *at) {
        const size_t n = strcspn(at, ",");
        if (n && !is_word(at, n, "race") && !is_word(at, n, "leak") && !is_word(at, n, "mpi"))
            fprintf(
                stderr,
                "clstream: CLSTREAM_CHECK=%.*s is ignored: there are 'race', 'leak' and 'mpi'\n",
                (int)n, at);
        at += n + (at[n] == ',');
    }
}

static void prepare(void) {
    report_unknown_words();
    race_prepare();
    life_prepare();
    if (keeps_lives())
        at_exit_register(&handler, report);
}

void checks_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}

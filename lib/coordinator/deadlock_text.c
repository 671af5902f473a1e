/* SPDX-License-Identifier: MIT */
/* Describes a refused cycle, in an error message and as a drawing in Graphviz DOT. */
#include "coordinator/deadlock_text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"
#include "base/text.h"
#include "coordinator/dot.h"
#include "coordinator/internals.h"
#include "coordinator/timeline.h"
#include "coordinator/wait_graph.h"

/* The picture of the last refused cycle; kept for the process. */
static pthread_mutex_t picture_lock = PTHREAD_MUTEX_INITIALIZER;
static char *picture;

static const struct stall_item *item_of(const struct stall *stall, uint32_t stream) {
    return &stall->items[stall->streams[stream].at];
}

static const struct stream *stream_of(const struct stall *stall, uint32_t stream) {
    return stall->streams[stream].key;
}

static uint64_t value_of(struct timeline *timeline) {
    pthread_mutex_lock(&timeline->lock);
    uint64_t value = timeline->value;
    pthread_mutex_unlock(&timeline->lock);
    return value;
}

/* --- words --- */

static void append_stream(struct text *text, const struct stall *stall, uint32_t stream) {
    const struct stall_item *item = item_of(stall, stream);
    const char *name = stream_of(stall, stream)->name;
    if (item->label)
        text_printf(text, "stream '%s' waits at '%s' for ", name, item->label);
    else
        text_printf(text, "stream '%s' %s for ", name,
                    item->position == STALL_LATER ? "would wait" : "waits");
}

static void append_need(struct text *text, const struct stall *stall,
                        const struct stall_need *need) {
    struct timeline *timeline = need->tag;
    const char *name = stream_of(stall, need->stream)->name;
    if (!timeline) {
        text_printf(text, "stream '%s' up to position %llu", name,
                    (unsigned long long)need->position);
        return;
    }
    text_printf(text, "timeline '%s', at %llu of %llu, which %sstream '%s' %s", timeline->name,
                (unsigned long long)value_of(timeline), (unsigned long long)need->value,
                need->position == UINT64_MAX ? "only " : "", name,
                need->position == UINT64_MAX ? "may signal" : "is to signal behind its own wait");
}

static void append_cycle(struct text *text, const struct stall *stall, uint32_t first) {
    uint32_t stream = first;
    do {
        const struct stall_need *need = stall_unmet(stall, stream);
        if (stream != first)
            text_printf(text, "; ");
        append_stream(text, stall, stream);
        append_need(text, stall, need);
        stream = need->stream;
    } while (stream != first);
}

/* --- picture --- */

/* The node of a stream or timeline, made on first need. */
static bool node_of(struct wait_graph *graph, void *of, const char *label, uint32_t *node) {
    for (*node = 0; *node < wait_graph_id_limit(graph); ++*node)
        if (wait_graph_user(graph, *node) == of)
            return true;
    return wait_graph_add_node(graph, of, label, node) == CLS_SUCCESS;
}

static bool stream_node(struct wait_graph *graph, const struct stall *stall, uint32_t stream,
                        uint32_t *node) {
    const struct stall_item *item = item_of(stall, stream);
    struct text label = {0};
    text_printf(&label, "stream %s", stream_of(stall, stream)->name);
    if (item->label)
        text_printf(&label, "\nwaits at %s", item->label);
    bool made = !label.failed && node_of(graph, stall->streams[stream].key, label.bytes, node);
    free(label.bytes);
    return made;
}

static bool timeline_node(struct wait_graph *graph, struct timeline *timeline, uint64_t value,
                          uint32_t *node) {
    struct text label = {0};
    text_printf(&label, "timeline %s\nat %llu of %llu", timeline->name,
                (unsigned long long)value_of(timeline), (unsigned long long)value);
    bool made = !label.failed && node_of(graph, timeline, label.bytes, node);
    free(label.bytes);
    return made;
}

/* A stream's wait: by way of the timeline, where there is one. */
static bool draw_need(struct wait_graph *graph, const struct stall *stall, uint32_t stream) {
    const struct stall_need *need = stall_unmet(stall, stream);
    uint32_t from, to, middle;
    if (!stream_node(graph, stall, stream, &from) || !stream_node(graph, stall, need->stream, &to))
        return false;
    if (!need->tag)
        return wait_graph_add_edge(graph, from, to) == CLS_SUCCESS;
    return timeline_node(graph, need->tag, need->value, &middle) &&
           wait_graph_add_edge(graph, from, middle) == CLS_SUCCESS &&
           wait_graph_add_edge(graph, middle, to) == CLS_SUCCESS;
}

static bool draw_cycle(struct wait_graph *graph, const struct stall *stall, uint32_t first) {
    uint32_t stream = first;
    do {
        if (!draw_need(graph, stall, stream))
            return false;
        stream = stall_unmet(stall, stream)->stream;
    } while (stream != first);
    return true;
}

/* NULL without memory. */
static char *write_picture(struct wait_graph *graph) {
    struct text text;
    return dot_draw(graph, "deadlock", wait_graph_write_dot, &text) ? NULL : text.bytes;
}

/* A refusal stands without its picture, where there is no memory for one. */
static void keep_picture(const struct stall *stall, uint32_t first) {
    struct wait_graph *graph;
    if (wait_graph_create(true, &graph))
        return;
    char *drawn = draw_cycle(graph, stall, first) ? write_picture(graph) : NULL;
    wait_graph_destroy(graph);
    if (!drawn)
        return;
    pthread_mutex_lock(&picture_lock);
    char *old = picture;
    picture = drawn;
    pthread_mutex_unlock(&picture_lock);
    free(old);
}

cls_status cls_timeline_export_cycle(char *text, size_t size, size_t *length) {
    if (size && !text)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_timeline_export_cycle: text is null");
    cls_status status = process_check();
    if (status)
        return status;
    pthread_mutex_lock(&picture_lock);
    if (picture)
        text_copy_out(picture, text, size, length);
    else
        status = CLS_ERROR_NOT_FOUND;
    pthread_mutex_unlock(&picture_lock);
    return status ? error_set(status, "no call was refused for a deadlock yet") : status;
}

/* --- report --- */

/* Where to begin: with the caller, if it is of the cycle. */
static uint32_t first_of_cycle(const struct stall *stall, uint32_t stream, const void *caller) {
    uint32_t first = stall_cycle(stall, stream), at = first;
    do {
        if (stall->streams[at].key == caller)
            return at;
        at = stall_unmet(stall, at)->stream;
    } while (at != first);
    return first;
}

cls_status deadlock_report(const struct stall *stall, uint32_t stream, const void *caller) {
    uint32_t first = first_of_cycle(stall, stream, caller);
    struct text text = {0};
    keep_picture(stall, first);
    append_cycle(&text, stall, first);
    cls_status status = error_set(CLS_ERROR_DEADLOCK, "a deadlock: %s",
                                  text.failed ? "no memory to name the cycle" : text.bytes);
    free(text.bytes);
    return status;
}

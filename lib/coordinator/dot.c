/* SPDX-License-Identifier: MIT */
/* Draws dependency graphs as Graphviz DOT. */
#include "coordinator/dot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define IN_NO_CYCLE UINT32_MAX

/* `next` has for each id the node after it in its cycle. Cycles that are shown share no node. */
struct drawing {
    struct text *text;
    const struct wait_graph *graph;
    uint32_t *next;
};

/* Escapes quotes and backslashes. A line break becomes \n, which labels support; other control characters become
 * spaces. */
static void write_quoted(struct text *to, const char *text) {
    text_append(to, "\"", 1);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            text_printf(to, "\\%c", c);
        else if (c == '\n')
            text_append(to, "\\n", 2);
        else
            text_append(to, c < ' ' || c == 127 ? " " : text, 1);
    }
    text_append(to, "\"", 1);
}

static void note_cycle(struct wait_graph_span cycle, void *arg) {
    struct drawing *drawing = arg;
    for (size_t i = 0; i < cycle.count; i++)
        drawing->next[cycle.nodes[i]] = cycle.nodes[(i + 1) % cycle.count];
}

static void write_node(const struct drawing *drawing, uint32_t node) {
    const char *label = wait_graph_label(drawing->graph, node);
    text_printf(drawing->text, "    n%u [label=", (unsigned)node);
    if (label)
        write_quoted(drawing->text, label);
    else
        text_printf(drawing->text, "\"node %u\"", (unsigned)node);
    if (drawing->next[node] != IN_NO_CYCLE)
        text_printf(drawing->text, ", color=red");
    text_printf(drawing->text, "];\n");
}

/* The edge to the next node of the cycle; dashed where the graph does not contain it. */
static void write_cycle_edge(const struct drawing *drawing, uint32_t node) {
    uint32_t next = drawing->next[node];
    text_printf(drawing->text, "    n%u -> n%u [color=red, penwidth=2%s];\n", (unsigned)node,
                (unsigned)next,
                wait_graph_has_edge(drawing->graph, node, next) ? "" : ", style=dashed");
}

static void write_edges(const struct drawing *drawing, uint32_t node) {
    struct wait_graph_span prerequisites = wait_graph_prerequisites(drawing->graph, node);
    uint32_t next = drawing->next[node];
    for (size_t i = 0; i < prerequisites.count; i++)
        text_printf(drawing->text, "    n%u -> n%u%s;\n", (unsigned)node,
                    (unsigned)prerequisites.nodes[i],
                    prerequisites.nodes[i] == next ? " [color=red, penwidth=2]" : "");
    if (next != IN_NO_CYCLE && !wait_graph_has_edge(drawing->graph, node, next))
        write_cycle_edge(drawing, node);
}

static void write_opening(struct text *text, const char *name) {
    text_printf(text, "digraph ");
    write_quoted(text, name);
    text_printf(text, " {\n    node [shape=box];\n");
}

static void write_all(const struct drawing *drawing, const char *name) {
    uint32_t limit = wait_graph_id_limit(drawing->graph);
    write_opening(drawing->text, name);
    for (uint32_t i = 0; i < limit; i++)
        if (wait_graph_has_node(drawing->graph, i))
            write_node(drawing, i);
    for (uint32_t i = 0; i < limit; i++)
        if (wait_graph_has_node(drawing->graph, i))
            write_edges(drawing, i);
    text_printf(drawing->text, "}\n");
}

static cls_status begin(struct drawing *drawing, struct text *text,
                        const struct wait_graph *graph) {
    uint32_t limit = wait_graph_id_limit(graph);
    *drawing = (struct drawing){text, graph, malloc(((size_t)limit + 1) * sizeof(uint32_t))};
    if (!drawing->next)
        return error_no_memory("to draw %u nodes", (unsigned)limit);
    for (uint32_t i = 0; i < limit; i++)
        drawing->next[i] = IN_NO_CYCLE;
    return CLS_SUCCESS;
}

static cls_status end(const struct drawing *drawing) {
    free(drawing->next);
    return drawing->text->failed ? error_no_memory("to draw a graph") : CLS_SUCCESS;
}

cls_status wait_graph_write_dot(struct text *text, struct wait_graph *graph, const char *name) {
    struct drawing drawing;
    cls_status status = begin(&drawing, text, graph);
    if (status)
        return status;
    if (wait_graph_cycles(graph, note_cycle, &drawing) == 0)
        note_cycle(wait_graph_last_cycle(graph), &drawing);
    write_all(&drawing, name);
    return end(&drawing);
}

cls_status wait_graph_write_cycle_dot(struct text *text, struct wait_graph *graph,
                                      const char *name) {
    struct drawing drawing;
    struct wait_graph_span cycle = wait_graph_last_cycle(graph);
    if (!cycle.count)
        return error_set(CLS_ERROR_NOT_FOUND, "'%s' has closed no cycle", name);
    cls_status status = begin(&drawing, text, graph);
    if (status)
        return status;
    note_cycle(cycle, &drawing);
    write_opening(text, name);
    for (size_t i = 0; i < cycle.count; i++)
        write_node(&drawing, cycle.nodes[i]);
    for (size_t i = 0; i < cycle.count; i++)
        write_cycle_edge(&drawing, cycle.nodes[i]);
    text_printf(text, "}\n");
    return end(&drawing);
}

cls_status dot_draw(struct wait_graph *graph, const char *name, dot_writer *writer,
                    struct text *out) {
    struct text text = {0};
    const cls_status status = writer(&text, graph, name);
    if (status)
        free(text.bytes);
    else
        *out = text;
    return status;
}

cls_status dot_write(struct text *text, FILE *file) {
    errno = 0;
    bool whole = fwrite(text->bytes, 1, text->length, file) == text->length && !fflush(file);
    int error = errno;
    free(text->bytes);
    return whole ? CLS_SUCCESS
                 : error_set(CLS_ERROR_IO, "writing the graph: %s",
                             error ? strerror(error) : "the file takes no more");
}

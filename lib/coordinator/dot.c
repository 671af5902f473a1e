/* SPDX-License-Identifier: MIT */
#include "coordinator/dot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define IN_NO_CYCLE UINT32_MAX

/* `next` has for each id the node after it in its cycle. Cycles that are shown share no node. */
struct drawing {
    FILE *file;
    const struct graph *graph;
    uint32_t *next;
};

/* Inside quotes DOT knows the escape of the quote, and labels take a backslash for one of their own.
 * Control characters would be no text; a line break in a label is wanted. */
static void write_quoted(FILE *file, const char *text) {
    putc('"', file);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(file, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", file);
        else
            putc(c < ' ' || c == 127 ? ' ' : c, file);
    }
    putc('"', file);
}

static void note_cycle(struct graph_span cycle, void *arg) {
    struct drawing *drawing = arg;
    for (size_t i = 0; i < cycle.count; i++)
        drawing->next[cycle.nodes[i]] = cycle.nodes[(i + 1) % cycle.count];
}

static void write_node(const struct drawing *drawing, uint32_t node) {
    const char *label = graph_label(drawing->graph, node);
    fprintf(drawing->file, "    n%u [label=", (unsigned)node);
    if (label)
        write_quoted(drawing->file, label);
    else
        fprintf(drawing->file, "\"node %u\"", (unsigned)node);
    if (drawing->next[node] != IN_NO_CYCLE)
        fputs(", color=red", drawing->file);
    fputs("];\n", drawing->file);
}

static void write_edges(const struct drawing *drawing, uint32_t node) {
    struct graph_span prerequisites = graph_prerequisites(drawing->graph, node);
    uint32_t next = drawing->next[node];
    for (size_t i = 0; i < prerequisites.count; i++)
        fprintf(drawing->file, "    n%u -> n%u%s;\n", (unsigned)node,
                (unsigned)prerequisites.nodes[i],
                prerequisites.nodes[i] == next ? " [color=red, penwidth=2]" : "");
    if (next != IN_NO_CYCLE && !graph_has_edge(drawing->graph, node, next))
        fprintf(drawing->file, "    n%u -> n%u [color=red, penwidth=2, style=dashed];\n",
                (unsigned)node, (unsigned)next);
}

static void write_all(const struct drawing *drawing, const char *name) {
    uint32_t limit = graph_id_limit(drawing->graph);
    fputs("digraph ", drawing->file);
    write_quoted(drawing->file, name);
    fputs(" {\n    node [shape=box];\n", drawing->file);
    for (uint32_t i = 0; i < limit; i++)
        if (graph_has_node(drawing->graph, i))
            write_node(drawing, i);
    for (uint32_t i = 0; i < limit; i++)
        if (graph_has_node(drawing->graph, i))
            write_edges(drawing, i);
    fputs("}\n", drawing->file);
}

cls_status graph_write_dot(FILE *file, struct graph *graph, const char *name) {
    uint32_t limit = graph_id_limit(graph);
    struct drawing drawing = {file, graph, malloc(((size_t)limit + 1) * sizeof(uint32_t))};
    if (!drawing.next)
        return error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory to draw %u nodes", (unsigned)limit);
    for (uint32_t i = 0; i < limit; i++)
        drawing.next[i] = IN_NO_CYCLE;
    if (graph_cycles(graph, note_cycle, &drawing) == 0)
        note_cycle(graph_last_cycle(graph), &drawing);
    errno = 0;
    write_all(&drawing, name);
    free(drawing.next);
    if (ferror(file))
        return error_set(CLS_ERROR_IO, "writing the graph: %s",
                         errno ? strerror(errno) : "the stream had failed before");
    return CLS_SUCCESS;
}

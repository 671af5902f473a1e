/* SPDX-License-Identifier: MIT */
/* Draws dependency graphs as Graphviz DOT, into a file or into memory. */
#include "coordinator/dot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define IN_NO_CYCLE UINT32_MAX

/* `next` has for each id the node after it in its cycle. Cycles that are shown share no node. */
struct drawing {
    FILE *file;
    const struct wait_graph *graph;
    uint32_t *next;
};

/* Escapes quotes and backslashes. A line break becomes \n, which labels support; other control characters become
 * spaces. */
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

static void note_cycle(struct wait_graph_span cycle, void *arg) {
    struct drawing *drawing = arg;
    for (size_t i = 0; i < cycle.count; i++)
        drawing->next[cycle.nodes[i]] = cycle.nodes[(i + 1) % cycle.count];
}

static void write_node(const struct drawing *drawing, uint32_t node) {
    const char *label = wait_graph_label(drawing->graph, node);
    fprintf(drawing->file, "    n%u [label=", (unsigned)node);
    if (label)
        write_quoted(drawing->file, label);
    else
        fprintf(drawing->file, "\"node %u\"", (unsigned)node);
    if (drawing->next[node] != IN_NO_CYCLE)
        fputs(", color=red", drawing->file);
    fputs("];\n", drawing->file);
}

/* The edge to the next node of the cycle; dashed where the graph does not contain it. */
static void write_cycle_edge(const struct drawing *drawing, uint32_t node) {
    uint32_t next = drawing->next[node];
    fprintf(drawing->file, "    n%u -> n%u [color=red, penwidth=2%s];\n", (unsigned)node,
            (unsigned)next,
            wait_graph_has_edge(drawing->graph, node, next) ? "" : ", style=dashed");
}

static void write_edges(const struct drawing *drawing, uint32_t node) {
    struct wait_graph_span prerequisites = wait_graph_prerequisites(drawing->graph, node);
    uint32_t next = drawing->next[node];
    for (size_t i = 0; i < prerequisites.count; i++)
        fprintf(drawing->file, "    n%u -> n%u%s;\n", (unsigned)node,
                (unsigned)prerequisites.nodes[i],
                prerequisites.nodes[i] == next ? " [color=red, penwidth=2]" : "");
    if (next != IN_NO_CYCLE && !wait_graph_has_edge(drawing->graph, node, next))
        write_cycle_edge(drawing, node);
}

static void write_opening(FILE *file, const char *name) {
    fputs("digraph ", file);
    write_quoted(file, name);
    fputs(" {\n    node [shape=box];\n", file);
}

static void write_all(const struct drawing *drawing, const char *name) {
    uint32_t limit = wait_graph_id_limit(drawing->graph);
    write_opening(drawing->file, name);
    for (uint32_t i = 0; i < limit; i++)
        if (wait_graph_has_node(drawing->graph, i))
            write_node(drawing, i);
    for (uint32_t i = 0; i < limit; i++)
        if (wait_graph_has_node(drawing->graph, i))
            write_edges(drawing, i);
    fputs("}\n", drawing->file);
}

static cls_status begin(struct drawing *drawing, FILE *file, const struct wait_graph *graph) {
    uint32_t limit = wait_graph_id_limit(graph);
    *drawing = (struct drawing){file, graph, malloc(((size_t)limit + 1) * sizeof(uint32_t))};
    if (!drawing->next)
        return error_no_memory("to draw %u nodes", (unsigned)limit);
    for (uint32_t i = 0; i < limit; i++)
        drawing->next[i] = IN_NO_CYCLE;
    errno = 0;
    return CLS_SUCCESS;
}

static cls_status report_io(const char *why) {
    return error_set(CLS_ERROR_IO, "writing the graph: %s", why);
}

static cls_status end(const struct drawing *drawing) {
    int error = errno;
    free(drawing->next);
    if (ferror(drawing->file))
        return report_io(error ? strerror(error) : "the stream had failed before");
    return CLS_SUCCESS;
}

cls_status wait_graph_write_dot(FILE *file, struct wait_graph *graph, const char *name) {
    struct drawing drawing;
    cls_status status = begin(&drawing, file, graph);
    if (status)
        return status;
    if (wait_graph_cycles(graph, note_cycle, &drawing) == 0)
        note_cycle(wait_graph_last_cycle(graph), &drawing);
    write_all(&drawing, name);
    return end(&drawing);
}

cls_status wait_graph_write_cycle_dot(FILE *file, struct wait_graph *graph, const char *name) {
    struct drawing drawing;
    struct wait_graph_span cycle = wait_graph_last_cycle(graph);
    if (!cycle.count)
        return error_set(CLS_ERROR_NOT_FOUND, "'%s' has closed no cycle", name);
    cls_status status = begin(&drawing, file, graph);
    if (status)
        return status;
    note_cycle(cycle, &drawing);
    write_opening(file, name);
    for (size_t i = 0; i < cycle.count; i++)
        write_node(&drawing, cycle.nodes[i]);
    for (size_t i = 0; i < cycle.count; i++)
        write_cycle_edge(&drawing, cycle.nodes[i]);
    fputs("}\n", file);
    return end(&drawing);
}

/* --- through memory --- */

cls_status dot_draw(struct wait_graph *graph, const char *name, dot_writer *writer,
                    struct dot_text *out) {
    struct dot_text text = {NULL, 0};
    FILE *file = open_memstream(&text.bytes, &text.length);
    if (!file)
        return error_no_memory("to draw a graph");
    cls_status status = writer(file, graph, name);
    if (fclose(file) || status == CLS_ERROR_IO)
        status = error_no_memory("to draw a graph");
    if (status)
        free(text.bytes);
    else
        *out = text;
    return status;
}

cls_status dot_write(struct dot_text *text, FILE *file) {
    errno = 0;
    bool whole = fwrite(text->bytes, 1, text->length, file) == text->length && !fflush(file);
    int error = errno;
    free(text->bytes);
    return whole ? CLS_SUCCESS : report_io(error ? strerror(error) : "the file takes no more");
}

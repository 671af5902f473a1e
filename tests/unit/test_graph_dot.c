/* SPDX-License-Identifier: MIT */
/* The dependency graph as DOT, to the letter. */
#include <stdio.h>
#include <stdlib.h>

#include "coordinator/dot.h"

#include "failing_memory.h"
#include "labelled_graph.h"

static struct text draw(struct wait_graph *graph, const char *name) {
    struct text drawn;
    assert_int_equal(dot_draw(graph, name, wait_graph_write_dot, &drawn), CLS_SUCCESS);
    return drawn;
}

static void expect_drawn(struct wait_graph *graph, const char *name, const char *text) {
    const struct text drawn = draw(graph, name);
    assert_string_equal(drawn.bytes, text);
    free(drawn.bytes);
}

static void dot_shows_the_refused_edge(void **state) {
    struct wait_graph *graph = make(false, 4);
    (void)state;
    edge(graph, 0, 1);
    edge(graph, 1, 2);
    edge(graph, 0, 3);
    expect_drawn(graph, "g",
                 "digraph \"g\" {\n    node [shape=box];\n"
                 "    n0 [label=\"a\"];\n    n1 [label=\"b\"];\n    n2 [label=\"c\"];\n"
                 "    n3 [label=\"d\"];\n"
                 "    n0 -> n1;\n    n0 -> n3;\n    n1 -> n2;\n}\n");
    assert_int_equal(wait_graph_add_edge(graph, 2, 0), CLS_ERROR_DEADLOCK);
    expect_drawn(graph, "g",
                 "digraph \"g\" {\n    node [shape=box];\n"
                 "    n0 [label=\"a\", color=red];\n    n1 [label=\"b\", color=red];\n"
                 "    n2 [label=\"c\", color=red];\n    n3 [label=\"d\"];\n"
                 "    n0 -> n1 [color=red, penwidth=2];\n    n0 -> n3;\n"
                 "    n1 -> n2 [color=red, penwidth=2];\n"
                 "    n2 -> n0 [color=red, penwidth=2, style=dashed];\n}\n");
    wait_graph_destroy(graph);
}

static void dot_shows_every_cycle_of_a_permissive_graph(void **state) {
    struct wait_graph *graph = make(true, 5);
    (void)state;
    edge(graph, 0, 1);
    edge(graph, 1, 0);
    edge(graph, 2, 1);
    edge(graph, 3, 3);
    assert_int_equal(wait_graph_remove_node(graph, 4), CLS_SUCCESS);
    expect_drawn(graph, "g",
                 "digraph \"g\" {\n    node [shape=box];\n"
                 "    n0 [label=\"a\", color=red];\n    n1 [label=\"b\", color=red];\n"
                 "    n2 [label=\"c\"];\n    n3 [label=\"d\", color=red];\n"
                 "    n0 -> n1 [color=red, penwidth=2];\n    n1 -> n0 [color=red, penwidth=2];\n"
                 "    n2 -> n1;\n    n3 -> n3 [color=red, penwidth=2];\n}\n");
    wait_graph_destroy(graph);
}

static void dot_labels_hold_any_text(void **state) {
    struct wait_graph *graph = make(false, 0);
    uint32_t node;
    (void)state;
    assert_int_equal(wait_graph_add_node(graph, NULL, "say \"hi\"\\\n\t\x7f\xc3\xa9", &node),
                     CLS_SUCCESS);
    assert_int_equal(wait_graph_add_node(graph, NULL, "", &node), CLS_SUCCESS);
    assert_int_equal(wait_graph_add_node(graph, NULL, NULL, &node), CLS_SUCCESS);
    expect_drawn(graph, "a \"name\"",
                 "digraph \"a \\\"name\\\"\" {\n    node [shape=box];\n"
                 "    n0 [label=\"say \\\"hi\\\"\\\\\\n  \xc3\xa9\"];\n    n1 [label=\"\"];\n"
                 "    n2 [label=\"node 2\"];\n}\n");
    wait_graph_destroy(graph);
}

static void dot_reports_what_fails(void **state) {
    struct wait_graph *graph = make(false, 2);
    struct text drawn;
    long failures = 0;
    FILE *full = fopen("/dev/full", "w");
    (void)state;
    if (!full) {
        wait_graph_destroy(graph);
        print_message("no /dev/full here\n");
        skip();
    }
    setvbuf(full, NULL, _IONBF, 0);
    for (allocations_left = 0;
         dot_draw(graph, "g", wait_graph_write_dot, &drawn) == CLS_ERROR_OUT_OF_MEMORY;)
        allocations_left = ++failures;
    assert_int_not_equal(failures, 0);
    assert_int_equal(dot_write(&drawn, full), CLS_ERROR_IO);
    fclose(full);
    wait_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_shows_the_refused_edge),
        cmocka_unit_test(dot_shows_every_cycle_of_a_permissive_graph),
        cmocka_unit_test(dot_labels_hold_any_text),
        cmocka_unit_test(dot_reports_what_fails),
    };
    return cmocka_run_group_tests_name("dot", tests, NULL, NULL);
}

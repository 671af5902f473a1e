/* SPDX-License-Identifier: MIT */
/* The coordinator: dependencies between streams, cycles refused or listed, and drawings of both. */
#include "coordinators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int depends(struct team *team, size_t i, size_t j) {
    int has = -1;
    OK(cls_coordinator_has_dependency(team->coordinator, team->streams[i], team->streams[j], &has));
    return has;
}

/* The streams of a list by their letters. */
static void expect_letters(const struct team *team, const char *letters, const cls_stream *list,
                           size_t count) {
    char text[MAX_STREAMS + 1] = "";
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < team->count; j++)
            if (list[i] == team->streams[j])
                text[i] = (char)('a' + (char)j);
    assert_string_equal(text, letters);
}

static void test_the_set_and_its_dependencies(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    cls_stream list[MAX_STREAMS], *streams = team.streams;
    size_t count = 99, index;
    OK(depend(&team, 0, 1));
    OK(depend(&team, 1, 2));
    OK(depend(&team, 0, 1)); /* again */
    OK(cls_coordinator_add_stream(team.coordinator, streams[1], &index));
    assert_int_equal(index, 1);
    assert_int_equal(depends(&team, 0, 1), 1);
    assert_int_equal(depends(&team, 1, 0), 0);
    assert_int_equal(depends(&team, 0, 2), 0); /* only by way of b */
    OK(cls_coordinator_get_streams(team.coordinator, list, MAX_STREAMS, &count));
    expect_letters(&team, "cba", list, count);
    OK(cls_coordinator_get_prerequisites(team.coordinator, streams[0], list, MAX_STREAMS, &count));
    expect_letters(&team, "b", list, count);
    OK(cls_coordinator_get_streams(team.coordinator, NULL, 0, &count));
    assert_int_equal(count, 3);
    OK(cls_coordinator_remove_dependency(team.coordinator, streams[0], streams[1]));
    EXPECT(CLS_ERROR_NOT_FOUND,
           cls_coordinator_remove_dependency(team.coordinator, streams[0], streams[1]));
    assert_string_equal(cls_last_error_detail(), "a does not depend on b");
    assert_int_equal(depends(&team, 0, 1), 0);
    OK(cls_coordinator_remove_stream(team.coordinator, streams[1]));
    EXPECT(CLS_ERROR_NOT_FOUND, depend(&team, 0, 1));
    OK(cls_coordinator_add_stream(team.coordinator, streams[1], &index));
    assert_int_equal(index, 1); /* given again, without the old dependencies */
    assert_int_equal(depends(&team, 1, 2), 0);
    team_drop(&team);
}

static void test_the_default_stream_is_null(void **state) {
    (void)state;
    struct team team = team_make(0, 1);
    cls_stream standard = NULL, list[2];
    size_t count;
    OK(cls_context_default_stream(NULL, &standard));
    OK(cls_coordinator_add_stream(team.coordinator, NULL, NULL));
    OK(cls_coordinator_add_dependency(team.coordinator, team.streams[0], NULL));
    OK(cls_coordinator_get_prerequisites(team.coordinator, team.streams[0], list, 2, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(list[0], standard);
    OK(cls_coordinator_remove_stream(team.coordinator, NULL));
    team_drop(&team);
}

static void test_strict_refuses_the_closing_dependency(void **state) {
    (void)state;
    struct team team = team_make(0, 3);
    cls_stream list[MAX_STREAMS];
    size_t count;
    unsigned calls = 0;
    int has = -1;
    OK(depend(&team, 0, 1));
    OK(depend(&team, 1, 2));
    EXPECT(CLS_ERROR_DEADLOCK, depend(&team, 2, 0));
    assert_string_equal(cls_last_error_detail(),
                        "c cannot wait for a, it would close a cycle: c -> a -> b -> c");
    assert_int_equal(depends(&team, 2, 0), 0);
    OK(cls_coordinator_has_cycles(team.coordinator, &has));
    assert_int_equal(has, 0);
    OK(cls_coordinator_get_last_cycle(team.coordinator, list, MAX_STREAMS, &count));
    expect_letters(&team, "cab", list, count);
    EXPECT(CLS_ERROR_DEADLOCK, depend(&team, 1, 1));
    OK(cls_coordinator_get_last_cycle(team.coordinator, list, MAX_STREAMS, &count));
    expect_letters(&team, "b", list, count);
    OK(cls_coordinator_run(team.coordinator, no_phase, &calls));
    assert_int_equal(calls, 3);
    team_drop(&team);
}

static void test_permissive_lists_its_cycles_and_does_not_run(void **state) {
    (void)state;
    struct team team = team_make(1, 5);
    cls_stream list[MAX_STREAMS];
    size_t count = 0, cycles = 0;
    unsigned calls = 0;
    int has = -1;
    OK(depend(&team, 0, 1));
    OK(depend(&team, 1, 0));
    OK(depend(&team, 2, 3));
    OK(depend(&team, 3, 4));
    OK(cls_coordinator_has_cycles(team.coordinator, &has));
    assert_int_equal(has, 1);
    OK(depend(&team, 4, 2));
    OK(cls_coordinator_count_cycles(team.coordinator, &cycles));
    assert_int_equal(cycles, 2);
    size_t lengths = 0;
    for (size_t i = 0; i < cycles; i++) {
        OK(cls_coordinator_get_cycle(team.coordinator, i, list, MAX_STREAMS, &count));
        lengths += count;
        for (size_t j = 0; j < count; j++) {
            OK(cls_coordinator_has_dependency(team.coordinator, list[j], list[(j + 1) % count],
                                              &has));
            assert_int_equal(has, 1);
        }
    }
    assert_int_equal(lengths, 5);
    EXPECT(CLS_ERROR_OUT_OF_RANGE,
           cls_coordinator_get_cycle(team.coordinator, 2, list, MAX_STREAMS, &count));
    EXPECT(CLS_ERROR_DEADLOCK, cls_coordinator_run(team.coordinator, no_phase, &calls));
    assert_non_null(strstr(cls_last_error_detail(), " -> "));
    EXPECT(CLS_ERROR_DEADLOCK,
           cls_coordinator_execute_parallel(team.coordinator, no_phase, &calls));
    EXPECT(CLS_ERROR_DEADLOCK, cls_coordinator_apply(team.coordinator));
    assert_int_equal(calls, 0);
    OK(cls_coordinator_barrier(team.coordinator)); /* these do not ask for an order */
    OK(cls_coordinator_wait_all(team.coordinator, UINT64_MAX));
    OK(cls_coordinator_get_streams(team.coordinator, list, MAX_STREAMS, &count));
    expect_letters(&team, "abcde", list, count);
    OK(cls_coordinator_remove_dependency(team.coordinator, team.streams[1], team.streams[0]));
    OK(cls_coordinator_remove_dependency(team.coordinator, team.streams[4], team.streams[2]));
    OK(cls_coordinator_run(team.coordinator, no_phase, &calls));
    assert_int_equal(calls, 5);
    team_drop(&team);
}

static void test_the_graph_and_the_last_cycle_as_dot(void **state) {
    (void)state;
    struct team team = team_make(0, 4);
    char *text = NULL;
    size_t length;
    OK(depend(&team, 0, 1));
    OK(depend(&team, 3, 0));
    EXPECT(CLS_ERROR_DEADLOCK, depend(&team, 1, 0));
    FILE *file = open_memstream(&text, &length);
    OK(cls_coordinator_write_dot(team.coordinator, file));
    fclose(file);
    assert_string_equal(text, "digraph \"coordinator\" {\n    node [shape=box];\n"
                              "    n0 [label=\"a\", color=red];\n"
                              "    n1 [label=\"b\", color=red];\n"
                              "    n2 [label=\"c\"];\n"
                              "    n3 [label=\"d\"];\n"
                              "    n0 -> n1 [color=red, penwidth=2];\n"
                              "    n1 -> n0 [color=red, penwidth=2, style=dashed];\n"
                              "    n3 -> n0;\n"
                              "}\n");
    free(text);
    file = open_memstream(&text, &length);
    OK(cls_coordinator_write_cycle_dot(team.coordinator, file));
    fclose(file);
    assert_string_equal(text, "digraph \"coordinator\" {\n    node [shape=box];\n"
                              "    n1 [label=\"b\", color=red];\n"
                              "    n0 [label=\"a\", color=red];\n"
                              "    n1 -> n0 [color=red, penwidth=2, style=dashed];\n"
                              "    n0 -> n1 [color=red, penwidth=2];\n"
                              "}\n");
    free(text);
    file = fopen("/dev/full", "w");
    if (file) {
        EXPECT(CLS_ERROR_IO, cls_coordinator_write_dot(team.coordinator, file));
        fclose(file);
    }
    team_drop(&team);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_set_and_its_dependencies),
        cmocka_unit_test(test_the_default_stream_is_null),
        cmocka_unit_test(test_strict_refuses_the_closing_dependency),
        cmocka_unit_test(test_permissive_lists_its_cycles_and_does_not_run),
        cmocka_unit_test(test_the_graph_and_the_last_cycle_as_dot),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}

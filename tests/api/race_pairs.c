/* SPDX-License-Identifier: MIT */
#include "race_pairs.h"

#include <stdlib.h>
#include <string.h>

struct world w;

static const char source[] = "kernel void blur(global const uint *in, global uint *out) {\n"
                             "    out[get_global_id(0)] = in[get_global_id(0)] + 1;\n"
                             "}\n";

void world_begin(void) {
    w.a = rig_named("first");
    w.b = rig_named("second");
    w.c = rig_named("third");
    w.event = rig_event();
    w.other = rig_event();
    w.x = rig_cells(CELLS);
    w.y = rig_cells(CELLS);
    OK(cls_timeline_create(NULL, &w.early));
    OK(cls_timeline_create(NULL, &w.later));
    OK(cls_check_clear());
}

void world_end(void) {
    OK(cls_context_synchronize(rig.context));
    OK(cls_buffer_destroy(w.x));
    OK(cls_buffer_destroy(w.y));
    OK(cls_event_destroy(w.event));
    OK(cls_event_destroy(w.other));
    OK(cls_stream_destroy(w.a));
    OK(cls_stream_destroy(w.b));
    OK(cls_stream_destroy(w.c));
    OK(cls_timeline_destroy(w.early));
    OK(cls_timeline_destroy(w.later));
}

cls_check_counts found(void) {
    cls_check_counts counts = CLS_CHECK_COUNTS_INIT;
    OK(cls_check_get_counts(&counts));
    assert_true(counts.on);
    assert_int_equal(counts.forgotten, 0);
    return counts;
}

static void say_all(void) {
    cls_check_finding finding = CLS_CHECK_FINDING_INIT;
    for (size_t i = 0; cls_check_get_finding(i, &finding) == CLS_SUCCESS; i++)
        print_message("%s\n", finding.text);
}

static void expect_first(const struct pair *pair) {
    cls_check_finding finding = CLS_CHECK_FINDING_INIT;
    OK(cls_check_get_finding(0, &finding));
    assert_int_equal(finding.possible != 0, pair->possible);
    for (int i = 0; i < 3 && pair->says[i]; i++)
        if (!strstr(finding.text, pair->says[i]))
            fail_msg("\"%s\" is not said by: %s", pair->says[i], finding.text);
}

void test_pair(void **state) {
    const struct pair *pair = *state;
    world_begin();
    pair->program(false);
    cls_check_counts racy = found();
    expect_first(pair);
    assert_int_equal(pair->possible ? racy.races : racy.possible, 0);
    world_end();
    world_begin();
    pair->program(true);
    cls_check_counts clean = found();
    say_all();
    assert_int_equal(clean.races + clean.possible, 0);
    world_end();
}

int race_setup(void **state) {
    cls_program program;
    setenv("CLSTREAM_CHECK", "race", 1);
    if (rig_setup(state) ||
        cls_program_from_source(rig.context, source, "race.cl", NULL, &program) ||
        cls_kernel_create(program, "blur", &w.blur))
        return -1;
    return cls_program_destroy(program) ? -1 : 0;
}

int race_teardown(void **state) { return cls_kernel_destroy(w.blur) ? -1 : rig_teardown(state); }

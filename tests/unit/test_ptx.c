/* SPDX-License-Identifier: MIT */
/* Instructions of a target in the PTX of a program, which the driver's compiler kept as comments. */
#include <stdlib.h>
#include <string.h>

#include "../support/test.h"
#include "driver/ptx.h"

#define PTX(target, body) ".version 8.8\n.target " target "\n.address_size 64\n" body

static char *edit(const char *text) { return ptx_edit(text, "sm_90a", 6); }

static void target_of_a_source(void **state) {
    (void)state;
    size_t length = 0;
    const char *target = ptx_target("/* text */\n//@target sm_90a\nkernel", &length);
    assert_non_null(target);
    assert_int_equal(length, 6);
    assert_memory_equal(target, "sm_90a", length);
    assert_null(ptx_target("/* see //@target sm_90a */", &length));
    assert_null(ptx_target("kernel void f() {}\n//@target \n", &length));
}

static void marks_become_instructions(void **state) {
    (void)state;
    char *text =
        edit(PTX("sm_90", "\t//@wgmma.fence.sync.aligned;\n\tadd.f32 %f1,%f2,%f3; // a sum\n"
                          "\t//@wgmma.wait_group.sync.aligned 0;\n"));
    assert_non_null(text);
    assert_string_equal(text, PTX("sm_90a",
                                  "\twgmma.fence.sync.aligned;\n\tadd.f32 %f1,%f2,%f3; // a sum\n"
                                  "\twgmma.wait_group.sync.aligned 0;\n"));
    free(text);
}

static void options_behind_the_target_stay(void **state) {
    (void)state;
    char *text = edit(PTX("sm_90, texmode_independent", "//@ret;\n"));
    assert_non_null(text);
    assert_non_null(strstr(text, ".target sm_90a, texmode_independent\n"));
    free(text);
}

static void other_binaries_are_refused(void **state) {
    (void)state;
    assert_null(edit(PTX("sm_80", "//@ret;\n")));
    assert_null(edit(PTX("sm_100", "//@ret;\n")));
    assert_null(edit(PTX("sm_90a", "//@ret;\n")));
    assert_null(edit(PTX("sm_90", "ret;\n")));
    assert_null(edit("\177ELF"));
    assert_null(edit(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(target_of_a_source),
        cmocka_unit_test(marks_become_instructions),
        cmocka_unit_test(options_behind_the_target_stay),
        cmocka_unit_test(other_binaries_are_refused),
    };
    return cmocka_run_group_tests_name("ptx", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Kernel sources: the embedded ones, and those of CLSTREAM_KERNEL_PATH. */
#include "../support/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "driver/source.h"

#include "scratch.h"

static void embedded_sources_name_themselves(void **state) {
    (void)state;
    unsetenv("CLSTREAM_KERNEL_PATH");
    assert_non_null(embedded_sources[0].name);
    for (size_t i = 0; embedded_sources[i].name; i++) {
        const char *text = NULL;
        char line[256];
        assert_int_equal(source_get(embedded_sources[i].name, &text), CLS_SUCCESS);
        assert_null(strstr(text, "\n#include \""));
        snprintf(line, sizeof line, "#line 1 \"%s\"\n", embedded_sources[i].name);
        assert_memory_equal(text, line, strlen(line));
        const char *again = NULL;
        assert_int_equal(source_get(embedded_sources[i].name, &again), CLS_SUCCESS);
        assert_ptr_equal(again, text);
    }
}

static void unknown_source_is_not_found(void **state) {
    const char *text = NULL;
    (void)state;
    unsetenv("CLSTREAM_KERNEL_PATH");
    assert_int_equal(source_get("no such.cl", &text), CLS_ERROR_NOT_FOUND);
    assert_null(text);
    assert_non_null(strstr(cls_last_error_detail(), "no such.cl"));
}

static void put(const char *name, const char *content) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void folder_takes_the_place_of_the_embedded(void **state) {
    const char *text = NULL, *again = NULL;
    (void)state;
    put("mine.cl", "__kernel void mine(void) {}\n");
    setenv("CLSTREAM_KERNEL_PATH", scratch, 1);
    assert_int_equal(source_get("mine.cl", &text), CLS_SUCCESS);
    assert_string_equal(text, "#line 1 \"mine.cl\"\n__kernel void mine(void) {}\n");
    put("mine.cl", "changed\n"); /* read once: a text handed out stays as it is */
    assert_int_equal(source_get("mine.cl", &again), CLS_SUCCESS);
    assert_ptr_equal(again, text);
    unsetenv("CLSTREAM_KERNEL_PATH");
}

static void files_stand_where_they_are_included(void **state) {
    const char *text = NULL;
    (void)state;
    put("inner.cl", "first\nlast");
    put("outer.cl", "one\n#include \"inner.cl\"\nthree\n/* #include \"inner.cl\" */\n");
    setenv("CLSTREAM_KERNEL_PATH", scratch, 1);
    assert_int_equal(source_get("outer.cl", &text), CLS_SUCCESS);
    assert_string_equal(text, "#line 1 \"outer.cl\"\none\n"
                              "#line 1 \"inner.cl\"\nfirst\nlast\n#line 3 \"outer.cl\"\n"
                              "three\n/* #include \"inner.cl\" */\n");
    put("lost.cl", "#include \"not there.cl\"\n");
    assert_int_equal(source_get("lost.cl", &text), CLS_ERROR_NOT_FOUND);
    assert_non_null(strstr(cls_last_error_detail(), "not there.cl"));
    put("round.cl", "#include \"about.cl\"\n");
    put("about.cl", "#include \"round.cl\"\n");
    assert_int_equal(source_get("round.cl", &text), CLS_ERROR_INVALID_VALUE);
    assert_non_null(strstr(cls_last_error_detail(), "includes itself"));
    unsetenv("CLSTREAM_KERNEL_PATH");
}

static void missing_or_unreadable_file_is_told(void **state) {
    const char *text = NULL;
    char path[512];
    (void)state;
    setenv("CLSTREAM_KERNEL_PATH", scratch, 1);
    assert_int_equal(source_get(embedded_sources[0].name, &text), CLS_ERROR_NOT_FOUND);
    assert_non_null(strstr(cls_last_error_detail(), scratch));
    snprintf(path, sizeof path, "%s/folder.cl", scratch);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(source_get("folder.cl", &text), CLS_ERROR_IO);
    snprintf(path, sizeof path, "%s/round about.cl", scratch);
    assert_int_equal(symlink("round about.cl", path), 0);
    assert_int_equal(source_get("round about.cl", &text), CLS_ERROR_IO);
    assert_null(text);
    unsetenv("CLSTREAM_KERNEL_PATH");
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedded_sources_name_themselves),
        cmocka_unit_test(unknown_source_is_not_found),
        WITH_FOLDER(folder_takes_the_place_of_the_embedded),
        WITH_FOLDER(files_stand_where_they_are_included),
        WITH_FOLDER(missing_or_unreadable_file_is_told),
    };
    return cmocka_run_group_tests_name("source", tests, NULL, NULL);
}
